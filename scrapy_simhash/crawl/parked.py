"""Parked requests: on disk with the rule that parked each, until they are asked for or not needed.

A request is on disk before anything counts it as parked, and leaves the file only when it was
answered: killing the process loses none.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from scrapy_simhash.url_rules.evidence import Sample
from scrapy_simhash.url_rules.rule import AddressRule

# The state of a request: it is parked; it was asked for, and has no answer; it is to be asked for;
# it waits for the verdict on another one.
_PARKED, _ASKED, _OWED, _WAITING = range(4)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS parked (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    rule TEXT NOT NULL,
    template TEXT NOT NULL,
    key BLOB NOT NULL,
    content INTEGER,
    url TEXT NOT NULL,
    request BLOB NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    looked INTEGER NOT NULL DEFAULT 0,
    page TEXT NOT NULL,
    left_out TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS needed (
    rule TEXT NOT NULL, template TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (rule, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS parked_by_state ON parked (state);
CREATE INDEX IF NOT EXISTS parked_by_rule ON parked (rule, page);
CREATE INDEX IF NOT EXISTS parked_by_key ON parked (key);
CREATE INDEX IF NOT EXISTS parked_by_content ON parked (content);
CREATE INDEX IF NOT EXISTS needed_by_id ON needed (id);
"""
# Times the mean of the requests for a key; of those with a value, so many times fewer are rare.
FAR_MORE = 3
# If a smaller share of the keys has one that is rare, these are looked at before the others.
FEW = 0.1
# In place of 1, of a key that had its trial: it was looked at as one with far more requests.
_CROWDED = 2
# Files of other runs are removed after this time.
KEEP_SECONDS = 30 * 86_400
_APPLICATION_ID = 0x53485045  # "SHPE"


class ParkedRequest(NamedTuple):
    """A parked request, as Scrapy's request_from_dict() takes it, pickled.

    If it *tests_rule*, it was parked for a page that is still kept: if its own page is kept now,
    the rule is wrong.
    """

    id: int
    rule: AddressRule
    pattern: str
    url: str
    request: bytes
    tests_rule: bool


class ParkedBy(NamedTuple):
    """Why a request is parked: by a rule, in a folder pattern, under a key.

    It is parked for a kept page with a *content*.  One that *is_waiting* is parked for a page that
    has no verdict yet.  *others* are rules that had to apply as well, and their patterns.  *page*
    is the page pattern of the address, and *left_out* what the rule leaves out of it.  *looked*:
    the rule had its trial for this key.
    """

    rule: AddressRule
    pattern: str
    key: int
    content: int | None = None
    is_waiting: bool = False
    others: Iterable[tuple[AddressRule, str]] = ()
    page: str = ""
    looked: bool = False
    left_out: str = ""


class ParkedRequests:
    """The parked requests in one file, of one process at a time; in memory if there is no *path*.

    :raises sqlite3.Error: the file is damaged or none of these, or cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path or ":memory:", isolation_level=None)
        try:
            self._open()
        except BaseException:
            self._connection.close()
            raise

    def _open(self) -> None:
        _check(self._connection, self._path)
        self._connection.execute("PRAGMA journal_mode = WAL")
        # A commit reaches the system at once, and the disk a little later.
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.executescript(_SCHEMA)
        self._connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        self._connection.execute("UPDATE parked SET state = ? WHERE state = ?", (_OWED, _ASKED))

    def park(self, url: str, request: bytes, why: ParkedBy) -> None:
        """Store a request; when this returns, it is there for good."""
        rule, pattern, key, content, is_waiting, others, page, looked, left_out = why
        state = _WAITING if is_waiting else _PARKED
        with self._connection:
            self._connection.execute("BEGIN")
            stored = self._connection.execute(
                "INSERT INTO parked"
                " (rule, template, key, url, request, content, state, page, looked, left_out)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(_written(rule), pattern, _key(key), url, request),
                    *(content, state, page, looked, left_out),
                ),
            )
            self._connection.executemany(
                "INSERT INTO needed VALUES (?, ?, ?)",
                ((_written(other), where, stored.lastrowid) for other, where in others),
            )

    def note_known(self, key: int, content: int) -> None:
        """Park the requests that wait for the verdict on a page with a key: it is known."""
        self._connection.execute(
            "UPDATE parked SET state = ?, content = ? WHERE state = ? AND key = ?",
            (_PARKED, content, _WAITING, _key(key)),
        )

    def release(
        self,
        rule: AddressRule | None = None,
        pattern: str | None = None,
        page: str | None = None,
        key: int | None = None,
        content: int | None = None,
    ) -> None:
        """Have requests asked for that are parked or wait: those with all values that are given.

        They may be those of a rule, in one folder and page pattern or everywhere; of one key; or
        for one kept page and its copies, by its *content*: as it is kept no more, these test no
        rule.  Those that other rules have parked together with the *rule* are among them, whatever
        else is given.
        """
        values = {
            "rule": rule and _written(rule),
            "template": pattern,
            "page": page,
            "key": None if key is None else _key(key),
            "content": content,
        }
        given = {name: value for name, value in values.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in given)
        self._connection.execute(
            f"UPDATE parked SET state = {_OWED}, content = nullif(content, ?)"  # noqa: S608 - only our own text
            f" WHERE state IN ({_PARKED}, {_WAITING})"
            f" AND ({where} OR id IN (SELECT id FROM needed WHERE needed.rule = ?))",
            (content, *given.values(), values["rule"]),
        )

    def release_left(self, unanswered: Collection[int]) -> None:
        """Have all requests asked for that wait, and once more those that had no answer."""
        self._connection.execute(
            "UPDATE parked SET state = ? WHERE state = ? OR id IN (SELECT value FROM json_each(?))",
            (_OWED, _WAITING, json.dumps([*unanswered])),
        )

    def take_owed(self, limit: int) -> list[ParkedRequest]:
        """Return the oldest requests that are to be asked for; they count as asked for now."""
        return self._take("state = ? ORDER BY id LIMIT ?", _OWED, limit)

    def has_page(self, rule: AddressRule, page: str) -> bool:
        """Whether any request of a rule in a page pattern has no answer."""
        where = "rule = ? AND page = ? LIMIT 1"
        return any(_selected(self._connection, where, _written(rule), page))

    def sample(
        self, rule: AddressRule, sample: Sample, tried: Collection[str]
    ) -> list[ParkedRequest]:
        """Return random requests of a rule, each of another key that was not looked at.

        They count as asked for now.  There are *each* of every pattern in the sample that is not
        *tried*.  Of a key, the one is chosen of which the rule leaves out what is rare, if there is
        one: such a value may matter though the others do not.  If half of the keys had such a one,
        as where each link has a session of its own, this says nothing.  If hardly any has, these
        come first.
        """
        where = f"""id IN (
            WITH counted AS (
                SELECT id, key, template, count(*) OVER (PARTITION BY left_out) AS alike
                FROM parked WHERE state = ? AND rule = ? AND NOT looked
                AND template IN (SELECT value FROM json_each(?))
            ), marked AS (
                SELECT *, {FAR_MORE} * alike < avg(alike) OVER () AS is_rare FROM counted
            ), shared AS (SELECT total(is_rare) / count(DISTINCT key) AS share FROM marked
            ), of_key AS (
                SELECT id, template, abs(random()) AS place, is_rare AND share < {FEW} AS is_odd,
                row_number() OVER (
                    PARTITION BY key ORDER BY is_rare AND share < 0.5 DESC, random()
                ) AS number FROM marked, shared
            ), found AS (
                SELECT id, is_odd, place, template NOT IN (SELECT value FROM json_each(?))
                AND row_number() OVER (PARTITION BY template ORDER BY is_odd DESC, place) <= ?
                AS is_first FROM of_key WHERE number = 1
            )
            SELECT id FROM found ORDER BY is_first DESC, is_odd DESC, place
            LIMIT max((SELECT total(is_first) FROM found), ?)
        )"""  # noqa: S608 - only our own text
        names = json.dumps(sample.patterns), json.dumps([*tried])
        return self._look(where, rule, *names, sample.each, sample.limit)

    def crowded(self, rule: AddressRule) -> list[ParkedRequest]:
        """Return random requests of the keys that have far more than others, from each once.

        They count as asked for now.  Of n requests for a key, there are about the square root of n,
        even if the key had its trial: two searches that find nothing do not show that all do.
        """
        where = f"""id IN (
            WITH one AS (
                SELECT id, looked, count(*) OVER (PARTITION BY key) AS requests,
                row_number() OVER (PARTITION BY key ORDER BY random()) - 1 AS place
                FROM parked WHERE state = ? AND rule = ?
            )
            SELECT id FROM one WHERE looked < {_CROWDED} AND place * place < requests
            AND requests > {FAR_MORE} * (SELECT count(*) / total(place = 0) FROM one)
        )"""  # noqa: S608 - only our own text
        return self._look(where, rule, looked=_CROWDED)

    def _look(
        self, where: str, rule: AddressRule, *values: object, looked: int = 1
    ) -> list[ParkedRequest]:
        written = _written(rule)
        rows = self._take(where, _PARKED, written, *values)
        self._connection.executemany(
            "UPDATE parked SET looked = ? WHERE rule = ?"
            " AND key = (SELECT key FROM parked WHERE id = ?)",
            ((looked, written, row.id) for row in rows),
        )
        return rows

    def answered(self, number: int) -> None:
        """Forget a request that was answered."""
        with self._connection:
            self._connection.execute("BEGIN")
            self._connection.execute("DELETE FROM needed WHERE id = ?", (number,))
            self._connection.execute("DELETE FROM parked WHERE id = ?", (number,))

    def keys(self) -> dict[AddressRule, dict[str, int]]:
        """Return in which patterns each rule has parked requests, of how many new keys."""
        query = (
            "SELECT rule, template, count(DISTINCT CASE looked WHEN 0 THEN key END) "
            "FROM parked WHERE state = ? GROUP BY rule, template"
        )
        found: dict[AddressRule, dict[str, int]] = {}
        for rule, pattern, keys in self._connection.execute(query, (_PARKED,)):
            found.setdefault(AddressRule(*json.loads(rule)), {})[pattern] = keys
        return found

    def others(self) -> list[tuple[AddressRule, str]]:
        """Return the rules that had to apply as well where requests are parked, with patterns."""
        query = (
            "SELECT DISTINCT needed.rule, needed.template FROM needed JOIN parked USING (id)"
            " WHERE state = ?"
        )
        rows = self._connection.execute(query, (_PARKED,))
        return [(AddressRule(*json.loads(rule)), pattern) for rule, pattern in rows]

    def close(self) -> None:
        """Close the file, and remove it if it is empty."""
        (left,) = self._connection.execute("SELECT count(*) FROM parked").fetchone()
        self._connection.close()
        if self._path is not None and not left:
            self._path.unlink(missing_ok=True)

    def _take(self, where: str, *values: object) -> list[ParkedRequest]:
        rows = list(_selected(self._connection, where, *values))
        self._connection.executemany(
            "UPDATE parked SET state = ? WHERE id = ?", ((_ASKED, row.id) for row in rows)
        )
        return rows


def read_parked(path: Path) -> Iterator[ParkedRequest]:
    """Yield all requests in a file, those without an answer as well, and leave it as it is.

    :raises sqlite3.Error: the file is damaged or none of these, or cannot be read.
    """
    # If no process has the file open, reading it must not create files beside it.
    is_in_use = path.with_name(f"{path.name}-wal").exists()
    uri = f"{path.absolute().as_uri()}?mode=ro{'' if is_in_use else '&immutable=1'}"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        _check(connection, path)
        yield from _selected(connection, "TRUE ORDER BY id")


def remove_old(folder: Path) -> None:
    """Remove the files of runs that are long over."""
    for file in folder.glob("*.sqlite*"):
        if time.time() - file.stat().st_mtime > KEEP_SECONDS:
            file.unlink(missing_ok=True)


def _check(connection: sqlite3.Connection, path: Path | None) -> None:
    (found,) = connection.execute("PRAGMA application_id").fetchone()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    if pages and found != _APPLICATION_ID:
        raise sqlite3.DatabaseError(f"{path} is no file of parked requests")


def _selected(
    connection: sqlite3.Connection, where: str, *values: object
) -> Iterator[ParkedRequest]:
    columns = "id, rule, template, url, request, content IS NOT NULL"
    query = f"SELECT {columns} FROM parked WHERE {where}"  # noqa: S608 - only our own text
    for number, rule, *others in connection.execute(query, values):
        yield ParkedRequest(number, AddressRule(*json.loads(rule)), *others)


def _written(rule: AddressRule) -> str:
    return json.dumps([rule.kind, rule.host, rule.drop, rule.keep])


def _key(key: int) -> bytes:
    return key.to_bytes(8, "big")
