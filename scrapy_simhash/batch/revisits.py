"""Revisits: pages whose content is in another record, which may come later or be in another file.

Once all files have rows of features, each revisit gets that of the page to which it refers, with
its own address, date and place.  It names this page by its address and date, and by a digest of its
content; the first of these names counts that a page has.  Of several pages with one name, the one
with the lowest digest of what is judged is taken.  So no answer depends on which record is in which
file.  A revisit of what is no page in these files is counted as not read.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scrapy_simhash.batch.decisions import memory_of
from scrapy_simhash.batch.features import FEATURES
from scrapy_simhash.batch.rule import Row
from scrapy_simhash.batch.unread import Unread
from scrapy_simhash.files import replacing

# What a revisit has of its own.
OWN = ("number", "words", "url", "file", "offset", "date")
# By what one of several pages with one name is chosen: the lowest.
CHOSEN_BY = ("payload", "file", "offset")

# A page has about 5 KB.
ROWS_AT_ONCE = 5_000


def unresolved(revisits: Iterable[Row]) -> str:
    """Return what is not read, as JSON has it: *revisits* of no page, by file and offset."""
    unread = Unread()
    for row in revisits:
        unread.add(row["file"], "revisit_unresolved", row["offset"])
    return json.dumps(unread.as_json())


def resolve(features: Sequence[Path], path: Path) -> None:
    """Write the rows of revisits of pages in files of features; they say how many others there are.

    Memory: 600 bytes a revisit, and 100 for each page of a file.  Cost: 35 us a revisit.
    """
    revisits = pa.concat_tables(map(_revisits, features))
    origins = _origins(features, revisits) if len(revisits) else pa.array([], pa.int64())
    revisits = revisits.append_column("origin", origins).sort_by("origin")
    found = len(revisits) - origins.null_count
    left = revisits.slice(found).select(["file", "offset"]).to_batches(ROWS_AT_ONCE)
    rows = memory_of(revisits["origin"].slice(0, found).combine_chunks())
    at = start = 0
    with replacing(path) as unfinished, pq.ParquetWriter(unfinished, FEATURES) as writer:
        for file in map(pq.ParquetFile, features):
            for group in range(file.num_row_groups):
                end = start + file.metadata.row_group(group).num_rows
                stop = bisect_left(rows, end, at)
                pages = file.read_row_group(group) if stop > at else FEATURES.empty_table()
                for first in range(at, stop, ROWS_AT_ONCE):
                    own = revisits.slice(first, min(ROWS_AT_ONCE, stop - first))
                    writer.write_table(
                        _resolved(own, pages.take(pc.subtract(own["origin"], start)))
                    )
                at, start = stop, end
        unread = unresolved(row for batch in left for row in batch.to_pylist())
        writer.add_key_value_metadata({"unread": unread})


def _revisits(features: Path) -> pa.Table:
    columns = [*OWN, "refers"]
    is_one = pq.read_table(features, columns=["refers"])["refers"].is_valid()
    if not pc.any(is_one).as_py():
        return FEATURES.empty_table().select(columns)
    return pq.read_table(features, columns=columns).filter(is_one)


def _origins(features: Sequence[Path], revisits: pa.Table) -> pa.Array:
    """Return the row of the page of each revisit, among those of all files; None if none is."""
    refers = revisits["refers"].combine_chunks()
    wanted, start, named = refers.flatten().unique(), 0, []
    for path in features:
        pages = pq.read_table(path, columns=["names", *CHOSEN_BY])
        names = pages["names"].combine_chunks()
        is_wanted = pc.is_in(names.flatten(), wanted)
        rows = pc.list_parent_indices(names).filter(is_wanted)
        found = pages.select(CHOSEN_BY).take(rows)
        found = found.append_column("name", names.flatten().filter(is_wanted))
        named.append(found.append_column("row", pc.add(rows, start)))
        start += len(pages)
    pages = pa.concat_tables(named).sort_by([(name, "ascending") for name in CHOSEN_BY])
    of_names = _firsts(pages, "name", refers.flatten())
    of_revisits = pa.table({"revisit": pc.list_parent_indices(refers), "row": of_names})
    return _firsts(of_revisits.drop_null(), "revisit", pa.array(range(len(refers)), pa.int64()))


def _firsts(rows: pa.Table, key: str, wanted: pa.Array) -> pa.Array:
    """Return the *row* that comes first of each *wanted* key, None if there is none."""
    firsts = rows.group_by(key, use_threads=False).aggregate([("row", "first")])
    at = pc.index_in(wanted, firsts[key].combine_chunks())
    return firsts["row_first"].combine_chunks().take(at)


def _resolved(revisits: pa.Table, pages: pa.Table) -> pa.Table:
    """Return the rows of revisits, each beside the page that it refers to."""
    columns = {name: pages[name] for name in FEATURES.names}
    columns |= {"content_file": pages["file"], "content_offset": pages["offset"]}
    return pa.table(columns | {name: revisits[name] for name in OWN}, FEATURES)
