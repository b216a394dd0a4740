"""The contract of every index, and the one rule by which they judge a page."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice, takewhile, zip_longest
from types import TracebackType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from scrapy_simhash.index.forgetting import Forgetful
from scrapy_simhash.rule.sketch import MIN_SAMPLES, Overlap, Sketch, mark, overlap
from scrapy_simhash.rule.template import Templates

if TYPE_CHECKING:
    from typing_extensions import Self

# The two views of a page that have a fingerprint.
MAIN_TEXT = "main text"
CONTENT = "content"

# A page is compared with the closest candidates, so many at the most: each takes about 25 us.
MAX_VERIFIED = 100

# Pages with the same main text are one when they share this much of their content; where the kept
# one has all of the new one, half is enough: dropping that loses nothing (measured on pages with
# and without a notice).
SAME_TEXT_SHARE = 0.75
CONTAINED_SHARE = 0.5

Verdict = Literal["unique", "near_duplicate", "exact_duplicate", "refresh", "skipped"]
DUPLICATES: frozenset[Verdict] = frozenset({"near_duplicate", "exact_duplicate"})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Parameters:
    """What an index is built for.

    *scheme* and *scope* are stored with it and must be the same ever after; the others may
    change from crawl to crawl.  *share* is the share of text in common that verifies a
    candidate; None takes every candidate, as the paper does.
    """

    scheme: str
    scope: str = "global"
    distance: int = 3
    min_tokens: int = 50
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A page as an index sees it.

    *fingerprint* is the 64-bit simhash of the main text, *digest* 16 bytes that equal texts
    share, *request_fingerprint* Scrapy's own, *scope* the part of the index to compare with,
    *judged_at* seconds since the epoch, *crawl* the number of the crawl that met it.  The
    second view of a page, for an index that verifies: *content_fingerprint*, *sketch*
    (:mod:`scrapy_simhash.rule.sketch`), and the ids of its *blocks* on *site*.  *canonical* is
    the URL
    that the page gives as its own (rel=canonical): it chooses among kept pages that are as good
    as its representative, and decides nothing else.
    """

    url: str
    request_fingerprint: bytes
    scope: str
    fingerprint: int
    digest: bytes
    tokens: int
    judged_at: float
    crawl: int | None = None
    content_fingerprint: int | None = None
    sketch: bytes | None = None
    site: str = ""
    blocks: tuple[int, ...] = ()
    canonical: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A page that is stored: *representative* is the id of the kept page, None where it is one.

    *crawl* is the number of the crawl that judged it last, None where that is not known.
    """

    id: int
    crawl: int | None
    scope: str
    request_fingerprint: bytes
    url: str
    fingerprint: int
    digest: bytes
    tokens: int
    representative: int | None
    judged_at: float
    content_fingerprint: int | None = None
    sketch: bytes | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What an index holds that a page is judged by.

    *own* is the row of the page's request, *delivered* whether the crawl that judged it is known
    to have passed it on to its spider.  *same_text* are the representatives in the page's scope
    with its digest, oldest first.  *near* are those within the distance, those near by their
    content first, in each view the closest first, then the oldest; with the distance in the view.
    """

    own: Row | None
    delivered: bool
    same_text: Iterable[Row]
    near: Iterable[tuple[Row, int]]


class NearMiss(NamedTuple):
    """A kept page that a unique one comes near, in the fields that a :class:`Decision` has."""

    share: float
    distance: int
    url: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided of one page, and why.

    *representative* is the URL of the kept page, *distance* the bits between the two
    fingerprints (of the view by which it was found); both None for a page without one.
    *share* is the share of text in common, where it was verified.  *reason* is one of the
    short codes listed in docs/decisions.md.  *changed* says of a ``refresh`` whether its text
    is another one than before, and is None for any other verdict.  *closest* is the
    candidate that a unique page shares most with, though not enough; two decisions are the
    same whatever it is.
    """

    verdict: Verdict
    reason: str
    representative: str | None = None
    distance: int | None = None
    share: float | None = None
    changed: bool | None = None
    closest: NearMiss | None = field(default=None, compare=False)

    @property
    def is_duplicate(self) -> bool:
        """Whether the page is a duplicate of a kept one."""
        return self.verdict in DUPLICATES

    @property
    def is_unchanged(self) -> bool:
        """Whether the page is as it was when an earlier crawl passed it on to its spider."""
        return self.reason == "unchanged"


class Index(Forgetful):
    """Pages kept so far, and the rule that compares a new one with them.

    :meth:`check_and_add` is atomic among all who share the index.  Only representatives
    are compared with: a page that was found to be a duplicate is remembered with its
    representative, but nothing is ever a duplicate *of* it (a star, never a chain).
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.templates = Templates()

    @abstractmethod
    def check_and_add(self, page: Page) -> Decision:
        """Judge *page* and remember it; when this returns, both are done for good.

        In this order:

        1. the request of a representative again: ``refresh``, compared with its own last text,
           and its text is the new one;
        2. without verification: a representative has the same text, ``exact_duplicate``, or
           both texts have at least ``min_tokens`` tokens and fingerprints within ``distance``
           bits, ``near_duplicate`` of the closest, of the oldest of several;
        3. with verification: of the representatives with the same text or within
           ``distance`` bits in one of the two views, the one that shares most of its
           content, if it shares enough;
           of several that serve as well, the one at the page's ``canonical`` URL is named: in 2.
           those of the same text, or equally close; in 3. all that share enough;
        4. anything else is ``unique`` and becomes a representative.

        :raises IndexUnavailableError: the index did not answer; nothing was remembered.
        """

    async def check_and_add_async(self, page: Page) -> Decision:
        """Do what :meth:`check_and_add` does, and let others run where that means waiting."""
        return self.check_and_add(page)

    async def aside(self, operation: Callable[[], T]) -> T:
        """Return what *operation* on this index does, and let others run as above."""
        return operation()

    @abstractmethod
    def check(self, page: Page) -> Decision:
        """Return what :meth:`check_and_add` would, and remember nothing.

        :raises IndexUnavailableError: the index did not answer.
        """

    def _learn(self, page: Page, decision: Decision) -> None:
        """Let a page that was judged teach what its site repeats."""
        if decision.verdict == "unique":
            self.templates.learn(page.site, page.blocks)

    def _judge(self, page: Page, found: Found) -> tuple[Decision, Row | None]:
        """Return the decision on *page*, and its representative if it is a duplicate."""
        own = found.own
        if own is not None and own.representative is None:
            return self._refresh(page, own, found.delivered), None
        judge = self._most_alike if self.parameters.share else self._closest
        row, decision = judge(page, found)
        return decision, row

    @staticmethod
    def _crawl_of(page: Page, found: Found, decision: Decision) -> int | None:
        """Return the crawl that a page counts as judged by: the one that delivered it, if any."""
        if found.own is not None and decision.is_unchanged:
            return found.own.crawl
        return page.crawl

    def _refresh(self, page: Page, own: Row, delivered: bool) -> Decision:
        """Compare a page with what it was."""
        distance = (own.fingerprint ^ page.fingerprint).bit_count()
        changed = not self._is_same(page, own)
        if not changed and delivered:
            return Decision("refresh", "unchanged", own.url, distance, changed=False)
        return Decision("refresh", "seen_before", own.url, distance, changed=changed)

    def _is_same(self, page: Page, row: Row) -> bool:
        """Whether a page has the main text of a row and, where that is compared, its content."""
        if page.digest != row.digest:
            return False
        if not self.parameters.share:
            return True
        if page.sketch is None or row.sketch is None:
            return page.sketch == row.sketch
        sketches = Sketch.from_bytes(page.sketch), Sketch.from_bytes(row.sketch)
        return overlap(*sketches, self._template_marks(page.site)).share == 1

    def _template_marks(self, site: str) -> set[int]:
        """Return the marks in sketches of the blocks that a site is known to repeat."""
        return {mark(block) for block in self.templates.blocks(site)}

    def _closest(self, page: Page, found: Found) -> tuple[Row | None, Decision]:
        """Return the duplicate by the paper's plain rule."""
        if twin := _closest_named(page, ((row, 0) for row in found.same_text)):
            return twin[0], Decision("exact_duplicate", "same_text", twin[0].url, 0)
        if near := _closest_named(page, found.near):
            row, distance = near
            return row, Decision("near_duplicate", "within_distance", row.url, distance)
        return None, Decision("unique", "new_text")

    def _most_alike(self, page: Page, found: Found) -> tuple[Row | None, Decision]:
        """Return the candidate that shares most of its content, if it shares enough."""
        if page.sketch is None:
            return None, Decision("unique", "new_text")
        candidates = [
            (row, kept, distance)
            for row, distance in islice(self._candidates(page, found), MAX_VERIFIED)
            if (kept := row.sketch) is not None
        ]
        if not candidates:  # most pages have none, and unpacking a sketch takes 8 us
            return None, Decision("unique", "new_text")
        sketch = Sketch.from_bytes(page.sketch)
        template = self._template_marks(page.site)
        best: tuple[tuple[bool, float], int, Row] | None = None
        missed: NearMiss | None = None
        for row, kept, distance in candidates:
            shared = overlap(sketch, Sketch.from_bytes(kept), template)
            same_text = page.tokens if row.digest == page.digest else 0
            if self._is_enough(shared, same_text):
                rank = row.url == page.canonical, shared.share
                if best is None or rank > best[0]:
                    best = (rank, distance, row)
            elif missed is None or shared.share > missed.share:
                missed = NearMiss(shared.share, distance, row.url)
        if best is None:
            return None, Decision("unique", "new_text", closest=missed)
        (_, share), distance, row = best
        if share == 1 and row.digest == page.digest:
            return row, Decision("exact_duplicate", "same_text", row.url, distance, share)
        return row, Decision("near_duplicate", "share_in_common", row.url, distance, share)

    def _candidates(self, page: Page, found: Found) -> Iterator[tuple[Row, int]]:
        """Yield the rows to compare a page with, each once, and their distances.

        Those with the same main text and those near in a view come in turns, so that however
        many there are of the one, they leave room for the other.
        """
        same = ((row, 0) for row in found.same_text if page.tokens)
        seen: set[int] = set()
        for candidate in chain.from_iterable(zip_longest(same, found.near)):
            if candidate is not None and candidate[0].id not in seen:
                seen.add(candidate[0].id)
                yield candidate

    def _is_enough(self, shared: Overlap, same_text: int) -> bool:
        """Whether two pages are one: little content must be the same, more content nearly so.

        What may differ grows from nothing, in content of ``min_tokens`` shingles, to what
        *share* allows in twice as many: in little content, each difference says more.

        Where the main texts are the same, of *same_text* tokens, and those say something, the
        rest of the content is what changes around them: it need only be about the same.  Less
        is enough where the kept page, the second of the two, has all that the new one has.
        """
        contained = shared.first_in_second or shared.second_in_first
        if same_text >= (MIN_SAMPLES if contained else self.parameters.min_tokens):
            least = CONTAINED_SHARE if shared.first_in_second else SAME_TEXT_SHARE
            if shared.share >= least:
                return True
        little = max(1, self.parameters.min_tokens)
        beyond = min(1.0, max(0.0, shared.compared / little - 1))
        return shared.share >= 1 - beyond * (1 - (self.parameters.share or 1))

    def _views(self, page: Page | Row) -> list[tuple[str, int]]:
        """Return the names and fingerprints under which a page is looked up and found."""
        return self._views_of(page.tokens, page.fingerprint, page.content_fingerprint)

    def _views_of(self, tokens: int, main: int, content: int | None) -> list[tuple[str, int]]:
        views = []
        if self.parameters.share and content is not None:
            views.append((CONTENT, content))
        if tokens >= self.parameters.min_tokens:
            views.append((MAIN_TEXT, main))
        return views

    @abstractmethod
    def __str__(self) -> str:
        """Return where the index is, as SIMHASH_INDEX would name it."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many representatives there are."""

    @abstractmethod
    def rows(self) -> Iterable[Row]:
        """Yield every stored page, representatives and duplicates, oldest first."""

    @abstractmethod
    def begin_crawl(self, spider: str) -> int | None:
        """Return a number for the pages that *spider* is about to meet; None where none is kept."""

    @abstractmethod
    def end_crawl(self, crawl: int | None) -> None:
        """Note that all pages of a crawl that began were passed on, or dropped."""

    @abstractmethod
    def close(self) -> None:
        """Give back what the index holds; closing twice is no error."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _closest_named(page: Page, found: Iterable[tuple[Row, int]]) -> tuple[Row, int] | None:
    """Return the first of *found*, or of those as close the one at the page's canonical URL."""
    rows = iter(found)
    closest = next(rows, None)
    if closest is None or page.canonical is None:
        return closest
    as_close = takewhile(lambda one: one[1] == closest[1], islice(rows, MAX_VERIFIED))
    return next((one for one in as_close if one[0].url == page.canonical), closest)
