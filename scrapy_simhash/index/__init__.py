"""What a crawl remembers: an index looks up the kept pages that a page is judged by, and stores it.

A :class:`~scrapy_simhash.rule.page.Page` comes in through ``add`` (base.py).  The
backend, in one atomic step, finds the page's own row, those with its text, and those within the
distance by its permuted tables (views.py); asks ``rule.judge`` what the page is; and stores it,
as a representative or pointing to one.  What the page teaches of its site's template is learned
then, and stored now and then (site_knowledge.py).  Out comes a ``Decision``.

opening.py finds the backend by its place: memory.py, sqlite/ or redis/.  survey.py and copying.py
serve the commands.
"""
