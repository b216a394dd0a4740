"""Which pages are judged: the wishes of a request, and the settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml.html.defs import tags as _HTML_4_TAGS
from scrapy.http import HtmlResponse, JsonResponse, TextResponse, XmlResponse
from scrapy.responsetypes import responsetypes
from scrapy.utils.python import binary_is_text

from scrapy_simhash.crawl.requests import callback_name
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

# A page says that it is one within so many bytes; most do in the first ten.
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
        if wish is None and _is_fragment(response.body):
            return "not_html"
        if wish not in (None, True, *ACTIONS):
            return "bad_meta"
        return None

    def is_chosen(self, request: Request, url: str) -> bool:
        """Whether SIMHASH_ONLY and SIMHASH_EXCEPT let a page be judged."""
        only, but = self._settings.only, self._settings.except_
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
    return bool(start.strip(_NOTHING)) and not _is_page(start)


def _beginning(body: bytes) -> bytes:
    """Return the beginning of a body, in which markup looks the same in UTF-16 and UTF-32."""
    return body[:_BEGINNING_BYTES].replace(b"\0", b"")
