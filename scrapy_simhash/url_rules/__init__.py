"""Rules for addresses: which addresses lead to one page, learned from the verdicts of a crawl.

The addresses of a duplicate and of its kept page suggest rules (rule.py).  A rule that two
duplicates suggest is put on trial as a :class:`~.evidence.Hypothesis` of its site (book.py).  From
then on, the :class:`~.learner.Learner` gives it one trial for each key, which is what the rule
makes of all the addresses of a page; it also says by which rules the page of an address is kept
already.  Evidence is counted folder by folder, and is enough when a bound says so that may be
looked at after every page (evidence.py).  All rules of a site together spend an error of 5 %.

Two more kinds of addresses are not needed: those in traps, whose pages say nothing new and lead to
ever more of their kind, and those of pages that are not there (dead_ends.py).

Nothing here knows Scrapy, or decides what becomes of a request.
"""
