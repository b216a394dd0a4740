"""Parquet files of fingerprints, by columns: rows of features as if each row had been read alone.

Row by row, ten million fingerprints take minutes; by columns, seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scrapy_simhash.batch.pages import is_url
from scrapy_simhash.batch.records import MOST_SECONDS, Columns, row_batches
from scrapy_simhash.batch.rule import MIN_TOKENS
from scrapy_simhash.batch.warc import Note

_ROWS_AT_ONCE = 50_000
# Addresses that need no closer look.
_PLAIN_URL = r"^https?://[A-Za-z0-9][A-Za-z0-9.-]*(?:/[!-~]*)?$"
_NO_SIGN = (1 << 63) - 1


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


def features_of(
    file: pq.ParquetFile, columns: Columns, by_date: bool, first: int, note: Note
) -> Iterator[dict[str, Any]]:
    """Yield columns of features, some rows at a time.

    Pages are ordered by their dates if they are *by_date*, by the column of the order if there is
    one, else by their offsets from *first* on.
    """
    for start, batch in row_batches(file, columns, _ROWS_AT_ONCE, note):
        offsets = pa.array(range(start, start + len(batch)), pa.int64())
        rows = batch.append_column("offset", offsets)
        rows = _holding(rows, _has_url(rows[columns.url]), "no_url", note)
        rows = _holding(rows, rows[columns.contents[2]].is_valid(), "no_content", note)
        yield _columns_of(rows, columns, by_date, first, note)


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


def _columns_of(
    rows: pa.RecordBatch, columns: Columns, by_date: bool, first: int, note: Note
) -> dict[str, Any]:
    count = len(rows)
    fingerprints, offsets = rows[columns.contents[2]], rows["offset"]
    dates = pa.nulls(count, pa.int64())
    if columns.date in rows.schema.names:
        dates = _dates(rows[columns.date], offsets, note)
    if columns.order in rows.schema.names:
        number = _as_number(rows[columns.order])
    else:
        number = dates if by_date else pc.add(offsets, first)
    return {
        "number": number,
        "url": rows[columns.url],
        "payload": _bytes_of(fingerprints),
        "offset": offsets,
        "date": dates.cast(pa.timestamp("us", "UTC")),
        "fingerprint": fingerprints,
        "digest": pa.repeat(pa.scalar(b""), count),
        "tokens": pa.repeat(pa.scalar(MIN_TOKENS, pa.int32()), count),
    }


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
