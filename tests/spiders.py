"""The spiders of the crawl tests."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psutil
from scrapy import FormRequest, Request, Spider
from scrapy import signals as scrapy_signals
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import DontCloseSpider, DropItem
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from scrapy.utils.request import fingerprint
from twisted.python.failure import Failure

from scrapy_simhash import NearDuplicate, Policy, UnchangedPage, signals
from scrapy_simhash.crawl import requests, validators
from scrapy_simhash.crawl.dead_ends import DeadEnds
from scrapy_simhash.crawl.judging import SimhashDownloaderMiddleware
from scrapy_simhash.crawl.requests import OWN_META_KEY
from scrapy_simhash.decision.page import Decision
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.report.alarms import Alarm
from scrapy_simhash.report.record import Action, Record
from scrapy_simhash.url_rules.learner import Learner

if TYPE_CHECKING:
    from typing_extensions import Self


class Links(Spider):
    """Follow every link that is not ignored; one item a page, with what the plug-in left in it."""

    name = "links"

    def __init__(self, url: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [url]

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        decision = response.meta.get("simhash_decision")
        yield {
            "url": response.url,
            "flags": [flag for flag in response.flags if flag in ("near-duplicate", "variant")],
            "verdict": decision and decision.verdict,
            "representative": decision and decision.representative,
        }
        for link in response.xpath("//a[not(ancestor::*[@data-ignored])]/@href").getall():
            yield self.follow(response, link)

    def follow(self, response: Response, link: str) -> Request:
        return response.follow(link)


class Nameless(Spider):
    """A class without a name: each spider gets its own."""

    def __init__(self, url: str) -> None:
        super().__init__(name="of the north")
        self.start_urls = [url]

    parse = Links.parse
    follow = Links.follow


class Next(Links):
    """Follow the links of class "next" alone, or from the second page on other links."""

    links = "//a[@class='next']"

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        yield {"url": response.url}
        is_first = not response.meta["depth"]
        for link in response.xpath(f"{Next.links if is_first else self.links}/@href").getall():
            yield self.follow(response, link)


class NextBehind(Next):
    """Give the pages behind the first one to another callback."""

    def follow(self, response: Response, link: str) -> Request:
        return response.follow(link, self.parse_next)

    def parse_next(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        yield from self.parse(response)


class NextInRow(Next):
    """Follow the link behind the number of the page."""

    links = "//nav/b/following-sibling::a[1]"


class NextInList(Next):
    """Follow the link in the item behind that of the page."""

    links = "//li[@class='on']/following-sibling::li[1]/a"


class StartsAnyPage(Links):
    """Want the start page dropped, too, if it is a copy."""

    name = "links"

    async def start(self) -> AsyncIterator[Request]:
        yield Request(self.start_urls[0], meta={"simhash": "drop"}, dont_filter=True)


class Fed(Links):
    """Ask for the paths of the setting ``FED`` when all is done, twice, as a queue or a monitor."""

    name = "fed"
    rounds = 2

    async def start(self) -> AsyncIterator[Request]:
        self.crawler.signals.connect(self.feed, scrapy_signals.spider_idle)
        async for request in super().start():
            yield request

    def feed(self) -> None:
        if self.rounds:
            self.rounds -= 1
            for path in self.settings.getlist("FED"):
                url = self.start_urls[0].rstrip("/") + path
                assert self.crawler.engine
                self.crawler.engine.crawl(Request(url, self.parse, dont_filter=True))
            raise DontCloseSpider


class OtherLinks(Links):
    name = "other links"


class Frozen(Links):
    """Says how many objects the collector of garbage does not look at since the crawl began."""

    def __init__(self, url: str, **kwargs: Any) -> None:
        super().__init__(url, **kwargs)
        # What the tests' server has spared itself, and what it remembers of that.
        gc.unfreeze()
        gc.get_freeze_count = getattr(gc.get_freeze_count, "__wrapped__", gc.get_freeze_count)

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {"frozen": gc.get_freeze_count()}


class Hostile(Links):
    """Follow the links of the first page only, look into no other, and weigh this process."""

    async def start(self) -> AsyncIterator[Request]:
        self.before = peak_megabytes()
        async for request in super().start():
            yield request

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        yield {"url": response.url}
        if response.url.endswith("/"):
            for link in response.xpath("//a/@href").getall():
                yield response.follow(link, errback=self.failed)

    def failed(self, failure: Failure) -> None:
        """Have a page that Scrapy itself refuses counted by Scrapy alone."""

    def closed(self, reason: str) -> None:
        self.crawler.stats.set_value("test/growth_mb", peak_megabytes() - self.before)


def peak_megabytes() -> float:
    """The most memory that this process had; getrusage would count that of its parent, too."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


class Moves(Links):
    """Change the working folder once the crawl has begun."""

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        if not response.meta["depth"]:
            Path("elsewhere").mkdir()
            os.chdir("elsewhere")
        yield from super().parse(response)


class Counted(Links):
    """Say in the stats how many processes there are below this one when it ends."""

    def closed(self, reason: str) -> None:
        self.crawler.stats.set_value("test/workers", len(psutil.Process().children()))


class AlsoCounted(Counted):
    name = "also"


class Errback(Links):
    """Yield an item for what the errback gets."""

    def follow(self, response: Response, link: str) -> Request:
        return response.follow(link, errback=self.failed)

    def failed(self, failure: Failure) -> Iterator[dict[str, Any]]:
        error = failure.value
        if isinstance(error, NearDuplicate):
            yield {
                "url": error.url,
                "representative": error.representative,
                "distance": error.distance,
                "error": str(error),
            }
        if isinstance(error, UnchangedPage):
            yield {"url": error.url, "error": str(error)}


class Parks(Links):
    """Say what errbacks get for parked requests, and send those to ``/exempt`` in special ways."""

    def follow(self, response: Response, link: str) -> Request:
        request = response.follow(link, errback=self.failed)
        how = link.partition("how=")[2]
        special: dict[str, Any] = {
            "dont_filter": {"dont_filter": True},
            "post": {"method": "POST"},
            "body": {"body": b"x"},
            "retry": {"meta": {"retry_times": 1}},
            "unjudged": {"meta": {"simhash": False}},
            "function": {"callback": lambda response: None},
        }
        changed: Request = request.replace(**special.get(how, {}))
        return changed

    def failed(self, failure: Failure) -> None:
        self.crawler.stats.inc_value(f"errors/{type(failure.value).__name__}")


class KilledAtTheEnd(Parks):
    """Is killed when it closes, as soon as its JOBDIR has the file that the setting names."""

    def closed(self, reason: str) -> None:
        Thread(target=self._kill, daemon=True).start()

    def _kill(self) -> None:
        job, name = Path(self.crawler.settings["JOBDIR"]), self.crawler.settings["KILLED_AT"]
        while not any(name in file.name for file in job.iterdir()):
            pass
        os.kill(os.getpid(), signal.SIGKILL)


class CopiesMeta(Links):
    """Copy the meta of a response into its requests, as many spiders do."""

    def follow(self, response: Response, link: str) -> Request:
        request = response.follow(link, meta=response.meta)
        self.crawler.stats.inc_value(f"copied/{'simhash_decision' in request.meta}")
        return request


class CountsCopies(CopiesMeta):
    """Say in the stats whether a request that goes out has a verdict in its meta."""

    async def start(self) -> AsyncIterator[Request]:
        def scheduled(request: Request) -> None:
            self.crawler.stats.inc_value(f"leaked/{'simhash_decision' in request.meta}")

        from scrapy import signals as scrapy_signals

        self.crawler.signals.connect(scheduled, scrapy_signals.request_scheduled, weak=False)
        async for request in super().start():
            yield request


class Wishes(Links):
    """Set the meta key ``simhash`` to the last part of the path, as JSON would have it."""

    def follow(self, response: Response, link: str) -> Request:
        wish = link.rpartition("/")[2]
        return response.follow(
            link, meta={"simhash": {"false": False, "none": None}.get(wish, wish)}
        )


class Fetches(Links):
    """Fetch a second page for each page, as a media pipeline would, with no callback."""

    async def parse(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        inner = await self.crawler.engine.download_async(
            Request(response.urljoin("/same"), callback=NO_CALLBACK, dont_filter=True)
        )
        yield {"url": inner.url}
        for link in response.xpath("//a/@href").getall():
            yield response.follow(link)


class FailsOnce(Links):
    """Fail on the page ``/fails``, the first time that it comes."""

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        failed = self.crawler.stats.get_value("failed", 0)
        if response.url.endswith("/fails") and not failed:
            self.crawler.stats.inc_value("failed")
            raise RuntimeError("a mistake in the spider")
        yield from super().parse(response)


class Answers:
    """A spider middleware that answers for a callback which fails."""

    def process_spider_exception(self, response: Response, exception: Exception) -> list[Any]:
        return []


class FailsLate(Links):
    """Fail on each page whose path begins with ``/fails``, after a while."""

    async def parse(self, response: Response) -> AsyncIterator[dict[str, Any] | Request]:  # type: ignore[override]
        if "/fails" in response.url:
            await asyncio.sleep(0.5)
            raise RuntimeError("a mistake in the spider")
        for one in super().parse(response):
            yield one


class FailsWhenTold(Links):
    """Fail on the page ``/kept`` once there is a file ``told``."""

    async def parse(self, response: Response) -> AsyncIterator[dict[str, Any] | Request]:  # type: ignore[override]
        if response.url.endswith("/kept"):
            while not Path("told").exists():
                await asyncio.sleep(0.05)
            raise RuntimeError("a mistake in the spider")
        for one in super().parse(response):
            yield one


class KillsServer(Links):
    """Kill the process of the setting ``KILLED`` at the third page."""

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        self.crawler.stats.inc_value("parsed")
        if self.crawler.stats.get_value("parsed") == 3:
            os.kill(self.crawler.settings.getint("KILLED"), signal.SIGKILL)
        yield from super().parse(response)


class Breaks(Links):
    """Take away something that the plug-in relies on."""

    async def start(self) -> AsyncIterator[Request]:
        async for request in super().start():
            yield request
        self.crawler.request_fingerprinter = None  # type: ignore[assignment]


class BreaksRules(Links):
    """Let every lesson of rules fail."""

    async def start(self) -> AsyncIterator[Request]:
        DeadEnds._learn_trap = Learner.learn = None  # type: ignore[assignment,method-assign]
        async for request in super().start():
            yield request


class Listens(Links):
    """Connect to our signal."""

    async def start(self) -> AsyncIterator[Request]:
        self.crawler.signals.connect(self.judged, signals.page_judged)
        async for request in super().start():
            yield request

    def judged(self, record: Record, response: Response, spider: Spider) -> None:
        assert spider is self
        assert record.url == response.url
        self.crawler.stats.inc_value(f"heard/{record.decision.verdict}")


class HearsAlarms(Links):
    """Connect to the signal of alarms."""

    async def start(self) -> AsyncIterator[Request]:
        self.crawler.signals.connect(self.heard, signals.alarm_raised)
        async for request in super().start():
            yield request

    def heard(self, alarm: Alarm, spider: Spider) -> None:
        assert spider is self
        self.crawler.stats.inc_value(f"heard/{alarm.name}")


class Retries(Links):
    """Ask again for a page that is a wall, as Scrapy's documentation has it."""

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        if b"captcha" in response.body and response.request is not None:
            again = get_retry_request(response.request, spider=self, reason="captcha")
            if again is not None:
                yield again
            return
        yield from super().parse(response)


class LogsIn(Links):
    """Log in where a page wants that, and ask for the page again."""

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        if b"log in" not in response.body or response.request is None:
            yield from super().parse(response)
            return
        wanted = response.request.replace(dont_filter=True)
        login = FormRequest(
            response.urljoin("/login"),
            formdata={"from": response.url},
            callback=self.logged_in,
            cb_kwargs={"wanted": wanted},
        )
        yield login

    def logged_in(self, response: Response, wanted: Request) -> Iterator[Request]:
        yield wanted


class Waits(Links):
    """Fetch each page once more, as ``?inline``, wait for it, and yield what came."""

    async def parse(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        for result in super().parse(response):
            yield result
        if response.url.endswith("/") or self.settings.get("INLINE_AT", "") not in response.url:
            return
        for name in self.settings.getlist("INLINE"):
            request = Request(response.urljoin(name), meta={**response.meta}, dont_filter=True)
            if self.settings["INLINE_WISH"]:
                request.meta["simhash"] = self.settings["INLINE_WISH"]
            found = await self.crawler.engine.download_async(request)
            yield {"url": found.url, "flags": found.flags, "inline": True}


class Opens(Links):
    """Do something before the crawl begins."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.opened, scrapy_signals.spider_opened)
        return spider

    async def opened(self) -> None:
        raise NotImplementedError


class WaitsFirst(Opens):
    """Download a page inline, and wait for it."""

    async def opened(self) -> None:
        await self.crawler.engine.download_async(Request(self.start_urls[0] + "list?first=1"))


class LosesServer(Opens):
    """The index cannot be reached."""

    async def opened(self) -> None:
        judging = self.crawler.get_downloader_middleware(SimhashDownloaderMiddleware)

        async def counts() -> None:
            raise IndexUnavailableError("away")

        assert judging is not None
        judging.index.counts = counts  # type: ignore[method-assign,assignment]


class PollsInline(Links):
    """Download a page inline until it says that it is done."""

    async def parse(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        while b"please wait" in response.body:
            request = Request(response.url, dont_filter=True)
            response = await self.crawler.engine.download_async(request)
        for result in super().parse(response):
            yield result


class Refuses:
    """An item pipeline that drops items, or fails on them, by their URL."""

    def process_item(self, item: Any) -> Any:
        if item["url"].endswith("/refused"):
            raise DropItem("no price")
        if item["url"].endswith("/fails"):
            raise ValueError("no price")
        return item


class KeepsPages(Policy):
    """Take no page back after its item was refused."""

    def takes_back(self, item: Any, response: Response) -> bool:
        return False


class FailsToTakeBack(Policy):
    def takes_back(self, item: Any, response: Response) -> bool:
        raise RuntimeError("no idea")


class ReviewsPass(Policy):
    """Reviews pass, whatever they are like."""

    def action(self, request: Request, response: Response, decision: Decision) -> Action:
        if "/review" in response.url:
            return "pass"
        if "/secret" in response.url:
            return "drop"
        if "/mistake" in response.url:
            return "no such action"  # type: ignore[return-value]
        if "/error" in response.url:
            raise KeyError("error")
        return super().action(request, response, decision)


class Posts(Links):
    """Send the links as forms; a link that ends in "judged" asks to be judged."""

    def follow(self, response: Response, link: str) -> Request:
        meta = {"simhash": True} if link.endswith("judged") else {}
        return FormRequest(response.urljoin(link), formdata={"a": "1"}, meta=meta)


class Jars(Links):
    """Use a cookie jar for each first folder of a link; links of the root use the common one."""

    def follow(self, response: Response, link: str) -> Request:
        jar = link.split("/")[1] if link.count("/") > 1 else None
        return response.follow(link, meta={} if jar is None else {"cookiejar": jar})


class Unfiltered(Links):
    """Send every request with ``dont_filter``."""

    def follow(self, response: Response, link: str) -> Request:
        return response.follow(link, dont_filter=True)


class PollsByItself(Unfiltered):
    """Give a page that is busy to the engine again, and not from a callback."""

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        engine = self.crawler.engine
        if b"captcha" in response.body and response.request is not None and engine is not None:
            engine.crawl(response.request.replace())
            return
        yield from super().parse(response)


class Polls(Links):
    """Ask for each page that has no links three more times, by its own callback."""

    def parse(self, response: Response) -> Iterator[Any]:
        yield from super().parse(response)
        number = response.meta.get("number", 0)
        if not response.css("a") and number < 3:
            yield Request(response.url, meta={"number": number + 1})


class RefusingScheduler(Scheduler):
    """Fail on requests that the plug-in makes."""

    def enqueue_request(self, request: Request) -> bool:
        if OWN_META_KEY in request.meta:
            raise ValueError("not one of mine")
        return super().enqueue_request(request)


class Asks(Links):
    """Ask for each link as the setting ``ASKS`` says: link -> arguments of the request, by name.

    A link may have a fragment, to be asked for in several ways; None asks for nothing.
    """

    def parse(self, response: Response, **carried: Any) -> Iterator[dict[str, Any] | Request]:
        for result in super().parse(response):
            yield {**result, **carried} if isinstance(result, dict) else result

    def parse_item(self, response: Response, **carried: Any) -> Iterator[dict[str, Any] | Request]:
        """Carry an item from a list to its page."""
        item = response.meta.get("item", {})
        yield {"url": response.url, "callback": "parse_item", **item, **carried}

    def parse_reviews(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        yield {"url": response.url, "callback": "parse_reviews"}

    def failed(self, failure: Failure) -> None:
        self.crawler.stats.inc_value(f"errors/{type(failure.value).__name__}")

    def follow(self, response: Response, link: str) -> Request:
        how = self.settings.getdict("ASKS").get(link, {})
        if how is None:
            return None  # type: ignore[return-value]  # Scrapy takes it for nothing
        named = {name: getattr(self, how[name]) for name in ("callback", "errback") if name in how}
        return response.follow(link.partition("#")[0], **{**how, **named})


class FillsIn(Asks):
    """Fill in the number of the item that a request carries once that is under way."""

    async def start(self) -> AsyncIterator[Request]:
        self.crawler.signals.connect(self.fill_in, scrapy_signals.request_reached_downloader)
        async for request in super().start():
            yield request

    def fill_in(self, request: Request) -> None:
        for carried in request.cb_kwargs, request.meta.get("item", {}):
            if "number" in carried:
                carried["number"] = int(request.url[-1])


class Revisits(Asks):
    """Download the share ``AUDITED`` of the pages all the same that are said to be as before."""

    async def start(self) -> AsyncIterator[Request]:
        validators.AUDITED_SHARE = self.settings.getfloat("AUDITED")
        async for request in super().start():
            yield request

    def dropped(self, failure: Failure) -> Iterator[dict[str, Any]]:
        error: Any = failure.value
        yield {"url": error.url, "error": type(error).__name__}

    def follow(self, response: Response, link: str) -> Request:
        return super().follow(response, link).replace(errback=self.dropped)


class WantsAnswers:
    """A downloader middleware that sends a request again until its answer is 200."""

    def process_response(self, request: Request, response: Response) -> Request | Response:
        tries = request.meta.get("tries", 0)
        if response.status == 200 or tries == 5:
            return response
        return request.replace(meta={**request.meta, "tries": tries + 1}, dont_filter=True)


class Listed(Links):
    """Ask for the links of the first page in their order, and say what each page replaces."""

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        decision = response.meta.get("simhash_decision")
        flags = [flag for flag in response.flags if flag != "cached"]
        yield {"url": response.url, "flags": flags, "replaces": decision and decision.replaces}
        if response.url.endswith("/"):
            links = response.xpath("//a/@href").getall()
            for place, link in enumerate(links):
                yield response.follow(link, priority=-place)


class ByRules(CrawlSpider):
    """Follow ``/list``, give ``/item`` and ``/review`` to callbacks, and follow those of items."""

    name = "by rules"
    rules = (
        Rule(LinkExtractor("/list")),
        Rule(LinkExtractor("/item"), callback="parse_item", follow=True),
        Rule(LinkExtractor("/review"), callback="parse_review"),
    )

    def __init__(self, url: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [url]

    def parse_item(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {"url": response.url, "callback": "parse_item"}

    def parse_review(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {"url": response.url, "callback": "parse_review"}


class ByRulesFromStart(ByRules):
    """Take an item from the page that the crawl starts from, too."""

    def parse_start_url(self, response: Response, **kwargs: Any) -> Any:
        yield {"url": response.url, "callback": "parse_start_url"}


class LogsInByRedirect(Links):
    """Log in where a page leads to the form for that, and ask again for what was wanted."""

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        if b"log in" not in response.body:
            yield from super().parse(response)
            return
        yield FormRequest(
            response.urljoin("/session"),
            formdata={"name": "ann"},
            callback=self.logged_in,
            cb_kwargs={"wanted": response.meta["redirect_urls"][0]},
            dont_filter=True,
        )

    def logged_in(self, response: Response, wanted: str) -> Iterator[Request]:
        yield Request(wanted, dont_filter=True)


class LogsInUnfiltered(LogsIn):
    """Log in where a page wants that, and send every request with ``dont_filter``."""

    def follow(self, response: Response, link: str) -> Request:
        return response.follow(link, dont_filter=True)


class BustsCache(Links):
    """Ask for a page that is a wall with one more parameter, which no cache has met."""

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        if b"captcha" not in response.body:
            yield from super().parse(response)
            return
        number = self.crawler.stats.get_value("busted", 0) + 1
        self.crawler.stats.set_value("busted", number)
        yield Request(f"{response.url}?_={16836278000 + number}")


class Counts(Links):
    """Ask for a page that is a wall with a counter, which its request carries, too."""

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        if b"captcha" not in response.body:
            yield from super().parse(response)
            return
        tries = response.meta.get("tries", 0) + 1
        url = response.url.partition("&try")[0]
        yield Request(f"{url}&try={tries}", meta={"tries": tries})


class BrowserPage:
    """A page of a browser, which somebody has to close."""

    def __init__(self, crawler: Crawler, path: str) -> None:
        self._crawler = crawler
        self._path = path

    async def close(self) -> None:
        self._crawler.stats.inc_value(f"closed{self._path}")
        closing = self._crawler.settings.get("CLOSING")
        if closing == "fails":
            raise RuntimeError("the browser is gone")
        if closing == "hangs":
            await asyncio.Event().wait()


class OpensBrowserPages(HTTP11DownloadHandler):
    """Leave a page open for the callback where a request wants it, as scrapy-playwright does."""

    async def download_request(self, request: Request) -> Response:
        response = await super().download_request(request)
        if request.meta.get("playwright_include_page"):
            path = urlsplit(request.url).path
            requests.CLOSE_SECONDS = 0.2  # for one that hangs
            request.meta["playwright_page"] = BrowserPage(self._crawler, path)
        return response


class SetsCallbackRequested:
    """A downloader middleware that sends each page for reviews to its callback."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SetsCallbackRequested:
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        if "reviews" in request.url:
            request.callback = getattr(self._crawler.spider, "parse_reviews")  # noqa: B009


class SetsCallbackAnswered(SetsCallbackRequested):
    """The same once the answer is there."""

    def process_request(self, request: Request) -> None:
        pass

    def process_response(self, request: Request, response: Response) -> Response:
        super().process_request(request)
        return response


class Stamps:
    """A downloader middleware that gives each request a number of its own."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Stamps:
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        self._stats.inc_value("stamped")
        request.meta["stamp"] = self._stats.get_value("stamped")
        request.headers["X-Api-Key"] = str(request.meta["stamp"])


class Browses(Links):
    """Open each link in a page of one of several contexts of a browser, and close it."""

    def follow(self, response: Response, link: str) -> Request:
        self.opened = getattr(self, "opened", -1) + 1
        context = f"context {self.opened % self.settings.getint('CONTEXTS')}"
        meta = {"playwright": True, "playwright_include_page": True, "playwright_context": context}
        return response.follow(link, callback=self.parse_open, meta=meta)

    async def parse_open(self, response: Response) -> AsyncIterator[dict[str, Any]]:
        await response.meta["playwright_page"].close()
        yield {"url": response.url}


class IgnoresLinksOfItems(Links):
    """Follow the links of all pages but ``/item``, whose callback takes the item alone."""

    def follow(self, response: Response, link: str) -> Request:
        is_item = link.startswith("/item")
        return response.follow(
            link, self.parse_item if is_item else self.parse, priority=int(is_item)
        )

    def parse_item(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {"url": response.url}


class CountsDays(Links):
    """Ask for the day after that of a page's address, which no link leads to."""

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        yield {"url": response.url}
        day = response.url.rpartition("/")[2]
        yield response.follow(f"/day/{int(day or 0) + 1}")


class FollowsLists(Links):
    """Follow the sidebar of lists alone, after all articles and what is in them."""

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        yield {"url": response.url}
        for link in response.css("nav a::attr(href)").getall():
            yield response.follow(link, callback=self.of(link), priority=-5 * ("/list" in link))
        yield from response.follow_all(response.css("main a::attr(href)").getall())
        if response.css(".list"):
            lists = response.css("aside a::attr(href)").getall()
            yield from response.follow_all(lists, callback=self.of("/list"), priority=-5)

    def of(self, link: str) -> Any:
        return self.parse


class FollowsListsByCallback(FollowsLists):
    """Give lists to a callback of their own."""

    def of(self, link: str) -> Any:
        return self.parse_list if "/list" in link else self.parse

    def parse_list(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        yield from self.parse(response)


class StartsEverywhere(Links):
    """Start at some pages without a filter, and give the links to them to another callback."""

    async def start(self) -> AsyncIterator[Request]:
        for number in range(4):
            yield Request(f"{self.start_urls[0]}author/{number}", dont_filter=True)

    def parse(self, response: Response) -> Iterator[Request]:
        links = response.css("main a::attr(href)").getall()
        yield from response.follow_all(links, callback=self.parse_work)

    def parse_work(self, response: Response) -> Iterator[Request]:
        links = response.css("aside a::attr(href)").getall()
        yield from response.follow_all(links, callback=self.parse_author)

    def parse_author(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {"url": response.url}


class PostsFirst(Links):
    """Send the form of a page, and follow the sidebar of its copies."""

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        for link in response.css("nav a::attr(href)").getall():
            yield response.follow(link, priority=0 if "?" in link else 9)
        for form in response.css("form::attr(action)").getall():
            if "?" not in response.url:
                url = response.urljoin(form)
                yield FormRequest(url, self.parse_nothing, formdata={"q": ""}, priority=9)
        links = response.css("aside a::attr(href)").getall()
        yield from response.follow_all(links, callback=self.parse_offer)

    def parse_nothing(self, response: Response) -> None:
        pass

    def parse_offer(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {"url": response.url}


class ByLanguage:
    """Tells requests apart by the language that they ask for."""

    def fingerprint(self, request: Request) -> bytes:
        return fingerprint(request, include_headers=["Accept-Language"])


class TakesLanguages(Links):
    """Take all months in one language, and then in another one."""

    custom_settings = {"REQUEST_FINGERPRINTER_CLASS": "tests.spiders.ByLanguage"}  # noqa: RUF012

    async def start(self) -> AsyncIterator[Request]:
        for priority, language in enumerate(("en", "de")):
            yield self.ask(self.start_urls[0], language, -9 * priority)

    def parse_month(
        self, response: Response, language: str, priority: int
    ) -> Iterator[dict[str, Any] | Request]:
        yield {"url": f"{response.url} {language}"}
        for link in response.css("a::attr(href)").getall():
            yield self.ask(response.urljoin(link), language, priority)

    def ask(self, url: str, language: str, priority: int) -> Request:
        carried = {"language": language, "priority": priority}
        headers = {"Accept-Language": language}
        return Request(url, self.parse_month, headers=headers, cb_kwargs=carried, priority=priority)


class TakesJars(TakesLanguages):
    """Do so with a cookie jar for each."""

    custom_settings = {"REQUEST_FINGERPRINTER_CLASS": "tests.spiders.ByJar"}  # noqa: RUF012

    def ask(self, url: str, language: str, priority: int) -> Request:
        return (
            super().ask(url, language, priority).replace(headers={}, meta={"cookiejar": language})
        )


class ByJar:
    """Tells requests apart by their cookie jars."""

    def fingerprint(self, request: Request) -> bytes:
        return fingerprint(request) + str(request.meta.get("cookiejar")).encode()
