"""The links of a page that are in its HTTP headers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scrapy_simhash.analysis.elements import LINK_RELATIONS
from scrapy_simhash.analysis.values import Reader
from scrapy_simhash.rule.holdings import PageAddress
from scrapy_simhash.rule.noise import NO_CUTS, Cuts, stripped
from scrapy_simhash.settings import TEXT

# A target and its parameters, up to the next comma outside of quotes (RFC 8288, section 3).
_LINK = re.compile(r'<([^<>]*)>((?:[^",<]|"[^"]*")*)')
_RELATION = re.compile(r';\s*rel\s*=\s*"?([^";]*)', re.I)


def links_of_headers(
    headers: Iterable[bytes], url: str, takes: str, cuts: Cuts = NO_CUTS
) -> list[PageAddress]:
    """Return where the headers ``Link`` of the page at *url* lead, as links in its head would.

    *cuts* say what changes by itself there.
    """
    wanted = {"next"} if takes == TEXT else LINK_RELATIONS
    reader = Reader(url, url)
    found = {}
    for header in headers:
        for target, parameters in _LINK.findall(header.decode("latin-1")):
            relation = _RELATION.search(parameters)
            if relation is None or wanted.isdisjoint(relation[1].lower().split()):
                continue
            if address := stripped(reader.address(target.strip()), cuts.parameters):
                found[address] = PageAddress("link", 0, 0, address, True, 0)
    return list(found.values())
