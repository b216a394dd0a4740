"""Ways of not downloading a page twice: ours, those of others, and an oracle."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.utils.request import RequestFingerprinter

from scrapy_simhash.url_rules.rule import AddressRule, difference
from scrapy_simhash.urls import Address

PLUGIN = {"ADDONS": {"scrapy_simhash.Addon": 500}, "SIMHASH_INDEX": "memory:"}
# So many pages that agree make a rule of the learner by rel=canonical.
AGREEING = 5

# The key by which the oracle knows a page.
key_of: Callable[[str], str] = str


class Oracle(RequestFingerprinter):
    """Takes all addresses of one page for one request, as nobody can."""

    def fingerprint(self, request: Request) -> bytes:
        return key_of(request.url).encode()


class CanonicalLearner:
    """Drops requests by rules that the rel=canonical of pages suggest, until one page disagrees."""

    def __init__(self) -> None:
        self._agreeing: Counter[AddressRule] = Counter()
        self._wrong: set[AddressRule] = set()
        self._seen: set[Address] = set()

    def process_request(self, request: Request) -> None:
        address = Address.of(request.url)
        for rule, pages in self._agreeing.items():
            if pages >= AGREEING and rule not in self._wrong:
                canonical = rule.applied(address)
                if canonical is not None and canonical in self._seen:
                    raise IgnoreRequest(str(rule))

    def process_response(self, request: Request, response: Response) -> Response:
        if isinstance(response, HtmlResponse):
            address = Address.of(response.url)
            named = response.css("link[rel=canonical]::attr(href)").get()
            canonical = Address.of(response.urljoin(named)) if named else address
            rule = difference(address, canonical)
            if rule is not None:
                self._agreeing[rule] += 1
            elif address == canonical:
                self._wrong |= {one for one in self._agreeing if one.applied(address) is not None}
            self._seen |= {address, canonical}
        return response


class _Mended:
    """The module random as MaybeDont has it, whose sample() took sets until Python 3.11."""

    random = staticmethod(random.random)

    @staticmethod
    def sample(population: Collection[Any], most: int) -> list[Any]:
        return random.sample(list(population), most)


class MaybeDont:
    """TeamHG-Memex/MaybeDont, whose middleware has the arguments of older versions of Scrapy."""

    def __init__(self, settings: Any) -> None:
        predict: Any = import_module("maybedont.predict")
        predict.random = _Mended
        middleware = import_module("maybedont.scrapy_middleware").AvoidDupContentMiddleware
        self._middleware = middleware.from_crawler(settings)

    @classmethod
    def from_crawler(cls, crawler: Any) -> MaybeDont:
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        self._middleware.process_request(request, None)

    def process_response(self, request: Request, response: Response) -> Response:
        answer: Response = self._middleware.process_response(request, response, None)
        return answer


# What each is, and its settings; those of others need a package.
STRATEGIES: dict[str, dict[str, Any]] = {
    "none": {},
    "dropping only": {**PLUGIN, "SIMHASH_RULES": "off"},
    "rules": {**PLUGIN, "SIMHASH_RULES": "use"},
    "rules, by text": {**PLUGIN, "SIMHASH_RULES": "use", "SIMHASH_TAKES": "text"},
    "duplicate-url-discarder": {"ADDONS": {"duplicate_url_discarder.Addon": 600}},
    "MaybeDont": {
        "DOWNLOADER_MIDDLEWARES": {MaybeDont: 560},
        "AVOID_DUP_CONTENT_ENABLED": True,
    },
    "rel=canonical": {"DOWNLOADER_MIDDLEWARES": {CanonicalLearner: 560}},
    "oracle": {"REQUEST_FINGERPRINTER_CLASS": Oracle},
}
_PACKAGES = {
    "duplicate-url-discarder": ("duplicate_url_discarder", "duplicate_url_discarder_rules"),
    "MaybeDont": ("maybedont", "datasketch", "scipy"),
}


def missing(strategy: str) -> list[str]:
    """Return the packages that a strategy needs and that are not installed."""
    return [name for name in _PACKAGES.get(strategy, ()) if find_spec(name) is None]
