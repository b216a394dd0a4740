"""The signal that is sent for every decision.

``page_judged`` comes with the arguments ``judgement`` (a
:class:`~scrapy_simhash.judgement.Judgement`), ``response`` and ``spider``, in the order in
which pages were decided, before the page goes on to the spider.  Handlers are ordinary
functions, not coroutines::

    crawler.signals.connect(self.page_judged, signal=scrapy_simhash.signals.page_judged)
"""

page_judged = object()
