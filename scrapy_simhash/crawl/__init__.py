"""The components of Scrapy, one a file, and what they share.

A request may ask if its page has changed (validators.py).  A response comes in through the
downloader middleware (judging.py).  requests.py says who has asked for it, and what its callback
gets beside the page; choices.py whether it is judged.  A ``pipeline.Pipeline`` analyses it for the
run of the crawl (run.py); workers and index are shared by all spiders of a process.  The index
judges its text and values, without what second visits showed to change by itself (visits.py), and
reach.py the addresses that the spider was not handed, unless it is a wall (walls.py).  choices.py
says what becomes of it.  The decision goes into the meta of the request and out as the signal
``page_judged`` (signals.py).  The response goes on to the spider, with a flag if it is a flagged
duplicate, or ends as an exception of exceptions.py.

Two extensions listen to the signal: account.py counts decisions, and writes each to the decisions
feed; report.py makes the report, and raises alarms.  links.py drops the requests from flagged
pages, and tells what the spider asks for.
If a callback fails, or an item is refused, run.py takes the page out of the index; it also keeps
what a run knows in its JOBDIR.

A second downloader middleware, rules.py, is imported only if ``SIMHASH_RULES`` is not "off".  From
what judging.py tells it, it learns which addresses lead to one page; by its rules, parking.py
parks requests in a file (parked.py).  So it does for requests that lead into traps, or to pages
that are not there (dead_ends.py).

setup.py reads the settings, finds the places of files for all components, and limits their
warnings.
"""

import scrapy

# As in setup.cfg.
OLDEST_SCRAPY = "2.14"

if scrapy.version_info < tuple(map(int, OLDEST_SCRAPY.split("."))):
    # Before the first import that fails, which would end in 30 lines that do not say why.
    raise SystemExit(
        f"scrapy-simhash needs Scrapy {OLDEST_SCRAPY} or later, and found {scrapy.__version__}: "
        f'pip install "scrapy>={OLDEST_SCRAPY}", or take scrapy_simhash.Addon out of ADDONS'
    )
