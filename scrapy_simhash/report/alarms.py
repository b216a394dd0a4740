"""Alarms: what looks wrong while the crawl runs, found in the order of the decisions."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from operator import attrgetter
from typing import Literal

from scrapy_simhash.report.addresses import MAX_URL, Address
from scrapy_simhash.report.counting import Heaviest, hash_of
from scrapy_simhash.report.lines import Line

AlarmName = Literal["one_text", "trap", "no_text", "duplicates"]
# Those that say something of the site of the page that raised them.
SITE_ALARMS: tuple[AlarmName, ...] = ("one_text", "trap", "no_text")
ALARMS: tuple[AlarmName, ...] = (*SITE_ALARMS, "duplicates")

# The figures are such that a crawl of the LLVM documentation raises none: 1,379 pages, 767 of
# them duplicates, up to 7 addresses of one text among 100 pages, 95 duplicates among 100 and
# 173 among 200 (a real site of two releases that are mostly the same).
ONE_TEXT_WINDOW = 100
ONE_TEXT_PAGES = 10
TRAP_PAGES = 20
# In a trap the same few texts come again and again; print views have a text each.
TRAP_TEXTS = 4
NO_TEXT_PAGES = 20
SHARE_WINDOW = 200

# So many hosts and patterns are watched; those with the fewest pages are let go.
WATCHED = 1000


@dataclass(frozen=True)
class Alarm:
    """Something that a user should look at: *name* says what, *subject* where it was seen.

    *page* is the number of the decision, from 1, *example* the URL that raised it, *host* the one
    that was asked for it, before any redirect; empty where the alarm is about the whole crawl.
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

    def add(self, line: Line) -> None:
        self.addresses.add(hash_of(line.url))
        self.texts.add(hash_of(line.text))

    def start_over(self) -> None:
        if self.addresses:
            self.addresses.clear()
            self.texts.clear()


def _runs() -> Heaviest[str, _Run]:
    return Heaviest(WATCHED, _Run, attrgetter("pages"))


class Watch:
    """Looks at each decision and raises an alarm once for each subject and host.

    *share* is the share of duplicates among the last :data:`SHARE_WINDOW` judged pages above
    which there is an alarm.  Those in *pauses* are raised again when the seconds that follow
    their names are over, if what they tell of is still so.  At the most :data:`WATCHED`
    subjects have alarms.
    """

    def __init__(self, share: float, pauses: Mapping[str, float] | None = None) -> None:
        self.share = share
        self.pauses = pauses or {}
        self.pages = 0
        # When each may be raised again, by the time of the decisions.
        self._quiet_until: dict[tuple[AlarmName, str, str], float] = {}
        self._recent: deque[tuple[int, str, str]] = deque()
        self._slugs: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._verdicts: deque[bool] = deque()
        self._duplicates = 0
        self._patterns = _runs()
        self._hosts = _runs()

    def resumed(self, share: float, pauses: Mapping[str, float]) -> Watch:
        """Return the watch of a crawl that is resumed: what it raises, it has seen itself.

        Else it would close again over the pages that closed it before.  A host that had text
        is known to have had some.
        """
        watch = Watch(share, pauses)
        watch.pages = self.pages
        watch._hosts = self._hosts
        return watch

    def look(self, line: Line) -> Iterator[Alarm]:
        """Look at the next decision; O(1)."""
        self.pages += 1
        if line.verdict != "skipped":
            yield from self._judged(line)
        elif line.reason == "no_text":
            yield from self._without_text(line)

    def _judged(self, line: Line) -> Iterator[Alarm]:
        host = self._hosts[line.address.host]
        host.pages += 1
        host.start_over()
        if line.duplicate and self._is_one_text(line):
            message = (
                f"{ONE_TEXT_PAGES} pages with different names have one text: a login wall, a ban "
                "page, or an error page that says 200?"
            )
            yield from self._raise("one_text", line.text[:MAX_URL], message, line)
        if self._is_trap(line):
            message = (
                f"{TRAP_PAGES} pages in a row were duplicates of a few kept ones: an endless "
                "calendar, filter or session id?"
            )
            yield from self._raise("trap", line.pattern, message, line)
        if self._are_too_many(line.duplicate):
            message = (
                f"{self._duplicates} of the last {SHARE_WINDOW} pages were duplicates: does the "
                "crawl still find anything?"
            )
            yield from self._raise("duplicates", "the crawl", message, line)

    def _without_text(self, line: Line) -> Iterator[Alarm]:
        host = self._hosts[line.address.host]
        host.add(line)
        if host.pages and len(host.addresses) >= NO_TEXT_PAGES:
            host.start_over()
            message = (
                f"no text in {NO_TEXT_PAGES} pages in a row, after others that had some: a new "
                "layout, a consent page, text that needs a script?"
            )
            yield from self._raise("no_text", line.address.host, message, line)

    def _raise(self, name: AlarmName, subject: str, message: str, line: Line) -> Iterator[Alarm]:
        host = ""
        if name in SITE_ALARMS:
            host = Address.of(line.redirected_from or line.url).host
        key = name, subject, host
        if key not in self._quiet_until and len(self._quiet_until) >= WATCHED:
            return
        if line.judged_at >= self._quiet_until.get(key, -inf):
            self._quiet_until[key] = line.judged_at + self.pauses.get(name, inf)
            yield Alarm(name, subject, message, self.pages, line.url[:MAX_URL], host)

    def _is_one_text(self, line: Line) -> bool:
        """Whether enough of the last pages have this text; then they are counted anew.

        Aliases share their slug.  All that a login wall redirects end at the same address: what
        counts is what was asked for.
        """
        asked = line.redirected_from
        slug = line.slug if asked is None else Address.of(asked).slug
        while self._recent and self._recent[0][0] <= self.pages - ONE_TEXT_WINDOW:
            self._forget(*self._recent.popleft()[1:])
        self._recent.append((self.pages, line.text, slug))
        slugs = self._slugs[line.text]
        slugs[slug] = slugs.get(slug, 0) + 1
        if len(slugs) < ONE_TEXT_PAGES:
            return False
        del self._slugs[line.text]
        self._recent = deque(recent for recent in self._recent if recent[1] != line.text)
        return True

    def _forget(self, text: str, slug: str) -> None:
        slugs = self._slugs[text]
        slugs[slug] -= 1
        if not slugs[slug]:
            del slugs[slug]
        if not slugs:
            del self._slugs[text]

    def _is_trap(self, line: Line) -> bool:
        pattern = self._patterns[line.pattern]
        pattern.pages += 1
        if not line.duplicate:
            pattern.start_over()
            return False
        pattern.add(line)
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
