"""What bench_rules.py crawls, and what it compares with.

``made_up`` crawls sites of addresses alone, without a network, and shows the learning.  ``site``
serves an archived site at several addresses a page, some of them hostile.  ``crawl`` crawls it in a
process of its own with each of the ``strategies``, and counts what was avoidable and what was lost.
``cost`` measures what a request takes.
"""
