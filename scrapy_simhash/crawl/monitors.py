"""Monitors for Spidermon that look at the stats of a crawl.

This is the only module that imports Spidermon: ``pip install scrapy-simhash[spidermon]``.
"""

from __future__ import annotations

from spidermon.contrib.scrapy.monitors import BaseScrapyMonitor

from scrapy_simhash.decision.page import FAILURES

MAX_DUPLICATE_SHARE = 0.9
MAX_FAILED_SHARE = 0.01


class AlarmMonitor(BaseScrapyMonitor):  # type: ignore[misc]
    """No alarm of scrapy-simhash was raised."""

    def test_no_alarm(self) -> None:
        prefix = "simhash/alarms/"
        raised = [name.removeprefix(prefix) for name in self.stats if name.startswith(prefix)]
        self.assertFalse(raised, f"alarms: {', '.join(raised)}")


class DuplicateShareMonitor(BaseScrapyMonitor):  # type: ignore[misc]
    """At most SPIDERMON_SIMHASH_MAX_DUPLICATE_SHARE of the judged pages are duplicates."""

    def test_duplicate_share(self) -> None:
        judged = self.stats.get("simhash/judged", 0)
        found = self.stats.get("simhash/near_duplicate", 0)
        found += self.stats.get("simhash/exact_duplicate", 0)
        most = self.crawler.settings.getfloat(
            "SPIDERMON_SIMHASH_MAX_DUPLICATE_SHARE", MAX_DUPLICATE_SHARE
        )
        self.assertLessEqual(found, most * judged, f"{found} of {judged} pages are duplicates")


class FailedShareMonitor(BaseScrapyMonitor):  # type: ignore[misc]
    """The plug-in failed on at most SPIDERMON_SIMHASH_MAX_FAILED_SHARE of the pages."""

    def test_failed_share(self) -> None:
        failed = sum(self.stats.get(f"simhash/skipped/{reason}", 0) for reason in FAILURES)
        judged = self.stats.get("simhash/judged", 0)
        most = self.crawler.settings.getfloat(
            "SPIDERMON_SIMHASH_MAX_FAILED_SHARE", MAX_FAILED_SHARE
        )
        self.assertLessEqual(
            failed, most * (judged + failed), f"{failed} pages passed unjudged, {judged} judged"
        )

    def test_pages_were_judged(self) -> None:
        received = self.stats.get("response_received_count", 0)
        pages = received - self.stats.get("robotstxt/response_count", 0)
        judged = self.stats.get("simhash/judged", 0)
        self.assertTrue(judged or not pages, f"none of {pages} responses was judged")

    def test_decisions_feed_is_whole(self) -> None:
        missing = self.stats.get("simhash/feed_errors", 0)
        self.assertFalse(missing, f"{missing} lines are missing from the decisions feed")
