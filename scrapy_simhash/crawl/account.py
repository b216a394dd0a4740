"""The account of the crawl: in stats, in the log and in the decisions feed."""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals as scrapy_signals

from scrapy_simhash.crawl import signals
from scrapy_simhash.crawl.setup import RareWarning, active_settings, file_path, unwritable
from scrapy_simhash.urls import owner_of

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector
    from typing_extensions import Self

    from scrapy_simhash.decision.page import Reason
    from scrapy_simhash.report.record import Record

logger = logging.getLogger(__name__)

_NEW: dict[Reason, str] = {
    "new_text": "with new text",
    "new_links": "with new links",
    "new_media": "with new media",
    "new_data": "with new data",
    "other_request": "that another request asked for",
    "other_site": "that a page of another site has nearly",
}


class DecisionsFeed:
    """The decisions feed: one JSON object a line and a page, in the order of the decisions.

    A file that is there already is continued.  Each line is one write to the operating system:
    killing the process leaves whole lines, and several processes can write to one file.

    :raises OSError: it cannot be opened for writing.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b", buffering=0)
        self._whole = self._ends_with_newline()

    def write(self, record: dict[str, Any]) -> None:
        """Add a line.

        :raises OSError: it could not be written, or only a part of it.
        """
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        if not self._whole:
            line = b"\n" + line
        self._whole = False
        written = self._file.write(line)
        if written != len(line):
            raise OSError(f"{self.path}: {written} of {len(line)} bytes were written")
        self._whole = True

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        self._file.close()

    def _ends_with_newline(self) -> bool:
        """Whether the last line is whole: a full disk may have cut it short."""
        if self._file.seek(0, os.SEEK_END) == 0:
            return True
        self._file.seek(-1, os.SEEK_END)
        return self._file.read(1) == b"\n"


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
            name, place = "SIMHASH_DECISIONS_FILE", settings.decisions_file
            path = file_path(name, place, crawler.spidercls.name)
            try:
                feed = DecisionsFeed(path)
            except (OSError, ValueError) as exc:
                raise unwritable(name, place, exc) from exc
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
    ours = Counter(
        {
            name.removeprefix("simhash/"): value
            for name, value in stats.get_stats().items()
            if name.startswith("simhash/")
        }
    )
    judged, duplicates = ours["judged"], ours["near_duplicate"] + ours["exact_duplicate"]
    share = f" ({duplicates / judged:.1%})" if judged else ""
    moved = f", {ours['moved']:,} at another address than before" if ours["moved"] else ""
    lines = [
        f"Near-duplicates: {judged:,} pages judged, {ours['unique']:,} unique, "
        f"{ours['variant']:,} variants, {ours['near_duplicate']:,} near-duplicates and "
        f"{ours['exact_duplicate']:,} exact ones{share}, {ours['refresh']:,} seen before{moved}",
        f"dropped {ours['dropped']:,} pages of {ours['dropped_bytes']:,} bytes, flagged "
        f"{ours['flagged']:,}, did not follow {ours['links_not_followed']:,} of their links",
    ]
    if ours["dropped"]:
        lines.append(
            "dropped pages were downloaded, but Scrapy's own counts of pages leave them out"
        )
    if ours["variant"]:
        variants = ((ours[f"variant/{reason}"], what) for reason, what in _NEW.items())
        counts = ", ".join(f"{pages:,} {what}" for pages, what in variants if pages)
        lines.append(f"variants are near a kept page, and passed: {counts}")
    if elsewhere := ours["of_another_site"]:
        lines.append(f"of {elsewhere:,} duplicates, the kept page is on another site")
    if visits := ours["second_visits"]:
        lines.append(f"{visits:,} second visits, to learn what changes by itself")
    if again := ours["asked_again"]:
        lines.append(f"{again:,} pages asked for again, since a wall had stood in for them")
    if ours["rules/learned"] or ours["rules/known"]:
        lines.append(
            f"{ours['rules/learned']:,} rules for addresses learned; rules foretold "
            f"{ours['rules/known']:,} duplicates of {ours['rules/known_bytes']:,} bytes"
        )
    if parked := ours["rules/parked"]:
        lines.append(
            f"parked {parked:,} requests by these rules; sent {ours['rules/released']:,} of "
            f"them after all, and {ours['rules/audited']:,} to look whether the rules are right"
        )
    if skipped := ours["skipped"]:
        reasons = sorted(name for name in ours if name.startswith("skipped/"))
        listed = ", ".join(f"{name.rpartition('/')[2]} {ours[name]:,}" for name in reasons)
        lines.append(f"not judged: {skipped:,} ({listed})")
    if judged:
        lines.append(
            f"{1000 * ours['analysis_seconds'] / judged:.1f} ms a page in workers, "
            f"{1000 * ours['index_seconds'] / judged:.2f} ms in the index; "
            f"{ours['analyses_avoided'] / judged:.1%} had the bytes of an earlier page"
        )
    return "\n  ".join(lines)
