"""The archive of what a batch keeps: as it was, and read by other programs."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scrapy_simhash.batch.output import write_kept
from scrapy_simhash.batch.records import inputs
from scrapy_simhash.batch.report import batch_report
from scrapy_simhash.batch.unread import Unread
from scrapy_simhash.errors import SourceError
from tests.archives import packed, page, record, response
from tests.command_line import simhash, simhash_json
from tests.conftest import article, prose

PLACE = "http://a.example/"
DATE = "2024-01-02T03:04:05Z"
COLUMNS = {
    "file": pa.string(),
    "offset": pa.int64(),
    "verdict": pa.string(),
    "representative_file": pa.string(),
    "representative_offset": pa.int64(),
    "content_file": pa.string(),
    "content_offset": pa.int64(),
}

# A file, a page in it, and what is decided: None (kept), "near", or the page it is a copy of.
Case = tuple[str, int, Any]


def decided(
    folder: Path,
    files: dict[str, list[bytes]],
    cases: list[Case],
    contents: Mapping[tuple[str, int], tuple[str, int]] = {},
) -> Path:
    """Write files of WARC, and decisions on their pages; *contents* are those of revisits."""
    starts = {}
    for name, parts in files.items():
        parts = packed(parts) if name.endswith(".gz") else parts
        (folder / name).write_bytes(b"".join(parts))
        starts[name] = [0, *accumulate(map(len, parts))]
    rows = []
    for name, number, of in cases:
        row = {"file": str(folder / name), "offset": starts[name][number], "verdict": "unique"}
        if of is not None:
            row["verdict"] = "near_duplicate" if of == "near" else "exact_duplicate"
        if isinstance(of, tuple):
            row["representative_file"] = str(folder / of[0])
            row["representative_offset"] = starts[of[0]][of[1]]
        if at := contents.get((name, number)):
            row["content_file"] = str(folder / at[0])
            row["content_offset"] = starts[at[0]][at[1]]
        rows.append(row)
    path = folder / "decisions.parquet"
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(COLUMNS)), path)
    return path


def kept_in(decisions: Path, path: Path) -> tuple[int, int]:
    """Write what is kept; how many pages the archive has, and revisits of them."""
    write_kept(decisions, path)
    kept = gzip.decompress(path.read_bytes())
    return kept.count(b"WARC-Type: response"), kept.count(b"WARC-Type: revisit")


def pages_in(path: Path) -> tuple[list[tuple[str, object]], Unread]:
    unread = Unread()
    (kept,) = inputs([str(path)])
    return [(one.url[-1], one.content) for one in kept.read(unread)], unread


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz"])
def test_records_of_kept_pages_are_as_they_were(tmp_path: Path, name: str) -> None:
    request = record("http://a.example/0", b"GET / HTTP/1.1\r\n\r\n", "request")
    parts = [request, *(page(number) for number in range(4))]
    cases: list[Case] = [(name, 4, None), (name, 1, None), (name, 2, "near"), (name, 3, None)]
    kept = tmp_path / "kept.warc.gz"
    assert kept_in(decided(tmp_path, {name: parts}, cases), kept) == (3, 0)
    assert gzip.decompress(kept.read_bytes()) == parts[1] + parts[3] + parts[4]
    if name.endswith(".gz"):
        assert kept.read_bytes() == b"".join(packed([parts[1], parts[3], parts[4]]))
    assert [url for url, _ in pages_in(kept)[0]] == ["0", "2", "3"]


TEXT = "<html>the same text"
PARTS = {
    "a.warc.gz": [page(1, TEXT, date=DATE), page(2, TEXT), page(3, TEXT + " ")],
    "b.warc": [
        record("http://a.example/4", response(TEXT, server="b")),
        # the same text, but other bytes
        record(
            "http://a.example/5", response(gzip.compress(TEXT.encode()), content_encoding="gzip")
        ),
        # the same bytes, but shown under the headers of the other they would not be unpacked
        record("http://a.example/6", response(TEXT, content_encoding="gzip")),
    ],
}
FIRST = ("b.warc", 0)
CASES: list[Case] = [
    ("b.warc", 0, None),
    ("b.warc", 1, FIRST),
    ("b.warc", 2, FIRST),
    ("a.warc.gz", 0, FIRST),
    ("a.warc.gz", 1, FIRST),
    ("a.warc.gz", 2, FIRST),
]


def test_copies_byte_by_byte_are_revisits_and_no_others(tmp_path: Path) -> None:
    kept = tmp_path / "kept.warc.gz"
    assert kept_in(decided(tmp_path, PARTS, CASES), kept) == (1, 2)
    text = gzip.decompress(kept.read_bytes()).decode()
    assert text.count("WARC-Type: revisit") == 2
    assert "WARC-Refers-To-Target-URI: http://a.example/4" in text
    assert text.count(TEXT) == 1
    # Their headers of HTTP are their own.
    assert text.count("server: b") == 1


def test_revisit_of_a_page_that_comes_later_in_the_archive_is_not_lost(tmp_path: Path) -> None:
    cases: list[Case] = [("a.warc.gz", 0, ("a.warc.gz", 1)), ("a.warc.gz", 1, None)]
    kept = tmp_path / "kept.warc.gz"
    assert kept_in(decided(tmp_path, PARTS, cases), kept) == (1, 1)


def test_copy_of_a_page_in_another_archive_is_left_out(tmp_path: Path) -> None:
    cases: list[Case] = [("a.warc.gz", 0, "known"), ("a.warc.gz", 1, None)]
    kept = tmp_path / "kept.warc.gz"
    assert kept_in(decided(tmp_path, PARTS, cases), kept) == (1, 0)


def test_revisit_that_is_kept_gets_its_content(tmp_path: Path) -> None:
    files = {
        "a.warc": [record("http://a.example/1", response(TEXT))],
        "b.warc.gz": [record("http://a.example/2", b"", "revisit", headers={"WARC-Profile": "x"})],
    }
    cases: list[Case] = [("b.warc.gz", 0, None), ("a.warc", 0, ("b.warc.gz", 0))]
    kept = tmp_path / "kept.warc.gz"
    decisions = decided(tmp_path, files, cases, {("b.warc.gz", 0): ("a.warc", 0)})
    assert kept_in(decisions, kept) == (1, 1)
    assert pages_in(kept)[0] == [("2", TEXT.encode()), ("1", None)]
    (tmp_path / "a.warc").write_bytes(b"other")
    with pytest.raises(SourceError, match=r"b\.warc\.gz has 0 of the 1 pages"):
        write_kept(decisions, kept)


def test_nothing_kept_is_an_empty_archive(tmp_path: Path) -> None:
    kept = tmp_path / "kept.warc.gz"
    assert kept_in(decided(tmp_path, PARTS, []), kept) == (0, 0)
    assert kept.read_bytes() == b""


def test_file_that_has_changed_is_refused_and_the_old_archive_stays(tmp_path: Path) -> None:
    decisions = decided(tmp_path, PARTS, CASES)
    kept = tmp_path / "kept.warc.gz"
    kept.write_bytes(b"old")
    (tmp_path / "b.warc").write_bytes(PARTS["b.warc"][1])
    with pytest.raises(SourceError, match=r"b\.warc has 1 of the 3 pages"):
        write_kept(decisions, kept)
    (tmp_path / "b.warc").unlink()
    with pytest.raises(SourceError, match=r"b\.warc cannot be read"):
        write_kept(decisions, kept)
    assert kept.read_bytes() == b"old"


def test_archive_is_read_by_fastwarc(tmp_path: Path) -> None:
    warc = pytest.importorskip("fastwarc.warc")
    kept = tmp_path / "kept.warc.gz"
    write_kept(decided(tmp_path, PARTS, CASES), kept)
    found = []
    for one in warc.ArchiveIterator(io.BytesIO(kept.read_bytes())):
        assert one.http_headers.status_code == 200
        found.append((one.record_type, one.headers["WARC-Target-URI"][-1], one.reader.read()))
    body = TEXT.encode()
    assert sorted(found, key=lambda one: one[1]) == [
        (warc.revisit, "1", b""),
        (warc.revisit, "2", b""),
        (warc.response, "4", body),
    ]


def test_batch_writes_the_archive_and_the_report(tmp_path: Path) -> None:
    texts = [article(prose(f"topic{number % 3}x")) for number in range(7)]
    parts = [
        record(f"{PLACE}{number}", response(text), date=f"2024-01-0{number + 1}")
        for number, text in enumerate(texts)
    ]
    (tmp_path / "a.warc.gz").write_bytes(b"".join(packed(parts)))
    options = ("--kept", "kept.warc.gz", "--report", "report.html", "-s", "SIMHASH_WORKERS=0")
    found = simhash_json(tmp_path, "batch", "a.warc.gz", "--out", "a.parquet", *options)
    assert (found["pages"], found["kept"], found["exact_duplicates"]) == (7, 3, 4)
    pages, _ = pages_in(tmp_path / "kept.warc.gz")
    assert [url for url, _ in pages] == list("0123456")
    assert gzip.decompress((tmp_path / "kept.warc.gz").read_bytes()).count(b"topic0x") > 0
    shown = (tmp_path / "report.html").read_text()
    assert "7 pages judged: 3 kept, 4 duplicates. 4 were dropped." in shown
    assert f"{PLACE}0" in shown
    for unknown in ("Downloaded", "What was saved", "Worker time", "and their links"):
        assert unknown not in shown


def test_archive_is_made_of_warc_files_alone(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"url": "http://a.example/", "html": "<p>"}\n')
    done = simhash(tmp_path, "batch", "a.jsonl", "--out", "a.parquet", "--kept", "kept.warc.gz")
    assert done.returncode == 2
    assert "a.jsonl is none. Leave out --kept" in done.stderr
    assert not (tmp_path / "a.parquet").exists()


NO_DECISION = dict.fromkeys(("representative", "distance", "share", "crowded", "date"))
UNIQUE = {"verdict": "unique", "reason": "new_text"}
NEAR = {"verdict": "near_duplicate", "reason": "share_in_common", "distance": 3, "share": 0.95}


def report_of_batch(folder: Path, *rows: dict[str, Any]) -> dict[str, Any]:
    """The report of a batch with these decisions."""
    pq.write_table(
        pa.Table.from_pylist(
            [NO_DECISION | row for row in rows],
            pa.schema(
                {
                    **dict.fromkeys(("url", "verdict", "reason", "representative"), pa.string()),
                    "distance": pa.int8(),
                    "share": pa.float32(),
                    "crowded": pa.bool_(),
                    "date": pa.timestamp("us", "UTC"),
                }
            ),
        ),
        folder / "a.parquet",
    )
    return batch_report(folder / "a.parquet", "a")


def test_report_of_a_batch_counts_in_its_order(tmp_path: Path) -> None:
    report = report_of_batch(
        tmp_path,
        {"url": f"{PLACE}1", **UNIQUE, "date": datetime(2024, 1, 2, tzinfo=timezone.utc)},
        {"url": f"{PLACE}2", **NEAR, "representative": f"{PLACE}1"},
        {"url": f"{PLACE}3", "verdict": "skipped", "reason": "no_text"},
    )
    totals = report["totals"]
    assert (totals["unique"], totals["near_duplicate"], totals["skipped"]) == (1, 1, 1)
    assert (totals["dropped"], totals["analyses_avoided"]) == (1, 0)
    assert totals["first"] == totals["last"] == "2024-01-02T00:00:00+00:00"
    assert [group["representative"] for group in report["groups"]] == [f"{PLACE}1"]


def test_report_of_a_batch_shows_the_rules_that_its_pages_teach(tmp_path: Path) -> None:
    pages = [{"url": f"{PLACE}{number}", **UNIQUE} for number in range(10)]
    copies = [{"url": f"{one['url']}?sid=1", **NEAR, "representative": one["url"]} for one in pages]
    report = report_of_batch(tmp_path, *pages, *copies)
    (rule,) = report["rules"]
    assert rule["advice"] == "Ignore the parameter sid on a.example"
    assert (rule["keys"], rule["duplicates"], rule["body_bytes"]) == (8, 8, 0)
    assert rule["needless"] == 0, "it is on trial"


# In a process of its own: pywb changes the modules of Python for gevent.
REPLAY = """
import io, json, sys
from pywb.indexer.cdxindexer import write_cdx_index
from pywb.warcserver.index.cdxobject import CDXObject
from pywb.warcserver.resource.resolvingloader import ResolvingLoader

output = io.BytesIO()
with open(sys.argv[1], "rb") as file:
    write_cdx_index(output, file, sys.argv[1], sort=True)
lines = [CDXObject(line) for line in output.getvalue().splitlines()[1:]]
by_url = lambda query: [one for one in lines if one["url"] == query["url"]]
load = ResolvingLoader([lambda name, cdx: name])
shown = {}
for one in lines:
    headers, body = load(one, [], by_url)
    shown[one["url"]] = [one["mime"], headers.get_header("server"), body.read().decode()]
print(json.dumps(shown))
"""


@pytest.mark.skipif(find_spec("pywb") is None, reason="pywb is not installed")
def test_archive_is_replayed_by_pywb(tmp_path: Path) -> None:
    kept = tmp_path / "kept.warc.gz"
    write_kept(decided(tmp_path, PARTS, CASES), kept)
    command = [sys.executable, "-W", "ignore", "-c", REPLAY, str(kept)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "http://a.example/1": ["warc/revisit", None, TEXT],
        "http://a.example/2": ["warc/revisit", None, TEXT],
        "http://a.example/4": ["text/html", "b", TEXT],
    }
