"""Alarms: signs, found while the crawl runs, that something is wrong with it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from scrapy_simhash.hashes import hash_of
from scrapy_simhash.report.counting import Heaviest
from scrapy_simhash.report.record import Record
from scrapy_simhash.settings import AlarmName
from scrapy_simhash.urls import MAX_URL, Address

# With these limits a crawl of the LLVM documentation raises no alarm.  It has 1,379 pages, and 767
# of them are duplicates (two releases that are mostly the same): up to 7 addresses of one text
# among 100 pages, up to 95 duplicates among 100 and 173 among 200.
ONE_TEXT_WINDOW = 100
ONE_TEXT_PAGES = 10
# All posts of a thread may show the thread, each under a name of its own, and so may the posts of
# the next thread.  A wall has at least this many times the names of any other text at addresses of
# its pattern, except for one: a site may show a login form and a captcha in turn.
TIMES_ALIASES = 3
TRAP_PAGES = 20
# The pages of a trap repeat a few texts; print views have one text each.
TRAP_TEXTS = 4
NO_TEXT_PAGES = 20
# More than this share of the last pages were duplicates, and so many for each other page in all.
DUPLICATE_SHARE = 0.95
SHARE_WINDOW = 200
COPIES = 10

# At most this many hosts and patterns are watched; those with the fewest pages are forgotten.
WATCHED = 1000

MESSAGES: dict[AlarmName, str] = {
    "one_text": f"{ONE_TEXT_PAGES} pages with different names have one text: a login wall, a ban "
    "page, or an error page that says 200?",
    "trap": f"{TRAP_PAGES} pages in a row were duplicates of a few kept ones: an endless calendar, "
    "filter or session id?",
    "no_text": f"no text in {NO_TEXT_PAGES} pages in a row, after others that had some: a new "
    "layout, a consent page, text that needs a script?",
    "duplicates": f"{{}} of the last {SHARE_WINDOW} pages were duplicates, in all over {COPIES} "
    "for each other page: does the crawl still find anything, or has it no end?",
}


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
    # The three texts with the most names, each with the number of its names.
    names: dict[str, int] = field(default_factory=dict)

    def aliases(self, text: str, names: int) -> int:
        """Note the number of a text's names; return that of the second of the other texts."""
        self.names[text] = max(names, self.names.get(text, 0))
        if len(self.names) > 3:
            del self.names[min(self.names, key=self.names.__getitem__)]
        others = sorted(number for of, number in self.names.items() if of != text)
        return others[-2] if len(others) > 1 else 0

    def add(self, record: Record, text: str) -> None:
        self.addresses.add(hash_of(record.url))
        self.texts.add(hash_of(text))

    def start_over(self) -> None:
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


class AlarmWatch:
    """Looks at each decision and raises an alarm once for each subject and host.

    An alarm is raised if the share of duplicates among the last :data:`SHARE_WINDOW` judged pages
    is above *share*, and there were over :data:`COPIES` for each other page: the copies of a site
    may come last.  At most :data:`WATCHED` subjects have alarms.
    """

    def __init__(self, share: float) -> None:
        self.share = share
        self.pages = 0
        self._raised: set[tuple[AlarmName, str, str]] = set()
        # The latest duplicates: the number of the page, its text, and its name.
        self._recent: deque[tuple[int, str, str]] = deque()
        # Whether each of the latest judged pages was a duplicate.
        self._verdicts: deque[bool] = deque(maxlen=SHARE_WINDOW)
        self._duplicates = self._others = 0
        self._patterns: Heaviest[str, _Run] = Heaviest(WATCHED, _Run)
        self._hosts: Heaviest[str, _Run] = Heaviest(WATCHED, _Run)

    def resume(self) -> None:
        """Begin a crawl, or resume it.

        The watch raises alarms for what it sees itself: the pages that closed the crawl before must
        not close it again.  It knows the hosts that had text before, and the number of duplicates.
        """
        for seen in self._raised, self._recent, self._verdicts, self._patterns:
            seen.clear()

    def look(self, record: Record) -> Iterator[Alarm]:
        """Look at the next decision; O(1)."""
        self.pages += 1
        for name, subject in self._found(record):
            host = ""
            if name != "duplicates":  # which is about the whole crawl
                host = Address.of(record.asked_url or record.url).host
            key = name, subject, host
            if key not in self._raised and len(self._raised) < WATCHED:
                self._raised.add(key)
                message = MESSAGES[name].format(self._verdicts.count(True))
                yield Alarm(name, subject, message, self.pages, record.url[:MAX_URL], host)

    def _found(self, record: Record) -> Iterator[tuple[AlarmName, str]]:
        """Yield the name and the subject of each alarm that a decision gives cause for."""
        if record.decision.verdict == "skipped":
            if record.decision.reason == "no_text" and self._has_lost_its_text(record):
                yield "no_text", record.address.host
            return
        host = self._hosts[record.address.host]
        host.pages += 1
        host.start_over()
        if record.is_duplicate and self._is_one_text(record):
            yield "one_text", record.kept_url[:MAX_URL]
        if self._is_trap(record):
            yield "trap", record.pattern
        self._verdicts.append(record.is_duplicate)
        self._duplicates += record.is_duplicate
        self._others += not record.is_duplicate
        is_little_new = self._verdicts.count(True) > self.share * SHARE_WINDOW
        if is_little_new and self._duplicates > COPIES * self._others:
            yield "duplicates", "the crawl"

    def _has_lost_its_text(self, record: Record) -> bool:
        """Whether a host that had text has had none for some pages; if so, it starts again."""
        host = self._hosts[record.address.host]
        host.add(record, record.kept_url)
        if not host.pages or len(host.addresses) < NO_TEXT_PAGES:
            return False
        host.start_over()
        return True

    def _is_one_text(self, record: Record) -> bool:
        """Whether enough of the last pages have this text; if so, its count starts again.

        Pages with one slug count once, since most aliases share their slug.  It is the slug of
        what was asked for: a login wall redirects all its pages to one address.
        """
        asked, text = record.asked_url, record.kept_url
        slug = record.slug if asked is None else Address.of(asked).slug
        self._recent.append((self.pages, text, slug))
        while self._recent[0][0] <= self.pages - ONE_TEXT_WINDOW:
            self._recent.popleft()
        names = len({name for _, of, name in self._recent if of == text})
        aliases = self._patterns[record.pattern].aliases(text, names)
        if names < max(ONE_TEXT_PAGES, TIMES_ALIASES * aliases):
            return False
        self._recent = deque(recent for recent in self._recent if recent[1] != text)
        return True

    def _is_trap(self, record: Record) -> bool:
        """Whether the pages of a pattern repeat a few texts; if so, their count starts again."""
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
