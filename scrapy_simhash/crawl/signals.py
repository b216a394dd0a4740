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

# Between the components of this package, which may be missing: no part of what it promises.  By
# these, judging.py tells what it does to rules.py.  A page is judged, and what is on it does not
# count as handed to the spider yet: "request", "page", "decision", "gist", and "unmet", which
# returns those of some addresses that the spider has not got.  A handler returns True if the page
# may be missing: then a second visit would teach nothing.
page_seen = object()
# The index has learned from a judged page: "request", "page", "decision", "body_bytes".
page_decided = object()
# The page of a request is judged or skipped, and "page_judged" follows: "request", "decision".
# The decision is None if there is no answer.
request_ended = object()
# A page is removed from the index: "request", "url".
page_taken_back = object()
# Two visits to a page have shown what changes by itself: "url".
noise_learned = object()
# The answer to a request that requests.ask_for_us() has sent: "number", "page", "gist".
# The page is None if there is none that can be judged.
own_answer = object()
# The report is made: a handler returns rows for it, by their names in report.document.CrawlInfo.
report_due = object()
