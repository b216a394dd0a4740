"""What a request says of its page: who asks, what for, how deep, and by which redirects.

A page is what its callback gets: a kept page stands only for the pages of requests that the spider
treats alike.  At the end, the requests that the plug-in sends by itself.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import re
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Set
from contextlib import suppress
from copy import copy
from dataclasses import replace
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from hashlib import blake2b
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType, MethodType
from typing import Any, NamedTuple
from uuid import UUID
from weakref import WeakKeyDictionary

from itemadapter import ItemAdapter
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.spiders import CrawlSpider
from scrapy.utils.request import RequestFingerprinter, request_from_dict
from w3lib.http import basic_auth_header

from scrapy_simhash.crawl.known_addresses import KnownAddresses
from scrapy_simhash.crawl.reach import ASKED_SLOTS, Party
from scrapy_simhash.decision.page import PURPOSE_BYTES, Decision
from scrapy_simhash.settings import TEXT, SimhashSettings

logger = logging.getLogger(__name__)

# Keys of Request.meta that say how a page is fetched, or what happened on the way: those of
# Scrapy's documentation ("Request.meta special keys"), what its middlewares add, and those of
# plug-ins for rendering, sessions and proxies.  docs/settings.md lists them.
_NOT_FOR_THE_CALLBACK = frozenset(
    """
    allow_offsite autothrottle_dont_adjust_delay bindaddress cache_timestamp cached_response
    cookiejar depth depth_reset dont_cache dont_merge_cookies dont_obey_robotstxt dont_redirect
    dont_retry download_fail_on_dataloss download_latency download_maxsize download_slot
    download_timeout download_warnsize ftp_local_filename ftp_passive ftp_password ftp_user
    give_up_log_level handle_httpstatus_all handle_httpstatus_list http_auth_domain http_pass
    http_user is_secure is_start_request max_retry_times priority_adjust proxy
    redirect_reasons redirect_times redirect_ttl redirect_urls referrer_policy retry_times
    verbatim_url
    _auth_proxy _dont_cache _rotating_proxy _scheme_proxy ban bans max_proxies_to_try
    proxy_retry_times
    curl_cffi_options deltafetch_enabled deltafetch_key frontier_fingerprint inject
    """.split()  # noqa: SIM905 - one name a line would be a page
)
# What a CrawlSpider adds; keys of that name are other spiders' own.
_OF_RULES = ("rule", "link_text")
# With these, a browser or a service gets the page, which may be more than its document.
RENDERING = ("autoextract", "playwright", "selenium", "splash", "zyte")
_PREFIXES = (*RENDERING, "simhash", "crawlera", "impersonate", "wayback_machine")

# Of one request, at most this many values and characters are read: under a millisecond.  One that
# has more counts as different from all others.
MOST_VALUES = 2_000
MOST_CHARACTERS = 500_000

# The pages that led to a request, the last first: the scope of each, and its request fingerprint in
# hexadecimal digits.
LED_FROM_META_KEY = "simhash_led_from"
# Who asks, for a request that is redirected.
ASKER_META_KEY = "simhash_asker"
# Scrapy's RedirectMiddleware and MetaRefreshMiddleware: the addresses before the last one.
REDIRECT_URLS = "redirect_urls"
COPIED_META_KEY = "simhash_copied_redirects"
_OF_REDIRECTS = (
    *(REDIRECT_URLS, "redirect_times", "redirect_ttl", "redirect_reasons"),
    COPIED_META_KEY,
)
# The facts of a request that was parked: by then, other middlewares have added to it.
FACTS_META_KEY = "simhash_facts"

# Headers that say who or where a client is, or how an answer comes; of others, the values that all
# requests have do not count.
_OF_THE_CLIENT = frozenset(
    """
    accept accept-encoding cache-control connection content-length content-type dnt forwarded
    if-match if-modified-since if-none-match if-range if-unmodified-since keep-alive origin pragma
    priority referer te upgrade-insecure-requests user-agent via
    """.split()  # noqa: SIM905 - one name a line would be a page
)
_CLIENT_PREFIXES = ("sec-", "proxy-", "x-forwarded-", "x-crawlera-", "zyte-", "x-request-")
# Keys in the meta of requests that do more than ask for a page: scrapy-playwright then leaves the
# page of the browser open for the callback, or clicks in it.
ONE_TIME_KEYS = frozenset(
    ("playwright_include_page", "playwright_page", "playwright_page_methods", "splash", "zyte_api")
)
BROWSER_PAGE_KEY = "playwright_page"
# A browser closes a page in milliseconds, unless it hangs or is gone.
CLOSE_SECONDS = 5.0
# Of the plug-in's own requests, whose answers reach no spider: the number of each.
OWN_META_KEY = "simhash_own"
# In the meta of a request that is no GET, and of what it is redirected to: another body was sent.
POSTED_META_KEY = "simhash_posted"
# Of the plug-in's own requests, above others: other pages, or other requests, wait for the answer.
PRIORITY = 10

_HALF = PURPOSE_BYTES // 2
_NOTHING = bytes(_HALF)
_PLAIN = (bool, int, float, complex, Decimal, date, time, timedelta, UUID, PurePath, type(None))
_BUILT_IN = (str, bytes, bytearray, list, tuple, dict)

# The log says that requests keep copies apart if they do so for over half of this many variants.
VARIANTS_SEEN = 20
# It says that each request seems to come from somebody else if this many of the first do.
ASKERS_SEEN = 50
# The keys and the distinct values of each that are remembered for it.
MOST_KEYS = 100
MOST_DISTINCT = 1_000
# The keys that a decision names.
MOST_TOLD = 5


class Facts(NamedTuple):
    """The facts of a request that its page is judged by.

    *asker* names who asks, empty for anybody; *purpose* is a hash of what the callback gets beside
    the page, 16 bytes, None for the default callback without anything; *levels* is how many levels
    below the page ``DEPTH_LIMIT`` lets requests go, None without a limit.
    """

    asker: str
    purpose: bytes | None
    levels: int | None

    @property
    def party(self) -> str:
        """What two requests have in common of which one page may serve both; empty for most."""
        if self.purpose is None and self.levels is None:
            return self.asker
        purpose = "" if self.purpose is None else self.purpose.hex()
        return f"{self.asker} {purpose} {'' if self.levels is None else self.levels}"


class RequestFacts:
    """Reads the facts of requests as the spider made them.

    They are read when a request is on its way out, before other middlewares add to it, and
    remembered for its answer.  Of the values that it has then, those count that it has when the
    answer comes: a callback may share them with other requests, and change them.
    """

    def __init__(self, crawler: Crawler, settings: SimhashSettings) -> None:
        self.crawler = crawler
        added = _OF_RULES if issubclass(crawler.spidercls, CrawlSpider) else ()
        self._ignored_by_name = {*settings.ignore_meta}
        self._ignored_in_meta = _NOT_FOR_THE_CALLBACK.union(settings.ignore_meta, added)
        no_headers = {name.lower() for name in settings.ignore_meta} | {*settings.identity_headers}
        self._not_asked_by = _OF_THE_CLIENT | no_headers | {"authorization", "cookie"}
        defaults = crawler.settings.getdict("DEFAULT_REQUEST_HEADERS")
        self._defaults = {str(name).lower(): str(value) for name, value in defaults.items()}
        self._text_only = settings.takes == TEXT
        self._identity_headers = settings.identity_headers
        self._merges_cookies = crawler.settings.getbool("COOKIES_ENABLED")
        self._depth_limit = crawler.settings.getint("DEPTH_LIMIT")  # 0: none
        self._known: WeakKeyDictionary[Request, Facts] = WeakKeyDictionary()
        # The names of the values that requests had when they were sent, if any.
        self._names: WeakKeyDictionary[Request, Set[str]] = WeakKeyDictionary()
        # The requests that callbacks make with dont_filter, and those that they make again.
        self._made = KnownAddresses(ASKED_SLOTS)
        # The callbacks that have made requests.
        self._leading: set[bytes] = {_NOTHING}

    def of(self, request: Request) -> Facts:
        """Return the facts of a request, as they were when it was sent."""
        return self._known.get(request) or self.read(request)

    def read(self, request: Request) -> Facts:
        """Read the facts of a request that is sent; 4 us, 20 us with an item of five fields."""
        if (known := request.meta.get(FACTS_META_KEY)) is not None:
            facts = Facts(*known)
        else:
            left = self._depth_limit - request.meta.get("depth", 0)
            levels = max(0, left) if self._depth_limit else None
            facts = Facts(self._asker(request), self._purpose(request), levels)
        self._known[request] = facts
        return facts

    def note_made(self, request: Request, response: Response) -> None:
        """Note a request that a callback makes of its page; 20 us if it has ``dont_filter``."""
        if response.request is not None and len(self._leading) < MOST_KEYS:
            self._leading.add(self._callback(response.request))
        if request.dont_filter:
            name = self._name(request)
            self._made.add([f"{name} again" if name in self._made else name])

    def is_poll(self, request: Request) -> bool:
        """Whether callbacks have asked for a page more than once on purpose, as far as is known."""
        return request.dont_filter and f"{self._name(request)} again" in self._made

    def asking(self, request: Request) -> int | None:
        """Return who gets no second answer from where a request goes, by a link; 20 us, most 1 us.

        It is 0 if nobody does, by Scrapy's filter, None if anybody does, and otherwise what those
        have in common whose requests have a fingerprint like this one, and unlike that of a link.
        """
        if request.dont_filter or request.method != "GET":
            return None
        try:
            is_scrapys = type(self.crawler.request_fingerprinter) is RequestFingerprinter
            if is_scrapys and not request.body:
                return 0
            if self._name(request) == self._name(Request(request.url)):
                return 0
        except Exception:  # a fingerprinter of the user's, say
            return None
        facts = self.of(request)
        return Party(facts.asker, facts.purpose).asking

    def with_answer(self, request: Request, response: Response) -> Facts:
        """Return the facts of a request that are known by its answer.

        A middleware may have set another callback.  If the server remembers a part of the address
        in a cookie, what the spider asks for next depends on it.
        """
        facts = self.of(request)
        before = facts.purpose or bytes(PURPOSE_BYTES)
        callback, rest = _Hasher(self.crawler.spider).of_callback(request), before[_HALF:]
        if names := self._names.get(request):
            values = {name: value for name, value in self.values(request) if name in names}
            rest = self.hash_of(values)
        if cookies := response.headers.getlist("Set-Cookie"):
            parts = set(re.split(r"[/?&=;]", request.url)) - {""}
            pairs = (cookie.decode("latin-1").partition(";")[0].strip() for cookie in cookies)
            if told := [pair for pair in pairs if pair.partition("=")[2] in parts]:
                rest = self.hash_of([rest, told])
        purpose = callback + rest
        return facts if purpose == before else facts._replace(purpose=purpose)

    def hash_of(self, value: Any) -> bytes:
        """Return 8 bytes that equal values share, in every process; a value may be like no other.

        Of functions, their code and what they hold count, of the methods of the spider their class
        and name.
        """
        return _Hasher(self.crawler.spider).of(value)

    def told(self, request: Request, decision: Decision) -> Decision:
        """Return a decision with the names of what its request gives to the callback."""
        if decision.reason != "other_request":
            return decision
        texts = {"callback": callback_name(request)}
        names = [name for name, _ in self.values(request)]
        if self.is_poll(request):
            names.insert(0, "asked for more than once")
        texts["meta"] = ", ".join(names[:MOST_TOLD])
        new = tuple(one._replace(text=texts.get(one.place, one.text)) for one in decision.new)
        return replace(decision, new=new)

    def leads_on(self, request: Request) -> bool:
        """Whether requests for the links of a page are sent, as far as is known.

        Scrapy cuts them at a depth, and a callback that has made no request takes items alone.
        """
        if self._depth_limit and request.meta.get("depth", 0) >= self._depth_limit:
            return False
        return len(self._leading) == MOST_KEYS or self._callback(request) in self._leading

    def _callback(self, request: Request) -> bytes:
        purpose = self.of(request).purpose
        return _NOTHING if purpose is None else purpose[:_HALF]

    def values(self, request: Request) -> Iterator[tuple[str, Any]]:
        """Yield the names and values that the callback of a request gets beside the page."""
        for name, value in request.cb_kwargs.items():
            if name not in self._ignored_by_name:
                yield f"cb_kwargs[{name!r}]", value
        for name, value in request.meta.items():
            is_prefixed = isinstance(name, str) and name.startswith(_PREFIXES)
            if name in self._ignored_in_meta or is_prefixed:
                continue
            yield f"meta[{name!r}]", value
        if request.flags:
            yield "flags", request.flags
        if request.body and request.method == "GET":
            yield "body", request.body
        for name, value in self._headers(request):
            yield f"headers[{name!r}]", value

    def _headers(self, request: Request) -> Iterator[tuple[str, Any]]:
        """Yield the headers that a page may depend on, and that the user has set for a request."""
        for raw, values in (request.headers or {}).items():
            name = raw.decode("latin-1").lower()
            if name in self._not_asked_by or name.startswith(_CLIENT_PREFIXES):
                continue
            if values != [self._defaults.get(name, "").encode()]:
                yield name, values

    def _name(self, request: Request) -> str:
        fingerprinter = self.crawler.request_fingerprinter
        return fingerprinter.fingerprint(request).hex()

    def _purpose(self, request: Request) -> bytes | None:
        hasher = _Hasher(self.crawler.spider)
        callback = hasher.of_callback(request)
        rest = _NOTHING
        if not self._text_only and (values := dict(self.values(request))):
            self._names[request] = {*values}
            rest = hasher.of(values)
        return None if callback is rest is _NOTHING else callback + rest

    def _asker(self, request: Request) -> str:
        jar = request.meta.get("cookiejar")
        asker = "" if jar is None else str(jar)
        if redirects_in(request.meta):  # Scrapy has taken cookies off on the way
            return str(request.meta.get(ASKER_META_KEY, asker))
        told = b"\n".join(self._identity(request))
        if not told:
            request.meta.pop(ASKER_META_KEY, None)
            return asker
        asker = f"{asker} {blake2b(told, digest_size=_HALF).hexdigest()}"
        request.meta[ASKER_META_KEY] = asker
        return asker

    def _identity(self, request: Request) -> Iterator[bytes]:
        """Yield what the user has set in a request to be somebody.

        What Scrapy's middlewares set is left out: a request that is tried again has it at once.
        """
        # Most have none yet, and each look takes 1 us.
        headers: Any = request.headers or {}
        for name in self._identity_headers:
            value = headers.get(name)
            if name == "authorization":
                if user := request.meta.get("http_user"):
                    value = str(user).encode()
                elif value is not None and value == self._auth_of_all():
                    value = None
            elif name == "cookie":
                merges = self._merges_cookies and not request.meta.get("dont_merge_cookies")
                value = None if merges else value
                if request.cookies:
                    value = self.hash_of(request.cookies)
            if value:
                yield name.encode() + value

    def _auth_of_all(self) -> bytes | None:
        """Return the header that Scrapy gives to all requests."""
        settings, spider = self.crawler.settings, self.crawler.spider
        user = getattr(spider, "http_user", "") or settings.get("HTTPAUTH_USER", "")
        password = getattr(spider, "http_pass", "") or settings.get("HTTPAUTH_PASS", "")
        return basic_auth_header(user, password) if user or password else None


class _UnknownError(Exception):
    """A value that cannot be compared with others."""


class _Hasher:
    """Hashes the values of one request, the same in every process: 8 bytes each.

    A value of an unknown kind gets a hash that no other value has.
    """

    def __init__(self, spider: Spider | None) -> None:
        self._spider = spider
        self._values = MOST_VALUES
        self._characters = MOST_CHARACTERS

    def of(self, value: Any) -> bytes:
        try:
            return self._hash(value)
        except Exception:  # an item of the user's may do anything
            return secrets.token_bytes(_HALF)

    def of_callback(self, request: Request) -> bytes:
        """Return the hash of a request's callback; all zero for the one that is the default."""
        try:
            return self._of_callback(request)
        except Exception:  # a rule that a resumed job has no more, say
            return secrets.token_bytes(_HALF)

    def _of_callback(self, request: Request) -> bytes:
        callback, spider = request.callback, self._spider
        if isinstance(spider, CrawlSpider):
            number = request.meta.get("rule")
            if callback == spider._callback and isinstance(number, int):
                rule = spider._rules[number]
                if rule.callback is None and rule.follow and not rule.cb_kwargs:
                    return _NOTHING
                return self._hash([rule.callback, rule.follow, rule.cb_kwargs])
            if callback in (None, spider._parse):
                starts = type(spider).parse_start_url, type(spider).process_results
                is_plain = starts == (CrawlSpider.parse_start_url, CrawlSpider.process_results)
                return _NOTHING if is_plain else self._hash("parse_start_url")
        if callback is None or callback == getattr(spider, "parse", None):
            return _NOTHING
        return self._hash(callback)

    def _hash(self, value: Any) -> bytes:
        self._values -= 1
        kind, data = self._parts(value)
        self._characters -= len(data)
        if self._values < 0 or self._characters < 0:
            raise _UnknownError
        return blake2b(data, digest_size=_HALF, person=kind.encode()[:16]).digest()

    def _parts(self, value: Any) -> tuple[str, bytes]:
        """Return the kind of a value and the bytes in which it differs from others of this kind."""
        if isinstance(value, str):
            return "text", value.encode("utf-8", "surrogatepass") + self._of_class(value)
        if isinstance(value, (bytes, bytearray)):
            return "bytes", bytes(value) + self._of_class(value)
        if isinstance(value, _PLAIN):
            said = repr(value).encode("utf-8", "surrogatepass")
            return type(value).__name__, said + self._attributes(value)
        if isinstance(value, Enum):
            return "enum", self._joined([type(value), value.name])
        if isinstance(value, (list, tuple)):
            return "list", self._joined(value) + self._of_class(value)
        if isinstance(value, Set):
            return "set", b"".join(sorted(map(self._hash, value)))
        if value is self._spider:
            return "spider", b""
        if isinstance(value, dict):
            return "mapping", self._pairs(value.items()) + self._of_class(value)
        if ItemAdapter.is_item(value):
            fields = ItemAdapter(value)
            name = self._hash(type(value))
            return "item", name + self._pairs(fields.items()) + self._attributes(value, fields)
        if isinstance(value, Mapping):
            return "mapping", self._pairs(value.items())
        if isinstance(value, type):
            return "class", f"{value.__module__}.{value.__qualname__}".encode()
        if isinstance(value, MethodType):
            owner = value.__self__
            of = None if owner is self._spider else owner
            return "method", self._joined([of, _place_of(value.__func__, type(owner))])
        if isinstance(value, partial):
            return "partial", self._joined([value.func, value.args, value.keywords])
        if isinstance(value, BuiltinFunctionType):
            return "built-in", value.__qualname__.encode()
        if isinstance(value, FunctionType):
            return "function", self._joined(_parts_of_function(value))
        if isinstance(value, CodeType):
            consts = [one for one in value.co_consts if not isinstance(one, EllipsisType)]
            return "code", self._joined([value.co_code, value.co_names, consts])
        raise _UnknownError

    def _of_class(self, value: Any) -> bytes:
        """Return the class of a value that is of no built-in one, and what it holds as such."""
        if type(value) in _BUILT_IN:
            return b""
        return self._hash(type(value)) + self._attributes(value)

    def _attributes(self, value: Any, fields: Collection[str] = ()) -> bytes:
        """Return what a value of a user's class holds beside its fields; what is private is not."""
        held = getattr(value, "__dict__", {}).items()
        own = (one for one in held if one[0] not in fields and not str(one[0]).startswith("_"))
        return self._pairs(own)

    def _joined(self, values: Iterable[Any]) -> bytes:
        return b"".join(map(self._hash, values))

    def _pairs(self, items: Iterable[tuple[Any, Any]]) -> bytes:
        return b"".join(sorted(self._hash(name) + self._hash(value) for name, value in items))


def _place_of(function: Any, kind: type) -> Any:
    """Return the class and the name under which objects of a kind have a method.

    The method's own name may be that of one it overrides, or what a decorator calls all.  If no
    class has it, the function itself tells it from others.
    """
    for one in kind.__mro__:
        for name, value in vars(one).items():
            if value is function:
                return f"{one.__qualname__}.{name}"
    return function


def _parts_of_function(function: FunctionType) -> list[Any]:
    """Return all in which a function differs from others: it may hold values."""
    code = function.__code__
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    name = f"{function.__module__}.{function.__qualname__}"
    defaults = function.__defaults__, function.__kwdefaults__
    return [name, code.co_firstlineno, code, *defaults, held]


class RequestVariants:
    """Logs once in what requests differ, if that alone makes most variants of a crawl, or all."""

    def __init__(self, facts: RequestFacts) -> None:
        self._facts = facts
        self._variants = self._by_request = 0
        self._distinct: defaultdict[str, set[bytes]] = defaultdict(set)
        self._is_said = False
        self._askers: list[str] = []

    def note(self, request: Request, decision: Decision) -> None:
        """Note the decision on the page of a request."""
        asker = self._facts.of(request).asker
        if asker and len(self._askers) < ASKERS_SEEN:
            self._askers.append(asker)
            if len(self._askers) == len({*self._askers}) == ASKERS_SEEN:
                logger.info(
                    "Each request has another cookie jar, or other headers of those that say who "
                    "asks, so no page has a copy. If a header is a signature, leave it out of "
                    "SIMHASH_IDENTITY_HEADERS",
                    extra={"spider": self._facts.crawler.spider},
                )
        if decision.verdict != "variant" or self._is_said:
            return
        self._variants += 1
        if decision.reason != "other_request" or self._facts.is_poll(request):
            return
        self._by_request += 1
        for name, value in self._differing(request, decision):
            seen = self._distinct[name] if len(self._distinct) < MOST_KEYS else set()
            if len(seen) < MOST_DISTINCT:
                seen.add(self._facts.hash_of(value))
        if self._variants >= VARIANTS_SEEN and 2 * self._by_request > self._variants:
            self._is_said = True
            distinct = self._distinct
            differs = max(distinct, key=lambda name: len(distinct[name]), default="a cookie")
            advice = ". If the spider does not mind, name it in SIMHASH_IGNORE_META"
            logger.info(
                "Most copies passed since their requests differ, most in %(what)s: %(pages)d of "
                "%(variants)d variants%(advice)s",
                {
                    "what": differs,
                    "pages": self._by_request,
                    "variants": self._variants,
                    "advice": advice if differs.endswith("]") else "",
                },
                extra={"spider": self._facts.crawler.spider},
            )

    def _differing(self, request: Request, decision: Decision) -> Iterator[tuple[str, Any]]:
        """Yield the names and values in which a request may differ from that of the kept page."""
        places = {one.place for one in decision.new}
        if "depth" in places:
            yield "the depth", request.meta.get("depth")
            return
        if "callback" in places:
            yield "the callback", request.callback
        yield from self._facts.values(request)


def callback_name(request: Request) -> str:
    """Return the name of a request's callback; that of a CrawlSpider's rule if it came by one."""
    callback: Any = request.callback
    if isinstance(spider := getattr(callback, "__self__", None), CrawlSpider):
        rule = request.meta.get("rule")
        if callback == spider._callback and isinstance(rule, int):
            callback = spider._rules[rule].callback
    while isinstance(callback, partial):
        callback = callback.func
    return getattr(callback, "__name__", "parse")


def is_start_request(request: Request) -> bool:
    """Whether a request is one that the crawl starts from.

    Scrapy marks those in their meta; where a spider copies the meta of a response into its
    requests, the mark comes along, but then their depth is above 0.
    """
    return bool(request.meta.get("is_start_request")) and not request.meta.get("depth")


def redirects_in(meta: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the addresses that were redirected, in order; each one led to the next."""
    urls = meta.get(REDIRECT_URLS)
    if not isinstance(urls, list):
        return ()
    return tuple(map(str, urls[meta.get(COPIED_META_KEY, 0) :]))


def mark_posted(request: Request) -> None:
    """Note in the meta of a request whether the address that it began at asks for its page."""
    if request.method != "GET":
        request.meta[POSTED_META_KEY] = True
    elif not redirects_in(request.meta):  # the meta may be copied from another page
        request.meta.pop(POSTED_META_KEY, None)


def from_its_beginning(request: Request) -> dict[str, Any]:
    """Return the *changes* (:func:`copied`) that undo the redirects of a request, if that is a GET.

    What they led to may have been for once, or a form to log in.
    """
    redirects = redirects_in(request.meta)
    if not redirects or POSTED_META_KEY in request.meta:
        return {"meta": request.meta}
    own = {name: value for name, value in request.meta.items() if name not in _OF_REDIRECTS}
    return {"url": redirects[0], "meta": own}


def mark_copied(meta: MutableMapping[str, Any]) -> None:
    """Note that the redirects in *meta*, of a request not yet sent, belong to another page.

    Spiders copy the meta of a response into its links, and Scrapy adds new redirects to the copy.
    """
    if urls := meta.get(REDIRECT_URLS):
        meta[COPIED_META_KEY] = len(urls)
    else:
        meta.pop(COPIED_META_KEY, None)


def copied(request: Request, **changes: Any) -> Request:
    """Return a copy of a request with *changes*; of a class of the user's, with all that it holds.

    Its ``replace`` would make a new one, which may want other arguments, or forget something.
    """
    own = copy(request)
    plain = Request(**{name: getattr(request, name) for name in Request.attributes} | changes)
    state = plain.__reduce_ex__(4)[2]
    for part in filter(None, state if isinstance(state, tuple) else (state,)):
        for name, value in part.items():
            setattr(own, name, value)
    return own


def stored(crawler: Crawler, request: Request, **meta: Any) -> bytes | None:
    """Return a request with more *meta* as bytes, None if its callback is not the spider's, say."""
    try:
        values = request.to_dict(spider=crawler.spider)
        values["meta"] = {**request.meta, **meta}
        return pickle.dumps(values, protocol=4)
    except Exception:
        logger.debug("%s cannot be stored", request, exc_info=True)
        return None


def restored(crawler: Crawler, data: bytes) -> Request | None:
    """Return a stored request; None, with a warning, if the spider has lost its callback, say."""
    values: dict[str, Any] = {}
    try:
        values = pickle.loads(data)  # noqa: S301 - Scrapy unpickles the other files of a job, too
        return request_from_dict(values, spider=crawler.spider)
    except Exception:
        logger.warning("A stored request cannot be sent: %s", values.get("url"), exc_info=True)
        return None


def ask(crawler: Crawler, request: Request) -> bool:
    """Give a request to the crawl's scheduler; return whether it took it."""
    if crawler.engine is None:
        return False
    try:
        crawler.engine.crawl(request)
    except Exception:  # a scheduler of the user's, say: nothing of the crawl is lost
        logger.debug("%s was not asked for", request, exc_info=True)
        return False
    return True


def ask_for_us(crawler: Crawler, request: Request, url: str) -> str | None:
    """Ask for *url* as *request* was asked for, but before others; return a number, if it is taken.

    The number is in the request's meta, under :data:`OWN_META_KEY`.  By it, the middleware knows
    the answer, which ends there.  A request that does more than ask for a page is not sent.
    """
    if not ONE_TIME_KEYS.isdisjoint(request.meta):
        return None
    number = secrets.token_hex(8)
    own = copied(
        request,
        url=url,
        callback=None,  # which any scheduler can store
        errback=None,
        dont_filter=True,
        priority=request.priority + PRIORITY,
        meta={**request.meta, OWN_META_KEY: number, "dont_cache": True, "dont_retry": True},
    )
    return number if ask(crawler, own) else None


async def close_browser_page(request: Request) -> bool:
    """Close the page of a browser that waits for a callback which will not come.

    Return whether that took less than :data:`CLOSE_SECONDS`.
    """
    page = request.meta.get(BROWSER_PAGE_KEY)
    if page is None:
        return True

    async def closed() -> None:
        with suppress(Exception):  # it may be closed already
            await page.close()

    # Not wait_for, which waits for what it cancels.
    closing = asyncio.ensure_future(closed())
    done, _ = await asyncio.wait({closing}, timeout=CLOSE_SECONDS)
    closing.cancel()
    return bool(done)
