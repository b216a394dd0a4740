"""What Spidermon is to look at when a crawl ends; settings.py says how to switch it on."""

from __future__ import annotations

from typing import ClassVar

from spidermon import MonitorSuite

from scrapy_simhash.crawl.monitors import AlarmMonitor, DuplicateShareMonitor, FailedShareMonitor


class CloseSuite(MonitorSuite):  # type: ignore[misc]
    """Add your own monitors here, and actions: a mail, a message, a ticket."""

    monitors: ClassVar = [AlarmMonitor, DuplicateShareMonitor, FailedShareMonitor]
