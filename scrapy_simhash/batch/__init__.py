"""Near-duplicates of whole archives, with one rule and one answer, however the work is cut.

How an archive moves through this package: ``records`` reads its files, ``features`` lets the
workers of a crawl analyse each page, and writes a row for it.  ``revisits`` adds the rows of pages
whose content is in another record.  From samples of these rows, ``rule`` learns what each site
repeats, and sees each page under it.  The pages are put in one order, and ``decisions`` goes
through them: a page is a duplicate of an earlier kept page, or kept.  ``output`` writes what is
kept as an archive.

``local`` runs these stages on one machine, :mod:`scrapy_simhash.spark` on a cluster.  No answer
depends on how many processes or files there are.
"""
