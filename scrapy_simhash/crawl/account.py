"""The account of the crawl: in stats, in the log and in the decisions feed."""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler

from scrapy_simhash.crawl import signals
from scrapy_simhash.crawl.setup import RareWarning, active_settings, file_path, unwritable
from scrapy_simhash.decision.page import Reason, Verdict
from scrapy_simhash.report.counting import listed
from scrapy_simhash.report.record import Record
from scrapy_simhash.urls import owner_of

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector
    from typing_extensions import Self

logger = logging.getLogger(__name__)

# Verdicts that stats call as the log and the report do.
VERDICT_STATS: dict[Verdict, str] = {"unique": "kept", "refresh": "passed_again"}
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

    def __init__(
        self, crawler: Crawler, feed: DecisionsFeed | None, observed: str | None = None
    ) -> None:
        self.stats = crawler.stats
        self.feed = feed
        self._observed = observed
        self._feed_warning = RareWarning(logger, crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = active_settings(crawler)
        path = file_path(crawler, "SIMHASH_DECISIONS_FILE", settings.decisions_file)
        try:
            feed = None if path is None else DecisionsFeed(path)
        except (OSError, ValueError) as exc:
            raise unwritable("SIMHASH_DECISIONS_FILE", path, exc) from exc
        observed = None
        if settings.action == "observe":
            report = file_path(crawler, "SIMHASH_REPORT_FILE", settings.report_file)
            observed = str(report or "the report (set SIMHASH_REPORT_FILE)")
        extension = cls(crawler, feed, observed)
        crawler.signals.connect(extension.page_judged, signals.page_judged)
        crawler.signals.connect(extension.spider_closed, scrapy_signals.spider_closed)
        return extension

    def page_judged(self, record: Record) -> None:
        self._count(record)
        if record.decision.is_crowded:
            self.stats.inc_value("simhash/crowded")
        if self.feed is None:
            return
        try:
            self.feed.write(record.as_json())
        except OSError as exc:
            self.stats.inc_value("simhash/feed_errors")
            self._feed_warning.log(f"A decision is missing from the decisions feed: {exc}")

    def spider_closed(self, spider: Spider) -> None:
        logger.info("%s", summary(self.stats, self._observed), extra={"spider": spider})
        if self.feed is not None:
            self.feed.close()

    def _count(self, record: Record) -> None:
        stats, decision = self.stats, record.decision
        if decision.verdict == "skipped":
            stats.inc_value("simhash/skipped")
            stats.inc_value(f"simhash/skipped/{decision.reason}")
            return
        stats.inc_value("simhash/judged")
        stats.inc_value(f"simhash/{VERDICT_STATS.get(decision.verdict, decision.verdict)}")
        stats.inc_value("simhash/judged_bytes", record.body_bytes)
        self._add_seconds("index", record.index_seconds or 0.0)
        self._add_seconds("analysis", record.analysis_seconds or 0.0)
        if record.is_recalled:
            stats.inc_value("simhash/analyses_avoided")
        if decision.reason == "moved":
            stats.inc_value("simhash/moved")
        if decision.replaces is not None:
            stats.inc_value("simhash/replaced")
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
        elif record.why == "observed":
            stats.inc_value("simhash/observed")

    def _add_seconds(self, part: str, seconds: float) -> None:
        name = f"simhash/{part}_seconds"
        self.stats.set_value(name, self.stats.get_value(name, 0.0) + seconds)


def summary(stats: StatsCollector, observed: str | None) -> str:
    """Return the lines that say at close what was seen and saved; nothing is said of zeros.

    *observed*: the crawl only observes, and this shows what it has seen.
    """
    ours = Counter(
        {
            name.removeprefix("simhash/"): value
            for name, value in stats.get_stats().items()
            if name.startswith("simhash/")
        }
    )
    judged, exact = ours["judged"], ours["exact_duplicate"]
    duplicates = ours["near_duplicate"] + exact
    of_them = f" ({duplicates / judged:.1%}; {exact:,} exact)" if duplicates else ""
    moved = f" ({ours['moved']:,} at another address than before)" if ours["moved"] else ""
    counts = (
        (judged, "page(s) judged"),
        (ours["kept"], "kept"),
        (ours["variant"], "variant(s)"),
        (duplicates, f"duplicate(s){of_them}"),
        (ours["passed_again"], f"passed again{moved}"),
    )
    lines = [f"Near-duplicates: {listed(counts) or 'no page judged'}"]
    if observed is not None:
        lines.append(_advice(ours, observed))
    done = (
        (ours["dropped"], f"dropped, of {ours['dropped_bytes']:,} bytes"),
        (ours["flagged"], "flagged"),
        (ours["links_not_followed"], "of their links not followed"),
    )
    lines += filter(None, [listed(done)])
    if ours["dropped"]:
        lines.append(
            "dropped pages were downloaded, but Scrapy's own counts of pages leave them out"
        )
    if ours["variant"]:
        variants = listed((ours[f"variant/{reason}"], what) for reason, what in _NEW.items())
        lines.append(f"variants are near a kept page, and are kept, too: {variants}")
    if elsewhere := ours["of_another_site"]:
        lines.append(f"of {elsewhere:,} duplicates, the kept page is on another site")
    further = (
        [(ours["second_visits"], "second visit(s), to learn what changes by itself")],
        [(ours["asked_again"], "dropped page(s) asked for again, since more is known now")],
        [
            (ours["rules/learned"], "rule(s) for addresses learned"),
            (ours["rules/known"], f"duplicate(s) foretold, of {ours['rules/known_bytes']:,} bytes"),
        ],
        [
            (ours["rules/parked"], "request(s) parked by these rules"),
            (ours["rules/released"], "of them sent after all"),
            (ours["rules/audited"], "of them sent to look whether the rules are right"),
        ],
    )
    lines += filter(None, map(listed, further))
    if skipped := ours["skipped"]:
        names = sorted(name for name in ours if name.startswith("skipped/"))
        reasons = ", ".join(f"{name.rpartition('/')[2]} {ours[name]:,}" for name in names)
        lines.append(f"not judged: {skipped:,} ({reasons})")
    if judged:
        share = ours["analyses_avoided"] / judged
        avoided = f"; {share:.1%} had the bytes of an earlier page" if share else ""
        lines.append(
            f"{1000 * ours['analysis_seconds'] / judged:.1f} ms a page in workers, "
            f"{1000 * ours['index_seconds'] / judged:.2f} ms waiting for the index{avoided}"
        )
    return "\n  ".join(lines)


def _advice(ours: Counter[str], shown_by: str) -> str:
    """Return what would come of a crawl that drops."""
    if not ours["observed"]:
        none = f"would drop none of {ours['judged']:,} pages"
        if not (ours["variant"] and ours["second_visits"]):
            return none
        return f"{none}; what changes by itself on variants is known only now: observe again"
    return (
        f"would drop {ours['observed']:,} of {ours['judged']:,} pages, and not follow their links; "
        f"see {shown_by}; then remove SIMHASH_ACTION"
    )
