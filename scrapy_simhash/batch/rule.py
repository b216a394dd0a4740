"""The rule of a batch: that of a crawl that takes texts, in a form that no order of work changes.

A crawl learns on its way what a site repeats.  A batch has all pages at once, and its answer must
not depend on how the work is cut.  So what each site repeats is learned first, from a sample that
depends on the pages alone (:class:`Samples`), and frozen.  Each page is seen under it
(:func:`seen`).  Whether a page is a duplicate of an earlier one then depends on these two alone
(:func:`match`), by the same comparison as in a crawl.  Links do not count: which are new depends on
what was met before.

A page is compared with the earlier kept pages that share a key with it (:func:`keys_of`).  A key of
too many pages is left out for all of them, whatever their order.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from scrapy_simhash.analysis.analyser import view_from
from scrapy_simhash.decision.comparison import marks
from scrapy_simhash.decision.judge import Parameters, SiteKnowledge, most_alike, segments_in_common
from scrapy_simhash.decision.page import Page
from scrapy_simhash.decision.page import Row as StoredRow
from scrapy_simhash.decision.sketch import keys
from scrapy_simhash.decision.template import Template
from scrapy_simhash.files import replacing
from scrapy_simhash.urls import host_of, owner_of, section_of

# What a site, or a section, repeats is learned from this number of its different pages.  A crawl
# looks back on half of that, but here pages that are nearly the same count once.
SAMPLED = 600
# Of pages whose main texts have fingerprints within this distance, one counts.  With 7 bits, a site
# whose texts share a notice of three quarters teaches nothing; with 0, the versions of one page are
# taken for what the site repeats (recall 98.4 instead of 99.2 on one of five sites).
NEAR_BITS = 3
# A shorter text has no meaningful fingerprint (Parameters.min_tokens).
MIN_TOKENS = 50
# A key that more different pages have is left out.  A page has nine keys, so it is compared with at
# most nine times this number of pages.  A crawl compares with 100.
MOST_OF_KEY = 100

_ID_BYTES = 16

# A page as a row of a table, as batch/__init__.py describes it.
Row = dict[str, Any]


class Sampled(NamedTuple):
    """What a page of the sample teaches: its blocks, and what says that two pages are alike."""

    blocks: Collection[int]
    fingerprint: int
    tokens: int


def places_of(url: str) -> set[str]:
    """Return what learns from the page at *url* what it repeats: its host, and its section."""
    return {host_of(url), section_of(url)}


def sample_key(blocks: Iterable[int]) -> int:
    """Return the number, of 63 bits, by which pages with these blocks are drawn.

    The sample of a place are its :data:`SAMPLED` pages with the lowest numbers, each number once.
    """
    packed = array("Q", blocks).tobytes()
    return int.from_bytes(blake2b(packed, digest_size=8).digest(), "big") >> 1


class Samples(dict[str, dict[int, Sampled]]):
    """The pages of the samples of places, by their numbers, with at most as many that are not.

    *size* is the number of pages.
    """

    size = 0

    def draw(self, place: str, row: Row) -> None:
        """Note a page of a place, by its row of features."""
        pages = self.setdefault(place, {})
        self.size -= len(pages)
        number, fingerprint, tokens = row["sample"], unsigned(row["fingerprint"]), row["tokens"]
        known = pages.get(number)
        if known is None or (fingerprint, tokens) < (known.fingerprint, known.tokens):
            pages[number] = Sampled(array("Q", map(unsigned, row["blocks"])), fingerprint, tokens)
        if len(pages) > 2 * SAMPLED:
            for beyond in sorted(pages)[SAMPLED:]:
                del pages[beyond]
        self.size += len(pages)

    def numbered(self, place: str) -> list[tuple[int, Sampled]]:
        """Return the pages of the sample of a place in the order of their numbers."""
        return sorted(self[place].items())[:SAMPLED]

    def learned(self, place: str) -> frozenset[int]:
        """Return the ids of the blocks that a place repeats, by its sample in that order.

        Nothing is known from fewer than :data:`~scrapy_simhash.decision.template.LASTING_PAGES`
        pages.
        """
        template = Template()
        taught: list[int] = []
        for _, page in self.numbered(place):
            if page.tokens >= MIN_TOKENS:
                if any((page.fingerprint ^ one).bit_count() <= NEAR_BITS for one in taught):
                    continue
                taught.append(page.fingerprint)
            template.learn(page.blocks)
        return template.blocks


class Repeated(dict[str, frozenset[int]]):
    """The ids of the blocks that each place repeats; a Parquet file has a row for each place."""

    SCHEMA = pa.schema({"place": pa.string(), "blocks": pa.list_(pa.int64())})

    def beside(self, url: str) -> frozenset[int]:
        """Return what the pages of the site and of the section of *url* repeat."""
        return frozenset().union(*(self.get(place, ()) for place in places_of(url)))

    @classmethod
    def read(cls, path: Path) -> Repeated:
        """Return what :meth:`write` wrote."""
        found = cls()
        for batch in pq.ParquetFile(path).iter_batches():
            for row in batch.to_pylist():
                found[row["place"]] = frozenset(map(unsigned, row["blocks"]))
        return found

    def write(self, path: Path) -> None:
        """Write it in one step."""
        with replacing(path) as unfinished, pq.ParquetWriter(unfinished, self.SCHEMA) as writer:
            for place, blocks in sorted(self.items()):
                row = {"place": place, "blocks": sorted(map(signed, blocks))}
                writer.write_batch(pa.RecordBatch.from_pylist([row], self.SCHEMA))


@dataclass(frozen=True, slots=True)
class Seen:
    """A page under what its site repeats, whose blocks have these *marks* in sketches."""

    page: Page
    marks: frozenset[int]

    @classmethod
    def of(cls, row: Row, repeated: frozenset[int]) -> Seen:
        """Return the page of a row that :func:`seen` completed, beside the same blocks."""
        page = Page(
            url=row["url"],
            request_fingerprint=b"",
            scope="",
            fingerprint=unsigned(row["fingerprint"]),
            digest=row["digest"],
            tokens=row["tokens"],
            judged_at=0.0,
            content_fingerprint=_or_none(unsigned, row["content_fingerprint"]),
            heading=_or_none(unsigned, row["heading"]),
            sketch=row["sketch"],
            section=section_of(row["url"]),
            canonical=row["canonical"],
        )
        return cls(page, frozenset(marks(repeated)))


def seen(row: Row, repeated: frozenset[int]) -> Row:
    """Return a row of features with what the page is under what its site repeats.

    It is all that :func:`match` asks for, and by what pages are told apart and found:

    - *text*: 16 bytes that pages with the same text and content have in common.
    - *class*: 16 bytes that pages have in common of which :func:`match` says the same.
    - *keys*: different numbers of 63 bits.  Two pages are compared if they have one in common.

    A page without content has none of them: it is known to be like no other.
    """
    view = None if row["source"] is None else view_from(row["source"], repeated)
    if view is None:
        return row
    content = view[0]
    found = {int.from_bytes(key, "big"): None for key in keys(content.sketch)}
    if row["tokens"]:
        found[1 << 62 | int.from_bytes(row["digest"][:7], "big")] = None
    heading = "" if content.heading is None else content.heading
    text = _id_of(row["digest"], content.sketch, heading)
    named = "" if row["canonical"] is None else owner_of(row["canonical"])
    return {
        **row,
        "content_fingerprint": signed(content.fingerprint),
        "heading": _or_none(signed, content.heading),
        "sketch": content.sketch,
        "text": text,
        "class": _id_of(text, section_of(row["url"]), owner_of(row["url"]), named),
        "keys": list(found),
    }


def _id_of(*facts: object) -> bytes:
    return blake2b(repr(facts).encode("utf-8", "surrogatepass"), digest_size=_ID_BYTES).digest()


def signed(number: int) -> int:
    """Return 64 bits as a signed integer: those of Arrow that Spark knows."""
    return number - (1 << 64) if number >> 63 else number


def unsigned(number: int) -> int:
    """Return a signed integer as the 64 bits that it is."""
    return number & (1 << 64) - 1


def _or_none(change: Callable[[int], int], number: int | None) -> int | None:
    return None if number is None else change(number)


class Likeness(NamedTuple):
    """How much a page is like an earlier one."""

    share: float
    distance: int
    is_exact: bool


def match(page: Seen, kept: Seen, parameters: Parameters) -> Likeness | None:
    """Return how *page* is like the earlier page *kept*; None if it is no duplicate of it.

    It is the same for all pages of one class.  Cost: 40 us.
    """
    one, other = page.page, kept.page
    if one.sketch is None or other.sketch is None:
        return None
    if (one.digest, one.sketch, one.heading) == (other.digest, other.sketch, other.heading):
        return Likeness(1.0, 0, True)
    site = SiteKnowledge(page.marks, lambda _section: kept.marks)
    decision = most_alike(one, [StoredRow(0, other)], parameters, site).decision
    if not decision.is_duplicate:
        return None
    is_exact = decision.verdict == "exact_duplicate"
    return Likeness(decision.share or 0.0, one.distance_to(other), is_exact)


def ranked(url: str, canonical: str | None, kept: str, share: float) -> tuple[bool, float, int]:
    """Return by what one of several pages that a page is like is its representative: the greatest.

    As in a crawl: the one that the page names itself, the one with most in common, the one whose
    path ends most alike.  *kept* is the URL of one of them.
    """
    return kept == canonical, share, segments_in_common(kept, url)
