"""Requests that are parked: what a rule says is kept already is not downloaded, and not lost.

A request whose page is being downloaded at another address waits, parked, for that one's verdict.
What a rule on trial makes needless waits, parked, until the spider is idle.  Then the rule takes
its trials from there.  If it holds after them, the others stay parked; if not, they are sent.
"""

from __future__ import annotations

import logging
import os
import random
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from math import ceil
from pathlib import Path
from tempfile import TemporaryFile
from time import gmtime, strftime
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar, get_args

from cachetools import LRUCache
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.job import job_dir

from scrapy_simhash.crawl.choices import META_KEY, is_chosen
from scrapy_simhash.crawl.exceptions import RuledOut
from scrapy_simhash.crawl.parked import ParkedBy, ParkedRequest, ParkedRequests, remove_old
from scrapy_simhash.crawl.requests import (
    FACTS_META_KEY,
    ask,
    is_start_request,
    redirects_in,
    restored,
    stored,
)
from scrapy_simhash.crawl.run import spider_name
from scrapy_simhash.crawl.setup import Parts, RareWarning, index_place
from scrapy_simhash.errors import SettingsError
from scrapy_simhash.settings import MEMORY, SimhashSettings, is_in_redis
from scrapy_simhash.url_rules.evidence import Hypothesis, Sample, Stage, sample_size
from scrapy_simhash.url_rules.rule import AddressRule, Kind
from scrapy_simhash.urls import MAX_NAME, Address, page_pattern, site_of_host

if TYPE_CHECKING:
    from scrapy_simhash.url_rules.dead_ends import MissingPages, Traps
    from scrapy_simhash.url_rules.learner import Learner

T = TypeVar("T")
# What became of a request that a rule was about.  All but the explored ones had been parked.
What = Literal[
    "simhash/rules/parked",
    "simhash/rules/explored",
    "simhash/rules/released",
    "simhash/rules/audited",
]

logger = logging.getLogger(__name__)

# In JOBDIR.
PARKED_FILE = "simhash-parked.sqlite"

PARKED_META_KEY = "simhash_parked"
# The share of what a rule covers that is downloaded all the same; when the spider is idle, what a
# sample lacks is downloaded, too.
EXPLORED: dict[Stage, float] = {"waiting": 0.0, "young": 0.1, "proven": 0.05}
# When the spider is idle, at least so many requests of each folder pattern are looked at: the rule
# may have had no trial there.
LOOKS = 3
# Requests that are asked for again at a time; the others stay on disk.
MOST_ASKED = 500
MOST_TRIES = 10
# Rules whose requests are counted one by one.
MAX_COUNTED = 10_000
# Requests that are under way.  If so many others are, one whose end was not seen is forgotten, and
# its twins are sent.
MOST_UNDER_WAY = 500


class Target(NamedTuple):
    """The URL of a request, and the party of requests that one page may serve."""

    url: str
    party: str


class UnderWay:
    """The first requests under way with the keys that all acting rules give them.

    They have no verdict yet: their twins, other requests with the same key, wait for it.
    """

    def __init__(self) -> None:
        self._first: dict[int, Target] = {}
        # The key of each, and the keys under which its twins are parked.
        self._of: dict[Target, tuple[int, set[int]]] = {}

    def first(self, target: Target, key: int) -> Target | None:
        """Return the request to another address that *target* may wait for, if there is one."""
        first = self._first.get(key)
        return None if first == target else first

    def wait(self, first: Target, key: int) -> None:
        """Note that a twin waits for a request, parked under a key."""
        self._of[first][1].add(key)

    def begin(self, target: Target, key: int) -> Target | None:
        """Note that a request is sent; return another one to be ended, if there are too many."""
        if key not in self._first and target not in self._of:
            self._first[key] = target
            self._of[target] = key, set()
        return next(iter(self._of)) if len(self._of) > MOST_UNDER_WAY else None

    def end(self, target: Target) -> set[int]:
        """Note that a request has its verdict, or will get none; return what waits for it."""
        key, waiting = self._of.pop(target, (0, set()))
        self._first.pop(key, None)
        return waiting


class Parking:
    """Parks requests, and asks for them again when their rule was wrong, or to look whether it was.

    It parks nothing if there is no *place* for it.  Whether a rule holds is known to the one of the
    *owners* for its kind, if there is one, or else to the *learner*.

    :raises SettingsError: the file of parked requests cannot be used.
    """

    def __init__(
        self, crawler: Crawler, parts: Parts, learner: Learner, place: Path | None
    ) -> None:
        self.is_on = place is not None
        self.owners: dict[Kind, Traps | MissingPages] = {}
        self._crawler = crawler
        self._learner = learner
        self._facts = parts.facts
        self._settings = parts.pipeline.settings
        try:
            self._store = ParkedRequests(place)
        except (sqlite3.Error, OSError) as exc:
            raise SettingsError(
                f"SIMHASH_RULES 'use' keeps parked requests in {place}, which cannot be used: {exc}"
            ) from exc
        self._warning = RareWarning(logger, crawler)
        self._under_way = UnderWay()
        # Requests that are asked for again and have no answer, and how often each was.
        self._asked: dict[int, ParkedRequest] = {}
        self._tries: Counter[int] = Counter()
        self._lives: LRUCache[AddressRule, Counter[What]] = LRUCache(MAX_COUNTED)
        # How many requests were explored or audited, or taken as trials.
        self._looked_at: Counter[AddressRule] = Counter()
        if self.is_on:
            crawler.signals.connect(self.spider_idle, scrapy_signals.spider_idle)
            crawler.signals.connect(self.redirected, scrapy_signals.request_dropped)

    def takes(self, request: Request) -> bool:
        """Whether a request may be parked; note by which redirect it came."""
        self.redirected(request)
        meta, wish = request.meta, request.meta.get(META_KEY)
        return (
            self.is_on
            and not is_exempt(request)
            and not request.body
            and request.callback is not NO_CALLBACK
            and not redirects_in(meta)
            and PARKED_META_KEY not in meta
            and self._settings.policy is None
            and (self._settings.action if wish in (None, True) else wish) == "drop"
            and is_chosen(self._settings, request, request.url)
        )

    def consider(self, request: Request) -> None:
        """Park a request if a rule says that its page is kept already, or is being downloaded.

        Cost: 9 us, 4 us for each rule on its host, and 6 us more for each that applies to it; 50 us
        to park it.

        :raises RuledOut: it is parked.
        """
        target = self._target(request)
        answer = self._learner.say(*target)
        match, first = answer.known, None
        if match is None and (first := self._under_way.first(target, answer.whole)):
            match = self._learner.shared(first.url, *target)
        if match is None:
            if answer.whole and (late := self._under_way.begin(target, answer.whole)):
                self._end(late)
            return
        rule = match.hypothesis.rule
        if not match.is_tried and random.random() < EXPLORED[match.stage]:  # noqa: S311 - no secret
            self.explore(rule)
            return
        if first is not None:
            self._under_way.wait(first, match.key)
        own = Address.of(request.url)
        made = match.hypothesis.applied(own) or own
        left_out = str(sorted({*own.parameters} - {*made.parameters}))[:MAX_NAME]
        why = (first is not None, match.others, page_pattern(made), match.is_tried, left_out)
        self.park(request, ParkedBy(rule, match.pattern, match.key, match.content, *why))

    def explore(self, rule: AddressRule) -> None:
        """Note that a request is sent which a rule is about, to look whether it is right."""
        self._count("simhash/rules/explored", rule)
        self._looked_at[rule] += 1

    def park(self, request: Request, why: ParkedBy) -> None:
        """Park a request; 50 us.

        :raises RuledOut: it is parked.
        """
        facts = {FACTS_META_KEY: tuple(self._facts.of(request))}
        if (data := stored(self._crawler, request, **facts)) is None:  # it is sent
            return
        try:
            self._store.park(request.url, data, why)
        except sqlite3.Error as exc:
            self._warning.log(f"Requests are not parked: {exc}")
            return
        self._count("simhash/rules/parked", why.rule)
        raise RuledOut(request.url, why.rule)

    def answered(self, request: Request) -> ParkedRequest | None:
        """Note the answer to a request; return it as it was parked, if it was."""
        self.redirected(request)  # robots.txt may have refused it before it was considered
        self._end(self._target(request))
        number = request.meta.pop(PARKED_META_KEY, None)
        request.meta.pop(FACTS_META_KEY, None)
        asked = self._asked.pop(number, None)
        if asked is not None:
            del self._tries[asked.id]
            self._safely(self._store.answered, number)
            self._go_on()
        return asked

    def release(
        self,
        rule: AddressRule | None = None,
        pattern: str | None = None,
        page: str | None = None,
        *,
        key: int | None = None,
        content: int | None = None,
    ) -> None:
        """Ask for all that is parked with these values, but not for all at once."""
        self._safely(self._store.release, rule, pattern, page, key, content)
        self._go_on()

    def refute(self, rule: AddressRule, pattern: str, page: str) -> None:
        """Ask for what a rule has parked where it has failed.

        That is what is in the *page* pattern, first: if it is wrong apart there, the rest of the
        folder pattern may stay.  It is decided about that when the spider is idle.
        """
        if page != "" and self._safely(self._store.has_page, rule, page):
            self.release(rule, pattern, page)
        elif self._known(rule).stage(pattern) is None:
            self.release(rule, pattern)

    def redirected(self, request: Request) -> None:
        """Note that a request has led to another one, which is sent or dropped."""
        if urls := redirects_in(request.meta):
            self._end(Target(urls[-1], self._facts.of(request).party))

    def spider_idle(self) -> None:
        """Before the crawl ends, ask for what is owed, and look at some of what is parked.

        :raises DontCloseSpider: there are requests now.
        """
        # After a kill, the disk queues of a JOBDIR give old requests in place of new ones.  Or
        # another middleware has ended them: after some tries, they stay on disk.
        again = [number for number in self._asked if self._tries[number] < MOST_TRIES]
        self._asked.clear()
        self._under_way = UnderWay()
        self._safely(self._store.release_left, again)
        self._go_on()
        for look in (self._try, self._audit):
            if not self._asked:
                look(self._safely(self._store.keys) or {})
        if self._asked:
            raise DontCloseSpider

    def rules(self) -> list[AddressRule]:
        """Return the rules by which requests are parked."""
        return [*(self._safely(self._store.keys) or ())]

    def life(self, rule: AddressRule) -> dict[str, int]:
        """Return how many requests of a rule this run has parked, explored, and sent after all."""
        counts = self._lives.get(rule, Counter())
        names = get_args(What) if self.is_on else ()
        return {name.rpartition("/")[2]: counts[name] for name in names}

    def close(self) -> None:
        """Keep what is parked."""
        self._safely(self._store.close)

    def _known(self, rule: AddressRule) -> Hypothesis:
        """Return the trials of a rule, of which there is none if it is forgotten."""
        return self._learner.book.hypothesis(rule) or Hypothesis(rule, 1, 0.0)

    def _target(self, request: Request) -> Target:
        return Target(request.url, self._facts.of(request).party)

    def _end(self, target: Target) -> None:
        """Park what waits for a request if a page is kept now, and ask for it if none is."""
        waiting = self._under_way.end(target)
        content = self._learner.content_at(*target) if waiting else None
        for key in waiting:
            if content is None:
                self.release(key=key)
            else:
                self._safely(self._store.note_known, key, content)

    def _try(self, parked: dict[AddressRule, dict[str, int]]) -> None:
        """Take trials from what waits, or all if none can help; send what no rule holds for."""
        waiting: dict[AddressRule, dict[str, int]] = defaultdict(dict)
        for rule, keys in parked.items():
            for pattern in () if rule.kind in self.owners else keys:
                stage = self._known(rule).stage(pattern)
                if stage is None:
                    self.release(rule, pattern)
                elif stage == "waiting":
                    waiting[rule][pattern] = keys[pattern]
        for rule, keys in {} if self._asked else waiting.items():
            wanted = self._known(rule).next_trials(keys)
            if wanted is None or not self._look(rule, wanted):
                for pattern in keys:
                    self.release(rule, pattern)

        if not self._asked:  # a rule that has parked with others has no trials of its own
            for rule, pattern in self._safely(self._store.others) or ():
                if not self._known(rule).acts_in(pattern):
                    self.release(rule, pattern)

    def _audit(self, parked: dict[AddressRule, dict[str, int]]) -> None:
        """Look at what rules have parked, by chance; send all if a trap is none any more.

        Of a rule, one request for each key; what was looked at before counts.
        """
        worth = self._settings.rules_audit
        by_site: Counter[str] = Counter()
        covered: dict[AddressRule, int] = {}
        for rule, keys in parked.items():
            if (owner := self.owners.get(rule.kind)) is not None:
                room = owner.take_audits(rule.drop, min(sum(keys.values()), worth))
                if room is None:
                    self.release(rule)
                else:
                    self._look(rule, Sample([*keys], room, 0))
                continue
            covered[rule] = sum(keys.values()) + self._looked_at[rule]
            by_site[site_of_host(rule.host)] += covered[rule]
        each = LOOKS if worth else 0
        for rule, of_rule in covered.items():
            of_site = by_site[site_of_host(rule.host)]
            share = ceil(sample_size(of_site, worth) * of_rule / max(1, of_site))
            lacking = max(0, share - self._looked_at[rule])
            self._look(rule, Sample([*parked[rule]], lacking, each))

    def _look(self, rule: AddressRule, wanted: Sample) -> bool:
        """Send some requests of a rule to see whether it is right; return whether there are any."""
        trials = self._known(rule).trials.items()
        tried = [name for name, of in trials if of.right >= wanted.each]
        crowded = self._safely(self._store.crowded, rule) if wanted.each else None
        rows = self._safely(self._store.sample, rule, wanted, tried) or []
        self._looked_at[rule] += len(rows)
        for row in (*(crowded or ()), *rows):
            self._ask(row, "simhash/rules/audited")
        return bool(crowded or rows)

    def _go_on(self) -> None:
        """Ask for what is to be asked for, but not for all at once."""
        while (room := MOST_ASKED - len(self._asked)) > 0:
            rows = self._safely(self._store.take_owed, room)
            if not rows:
                return
            for row in rows:
                self._ask(row, "simhash/rules/released")

    def _ask(self, row: ParkedRequest, why: What) -> None:
        self._tries[row.id] += 1
        if (request := restored(self._crawler, row.request)) is None:
            return
        request.meta[PARKED_META_KEY] = row.id
        request.dont_filter = True
        self._asked[row.id] = row
        if ask(self._crawler, request):
            if self._tries[row.id] == 1:
                self._count(why, row.rule)
        else:  # it stays on disk
            del self._asked[row.id]

    def _count(self, what: What, rule: AddressRule) -> None:
        self._crawler.stats.inc_value(what)
        self._lives.setdefault(rule, Counter())[what] += 1

    def _safely(self, step: Callable[..., T], *arguments: object) -> T | None:
        """Return what the file answers, None if it fails; what is in it stays in it."""
        try:
            return step(*arguments)
        except sqlite3.Error as exc:
            self._warning.log(f"The file of parked requests fails: {exc}")
            return None


def is_exempt(request: Request) -> bool:
    """Whether a request is sent whatever the rules say."""
    return (
        request.method != "GET"
        or request.dont_filter
        or is_start_request(request)
        or bool(request.meta.get("retry_times"))
    )


def parking_place(crawler: Crawler, settings: SimhashSettings) -> Path | None:
    """Return where the parked requests of a run are kept: in its JOBDIR, or beside its index.

    If the index is no file, it is beside the default place of an index.  None if nothing is to be
    parked, or if the default place cannot be written: a warning says so.
    """
    if settings.rules != "use":
        return None
    if job := job_dir(crawler.settings):
        return Path(job, PARKED_FILE)
    if settings.index is not None and settings.index != MEMORY and not is_in_redis(settings.index):
        folder = Path(f"{settings.index}.parked")
    else:
        try:
            place = index_place(replace(settings, index=None), spider_name(crawler))
            folder = Path(f"{place}.parked")
            folder.mkdir(parents=True, exist_ok=True)
            TemporaryFile(dir=folder).close()
        except OSError as exc:
            message = "No requests are parked, as they cannot be kept: %(error)s"
            logger.warning(message, {"error": exc})
            return None
    remove_old(folder)
    return folder / strftime(f"%Y-%m-%dT%H-%M-%S-{os.getpid()}.sqlite", gmtime())
