"""A body that was met before is not analysed again, and is judged as if it had been."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import mmh3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.analysis.analyser import Analyser, Background, PageAnalysis
from scrapy_simhash.decision.cuts import NO_CUTS, Cuts
from scrapy_simhash.errors import AnalysisError, AnalysisReason
from scrapy_simhash.workers.child import Outcome, outcome_of
from scrapy_simhash.workers.pool import InProcess
from scrapy_simhash.workers.recall import ENTRY_BYTES, RecallingWorkers
from tests.conftest import CrawlFixture, Site, article, prose

URL = "http://site.example/"
ANALYSER = Analyser.create()
PAGE = article(prose("page"), ["/menu", "/more"]).replace("<p>", "<p>One.</p><p>").encode()
IDS = ANALYSER.analyse(PAGE, "utf-8", URL).repeatable


class Counting(InProcess):
    """Counts what it is asked, waits for *gate*, and fails where *fail* says so."""

    def __init__(self, analyser: Analyser = ANALYSER) -> None:
        super().__init__(analyser)
        self.asked = 0
        self.gate: Callable[[], Awaitable[object]] | None = None
        self.failures: list[AnalysisReason] = []

    async def run(self, function: Callable[..., Any] | None, *arguments: object) -> Any:
        self.asked += 1
        if self.gate is not None:
            await self.gate()
        if self.failures:
            raise AnalysisError(self.failures.pop(0), "as the test wants it")
        return await super().run(function, *arguments)


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
def recalling(counting: Counting) -> RecallingWorkers:
    return RecallingWorkers(counting, url_counts=False)


def untimed(analysis: PageAnalysis) -> PageAnalysis:
    return replace(analysis, seconds=0.0, recalled=False)


async def outcome(workers: RecallingWorkers, template: frozenset[int] = frozenset()) -> str:
    try:
        analysis = await workers.analyse(PAGE, "utf-8", URL, lambda: Background(template))
    except AnalysisError as exc:
        return exc.reason
    return "recalled" if analysis.recalled else "analysed"


async def begun(
    counting: Counting, recalling: RecallingWorkers, pages: int
) -> tuple[asyncio.Event, list[asyncio.Task[str]]]:
    """The tasks of pages with one body, the first at a gate in its worker, and that gate."""
    gate = asyncio.Event()
    counting.gate = gate.wait
    tasks = [asyncio.create_task(outcome(recalling)) for _ in range(pages)]
    await asyncio.sleep(0)
    return gate, tasks


def test_what_a_worker_sent_is_kept_as_it_came(
    counting: Counting, recalling: RecallingWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To pickle it again takes the crawl's process longer than to read it."""
    sent = outcome_of(ANALYSER, None, (PAGE, "utf-8", URL))

    async def run(*_: object) -> Outcome:
        return sent  # type: ignore[no-any-return]

    monkeypatch.setattr(counting, "run", run)
    analysis = asyncio.run(recalling.analyse(PAGE, "utf-8", URL))
    assert analysis == pickle.loads(sent[1])
    assert [known is sent for known in recalling._known.values()] == [True]


def test_a_body_with_the_fast_hash_of_another_is_analysed(
    counting: Counting, recalling: RecallingWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To find one takes minutes."""
    monkeypatch.setattr(mmh3, "mmh3_x64_128_digest", lambda body: b"all")
    other = PAGE.replace(b"One.", b"Two.")

    async def both() -> list[PageAnalysis]:
        return [await recalling.analyse(body, "utf-8", URL) for body in (PAGE, other, other)]

    found = asyncio.run(both())
    assert [one.recalled for one in found] == [False, False, True]
    assert untimed(found[1]) == untimed(ANALYSER.analyse(other, "utf-8", URL))


def test_known_body_is_analysed_once(counting: Counting, recalling: RecallingWorkers) -> None:
    async def twice() -> tuple[PageAnalysis, PageAnalysis]:
        first = await recalling.analyse(PAGE, "utf-8", URL)
        return first, await recalling.analyse(PAGE, "utf-8", URL + "copy")

    first, second = asyncio.run(twice())
    assert counting.asked == 1
    assert (first.recalled, second.recalled) == (False, True)
    assert second.seconds == 0
    assert untimed(second) == untimed(first)


def test_same_bytes_in_another_encoding_are_another_body(
    counting: Counting, recalling: RecallingWorkers
) -> None:
    async def both() -> None:
        await recalling.analyse(PAGE, "utf-8", URL)
        await recalling.analyse(PAGE, "latin-1", URL)

    asyncio.run(both())
    assert counting.asked == 2


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("http://a.example/x/other?b=/c/", 1),
        ("http://a.example/y/page", 2),
        ("http://a.example/x/y/page", 2),
        ("http://b.example/x/page", 2),
        ("http://b.example/?http://a.example/x/page", 2),
        ("http://b.example", 2),
    ],
)
def test_same_bytes_lead_elsewhere_from_another_folder(
    counting: Counting, recalling: RecallingWorkers, url: str, asked: int
) -> None:
    async def both() -> None:
        for place in ("http://a.example/x/page", url):
            await recalling.analyse(PAGE, "utf-8", place)

    asyncio.run(both())
    assert counting.asked == asked


def page_with(html: str) -> bytes:
    return PAGE.replace(b"</body>", html.encode() + b"</body>")


def asked_at(urls: list[str], html: str, takes: str) -> int:
    """So often a page was analysed that leads elsewhere from each URL."""
    counting = Counting(Analyser.create(takes=takes))
    recalling = RecallingWorkers(counting, url_counts=False)

    async def pages() -> set[str]:
        found = [await recalling.analyse(page_with(html), "utf-8", url) for url in urls]
        return {page.values.addresses.joined for page in found}

    assert len(asyncio.run(pages())) == counting.asked
    return counting.asked


@pytest.mark.parametrize("takes", ["items", "text"])
def test_same_bytes_lead_elsewhere_from_another_host_without_a_path(takes: str) -> None:
    assert asked_at(["http://a.example", "http://b.example"], '<a href="less">less</a>', takes) == 2


@pytest.mark.parametrize(
    ("html", "query", "takes", "asked"),
    [
        ('<a href="?page=2">more</a>', "", "items", 3),
        ('<a href="?page=2">more</a>', "", "text", 3),
        ('<form action="?do=posts"></form>', "", "items", 3),
        ('<a href="#/posts">more</a>', "", "text", 3),
        ('<a href="?">all</a>', "?only=new", "items", 3),
        ('<a href="#top">up</a> <a href="less?page=2">less</a>', "", "items", 1),
        ('<a href="#top">up</a> <a href="less?page=2">less</a>', "", "text", 1),
    ],
)
def test_same_bytes_lead_elsewhere_from_another_path_where_they_lead_to_its_own_queries(
    html: str, query: str, takes: str, asked: int
) -> None:
    assert asked_at([f"http://a.example/x/{name}{query}" for name in "abca"], html, takes) == asked


def test_url_counts_for_an_extractor_that_is_told_it(counting: Counting) -> None:
    workers = RecallingWorkers(counting, url_counts=True)

    async def three() -> None:
        for url in (URL, URL, URL + "other"):
            await workers.analyse(PAGE, "utf-8", url)

    asyncio.run(three())
    assert counting.asked == 2
    assert not ANALYSER.reads_urls
    assert Analyser.create(extractor="tests.extractors.rude_text").reads_urls


@given(st.sets(st.sampled_from(IDS)), st.sets(st.sampled_from([*IDS, 1, 2, 3])))
def test_recalled_analysis_is_what_a_new_one_would_be(before: set[int], now: set[int]) -> None:
    counting = Counting()
    recalling = RecallingWorkers(counting, url_counts=False)

    async def before_and_now() -> PageAnalysis:
        await recalling.analyse(PAGE, "utf-8", URL, lambda: Background(frozenset(before)))
        return await recalling.analyse(PAGE, "utf-8", URL, lambda: Background(frozenset(now)))

    given_now = asyncio.run(before_and_now())
    assert untimed(given_now) == untimed(
        ANALYSER.analyse(PAGE, "utf-8", URL, Background(frozenset(now)))
    )
    assert given_now.recalled == (before == now & set(IDS))


def test_body_is_analysed_anew_when_more_is_known_to_change_by_itself(
    counting: Counting, recalling: RecallingWorkers
) -> None:
    cuts = Cuts(frozenset({"session"}), number=1)

    async def all_told() -> list[bool]:
        told = [NO_CUTS, cuts, cuts]
        return [
            (await recalling.analyse(PAGE, "utf-8", URL, partial(Background, cuts=one))).recalled
            for one in told
        ]

    assert asyncio.run(all_told()) == [False, False, True]
    assert counting.asked == 2


def test_bodies_met_at_once_wait_for_one_analysis(
    counting: Counting, recalling: RecallingWorkers
) -> None:
    async def five_at_once() -> list[str]:
        gate, tasks = await begun(counting, recalling, 5)
        gate.set()
        return list(await asyncio.gather(*tasks))

    assert asyncio.run(five_at_once()) == ["analysed"] + ["recalled"] * 4
    assert counting.asked == 1


def test_bodies_that_waited_go_on_one_by_one(
    counting: Counting, recalling: RecallingWorkers
) -> None:
    async def most_at_once() -> int:
        gate, tasks = await begun(counting, recalling, 5)
        gate.set()
        done = [0]
        while done[-1] < len(tasks):
            await asyncio.sleep(0)  # one turn of the event loop
            done.append(sum(task.done() for task in tasks))
        return max(after - before for before, after in pairwise(done))

    assert asyncio.run(most_at_once()) == 1


@pytest.mark.parametrize("reason", ["extraction_failed", "timed_out"])
def test_body_that_cannot_be_analysed_is_not_tried_again(
    counting: Counting, recalling: RecallingWorkers, reason: AnalysisReason
) -> None:
    async def thrice() -> list[str]:
        counting.failures = [reason]
        return [
            *await asyncio.gather(outcome(recalling), outcome(recalling)),
            *([await outcome(recalling)]),
        ]

    assert asyncio.run(thrice()) == [reason] * 3
    assert counting.asked == 1


def test_known_body_waits_for_no_turn() -> None:
    class Busy(Counting):
        def turn(self) -> AbstractAsyncContextManager[None]:
            if self.asked:
                raise AnalysisError("workers_busy", "others wait")
            return super().turn()

    async def three() -> list[str]:
        recalling = RecallingWorkers(Busy(), url_counts=False)
        other = frozenset(IDS)
        return [await outcome(recalling, one) for one in (frozenset(), other, frozenset())]

    assert asyncio.run(three()) == ["analysed", "workers_busy", "recalled"]


def test_death_of_a_worker_counts_for_one_page_only(
    counting: Counting, recalling: RecallingWorkers
) -> None:
    async def three_at_once() -> list[str]:
        counting.failures = ["worker_died"]
        return list(await asyncio.gather(*(outcome(recalling) for _ in range(3))))

    assert asyncio.run(three_at_once()) == ["worker_died", "analysed", "recalled"]


def test_page_that_is_given_up_leaves_its_twins_to_themselves(
    counting: Counting, recalling: RecallingWorkers
) -> None:
    async def cancel_the_first() -> str:
        gate, (first, second) = await begun(counting, recalling, 2)
        first.cancel()
        gate.set()
        return await asyncio.wait_for(second, timeout=10)

    assert asyncio.run(cancel_the_first()) == "analysed"


@pytest.mark.parametrize(("room", "asked"), [(2, 3), (1, 4), (0, 4)])
def test_memory_is_bounded(counting: Counting, room: int, asked: int) -> None:
    known = frozenset({1})  # with a template, the analyses of both pages are equally large
    analysis = ANALYSER.analyse(PAGE, "utf-8", URL, Background(known))
    entry = ENTRY_BYTES + len(pickle.dumps(analysis, protocol=5)) + 1
    workers = RecallingWorkers(counting, url_counts=False, max_bytes=room * entry)
    other = PAGE.replace(b"One.", b"Two.")

    async def in_turn() -> None:
        for body in (PAGE, other, PAGE, other if room == 1 else PAGE + b" "):
            await workers.analyse(body, "utf-8", URL, lambda: Background(known))

    asyncio.run(in_turn())
    assert counting.asked == asked


def test_crawl_says_how_many_analyses_it_avoided(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("start"), [f"/{i}" for i in range(6)])
    for i in range(6):
        site[f"/{i}"] = article(prose(f"text{i // 3}"))
    result = crawl(SIMHASH_WORKERS=1, CONCURRENT_REQUESTS=8)
    verdicts = sorted(verdict for path, verdict in result.verdicts().items() if path != "/")
    assert verdicts == ["exact_duplicate"] * 4 + ["unique"] * 2
    assert result.stats["simhash/analyses_avoided"] == 4
    assert "57.1% had the bytes of an earlier page" in result.log
