"""Walls: texts that stand in for pages, such as a login form, a captcha, or a ban."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from weakref import WeakSet

from cachetools import FIFOCache
from scrapy import Spider
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.http import Request, Response
from scrapy.utils.job import job_dir
from scrapy.utils.misc import load_object

from scrapy_simhash.crawl import signals
from scrapy_simhash.crawl.known_addresses import KnownAddresses
from scrapy_simhash.crawl.requests import (
    ask,
    callback_name,
    copied,
    from_its_beginning,
    redirects_in,
    restored,
    stored,
)
from scrapy_simhash.decision.page import Decision, Page
from scrapy_simhash.hashes import hash_of
from scrapy_simhash.pipeline import Fetched
from scrapy_simhash.report.alarms import Alarm
from scrapy_simhash.report.counting import Heaviest
from scrapy_simhash.urls import MAX_URL, Address, general_folder, section_of

# The pages that a request came from by forms, or by requests that Scrapy would not send twice by
# itself: their request fingerprints.
ORIGINS_META_KEY = "simhash_origins"
MOST_ORIGINS = 6
# In a request that is sent again since its page was dropped for one that says nothing of it, how
# often it was: where callbacks fail on every page, at most so often.
ASKED_AGAIN_META_KEY = "simhash_asked_again"
MOST_ASKED = 3
# Of each, the oldest is forgotten first.
MAX_WALLS = 1_000
MAX_JUDGED = 10_000
MAX_DROPPED = 1_000
MAX_DROPPED_BODY = 64_000  # bytes, compressed
MAX_TAKEN_BACK = 1_000
# A pipeline that drops items of copies, too, does not mind which one it gets: of the last pages
# that were asked for again, it has of more than so many, and of more than this share.
LATE_ANSWERS = 50
MOST_IN_VAIN = 10
IN_VAIN_SHARE = 0.9
# Of the requests of a spider that asks for some pages again, at most this share does.
MOST_UNFILTERED = 0.5
# The value of a parameter that is to get past a cache is random, or a time.  A number of a page is
# shorter; so is a counter, which tells only where the text was met in place of other pages.
RANDOM_LENGTH = 5

# A parameter or segment tells pages apart if so many pages differ in it alone, and if hardly any
# text was met at two addresses that do: at so many, and a share of the pages.  Fewer pages are
# enough where this text was met at as many addresses.
TELLING_PAGES = 10
FEW_TELLING_PAGES = 5
REPEATED_TEXTS = 1
REPEATED_SHARE = 0.02
PLACES = 1_000
MAX_REPEATED = 1_000
GROUP_SLOTS = 1 << 20
# What is known of walls in a crawl, also by the run that resumes its job.
LASTING = ("_walls", "_told", "_text_of", "_asked_as", "_places", "_requests", "_unfiltered")
# Of an address, so many parameters and segments are looked at.
MOST_PLACES = 8


@dataclass(slots=True)
class _Place:
    """How many pages differ in one part of their address alone, and which texts do not.

    *addresses* are those at which the first of these texts were met, as hashes.
    """

    pages: int = 0
    repeated: set[int] = field(default_factory=set)
    addresses: set[int] = field(default_factory=set)

    @property
    def tells(self) -> bool:
        is_common = len(self.addresses) >= FEW_TELLING_PAGES
        least = FEW_TELLING_PAGES if is_common else TELLING_PAGES
        most = REPEATED_TEXTS + REPEATED_SHARE * self.pages
        return self.pages >= least and len(self.repeated) <= most


class TellingPlaces:
    """The parameters and segments of addresses that tell the pages of a site apart.

    A session id does not: pages that differ in it differ elsewhere, too.  A number of a page does:
    if the text of one is met under other numbers all at once, it stands in for their pages.

    Cost of a page: 1 us for each of at most :data:`MOST_PLACES` parts of its address.
    """

    def __init__(self, places: Heaviest[str, _Place] | None = None) -> None:
        self._groups = KnownAddresses(GROUP_SLOTS)
        self._places = Heaviest(PLACES, _Place) if places is None else places

    def __reduce__(self) -> tuple[object, ...]:
        """Leave out the groups, which are 8 MB: of each, one page more does not count."""
        return TellingPlaces, (self._places,)

    def note_kept(self, url: str) -> bool:
        """Note that the page at *url* has a text that was met nowhere else.

        Returns whether it shows that a part of its address tells pages apart.
        """
        groups = [*_groups(Address.of(url))]
        unknown = set(self._groups.missing(group for _, group in groups))
        shown = False
        for place in (self._places[place] for place, group in groups if group not in unknown):
            told = place.tells
            place.pages += 1
            shown |= place.tells and not told
        self._groups.add(unknown)
        return shown

    def tell(self, url: str, kept_url: str) -> bool:
        """Whether two addresses with one text differ in nothing but a part that tells pages apart.

        The text is noted.
        """
        one, other = Address.of(url), Address.of(kept_url)
        others = {group: place for place, group in _groups(other)}
        shared = [place for place, group in _groups(one) if others.get(group) == place]
        if one == other or len(shared) != 1:
            return False
        place = self._places[shared[0]]
        if len(place.repeated) < MAX_REPEATED:
            place.repeated.add(hash_of(kept_url))
        if len(place.addresses) < FEW_TELLING_PAGES:
            place.addresses.add(hash_of(url))
        return place.tells


def _groups(address: Address) -> Iterator[tuple[str, str]]:
    """Yield each part of an address, and what stands for the address with any value there."""
    scheme, host, path, parameters = address
    segments = path.split("/")
    for i in range(max(1, len(segments) - MOST_PLACES // 2), len(segments)):
        before, after = "/".join(segments[:i]), "/".join(segments[i + 1 :])
        yield (
            f"{host}{general_folder(before + '/')} {len(segments) - i}",
            f"{scheme} {host}{before} {after} {parameters}",
        )
    for name, _ in parameters[: MOST_PLACES // 2]:
        others = tuple(one for one in parameters if one[0] != name)
        yield f"{address.pattern} {name}", f"{scheme} {host}{path} {name} {others}"


class _Text(NamedTuple):
    """The text of a judged page, empty where it has none.

    *kept_url* is that of its kept page, cut as those of alarms are.
    """

    kept_url: str
    digest: bytes


class _Texts:
    """Texts of late, each known by its kept page and by its digest."""

    def __init__(self) -> None:
        self._keys: FIFOCache[str | bytes, None] = FIFOCache(2 * MAX_WALLS)

    def add(self, text: _Text) -> None:
        self._keys.update((key, None) for key in text if key)

    def __contains__(self, text: _Text) -> bool:
        return any(key in self._keys for key in text)

    def forget(self, kept_url: str) -> None:
        self._keys.pop(kept_url, None)


@dataclass(slots=True, eq=False)
class DroppedPage:
    """A request whose page was dropped for the one at *kept_url*, and what came if noise was cut.

    Then its body is compressed, and empty if it is too large to be kept.
    """

    kept_url: str
    request: Request
    fetched: Fetched | None
    looks: int = 0  # so often, it was judged again as it was fetched
    key: tuple[str, bytes] = ("", b"")  # by which the index has it


class DroppedRequests:
    """The requests of late whose pages were dropped, to be sent again if that was wrong.

    They are judged anew then, as any others.  *state*: those that another run has left.
    """

    def __init__(self, crawler: Crawler, state: Iterable[tuple[Any, ...]] = ()) -> None:
        self._crawler = crawler
        self._dropped: deque[DroppedPage] = deque(maxlen=MAX_DROPPED)
        for kept_url, data, *rest in state:
            if (request := restored(crawler, data)) is not None:
                self._dropped.append(DroppedPage(kept_url, request, *rest))
        # How many kept pages were taken back, and with which number the last ones were.
        self.taken_back = 0
        self._taken_back: FIFOCache[str, int] = FIFOCache(MAX_TAKEN_BACK)
        # Whether a pipeline dropped an item of a page that was asked for again, of the last ones.
        self._in_vain: FIFOCache[Request, bool] = FIFOCache(LATE_ANSWERS)

    def state(self) -> list[tuple[Any, ...]]:
        """Return what another run goes on with: the requests that can be stored, and no bodies."""
        pages = [(stored(self._crawler, one.request), one) for one in self._dropped]
        return [
            (one.kept_url, data, one.fetched and one.fetched._replace(body=b""), one.looks, one.key)
            for data, one in pages
            if data is not None
        ]

    def note(
        self, request: Request, decision: Decision, taken_back: int, fetched: Fetched | None
    ) -> DroppedPage:
        """Remember a request whose page is dropped, and what was *fetched* if noise was cut.

        *taken_back*: how many pages were when its way to the verdict began.  If its kept page is
        one of those since, it is asked for again at once.
        """
        if fetched is not None:
            body = zlib.compress(fetched.body, 1)
            fetched = fetched._replace(body=body if len(body) <= MAX_DROPPED_BODY else b"")
        page = DroppedPage("", request, fetched)
        self._dropped.append(page)
        self.note_kept(page, decision, taken_back)
        return page

    def note_kept(self, page: DroppedPage, decision: Decision, taken_back: int) -> None:
        """Note for which kept page a page is dropped, also if it is another one by now."""
        page.kept_url = _kept_url(decision)
        if self._taken_back.get(page.kept_url, 0) > taken_back:
            self.ask_again_for(page.kept_url)

    def copies(self) -> list[DroppedPage]:
        """Return the pages that were dropped for a kept one."""
        return [one for one in self._dropped if one.kept_url]

    def cut_in(self, section: str) -> list[DroppedPage]:
        """Return the dropped pages of a section from which noise was cut."""
        return [
            one
            for one in self._dropped
            if one.fetched is not None and section_of(one.fetched.url) == section
        ]

    def note_item(self, response: Response, is_refused: bool) -> None:
        """Note what pipelines did with an item of a page."""
        request = getattr(response, "request", None)  # an item may come without a page
        if request is not None and ASKED_AGAIN_META_KEY in request.meta:
            self._in_vain[request] = is_refused or self._in_vain.get(request, False)

    @property
    def is_in_vain(self) -> bool:
        """Whether a pipeline drops nearly all items that it gets once more from a copy."""
        in_vain = sum(self._in_vain.values())
        return in_vain > max(MOST_IN_VAIN, IN_VAIN_SHARE * len(self._in_vain))

    def take_back(self, url: str) -> None:
        """Ask again for what was dropped for the page at *url*, since that is kept no more."""
        kept_url = url[:MAX_URL]
        self.taken_back += 1
        self._taken_back[kept_url] = self.taken_back
        self.ask_again_for(kept_url)

    def ask_again_for(self, kept_url: str) -> None:
        """Send again what was dropped for a kept page."""
        self.ask_again(lambda one: one.kept_url == kept_url)

    def ask_again(self, is_meant: Callable[[DroppedPage], bool]) -> None:
        """Send the requests of the dropped pages again that are meant."""
        for page in list(filter(is_meant, self._dropped)):
            self.ask_for(page)

    def ask_for(self, page: DroppedPage) -> None:
        """Send the request of a dropped page again, if it was not sent meanwhile."""
        if page not in self._dropped:
            return
        self._dropped.remove(page)
        asked = page.request.meta.get(ASKED_AGAIN_META_KEY, 0)
        request = copied(page.request, dont_filter=True, **from_its_beginning(page.request))
        request.meta[ASKED_AGAIN_META_KEY] = asked + 1
        if asked < MOST_ASKED and ask(self._crawler, request):
            self._crawler.stats.inc_value("simhash/asked_again")


class Walls:
    """The texts that are known to be walls.

    One is known when

    - the spider sends a request again that was answered with it: it saw that this was not the page.
      Where code waits for the answer, as may be for any reason, that must be something else by now;
    - the alarm ``one_text`` was raised on it;
    - it is met at an address that differs from its own in nothing but a part that tells the pages
      of the site apart (:class:`TellingPlaces`).  Of a page after a redirect, this is the address
      that was asked for.

    Then the copies of the wall reach the spider, too, also where it comes back later; in the third
    case, those that differ in such a part.  What was dropped for it before is asked for once more,
    also what was dropped before a part was known to tell pages apart.

    *compares_values*: whether nothing on a duplicate is new; *state*: what another run has left.
    """

    def __init__(
        self,
        crawler: Crawler,
        dropped: DroppedRequests,
        compares_values: bool,
        state: dict[str, Any],
    ) -> None:
        self._crawler = crawler
        self._dropped = dropped
        self._compares_values = compares_values
        self._walls = _Texts()
        self._told = _Texts()  # at such addresses alone
        # By request fingerprint, and of kept pages after a redirect what was asked for.
        self._text_of: FIFOCache[bytes, _Text] = FIFOCache(MAX_JUDGED)
        self._asked_as: FIFOCache[str, str] = FIFOCache(MAX_WALLS)
        self._places = TellingPlaces()
        self._requests = self._unfiltered = 0
        # Requests that callbacks make, where they are held in memory until they are sent.
        self._made: WeakSet[Request] = WeakSet()
        is_scrapys = issubclass(load_object(crawler.settings["SCHEDULER"]), Scheduler)
        self._are_held = is_scrapys and job_dir(crawler.settings) is None
        dupefilter = load_object(crawler.settings["DUPEFILTER_CLASS"])
        seen = getattr(dupefilter, "request_seen", None)
        self._is_filtered = seen is not BaseDupeFilter.request_seen
        vars(self).update(state)
        # What another run has asked for, and this one has not: start requests are sent by each.
        self._asked_before = {*self._text_of}
        crawler.signals.connect(self.alarm_raised, signals.alarm_raised)

    def state(self) -> dict[str, Any]:
        """Return what another run goes on with; 2 MB of 10,000 texts."""
        return {name: getattr(self, name) for name in LASTING}

    def alarm_raised(self, alarm: Alarm, spider: Spider) -> None:
        if alarm.name == "one_text":
            texts = (text for text in self._text_of.values() if text.kept_url == alarm.subject)
            self._add(next(texts, _Text(alarm.subject, b"")))

    def note_origin(
        self, request: Request, response: Response, is_handed: Callable[[], bool]
    ) -> None:
        """Note which pages a request of a callback may ask for again.

        *is_handed* says whether its address was on a page.
        """
        self._made.add(request)
        for key in ORIGINS_META_KEY, ASKED_AGAIN_META_KEY:
            request.meta.pop(key, None)
        origin = response.request
        if origin is None:
            return
        is_again = not self._is_filtered and request.url == origin.url
        if request.dont_filter or request.method != "GET" or is_again:
            before = origin.meta.get(ORIGINS_META_KEY, ())
            origins = [one.hex() for one in self._fingerprints(origin)]
            request.meta[ORIGINS_META_KEY] = [*origins, *before][:MOST_ORIGINS]
        elif (length := _length_added(request, origin)) and not is_handed():
            text = self._text_of.get(self._fingerprint(origin))
            if text is not None and (length >= RANDOM_LENGTH or text in self._told):
                self._add(text)

    def note_request(self, request: Request) -> None:
        """Look whether a request was answered before, in which case that answer was a wall.

        Only one that Scrapy would not send twice by itself tells: from a callback that tries again.
        If a spider sends most requests with ``dont_filter``, or nothing filters them, it must come
        from the page itself, or from no page: from a timer that polls, say.  So must one for what
        another run of the job has asked for, the first time.
        """
        self._requests += 1
        self._unfiltered += request.dont_filter
        is_habit = self._unfiltered > MOST_UNFILTERED * self._requests
        # A redirect leads on from the page that asked, as most requests do.
        is_led_to = request in self._made or bool(redirects_in(request.meta))
        is_from_no_page = self._are_held and not is_led_to
        is_unfiltered = request.dont_filter or (is_from_no_page and not self._is_filtered)
        is_again = is_unfiltered or request.meta.get("retry_times")
        origins = request.meta.get(ORIGINS_META_KEY, ())
        if not (is_again or origins) or ASKED_AGAIN_META_KEY in request.meta:
            return
        own = self._fingerprint(request)
        text = self._text_of.get(own)
        if text is None:
            return
        is_habit |= own in self._asked_before
        self._asked_before.discard(own)
        is_meant = is_from_no_page or not is_habit or request.meta.get("retry_times")
        if (is_again and is_meant) or own.hex() in origins:
            self._add(text)

    def note_inline(self, request: Request, decision: Decision) -> None:
        """Note the decision on the answer to a request that code waits for."""
        text = self._text_of.get(self._fingerprint(request))
        if decision.changed and text is not None:
            self._add(text)

    def seen(self, request: Request, page: Page, decision: Decision) -> Decision:
        """Return the decision on a page, as it is if its kept page may be a wall."""
        url, asked = page.url, _asked_url(request, page.url)
        if decision.verdict == "refresh" and decision.changed:
            self._walls.forget(url[:MAX_URL])  # now it is something else
        text = _text(page, decision)
        for fingerprint in self._fingerprints(request):
            self._text_of[fingerprint] = text
        if decision.is_duplicate:
            return self.seen_again(request, page, decision)
        if asked != url:
            self._asked_as[text.kept_url] = asked
        is_new = decision.reason == "new_text" or decision.verdict == "refresh"
        if is_new and self._places.note_kept(url):
            self._look_back()
        return decision

    def seen_again(self, request: Request, page: Page, decision: Decision) -> Decision:
        """Return the decision on a duplicate, as it is if its kept page may be a wall by now."""
        text = _text(page, decision)
        is_wall = text in self._walls
        if not is_wall and (self._compares_values or decision.verdict == "exact_duplicate"):
            is_wall = self._is_told(text, _asked_url(request, page.url))
            if is_wall:
                self._look_back(text.kept_url)
        return replace(decision, reason="wall") if is_wall else decision

    def _is_told(self, text: _Text, asked: str) -> bool:
        """Whether a text at an address stands in for its page, as addresses tell; that is noted."""
        is_told = self._places.tell(asked, self._asked_as.get(text.kept_url, text.kept_url))
        if is_told:
            self._told.add(text)
        return is_told

    def _look_back(self, kept_url: str | None = None) -> None:
        """Ask again for what was dropped, maybe for one kept page, before addresses told so."""
        self._dropped.ask_again(
            lambda one: (
                kept_url in (None, one.kept_url)
                and self._is_told(_Text(one.kept_url, b""), _asked_url(one.request))
            )
        )

    def may_have(self, decision: Decision) -> bool:
        """Whether a duplicate is one of a kept page that is a wall, at some addresses at least."""
        text = _Text(_kept_url(decision), b"")
        return decision.is_duplicate and (text in self._walls or text in self._told)

    def _fingerprint(self, request: Request) -> bytes:
        return self._crawler.request_fingerprinter.fingerprint(request)

    def _fingerprints(self, request: Request) -> Iterator[bytes]:
        """Yield the fingerprints of a request, and of those that were redirected to it."""
        yield self._fingerprint(request)
        for url in redirects_in(request.meta):
            yield self._fingerprint(copied(request, url=url))

    def _add(self, text: _Text) -> None:
        """Take a text for a wall, and ask again for what was dropped for it."""
        self._walls.add(text)
        self._dropped.ask_again_for(text.kept_url)


def _text(page: Page, decision: Decision) -> _Text:
    return _Text(_kept_url(decision, page.url), page.digest if page.tokens else b"")


def _kept_url(decision: Decision, url: str = "") -> str:
    """Return the URL of the kept page of the page at *url*, cut as those of alarms are."""
    return decision.kept_url(url)[:MAX_URL]


def _asked_url(request: Request, url: str = "") -> str:
    """Return the address that led to the page at *url*, that of its request if it is empty."""
    redirects = redirects_in(request.meta)
    return redirects[0] if redirects else url or request.url


def _length_added(request: Request, origin: Request) -> int:
    """Return the length of the one parameter's value that a request for the page before adds.

    0 if it is for another page.
    """
    url, before = request.url, origin.url
    if url == before or url.partition("?")[0] != before.partition("?")[0]:  # as most are
        return 0
    if callback_name(request) != callback_name(origin):
        return 0
    one, other = Address.of(url), Address.of(before)
    more = {*one.parameters} - {*other.parameters}
    less = {name for name, _ in {*other.parameters} - {*one.parameters}}
    if one[:3] != other[:3] or len(more) != 1:
        return 0
    ((name, value),) = more
    return len(value) if less <= {name} else 0
