"""What a crawl remembers: an index looks up the kept pages that a page is judged by, and stores it.

A :class:`~scrapy_simhash.decision.page.Page` comes in through ``add`` (base.py).  The backend, in
one atomic step, finds the page's own row, those with its text, and those that are near it (views.py
on this machine); asks ``decision.judge`` what the page is; and stores it, as a representative or
pointing to one.  What the page teaches of its site is learned then, and stored now and then
(site_knowledge.py).  Out comes a ``Decision``.

opening.py finds the backend by its place: sqlite/ for a file or memory, or redis/.  survey.py is
for the commands.
"""
