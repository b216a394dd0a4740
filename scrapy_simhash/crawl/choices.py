"""Which pages are judged: the wishes of a request, and the settings."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy.http import HtmlResponse, JsonResponse, TextResponse, XmlResponse
from scrapy.responsetypes import responsetypes
from scrapy.spiders import CrawlSpider
from scrapy.utils.python import binary_is_text

from scrapy_simhash.settings import ACTIONS, SimhashSettings

if TYPE_CHECKING:
    from scrapy.http import Request, Response

    from scrapy_simhash.rule.page import Reason

META_KEY = "simhash"

# As many bytes as Scrapy looks at to tell text from binary data, and the bytes that it takes for
# binary: looking at each by itself, as Scrapy does, took 0.1 ms a page.
_SNIFFED_BYTES = 5000
_BINARY_BYTES = bytes(byte for byte in range(256) if not binary_is_text(bytes([byte])))
# By these, the encodings of ISO 2022 change from one set of characters to another.
_SHIFTS = b"\x0e\x0f\x1b"


class Selection:
    """Chooses the pages that are judged: by ``SIMHASH_ONLY`` and ``SIMHASH_EXCEPT``, and by kind.

    A request whose meta key ``simhash`` asks for a verdict gets one whatever the two settings say.
    """

    def __init__(self, settings: SimhashSettings) -> None:
        self._settings = settings

    def why_not(self, request: Request, response: Response) -> Reason | None:
        """Return the reason for which a page is not judged, None where it is."""
        wish = request.meta.get(META_KEY)
        if wish is False:
            return "opt_out"
        if wish is None:
            if request.method != "GET":
                return "method"
            if not self.is_chosen(request, response.url):
                return "left_out"
        if not 200 <= response.status < 300:
            return "status"
        if not _is_html(response):
            return "not_html"
        if len(response.body) > self._settings.max_body_bytes:
            return "too_large"
        if wish not in (None, True, *ACTIONS):
            return "bad_meta"
        return None

    def is_chosen(self, request: Request, url: str) -> bool:
        """Whether SIMHASH_ONLY and SIMHASH_EXCEPT let a page be judged."""
        only, but = self._settings.only, self._settings.except_
        if not only and not but:
            return True
        callback = _callback_name(request)
        if any(rule.matches(url, callback) for rule in but):
            return False
        return not only or any(rule.matches(url, callback) for rule in only)


def _callback_name(request: Request) -> str:
    """Return the name of a request's callback; that of a CrawlSpider's rule if it came by one."""
    callback: Any = request.callback
    if isinstance(spider := getattr(callback, "__self__", None), CrawlSpider):
        rule = request.meta.get("rule")
        if callback == spider._callback and isinstance(rule, int):
            callback = spider._rules[rule].callback
    while isinstance(callback, partial):
        callback = callback.func
    return getattr(callback, "__name__", "parse")


def jar_of(request: Request) -> str:
    """Return the name of a request's cookie jar; empty for the one that all others share."""
    jar = request.meta.get("cookiejar")
    return "" if jar is None else str(jar)


def is_start_request(request: Request) -> bool:
    """Whether a request is one that the crawl starts from.

    Scrapy marks those in their meta; where a spider copies the meta of a response into its
    requests, the mark comes along, but then their depth is above 0.
    """
    return bool(request.meta.get("is_start_request")) and not request.meta.get("depth")


def _is_html(response: Response) -> bool:
    """Whether a response is HTML, by its class, or by its header or first bytes."""
    if isinstance(response, HtmlResponse):
        return _looks_like_text(response)
    # Some download handlers return text of any kind as plain text.
    if not isinstance(response, TextResponse) or isinstance(response, (JsonResponse, XmlResponse)):
        return False
    start = response.body[:_SNIFFED_BYTES]
    kind = responsetypes.from_args(headers=response.headers, body=start)
    return issubclass(kind, HtmlResponse) and _looks_like_text(response)


def _looks_like_text(response: TextResponse) -> bool:
    """Whether a body that claims to be HTML can be; text in some encodings has binary bytes."""
    if response.encoding.startswith(("utf-16", "utf-32")):  # NULs
        return True
    start = response.body[:_SNIFFED_BYTES]
    if response.encoding.startswith(("iso2022", "iso-2022")):
        start = start.translate(None, _SHIFTS)
    return len(start.translate(None, _BINARY_BYTES)) == len(start)
