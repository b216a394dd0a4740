"""The parts of ``bench_requests.py``: small sites with spiders that ask for the same page twice.

A :class:`~asked.scenario.Scenario` is a site and a spider.  :mod:`asked.server` serves the site on
loopback; what it answers may depend on the whole request, and on what was asked before.
:mod:`asked.crawl` crawls it once for each mode, and compares the items.  The scenarios are cut by
what the request says beside its address: which function gets the page (:mod:`asked.callbacks`),
what it carries (:mod:`asked.carried`), who asks (:mod:`asked.askers`), that it asks again after a
wall (:mod:`asked.walls`), how deep and how often it asks (:mod:`asked.rounds`), and with what
around it (:mod:`asked.around`).
"""
