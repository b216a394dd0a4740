"""The signals: one for every decision, one for every alarm.

``page_judged`` comes with the arguments ``judgement`` (a
:class:`~scrapy_simhash.report.judgement.Judgement`), ``response`` and ``spider``, in the order in
which pages were decided, before the page goes on to the spider.  Handlers are ordinary
functions, not coroutines::

    crawler.signals.connect(self.page_judged, signal=scrapy_simhash.signals.page_judged)

``alarm_raised`` comes with ``alarm`` (an :class:`~scrapy_simhash.report.alarms.Alarm`) and
``spider``, after the ``page_judged`` that raised it.
"""

page_judged = object()
alarm_raised = object()
