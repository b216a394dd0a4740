"""What a crawl would decide of a page, and why: ``scrapy simhash check`` and ``explain``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from scrapy_simhash.analysis.fingerprint import hamming_distance
from scrapy_simhash.commands.base import Result, Subcommand, add_index_or_spider, pipeline_of
from scrapy_simhash.commands.sources import analysed_page, load
from scrapy_simhash.crawl.reach import Reach, decide
from scrapy_simhash.decision.comparison import overlap
from scrapy_simhash.decision.holdings import Comparable, PageValues, Told
from scrapy_simhash.decision.page import Decision, Page, Reason
from scrapy_simhash.index.opening import open_index, open_lasting
from scrapy_simhash.report.record import decision_as_json
from scrapy_simhash.settings import MEMORY
from scrapy_simhash.urls import section_of

# Enough to see what a page is about, and in what it differs.
SHOWN_FEATURES = 20
SHOWN_CHARACTERS = 1_000


class CheckCommand(Subcommand):
    """Judges a page as a crawl with the same settings would, and remembers nothing."""

    name = "check"
    summary = "Say what a crawl would decide of a page, without remembering it"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)
        parser.add_argument("page", metavar="URL-or-FILE", help="the page")
        parser.add_argument("--url", help="take a file for the page at this address")

    async def find(self, options: argparse.Namespace) -> Result:
        await open_lasting(options.index).close()  # open_index would make one where there is none
        pipeline = pipeline_of(options)
        fetched = load(options.page, options.url)
        async with open_index(options.index, pipeline.parameters) as index:
            page = await analysed_page(fetched, pipeline, index, options.spider)
            decision = await index.check(page)
        document = {
            "url": page.url,
            **decision_as_json(decision),
            "fingerprint": f"{page.fingerprint:016x}",
            "tokens": page.tokens,
        }
        return Result(document, _decided(page, decision))


def _decided(page: Page, decision: Decision) -> Iterator[str]:
    yield f"{decision.verdict} ({decision.reason}): {page.url}"
    if decision.representative is not None and decision.verdict != "refresh":
        yield f"kept page: {decision.representative}"
    if (closest := decision.closest) is not None:
        yield f"closest page: {closest.url}, share in common {closest.share:.3f}"
    if decision.distance is not None:
        yield f"distance: {decision.distance} bits"
    if decision.share is not None:
        yield f"share in common: {decision.share:.3f}"
    yield f"fingerprint {page.fingerprint:016x}, {page.tokens} tokens"


# Which case of the rule applied, by reason.
CASES: dict[Reason, str] = {
    "new_text": "It is near the first, and has a text that the first has not.",
    "new_links": "It is near the first, and has a link that is new.",
    "new_media": "It is near the first, and has a picture, video or frame that is new.",
    "new_data": "It is near the first, and has an attribute or data that is new.",
    "other_site": "It is near a page of another site, which has not all of its text.",
    "shell": "It has no text of its own.",
    "same_text": "Both have the same main text and content, and nothing on it is new.",
    "share_in_common": "The first has all that is on it; for texts alone, enough of its content.",
    "canonical": "It is the copy that the first names as canonical.",
    "within_distance": "The fingerprints are within the limit, and nothing else is compared.",
}
NOT_NEAR = "It is not near the first: less than the share is in common."


class ExplainCommand(Subcommand):
    """Shows what is compared of two pages, how near it is, and the verdict on the second.

    The verdict is that of a crawl that meets the second right after the first and knows nothing
    else.  What the site repeats on its pages, or changes by itself, is not known, and so counts
    like anything else.
    """

    name = "explain"
    summary = "Show what two pages have in common, and why one is dropped for the other, or not"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        for name in ("first", "second"):
            parser.add_argument(name, metavar="URL-or-FILE", help=f"the {name} page")

    async def find(self, options: argparse.Namespace) -> Result:
        pipeline = pipeline_of(options)
        analyser = pipeline.analyser
        places = (options.first, options.second)
        fetched = [load(place) for place in places]
        index, reach = open_index(MEMORY, pipeline.parameters), Reach()
        pages, texts = [], []
        for number, one in enumerate(fetched):
            page = await analysed_page(one, pipeline, index)
            # The two are compared even where they have one address, or scopes of their own.
            pages.append(replace(page, request_fingerprint=bytes([number]), scope=""))
            texts.append(analyser.main_text(one.body, one.encoding, one.url))
        features = [set(analyser.scheme.features(text)) for text in texts]
        await index.check_and_add(pages[0])
        reach.hand_all(pages[0].holds.addresses, pages[0].url)
        decision, _ = await decide(index, reach, pages[1])
        second = fetched[1]
        told = analyser.all_told(second.body, second.encoding, second.url)
        found = {
            "decision": decision_as_json(decision),
            "distance": pages[0].distance_to(pages[1]),
            "limit": pipeline.parameters.distance,  # the largest that makes a candidate
            "content": _content(*pages),
            "features_in_common": len(features[0] & features[1]),
            "pages": [
                {
                    "place": place,
                    "fingerprint": f"{page.fingerprint:016x}",
                    "tokens": page.tokens,
                    "text": text[:SHOWN_CHARACTERS],
                    "features": len(own),
                    "features_of_its_own": sorted(own - other)[:SHOWN_FEATURES],
                }
                for place, page, text, own, other in zip(
                    places, pages, texts, features, reversed(features), strict=True
                )
            ],
            "new": [one._asdict() for one in _new(pages[0], pages[1], told)],
        }
        return Result(found, _explained(found, decision))


def _explained(found: dict[str, Any], decision: Decision) -> Iterator[RenderableType]:
    for page in found["pages"]:
        yield Rule(Text(page["place"]))
        yield from page["text"].splitlines()
    table = Table("", "first", "second", box=box.SIMPLE)
    for heading in ("fingerprint", "tokens", "features"):
        table.add_row(heading, *(str(page[heading]) for page in found["pages"]))
    own = (Text(", ".join(page["features_of_its_own"])) for page in found["pages"])
    table.add_row("features that the other has not", *own)
    yield table
    yield f"features in common: {found['features_in_common']}"
    yield f"distance of main texts: {found['distance']}, limit {found['limit']}"
    if content := found["content"]:
        yield (
            f"content: distance {content['distance']}, share in common "
            f"{content['share']:.3f} of {content['compared']} shingles compared"
        )
    for one in found["new"]:
        yield f"new in the second: {one['kind']} at {one['place'] or '-'}: {one['text']}"
    yield f"verdict on the second: {decision.verdict} ({decision.reason})"
    is_near = (decision.verdict, decision.reason) != ("unique", "new_text")
    if case := CASES.get(decision.reason) if is_near else NOT_NEAR:
        yield f"  {case}"


def _new(one: Page, other: Page, told: PageValues) -> list[Told]:
    """Return what only the *other* page has: all, or nothing where values are not compared."""
    values = Comparable(other.url, other.holds, other.own_values, other.section)
    new = values.new_beside(one.url, one.own_values, section_of(one.url)) or []
    known = told.told
    return [known[value] for value in new if value in known]


def _content(one: Page, other: Page) -> dict[str, float] | None:
    """Return how the contents of the two compare, the second view; None if one has no content."""
    if one.sketch is None or other.sketch is None:
        return None
    if one.content_fingerprint is None or other.content_fingerprint is None:
        return None
    shared = overlap(one.sketch, other.sketch)
    distance = hamming_distance(one.content_fingerprint, other.content_fingerprint)
    return {"distance": distance, "share": shared.share, "compared": shared.compared}
