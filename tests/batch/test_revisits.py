"""Revisits in archives: pages whose content is in another record, maybe of another file."""

from __future__ import annotations

import gzip
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pq = pytest.importorskip("pyarrow.parquet")

from scrapy_simhash.batch import local  # noqa: E402
from scrapy_simhash.batch.records import inputs, opened  # noqa: E402
from scrapy_simhash.batch.unread import Unread  # noqa: E402
from scrapy_simhash.batch.warc import WarcFile  # noqa: E402
from tests.archives import packed, record, response  # noqa: E402
from tests.batch.test_local import choices, plainly  # noqa: E402
from tests.batches import html_of, link_of_chain  # noqa: E402
from tests.command_line import simhash_json  # noqa: E402

A, B = "http://a.example/", "http://b.example/"
ONE, OTHER, THIRD, X, Y = (html_of(link_of_chain(0, 50 * number)) for number in range(5))


def revisit(url: str, date: str, of: str = "", met: str = "", digest: str = "") -> bytes:
    refers = {"WARC-Refers-To-Target-URI": of, "WARC-Refers-To-Date": met}
    headers = refers | {"WARC-Payload-Digest": digest}
    return record(url, b"", "revisit", date, headers=headers)


def page(url: str, date: str, html: bytes | str, digest: str = "") -> bytes:
    return record(url, response(html), date=date, headers={"WARC-Payload-Digest": digest})


RECORDS = [
    page(f"{A}one", "2024-01-01", ONE, "sha1:ONE"),
    page(f"{A}other", "2024-01-02", OTHER),
    page(f"{A}empty", "2024-01-03", "", "sha1:EMPTY"),
    # That with the address and date, whatever its digest: a 304 has that of nothing.
    revisit(f"{A}one", "2024-01-04", f"{A}one", "2024-01-01", "sha1:EMPTY"),
    revisit(f"{B}one", "2024-01-05", digest="sha1:ONE"),
    revisit(f"{A}other", "2024-01-06", f"{A}other", "2024-01-02"),
    # By its digest if that with the address and date is nowhere.
    revisit(f"{A}moved", "2024-01-07", f"{A}gone", "2024-01-01", "sha1:ONE"),
    revisit(f"{A}empty", "2024-01-08", f"{A}empty", "2024-01-03", "sha1:ONE"),
    # It comes before its page, and is kept.
    revisit(f"{B}third", "2024-01-09", digest="sha1:THIRD"),
    page(f"{A}third", "2024-01-10", THIRD, "sha1:THIRD"),
    # Of two contents with one digest it has always the same.
    page(f"{A}x", "2024-01-11", X, "sha1:TWO"),
    page(f"{A}y", "2024-01-12", Y, "sha1:TWO"),
    revisit(f"{A}z", "2024-01-13", digest="sha1:TWO"),
]
# Of nothing, of a page that is nowhere, of a picture, and of a revisit.
UNRESOLVED = [
    record(f"{A}picture", response(b"\x89PNG", "image/png"), date="2024-01-14"),
    revisit(f"{A}nothing", "2024-01-15"),
    revisit(f"{A}gone", "2024-01-16", f"{A}gone", "2024-01-01", "sha1:GONE"),
    revisit(f"{A}picture", "2024-01-17", f"{A}picture", "2024-01-14"),
    revisit(f"{A}again", "2024-01-18", f"{A}one", "2024-01-04"),
]


def layouts(folder: Path) -> list[list[Path]]:
    """The same records: in one file, backwards, each in its own, in two, and these swapped."""
    folder.mkdir()
    records = RECORDS + UNRESOLVED
    mixed = random.Random(1).sample(records, len(records))
    cuts = [[records], [records[::-1]], [[one] for one in mixed], [mixed[::2], mixed[1::2]]]
    found = []
    for number, files in enumerate(cuts):
        paths = [folder / f"{number}-{at:02}.warc.gz" for at in range(len(files))]
        for path, some in zip(paths, files, strict=True):
            path.write_bytes(b"".join(packed(some)))
        found.append(paths)
    return [*found, found[-1][::-1]]


def run(
    folder: Path, files: Sequence[Path], rule: str = "verified", known: Path | None = None
) -> tuple[list[dict[str, Any]], Unread]:
    folder.mkdir(exist_ok=True)
    sources = inputs([str(path) for path in files])
    out = folder / "out.parquet"
    unread = local.run(sources, choices(rule), folder / "work", out, known)
    found: list[dict[str, Any]] = pq.read_table(out).to_pylist()
    return found, unread


def url_at(file: str, offset: int) -> str:
    with opened(file) as opened_file:
        return WarcFile(opened_file, file, lambda kind, at: None).at(offset).url


@pytest.mark.parametrize("rule", ["verified", "plain"])
def test_revisits_are_their_pages_in_whichever_file_these_are(tmp_path: Path, rule: str) -> None:
    answers = []
    for number, files in enumerate(layouts(tmp_path / "files")):
        found, unread = run(tmp_path / str(number), files, rule)
        assert unread.counts == {"revisit_unresolved": 4, "not_html": 1}
        contents = [
            row["content_file"] and url_at(row["content_file"], row["content_offset"])
            for row in found
        ]
        answers.append((plainly(found), contents))
    assert answers == [answers[0]] * len(answers)
    shown = [(row["url"], row["verdict"], row["representative"]) for row in found]
    copy = "exact_duplicate"
    assert shown[:-1] == [
        (f"{A}one", "unique", None),
        (f"{A}other", "unique", None),
        (f"{A}empty", "skipped", None),
        (f"{A}one", copy, f"{A}one"),
        (f"{B}one", copy, f"{A}one"),
        (f"{A}other", copy, f"{A}other"),
        (f"{A}moved", copy, f"{A}one"),
        (f"{A}empty", "skipped", None),
        (f"{B}third", "unique", None),
        (f"{A}third", copy, f"{B}third"),
        (f"{A}x", "unique", None),
        (f"{A}y", "unique", None),
    ]
    of = contents[-1]
    assert of in (f"{A}x", f"{A}y")
    assert shown[-1] == (f"{A}z", copy, of)
    assert contents[3:10] == [
        *(f"{A}{name}" for name in ("one", "one", "other", "one", "empty", "third")),
        None,
    ]


def test_revisit_of_a_page_in_an_archive_that_is_known_alone_is_not_resolved(
    tmp_path: Path,
) -> None:
    """With its page among the inputs, it is a duplicate of the page that is known."""
    first, second = tmp_path / "first.warc", tmp_path / "second.warc"
    first.write_bytes(RECORDS[0])
    second.write_bytes(RECORDS[3])
    known = tmp_path / "known"
    run(tmp_path / "1", [first], known=known)
    found, unread = run(tmp_path / "2", [second], known=known)
    assert (found, unread.counts) == ([], {"revisit_unresolved": 1})
    found, unread = run(tmp_path / "3", [second, first], known=known)
    assert not unread.counts
    assert [(row["verdict"], row["representative_file"]) for row in found] == [
        ("exact_duplicate", str(first))
    ] * 2


def test_archive_of_what_is_kept_has_the_content_of_revisits(tmp_path: Path) -> None:
    *_, files, _ = layouts(tmp_path / "files")
    options = ("--kept", "kept.warc.gz", "--report", "report.html", "-s", "SIMHASH_WORKERS=0")
    found = simhash_json(tmp_path, "batch", *map(str, files), "--out", "a.parquet", *options)
    counts = {name: found[name] for name in ("pages", "kept", "exact_duplicates", "not_judged")}
    assert counts == {
        "pages": 13,
        "kept": 5,
        "exact_duplicates": 6,
        "not_judged": {"no_text": 2},
    }
    assert found["not_read"]["revisit_unresolved"]["records"] == 4
    shown = (tmp_path / "report.html").read_text()
    assert "11 pages judged: 5 kept, 6 duplicates" in shown
    (kept,) = inputs([str(tmp_path / "kept.warc.gz")])
    unread = Unread()
    pages = list(kept.read(unread))
    assert not unread.counts
    assert len(pages) == 13
    assert {one.url: one.content for one in pages if one.content} == {
        f"{A}one": ONE,
        f"{A}other": OTHER,
        f"{B}third": THIRD,
        f"{A}x": X,
        f"{A}y": Y,
    }
    text = gzip.decompress((tmp_path / "kept.warc.gz").read_bytes())
    assert text.count(b"WARC-Type: revisit") == 6
    # What is kept is an archive of its own, with the same answer.
    again = simhash_json(tmp_path, "batch", "kept.warc.gz", "--out", "b.parquet", *options[4:])
    assert {name: again[name] for name in counts} == counts
    assert again["not_read"] == {}
