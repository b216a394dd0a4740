"""From the records of an archive to rows of features, which all later stages work on.

One file of an archive becomes one file of rows, whatever engine runs it.  Pages are analysed by the
workers of a crawl, with its time limit: a page that hangs or kills its worker becomes a row with
the reason.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scrapy_simhash.analysis.analyser import PageAnalysis
from scrapy_simhash.analysis.fingerprint import TextFingerprint, fingerprint_text
from scrapy_simhash.batch.pages import ArchivedPage, is_url
from scrapy_simhash.batch.records import MOST_SECONDS, Columns, Input, parquet_file, row_batches
from scrapy_simhash.batch.rule import MIN_TOKENS, Row, sample_key, signed
from scrapy_simhash.batch.unread import Unread
from scrapy_simhash.batch.warc import Note
from scrapy_simhash.errors import AnalysisError, SourceError
from scrapy_simhash.files import replacing
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.settings import SHARE, TEXT, SimhashSettings
from scrapy_simhash.urls import canonical_url
from scrapy_simhash.workers.pool import in_order

# Integers of 64 bits are signed: Spark has no others.
FEATURES = pa.schema(
    {
        # What the order of the batch goes by, numbers before texts, and None last.
        "number": pa.int64(),
        "words": pa.string(),
        "url": pa.string(),
        "payload": pa.binary(),
        "file": pa.string(),
        "offset": pa.int64(),
        "date": pa.timestamp("us", "UTC"),
        # The names of its content in a WARC file; of a revisit, to which ones it refers, and where
        # the record with its content is, once that is known.
        "names": pa.list_(pa.int64()),
        "refers": pa.list_(pa.int64()),
        "content_file": pa.string(),
        "content_offset": pa.int64(),
        # Why a page is not judged, None if it is; what follows is None then.
        "reason": pa.string(),
        "fingerprint": pa.int64(),
        "digest": pa.binary(),
        "tokens": pa.int32(),
        # Of pages of HTML alone.
        "canonical": pa.string(),
        "sample": pa.int64(),
        "blocks": pa.list_(pa.int64()),
        "source": pa.binary(),
    }
)
ORDER = ("number", "words", "url", "payload", "file", "offset")
BY_DATE, BY_INPUT = "date", "input"

ROWS_AT_ONCE = 1_000
COLUMNS_AT_ONCE = 50_000
# An offset in an input has fewer bits.
OFFSET_BITS = 44
# Addresses that need no closer look.
_PLAIN_URL = r"^https?://[A-Za-z0-9][A-Za-z0-9.-]*(?:/[!-~]*)?$"
_NO_SIGN = (1 << 63) - 1


@dataclass(frozen=True)
class Choices:
    """What a batch is asked for, beside its inputs.

    *rule* is ``verified`` or ``plain``, *order* is :data:`BY_DATE`, :data:`BY_INPUT`, or the name
    of a column.
    """

    rule: str
    order: str
    settings: SimhashSettings

    @property
    def verifies(self) -> bool:
        """Whether pages are compared beyond their fingerprints."""
        return self.rule == "verified"

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline of a crawl with these settings that takes texts."""
        share = (self.settings.share or SHARE) if self.verifies else 0
        return Pipeline.of(replace(self.settings, takes=TEXT, share=share))


def position_of(record: ArchivedPage, source: Input, order: str) -> Row:
    """Return the fields by which a record has its place in the order of a batch.

    Numbers of a column are compared as floats of 64 bits.
    """
    if order == BY_INPUT:
        return {"number": source.number << OFFSET_BITS | record.offset}
    value = record.date if order == BY_DATE else record.column
    if value is None or isinstance(value, str):
        return {"words": value}
    if order == BY_DATE:
        return {"number": int(value)}
    (bits,) = struct.unpack(">q", struct.pack(">d", value))
    return {"number": bits if bits >= 0 else bits ^ _NO_SIGN}


class FeatureReader:
    """Turns files of an archive into rows, by workers of its own: close it."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._pipeline = choices.pipeline
        self._loop = asyncio.new_event_loop()
        self._workers = self._pipeline.workers()

    def __enter__(self) -> FeatureReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._workers.close())
        self._loop.close()

    def write(self, source: Input, path: Path, advance: Callable[[int], None]) -> None:
        """Write the rows of a file, in one step; they say what was not read.

        *advance* is called with each number of pages that are done.
        """
        unread = Unread()
        with replacing(path) as unfinished, pq.ParquetWriter(unfinished, FEATURES) as writer:
            for batch in self.batches(source, unread):
                writer.write_batch(batch)
                advance(len(batch))
            writer.add_key_value_metadata({"unread": json.dumps(unread.as_json())})

    def batches(self, source: Input, unread: Unread) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file; those of records that it cannot read are in *unread*."""
        if source.place.endswith(".parquet") and not self._choices.verifies:
            with parquet_file(source.place, source.columns) as file:
                if is_columnar(file.schema_arrow, source.columns):
                    note, order = partial(unread.add, source.place), self._choices.order
                    for first, some in row_batches(file, source.columns, COLUMNS_AT_ONCE, note):
                        yield from _by_columns(some, first, source, order, note).to_batches()
                    return
        row_of, records = partial(self._row, source), source.read(unread)
        rows = in_order(row_of, records, self._choices.settings.workers)
        try:
            while some := self._loop.run_until_complete(_some(rows)):
                yield pa.RecordBatch.from_pylist(some, FEATURES)
        finally:
            self._loop.run_until_complete(rows.aclose())

    async def _row(self, source: Input, record: ArchivedPage) -> Row:
        row = position_of(record, source, self._choices.order) | {
            "url": record.url,
            "payload": record.payload,
            "file": record.file,
            "offset": record.offset,
            "date": record.date,
            "names": record.names or None,
            "refers": record.refers,
        }
        if record.content is None:
            return row
        try:
            return row | await self._features(record, record.content)
        except AnalysisError as exc:
            return row | {"reason": exc.reason}

    async def _features(self, record: ArchivedPage, content: bytes | str | int) -> Row:
        if self._choices.verifies and not isinstance(content, bytes):
            raise SourceError(
                f"{record.file} has no HTML, which the verified rule needs: give --rule plain"
            )
        if isinstance(content, int):
            return {"fingerprint": signed(content), "digest": b"", "tokens": MIN_TOKENS}
        found: PageAnalysis | TextFingerprint
        if isinstance(content, str):
            found = fingerprint_text(content, self._pipeline.analyser.scheme)
        else:
            found = await self._workers.analyse(content, record.encoding, record.url)
        view = found.content if isinstance(found, PageAnalysis) else None
        if not found.tokens and view is None:
            raise AnalysisError("no_text", "there is no text to compare")
        row: Row = {
            "fingerprint": signed(found.fingerprint),
            "digest": found.digest,
            "tokens": found.tokens,
        }
        if isinstance(found, PageAnalysis) and view is not None:
            row |= {
                "canonical": canonical_url(record.url, found.canonical),
                "sample": sample_key(view.blocks),
                "blocks": list(map(signed, view.blocks)),
                "source": found.source,
            }
        return row


def completed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows in one piece with all columns of a schema; those that they lack are None."""
    whole = pa.concat_tables([schema.empty_table(), rows], promote_options="default")
    return whole.combine_chunks()


async def _some(rows: AsyncIterator[Row]) -> list[Row]:
    some: list[Row] = []
    async for row in rows:
        some.append(row)
        if len(some) == ROWS_AT_ONCE:
            break
    return some


def is_columnar(schema: pa.Schema, columns: Columns) -> bool:
    """Whether a file has fingerprints as signed integers and nothing else that is judged."""
    kinds = dict(zip(schema.names, schema.types, strict=True))
    html, text, fingerprint = columns.contents
    if html in kinds or text in kinds:
        return False
    if not pa.types.is_int64(kinds[fingerprint]) or not pa.types.is_string(kinds[columns.url]):
        return False
    date, order = (kinds.get(name, pa.null()) for name in (columns.date, columns.order))
    numbers = pa.types.is_signed_integer, pa.types.is_floating
    return (pa.types.is_null(date) or pa.types.is_timestamp(date)) and (
        pa.types.is_null(order) or any(is_kind(order) for is_kind in numbers)
    )


def _by_columns(
    batch: pa.RecordBatch, first: int, source: Input, order: str, note: Note
) -> pa.Table:
    """Return the features of some rows of fingerprints; *first* is the number of their first one.

    They are as if each row had been read alone, which takes minutes for ten million, not seconds.
    """
    columns = source.columns
    rows = batch.append_column("offset", pa.array(range(first, first + len(batch)), pa.int64()))
    rows = _holding(rows, _has_url(rows[columns.url]), "no_url", note)
    rows = _holding(rows, rows[columns.fingerprint].is_valid(), "no_content", note)
    count, fingerprints, offsets = len(rows), rows[columns.fingerprint], rows["offset"]
    dates = pa.nulls(count, pa.int64())
    if columns.date in rows.schema.names:
        dates = _dates(rows[columns.date], offsets, note)
    if columns.order in rows.schema.names:
        number = _as_number(rows[columns.order])
    else:
        number = dates if order == BY_DATE else pc.add(offsets, source.number << OFFSET_BITS)
    found = {
        "number": number,
        "url": rows[columns.url],
        "payload": _bytes_of(fingerprints),
        "file": pa.repeat(pa.scalar(source.place), count),
        "offset": offsets,
        "date": dates.cast(pa.timestamp("us", "UTC")),
        "fingerprint": fingerprints,
        "digest": pa.repeat(pa.scalar(b""), count),
        "tokens": pa.repeat(pa.scalar(MIN_TOKENS, pa.int32()), count),
    }
    return completed(pa.table(found), FEATURES)


def _holding(rows: pa.RecordBatch, holds: pa.Array, kind: str, note: Note) -> pa.RecordBatch:
    """Return the rows for which something holds, and note the others."""
    for row in rows["offset"].filter(pc.invert(holds)).to_pylist():
        note(kind, row)
    return rows.filter(holds)


def _has_url(urls: pa.Array) -> pa.Array:
    plain = pc.match_substring_regex(urls, _PLAIN_URL).fill_null(False)
    if plain.true_count == len(urls):
        return plain
    found = zip(plain.to_pylist(), urls.to_pylist(), strict=True)
    return pa.array(is_plain or (url is not None and is_url(url)) for is_plain, url in found)


def _dates(given: pa.Array, offsets: pa.Array, note: Note) -> pa.Array:
    """Return times in microseconds; None for those that no calendar has."""
    dates = given.cast(pa.timestamp("us", given.type.tz), safe=False).cast(pa.int64())
    most = MOST_SECONDS * 1_000_000
    is_one = pc.and_(pc.less(dates, most), pc.greater(dates, -most))
    for row in offsets.filter(pc.invert(is_one)).to_pylist():
        note("bad_date", row)
    return pc.if_else(is_one, dates, None)


def _as_number(column: pa.Array) -> pa.Array:
    """Return integers that are in order as the numbers of a column are, taken for floats."""
    floats = column.cast(pa.float64(), safe=False)
    whole = pa.Array.from_buffers(pa.int64(), len(floats), floats.buffers(), offset=floats.offset)
    ordered = pc.if_else(pc.less(whole, 0), pc.bit_wise_xor(whole, _NO_SIGN), whole)
    return pc.if_else(pc.is_nan(floats), None, ordered)


def _bytes_of(numbers: pa.Array) -> pa.Array:
    buffers = numbers.buffers()
    fixed = pa.Array.from_buffers(pa.binary(8), len(numbers), buffers, offset=numbers.offset)
    return fixed.cast(pa.binary())
