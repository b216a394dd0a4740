"""Rules for addresses: which addresses lead to one page, learned from the verdicts of a crawl.

An :class:`~.address.Address` is what of a URL tells pages apart.  The addresses of a duplicate and
of its kept page suggest rules (rule.py, paths.py).  A rule that two duplicates suggest is put on
trial as a :class:`~.evidence.Hypothesis` of its site (book.py).  From then on, the
:class:`~.learner.Learner` gives it one trial for each key, which is what the rule makes of all the
addresses of a page (keys.py); sightings.py holds what was seen under each key, in 13 bytes, and
matches.py what rules say of an address then.  Evidence is counted folder by folder (evidence.py).
It is enough when a bound says so that may be looked at after every page (bound.py).  All rules of
a site together spend an error of 5 %.
Other tools take rules in files of their own, and have some to try (discarder.py).

Two more kinds of addresses are not needed: those in traps, whose pages say nothing new and lead to
ever more of their kind (traps.py), and those of pages that are not there (missing.py).

Nothing here knows Scrapy, or decides what becomes of a request.
"""
