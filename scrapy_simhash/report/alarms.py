"""Alarms: signs, found while the crawl runs, that something is wrong with it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from operator import attrgetter
from typing import Literal

from scrapy_simhash.report.counting import Heaviest
from scrapy_simhash.report.record import Record
from scrapy_simhash.rule.hashes import hash_of
from scrapy_simhash.urls import MAX_URL, Address

AlarmName = Literal["one_text", "trap", "no_text", "duplicates"]
# Alarms about the site of the page that raised them.
SITE_ALARMS: tuple[AlarmName, ...] = ("one_text", "trap", "no_text")
ALARMS: tuple[AlarmName, ...] = (*SITE_ALARMS, "duplicates")

# With these limits a crawl of the LLVM documentation raises no alarm.  It has 1,379 pages, and 767
# of them are duplicates (two releases that are mostly the same): up to 7 addresses of one text
# among 100 pages, up to 95 duplicates among 100 and 173 among 200.
ONE_TEXT_WINDOW = 100
ONE_TEXT_PAGES = 10
# Posts that lead to their thread have other names than it, and so have those of other threads.  A
# wall has so many times the names of all other texts at addresses of its pattern but one: there may
# be a login form and a captcha at a time.
TIMES_ALIASES = 3
TRAP_PAGES = 20
# The pages of a trap repeat a few texts; print views have one text each.
TRAP_TEXTS = 4
NO_TEXT_PAGES = 20
SHARE_WINDOW = 200

# At most this many hosts and patterns are watched; those with the fewest pages are forgotten.
WATCHED = 1000


@dataclass(frozen=True)
class Alarm:
    """Something that a user should look at: *name* says what, *subject* where it was seen.

    *page* is the number of the decision, counted from 1, and *example* the URL that raised the
    alarm.  *host* is the host that was asked for it, before any redirect; it is empty if the alarm
    is about the whole crawl.
    """

    name: AlarmName
    subject: str
    message: str
    page: int
    example: str
    host: str


@dataclass(slots=True)
class _Run:
    """Pages of a host or pattern in a row, as hashes of their addresses and texts."""

    pages: int = 0
    addresses: set[int] = field(default_factory=set)
    texts: set[int] = field(default_factory=set)
    # Of the three texts with most names in a row of pages, the number of these.
    names: dict[str, int] = field(default_factory=dict)

    def aliases(self, text: str, names: int) -> int:
        """Note that a text has so many names; return how many all others have but one."""
        self.names[text] = max(names, self.names.get(text, 0))
        if len(self.names) > 3:
            del self.names[min(self.names, key=self.names.__getitem__)]
        others = sorted(number for of, number in self.names.items() if of != text)
        return others[-2] if len(others) > 1 else 0

    def add(self, record: Record, text: str) -> None:
        self.addresses.add(hash_of(record.url))
        self.texts.add(hash_of(text))

    def start_over(self) -> None:
        if self.addresses:
            self.addresses.clear()
            self.texts.clear()


def _known_text(record: Record) -> str | None:
    """Return the URL of the page whose text a page repeats, None if it has more to it.

    A page that was kept for new links repeats it, too, if all that these lead to is like itself:
    the next month of a calendar, say.
    """
    if record.is_duplicate:
        return record.kept_url
    decision = record.decision
    if decision.reason != "new_links" or decision.closest is None or not decision.new:
        return None
    is_like_itself = all(Address.of(one.text).pattern == record.pattern for one in decision.new)
    return decision.closest.url if is_like_itself else None


def _runs() -> Heaviest[str, _Run]:
    return Heaviest(WATCHED, _Run, attrgetter("pages"))


class Watch:
    """Looks at each decision and raises an alarm once for each subject and host.

    An alarm is raised if the share of duplicates among the last :data:`SHARE_WINDOW` judged pages
    is above *share*.  *pauses* maps names of alarms to seconds: such an alarm is raised again when
    they are over and its cause still exists.  At most :data:`WATCHED` subjects have alarms.
    """

    def __init__(self, share: float, pauses: Mapping[str, float] | None = None) -> None:
        self.share = share
        self.pauses = pauses or {}
        self.pages = 0
        # When each alarm may be raised again, in the time of the decisions.
        self._quiet_until: dict[tuple[AlarmName, str, str], float] = {}
        self._recent: deque[tuple[int, str, str]] = deque()
        self._slugs: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._verdicts: deque[bool] = deque()
        self._duplicates = 0
        self._patterns = _runs()
        self._hosts = _runs()

    def resumed(self, share: float, pauses: Mapping[str, float]) -> Watch:
        """Return the watch for a crawl that is resumed.

        It raises alarms for what it sees itself: the pages that closed the crawl before must not
        close it again.  It knows the hosts that had text before.
        """
        watch = Watch(share, pauses)
        watch.pages = self.pages
        watch._hosts = self._hosts
        return watch

    def look(self, record: Record) -> Iterator[Alarm]:
        """Look at the next decision; O(1)."""
        self.pages += 1
        if record.decision.verdict != "skipped":
            yield from self._judged(record)
        elif record.decision.reason == "no_text":
            yield from self._without_text(record)

    def _judged(self, record: Record) -> Iterator[Alarm]:
        host = self._hosts[record.address.host]
        host.pages += 1
        host.start_over()
        if record.is_duplicate and self._is_one_text(record):
            message = (
                f"{ONE_TEXT_PAGES} pages with different names have one text: a login wall, a ban "
                "page, or an error page that says 200?"
            )
            yield from self._raise("one_text", record.kept_url[:MAX_URL], message, record)
        if self._is_trap(record):
            message = (
                f"{TRAP_PAGES} pages in a row were duplicates of a few kept ones: an endless "
                "calendar, filter or session id?"
            )
            yield from self._raise("trap", record.pattern, message, record)
        if self._are_too_many(record.is_duplicate):
            message = (
                f"{self._duplicates} of the last {SHARE_WINDOW} pages were duplicates: does the "
                "crawl still find anything?"
            )
            yield from self._raise("duplicates", "the crawl", message, record)

    def _without_text(self, record: Record) -> Iterator[Alarm]:
        host = self._hosts[record.address.host]
        host.add(record, record.kept_url)
        if host.pages and len(host.addresses) >= NO_TEXT_PAGES:
            host.start_over()
            message = (
                f"no text in {NO_TEXT_PAGES} pages in a row, after others that had some: a new "
                "layout, a consent page, text that needs a script?"
            )
            yield from self._raise("no_text", record.address.host, message, record)

    def _raise(
        self, name: AlarmName, subject: str, message: str, record: Record
    ) -> Iterator[Alarm]:
        host = ""
        if name in SITE_ALARMS:
            host = Address.of(record.asked_url or record.url).host
        key = name, subject, host
        if key not in self._quiet_until and len(self._quiet_until) >= WATCHED:
            return
        if record.judged_at >= self._quiet_until.get(key, -inf):
            self._quiet_until[key] = record.judged_at + self.pauses.get(name, inf)
            yield Alarm(name, subject, message, self.pages, record.url[:MAX_URL], host)

    def _is_one_text(self, record: Record) -> bool:
        """Whether enough of the last pages have this text; if so, its count starts again.

        Pages with one slug count once, since most aliases share their slug.  It is the slug of
        what was asked for: a login wall redirects all its pages to one address.
        """
        asked = record.asked_url
        slug = record.slug if asked is None else Address.of(asked).slug
        while self._recent and self._recent[0][0] <= self.pages - ONE_TEXT_WINDOW:
            self._forget(*self._recent.popleft()[1:])
        self._recent.append((self.pages, record.kept_url, slug))
        slugs = self._slugs[record.kept_url]
        slugs[slug] = slugs.get(slug, 0) + 1
        aliases = self._patterns[record.pattern].aliases(record.kept_url, len(slugs))
        if len(slugs) < max(ONE_TEXT_PAGES, TIMES_ALIASES * aliases):
            return False
        del self._slugs[record.kept_url]
        self._recent = deque(recent for recent in self._recent if recent[1] != record.kept_url)
        return True

    def _forget(self, text: str, slug: str) -> None:
        slugs = self._slugs[text]
        slugs[slug] -= 1
        if not slugs[slug]:
            del slugs[slug]
        if not slugs:
            del self._slugs[text]

    def _is_trap(self, record: Record) -> bool:
        pattern = self._patterns[record.pattern]
        pattern.pages += 1
        text = _known_text(record)
        if text is None:
            pattern.start_over()
            return False
        pattern.add(record, text)
        if len(pattern.addresses) < TRAP_PAGES:
            return False
        few = len(pattern.texts) <= TRAP_TEXTS
        pattern.start_over()
        return few

    def _are_too_many(self, duplicate: bool) -> bool:
        self._verdicts.append(duplicate)
        self._duplicates += duplicate
        if len(self._verdicts) > SHARE_WINDOW:
            self._duplicates -= self._verdicts.popleft()
        return self._duplicates > self.share * SHARE_WINDOW
