"""Which pages are judged, and what becomes of them: by the settings, and by the request.

A project may take the second choice into its own hands, with a :class:`Policy`.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, cast, get_args

from lxml.html.defs import tags as _HTML_4_TAGS
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, JsonResponse, Request, Response, TextResponse, XmlResponse
from scrapy.responsetypes import responsetypes
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.python import binary_is_text

from scrapy_simhash.crawl.requests import callback_name, is_start_request
from scrapy_simhash.crawl.setup import RareWarning, active_settings
from scrapy_simhash.decision.page import Decision, Reason
from scrapy_simhash.errors import SettingsError
from scrapy_simhash.report.record import Action
from scrapy_simhash.settings import ACTIONS, SimhashSettings

if TYPE_CHECKING:
    from typing_extensions import Self

logger = logging.getLogger(__name__)

META_KEY = "simhash"
DECISION_META_KEY = "simhash_decision"
_INLINE_META_KEY = "simhash_inline"

_ACTION_TAKEN: dict[str, Action] = {"drop": "drop", "flag": "flag", "observe": "pass"}

# As many bytes as Scrapy looks at to tell text from binary data, and the bytes that it takes for
# binary: looking at each by itself, as Scrapy does, took 0.1 ms a page.
_SNIFFED_BYTES = 5000
_BINARY_BYTES = bytes(byte for byte in range(256) if not binary_is_text(bytes([byte])))
# By these, the encodings of ISO 2022 change from one set of characters to another.
_SHIFTS = b"\x0e\x0f\x1b"

# A page says within this many bytes that it is one; most do in the first ten.
_BEGINNING_BYTES = 100_000
_is_page = re.compile(rb"<(?:!doctype\s+html|html|head|body|title|frameset)[\s/>]", re.I).search
# White space and byte order marks.
_NOTHING = b" \t\r\n\f\xef\xbb\xbf\xff\xfe"
# What may come before the first element, one at a time: a document is read once, whatever it holds.
_BEFORE_ROOT = re.compile(
    rb"[\s\xef\xbb\xbf\xff\xfe]+|<\?.*?\?>|<!--.*?-->|<!doctype[^>\[]*(?:\[.*?\]\s*)?>",
    re.I | re.S,
)
_ROOT = re.compile(rb"<([a-z_][^\s/>]*)", re.I)
# With these elements, a document without the declaration of XML is HTML, and with custom elements.
_HTML_TAGS = _HTML_4_TAGS | {"dialog", "main", "picture", "search", "slot", "template"}


# On a page of 50 MB, trafilatura took 1 GB of memory and over 10 seconds.
MAX_BODY_BYTES = 5 << 20


def why_not(settings: SimhashSettings, request: Request, response: Response) -> Reason | None:
    """Return the reason for which a page is not judged, None where it is.

    A request whose meta key ``simhash`` asks for a verdict gets one whatever ``SIMHASH_ONLY`` and
    ``SIMHASH_EXCEPT`` say.
    """
    wish = request.meta.get(META_KEY)
    if wish is False:
        return "opt_out"
    if wish is None:
        if request.method != "GET":
            return "method"
        if not is_chosen(settings, request, response.url):
            return "left_out"
    if not 200 <= response.status < 300:
        return "status"
    if not _is_html(response):
        return "not_html"
    if len(response.body) > MAX_BODY_BYTES:
        return "too_large"
    if wish is None and _is_fragment(response.body):
        return "not_html"
    if wish not in (None, True, *ACTIONS):
        return "bad_meta"
    return None


def is_chosen(settings: SimhashSettings, request: Request, url: str) -> bool:
    """Whether SIMHASH_ONLY and SIMHASH_EXCEPT let a page be judged."""
    only, but = settings.only, settings.except_
    if not only and not but:
        return True
    callback = callback_name(request)
    if any(rule.matches(url, callback) for rule in but):
        return False
    return not only or any(rule.matches(url, callback) for rule in only)


def _is_html(response: Response) -> bool:
    """Whether a response is HTML, by its class, or by its header or first bytes.

    XML and JSON that are sent as HTML are not.
    """
    if not isinstance(response, TextResponse) or isinstance(response, (JsonResponse, XmlResponse)):
        return False
    # Some download handlers return text of any kind as plain text.
    if not isinstance(response, HtmlResponse):
        start = response.body[:_SNIFFED_BYTES]
        kind = responsetypes.from_args(headers=response.headers, body=start)
        if not issubclass(kind, HtmlResponse):
            return False
    return _looks_like_text(response) and not _is_data(response.body)


def _looks_like_text(response: TextResponse) -> bool:
    """Whether a body that claims to be HTML can be; text in some encodings has binary bytes."""
    if response.encoding.startswith(("utf-16", "utf-32")):  # NULs
        return True
    start = response.body[:_SNIFFED_BYTES]
    if response.encoding.startswith(("iso2022", "iso-2022")):
        start = start.translate(None, _SHIFTS)
    return len(start.translate(None, _BINARY_BYTES)) == len(start)


def _is_data(body: bytes) -> bool:
    """Whether a body that is sent as HTML is JSON, or XML with another root than ``html``."""
    start = _beginning(body)
    at, is_declared = 0, False
    while found := _BEFORE_ROOT.match(start, at):
        at = found.end()
        is_declared |= found[0].startswith(b"<?xml")
    if start[at : at + 1] in (b"{", b"["):
        return True
    root = _ROOT.match(start, at)
    if root is None:
        return False
    name = root[1].decode("latin-1").lower()
    if is_declared:
        return name != "html"
    return name not in _HTML_TAGS and "-" not in name


def _is_fragment(body: bytes) -> bool:
    """Whether a body has content, but nothing that a page begins with."""
    start = _beginning(body)
    return not _is_page(start) and bool(start.strip(_NOTHING))


def _beginning(body: bytes) -> bytes:
    """Return the beginning of a body, in which markup looks the same in UTF-16 and UTF-32."""
    return body[:_BEGINNING_BYTES].replace(b"\0", b"")


class Policy:
    """Says what becomes of each judged page; ``SIMHASH_POLICY`` names a subclass.

    The default follows the settings and the request's meta key ``simhash``.  A subclass overrides
    :meth:`action` and calls ``super().action(...)`` where it does not mind.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.settings = active_settings(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def action(self, request: Request, response: Response, decision: Decision) -> Action:
        """Return ``"drop"``, ``"flag"`` or ``"pass"``.

        It is asked about every page with a verdict other than ``skipped``.  If it raises, or
        returns anything else, the page passes, and ``simhash/policy_errors`` counts it.
        """
        settings = self.settings
        wish = request.meta.get(META_KEY)
        if is_start_request(request) and wish not in ACTIONS:
            return "pass"
        if decision.reason == "wall":
            return "pass"
        action = _ACTION_TAKEN[wish if wish in ACTIONS else settings.action]
        if action == "drop" and is_inline(request) and wish != "drop":
            action = "flag"  # somebody waits for the page
        if settings.skip_unchanged and decision.is_unchanged and action == "drop":
            return "drop"
        return action if decision.is_duplicate else "pass"

    def takes_back(self, item: Any, response: Response) -> bool:
        """Return whether a kept page is taken back, since a pipeline dropped or failed on an item.

        Its next copy is then passed on: a pipeline may accept that one's item.
        """
        return True


class CarefulPolicy:
    """A policy whose mistakes cost no page."""

    def __init__(self, crawler: Crawler, policy: Policy) -> None:
        self._crawler = crawler
        self._policy = policy
        self._warning = RareWarning(logger, crawler)

    def action(self, request: Request, response: Response, decision: Decision) -> Action:
        """Return what the policy says, or ``"pass"`` if it fails."""
        try:
            action = self._policy.action(request, response, decision)
            if action not in get_args(Action):
                raise ValueError(f"{action!r} is no action")
        except Exception as exc:
            self._note(exc, f"Page passed, since SIMHASH_POLICY failed: {response.url}")
            return "pass"
        return action

    def takes_back(self, item: Any, response: Response) -> bool:
        """Return what the policy says, or true if it fails."""
        try:
            return self._policy.takes_back(item, response)
        except Exception as exc:
            self._note(exc, f"Page taken back, since SIMHASH_POLICY failed: {response.url}")
            return True

    def _note(self, exc: Exception, what: str) -> None:
        logger.debug("Error in SIMHASH_POLICY", exc_info=True)
        self._warning.log(f"{what}: {exc!r}")
        self._crawler.stats.inc_value("simhash/policy_errors")


def policy_of(settings: SimhashSettings, crawler: Crawler) -> CarefulPolicy:
    """Return the policy of a crawl.

    :raises SettingsError: ``SIMHASH_POLICY`` names none.
    """
    try:
        policy = build_from_crawler(load_object(settings.policy or Policy), crawler)
        for method in ("action", "takes_back"):
            if not callable(getattr(policy, method, None)):
                raise TypeError(f"it has no method {method!r}")
    except NotConfigured:
        raise
    except Exception as exc:
        raise SettingsError(
            f"SIMHASH_POLICY must be a class with the methods of scrapy_simhash.Policy, "
            f"or the import path of one: got {settings.policy!r} ({exc})"
        ) from exc
    return CarefulPolicy(crawler, cast("Policy", policy))


def is_inline(request: Request) -> bool:
    """Whether code waits for the answer: it sent the request by ``engine.download_async``."""
    return _INLINE_META_KEY in request.meta


def mark_inline_downloads(crawler: Crawler) -> None:
    """Mark the requests that are downloaded past the scheduler; to be called once there is one.

    Scrapy does not tell them from others.  Redirects keep the mark; it goes, as the decision on
    another page does, where a request with a copied meta is scheduled.
    """
    engine = crawler.engine
    if engine is None:
        return
    download = engine.download_async

    async def download_async(request: Request) -> Response:
        request.meta[_INLINE_META_KEY] = True
        return await download(request)

    engine.download_async = download_async  # type: ignore[method-assign]
    crawler.signals.connect(_unmark, scrapy_signals.request_scheduled)


def _unmark(request: Request) -> None:
    request.meta.pop(_INLINE_META_KEY, None)
    request.meta.pop(DECISION_META_KEY, None)
