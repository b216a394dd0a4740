"""The components of Scrapy, one a file, and what they share.

docs/tour.md follows one page and one request through the files.  setup.py reads the settings, finds
the places of files for all components, and limits their warnings; run.py has what the spiders of a
process share, and what a run keeps in its JOBDIR.  rules.py, and what it imports, is imported only
if ``SIMHASH_RULES`` is not "off".
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
