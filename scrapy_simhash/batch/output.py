"""The archive of what a batch keeps (``--kept``).

It has the records of the pages that are kept, copied byte by byte, in the order of their files.  A
page whose body is that of a kept one, byte by byte, is a revisit record (WARC/1.1, profile
identical-payload-digest): it is shown with the body of the kept page.  All other duplicates are not
in it, and neither is what is no page.
"""

from __future__ import annotations

import gzip
from base64 import b32encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha1
from pathlib import Path
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scrapy_simhash.batch.pages import http_headers
from scrapy_simhash.batch.records import WARC_SUFFIXES, opened
from scrapy_simhash.batch.warc import UnreadableError, WarcFile, WarcRecord
from scrapy_simhash.errors import SourceError
from scrapy_simhash.files import replacing

_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
# Headers of a revisit record that those of a response have not.
_OF_REVISITS = frozenset(
    {
        *("warc-profile", "warc-refers-to", "warc-refers-to-target-uri", "warc-refers-to-date"),
        *("warc-truncated", "warc-block-digest", "content-length", "content-type"),
    }
)
_IN_CAPITALS = frozenset({"warc", "id", "uri", "ip"})

# A page: its file, and its place in it.
Place = tuple[str, int]


class Original(NamedTuple):
    """A kept page to which revisit records may refer; *identity* is equal for equal bodies."""

    identity: bytes
    url: str
    date: str
    digest: str


def check_sources(places: Iterable[str]) -> None:
    """Refuse files of which no archive can be made.

    :raises SourceError: one is no WARC file.
    """
    for place in places:
        if not place.lower().endswith(WARC_SUFFIXES):
            raise SourceError(
                f"An archive of kept pages is made of WARC files alone: {place} is none. Leave out "
                f"--kept: the decisions say which pages are kept"
            )


def write_kept(decisions: Path, path: Path) -> None:
    """Write the kept pages of a batch as a .warc.gz file, in one step.

    Reads kept pages twice, if there are exact duplicates.  Memory: 50 bytes a page, 400 for each
    page of a file, and 600 for each kept page that others are equal to.

    :raises SourceError: a file cannot be read, or is not as it was.
    """
    files = _by_file(decisions)
    originals = _originals(files)
    try:
        with replacing(path) as unfinished, unfinished.open("wb") as output:
            for file, rows in files.items():
                for records, record, origin, of in _contents(file, rows):
                    if of is None:
                        output.write(_copy(records, record, origin))
                        continue
                    original = originals.get(of)
                    if original is not None and original.identity == _identity(origin):
                        output.write(_revisit(record, origin, original))
    except OSError as exc:
        raise SourceError(f"{path} cannot be written: {exc}") from exc


def _by_file(decisions: Path) -> dict[str, Any]:
    """Return the files of a batch, each with its rows in their order, without near-duplicates."""
    files = ["file", "content_file", "representative_file"]
    columns = [name for file in files for name in (file, file.replace("file", "offset"))]
    table = pq.read_table(decisions, columns=[*columns, "verdict"], read_dictionary=files)
    table = table.filter(pc.not_equal(table["verdict"], "near_duplicate"))
    if not table.num_rows:
        return {}
    is_exact = pc.equal(table["verdict"], "exact_duplicate")
    table = table.set_column(6, "is_exact", is_exact).unify_dictionaries().combine_chunks()
    names = table["file"].chunk(0)
    table = table.set_column(0, "number", names.indices)
    table = table.sort_by([("number", "ascending"), ("offset", "ascending")])
    counts = pc.value_counts(table["number"])
    found, start = {}, 0
    for number, count in zip(counts.field("values"), counts.field("counts"), strict=True):
        found[names.dictionary[number.as_py()].as_py()] = table.slice(start, count.as_py())
        start += count.as_py()
    return found


def _originals(files: Mapping[str, Any]) -> dict[Place, Original]:
    """Return the kept pages of a batch that others may be equal to, by their places."""
    wanted: defaultdict[str, set[int]] = defaultdict(set)
    for rows in files.values():
        for file, offset in _places(rows.filter(rows["is_exact"]), "representative"):
            # Pages of another archive are not in this one.
            if file in files:
                wanted[file].add(offset)
    found = {}
    for file, places in wanted.items():
        rows = files[file].filter(pc.is_in(files[file]["offset"], pa.array(places)))
        for _, record, origin, _ in _contents(file, rows):
            digest = origin.headers.get("warc-payload-digest") or _digest(origin)
            found[file, record.offset] = Original(
                _identity(origin), record.url, record.headers.get("warc-date", ""), digest
            )
    return found


def _places(rows: Any, of: str) -> Iterator[Place]:
    return zip(rows[f"{of}_file"].to_pylist(), rows[f"{of}_offset"].to_pylist(), strict=True)


def _contents(
    file: str, rows: Any
) -> Iterator[tuple[WarcFile, WarcRecord, WarcRecord, Place | None]]:
    """Yield the pages of a file that some rows decide on, and those that they are equal to.

    Beside the record of a page is that with its content: of a revisit, another one.
    """
    found = 0
    decided = (
        rows["offset"],
        _places(rows, "content"),
        _places(rows, "representative"),
        rows["is_exact"],
    )
    with opened(file) as opened_file:
        records = WarcFile(opened_file, file)
        for offset, place, of, is_exact in zip(*decided, strict=True):
            with suppress(UnreadableError):
                record = records.at(offset.as_py())
                origin = _record_at(*place) if place[0] else record
                found += 1
                yield records, record, origin, of if is_exact.as_py() else None
    if found < len(rows):
        raise SourceError(
            f"{file} has {found:,} of the {len(rows):,} pages that were judged of it: it is not "
            f"as it was. Make the batch again, with another --out"
        )


def _record_at(file: str, offset: int) -> WarcRecord:
    with opened(file) as opened_file:
        return WarcFile(opened_file, file).at(offset)


def _identity(record: WarcRecord) -> bytes:
    """Return a digest of a body as it is stored, and of how it is to be unpacked."""
    headers, at = http_headers(record.block)
    codings = [headers.get(name, []) for name in ("content-encoding", "transfer-encoding")]
    return sha1(repr(codings).encode() + record.block[at:]).digest()  # noqa: S324


def _digest(record: WarcRecord) -> str:
    """Return the digest of a body as WARC files have it."""
    _, at = http_headers(record.block)
    return f"sha1:{b32encode(sha1(record.block[at:]).digest()).decode()}"  # noqa: S324


def _copy(records: WarcFile, record: WarcRecord, origin: WarcRecord) -> bytes:
    """Return the record of a page; one whose content is elsewhere gets it."""
    if record is origin:
        return records.member(record)
    fields = {name: value for name, value in record.headers.items() if name not in _OF_REVISITS}
    fields |= {"warc-type": "response", "content-type": origin.headers.get("content-type", "")}
    return _record(fields, origin.block)


def _revisit(record: WarcRecord, origin: WarcRecord, original: Original) -> bytes:
    """Return the record of a page with the body of another one, under its own headers of HTTP."""
    _, at = http_headers(origin.block)
    date = record.headers.get("warc-date", "")
    named = record.offset, record.url, date
    fields = {
        "warc-type": "revisit",
        "warc-record-id": f"<urn:uuid:{uuid5(NAMESPACE_URL, repr(named))}>",
        "warc-date": date,
        "warc-target-uri": record.url,
        "warc-profile": _PROFILE,
        "warc-payload-digest": original.digest,
        "warc-refers-to-target-uri": original.url,
        "warc-refers-to-date": original.date,
        "content-type": "application/http; msgtype=response",
    }
    return _record(fields, origin.block[:at])


def _record(fields: Mapping[str, str], block: bytes) -> bytes:
    """Return a record as a member of gzip."""
    lines = ["WARC/1.1", *(f"{_title(name)}: {value}" for name, value in fields.items() if value)]
    head = "\r\n".join([*lines, f"Content-Length: {len(block)}", "", ""])
    return gzip.compress(head.encode() + block + b"\r\n\r\n", mtime=0)


def _title(name: str) -> str:
    """Return the name of a header as the standard writes it: some readers want it so.

    >>> _title("warc-target-uri"), _title("content-type")
    ('WARC-Target-URI', 'Content-Type')
    """
    words = name.split("-")
    return "-".join(word.upper() if word in _IN_CAPITALS else word.title() for word in words)
