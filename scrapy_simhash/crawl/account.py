"""The extension: the account of the crawl, in stats, in the log and in the decisions feed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals as scrapy_signals

from scrapy_simhash.crawl import signals
from scrapy_simhash.crawl.feed import DecisionsFeed
from scrapy_simhash.crawl.log import RareWarning
from scrapy_simhash.crawl.setup import active_settings, file_path, unwritable
from scrapy_simhash.urls import owner_of

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector
    from typing_extensions import Self

    from scrapy_simhash.report.record import Record
    from scrapy_simhash.rule.page import Reason

logger = logging.getLogger(__name__)

_NEW: dict[Reason, str] = {
    "new_text": "with new text",
    "new_links": "with new links",
    "new_media": "with new media",
    "new_data": "with new data",
    "other_request": "that another request asked for",
    "other_site": "that a page of another site has nearly",
}


class SimhashAccount:
    """Count every decision, write it to ``SIMHASH_DECISIONS_FILE``, and sum up at close.

    The stats are listed in docs/stats.md.  A line that cannot be written (a full disk, say)
    is counted as ``simhash/feed_errors`` and warned of once a minute at most.
    """

    def __init__(self, stats: StatsCollector, feed: DecisionsFeed | None) -> None:
        self.stats = stats
        self.feed = feed
        self._feed_warning = RareWarning(logger)
        self._crowd_warning = RareWarning(logger)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = active_settings(crawler)
        feed = None
        if settings.decisions_file is not None:
            feed = _open_feed(settings.decisions_file, crawler.spidercls.name)
        extension = cls(crawler.stats, feed)
        crawler.signals.connect(extension.page_judged, signals.page_judged)
        crawler.signals.connect(extension.spider_closed, scrapy_signals.spider_closed)
        return extension

    def page_judged(self, record: Record, spider: Spider) -> None:
        self._count(record)
        if record.decision.is_crowded:
            self._note_crowd(record, spider)
        if self.feed is None:
            return
        try:
            self.feed.write(record.as_json())
        except OSError as exc:
            self.stats.inc_value("simhash/feed_errors")
            self._feed_warning.log(
                f"A decision is missing from the decisions feed: {exc}", extra={"spider": spider}
            )

    def spider_closed(self, spider: Spider) -> None:
        logger.info("%s", summary(self.stats), extra={"spider": spider})
        if self.feed is not None:
            self.feed.close()

    def _count(self, record: Record) -> None:
        stats, decision = self.stats, record.decision
        if decision.verdict == "skipped":
            stats.inc_value("simhash/skipped")
            stats.inc_value(f"simhash/skipped/{decision.reason}")
            return
        stats.inc_value("simhash/judged")
        stats.inc_value(f"simhash/{decision.verdict}")
        stats.inc_value("simhash/judged_bytes", record.body_bytes)
        self._add_seconds("index", record.index_seconds or 0.0)
        self._add_seconds("analysis", record.analysis_seconds or 0.0)
        if record.is_recalled:
            stats.inc_value("simhash/analyses_avoided")
        if decision.reason == "moved":
            stats.inc_value("simhash/moved")
        if decision.changed is False:
            stats.inc_value("simhash/unchanged")
        if decision.verdict == "variant":
            stats.inc_value(f"simhash/variant/{decision.reason}")
        if decision.is_duplicate:
            stats.inc_value(f"simhash/distance/{decision.distance}")
            if owner_of(record.kept_url) != owner_of(record.url):
                stats.inc_value("simhash/of_another_site")
            if record.is_start_request and record.action == "pass":
                stats.inc_value("simhash/start_requests_protected")
        if record.action == "drop":
            stats.inc_value("simhash/dropped")
            stats.inc_value("simhash/dropped_bytes", record.body_bytes)
        elif record.action == "flag":
            stats.inc_value("simhash/flagged")

    def _note_crowd(self, record: Record, spider: Spider) -> None:
        """Count a page that more kept pages are like than one page is compared with."""
        self.stats.inc_value("simhash/crowded")
        closest = record.decision.closest
        self._crowd_warning.log(
            f"{record.url} was kept, but compared with some of the kept pages that are like it "
            f"only: there are too many. One of them is {closest.url if closest else 'not known'}",
            extra={"spider": spider},
        )

    def _add_seconds(self, part: str, seconds: float) -> None:
        name = f"simhash/{part}_seconds"
        self.stats.set_value(name, self.stats.get_value(name, 0.0) + seconds)


def summary(stats: StatsCollector) -> str:
    """Return the lines that say at close what was seen and saved."""

    def get(name: str) -> float:
        return float(stats.get_value(f"simhash/{name}", 0))

    judged = get("judged")
    near, exact = get("near_duplicate"), get("exact_duplicate")
    share = f" ({(near + exact) / judged:.1%})" if judged else ""
    lines = [
        f"Near-duplicates: {judged:,.0f} pages judged, {get('unique'):,.0f} unique, "
        f"{get('variant'):,.0f} variants, "
        f"{near:,.0f} near-duplicates and {exact:,.0f} exact ones{share}, "
        f"{get('refresh'):,.0f} seen before"
        + (f", {moved:,.0f} at another address than before" if (moved := get("moved")) else ""),
        f"  dropped {get('dropped'):,.0f} pages of {get('dropped_bytes'):,.0f} bytes, flagged "
        f"{get('flagged'):,.0f}, did not follow {get('links_not_followed'):,.0f} of their links",
    ]
    if get("dropped"):
        lines.append(
            "  dropped pages were downloaded, but Scrapy's own counts of pages leave them out"
        )
    if get("variant"):
        variants = {what: get(f"variant/{reason}") for reason, what in _NEW.items()}
        counts = ", ".join(f"{pages:,.0f} {what}" for what, pages in variants.items() if pages)
        lines.append(f"  variants are near a kept page, and passed: {counts}")
    if elsewhere := get("of_another_site"):
        lines.append(f"  of {elsewhere:,.0f} duplicates, the kept page is on another site")
    if visits := get("second_visits"):
        lines.append(f"  {visits:,.0f} second visits, to learn what changes by itself")
    if again := get("asked_again"):
        lines.append(f"  {again:,.0f} pages asked for again, since a wall had stood in for them")
    learned, known = get("rules/learned"), get("rules/known")
    if learned or known:
        lines.append(
            f"  {learned:,.0f} rules for addresses learned; rules foretold {known:,.0f} "
            f"duplicates of {get('rules/known_bytes'):,.0f} bytes"
        )
    if parked := get("rules/parked"):
        lines.append(
            f"  parked {parked:,.0f} requests by these rules; sent {get('rules/released'):,.0f} of "
            f"them after all, and {get('rules/audited'):,.0f} to look whether the rules are right"
        )
    if skipped := get("skipped"):
        reasons = sorted(
            (name.rpartition("/")[2], count)
            for name, count in stats.get_stats().items()
            if name.startswith("simhash/skipped/")
        )
        listed = ", ".join(f"{reason} {count:,}" for reason, count in reasons)
        lines.append(f"  not judged: {skipped:,.0f} ({listed})")
    if judged:
        lines.append(
            f"  {1000 * get('analysis_seconds') / judged:.1f} ms a page in workers, "
            f"{1000 * get('index_seconds') / judged:.2f} ms in the index; "
            f"{get('analyses_avoided') / judged:.1%} had the bytes of an earlier page"
        )
    return "\n".join(lines)


def _open_feed(path: str, spider_name: str) -> DecisionsFeed:
    opened = file_path("SIMHASH_DECISIONS_FILE", path, spider_name)
    try:
        return DecisionsFeed(opened)
    except (OSError, ValueError) as exc:
        raise unwritable("SIMHASH_DECISIONS_FILE", path, exc) from exc
