"""The signals: one for every decision, one for every alarm.

``page_judged`` has the arguments ``record`` (a :class:`~scrapy_simhash.report.record.Record`),
``response`` and ``spider``.  It is sent in the order of the decisions, before the page goes on to
the spider.  Handlers are ordinary functions, not coroutines::

    crawler.signals.connect(self.page_judged, signal=scrapy_simhash.signals.page_judged)

``alarm_raised`` has the arguments ``alarm`` (an :class:`~scrapy_simhash.report.alarms.Alarm`) and
``spider``.  It is sent after the ``page_judged`` that raised the alarm.
"""

page_judged = object()
alarm_raised = object()

# No part of what the package promises: the report is made, and a handler returns rows for it, by
# their names in report.document.CrawlInfo.
report_due = object()
