"""The report: what a crawl saw and saved, where duplicates come from, and what to change.

A :class:`~.record.Record` comes in for each page that was decided on: from the extension in
``crawl/report.py`` while the crawl runs, or from a line of a decisions feed at any later time.  The
:class:`~.collector.Collector` adds it to its counts and samples (``counting.py``), which take a
bounded amount of memory at any number of pages, and lets :class:`~.alarms.AlarmWatch` look at it;
the alarms that it raises go back to the caller at once.  In a crawl, :class:`~.pairs.Pairs` also
holds the bodies of some duplicates, to show what differs in them.  What rules for addresses would
have saved is counted in ``savings.py``, beside whatever learns them.

At the end, ``document.py`` makes one JSON document of the collector, and ``html.py`` shows that
document as a page and as short tables.
"""
