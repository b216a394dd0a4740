"""A batch on one machine, in stages: each leaves files in a folder, and is skipped when it is done.

========================  ====================================================================
``run.json``              what the batch was asked for: another one is refused
``features/N.parquet``    the rows of the N-th input (:mod:`scrapy_simhash.batch.features`)
``features/revisits...``  those of revisits (:mod:`scrapy_simhash.batch.revisits`)
``repeated.parquet``      the blocks that each place repeats
``seen/N.arrow``          the pages of the N-th input as the rule compares them
========================  ====================================================================

Pages of several gigabytes are mapped into memory, never read into it.
"""

from __future__ import annotations

import fcntl
import json
import logging
import shutil
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate, repeat, starmap
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scrapy_simhash.batch.decisions import (
    KEPT,
    KINDS,
    NONE,
    BatchDecisions,
    Groups,
    decide_plain,
    decide_verified,
    memory_of,
)
from scrapy_simhash.batch.features import (
    COLUMNS_AT_ONCE,
    FEATURES,
    ORDER,
    Choices,
    FeatureReader,
    completed,
)
from scrapy_simhash.batch.records import Input
from scrapy_simhash.batch.revisits import ROWS_AT_ONCE, resolve
from scrapy_simhash.batch.rule import (
    MIN_TOKENS,
    Repeated,
    Row,
    Samples,
    Seen,
    places_of,
    seen,
)
from scrapy_simhash.batch.unread import Unread
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.files import replacing
from scrapy_simhash.hashes import hash_of
from scrapy_simhash.tables import PermutedTables, design

logger = logging.getLogger(__name__)

VERSION = 2

# What of a page's features is kept once it is seen as the rule compares it.
OF_FEATURES = (
    *("number", "words", "url", "payload", "file", "offset", "content_file", "content_offset"),
    *("date", "reason", "fingerprint", "digest", "tokens", "canonical"),
)
SEEN = pa.schema(
    [
        *map(FEATURES.field, OF_FEATURES),
        ("content_fingerprint", pa.int64()),
        ("heading", pa.int64()),
        ("sketch", pa.binary()),
        ("class", pa.binary()),
        ("text", pa.binary()),
        ("keys", pa.list_(pa.int64())),
    ]
)
# As the pages of an archive are kept, in any order, with their ranks in that of their batch.
KNOWN = SEEN.append(pa.field("rank", pa.int64()))
COMPARED = (
    *("url", "fingerprint", "digest", "tokens", "canonical"),
    *("content_fingerprint", "heading", "sketch"),
)

# The sampled pages of this many pages are in memory at once: 60 blocks of 8 bytes each.
PAGES_AT_ONCE = 1_000_000
# Pages that were compared last are kept unpacked: each takes about 2 KB.
UNPACKED_KEPT = 50_000


def learn(features: Sequence[Path], known: Repeated, path: Path) -> None:
    """Learn what each place repeats, and write it with what is *known* of other places."""
    pages = sum(pq.read_metadata(one).num_rows for one in features)
    parts = -(-pages // PAGES_AT_ONCE)
    found = Repeated(known)
    for part in range(parts):
        samples = _samples(features, part, parts)
        for place in samples.keys() - known.keys():
            if blocks := samples.learned(place):
                found[place] = blocks
    found.write(path)


def _samples(features: Sequence[Path], part: int, parts: int) -> Samples:
    """Return the samples of the places in a part of an archive."""
    samples = Samples()
    columns = ["url", "sample", "blocks", "fingerprint", "tokens"]
    for path in features:
        for batch in pq.ParquetFile(path).iter_batches(ROWS_AT_ONCE, columns=columns):
            for row in batch.to_pylist():
                if row["sample"] is None:
                    continue
                for place in places_of(row["url"]):
                    if hash_of(place) % parts == part:
                        samples.draw(place, row)
    return samples


@lru_cache(maxsize=1)
def _repeated(path: Path) -> Repeated:
    """Return what the places of a batch repeat; a process that sees pages reads it once."""
    return Repeated.read(path)


def see(features: Path, repeated: Path, path: Path) -> None:
    """Write the pages of one file of features as the rule compares them."""
    known = _repeated(repeated)
    with replacing(path) as unfinished, pa.ipc.new_file(str(unfinished), SEEN) as writer:
        for batch in pq.ParquetFile(features).iter_batches(ROWS_AT_ONCE):
            batch = batch.filter(batch.column("refers").is_null())
            if batch.column("source").null_count == len(batch):  # of the plain rule, say
                pages = pa.Table.from_batches([batch.select(OF_FEATURES)])
                writer.write_table(completed(pages, SEEN))
                continue
            rows = [seen(row, known.beside(row["url"])) for row in batch.to_pylist()]
            writer.write_batch(pa.RecordBatch.from_pylist(rows, SEEN))


def _mapped(path: Path) -> pa.Table:
    """Return a table whose file is mapped into memory."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece, which may have more than 2 GB."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        column = column.cast(pa.large_string() if pa.types.is_string(kind) else pa.large_binary())
    elif pa.types.is_list(kind):
        column = column.cast(pa.large_list(kind.value_type))
    return column.combine_chunks()


class Ordered:
    """Pages by their ranks: those of an archive that is *known*, and those of a batch in order.

    What pages are compared by stays in the files that it was mapped from.
    """

    def __init__(self, known: pa.Table, table: pa.Table, repeated: Repeated) -> None:
        self.known = len(known)
        self.table = pa.concat_tables([known, table])
        order = pc.sort_indices(table, [(name, "ascending") for name in ORDER]).cast(pa.int64())
        order = pc.add(order, self.known)
        self.order = pa.concat_arrays([pa.array(range(self.known), pa.int64()), order])
        self._rows = memory_of(self.order)
        self._batches = self.table.to_batches()
        self._starts = [0, *accumulate(map(len, self._batches))]
        self._repeated = repeated
        self.page = lru_cache(UNPACKED_KEPT)(self._page)

    def __len__(self) -> int:
        return len(self.order)

    def column(self, name: str) -> pa.Array:
        return _whole(self.table.column(name)).take(self.order)

    def numbers(self, column: str) -> Sequence[int]:
        """Return a number for each different value of a column, by its first page; -1 for None."""
        return memory_of(self.column(column).dictionary_encode().indices.fill_null(-1))

    def groups(self, classes: Sequence[int], crowded: pa.Array) -> Groups:
        """Return the groups of the classes that share a key; *crowded* keys are left out."""
        met = -1
        firsts = array("q")
        for row, number in zip(self._rows, classes, strict=True):
            if number > met:
                met = number
                firsts.append(row)
        return Groups(_whole(self.table.column("keys")).take(pa.array(firsts, pa.int64())), crowded)

    def fields(self, rank: int, columns: Iterable[str]) -> Row:
        row = self._rows[rank]
        number = bisect_right(self._starts, row) - 1
        batch, at = self._batches[number], row - self._starts[number]
        return {name: batch.column(name)[at].as_py() for name in columns}

    def _page(self, rank: int) -> Seen:
        row = self.fields(rank, COMPARED)
        return Seen.of(row, self._repeated.beside(row["url"]))


DECISIONS = pa.schema(
    {
        "url": pa.string(),
        "date": pa.timestamp("us", "UTC"),
        "file": pa.string(),
        "offset": pa.int64(),
        # Of a revisit, where the record with its content is.
        "content_file": pa.string(),
        "content_offset": pa.int64(),
        "verdict": pa.string(),
        "reason": pa.string(),
        "representative": pa.string(),
        "representative_file": pa.string(),
        "representative_offset": pa.int64(),
        "distance": pa.int8(),
        "share": pa.float32(),
        # How many pages this one, which is kept, stands for.
        "copies": pa.int64(),
        # Whether it is kept without having been compared with all that share a key with it.
        "crowded": pa.bool_(),
    }
)
_AS_THEY_ARE = ("url", "date", "file", "offset", "content_file", "content_offset", "reason")


def write_decisions(pages: Ordered, decisions: BatchDecisions, path: Path) -> None:
    """Write the decisions on all pages of a batch, in its order."""
    copies = array("q", bytes(8 * len(pages)))
    for rank, number in Counter(kept for kept in decisions.kept if kept != NONE).items():
        copies[rank] = number
    columns = {name: _whole(pages.table.column(name)) for name in _AS_THEY_ARE}
    with replacing(path) as unfinished, pq.ParquetWriter(unfinished, DECISIONS) as writer:
        for start in range(pages.known, len(pages), COLUMNS_AT_ONCE):
            ranks = range(start, min(start + COLUMNS_AT_ONCE, len(pages)))
            writer.write_table(_decided(columns, pages.order, decisions, copies, ranks))


def _decided(
    pages: Mapping[str, pa.Array],
    order: pa.Array,
    decisions: BatchDecisions,
    copies: array[int],
    ranks: range,
) -> pa.Table:
    part = slice(ranks.start, ranks.stop)
    own = order.slice(ranks.start, len(ranks))
    columns = {name: column.take(own) for name, column in pages.items()}
    is_judged = pc.is_null(columns["reason"])
    kinds = pa.array(decisions.kinds[part], pa.uint8())
    verdicts, reasons = (pa.array(one).take(kinds) for one in zip(*KINDS, strict=True))
    is_kept = pc.and_(is_judged, pc.equal(kinds, KEPT))
    kept = pa.array(decisions.kept[part])
    kept = pc.if_else(pc.equal(kept, NONE), None, kept)
    representative = order.take(kept)
    for name in "url", "file", "offset":
        of = "representative" if name == "url" else f"representative_{name}"
        columns[of] = pages[name].take(representative)
    share = pa.array(decisions.shares[part], pa.float32())
    columns |= {
        "verdict": pc.if_else(is_judged, verdicts, "skipped"),
        "reason": pc.if_else(is_judged, reasons, columns["reason"].cast(pa.string())),
        "distance": pc.if_else(pc.is_null(kept), None, pa.array(decisions.distances[part])),
        "share": pc.if_else(pc.less(share, 0), None, share),
        "copies": pc.if_else(is_kept, pa.array(copies[part]), None),
        "crowded": pc.if_else(is_kept, pa.array(decisions.crowded[part], pa.uint8()), None),
    }
    return pa.table({name: columns[name] for name in DECISIONS.names}).cast(DECISIONS)


def decide(pages: Ordered, choices: Choices, crowded: pa.Array) -> tuple[BatchDecisions, pa.Array]:
    """Decide on the pages of a batch; return the keys as well that are crowded now."""
    parameters = choices.pipeline.parameters
    if choices.verifies:
        classes, texts = pages.numbers("class"), pages.numbers("text")
        groups = pages.groups(classes, crowded)
        decisions = decide_verified(classes, texts, groups, pages.page, parameters, pages.known)
        return decisions, groups.crowded
    fingerprints = _fingerprints(pages.column("fingerprint").fill_null(0))
    tokens = memory_of(pages.column("tokens").fill_null(-1))

    def digest(rank: int) -> bytes:
        found: bytes = pages.fields(rank, ["digest"])["digest"]
        return found

    decisions = decide_plain(fingerprints, digest, tokens, parameters.distance, pages.known)
    return decisions, crowded


def _fingerprints(column: pa.Array) -> memoryview:
    """Return the fingerprints of a column as unsigned integers."""
    return memory_of(column).cast("B").cast("Q")


ANOTHER_BATCH = (
    "{} holds another batch: other inputs or options. Give another --work, or delete that folder."
)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder until the block or the process ends, where its file system has locks.

    :raises SimhashError: another batch holds it.
    """
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SimhashError(f"another batch works in {folder}: wait until it ends") from None
        except OSError as exc:
            logger.warning("%s cannot be locked (%s): start no other batch in it", folder, exc)
        yield


def _noted(path: Path, note: object) -> object:
    """Return the note in a file, in which this one is written if there is none."""
    if not path.exists():
        with replacing(path) as unfinished:
            unfinished.write_text(json.dumps(note, indent=1))
    return json.loads(path.read_text())


def _made(path: Path, make: Callable[..., None], *arguments: object) -> Path:
    """Return the file of a stage, which is made unless it is there."""
    if not path.exists():
        make(*arguments, path)
    return path


class Archive:
    """A folder with the pages that earlier batches have kept, and what they knew of sites.

    ========================  ================================================================
    ``rule.json``             the rule of all its pages
    ``repeated.parquet``      the blocks that each place repeats
    ``crowded.parquet``       the keys that too many pages have
    ``N-RUN.arrow``           the kept pages of the N-th batch, in its order
    ========================  ================================================================
    """

    def __init__(self, folder: Path, choices: Choices) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        rule = rule_of(choices)
        if (has := _noted(folder / "rule.json", rule)) != rule:
            raise SimhashError(f"{folder} was made with {has}; this batch has {rule}")

    @property
    def repeated(self) -> Repeated:
        """What places are known to repeat."""
        path = self.folder / "repeated.parquet"
        return Repeated.read(path) if path.exists() else Repeated()

    @property
    def crowded(self) -> pa.Array:
        """The keys that too many pages have."""
        path = self.folder / "crowded.parquet"
        if not path.exists():
            return pa.array([], pa.int64())
        return pq.read_table(path).column("key").combine_chunks()

    def parts(self, run: str) -> list[Path]:
        """Return the files of kept pages but those of a run, the oldest first."""
        found = sorted(self.folder.glob("*.arrow"))
        return [path for path in found if not path.stem.endswith(run)]

    def relevant(self, run: str, pages: pa.Table, choices: Choices) -> pa.Table:
        """Return the known pages that one of a batch may be a duplicate of.

        They stream past what is looked for: an archive may be larger than memory (Manku, Jain and
        Das Sarma, section 3.3).
        """
        if choices.verifies:
            find = _find_verified(pages, self.crowded)
        else:
            find = find_plain(*queries(pages), choices.pipeline.parameters.distance)
        found = [pa.Table.from_batches([], KNOWN)]
        for part in self.parts(run):
            batches = [one.filter(find(one)) for one in _mapped(part).to_batches()]
            found.append(pa.Table.from_batches(batches, KNOWN).sort_by("rank"))
        return pa.concat_tables(found).drop_columns("rank")

    def add(
        self, run: str, pages: Ordered, decisions: BatchDecisions, crowded: pa.Array, repeated: Path
    ) -> None:
        """Add the kept pages of a batch, and what it knew; twice is as once."""
        with replacing(self.folder / "repeated.parquet") as unfinished:
            shutil.copyfile(repeated, unfinished)
        with replacing(self.folder / "crowded.parquet") as unfinished:
            all_crowded = pa.concat_arrays([self.crowded, crowded]).unique()
            pq.write_table(pa.table({"key": all_crowded}), unfinished)
        ranks = array("q", bytes(8 * len(pages)))
        for rank, row in enumerate(memory_of(pages.order)):
            ranks[row] = rank if decisions.kept[rank] == NONE else NONE
        number = sum(1 for _ in self.parts(run)) + 1
        path = self.folder / f"{number:06}-{run}.arrow"
        own = pages.table.append_column("rank", pa.array(ranks)).slice(pages.known)
        with replacing(path) as unfinished, pa.ipc.new_file(str(unfinished), KNOWN) as writer:
            for batch in own.to_batches():
                is_kept = pc.not_equal(batch.column("rank"), NONE)
                writer.write_batch(batch.filter(pc.and_(is_kept, pc.is_null(batch["reason"]))))


def _find_verified(pages: pa.Table, crowded: pa.Array) -> Callable[[pa.RecordBatch], pa.Array]:
    """Return what finds the known pages that share a text or a key with one of *pages*."""
    texts = pages.column("text").combine_chunks().unique()
    keys = pages.column("keys").combine_chunks().flatten().unique()
    keys = keys.filter(pc.invert(pc.is_in(keys, crowded)))

    def find(known: pa.RecordBatch) -> pa.Array:
        of_known = known.column("keys")
        has_key = pc.is_in(of_known.flatten(), keys)
        rows = pc.list_parent_indices(of_known).filter(has_key)
        near = pc.is_in(pa.array(range(len(known)), pa.int64()), rows.unique())
        return pc.or_(near, pc.is_in(known.column("text"), texts, skip_nulls=True))

    return find


def queries(pages: pa.Table) -> tuple[pa.Array, pa.Array]:
    """Return what known pages are searched for, once: fingerprints, and digests of short texts."""
    is_long = pc.greater_equal(pages.column("tokens"), MIN_TOKENS)
    fingerprints = pages.column("fingerprint").filter(is_long).unique()
    return fingerprints, pages.column("digest").filter(pc.invert(is_long)).unique()


def find_plain(
    fingerprints: pa.Array, short: pa.Array, distance: int
) -> Callable[[pa.RecordBatch], pa.Array]:
    """Return what finds the known pages that are near one of some :func:`queries`."""
    tables = PermutedTables(distance, design(len(fingerprints) or 1, distance).tables)
    tables.build(_fingerprints(fingerprints), array("I", range(len(fingerprints))))

    def find(known: pa.RecordBatch) -> pa.Array:
        is_long = pc.greater_equal(known.column("tokens"), MIN_TOKENS)
        found, _ = tables.check_many(_fingerprints(known.column("fingerprint")))
        # Not pa.array(): it makes an object of each number, a fifth of the time of all this.
        items = pa.Array.from_buffers(pa.int64(), len(found), [None, pa.py_buffer(found)])
        near = pc.and_(is_long, pc.greater_equal(items, 0))
        same = pc.and_(pc.invert(is_long), pc.is_in(known.column("digest"), short))
        return pc.or_(near, same)

    return find


def rule_of(choices: Choices) -> dict[str, object]:
    """Return all by which pages are compared, as JSON has it."""
    return {
        "version": VERSION,
        "rule": choices.rule,
        "scheme": choices.pipeline.parameters.scheme,
        "share": choices.pipeline.parameters.share,
        "distance": choices.pipeline.parameters.distance,
    }


def asked_of(sources: Sequence[Input], choices: Choices, known: str | None) -> dict[str, object]:
    """Return what a batch is asked for, as JSON has it: its files as they are now, and the rule."""
    inputs = [one.state for one in sources]
    columns = [asdict(one) for one in {source.columns for source in sources}]
    asked = {"order": choices.order, "known": known, "columns": columns, "inputs": inputs}
    return rule_of(choices) | asked


def id_of(asked: dict[str, object]) -> str:
    """Return a name for what is asked for, which others do not have."""
    return blake2b(json.dumps(asked).encode(), digest_size=8).hexdigest()


# Shows that a stage is under way: gives what is to be called with each number of things done.
Stage = Callable[[str], AbstractContextManager[Callable[[int], None]]]


def run(
    sources: Sequence[Input],
    choices: Choices,
    work: Path,
    out: Path,
    known: Path | None = None,
    stage: Stage = lambda _: nullcontext(lambda _: None),
) -> Unread:
    """Run a batch, each stage that is not done yet, and write the decisions.

    Return what of its files was not read.

    :raises SimhashError: *work* holds another batch, *known* is an archive of another rule, or
        another batch works in one of them.
    """
    archive = None if known is None else Archive(known, choices)
    where = None if known is None else str(known.resolve())
    asked = asked_of(sources, choices, where)
    name = id_of(asked)
    for folder in "features", "seen":
        (work / folder).mkdir(parents=True, exist_ok=True)
    if _noted(work / "run.json", asked) != asked:
        raise SimhashError(ANOTHER_BATCH.format(work))
    features = [work / "features" / f"{one.number:05}.parquet" for one in sources]
    with ExitStack() as held:
        for shared in filter(None, (work, known)):
            held.enter_context(alone_in(shared))
        with stage("Analysing pages") as advance, FeatureReader(choices) as reader:
            for source, path in zip(sources, features, strict=True):
                if not path.exists():
                    reader.write(source, path, advance)
            features.append(_made(work / "features" / "revisits.parquet", resolve, [*features]))
        with stage("Learning what sites repeat"):
            repeated = Repeated() if archive is None else archive.repeated
            taught_by = features if choices.verifies else []
            learned_at = _made(work / "repeated.parquet", learn, taught_by, repeated)
        parts = [work / "seen" / f"{path.stem}.arrow" for path in features]
        with stage("Seeing pages without it") as advance:
            jobs = [job for job in zip(features, repeat(learned_at), parts) if not job[2].exists()]
            for _ in _mapped_by_processes(see, jobs, choices.settings.workers):
                advance(1)
        with stage("Comparing pages"):
            table = pa.concat_tables(map(_mapped, parts))
            crowded, relevant = pa.array([], pa.int64()), table.slice(0, 0)
            if archive is not None:
                crowded, relevant = archive.crowded, archive.relevant(name, table, choices)
            pages = Ordered(relevant, table, _repeated(learned_at))
            decisions, crowded = decide(pages, choices, crowded)
            write_decisions(pages, decisions, out)
        if archive is not None:
            archive.add(name, pages, decisions, crowded, learned_at)
        unread = Unread()
        for path in features:
            metadata = pq.read_metadata(path).metadata
            unread.update(Unread.from_json(json.loads(metadata[b"unread"])))
        return unread


def _mapped_by_processes(
    function: Callable[..., None], jobs: Sequence[Sequence[object]], processes: int
) -> Iterator[None]:
    """Call a function for each job, in some processes, or in this one if their number is 0."""
    if not processes or not jobs:
        yield from starmap(function, jobs)
        return
    with ProcessPoolExecutor(min(processes, len(jobs)), get_context("spawn")) as pool:
        yield from pool.map(function, *zip(*jobs, strict=True))
