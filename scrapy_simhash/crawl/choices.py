"""Which pages are judged, and what becomes of them: the wishes of a request, and the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse
from scrapy.utils.python import binary_is_text

from scrapy_simhash.settings import ACTIONS, SimhashSettings

if TYPE_CHECKING:
    from scrapy.http import Request, Response

    from scrapy_simhash.report.record import Action
    from scrapy_simhash.rule.page import Decision, Reason

META_KEY = "simhash"

_ACTION_TAKEN: dict[str, Action] = {"drop": "drop", "flag": "flag", "observe": "pass"}

# As many bytes as Scrapy looks at to tell text from binary data, and the bytes that it takes for
# binary: looking at each by itself, as Scrapy does, took 0.1 ms a page.
_SNIFFED_BYTES = 5000
_BINARY_BYTES = bytes(byte for byte in range(256) if not binary_is_text(bytes([byte])))


def why_not(request: Request, response: Response, settings: SimhashSettings) -> Reason | None:
    """Return the reason for which a page is not judged, None where it is."""
    wish = request.meta.get(META_KEY)
    if wish is False:
        return "opt_out"
    if request.method != "GET" and wish is None:
        return "method"
    if not 200 <= response.status < 300:
        return "status"
    if not isinstance(response, HtmlResponse) or not _looks_like_text(response):
        return "not_html"
    if len(response.body) > settings.max_body_bytes:
        return "too_large"
    if wish not in (None, True, *ACTIONS):
        return "bad_meta"
    return None


def action_on(decision: Decision, request: Request, settings: SimhashSettings) -> Action:
    """Return what becomes of a judged page."""
    if settings.protect_start_requests and is_start_request(request):
        return "pass"
    if decision.reason == "wall":
        return "pass"
    wish = request.meta.get(META_KEY)
    action = _ACTION_TAKEN[wish if wish in ACTIONS else settings.action]
    if settings.skip_unchanged and decision.is_unchanged and action == "drop":
        return "drop"
    return action if decision.is_duplicate else "pass"


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


def _looks_like_text(response: HtmlResponse) -> bool:
    """Whether a body that claims to be HTML can be; UTF-16 and UTF-32 text holds NULs."""
    if response.encoding.startswith(("utf-16", "utf-32")):
        return True
    start = response.body[:_SNIFFED_BYTES]
    return len(start.translate(None, _BINARY_BYTES)) == len(start)
