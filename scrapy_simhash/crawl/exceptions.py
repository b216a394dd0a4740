"""The exceptions that a spider's errback gets for a dropped page, or for an ignored request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from scrapy_simhash.decision.page import Decision

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_simhash.url_rules.rule import AddressRule


class NearDuplicate(IgnoreRequest):
    """The page at *url* was dropped: it is *distance* bits from the kept page *representative*.

    A request's errback gets it as ``failure.value``, with the *response* as that of an HttpError;
    Scrapy logs nothing for it.
    """

    def __init__(self, response: Response, decision: Decision) -> None:
        self.response = response
        self.url = url = response.url
        self.decision = decision
        self.representative = decision.representative
        self.distance = decision.distance
        super().__init__(
            f"{url} is a near-duplicate of {self.representative} (distance {self.distance})"
        )


class UnchangedPage(IgnoreRequest):
    """The page at *url* was dropped: it has not changed since an earlier crawl passed it on.

    A request's errback gets it as ``failure.value``, with the *response*, which has no body if the
    server was asked whether it has changed; Scrapy logs nothing for it.
    """

    def __init__(self, response: Response, decision: Decision) -> None:
        self.response = response
        self.url = url = response.url
        self.decision = decision
        super().__init__(f"{url} has the text that it had before")


class RuledOut(IgnoreRequest):
    """The request for *url* is parked: a *rule* for addresses says that its page is not needed.

    It is kept already, or is being downloaded.  A request's errback gets this as
    ``failure.value``; Scrapy logs nothing for it.  If the rule turns out to be wrong, or the other
    page is not kept, the request is sent after all, and its callback gets the page.
    """

    def __init__(self, url: str, rule: AddressRule) -> None:
        self.url = url
        self.rule = rule
        super().__init__(f"{url} is parked: {rule}")
