"""What the spider's errback gets for a dropped page, or for one that is not asked for."""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest

from scrapy_simhash.index import Decision


class NearDuplicate(IgnoreRequest):
    """The page at *url* was dropped: *representative* has the same text but for *distance* bits.

    A request's errback gets it as ``failure.value``; Scrapy logs nothing for it.
    """

    def __init__(self, url: str, decision: Decision) -> None:
        self.url = url
        self.decision = decision
        self.representative = decision.representative
        self.distance = decision.distance
        super().__init__(
            f"{url} is a near-duplicate of {self.representative} (distance {self.distance})"
        )


class UnchangedPage(IgnoreRequest):
    """The page at *url* was dropped: it is as it was when an earlier crawl passed it on.

    A request's errback gets it as ``failure.value``; Scrapy logs nothing for it.
    """

    def __init__(self, url: str, decision: Decision) -> None:
        self.url = url
        self.decision = decision
        super().__init__(f"{url} has the text that it had before")


class SitePaused(IgnoreRequest):
    """The page at *url* is not asked for: an alarm was raised on its *host*.

    A request's errback gets it as ``failure.value``; Scrapy logs nothing for it.
    """

    def __init__(self, url: str, host: str) -> None:
        self.url = url
        self.host = host
        super().__init__(f"{url} is not asked for: {host} is paused after an alarm")
