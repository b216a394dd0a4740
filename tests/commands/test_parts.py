"""What the subcommands share: stored pages analysed, settings, progress."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from scrapy.settings import Settings

from scrapy_simhash.analysis.analyser import Analyser, Background, PageAnalysis
from scrapy_simhash.batch.unread import Unread
from scrapy_simhash.commands.base import pipeline_of, progress
from scrapy_simhash.commands.sources import analysed_pages, pages_at
from scrapy_simhash.decision.page import Page
from scrapy_simhash.errors import SourceError
from scrapy_simhash.index.sqlite.index import SQLiteIndex
from scrapy_simhash.pipeline import Fetched, Pipeline
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.workers.pool import WAITING, Workers
from tests.archives import record
from tests.conftest import article, prose


@pytest.mark.parametrize(
    ("url", "block"),
    [
        ("http://a.example/", b""),
        ("http://a.example/", b"HTTP/1.1 abc OK\r\n\r\n<html>"),
        ("http://a.example/", b"<html>no headers</html>"),
        ("http://[a.example/", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>"),
    ],
)
def test_broken_record_of_a_warc_file_is_left_out(tmp_path: Path, url: str, block: bytes) -> None:
    whole = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>"
    path = tmp_path / "pages.warc"
    path.write_bytes(record(url, block) + record("http://b.example/", whole))
    found, _ = pages_at(path, Unread())
    assert [page.url for page in found] == ["http://b.example/"]


class SlowWorkers(Workers):
    """Workers that analyse a page only when the next one has come, or ``finish`` is set."""

    def __init__(self, analyser: Analyser) -> None:
        self.analyser = analyser
        self.waiting: list[asyncio.Event] = []
        self.under_way = self.most = 0
        self.finish = self.closed = False

    async def analyse(
        self,
        body: bytes,
        encoding: str | None,
        url: str,
        background: Callable[[], Background] = Background,
        is_urgent: bool = False,
    ) -> PageAnalysis:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        for event in self.waiting:
            event.set()
        self.waiting.append(asyncio.Event())
        try:
            if not self.finish:
                await self.waiting[-1].wait()
            return self.analyser.analyse(body, encoding, url, background())
        finally:
            self.under_way -= 1

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def pipeline() -> Pipeline:
    return Pipeline.of(SimhashSettings(workers=0, extractor="text"))


@pytest.fixture
def workers(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> SlowWorkers:
    workers = SlowWorkers(pipeline.analyser)
    monkeypatch.setattr(Pipeline, "workers", lambda self: workers)
    return workers


def fetched(count: int, workers: SlowWorkers, fault: Exception | None = None) -> Iterator[Fetched]:
    """Pages of which every third has no text."""
    for i in range(count):
        body = "" if i % 3 == 2 else article(prose(f"topic{i}x"))
        workers.finish = i == count - 1 and fault is None
        yield Fetched(f"http://a.example/{i}", body.encode(), "utf-8", bytes([i]))
    if fault is not None:
        raise fault


def test_pages_are_analysed_side_by_side_in_their_order(
    pipeline: Pipeline, workers: SlowWorkers
) -> None:
    async def analyse() -> list[Page | None]:
        pages = analysed_pages(
            fetched(8, workers), pipeline, SQLiteIndex("memory:", pipeline.parameters), ""
        )
        return [page async for page in pages]

    found = asyncio.run(analyse())
    assert [one and one.url for one in found] == [
        None if i in (2, 5) else f"http://a.example/{i}" for i in range(8)
    ]
    assert workers.most == WAITING
    assert workers.closed


def test_workers_are_closed_when_nobody_reads_on(pipeline: Pipeline, workers: SlowWorkers) -> None:
    async def analyse() -> None:
        pages = analysed_pages(
            fetched(8, workers), pipeline, SQLiteIndex("memory:", pipeline.parameters), ""
        )
        async with aclosing(pages):
            first = await anext(pages)
            assert first is not None
            assert first.url == "http://a.example/0"
            assert workers.under_way == 1
        assert workers.under_way == 0
        assert workers.closed

    asyncio.run(analyse())


def test_workers_are_closed_when_a_source_breaks_off(
    pipeline: Pipeline, workers: SlowWorkers
) -> None:
    async def analyse() -> None:
        source = fetched(3, workers, SourceError("torn.warc cannot be read"))
        pages = analysed_pages(source, pipeline, SQLiteIndex("memory:", pipeline.parameters), "")
        with pytest.raises(SourceError, match=r"torn\.warc"):
            async for _ in pages:
                pass
        assert workers.under_way == 0
        assert workers.closed

    asyncio.run(analyse())


def test_no_page_of_a_source_passes_unjudged_since_others_wait() -> None:
    settings = Settings({"SIMHASH_MAX_WAITING": 0, "SIMHASH_WORKERS": 0})
    options = argparse.Namespace(scrapy_settings=settings)
    assert pipeline_of(options).settings.max_waiting is None


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_is_shown_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_terminal: bool
) -> None:
    if is_terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
    else:
        monkeypatch.delenv("FORCE_COLOR", raising=False)
    with progress("Judging pages", 2) as advance:
        advance(1)
        advance(1)
    shown = capsys.readouterr().err
    assert ("Judging pages" in shown, "100%" in shown) == (is_terminal, is_terminal)
