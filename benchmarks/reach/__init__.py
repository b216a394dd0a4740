"""The parts of ``bench_reach.py``, from an address to a row of its table.

A :class:`~reach.pages.Site` makes the body of an address when it is asked for.  :mod:`reach.noise`
puts into it what differs at each visit.  :mod:`reach.server` serves both on loopback, moves the
names of a page's items into headers, and counts the requests.  :mod:`reach.crawl` crawls it and
counts the items.  The sites are in :mod:`reach.shops`, :mod:`reach.kinds` and the modules beside
them.
"""
