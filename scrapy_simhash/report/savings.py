"""The rules for addresses as the report has them: what they have shown, and would have saved.

A crawl learns rules while it runs, and tells :class:`Savings` of each page (``crawl/rules.py``).
Where only the decisions are left, in a feed or a batch, :class:`FeedRules` learns from them.
Nothing else of the report imports this module: a crawl without rules does without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache

from scrapy_simhash.decision.page import NEW_ADDRESSES
from scrapy_simhash.report.collector import shortened
from scrapy_simhash.report.document import ROWS, iso_time
from scrapy_simhash.url_rules.book import RuleBook
from scrapy_simhash.url_rules.learner import Learner, Lesson
from scrapy_simhash.urls import Address, folder_pattern

if TYPE_CHECKING:
    from scrapy_simhash.decision.page import Decision
    from scrapy_simhash.report.record import Record
    from scrapy_simhash.url_rules.evidence import Hypothesis
    from scrapy_simhash.url_rules.rule import AddressRule

# Folder patterns that are named for each rule.
NAMED_PATTERNS = 5
# Rules of which the savings are counted.
MAX_COUNTED = 10_000


@dataclass(slots=True)
class Saved:
    """What one rule would have saved in this run, and lost.

    It was right about *duplicates* of *body_bytes*, in a trial or by what its trials had shown; it
    would have *lost* pages when it could act.  *wrong_about* is the last page with another text.
    *places* are the duplicates by folder pattern, of those that the rule counts trials in.
    """

    duplicates: int = 0
    body_bytes: int = 0
    lost: int = 0
    wrong_about: str = ""
    places: Counter[str] = field(default_factory=Counter)


class Savings:
    """What the rules of *book* would have saved in this run, page by page."""

    def __init__(self, book: RuleBook) -> None:
        self._book = book
        self._saved: LRUCache[AddressRule, Saved] = LRUCache(MAX_COUNTED)

    def note(self, lesson: Lesson, url: str, decision: Decision, body_bytes: int) -> dict[str, int]:
        """Count a judged page; return the stats, which count for rules that act alone."""
        if decision.reason not in NEW_ADDRESSES:
            for one in lesson.refuted:
                self._of(one).wrong_about = shortened(url)
        if not (decision.is_duplicate or decision.is_alias or decision.replaces):
            if lesson.match is None:
                return {}
            self._of(lesson.match.hypothesis).lost += 1
            return {"simhash/rules/lost": 1}
        # Several rules save a page once.
        if lesson.known is not None:
            self._add(lesson.known.hypothesis, lesson.known.pattern, body_bytes)
        elif lesson.tried:
            one, address = lesson.tried[0], Address.of(url)
            self._add(one, folder_pattern(one.applied(address) or address), body_bytes)
        if lesson.match is None:
            return {}
        return {"simhash/rules/known": 1, "simhash/rules/known_bytes": body_bytes}

    def _add(self, one: Hypothesis, pattern: str, body_bytes: int) -> None:
        saved = self._of(one)
        saved.duplicates += 1
        saved.body_bytes += body_bytes
        if pattern in one.trials:
            saved.places[pattern] += 1

    def rows(
        self, life: Callable[[AddressRule], Mapping[str, int]] = lambda rule: {}
    ) -> list[dict[str, Any]]:
        """Return the rules that could act at some time, or may soon, those that save most first.

        *life* says what else is known of a rule.
        """
        known = (one for one in self._book.all() if one.learned is not None or one.is_promising)
        found = [(self._of(one), one) for one in known]
        found.sort(key=lambda pair: (-pair[0].duplicates, -pair[1].keys))
        return [
            {
                **row_of(one),
                "templates": acts[:NAMED_PATTERNS],
                "templates_in_all": len(acts),
                "duplicates": saved.duplicates,
                "body_bytes": saved.body_bytes,
                "lost": saved.lost,
                "wrong_about": saved.wrong_about,
                "needless": sum(saved.places[name] for name in acts),
                **life(one.rule),
            }
            for saved, one in found[:ROWS]
            for acts in [one.acts()]
        ]

    def _of(self, one: Hypothesis) -> Saved:
        return self._saved.setdefault(one.rule, Saved())


def row_of(one: Hypothesis) -> dict[str, Any]:
    """Return a rule and what is known of it, as the report and the command have it."""
    return {
        "advice": str(one.rule),
        **asdict(one.rule),
        "number": one.number,
        "learned": None if one.learned is None else iso_time(one.learned),
        "seen": iso_time(one.seen),
        "keys": one.keys,
        "failures": one.failures,
        "waits_for": one.waits_for(),
    }


class FeedRules:
    """Learns rules from records, in the order of their pages, as the crawl did or would have.

    It knows less than a crawl: not which requests one page may serve, nor what changes by itself.
    """

    def __init__(self) -> None:
        book = RuleBook()
        self._learner = Learner(book)
        self._savings = Savings(book)

    def add(self, record: Record) -> None:
        """Learn from one page, which takes about as long as counting it."""
        decision, url = record.decision, record.url
        if decision.reason == "wall":
            self._learner.forget(record.kept_url)
        elif decision.verdict != "skipped" and not record.redirects:
            lesson = self._learner.learn(
                url,
                decision.content_url(url),
                now=record.judged_at,
                leads_on=decision.reason in NEW_ADDRESSES,
            )
            self._savings.note(lesson, url, decision, record.body_bytes)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rules; their numbers are None, as no index has them under these."""
        return [{**row, "number": None} for row in self._savings.rows()]
