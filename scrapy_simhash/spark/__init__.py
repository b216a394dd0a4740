"""Near-duplicates of whole archives on a Spark cluster: the answer of one machine, row for row.

How an archive moves through this package: ``pages`` lets the executors read its files and analyse
the pages, each file in one task (:func:`features`); it finds what each site repeats, sees each page
under it, and puts all in one order.  ``verified`` and ``plain`` find which pages are alike, each by
its rule, and give ``rounds`` a graph: who comes after whom.  It says which pages are kept.
``duplicates`` tells all others what they are duplicates of (:func:`near_duplicates`).  ``archive``
adds those that earlier batches kept.

The rules are those of :mod:`scrapy_simhash.batch`.  What a task holds in memory has a bound that no
content exceeds, and no answer depends on how the work is cut.  ``engine`` keeps what each stage
leaves, so that a driver that was killed goes on where it was.
"""

from scrapy_simhash.spark.duplicates import near_duplicates
from scrapy_simhash.spark.pages import features

__all__ = ["features", "near_duplicates"]
