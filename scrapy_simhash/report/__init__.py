"""The report: what a crawl saw and saved, where duplicates come from, and what to mend.

Decisions come in as the records of the decisions feed, one by one; what is kept of them takes
a bounded amount of memory at any number of pages.
"""
