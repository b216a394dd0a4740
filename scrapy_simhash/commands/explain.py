"""``scrapy simhash explain``: why two pages are taken for the same, or are not."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table as Grid

from scrapy_simhash.commands.base import Subcommand, settings_of
from scrapy_simhash.commands.pages import analysed, load
from scrapy_simhash.crawl.judging import analyser_of, page_of, parameters_of
from scrapy_simhash.index import MemoryIndex
from scrapy_simhash.rule.sketch import Sketch, overlap
from scrapy_simhash.rule.template import Templates

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from scrapy_simhash.analysis.page import PageAnalysis

# As much as one looks at.
SHOWN_FEATURES = 20
SHOWN_CHARACTERS = 1_000


class ExplainCommand(Subcommand):
    """Shows what is compared of two pages, how near it is, and the verdict on the second.

    As if the second were met right after the first by a crawl that knows nothing else: what a
    site repeats on its pages is not known, so that it counts for more.
    """

    name = "explain"
    summary = "Show what two pages have in common, and why one is dropped for the other, or not"

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        for name in ("first", "second"):
            parser.add_argument(name, metavar="URL-or-FILE", help=f"the {name} page")

    @classmethod
    def find(cls, options: argparse.Namespace) -> Any:
        settings = settings_of(options)
        analyser = analyser_of(settings)
        responses = [load(options.first), load(options.second)]
        analyses = [analysed(analyser, response, Templates()) for response in responses]
        texts = [analyser.main_text(r.body, r.encoding, r.url) for r in responses]
        features = [set(analyser.scheme.features(text)) for text in texts]
        index = MemoryIndex(parameters_of(settings, analyser))
        decisions = [
            index.check_and_add(page_of(analysis, response.url, which, scope=""))
            for analysis, response, which in zip(analyses, responses, (b"1", b"2"), strict=True)
        ]
        return {
            "decision": asdict(decisions[1]),
            "distance": (analyses[0].fingerprint ^ analyses[1].fingerprint).bit_count(),
            "limit": index.parameters.distance,
            "content": _content(analyses),
            "features_in_common": len(features[0] & features[1]),
            "pages": [
                {
                    "place": place,
                    "fingerprint": f"{analysis.fingerprint:016x}",
                    "tokens": analysis.tokens,
                    "text": text[:SHOWN_CHARACTERS],
                    "features": len(own),
                    "features_of_its_own": sorted(own - other)[:SHOWN_FEATURES],
                }
                for place, analysis, text, own, other in zip(
                    (options.first, options.second),
                    analyses,
                    texts,
                    features,
                    reversed(features),
                    strict=True,
                )
            ],
        }

    @classmethod
    def show(cls, found: Any, console: Console) -> None:
        for page in found["pages"]:
            console.rule(page["place"])
            console.print(page["text"], markup=False, soft_wrap=True)
        grid = Grid("", "first", "second", box=box.SIMPLE)
        first, second = found["pages"]
        for heading in ("fingerprint", "tokens", "features"):
            grid.add_row(heading, str(first[heading]), str(second[heading]))
        own = [", ".join(page["features_of_its_own"]) for page in found["pages"]]
        grid.add_row("features that the other has not", *own)
        console.print(grid)
        console.print(f"features in common: {found['features_in_common']}")
        console.print(f"distance of main texts: {found['distance']}, limit {found['limit']}")
        if (content := found["content"]) is not None:
            console.print(
                f"content: distance {content['distance']}, share in common "
                f"{content['share']:.3f} of {content['compared']} shingles compared"
            )
        decision = found["decision"]
        console.print(f"verdict on the second: {decision['verdict']} ({decision['reason']})")


def _content(analyses: list[PageAnalysis]) -> dict[str, Any] | None:
    """Return how the contents of the two compare, None where one has none."""
    one, two = (analysis.content for analysis in analyses)
    if one is None or two is None:
        return None
    shared = overlap(Sketch.from_bytes(one.sketch), Sketch.from_bytes(two.sketch))
    return {
        "distance": (one.fingerprint ^ two.fingerprint).bit_count(),
        "share": shared.share,
        "compared": shared.compared,
    }
