"""Pages from one place into an index, and out of it: ``scrapy simhash export`` and ``import``.

An index is copied as it is, or written as an export: what it was built for on the first line, then
a page a line.  The keys of a page are ``id`` and ``representative``, then the fields of
:data:`~scrapy_simhash.decision.page.STORED` but ``crawl``, a number that means nothing in another
index.  How a value is written follows from the kind of its field.

The groups of an index are a table for other programs: :class:`~scrapy_simhash.index.survey.Member`
has its columns, the end of the file's name says its form.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from rich.console import Console

from scrapy_simhash.batch.unread import Unread
from scrapy_simhash.commands.base import (
    Subcommand,
    add_index_or_spider,
    pipeline_of,
    print_line,
    progress,
)
from scrapy_simhash.commands.sources import Source, source_at
from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.decision.page import STORED, Kind, Page, Row
from scrapy_simhash.decision.sketch import is_sketch
from scrapy_simhash.errors import FingerprintIndexError, SimhashError, SourceError
from scrapy_simhash.index.base import LastingIndex
from scrapy_simhash.index.opening import exists, is_index, open_existing, open_index, open_lasting
from scrapy_simhash.index.survey import Member, copy, members
from scrapy_simhash.pipeline import Fetched, Pipeline
from scrapy_simhash.settings import extra_version, masked

VERSION = 1
DIGEST_BYTES = 16
# Of the pages without a source; JSON has all.
SHOWN = 20
# Members of groups that are written at once.
WRITTEN_AT_ONCE = 10_000

Record = dict[str, Any]

_BITS = re.compile(r"[0-9A-Fa-f]{16}")
_FIELDS = [field for field in STORED if field.name not in ("crawl", "met_by")]


@dataclass(frozen=True)
class Exported:
    """How many pages were written, and where."""

    pages: int
    output: str


class ExportCommand(Subcommand[Exported]):
    """Writes what an index was built for on the first line, and a page on each other line.

    Or its groups: a table of the kept pages, each followed by its duplicates.
    """

    name = "export"
    summary = "Write the pages of an index as JSON lines, or its groups as a table"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)
        parser.add_argument("output", metavar="OUTPUT", help="a file to make, or - for the screen")
        parser.add_argument(
            "--groups",
            action="store_true",
            help="write each kept page with its duplicates: as .jsonl, .csv or .parquet",
        )

    async def find(self, options: argparse.Namespace) -> Exported | None:
        form = Path(options.output).suffix
        write = partial(_write_groups, form=form) if options.groups else _write
        async with open_existing(options.index) as index:
            if options.output == "-":
                await write(index, sys.stdout)
                return None
            if options.groups and form == ".parquet":
                extra_version("pyarrow", "A .parquet file", "batch")
            try:
                with Path(options.output).open("x", encoding="utf-8", newline="") as file:
                    written = await write(index, file)
            except OSError as exc:
                raise SimhashError(f"{options.output} cannot be made: {exc}") from exc
        return Exported(written, options.output)

    def show(self, found: Exported, console: Console) -> None:
        print_line(console, f"{found.pages:,} pages written to {found.output}")


async def _write(index: LastingIndex, file: TextIO) -> int:
    file.write(json.dumps(header_of(index.parameters)) + "\n")
    written = 0
    with progress("Writing pages", (await index.counts()).pages) as advance:
        async for row in index.rows():
            file.write(json.dumps(record_of(row), ensure_ascii=False) + "\n")
            written += 1
            advance(1)
    return written


async def _write_groups(index: LastingIndex, file: TextIO, form: str) -> int:
    written, rows = 0, []
    with progress("Writing groups", (await index.counts()).pages) as advance, ExitStack() as stack:
        write = _writer(file, form, stack)
        async for member in members(index):
            judged_at = datetime.fromtimestamp(member.judged_at, timezone.utc)
            rows.append(member._asdict() | {"judged_at": judged_at})
            if len(rows) == WRITTEN_AT_ONCE:
                write(rows)
                rows.clear()
            written += 1
            advance(1)
        write(rows)
    return written


def _writer(file: TextIO, form: str, stack: ExitStack) -> Callable[[list[Record]], object]:
    """Return what writes rows to a file: as JSON lines, unless its suffix is another *form*."""
    if form == ".csv":
        table = csv.DictWriter(file, Member._fields)
        table.writeheader()
        return table.writerows
    if form == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        types = {"share": pa.float64(), "judged_at": pa.timestamp("s", "UTC")}
        schema = pa.schema([(name, types.get(name, pa.string())) for name in Member._fields])
        parquet = stack.enter_context(pq.ParquetWriter(file.buffer, schema))
        return lambda rows: parquet.write_table(pa.Table.from_pylist(rows, schema))
    dumps = partial(json.dumps, ensure_ascii=False, default=datetime.isoformat)
    return lambda rows: file.writelines(f"{dumps(row)}\n" for row in rows)


@dataclass(frozen=True)
class Imported:
    """How many pages were imported, how many of them got which verdict, and which are missing.

    *unread* is what the sources have beside pages.  Of an index that is built like another one,
    *without_source* are the URLs that no source has.
    """

    pages: int
    verdicts: Mapping[str, int]
    unread: Unread
    without_source: list[str] | None = None


class ImportCommand(Subcommand[Imported]):
    """Judges pages from elsewhere as a crawl would, and remembers them.

    The index is made where there is none: by the first line of an export, by an index that is
    copied, and by the settings of the project for any other source.  The pages of an index are not
    judged anew: kept pages stay kept, and duplicates point to the same page.  A page that is in the
    target already stays as it is there, so that a copy that was broken off goes on when it is made
    again.
    """

    name = "import"
    summary = "Take pages into an index: of an export, HTTP cache, WARC file, folder, or index"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)
        parser.add_argument("sources", metavar="SOURCE", nargs="+", help="where the pages are")
        parser.add_argument(
            "--like",
            metavar="OTHER",
            help="make INDEX anew, of the pages that this index holds, by the present settings",
        )

    async def find(self, options: argparse.Namespace) -> Imported:
        pipeline = pipeline_of(options)
        if options.like is not None:
            return await _built_like(options, pipeline)
        verdicts: Counter[str] = Counter()
        unread = Unread()
        for place in options.sources:
            if is_index(place):
                verdicts["copied"] += await _copied(place, options.index, pipeline.parameters)
            elif place.endswith(".jsonl"):
                verdicts += await _import_export(options.index, Path(place), pipeline.parameters)
            else:
                source = source_at(Path(place))
                verdicts += await _import_source(options.index, source, pipeline, options.spider)
                unread.update(source.unread)
        return Imported(verdicts.total(), verdicts, unread)

    def show(self, found: Imported, console: Console) -> None:
        console.print(f"pages: {found.pages:,}")
        for verdict, number in found.verdicts.items():
            console.print(f"{verdict}: {number:,}")
        for line in found.unread.lines():
            print_line(console, line)
        if missing := found.without_source:
            console.print(f"{len(missing):,} pages have no source, and are in the old index only:")
            for url in missing[:SHOWN]:
                print_line(console, url)

    def as_json(self, found: Imported) -> object:
        missing = found.without_source
        more = {} if missing is None else {"without_source": missing}
        unread = {"unread": found.unread.as_json()} if found.unread.counts else {}
        return {"pages": found.pages, **found.verdicts, **unread, **more}


async def _copied(source_place: str, target_place: str, parameters: Parameters) -> int:
    """Copy an index between a file and Redis, either way; return how many pages it has."""
    async with open_existing(source_place) as source:
        built_for = source.parameters
        parameters = replace(parameters, scheme=built_for.scheme, scope=built_for.scope)
        async with open_lasting(target_place, parameters) as target:
            copied = 0
            with progress("Copying pages", (await source.counts()).pages) as advance:
                async for _ in copy(source, target):
                    copied += 1
                    advance(1)
            return copied


async def _built_like(options: argparse.Namespace, pipeline: Pipeline) -> Imported:
    """Make an index of those pages of another one that the sources still hold.

    The other index stays as it is.  Of pages that no source holds, only it has anything.
    """
    if await exists(options.index):
        raise FingerprintIndexError(
            f"{masked(options.index)} is there already; name one that is not"
        )
    async with open_existing(options.like) as old:
        requests = {row.page.url: row.page.request_fingerprint async for row in old.rows()}

    def wanted(page: Fetched) -> Fetched | None:
        request = requests.get(page.url)
        return None if request is None else page._replace(request_fingerprint=request)

    verdicts: Counter[str] = Counter()
    unread = Unread()
    async with open_index(options.index, pipeline.parameters) as index:
        for source in (source_at(Path(place)) for place in options.sources):
            async with source.analysed(pipeline, index, options.spider, wanted) as pages:
                async for url, page in pages:
                    if page is not None and url in requests:
                        verdicts[(await index.check_and_add(page)).verdict] += 1
                        del requests[url]
            unread.update(source.unread)
    return Imported(verdicts.total(), verdicts, unread, sorted(requests))


async def _import_source(
    index_place: str, source: Source, pipeline: Pipeline, spider: str
) -> Counter[str]:
    """Analyse and judge the pages of a source; those that have no text are ``skipped``."""
    verdicts: Counter[str] = Counter()
    async with (
        open_index(index_place, pipeline.parameters) as index,
        source.analysed(pipeline, index, spider) as pages,
    ):
        async for _, page in pages:
            judged = "skipped" if page is None else (await index.check_and_add(page)).verdict
            verdicts[judged] += 1
    return verdicts


async def _import_export(index_place: str, export: Path, parameters: Parameters) -> Counter[str]:
    """Judge the pages of an export, which are analysed already."""
    verdicts: Counter[str] = Counter()
    lines = read_lines(export)
    _, header = next(lines, Line("", {}))
    if "simhash_index" not in header:
        raise SourceError(
            f"{export} is no export of an index: its first line does not say what its "
            f"pages depend on. A decisions feed does not hold what pages are compared by; "
            f"import the HTTP cache, WARC file or folder that the pages are in."
        )
    if not await exists(index_place):
        scheme, scope = str(header.get("scheme")), str(header.get("scope"))
        parameters = replace(parameters, scheme=scheme, scope=scope)
    check_header(header, parameters)
    with progress("Reading pages", None) as advance:
        async with open_index(index_place, parameters) as index:
            for line in lines:
                verdicts[(await index.check_and_add(page_from(line))).verdict] += 1
                advance(1)
    return verdicts


class Line(NamedTuple):
    """A JSON object of an export, and *place*, which says where it is, for messages."""

    place: str
    record: Record


def read_lines(export: Path) -> Iterator[Line]:
    """Yield the lines of a file.

    :raises SourceError: it cannot be read, or a line is no JSON object.
    """
    try:
        with export.open(encoding="utf-8") as file:
            for number, text in enumerate(file, start=1):
                place = f"{export}, line {number},"
                try:
                    record = json.loads(text)
                except ValueError as exc:
                    raise SourceError(f"{place} must be JSON: {exc}") from exc
                if not isinstance(record, dict):
                    raise SourceError(f"{place} must be a JSON object: got {text[:80]!r}")
                yield Line(place, record)
    except (OSError, UnicodeDecodeError) as exc:
        raise SourceError(f"{export} cannot be read: {exc}") from exc


def header_of(parameters: Parameters) -> Record:
    """Return the first line: the version of these lines, and what the pages depend on."""
    return {"simhash_index": VERSION, "scheme": parameters.scheme, "scope": parameters.scope}


def check_header(header: Record, parameters: Parameters) -> None:
    """Refuse lines that the index cannot take.

    :raises SourceError: they are of another version, or of another scheme or scope.
    """
    for name, wanted in header_of(parameters).items():
        if header.get(name) != wanted:
            raise SourceError(
                f"The export was made with {name} {header.get(name)!r}; this index has {wanted!r}. "
                f"Import it into an index of its own kind."
            )


def record_of(row: Row) -> Record:
    """Return the line of a page."""
    record: Record = {"id": row.id, "representative": row.representative}
    for field in _FIELDS:
        value = getattr(row.page, field.name)
        record[field.name] = None if value is None else _written(field.kind, value)
    return record


def page_from(line: Line) -> Page:
    """Return the page that :func:`record_of` wrote.

    :raises SourceError: a field is missing, or its value is not of its kind.
    """
    values: dict[str, Any] = {}
    for field in _FIELDS:
        if field.name not in line.record:
            raise SourceError(f"{line.place} must be whole: {field.name} is missing")
        value = line.record[field.name]
        try:
            is_none = field.optional and value is None
            values[field.name] = None if is_none else _read(field.kind, value)
        except ValueError as exc:
            raise SourceError(
                f"{line.place} must be whole: {field.name} must be {_WORDS[field.kind]}: "
                f"got {value!r}"
            ) from exc
    return Page(**values)


# How values of a kind stand in JSON; no field that is exported has another one.
_WORDS = {
    Kind.TEXT: "text",
    Kind.BYTES: "bytes in hexadecimal",
    Kind.SKETCH: "a sketch in base64",
    Kind.DIGEST: "16 bytes in hexadecimal",
    Kind.BITS: "16 hexadecimal digits",
    Kind.COUNT: "a whole number of at least 0",
    Kind.SECONDS: "a number of seconds",
}


def _written(kind: Kind, value: Any) -> object:
    if kind in (Kind.BYTES, Kind.DIGEST):
        return value.hex()
    if kind is Kind.SKETCH:
        return b64encode(value).decode("ascii")
    return f"{value:016x}" if kind is Kind.BITS else value


def _read(kind: Kind, value: object) -> object:
    """Return the value that :func:`_written` wrote.

    :raises ValueError: it is not of its kind.
    """
    match kind, value:
        case Kind.TEXT, str():
            return value
        case Kind.BYTES, str():
            return bytes.fromhex(value)
        case Kind.DIGEST, str() if len(digest := bytes.fromhex(value)) == DIGEST_BYTES:
            return digest
        case Kind.BITS, str() if _BITS.fullmatch(value):
            return int(value, 16)
        case Kind.SKETCH, str() if is_sketch(sketch := b64decode(value, validate=True)):
            return sketch
        case Kind.COUNT, int() if not isinstance(value, bool) and value >= 0:
            return value
        case Kind.SECONDS, int() | float() if not isinstance(value, bool) and isfinite(value):
            return value
    raise ValueError(value)
