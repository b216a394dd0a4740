"""The components of Scrapy, one a file, and what they share.

A response comes in through the downloader middleware (judging.py), which has it judged by a
``pipeline.Pipeline``; the workers and the index are shared by all spiders of a process (shared.py).
The decision goes into the meta of the request and out as the signal ``page_judged`` (signals.py).
The response goes on to the spider, with a flag if it is a flagged duplicate, or ends as an
exception of dropped.py.

Two extensions listen to the signal: account.py counts decisions, and writes each to the decisions
feed (feed.py); report.py makes the report, and raises alarms.  links.py drops the requests from
flagged pages.  pausing.py ignores requests to a site after an alarm.  If a callback fails,
withdrawals.py takes its page out of the index.  redirects.py reads the redirects that led to a
page.

prometheus.py and monitors.py pass the stats on.  setup.py reads the settings and finds the places
of files for all components; log.py limits their warnings.
"""
