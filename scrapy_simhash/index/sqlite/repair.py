"""Repair of an index file: the rules for its rows, and how to mend rows that break one.

If in doubt, a page becomes a kept page, or is judged anew: then a crawl passes it on.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from scrapy_simhash.decision.sketch import is_sketch
from scrapy_simhash.index.sqlite import schema
from scrapy_simhash.index.sqlite.rows import COLUMNS_OF_ROW, is_row
from scrapy_simhash.index.sqlite.segments import good_segments

# Number of ids, or of places in the file, to show.
SAMPLES = 5


@dataclass(frozen=True)
class Problem:
    """A rule, the number of rows that break it, some of their ids, and whether they are mended.

    Of a file that is not whole, the further lines of *rule* say where.
    """

    rule: str
    count: int
    ids: list[int]
    repaired: bool


@dataclass(frozen=True)
class Invariant:
    """A rule for rows: the condition that breaks it, and the statement that mends a row."""

    words: str
    broken: str
    mend: str


_IS_NUMBER = "BETWEEN 1 AND 4294967295"
_NEXT = (
    f"(SELECT 1 + max(coalesce((SELECT max(id) FROM pages WHERE id {_IS_NUMBER}), 0),"  # noqa: S608
    f" coalesce((SELECT max(change) FROM pages WHERE change {_IS_NUMBER}), 0),"
    " coalesce((SELECT CAST(value AS INTEGER) FROM parameters WHERE name = 'last_change'), 0)))"
)

# In this order: a page is not removed for its sketch alone, and the last rule is for pages that
# pointed to a page which an earlier rule removed.
RULES = [
    Invariant(
        "a page has both a sketch and a fingerprint of its content, or none",
        "(typeof(sketch), typeof(content_fingerprint)) NOT IN"
        " (VALUES ('null', 'null'), ('blob', 'integer'))"
        " OR (typeof(sketch) = 'blob' AND NOT is_sketch(sketch))",
        "UPDATE pages SET sketch = NULL, content_fingerprint = NULL",
    ),
    Invariant(
        "a page can be read",
        f"NOT is_row({COLUMNS_OF_ROW})",
        "DELETE FROM pages",
    ),
    Invariant(
        "the latest change of a page has a number of 32 bits",
        f"change NOT {_IS_NUMBER}",
        "UPDATE pages SET change = NULL",
    ),
    Invariant(
        "a request stands once in its scope",
        "id NOT IN (SELECT max(id) FROM pages GROUP BY scope, request_fingerprint)",
        "DELETE FROM pages",
    ),
    Invariant(
        "the crawl that judged a page is known",
        "crawl IS NOT NULL AND crawl NOT IN (SELECT id FROM crawls)",
        "UPDATE pages SET crawl = NULL",
    ),
    Invariant(
        "a duplicate points to a kept page of its scope",
        "representative IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM pages AS kept WHERE kept.id = pages.representative"
        " AND kept.representative IS NULL AND kept.scope = pages.scope)",
        f"UPDATE pages SET representative = NULL, crawl = NULL, change = {_NEXT}",  # noqa: S608
    ),
]


def repair(path: Path) -> list[Problem]:
    """Return the problems of the index at *path*, after mending those that can be mended.

    Of a damaged file structure, only the SQL indexes are mended: they are made anew from the rows.

    :raises FingerprintIndexError: there is no index, or it cannot be used.
    """
    advice = ""  # to repair it would be no advice here
    schema.stored_parameters(path, advice)
    with (
        schema.errors_translated(path, advice),
        closing(schema.writable(path, advice)) as connection,
    ):
        connection.create_function("is_sketch", 1, is_sketch, deterministic=True)
        connection.create_function("is_row", -1, is_row, deterministic=True)
        problems = _check_structure(connection)
        if all(problem.repaired for problem in problems):
            problems += [found for rule in RULES for found in _check_rule(connection, rule)]
            problems += _check_segments(connection)
    return problems


def _check_structure(connection: sqlite3.Connection) -> list[Problem]:
    errors = _integrity(connection)
    if not errors:
        return []
    try:
        connection.execute("REINDEX")
        repaired = not _integrity(connection)
    except schema.ERRORS:
        repaired = False
    rule = "\n".join(["the file is whole", *errors[:SAMPLES]])
    return [Problem(rule, len(errors), [], repaired)]


def _integrity(connection: sqlite3.Connection) -> list[str]:
    lines: list[str] = []
    try:
        for (found,) in connection.execute("PRAGMA integrity_check"):
            lines += found.splitlines()
    except schema.ERRORS as exc:
        lines.append(str(exc))
    return [line for line in lines if line != "ok" and not line.startswith("*** in database")]


def _check_rule(connection: sqlite3.Connection, rule: Invariant) -> list[Problem]:
    """Look for rows that break a rule, without the lock: only mending them stops crawls."""
    query = f"SELECT id FROM pages WHERE {rule.broken} ORDER BY id"  # noqa: S608 - constants
    ids = [row_id for (row_id,) in connection.execute(query)]
    if not ids:
        return []
    connection.execute("BEGIN IMMEDIATE")
    # The numbers of removed pages must not be used again.
    connection.execute(
        f"INSERT OR REPLACE INTO parameters SELECT 'last_change', CAST({_NEXT} AS TEXT)"
    )
    for row_id in ids:  # one by one: mending one may mend the next
        connection.execute(f"{rule.mend} WHERE id = ? AND ({rule.broken})", (row_id,))
    connection.execute("COMMIT")
    left = connection.execute(query).fetchone() is not None
    return [Problem(rule.words, len(ids), ids[:SAMPLES], not left)]


def _check_segments(connection: sqlite3.Connection) -> list[Problem]:
    """Remove the segments from the first bad one on; the next crawls write them again."""
    good = [until for until, *_ in good_segments(connection)]
    bad = connection.execute("DELETE FROM segments WHERE until > ?", (max(good, default=0),))
    if not bad.rowcount:
        return []
    return [Problem("the segments of the tables are whole", bad.rowcount, [], True)]
