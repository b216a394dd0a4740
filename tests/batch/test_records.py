"""What is read of archives, with its place, and what is counted as not read."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import pickle
import zipfile
import zlib
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scrapy.http import Headers, HtmlResponse
from scrapy.responsetypes import responsetypes

from scrapy_simhash.batch import pages, records, warc
from scrapy_simhash.batch.pages import ArchivedPage, is_html, microseconds
from scrapy_simhash.batch.records import Columns, inputs
from scrapy_simhash.batch.unread import SHOWN, Unread
from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.errors import SourceError
from scrapy_simhash.index.sqlite.index import SQLiteIndex
from tests.archives import HTML, packed, page, record, response
from tests.pages import page as index_page

DATE = 1_704_164_645_000_000
PLACE = "http://a.example/"


# "<html>text", and a member of gzip with it, as version 1.2.1 of the package Brotli packs them.
BROTLI = bytes.fromhex("8b04803c68746d6c3e7465787403")
BROTLI_OF_GZIP = bytes.fromhex(
    "8b0e801f8b0800000000000203b3c928c9cdb12b49ad2801002e2a6dcf0a00000003"
)


def read(data: bytes, name: str = "a.warc") -> tuple[list[ArchivedPage], Unread]:
    unread = Unread()

    def note(kind: str, offset: int) -> None:
        unread.add(name, kind, offset)

    return list(pages.pages(warc.WarcFile(io.BytesIO(data), name, note))), unread


def batch(*places: Path | str, **columns: str) -> tuple[list[ArchivedPage], dict[str, int]]:
    unread = Unread()
    files = inputs([str(place) for place in places], Columns(**columns))
    assert [file.number for file in files] == list(range(len(files)))
    found = [one for file in files for one in pickle.loads(pickle.dumps(file)).read(unread)]
    return found, dict(unread.counts)


@pytest.mark.parametrize("is_packed", [False, True])
def test_page_of_a_warc_has_the_place_of_its_record(is_packed: bool) -> None:
    parts = [
        record("", b"software: test\r\n", "warcinfo"),
        page(1),
        record(f"{PLACE}1", b"GET /1 HTTP/1.1\r\n\r\n", "request"),
        page(2, date="2024-01-02T03:04:06Z"),
    ]
    parts = packed(parts) if is_packed else parts
    found, unread = read(b"".join(parts))
    starts = [0, *accumulate(map(len, parts))]
    assert [one._replace(names=()) for one in found] == [
        ArchivedPage("a.warc", starts[1], f"{PLACE}1", DATE, b"<html>page 1", "utf-8"),
        ArchivedPage("a.warc", starts[3], f"{PLACE}2", DATE + 1_000_000, b"<html>page 2", "utf-8"),
    ]
    assert unread.counts == {"warcinfo": 1, "request": 1}
    assert unread.places["request"] == [("a.warc", starts[2])]


def test_texts_of_a_wet_file_are_read() -> None:
    wet = record(f"{PLACE}1", "Grüße".encode(), "conversion")
    image = record(f"{PLACE}1", b"", "conversion", headers={"Content-Type": "image/png"})
    found, unread = read(wet + image)
    assert [one.content for one in found] == ["Grüße"]
    assert unread.counts == {"conversion": 1}


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"content_encoding": "gzip"}, gzip.compress(b"<html>text", mtime=0)),
        (
            {"content_encoding": "x-gzip"},
            gzip.compress(b"<html>", mtime=0) + gzip.compress(b"text", mtime=0),
        ),
        ({"content_encoding": "deflate"}, zlib.compress(b"<html>text")),
        ({"content_encoding": "deflate"}, zlib.compress(b"<html>text")[2:-4]),
        ({"content_encoding": "br"}, BROTLI),
        ({"content_encoding": "gzip, br"}, BROTLI_OF_GZIP),
        ({"content_encoding": "identity"}, b"<html>text"),
        # as many writers leave it, of what they unpacked
        ({"content_encoding": "gzip", "transfer_encoding": "chunked"}, b"<html>text"),
        ({"content_encoding": "br"}, b"<html>text"),
        ({"content_encoding": "unknown"}, b"<html>text"),
        ({"transfer_encoding": "chunked"}, b"6\r\n<html>\r\n4;x=y\r\ntext\r\n0\r\n\r\n"),
        ({"transfer_encoding": "chunked"}, b"6\r\n<html>\r\nFF\r\ntext"),  # the server hung up
        ({"content_length": "3"}, b"<html>text"),
    ],
)
def test_body_is_read_without_the_encodings_of_http(headers: dict[str, str], body: bytes) -> None:
    found, unread = read(record(PLACE, response(body, **headers)))
    assert [one.content for one in found] == [b"<html>text"]
    assert not unread.counts


@pytest.mark.parametrize(
    ("kind", "one"),
    [
        ("status", record(PLACE, response("<html>", status="404 Not Found"))),
        ("not_html", record(PLACE, response("notes", "text/plain"))),
        ("not_html", record(PLACE, response(b"\x00\x01\x89PNG", "image/png"))),
        ("not_http", record(PLACE, b"")),
        ("not_http", record(PLACE, b"HTTP/1.1 abc OK\r\n\r\n<html>")),
        ("not_http", record(PLACE, b"<html>no headers")),
        ("not_http", record("dns:a.example", b"20240102 a.example. 60 IN A 127.0.0.1")),
        ("no_url", record("", response("<html>"))),
        ("no_url", record("http://[a.example/", response("<html>"))),
        ("no_url", record("http://a.example:99999/", response("<html>"))),
        ("content_encoding", record(PLACE, response(b"\x89\x01", content_encoding="br"))),
        ("content_encoding", record(PLACE, response(b"\x89\x01", content_encoding="unknown"))),
        ("metadata", record(PLACE, b"a: b", "metadata")),
        ("resource", record(PLACE, b"<html>", "resource")),
        ("unknown_type", record(PLACE, b"<html>", "other")),
        ("unknown_type", record(PLACE, b"<html>", "")),
        ("no_url", record("", b"", "revisit")),
        ("bad_record", record(PLACE, b"", headers={"Content-Length": "-1"})),
        ("bad_record", record(PLACE, b"", headers={"Content-Length": "9" * 30})),
        ("bad_record", record(PLACE, b"", headers={"X": "x" * warc.MAX_HEAD_BYTES})),
    ],
)
@pytest.mark.parametrize("is_packed", [False, True])
def test_what_is_no_page_is_counted_with_its_place(kind: str, one: bytes, is_packed: bool) -> None:
    parts = packed([page(1), one, page(2)]) if is_packed else [page(1), one, page(2)]
    found, unread = read(b"".join(parts))
    assert [page.url for page in found] == [f"{PLACE}1", f"{PLACE}2"]
    assert unread.counts == {kind: 1}
    assert unread.places == {kind: [("a.warc", len(parts[0]))]}


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("claims", [-3, 5, 80, 100_000])
def test_record_that_lies_about_its_length_is_counted_and_the_next_one_read(
    claims: int, is_packed: bool
) -> None:
    block = response("<html>text")
    parts = [page(1), record(PLACE, block, length=len(block) + claims), page(2), page(3)]
    found, unread = read(b"".join(packed(parts) if is_packed else parts))
    assert [page.url for page in found] == [f"{PLACE}{number}" for number in (1, 2, 3)]
    assert unread.counts.total() == 1


@pytest.mark.parametrize("is_packed", [False, True])
def test_record_that_is_too_large_is_not_read_into_memory(
    is_packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warc, "MAX_BLOCK_BYTES", 10_000)
    monkeypatch.setattr(pages, "MAX_BLOCK_BYTES", 10_000)
    bomb = response(gzip.compress(bytes(100_000)), content_encoding="gzip")
    parts = [page(1), page(2, "x" * 20_000), record(PLACE, bomb), page(3)]
    found, unread = read(b"".join(packed(parts) if is_packed else parts))
    assert [page.url for page in found] == [f"{PLACE}1", f"{PLACE}3"]
    assert unread.counts == {"too_large": 2}


def refers(digest: str = "", url: str = "", date: str = "") -> dict[str, str]:
    return {
        "WARC-Payload-Digest": digest,
        "WARC-Refers-To-Target-URI": url,
        "WARC-Refers-To-Date": date,
    }


@pytest.mark.parametrize("is_packed", [False, True])
def test_revisit_refers_to_a_page_by_its_address_and_date_and_by_its_digest(
    is_packed: bool,
) -> None:
    date = "2024-01-02T03:04:05Z"
    digest = {"WARC-Payload-Digest": "sha1:ABC"}
    parts = [
        record(f"{PLACE}1", response("<html>text"), date=date, headers=digest),
        record(f"{PLACE}2", b"", "revisit", headers=refers("sha1:ABC", f"<{PLACE}1>", date)),
        record(f"{PLACE}3", b"", "revisit", headers=refers("sha1:ABC")),
        # its own address, if it names none
        record(f"{PLACE}1", b"", "revisit", headers=refers("sha1:DEF", date=date)),
        record(f"{PLACE}5", b"", "revisit"),
    ]
    (first, *revisits), unread = read(b"".join(packed(parts) if is_packed else parts))
    assert [one.content for one in revisits] == [None] * 4
    names = list(first.names)
    assert len(names) == 2
    assert [one.refers for one in revisits[:2]] == [names, names[1:]]
    refers_to = revisits[2].refers
    assert refers_to is not None
    assert refers_to[0] == names[0]
    assert refers_to[1] not in names
    assert revisits[3].refers == []
    assert first.refers is None
    assert not unread.counts


RECORDS = [page(number, f"<html>page {number} " + "text " * number) for number in range(5)]
MEMBERS = packed(RECORDS)


@pytest.mark.parametrize("parts", [RECORDS, MEMBERS], ids=["plain", "gzip"])
@given(data=st.data())
def test_cut_file_has_all_records_before_the_cut_and_a_count(
    parts: list[bytes], data: st.DataObject
) -> None:
    whole = b"".join(parts)
    cut = data.draw(st.integers(0, len(whole)))
    found, unread = read(whole[:cut], "a.warc.gz" if parts is MEMBERS else "a.warc")
    ends = list(accumulate(map(len, parts)))
    # The line breaks after a block are no part of it.
    spare = 0 if parts is MEMBERS else len(b"\r\n\r\n")
    assert len(found) == sum(end - spare <= cut for end in ends)
    is_whole = cut and (cut in ends or any(end - spare <= cut <= end for end in ends))
    assert (unread.counts == {}) == bool(is_whole)
    assert is_whole or unread.counts.keys() <= {"truncated", "bad_record"}


@pytest.mark.parametrize("parts", [RECORDS, MEMBERS], ids=["plain", "gzip"])
@given(data=st.data())
def test_damaged_bytes_cost_only_the_records_that_they_are_in(
    parts: list[bytes], data: st.DataObject
) -> None:
    whole = bytearray(b"".join(parts))
    places = data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4))
    for place in places:
        whole[place] = data.draw(st.integers(0, 255))
    ends = list(accumulate(map(len, parts)))
    damaged = {next(i for i, end in enumerate(ends) if place < end) for place in places}
    try:
        found, _ = read(bytes(whole), "a.warc.gz" if parts is MEMBERS else "a.warc")
    except SourceError:
        assert len(damaged) == len(parts)
    else:
        got = {(one.offset, one.content) for one in found}
        original, _ = read(b"".join(parts))
        wanted = {(one.offset, one.content) for i, one in enumerate(original) if i not in damaged}
        assert wanted <= got


@given(st.binary(max_size=400))
@example(warc._GZIP * 100)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for name in ("a.warc", "a.warc.gz"):
        with suppress(SourceError):
            assert read(data, name)[0] == []


@given(st.binary(max_size=300), st.sampled_from(["gzip", "br", "deflate", "zstd", "x"]))
def test_any_block_is_read_or_counted(block: bytes, coding: str) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n".encode()
    for one in (block, head + block, head + b"\r\n" + block):
        found, unread = read(record(PLACE, one))
        assert len(found) + unread.counts.total() == 1


def test_search_in_a_file_that_is_damaged_on_purpose_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc, "_VAIN_BYTES", 100_000)
    # Members that never end, one in the other.
    inside = b"".join(warc._GZIP + bytes(7) for _ in range(20_000))
    stored = zlib.compressobj(0, wbits=31)
    whole = stored.compress(b"WARC/1.0\r\n" + inside)
    found, unread = read(whole, "a.warc.gz")
    assert found == []
    assert unread.counts["given_up"] == 1


def test_many_records_in_one_member_are_refused() -> None:
    with pytest.raises(SourceError, match="warcio recompress"):
        read(gzip.compress(b"".join(RECORDS)))


@pytest.mark.parametrize(
    "data", [b"no WARC at all", gzip.compress(b"text", mtime=0), b"\x1f\x8b\x08text"]
)
def test_other_file_is_refused(data: bytes) -> None:
    with pytest.raises(SourceError, match="no WARC record begins there"):
        read(data)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (HTML, b"text"),
        ("Text/HTML", b"text"),
        ("application/xhtml+xml", b"<?xml version='1.0'?><html>"),
        ("text/plain", b"<html>"),
        ("text/xml", b"<html>"),
        ("application/json", b"{}"),
        ("application/rss+xml", b"<rss>"),
        ("image/png", b"\x89PNG\x01"),
        ("application/pdf", b"%PDF-1.4\x01<html>"),
        ("", b"<!DOCTYPE html><title>"),
        ("", b"<html><title>"),
        ("", b"text"),
        ("application/octet-stream", b"<html><title>"),
        ("unknown", b"<html><title>"),
    ],
)
def test_what_is_html_is_so_for_scrapy(content_type: str, body: bytes) -> None:
    headers = Headers({"Content-Type": content_type} if content_type else {})
    kind = responsetypes.from_args(headers, "http://a.example/", body=body)
    assert is_html(content_type, body) == issubclass(kind, HtmlResponse)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-01-02T03:04:05Z", datetime(2024, 1, 2, 3, 4, 5)),
        ("2024-01-02T03:04:05.123456789Z", datetime(2024, 1, 2, 3, 4, 5, 123456)),
        ("2024-01-02 03:04:05", datetime(2024, 1, 2, 3, 4, 5)),
        ("2024-01-02T03:04:05+01:30", datetime(2024, 1, 2, 1, 34, 5)),
        ("2024-01-02T03:04-0100", datetime(2024, 1, 2, 4, 4)),
        ("2016-12-31T23:59:60Z", datetime(2017, 1, 1)),
        ("2024-01", datetime(2024, 1, 1)),
        ("1969", datetime(1969, 1, 1)),
        ("2024-13-01", None),
        ("9999-12-31T23:59:60", None),
        ("0001-01-01T00:00+01:00", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates_are_in_microseconds(text: str, moment: datetime | None) -> None:
    epoch = datetime(1970, 1, 1)
    wanted = None if moment is None else (moment - epoch) // timedelta(microseconds=1)
    assert microseconds(text) == wanted


def lines(path: Path, *rows: object) -> Path:
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


ROWS: list[dict[str, Any]] = [
    {"url": f"{PLACE}1", "html": "<p>Grüße", "date": "2024-01-02T03:04:05Z", "encoding": "x"},
    {"url": f"{PLACE}2", "text": "Grüße", "date": 1.5},
    {"url": f"{PLACE}3", "fingerprint": "00000000000000FF"},
    {"url": f"{PLACE}4", "fingerprint": -1, "date": "never"},
    {"url": "a.example", "text": ""},
    {"url": f"{PLACE}5"},
    {"url": f"{PLACE}6", "fingerprint": 1 << 64},
    {"url": f"{PLACE}7", "html": ["<p>"]},
    {"url": f"{PLACE}8", "fingerprint": True},
    {"url": f"{PLACE}9", "text": "\ud800"},
]
BADS = {"bad_date": 1, "no_url": 1, "no_content": 1, "bad_record": 3}


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_lines_of_json_are_read(tmp_path: Path, name: str) -> None:
    found, unread = batch(lines(tmp_path / name, *ROWS, {}, []))
    assert unread == BADS | {"no_url": 2, "bad_record": 4}
    assert [one.offset for one in found] == [0, 1, 2, 3, 9]
    html, text, one, other, _ = found
    assert {one.file for one in found} == {str(tmp_path / name)}
    assert (html.content, html.encoding, html.date) == ("<p>Grüße".encode(), "utf-8", DATE)
    assert (text.content, text.date) == ("Grüße", 1_500_000)
    assert (one.content, other.content) == (0xFF, (1 << 64) - 1)
    assert other.date is None
    assert [len(one.payload) for one in found] == [16, 16, 8, 8, 16]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_lines_before_a_cut_are_read(tmp_path: Path, name: str) -> None:
    path = lines(tmp_path / name, *({"url": PLACE, "text": "x" * i} for i in range(20)))
    path.write_bytes(path.read_bytes()[:-12])
    found, unread = batch(path)
    assert len(found) in (18, 19)
    assert unread == {"truncated": 1}


def test_line_that_is_too_long_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_MAX_LINE_BYTES", 100)
    rows = [{"url": PLACE, "text": "x" * length} for length in (10, 10_000, 20)]
    found, unread = batch(lines(tmp_path / "a.jsonl", *rows))
    assert [one.offset for one in found] == [0, 2]
    assert unread == {"too_large": 1}


def test_rows_of_parquet_are_read(tmp_path: Path) -> None:
    moment = datetime(2024, 1, 2, 3, 4, 5, 7, tzinfo=timezone.utc)
    table = pa.table(
        {
            "address": [f"{PLACE}1", f"{PLACE}2", None, f"{PLACE}4"],
            "html": pa.array([b"<p>\xe4", b"<p>", b"", None]),
            "fingerprint": pa.array([None, None, None, -2], pa.int64()),
            "date": pa.array([moment, None, None, moment], pa.timestamp("ns", "UTC")),
            "encoding": ["latin-1", None, None, None],
            "rank": [2.5, float("nan"), 1, 3],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    found, unread = batch(tmp_path / "a.parquet", url="address", order="rank")
    assert [one.offset for one in found] == [0, 1, 3]
    assert [one.content for one in found] == [b"<p>\xe4", b"<p>", (1 << 64) - 2]
    assert [one.date for one in found] == [DATE + 7, None, DATE + 7]
    assert [one.encoding for one in found] == ["latin-1", None, None]
    assert [one.column for one in found] == [2.5, None, 3]
    assert unread == {"no_url": 1}


def test_dates_of_parquet_may_be_days(tmp_path: Path) -> None:
    table = pa.table({"url": [PLACE], "text": ["text"], "date": [date(1970, 1, 2)]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert batch(tmp_path / "a.parquet")[0][0].date == 86_400_000_000


def test_row_group_that_is_damaged_is_counted_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"url": [PLACE] * 9, "text": [f"text {i} " * 50 for i in range(9)]})
    pq.write_table(table, path, row_group_size=3, use_dictionary=False)
    column = pq.ParquetFile(path).metadata.row_group(1).column(1)
    data = bytearray(path.read_bytes())
    start = column.data_page_offset
    data[start : start + 40] = bytes(40)
    path.write_bytes(data)
    found, unread = batch(path)
    assert [one.offset for one in found] == [0, 1, 2, 6, 7, 8]
    assert unread == {"given_up": 1}


def test_equal_bodies_have_equal_payloads(tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(page(1, "<html>one") + page(2, "<html>one") + page(3, "<html>two"))
    one, same, other = (found.payload for found in batch(path)[0])
    assert one == same != other


def test_folder_is_read_by_the_names_in_it(tmp_path: Path) -> None:
    for name in ("b/2.html", "b/1.htm", "a.html", "_temporary/0.html", ".x.html", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"<html>{name}")
    found, unread = batch(tmp_path, tmp_path / "a.html")
    names = ["a.html", "b/1.htm", "b/2.html"]
    assert [one.file for one in found] == [f"{tmp_path}/{name}" for name in names]
    assert [one.url for one in found] == [(tmp_path / name).as_uri() for name in names]
    assert [one.content for one in found] == [f"<html>{name}".encode() for name in names]
    assert [one.date for one in found] == [None] * 3
    assert not unread


def test_uri_of_a_file_system_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<html>")
    (found,), _ = batch(tmp_path.as_uri())
    assert found.file == found.url == f"{tmp_path.as_uri()}/a.html"


def test_wacz_is_read_as_the_files_in_it(tmp_path: Path) -> None:
    path = tmp_path / "a.wacz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("pages/pages.jsonl", "{}", zipfile.ZIP_DEFLATED)
        for name, number in (("b", 2), ("a", 1)):
            file.writestr(f"archive/{name}.warc.gz", b"".join(packed([page(0), page(number)])))
    found, _ = batch(path)
    names = [f"{path}!/archive/{name}.warc.gz" for name in "aabb"]
    assert [one.file for one in found] == names
    assert [one.url[-1] for one in found] == ["0", "1", "0", "2"]
    assert [one.offset for one in found] == [0, len(packed([page(0)])[0])] * 2


def test_wacz_that_is_compressed_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.wacz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("archive/a.warc", page(1))
    with pytest.raises(SourceError, match=r"archive/a\.warc must be stored"):
        batch(tmp_path / "a.wacz")


def test_fingerprints_of_an_index_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.index"

    async def made() -> None:
        async with SQLiteIndex(path, Parameters("words", "global", distance=3)) as index:
            await index.check_and_add(index_page("a.example/1", (1 << 64) - 1))
            await index.check_and_add(index_page("a.example/2", 0))

    asyncio.run(made())
    found, unread = batch(path)
    assert [one.content for one in found] == [(1 << 64) - 1, 0]
    assert [one.offset for one in found] == [1, 2]
    assert found[0].date is not None
    assert not unread


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none", None, "must be a file or a folder with files of these kinds: .wacz, .warc"),
        ("none.warc", None, "must be a file or a folder"),
        ("notes.txt", b"text", "must be a file or a folder"),
        ("a.warc", b"text", "no WARC record begins there"),
        ("a.wacz", b"text", "cannot be read"),
        ("a.parquet", b"text", "cannot be read"),
        ("a.jsonl", b'{"uri": "u", "html": ""}\n', "must have the columns url, one of html, text"),
        ("a.simhash", b"SQLite format 3", "must be a file or a folder"),
        ("foo://a.example/a.warc", None, "cannot be read: Unrecognized filesystem type"),
    ],
)
def test_place_that_cannot_be_read_is_refused(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=message):
        batch(name if "://" in name else tmp_path / name)


def test_columns_that_a_file_lacks_are_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"url": [PLACE], "body": ["<p>"]}), tmp_path / "a.parquet")
    with pytest.raises(
        SourceError, match=r"got body, url\. Say which they are: --column html=NAME"
    ):
        batch(tmp_path / "a.parquet")
    assert batch(tmp_path / "a.parquet", html="body")[0][0].content == b"<p>"
    with pytest.raises(SourceError, match="and rank: got body, url"):
        batch(tmp_path / "a.parquet", html="body", order="rank")


def test_columns_are_named_by_pairs() -> None:
    assert Columns.of(["html=body", "date=fetched"], "x") == Columns(
        html="body", date="fetched", order="x"
    )
    for wrong in ("body", "html", "html=", "order=x"):
        with pytest.raises(SourceError, match=f"got {wrong!r}"):
            Columns.of([wrong])


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.integers(0, 50))))
def test_skipped_is_the_same_in_whatever_order_it_is_added(
    notes: list[tuple[str, str, int]],
) -> None:
    whole, parts = Unread(), (Unread(), Unread())
    for i, note in enumerate(notes):
        whole.add(*note)
        parts[i % 2].add(*note)
    merged = Unread()
    for part in reversed(parts):
        merged.update(Unread.from_json(json.loads(json.dumps(part.as_json()))))
    assert merged.as_json() == whole.as_json()
    for kind, places in whole.places.items():
        of_kind = sorted((file, at) for file, one, at in notes if one == kind)
        assert places == of_kind[:SHOWN]
        assert whole.counts[kind] == len(of_kind)
