"""A batch on Spark: the answer of one machine, row for row, however the work is cut."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import sys
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyspark", reason="the extra scrapy-simhash[spark] is not installed")
if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
    pytest.skip("Spark needs Java 17 or later", allow_module_level=True)

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from scrapy_simhash.batch import local
from scrapy_simhash.batch.features import FEATURES, Choices
from scrapy_simhash.batch.local import DECISIONS
from scrapy_simhash.batch.records import Columns, Input, inputs
from scrapy_simhash.batch.rule import MOST_OF_KEY, sample_key, seen, signed
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.spark import (
    duplicates,
    engine,
    features,
    near_duplicates,
    places,
    plain,
    rounds,
)
from scrapy_simhash.tables.design import blocks
from tests.batch.test_command import archive
from tests.batch.test_local import cut, some_pages
from tests.batch.test_revisits import layouts
from tests.batches import ANALYSER, greedy, html_of, link_of_chain, write_pages
from tests.command_line import simhash_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = pytest.mark.spark

SITES = Path(__file__).parents[3] / "shared" / "data" / "sites"
PARTITIONS = "spark.sql.shuffle.partitions"
# A session needs some seconds to compile a query, which small ones are not worth; nor are they
# worth what a JVM does so that it runs the same faster after hours.
CONFIGURED = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    PARTITIONS: "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "2g",
}

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session of two tasks at once, each of which may fail twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path.cwd()), *sys.path]))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master("local[2, 3]")
        for name, value in CONFIGURED.items():
            builder = builder.config(name, value)
        folder = tmp_path_factory.mktemp("spark")
        session = builder.config("spark.local.dir", str(folder)).getOrCreate()
        yield session
        session.stop()


def choices(rule: str = "verified", order: str = "date", **more: Any) -> Choices:
    return Choices(rule, order, SimhashSettings(workers=0, **more))


def sources(files: Sequence[Path], order: str = "date") -> list[Input]:
    column = None if order in ("date", "input") else order
    return inputs([str(path) for path in files], Columns(order=column))


def on_one_machine(folder: Path, files: Sequence[Path], asked: Choices) -> Rows:
    local.run(sources(files, asked.order), asked, folder / "work", folder / "out.parquet")
    found: Rows = pq.read_table(folder / "out.parquet").to_pylist()
    return found


def rows_of(found: DataFrame) -> Rows:
    rows: Rows = found.toArrow().cast(DECISIONS).to_pylist()
    return rows


def in_memory(spark: SparkSession, rows: Rows, parts: int = 3) -> DataFrame:
    """Rows of features, in some partitions."""
    table = pa.Table.from_pylist(rows, FEATURES)
    return spark.createDataFrame(table).repartition(parts)


@pytest.mark.parametrize(
    ("rule", "order", "partitions"),
    [
        ("verified", "date", 1),
        ("plain", "input", 7),
        ("verified", "rank", 64),
        ("plain", "rank", 64),
    ],
)
def test_the_answer_is_that_of_one_machine(
    spark: SparkSession, tmp_path: Path, rule: str, order: str, partitions: int
) -> None:
    files = cut(tmp_path / "pages", some_pages(80), 3)
    asked = choices(rule, order)
    expected = on_one_machine(tmp_path, files, asked)
    assert {"unique", "near_duplicate", "exact_duplicate"} <= {row["verdict"] for row in expected}
    if order != "input":
        files.reverse()
    spark.conf.set(PARTITIONS, partitions)
    found = features(spark, sources(files, order), asked, partitions=min(partitions, 3))
    assert rows_of(near_duplicates(found, asked)) == expected


@pytest.mark.skipif(not SITES.is_dir(), reason="the sites to measure by are not here")
@pytest.mark.parametrize(("rule", "partitions"), [("verified", 7), ("plain", 2)])
def test_a_whole_site_has_the_answer_of_one_machine(
    spark: SparkSession, tmp_path: Path, rule: str, partitions: int
) -> None:
    with tarfile.open(SITES / "atom-docs" / "site.tar.xz") as packed:
        pages = [
            {"url": f"http://site.example/{member.name}", "html": file.read()}
            for member in packed
            if member.name.endswith(".html") and (file := packed.extractfile(member))
        ]
    asked, files = choices(rule), cut(tmp_path / "pages", pages, 3)
    expected = on_one_machine(tmp_path, files, asked)
    known = pq.read_table(tmp_path / "work" / "repeated.parquet")
    assert (len(known) > 1) == (rule == "verified")
    spark.conf.set(PARTITIONS, partitions)
    assert rows_of(near_duplicates(features(spark, sources(files), asked), asked)) == expected


@pytest.mark.parametrize("rule", ["verified", "plain"])
def test_a_batch_beside_a_known_archive_has_the_answer_of_one_machine(
    spark: SparkSession, tmp_path: Path, rule: str
) -> None:
    """Also when it is done again: what it has added itself is not known to it."""
    pages = sorted(some_pages(80), key=lambda page: (page["date"], page["url"]))
    spark.conf.set(PARTITIONS, 3)
    seen_before = 0
    batches = [cut(tmp_path / f"pages{at}", pages[at : at + 40], 1) for at in (0, 40)]
    for number, files in enumerate([*batches, batches[1]]):
        folder, sources = tmp_path / str(number), inputs(list(map(str, files)))
        folder.mkdir()
        local.run(sources, choices(rule), folder / "work", folder / "out", tmp_path / "known")
        expected = pq.read_table(folder / "out").to_pylist()
        engine = duplicates.engine_at(str(folder / "on spark"))
        out, known = str(tmp_path / f"out-{number}"), str(tmp_path / "on spark")
        duplicates.run(engine, sources, choices(rule), out, known)
        assert pq.read_table(out).cast(DECISIONS).to_pylist() == expected
        own = {row["file"] for row in expected}
        seen_before += sum(row["representative_file"] not in {None, *own} for row in expected)
    assert seen_before > 10
    assert len(list((tmp_path / "on spark").glob("0*"))) == 2


def test_a_known_archive_or_a_batch_of_another_rule_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    sources = inputs([str(path) for path in cut(tmp_path / "pages", some_pages(3), 1)])
    work, out, known = (str(tmp_path / name) for name in ("work", "out", "known"))
    duplicates.run(duplicates.engine_at(work), sources, choices("plain"), out, known)
    with pytest.raises(SimhashError, match="holds another batch"):
        duplicates.run(duplicates.engine_at(work), sources, choices(), out, known)
    with pytest.raises(SimhashError, match="this batch has"):
        duplicates.run(duplicates.engine_at(f"{work}-2"), sources, choices(), out, known)


def test_what_is_not_read_is_counted_as_on_one_machine(spark: SparkSession, tmp_path: Path) -> None:
    lines = ["not JSON", '{"url": "http://a.example/", "text": "some words"}', "{}"]
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    sources = inputs([str(tmp_path / f"{name}.jsonl") for name in "ab"])
    expected = local.run(sources, choices("plain"), tmp_path / "work", tmp_path / "out.parquet")
    engine, out = duplicates.engine_at(str(tmp_path / "on spark")), str(tmp_path / "out")
    assert duplicates.run(engine, sources, choices("plain"), out)[1] == expected
    assert expected.counts.total() == 4


@pytest.mark.parametrize(("rule", "partitions"), [("verified", 7), ("plain", 2)])
def test_revisits_have_the_answer_of_one_machine(
    spark: SparkSession, tmp_path: Path, rule: str, partitions: int
) -> None:
    spark.conf.set(PARTITIONS, partitions)
    *_, files = layouts(tmp_path / "files")
    sources, asked = inputs(list(map(str, files))), choices(rule)
    expected = local.run(sources, asked, tmp_path / "work", tmp_path / "out", tmp_path / "known")
    out, known = (str(tmp_path / f"{name} on spark") for name in ("out", "known"))
    on_spark = duplicates.engine_at(str(tmp_path / "work on spark"))
    found, unread = duplicates.run(on_spark, sources, asked, out, known)
    rows = rows_of(found)
    assert rows == pq.read_table(tmp_path / "out").to_pylist()
    assert sum(row["content_file"] is not None for row in rows) == 7
    assert unread == expected
    assert rows_of(near_duplicates(features(spark, sources, asked), asked)) == rows


def test_pages_that_break_their_worker_are_rows_with_the_reason(
    spark: SparkSession, tmp_path: Path
) -> None:
    pages = [
        {"url": f"http://a.example/{action}", "html": html_of(link_of_chain(0))}
        for action in ("one", "die", "two", "hang", "three")
    ]
    asked = choices(extractor="tests.extractors.rude_text", page_timeout=5.0)
    rows = features(spark, sources([write_pages(tmp_path / "a.parquet", pages)]), asked).collect()
    found = {row["url"].rpartition("/")[2]: row["reason"] for row in rows}
    assert found.pop("die") == "worker_died"
    assert found.pop("hang") == "timed_out"
    assert found == {"one": None, "two": None, "three": None}


FAILED_ONCE = """
import os
def fail_once(batches, flag={flag!r}):
    for batch in batches:
        yield batch
        if not os.path.exists(flag):
            open(flag, "x").close()
            raise RuntimeError("a task that fails in the middle")
"""


def test_a_task_that_fails_is_done_again(spark: SparkSession, tmp_path: Path) -> None:
    files = cut(tmp_path / "pages", some_pages(30), 2)
    asked, flag = choices("plain"), tmp_path / "failed"
    code: dict[str, Callable[..., Any]] = {}
    exec(FAILED_ONCE.format(flag=str(flag)), code)
    read = features(spark, sources(files), asked)
    failing = read.mapInArrow(code["fail_once"], read.schema)
    assert rows_of(near_duplicates(failing, asked)) == on_one_machine(tmp_path, files, asked)
    assert flag.exists()


@pytest.mark.parametrize("rule", ["verified", "plain"])
def test_a_driver_that_was_killed_goes_on_at_the_stage_where_it_was(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    """Each stage is begun twice: what it leaves without its marker is made again."""
    files = cut(tmp_path / "pages", some_pages(40), 2)
    asked, work = choices(rule), tmp_path / "on spark"
    read = features(spark, sources(files), asked)
    real, made = engine.Engine.stage, Counter[str]()

    def stage(self: engine.Engine, name: str, make: Callable[[], Any]) -> Any:
        def stopped() -> Any:
            made[name] += 1
            if made[name] == 1:
                (work / name).mkdir(parents=True)
                (work / name / "part-00000.parquet").write_bytes(b"PAR1")
                raise KeyboardInterrupt
            return make()

        return real(self, name, stopped)

    monkeypatch.setattr(engine.Engine, "stage", stage)
    monkeypatch.setattr(rounds, "ROWS_AT_DRIVER", 10)
    for _ in range(100):
        try:
            found = near_duplicates(read, asked, str(work))
            break
        except KeyboardInterrupt:
            pass
    assert rows_of(found) == on_one_machine(tmp_path, files, asked)
    assert len(made) >= 6
    assert {*made.values()} == {2}


FLIPS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 11)), max_size=60)


def fingerprint_rows(fingerprints: Sequence[int], tokens: Sequence[int]) -> Rows:
    return [
        {
            "number": number,
            "url": f"http://a.example/{number}",
            "file": "a",
            "offset": number,
            "fingerprint": signed(fingerprint),
            "digest": f"{fingerprint:032x}".encode(),
            "tokens": count,
        }
        for number, (fingerprint, count) in enumerate(zip(fingerprints, tokens, strict=True))
    ]


def plainly_greedy(
    fingerprints: Sequence[int], tokens: Sequence[int], distance: int
) -> list[int | None]:
    """What each fingerprint is a duplicate of, by the paper's rule: ten lines of Python."""
    kept_of: list[int | None] = []
    for number, (one, count) in enumerate(zip(fingerprints, tokens, strict=True)):
        is_short = count < 50
        near = [
            ((one ^ fingerprints[earlier]).bit_count(), earlier)
            for earlier in range(number)
            if kept_of[earlier] is None and is_short == (tokens[earlier] < 50)
        ]
        near = [found for found in near if found[0] <= (0 if is_short else distance)]
        kept_of.append(min(near)[1] if near else None)
    return kept_of


def kept_of(found: Rows) -> list[int | None]:
    """What each page is a duplicate of, by its number."""
    by_number = sorted(found, key=lambda row: row["offset"])
    return [row["representative_offset"] for row in by_number]


@pytest.mark.parametrize(
    ("distance", "driver", "most"),
    [(0, 0, 30), (3, 0, 30), (3, 10, 2), (3, 10**6, 30), (7, 10, 2)],
)
@settings(
    max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(flips=FLIPS, draw=st.randoms(use_true_random=False))
def test_the_plain_rule_is_ten_lines_of_python(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    distance: int,
    driver: int,
    most: int,
    flips: list[tuple[int, int]],
    draw: random.Random,
) -> None:
    """Chains, stars, cliques and ties; crowded places, and rounds on Spark and on the driver."""
    fingerprints = [draw.getrandbits(64)]
    for at, bit in flips:  # each is near one before it
        fingerprints.append(fingerprints[at % len(fingerprints)] ^ 1 << 5 * bit)
    star = draw.getrandbits(64)
    fingerprints += [
        star ^ 1 << one ^ 1 << other for one, other in combinations(range(0, 60, 9), 2)
    ]
    tokens = [draw.choice([10, 100, 100, 100]) for _ in fingerprints]
    draw.shuffle(fingerprints)
    monkeypatch.setattr(rounds, "ROWS_AT_DRIVER", driver)
    monkeypatch.setattr(rounds, "MOST_ROUNDS", most)
    monkeypatch.setattr(places, "MOST_OF_PLACE", 5)
    monkeypatch.setattr(places, "LEAST_CROWD", 5)
    spark.conf.set(PARTITIONS, 3)
    read = in_memory(spark, fingerprint_rows(fingerprints, tokens))
    found = rows_of(near_duplicates(read, choices("plain", distance=distance)))
    assert kept_of(found) == plainly_greedy(fingerprints, tokens, distance)


@pytest.mark.parametrize("distance", range(8))
@pytest.mark.parametrize("differing", [64, 20])
def test_fingerprints_within_the_distance_meet_in_a_place(
    monkeypatch: pytest.MonkeyPatch, distance: int, differing: int
) -> None:
    """Also where places are crowded, and those that divide them; in few of the bits, too."""
    monkeypatch.setattr(places, "LEAST_CROWD", 2)
    monkeypatch.setattr(places, "MOST_OF_PLACE", 2)
    draw = random.Random(5)
    centers = [draw.getrandbits(64) for _ in range(9)]
    fingerprints = [
        draw.choice(centers) ^ 1 << draw.randrange(differing) ^ 1 << draw.randrange(differing)
        for _ in range(200)
    ]
    others = [
        one ^ sum(1 << bit for bit in draw.sample(range(64), distance)) for one in fingerprints
    ]
    both = np.array([*fingerprints, *others], np.uint64)
    division = places.Division.of(both[::2], 0.5, distance)
    assert len(division.blocks) == distance + 1
    assert any(division.crowded) or distance == 0
    met: dict[int, set[int]] = {}
    for numbers, found in division.places(both):
        for number, place in zip(numbers.tolist(), found.tolist(), strict=True):
            met.setdefault(number, set()).add(place)
    assert all(met[number] & met[number + 200] for number in range(200))
    assert max(map(len, met.values())) <= (distance + 1) ** 3


@pytest.mark.parametrize("count", [2, 20, 200, 2000])
@pytest.mark.parametrize("distance", [0, 1, 3, 7])
def test_a_bucket_finds_all_that_are_near_others(count: int, distance: int) -> None:
    """Whatever tables are chosen for as many fingerprints."""
    draw = random.Random(count)
    fingerprints = [draw.getrandbits(64) for _ in range(count)]
    for number in range(0, count - 1, 5):
        flips = draw.sample(range(64), draw.randrange(9))
        fingerprints[number] = fingerprints[number + 1] ^ sum(1 << bit for bit in flips)
    near = {
        number
        for pair in combinations(range(count), 2)
        if (fingerprints[pair[0]] ^ fingerprints[pair[1]]).bit_count() <= distance
        and fingerprints[pair[0]] != fingerprints[pair[1]]
        for number in pair
    }
    rows = [
        {"rank": number, "fingerprint": signed(one), "bucket": 0}
        for number, one in enumerate(fingerprints)
        if fingerprints.index(one) == number
    ]
    found = plain._beside(distance, pa.Table.from_pylist(rows))
    later = {row["rank"]: row["is_later"] for row in found.to_pylist()}
    assert {*later} == near & {row["rank"] for row in rows}
    assert not near or not later[min(later)]


def test_a_crowded_place_is_divided() -> None:
    draw = np.random.default_rng(1)
    flood = draw.integers(0, 1 << 64, 100_000, np.uint64) & np.uint64((1 << 48) - 1)
    division = places.Division.of(flood, 1.0, 3)
    assert [mask.bit_count() for mask in division.blocks] == [12] * 4
    narrow = np.concatenate([flood, draw.integers(0, 1 << 64, 100_000, np.uint64)])
    division = places.Division.of(narrow, 1.0, 3)
    assert division.blocks == blocks(4)
    assert [list(one) for one in division.crowded] == [[0], [], [], []]
    sizes = Counter(place for _, some in division.places(narrow) for place in some.tolist())
    assert max(sizes.values()) < 1000


@pytest.mark.parametrize("driver", [0, 10**6])
@settings(
    max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(draw=st.randoms(use_true_random=False))
def test_the_verified_rule_is_ten_lines_of_python(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, driver: int, draw: random.Random
) -> None:
    """Chains, copies with and without a canonical URL, texts that many sites have, and no text."""
    pages = []
    for number in range(50):
        words = link_of_chain(draw.randrange(6), draw.choice([0, 100, 200]))
        words = draw.choice([words, words, words[: draw.randrange(12)]])
        url = f"http://{draw.choice(['a', 'b', 'c'])}.example/{draw.choice('xy')}/{number % 7}"
        pages.append((url, html_of(words)))
    rows = [feature_row(number, url, html) for number, (url, html) in enumerate(pages)]
    judged = [row for row in rows if row["reason"] is None]
    for row in judged:
        row["canonical"] = draw.choice([None, draw.choice(judged)["url"]])
    asked = choices()
    seen_rows = [seen(row | NO_VIEW, frozenset()) for row in judged]
    numbers = [row["number"] for row in judged]
    expected: list[int | None] = [None] * len(rows)
    for number, kept in zip(numbers, greedy(seen_rows, asked.pipeline.parameters), strict=True):
        expected[number] = None if kept is None else numbers[kept]
    monkeypatch.setattr(rounds, "ROWS_AT_DRIVER", driver)
    spark.conf.set(PARTITIONS, 3)
    assert kept_of(rows_of(near_duplicates(in_memory(spark, rows), asked))) == expected


NO_VIEW = dict.fromkeys(("content_fingerprint", "heading", "sketch"))


def feature_row(number: int, url: str, html: bytes) -> dict[str, Any]:
    found = ANALYSER.analyse(html, "utf-8", url)
    row = {"number": number, "url": url, "file": "a", "offset": number, "reason": None}
    if found.content is None:
        return row | {"reason": "no_text"}
    return row | {
        "fingerprint": signed(found.fingerprint),
        "digest": found.digest,
        "tokens": found.tokens,
        "canonical": None,
        "sample": sample_key(found.content.blocks),
        "blocks": list(map(signed, found.content.blocks)),
        "source": found.source,
    }


@pytest.mark.parametrize("driver", [0, 10**6])
def test_a_text_of_more_sites_than_a_key_may_have_is_kept_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, driver: int
) -> None:
    """Its keys are crowded, so it is compared with no other text."""
    urls = [f"http://site{number}.example/a" for number in range(MOST_OF_KEY + 1)]
    like = feature_row(len(urls), "http://a.example/", html_of(link_of_chain(1)))
    rows = [feature_row(number, url, html_of(link_of_chain(0))) for number, url in enumerate(urls)]
    monkeypatch.setattr(rounds, "ROWS_AT_DRIVER", driver)
    spark.conf.set(PARTITIONS, 3)
    first, *others, last = rows_of(near_duplicates(in_memory(spark, [*rows, like]), choices()))
    assert (first["verdict"], first["copies"], first["crowded"]) == ("unique", len(others), True)
    assert {(row["verdict"], row["representative"]) for row in others} == {
        ("exact_duplicate", first["url"])
    }
    assert (last["verdict"], last["crowded"]) == ("unique", True)


def test_the_command_shows_what_that_of_one_machine_shows(tmp_path: Path) -> None:
    """A session of its own, as Spark is configured by default."""
    archive(tmp_path / "late.warc.gz", [2, 0], start=2)
    archive(tmp_path / "early.warc.gz", [0, 1])
    files = "late.warc.gz", "early.warc.gz"
    local = simhash_json(tmp_path, "batch", *files, "--out", "local")
    more = "--kept", "kept.warc.gz", "--report", "report.html"
    shown = simhash_json(tmp_path, "batch", *files, "--out", "out", "--engine", "spark", *more)
    assert shown == local | {"output": "out"}
    assert pq.read_table(tmp_path / "out") == pq.read_table(tmp_path / "local")
    assert gzip.decompress((tmp_path / "kept.warc.gz").read_bytes()).count(b"WARC/1") == 3
    assert not (tmp_path / "out.work").exists()
    assert (tmp_path / "report.html").exists()


def test_what_stops_spark_is_said_in_a_line(spark: SparkSession, tmp_path: Path) -> None:
    def rows() -> None:
        (tmp_path / "a.jsonl").write_text('{"url": "http://a.example/", "text": "some words"}')
        features(spark, sources([tmp_path / "a.jsonl"]), choices()).collect()

    for stopped, said in (
        (rows, "scrapy_simhash.errors.SourceError: .* needs: give --rule plain"),
        (lambda: duplicates.engine_at("none://a").exists("none://a"), ".*No FileSystem for scheme"),
        (lambda: spark.read.parquet(str(tmp_path / "none")), r"\[PATH_NOT_FOUND\] Path does not"),
    ):
        with pytest.raises(SimhashError, match=f"^Spark: {said}"), engine.in_short():
            stopped()


def test_an_executor_without_compiled_modules_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "COMPILED", ("decision.sketch",))
    engine.not_compiled.cache_clear()
    try:
        with pytest.raises(SimhashError, match=r"has no compiled decision\.sketch"):
            engine._checked(iter, False, iter(()))
        assert list(engine._checked(iter, True, iter(()))) == []
    finally:
        engine.not_compiled.cache_clear()


def test_every_module_that_is_built_is_asked_for() -> None:
    package = Path(__file__).parents[2] / "scrapy_simhash"
    sources = chain(package.rglob("*.pyx"), package.rglob("*.pxd"))
    built = {source.relative_to(package).with_suffix("").as_posix() for source in sources}
    names = {name.replace("/", ".") for name in built if not name.startswith("crawl/")}
    assert names == set(engine.COMPILED)
