"""A usual Scrapy project; the line that turns scrapy-simhash on is ``ADDONS``."""

BOT_NAME = "site_crawl"
SPIDER_MODULES = ["site_crawl.spiders"]

ADDONS = {"scrapy_simhash.Addon": 500}

# The demo collects texts.  A spider that takes fields, links and files leaves this line out: then
# a page is dropped only if nothing on it is new.
SIMHASH_TAKES = "text"

# One line for each page, with the verdict and the reason.
SIMHASH_DECISIONS_FILE = "decisions-%(name)s.jsonl"

ROBOTSTXT_OBEY = True
CONCURRENT_REQUESTS_PER_DOMAIN = 8
