"""A batch on one machine: one answer however it is cut, also if it was stopped."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

from scrapy_simhash.batch import local  # noqa: E402
from scrapy_simhash.batch.features import Choices, FeatureReader, is_columnar  # noqa: E402
from scrapy_simhash.batch.records import Columns, inputs  # noqa: E402
from scrapy_simhash.batch.unread import Unread  # noqa: E402
from scrapy_simhash.errors import SimhashError, SourceError  # noqa: E402
from scrapy_simhash.settings import SimhashSettings  # noqa: E402
from tests.batches import html_of, link_of_chain, write_pages  # noqa: E402

IN_PROCESS = SimhashSettings(workers=0)
MENU = "<nav><p>Home of all the lamps that we sell</p><p>About the people who make lamps</p></nav>"


def some_pages(count: int = 60, seed: int = 1) -> list[dict[str, Any]]:
    """Pages of a shop and a mirror: chains of near-duplicates, and copies."""
    draw = random.Random(seed)
    pages = []
    for number in range(count):
        host = draw.choice(["shop.example", "mirror.example"])
        words = link_of_chain(draw.randrange(6), draw.choice([0, 100, 200]))
        url = f"http://{host}/lamps/{number}"
        pages.append(
            {
                "url": url,
                "html": html_of(words, body=MENU),
                "date": draw.randrange(30),
                "rank": f"{draw.random()}",
            }
        )
    return pages


def choices(rule: str = "verified", order: str = "date") -> Choices:
    return Choices(rule, order, IN_PROCESS)


def run(
    folder: Path, files: list[Path], asked: Choices | None = None, known: Path | None = None
) -> list[dict[str, Any]]:
    asked = asked or choices()
    column = None if asked.order in ("date", "input") else asked.order
    sources = inputs([str(path) for path in files], Columns(order=column))
    local.run(sources, asked, folder / "work", folder / "out.parquet", known)
    found: list[dict[str, Any]] = pq.read_table(folder / "out.parquet").to_pylist()
    return found


def cut(folder: Path, pages: list[dict[str, Any]], parts: int) -> list[Path]:
    folder.mkdir(exist_ok=True)
    return [
        write_pages(folder / f"{part}.parquet", pages[part::parts])
        for part in range(parts)
        if pages[part::parts]
    ]


def plainly(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What was found, without the files, which differ with the cut."""
    names = "url", "date", "verdict", "reason", "representative", "distance", "share", "copies"
    return [tuple(row[name] for name in names) for row in found]


@pytest.mark.parametrize("rule", ["verified", "plain"])
@pytest.mark.parametrize("order", ["date", "rank"])
def test_an_archive_has_one_answer_however_it_is_cut(tmp_path: Path, rule: str, order: str) -> None:
    pages = some_pages()
    whole = run(tmp_path / "a", cut(tmp_path / "a", pages, 1), choices(rule, order))
    assert {"unique", "near_duplicate", "exact_duplicate"} <= {row["verdict"] for row in whole}
    random.Random(2).shuffle(pages)
    files = cut(tmp_path / "b", pages, 7)
    random.Random(3).shuffle(files)
    assert plainly(run(tmp_path / "b", files, choices(rule, order))) == plainly(whole)


def test_the_order_of_the_arguments_is_one_too(tmp_path: Path) -> None:
    one, other = cut(tmp_path / "a", some_pages(), 2)
    for number, files in enumerate(([one, other], [other, one])):
        found = run(tmp_path / f"{number}", files, choices(order="input"))
        assert [row["file"] for row in found] == [str(files[0])] * 30 + [str(files[1])] * 30
        assert [row["offset"] for row in found[:30]] == list(range(30))


def test_numbers_of_a_column_come_before_texts_and_both_before_nothing(tmp_path: Path) -> None:
    values = ["b", None, 10, "a", -3.5, 9, -4]
    lines = [
        {"url": f"http://a.example/{n}", "text": f"text {n}", "rank": value}
        for n, value in enumerate(values)
    ]
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    found = run(tmp_path, [file], choices("plain", "rank"))
    assert [values[row["offset"]] for row in found] == [-4, -3.5, 9, 10, "a", "b", None]


@pytest.mark.parametrize("rule", ["verified", "plain"])
def test_a_batch_beside_a_known_archive_is_as_one_batch_of_both(tmp_path: Path, rule: str) -> None:
    pages = sorted(some_pages(), key=lambda page: (page["date"], page["url"]))
    earlier = cut(tmp_path / "a", [page for page in pages if page["date"] < 15], 2)
    later = cut(tmp_path / "b", [page for page in pages if page["date"] >= 15], 1)
    known = tmp_path / "known"
    first = run(tmp_path / "a", earlier, choices(rule), known)
    # What sites repeat, and which keys are crowded, is that of the first batch for all.
    shutil.copytree(known, tmp_path / "frozen", ignore=shutil.ignore_patterns("*.arrow"))
    second = run(tmp_path / "b", later, choices(rule), known)
    whole = tmp_path / "whole"
    whole.mkdir()
    both = run(whole, [*earlier, *later], choices(rule), tmp_path / "frozen")
    drop = {"copies"}  # those of a known page are counted where it was kept
    stripped = [
        [{k: v for k, v in row.items() if k not in drop} for row in one]
        for one in (first + second, both)
    ]
    assert stripped[0] == stripped[1]
    assert any(row["representative_file"] in map(str, earlier) for row in second)
    again = run(tmp_path / "b", later, choices(rule), known)
    assert again == second
    assert len(list(known.glob("*.arrow"))) == 2


@pytest.mark.parametrize("rule", ["verified", "plain"])
def test_an_archive_without_pages_has_no_decisions(tmp_path: Path, rule: str) -> None:
    (tmp_path / "a.jsonl").write_text("{}")
    assert run(tmp_path, [tmp_path / "a.jsonl"], choices(rule)) == []


@pytest.mark.parametrize("folder", ["work", "known"])
def test_two_batches_at_once_in_one_folder_are_refused(tmp_path: Path, folder: str) -> None:
    files = cut(tmp_path / "a", some_pages(3), 1)
    (tmp_path / "a" / folder).mkdir()
    with (
        local.alone_in(tmp_path / "a" / folder),
        pytest.raises(SimhashError, match=f"another batch works in .*{folder}"),
    ):
        run(tmp_path / "a", files, known=tmp_path / "a" / "known")
    assert len(run(tmp_path / "a", files, known=tmp_path / "a" / "known")) == 3


def test_a_known_archive_of_another_rule_is_refused(tmp_path: Path) -> None:
    files = cut(tmp_path / "a", some_pages(3), 1)
    run(tmp_path / "a", files, choices("plain"), tmp_path / "known")
    with pytest.raises(SimhashError, match="this batch has"):
        run(tmp_path / "b", files, choices(), tmp_path / "known")


def test_what_is_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = cut(tmp_path / "a", some_pages(), 3)
    found = run(tmp_path / "a", files)
    done: Counter[str] = Counter()
    monkeypatch.setattr(FeatureReader, "write", lambda *_: done.update(["features"]))
    monkeypatch.setattr(local, "see", lambda *_: done.update(["see"]))
    monkeypatch.setattr(local, "learn", lambda *_: done.update(["learn"]))
    assert run(tmp_path / "a", files) == found
    assert not done


@pytest.mark.parametrize(
    ("owner", "name"),
    [(FeatureReader, "write"), (local, "learn"), (local, "see"), (local, "decide")],
)
def test_a_batch_that_was_stopped_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    files = cut(tmp_path / "a", some_pages(), 3)
    (tmp_path / "b").mkdir()
    expected = run(tmp_path / "b", files)
    real, calls = getattr(owner, name), count()

    def stopped(*of: Any) -> Any:
        if next(calls) == (1 if name in ("write", "see") else 0):
            raise KeyboardInterrupt
        return real(*of)

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, stopped)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "a", files)
    assert run(tmp_path / "a", files) == expected


def test_a_folder_of_another_batch_is_refused(tmp_path: Path) -> None:
    files = cut(tmp_path / "a", some_pages(5), 2)
    run(tmp_path / "a", files)
    with pytest.raises(SimhashError, match="another --work"):
        run(tmp_path / "a", files[:1])
    sources = inputs(list(map(str, files)), Columns(html="rank"))
    with pytest.raises(SimhashError, match="another --work"):
        local.run(sources, choices(), tmp_path / "a" / "work", tmp_path / "out.parquet")
    write_pages(files[0], some_pages(5, seed=2))
    with pytest.raises(SimhashError, match="another --work"):
        run(tmp_path / "a", files)


def test_a_page_without_text_is_skipped_with_its_reason(tmp_path: Path) -> None:
    pages = [{"url": "http://a.example/", "html": b"<html></html>"}, *some_pages(2)]
    found = {row["url"]: row for row in run(tmp_path, cut(tmp_path / "a", pages, 1))}
    assert found["http://a.example/"]["verdict"] == "skipped"
    assert found["http://a.example/"]["reason"] == "no_text"
    assert found["http://a.example/"]["copies"] is None


@pytest.mark.parametrize("rule", ["verified", "plain"])
def test_pages_have_no_date_that_python_has_not(tmp_path: Path, rule: str) -> None:
    dates = [-62135596801, -62135596799, 1, 62135596801, 2.6e11]
    pages = some_pages(len(dates))
    for page, date in zip(pages, dates, strict=True):
        page["date"] = float(date)
    found = run(tmp_path, cut(tmp_path / "a", pages, 1), choices(rule))
    years = {row["url"]: row["date"] and row["date"].year for row in found}
    assert [years[page["url"]] for page in pages] == [None, 1, 1970, None, None]


@pytest.mark.parametrize("order", ["date", "input", "rank"])
@pytest.mark.parametrize("rank", [pa.int64(), pa.int16(), pa.float64(), pa.string(), None])
def test_fingerprints_by_columns_are_those_row_by_row(
    tmp_path: Path, order: str, rank: Any
) -> None:
    """A column of texts, which all are None, makes each row be looked at by itself."""
    urls = [
        "http://a.example/ä",
        "https://b.example:8080",
        "/c",
        None,
        "http://d.example",
        "http://[",
    ]
    count = 4 * len(urls)
    columns = {
        "url": pa.array(urls * 4),
        "fingerprint": pa.array([None, -1, 2**63 - 1, -(2**63), *range(count - 4)], pa.int64()),
        "date": pa.array([None, 0, -1, 5, 2**52, *range(count - 5)], pa.timestamp("ms")),
    }
    if rank is not None:
        numbers = [None, 0, -5, 3, *range(count - 4)]
        if pa.types.is_floating(rank):
            numbers[1:4] = [float("nan"), -0.0, float("-inf")]
        columns["rank"] = pa.array(numbers).cast(rank)
    elif order == "rank":
        return
    found = []
    for more in {}, {"text": pa.nulls(count, pa.string())}:
        file = tmp_path / "a.parquet"
        pq.write_table(pa.table(columns | more), file, row_group_size=5)
        (source,) = inputs([str(file)], Columns(order="rank" if order == "rank" else None))
        unread = Unread()
        with FeatureReader(choices("plain", order)) as reader:
            rows = [row for batch in reader.batches(source, unread) for row in batch.to_pylist()]
        found.append((rows, unread))
    by_columns = is_columnar(pa.table(columns).schema, source.columns)
    assert by_columns == (order != "rank" or not pa.types.is_string(rank))
    assert found[0] == found[1]
    assert len(rows) > 10
    assert unread.counts.keys() == {"no_url", "no_content", "bad_date"}


def test_the_verified_rule_needs_html(tmp_path: Path) -> None:
    file = write_pages(tmp_path / "a.parquet", [{"url": "http://a.example/", "fingerprint": 1}])
    with pytest.raises(SourceError, match="--rule plain"):
        run(tmp_path, [file])
    assert run(tmp_path / "b", [file], choices("plain"))[0]["verdict"] == "unique"


def test_what_a_site_repeats_does_not_count(tmp_path: Path) -> None:
    """Of two pages that differ in half of their own text, most is the menu of their site."""
    entries = [" ".join(f"entry{number}x{word}" for word in range(10)) for number in range(60)]
    menu = "".join(f"<p>{entry}</p>" for entry in entries)

    def verdicts(count: int) -> set[str]:
        texts = [[f"own{number}x{word}" for word in range(70)] for number in range(count)]
        texts.append(texts[0][:55] + [f"new{word}" for word in range(15)])
        pages = [
            {"url": f"http://a.example/{number}", "html": html_of(words, body=menu)}
            for number, words in enumerate(texts)
        ]
        found = run(tmp_path / f"{count}", cut(tmp_path / f"{count}", pages, 1))
        return {row["verdict"] for row in found}

    assert verdicts(80) == {"unique"}
    assert verdicts(5) == {"unique", "near_duplicate"}


def test_counts_of_copies_are_those_of_the_pages_that_are_dropped(tmp_path: Path) -> None:
    found = run(tmp_path, cut(tmp_path / "a", some_pages(), 1))
    dropped = Counter(row["representative"] for row in found if row["representative"])
    assert {row["url"]: row["copies"] for row in found if row["copies"]} == dropped


def test_workers_give_the_same_answer_as_one_process(tmp_path: Path) -> None:
    files = cut(tmp_path / "a", some_pages(20), 2)
    alone = run(tmp_path / "a", files)
    two = replace(choices(), settings=SimhashSettings(workers=2))
    (tmp_path / "b").mkdir()
    assert run(tmp_path / "b", files, two) == alone
