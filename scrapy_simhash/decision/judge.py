"""The rule that decides whether a page is a duplicate, and of which page.

Pure functions over the values of :mod:`scrapy_simhash.decision.page`.  An index looks up the rows
that the rule needs (:class:`Found`), calls :func:`judge`, and stores the page with the decision.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, takewhile, tee, zip_longest
from operator import attrgetter
from typing import Literal, NamedTuple

from scrapy_simhash.decision.comparison import (
    MIN_SAMPLES,
    Comparisons,
    Overlap,
    TemplateOf,
    marks,
    no_template,
    overlap,
)
from scrapy_simhash.decision.holdings import Comparable, Told
from scrapy_simhash.decision.page import (
    PURPOSE_BYTES,
    VARIANT_REASONS,
    Decision,
    Found,
    NearMiss,
    Page,
    Reason,
    Row,
    crawls_in,
    together,
)
from scrapy_simhash.settings import CANONICAL, FIRST
from scrapy_simhash.urls import owner_of, section_of

# The two views of a page that have a fingerprint.
View = Literal["main text", "content"]
MAIN_TEXT: View = "main text"
CONTENT: View = "content"

# At most this many candidates are compared with a page, the closest first: each takes 13 us, 21 us
# from a file, and 90 us if nothing is compiled.
MAX_COMPARED = 100

# At most this many segments of two URLs are compared: a URL may have a thousand.
MOST_SEGMENTS = 20

# Pages with the same main text are duplicates if they share at least this much of their content.
# If the kept page has all content of the new one, half is enough: dropping the new page loses
# nothing (measured on pages with and without a notice).
SAME_TEXT_SHARE = 0.75
CONTAINED_SHARE = 0.5
# Of what a kept page says, a copy says so much, however much of the text of both changes.
SAME_VALUES_SHARE = 0.75
# If the kept page has all content of the new one, this share is enough whatever the main texts are:
# a page and its rendered view, which lacks the title and a "Retrieved from", share 0.87 to 0.97.
ALL_KEPT_SHARE = 0.85
# Pages with different headings need this share: those of two models of one library share up to
# 0.961, pages whose heading names another edition of one text from 0.976 on.
OTHER_HEADING_SHARE = 0.97


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of an index.

    *scheme* and *scope* are stored with the index and cannot change later; the others may change
    from crawl to crawl.  *share* is the share of text in common that verifies a candidate; with
    None, every candidate is a match, as in the paper.  *prefer* says whether the copy at the
    canonical URL of a kept page takes its place.
    """

    scheme: str
    scope: str = "global"
    distance: int = 3
    min_tokens: int = 50
    share: float | None = None
    prefer: str = FIRST

    def views_of(
        self, tokens: int, fingerprint: int, content_fingerprint: int | None
    ) -> list[tuple[View, int]]:
        """Return the views that find a page with these fields, with its fingerprints."""
        views = []
        if self.share and content_fingerprint is not None:
            views.append((CONTENT, content_fingerprint))
        if tokens >= self.min_tokens:
            views.append((MAIN_TEXT, fingerprint))
        return views

    def views(self, page: Page) -> list[tuple[View, int]]:
        """Return the views under which a page is looked up and found, with its fingerprints."""
        return self.views_of(page.tokens, page.fingerprint, page.content_fingerprint)


class SiteKnowledge(NamedTuple):
    """What is known of a site.

    *template* holds the ids of the blocks that it repeats, *values* those of the values that the
    section of a page does.  *template_of* and *values_of* return what another section repeats,
    *own_values* those of a kept page.
    """

    template: Collection[int] = ()
    template_of: TemplateOf = no_template
    values: Collection[int] = ()
    values_of: TemplateOf = no_template
    own_values: Callable[[Page], bytes | None] = attrgetter("own_values")


class Judged(NamedTuple):
    """A decision, and the row that it is about.

    It is the *representative* of a duplicate, or the row whose place a page takes: that of a page
    that was met before, or has *moved*.  None of a new page.
    """

    decision: Decision
    row: Row | None = None

    @property
    def representative(self) -> Row | None:
        """The row that a duplicate points to."""
        return self.row if self.decision.is_duplicate else None

    @property
    def replaced(self) -> Row | None:
        """The row whose place the page takes."""
        return self.row if self.decision.verdict == "refresh" else None

    @property
    def left(self) -> Row | None:
        """The row whose page is a duplicate from now on: another page takes its place."""
        return self.row if self.decision.reason in ("moved", "canonical") else None

    def place(self, own: Row | None) -> Row | None:
        """Return the row that the page is written to, None for a new one.

        *own* is the row of its request; if that is another one, it is to be removed.
        """
        return self.replaced or own


def judge(page: Page, found: Found, parameters: Parameters, site: SiteKnowledge) -> Judged:
    """Return the decision on *page* of *site*, and the row that it is about.

    The first step that applies decides:

    1. The request is that of a representative, or of a duplicate that this crawl has judged and the
       spider asks for again: ``refresh``, compared with its own last text.
    2. Without verification: ``exact_duplicate`` if a representative has the same text.
       ``near_duplicate`` if both texts have at least ``min_tokens`` tokens and their fingerprints
       are within ``distance`` bits; the representative is the closest, the oldest of several.
    3. With verification, the candidates are the representatives with the same text, or near as
       the index finds them (:class:`Found`).  If values are compared, the page is a duplicate of
       one that has all of its values, and a ``variant`` of the one that shares most of its content,
       if that is enough; otherwise it is a duplicate of that one.  One on another registered domain
       must have all of its text, too.
    4. A page that would be a duplicate of a representative which this crawl has not met is no
       duplicate: it is a ``refresh`` that has moved, and takes its place.
    5. So is one whose representative names it as canonical, if such copies are preferred.
    6. Any other page is ``unique``.

    A representative stands for the pages of such requests alone that have its *purpose*, and are
    not nearer to a start than its own.

    Representatives that this crawl has met come first.
    If several representatives qualify, the one at the page's ``canonical`` URL is chosen: in step 2
    among those with the same text, or those equally close; in step 3 among all that share enough.
    There, of those that share the same, the one whose path ends most like the page's is chosen,
    then the first.
    """
    own = found.own
    if own is not None and (own.is_kept or _is_poll(page, own)):
        judged = _refresh(page, own, found, parameters, site)
        beside = _beside(page, own, found, parameters, site)
        return judged._replace(decision=replace(judged.decision, beside=beside))
    judged = _like(page, found, parameters, site)
    if judged.row is None:
        return judged
    kept = judged.row.page
    if _stands(judged.row, page) and not _is_preferred(page, kept, parameters):
        better = {"canonical": kept.canonical is not None, "longer": page.tokens > kept.tokens}
        told = tuple(name for name, is_so in better.items() if is_so)
        return judged._replace(decision=replace(judged.decision, better=told))
    return _refresh(page, judged.row, found, parameters, site)


def stored_as(page: Page, judged: Judged, own: Row | None) -> Page:
    """Return a page as it is stored with its decision; *own* is the row of its request.

    An unchanged page keeps the crawl that delivered it.
    """
    if judged.representative is not None and own is not None:
        return replace(page, met_by=together(page.met_by, own.page.met_by))
    # What is left was met by other crawls elsewhere; they may have to take that back.
    if judged.replaced is None or judged.left is not None:
        return page
    before = judged.replaced.page
    crawl = before.crawl if judged.decision.is_unchanged else page.crawl
    return replace(page, crawl=crawl, met_by=together(page.met_by, before.met_by))


def _is_preferred(page: Page, kept: Page, parameters: Parameters) -> bool:
    """Whether a page takes the place of a kept one that names it, and that it does not name."""
    is_named = kept.canonical == page.url and page.canonical != kept.url
    return is_named and parameters.prefer == CANONICAL


def _stands(row: Row, page: Page) -> bool:
    """Whether a representative stands for others in the crawl that *page* is judged for."""
    return page.met_by is None or crawls_in(page.met_by)[0] in crawls_in(row.page.met_by)


def _is_poll(page: Page, own: Row) -> bool:
    """Whether a request is one that this crawl has judged, and that is sent again on purpose."""
    if page.met_by is None:
        return page.is_asked_again and page.crawl is not None and own.page.crawl == page.crawl
    return page.is_asked_again and _stands(own, page)


def other_request(page: Page, kept: Page) -> Told | None:
    """Return in what the request of a page is another one than that of a kept page, if in any.

    If links are cut at a depth, those of a kept page may be that a page nearer to a start leads to,
    or that a later crawl follows.
    """
    if page.is_poll:
        return Told("request", "meta", "")
    if page.purpose != kept.purpose:
        half = PURPOSE_BYTES // 2
        mine, its = (one.purpose or bytes(PURPOSE_BYTES) for one in (page, kept))
        return Told("request", "callback" if mine[:half] != its[:half] else "meta", "")
    if kept.levels is None or (page.levels is None and page.crawl is None):
        return None
    if page.levels is None or page.levels > kept.levels:
        levels = "all" if page.levels is None else page.levels
        return Told("request", "depth", f"{levels} levels below instead of {kept.levels}")
    return None


def has_same_text(
    page: Page, other: Page, parameters: Parameters, template: Collection[int]
) -> bool:
    """Whether two pages are duplicates by their texts alone."""
    if page.sketch is None or other.sketch is None:
        return page.sketch == other.sketch and page.digest == other.digest
    shared = overlap(page.sketch, other.sketch, marks(template))
    return _shares_enough(page, other, shared, parameters)


def _refresh(
    page: Page, row: Row, found: Found, parameters: Parameters, site: SiteKnowledge
) -> Judged:
    """Compare a page with what it was before: its own row, or that whose place it takes."""
    distance = page.distance_to(row.page)
    changed = not _has_same_content(page, row.page, parameters, site.template)
    decision = Decision("refresh", "seen_before", row.page.url, distance, changed=changed)
    if row is not found.own:
        decision = replace(decision, reason="canonical" if _stands(row, page) else "moved")
    elif not changed and found.delivered and _is_same(page, row.page, site):
        decision = replace(decision, reason="unchanged")
    return Judged(decision, row)


def _is_same(page: Page, own: Page, site: SiteKnowledge) -> bool:
    """Whether a page has the links and values that it had before, and is asked for as then."""
    if page.addresses != own.addresses or other_request(page, own) is not None:
        return False
    if page.is_unmodified:
        return page.validators == own.validators
    if page.own_values is None:
        return own.own_values is None and page.holds.is_whole
    if not page.holds.is_whole:
        return False
    values = Comparable(page.url, page.holds, page.own_values, page.section, site.values_of)
    return values.is_same_as(own.url, own.own_values, section_of(own.url))


def _has_same_content(
    page: Page, own: Page, parameters: Parameters, template: Collection[int]
) -> bool:
    """Whether a page still has the same main text and, with verification, the same content."""
    if page.digest != own.digest:
        return False
    if not parameters.share:
        return True
    if page.sketch is None or own.sketch is None:
        return page.sketch == own.sketch
    return overlap(page.sketch, own.sketch, marks(template)).share == 1


def _beside(
    page: Page, own: Row, found: Found, parameters: Parameters, site: SiteKnowledge
) -> Decision | None:
    """Return what a page would be beside the rows but its *own*: see :class:`Decision`."""
    others = replace(
        found,
        same_text=(row for row in found.same_text if row.id != own.id),
        near=(one for one in found.near if one[0].id != own.id),
        alike=(row for row in found.alike if row.id != own.id),
    )
    judged = _like(page, others, parameters, site)
    return judged.decision if judged.row is not None and _stands(judged.row, page) else None


def _like(page: Page, found: Found, parameters: Parameters, site: SiteKnowledge) -> Judged:
    """Return the decision by the candidate that is most like a page, if that is enough."""
    if parameters.share:
        return _most_alike(page, found, parameters, site)
    return _closest(page, found)


def _closest(page: Page, found: Found) -> Judged:
    """Return the duplicate by the paper's plain rule."""
    same_text = tee((row, 0) for row in islice(found.same_text, MAX_COMPARED))
    near = tee(islice(found.near, MAX_COMPARED))

    def stand(rows: Iterable[tuple[Row, int]], are_met: bool) -> Iterator[tuple[Row, int]]:
        for one in rows:
            row = one[0]
            if _stands(row, page) is are_met and other_request(page, row.page) is None:
                yield one

    for are_met, twins, others in zip((True, False), same_text, near, strict=True):
        if twin := _closest_named(page, stand(twins, are_met)):
            row, _ = twin
            decision = Decision("exact_duplicate", "same_text", row.page.url, 0)
            return Judged(decision, row)
        if one := _closest_named(page, stand(others, are_met)):
            row, distance = one
            decision = Decision("near_duplicate", "within_distance", row.page.url, distance)
            return Judged(decision, row)
    return Judged(Decision("unique", "new_text", is_crowded=found.are_left_out))


def _closest_named(page: Page, found: Iterable[tuple[Row, int]]) -> tuple[Row, int] | None:
    """Return the first of *found*, or an equally close one at the page's canonical URL."""
    rows = iter(found)
    closest = next(rows, None)
    if closest is None or page.canonical is None:
        return closest
    as_close = takewhile(lambda one: one[1] == closest[1], islice(rows, MAX_COMPARED))
    return next((one for one in as_close if one[0].page.url == page.canonical), closest)


def _most_alike(page: Page, found: Found, parameters: Parameters, site: SiteKnowledge) -> Judged:
    """Return the decision by the candidate that shares most of its content, if that is enough."""
    if page.sketch is None:
        return Judged(Decision("unique", "new_text"))
    if page.own_values is not None and page.holds.is_shell and site.values:
        return Judged(Decision("unique", "shell"))
    candidates, are_left_out = _candidates(page, found)
    if not candidates:  # most pages have none, and a comparison takes 10 us to begin
        return Judged(Decision("unique", "new_text", is_crowded=are_left_out))
    return most_alike(page, candidates, parameters, site, are_left_out)


def most_alike(
    page: Page,
    candidates: Iterable[Row],
    parameters: Parameters,
    site: SiteKnowledge,
    are_left_out: bool = False,
) -> Judged:
    """Return the decision on a page with a sketch by kept pages.

    *are_left_out* says that it might be like others.  Cost: 10 us, and 10 us a candidate.
    """
    if page.sketch is None:
        raise ValueError("only a page with content can be compared")
    comparisons = Comparisons(page.sketch, site.template, page.section, site.template_of)
    values: Comparable | None = None
    if page.own_values is not None:
        values = Comparable(page.url, page.holds, page.own_values, page.section, site.values_of)
    best: tuple[_Rank, NearMiss, Row, tuple[int, ...]] | None = None
    missed: NearMiss | None = None
    variant: _Variant | None = None
    for row in candidates:
        if row.page.sketch is None:
            continue
        section, stored = section_of(row.page.url), site.own_values(row.page)
        shared = comparisons.overlap(row.page.sketch, section)
        miss = NearMiss(shared.share, page.distance_to(row.page), row.page.url)
        is_near = _shares_enough(page, row.page, shared, parameters)
        new: list[int] | None = []
        if not page.holds.is_whole:
            new = None
        elif values is not None:
            new = values.new_beside(row.page.url, stored, section, 1)
        elif not is_near:
            new = None
        if new == [] and not (_has_all(page, row.page, shared) or _may_stand_for(page, miss.url)):
            new = None
        # A kept page that rare values alone have found may show several, and this one among them.
        is_alike = is_near or miss.distance <= parameters.distance
        is_alike = is_alike or shared.share >= SAME_TEXT_SHARE
        if new == [] and values is not None and not is_alike:
            new = [] if values.share_had(miss.url, stored) >= SAME_VALUES_SHARE else None
        other = other_request(page, row.page) if new == [] or is_near else None
        if new == [] and other is None:
            url = row.page.url
            in_common = segments_in_common(url, page.url)
            is_named = url == page.canonical or _is_preferred(page, row.page, parameters)
            renamed = tuple(values.renamed) if values is not None else ()
            rank = _stands(row, page), is_named, not renamed, shared.share, in_common
            if best is None or rank > best[0]:
                best = (rank, miss, row, renamed)
        elif is_near or new == []:
            if variant is None or miss.share > variant.miss.share:
                variant = _Variant(miss, new, other, stored)
        elif missed is None or miss.share > missed.share:
            missed = miss
    if best is None and variant is not None:
        if values is not None and variant.new:
            section = section_of(variant.miss.url)
            more = values.new_beside(variant.miss.url, variant.own_values, section, MOST_NEW)
            variant = variant._replace(new=more or variant.new)
        return Judged(_decision_on(variant, page, are_left_out))
    if best is None:
        return Judged(Decision("unique", "new_text", closest=missed, is_crowded=are_left_out))
    _, found, row, renamed = best
    if found.share == 1 and row.page.digest == page.digest:
        decision = Decision("exact_duplicate", "same_text", found.url, found.distance, 1.0)
    else:
        how = found.url, found.distance, found.share
        decision = Decision("near_duplicate", "share_in_common", *how)
    # Another crawl may have met the kept page last: its addresses went to another spider.
    is_ours = page.met_by is None or crawls_in(page.met_by)[:1] == crawls_in(row.page.met_by)[:1]
    kept_addresses = row.page.addresses if is_ours else None
    return Judged(replace(decision, kept_addresses=kept_addresses, renamed=renamed), row)


# Of several kept pages: whether this crawl has met one, whether it is named, and whether it has all
# under the same name; the share in common, and the segments.
_Rank = tuple[bool, bool, bool, float, int]


class _Variant(NamedTuple):
    """A kept page that a page is near, and what is new beside it; None if that cannot be said.

    *other* says what is another in the request.  *own_values* are those of the kept page.
    """

    miss: NearMiss
    new: list[int] | None
    other: Told | None
    own_values: bytes | None


# As much of what is new in a variant is looked for, and shown.
MOST_NEW = 16
SHOWN = 3
_REASONS: dict[str, Reason] = {
    "text": "new_text",
    "element": "new_data",
    "data": "new_data",
    "link": "new_links",
    "name": "new_links",
    "end": "new_text",
    "media": "new_media",
    "request": "other_request",
}


def _decision_on(variant: _Variant, page: Page, are_left_out: bool) -> Decision:
    """Return the decision on a variant: why it is one, and some of what is new."""
    miss, new, other, _ = variant
    reason: Reason = "other_site"
    told: list[Told] = []
    if new is not None:
        known = page.holds.told_values.by_id({*new})
        told = [known[value] for value in new if value in known]
        if other is not None and not new:
            told = [other]
        told.sort(key=lambda one: (one.kind == "end", VARIANT_REASONS.index(_REASONS[one.kind])))
        reason = _REASONS[told[0].kind] if told else "new_text"
    elif _may_stand_for(page, miss.url):
        reason = "new_data"  # too much to be compared
    return Decision(
        "variant",
        reason,
        miss.url,
        miss.distance,
        miss.share,
        closest=miss,
        is_crowded=are_left_out,
        new=tuple(told[:SHOWN]),
    )


def _has_all(page: Page, kept: Page, shared: Overlap) -> bool:
    """Whether a kept page has all of a page's content, and this is known from more than samples."""
    is_exact = shared.is_exact and shared.compared >= MIN_SAMPLES
    return shared.first_in_second and (is_exact or page.digest == kept.digest)


def _may_stand_for(page: Page, kept_url: str) -> bool:
    """Whether a kept page may stand for a page of which it has not all.

    It may within one registered domain, or where the page says itself that it belongs there.
    Anybody else could put a text in the place of another that is nearly the same.
    """
    owner, own = owner_of(kept_url), owner_of(page.url)
    if owner == own or not (owner and own):  # a file is on no site
        return True
    return page.canonical is not None and owner == owner_of(page.canonical)


def segments_in_common(one: str, other: str) -> int:
    """Return how many segments at the end of their paths two URLs share: aliases share many."""
    paths = (url.partition("?")[0].rsplit("/", MOST_SEGMENTS)[::-1] for url in (one, other))
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*paths, strict=False)))


def _candidates(page: Page, found: Found) -> tuple[list[Row], bool]:
    """Return the rows to compare a page with, and whether there are others."""
    # All pages without a main text have the same one, which says nothing: there may be thousands.
    same = found.same_text if page.tokens else ()
    near = (row for row, _ in found.near)
    candidates: dict[int, Row] = {}
    # Both kinds alternate, so that neither takes all the places.
    for row in chain(found.alike, chain.from_iterable(zip_longest(same, near))):
        if row is not None:
            candidates.setdefault(row.id, row)
            if len(candidates) == MAX_COMPARED:
                return list(candidates.values()), True
    return list(candidates.values()), found.are_left_out


def _shares_enough(page: Page, kept: Page, shared: Overlap, parameters: Parameters) -> bool:
    same_text = page.tokens if kept.digest == page.digest else 0
    least = _least_share(page, kept, parameters.share or 1)
    return _is_enough(shared, same_text, least, parameters.min_tokens)


def _least_share(page: Page, kept: Page, share: float) -> float:
    """Return the share that two pages need: more than *share* if their headings are different."""
    if page.heading is None or kept.heading is None or page.heading == kept.heading:
        return share
    return max(share, OTHER_HEADING_SHARE)


def _is_enough(shared: Overlap, same_text: int, share: float, min_tokens: int) -> bool:
    """Whether two pages are duplicates: a little content must be equal, more must be nearly equal.

    Content of *min_tokens* shingles must be equal.  The part that may differ grows with the
    content, up to what *share* allows at twice as many shingles: in little content, each
    difference means more.

    If the main texts are the same, and their *same_text* tokens are enough, the other content is
    what changes around the main text.  It must be only roughly the same.  A smaller share is
    enough if the kept page, the second of the two, has all that the new one has.  What the new
    page hides (a tab, say) is nothing that changes: the kept page must have it.
    """
    contained = shared.first_in_second or shared.second_in_first
    is_long = same_text >= (MIN_SAMPLES if contained else min_tokens)
    if is_long and shared.hidden_in_second:
        least = CONTAINED_SHARE if shared.first_in_second else SAME_TEXT_SHARE
        if shared.share >= least:
            return True
    if shared.first_in_second and shared.compared >= MIN_SAMPLES and shared.share >= ALL_KEPT_SHARE:
        return True
    little = max(1, min_tokens)
    beyond = min(1.0, max(0.0, shared.compared / little - 1))
    return shared.share >= 1 - beyond * (1 - share)
