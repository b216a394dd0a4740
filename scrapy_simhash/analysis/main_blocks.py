# cython: annotation_typing=False, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, binding=False
"""The main text of a page, as a model chooses it from the blocks of the walk.

Each block gets some numbers: what it is, where it is, what its sections and the blocks like it
hold (:data:`FEATURES`).  Shallow trees (model.txt) make of them how likely it is that the block is
main text.  Those blocks are main text that give the highest expected word F1 together: on a page
whose blocks are clear, those that are likelier than not; on a list of products, where nothing is,
more of them.

    section     a block-level element with all that is in it
    size        of a text, its bytes in UTF-8: about as much meaning in each script
    long        a block of at least LONG_BYTES that is not mostly links
    series      the blocks whose elements have the same tags and names, up to the root

Cost: O(elements + blocks), with the constant depth of the trees; about 200 bytes for each of them
while the page is read.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from importlib.resources import files
from math import exp

from scrapy_simhash.analysis.blocks import Block, Outline
from scrapy_simhash.analysis.events import KNOWN_NAMES, MARK, remembering, without_digits
from scrapy_simhash.analysis.fingerprint import hash_feature
from scrapy_simhash.hashes import mix

_MODEL = files("scrapy_simhash.analysis").joinpath("model.txt").read_text(encoding="utf-8")
_ABOUT, _NAMES, _WORDS, TREES = _MODEL.split("\n\n")
NAMES = {word: float(odds) for word, odds in (pair.split("=") for pair in _NAMES.split())}
WORDS = {word: int(tenths) for word, tenths in (pair.split("=") for pair in _WORDS.split())}

# About ten words.
LONG_BYTES = 50
# A name of an element weighs this much less for each level above the block.
FADING = 0.8
# The weights of one element's names, added up, count up to this.
MOST_OF_NAMES = 6.0
# Words of names that are remembered, of all sites.
KNOWN_WORDS = 10_000
# Steps to the best threshold: the fourth moves no block on 1,497 pages.
STEPS = 6

# The sections that a block may be in, each a feature.
AROUND = (
    *("main", "article", "aside", "nav", "header", "footer", "form", "table", "ul", "ol"),
    *("figure", "pre", "blockquote", "dl"),
)
# Elements by the number that is a feature; 0 is any other.
KINDS = (
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "blockquote", "pre", "li", "dt", "dd", "td", "th"),
    *("figcaption", "summary", "article", "main", "section", "div", "br", "button", "option"),
)
_KIND_OF = {tag: number for number, tag in enumerate(KINDS, 1)}
FEATURES = (
    # the block
    *("kind", "kind before", "kind behind", "size", "size before", "size behind"),
    *("links", "links before", "links behind"),
    *("ends", "again", "copies", "beside", "hidden", *AROUND),
    # the names of its elements, by their weights
    *("name", "name 2", "name 3", "names", "worst name", "best name"),
    # where it is
    *("place", "from heading", "long before", "long before share"),
    # its section, the one around it, and so on
    *("long 1", "mean 1", "long 2", "mean 2", "links 2", "size 2"),
    *("long 3", "links 3", "size 3", "share 3", "long 4", "links 4", "share 4"),
    # its series
    *("series", "series mean", "series links"),
    # the page
    *("page size", "page links", "page long", "page long blocks"),
    # the words of texts beside main text, by their weights: of the block, and of its sections
    *("words", "words 3", "words 4"),
)
_WIDTH = len(FEATURES)
_NO_HEADING = -1e6

_ENDS = (".", "!", "?", "…", "。", "！", "？", ":", '"', "”", ")")
_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LETTERS = re.compile(r"[a-z]{2,}")


@remembering(KNOWN_WORDS)
def words_of(name: str) -> frozenset[str]:
    """Return the words that a name is made of.

    >>> sorted(words_of("mainContent-12"))
    ['content', 'main']
    """
    return frozenset(_LETTERS.findall(_CASE.sub(" ", name).lower()))


def read_names(
    names: str, weights: Mapping[str, float]
) -> tuple[int, int, float, float, float, int]:
    """Return what is known of an element with a tag and names.

    That is its kind, its bit of AROUND, the sum, the least and the most of the weights, a hash.
    """
    tag = names.partition(" ")[0]
    words = frozenset().union(*map(words_of, names.split()))
    found = [weights[word] for word in sorted(words) if word in weights]
    return (
        _KIND_OF.get(tag, 0),
        1 << AROUND.index(tag) if tag in AROUND else 0,
        min(max(sum(found), -MOST_OF_NAMES), MOST_OF_NAMES),
        min(found, default=0.0),
        max(found, default=0.0),
        hash_feature(without_digits(names)),
    )


@remembering(KNOWN_NAMES)
def known_names(names: str) -> tuple[int, int, float, float, float, int]:
    """Return :func:`read_names` by the weights of the model."""
    return read_names(names, NAMES)


def weights_by_slot(weights: Mapping[str, int]) -> bytearray:
    """Return the weight of each slot: a hash of 16 bits of a word, the same in both cases."""
    slots = bytearray(1 << 16)
    for word, weight in weights.items():
        slot = 0
        for letter in word:
            slot = (33 * slot + (ord(letter) | 32)) & 0xFFFF
        slots[slot] = weight
    return slots


def weight_of_words(text: str, slots: bytearray) -> int:
    """Return the sum of the weights of the words of a text, none of which is made: that is slow."""
    total = slot = 0
    for letter in text:
        if letter == " ":
            total += slots[slot]
            slot = 0
        else:
            slot = (33 * slot + (ord(letter) | 32)) & 0xFFFF
    return total + slots[slot]


SLOTS = weights_by_slot(WORDS)


class Section:
    """A section of a page, and the sums of the blocks in it."""

    def __init__(self, above: Section | None, names: str) -> None:
        self.kind, self.around, self.name, self.worst, self.best, self.series = known_names(names)
        self.above = self if above is None else above
        self.names = self.name
        self.size = self.links = self.blocks = self.long = self.words = 0.0
        if above is not None:
            self.around |= above.around
            self.names += FADING * above.names
            self.worst = min(self.worst, above.worst)
            self.best = max(self.best, above.best)
            self.series = mix(above.series, self.series)

    def add(self, size: float, links: float, blocks: float, long: float, words: float) -> None:
        self.size += size
        self.links += links
        self.blocks += blocks
        self.long += long
        self.words += words


class Series:
    """The blocks whose sections have the same tags and names."""

    def __init__(self) -> None:
        self.blocks = self.size = self.links = 0.0


class Spot:
    """A block as the model sees it, and how likely it is that it is main text."""

    def __init__(self, block: Block, section: Section, links: float, series: Series) -> None:
        text = block.text
        self.section = section
        self.series = series
        self.links = links
        self.size = float(len(text) if text.isascii() else len(text.encode("utf-8", "replace")))
        self.is_long = self.size >= LONG_BYTES and links < 0.5
        self.ends = text.endswith(_ENDS)
        self.is_hidden = MARK in text
        self.is_beside = block.is_beside
        self.words = weight_of_words(text, SLOTS)
        self.id = block.id
        self.share = 0.0


class Chooser:
    """The blocks of one page, and the numbers of the one that is looked at.

    The sections come before what is in them, so the sums of a section are added to the one above
    it from the last one to the first.
    """

    def __init__(self, blocks: list[Block], outline: Outline) -> None:
        self.copies: dict[int, int] = {}
        self.spots: list[Spot] = []
        self.seen: set[int] = set()
        self.heading = _NO_HEADING
        self.long = self.before = 0.0
        self.row = array("d", bytes(8 * _WIDTH))
        self.page = self._added_up(blocks, outline)

    def _added_up(self, blocks: list[Block], outline: Outline) -> Section:
        """Note each block, and what is known of the sections; return the section of the page."""
        sections: list[Section] = []
        for above, names in outline.sections:
            sections.append(Section(sections[above] if above >= 0 else None, names))
        all_series: dict[int, Series] = {}
        for block, (at, links) in zip(blocks, outline.places, strict=True):
            section = sections[at]
            series = all_series.get(section.series)
            if series is None:
                series = all_series[section.series] = Series()
            spot = Spot(block, section, links, series)
            series.blocks += 1
            series.size += spot.size
            series.links += links
            section.add(spot.size, links * spot.size, 1, spot.is_long, spot.words)
            self.copies[block.id] = self.copies.get(block.id, 0) + 1
            if block.is_heading and self.heading == _NO_HEADING:
                self.heading = len(self.spots)
            self.spots.append(spot)
        for at in range(len(sections) - 1, 0, -1):
            one = sections[at]
            one.above.add(one.size, one.links, one.blocks, one.long, one.words)
        return sections[0]

    def look_at(self, at: int) -> None:
        """Fill the row with the numbers of a block; the blocks before it have been looked at."""
        row = self.row
        spot = self.spots[at]
        last = self.spots[at - 1] if at > 0 else None
        next_ = self.spots[at + 1] if at + 1 < len(self.spots) else None
        one = spot.section
        two = one.above
        three = two.above
        four = three.above
        page = self.page
        series = spot.series
        row[0] = one.kind
        row[1] = -1 if last is None else last.section.kind
        row[2] = -1 if next_ is None else next_.section.kind
        row[3] = spot.size
        row[4] = -1 if last is None else last.size
        row[5] = -1 if next_ is None else next_.size
        row[6] = spot.links
        row[7] = -1 if last is None else last.links
        row[8] = -1 if next_ is None else next_.links
        row[9] = spot.ends
        row[10] = spot.id in self.seen
        row[11] = self.copies[spot.id]
        row[12] = spot.is_beside
        row[13] = spot.is_hidden
        for bit in range(14):
            row[14 + bit] = one.around >> bit & 1
        row[28] = one.name
        row[29] = two.name
        row[30] = three.name
        row[31] = one.names
        row[32] = one.worst
        row[33] = one.best
        row[34] = self.before / page.size
        row[35] = _NO_HEADING if self.heading == _NO_HEADING else at - self.heading
        row[36] = self.long
        row[37] = self.long / max(page.long, 1.0)
        row[38] = one.long / one.blocks
        row[39] = one.size / one.blocks
        row[40] = two.long / two.blocks
        row[41] = two.size / two.blocks
        row[42] = two.links / two.size
        row[43] = two.size
        row[44] = three.long / three.blocks
        row[45] = three.links / three.size
        row[46] = three.size
        row[47] = three.size / page.size
        row[48] = four.long / four.blocks
        row[49] = four.links / four.size
        row[50] = four.size / page.size
        row[51] = series.blocks
        row[52] = series.size / series.blocks
        row[53] = series.links / series.blocks
        row[54] = page.size
        row[55] = page.links / page.size
        row[56] = page.long / page.blocks
        row[57] = page.long
        row[58] = spot.words
        row[59] = three.words / three.size
        row[60] = four.words / four.size
        self.seen.add(spot.id)
        self.before += spot.size
        self.long += spot.is_long

    def judge(self) -> None:
        """Say of each block how likely it is main text."""
        for at in range(len(self.spots)):
            self.look_at(at)
            self.spots[at].share = 1 / (1 + exp(-_score(self.row)))

    def threshold(self) -> float:
        """Return how likely a block of the main text must be.

        The expected F1 is 2 * (sum of share * size of the chosen) / (size of the chosen + sum of
        share * size of all), and a block raises it if its share is over half of it (Dinkelbach,
        "On Nonlinear Fractional Programming", 1967).
        """
        expected = 0.0
        for spot in self.spots:
            expected += spot.share * spot.size
        threshold = 0.4
        for _ in range(STEPS):
            size = held = 0.0
            for spot in self.spots:
                if spot.share > threshold:
                    size += spot.size
                    held += spot.share * spot.size
            threshold = held / (size + expected) if size > 0 else threshold / 2
        return threshold


def main_blocks(blocks: list[Block], outline: Outline) -> list[Block]:
    """Return the blocks of the main text, in order; none only if there are none."""
    if not blocks:
        return []
    chooser = Chooser(blocks, outline)
    chooser.judge()
    least = chooser.threshold()
    chosen = []
    for block, spot in zip(blocks, chooser.spots, strict=True):
        if spot.share > least:
            chosen.append(block)
    return chosen or blocks


def _parsed(trees: str) -> tuple[array[int], array[float], array[int], array[int]]:
    """Return of each node of all trees the feature, the bound or value, and the node if greater.

    The node for values up to the bound is the next one; the feature of a leaf is -1.  The last
    array has the first node of each tree.
    """
    numbers = {name.replace(" ", "_"): number for number, name in enumerate(FEATURES)}
    features, bounds, greater, roots = array("i"), array("d"), array("i"), array("i")
    for tree in trees.split(";"):
        roots.append(len(features))
        inner: list[int] = []
        for node in tree.split():
            name, _, bound = node.rpartition("<")
            features.append(numbers[name] if name else -1)
            bounds.append(float(bound))
            greater.append(0)
            if name:
                inner.append(len(features) - 1)
            elif inner:
                greater[inner.pop()] = len(features)
    return features, bounds, greater, roots


_NODE_FEATURES, _NODE_BOUNDS, _NODE_GREATER, _ROOTS = _parsed(TREES)


def _score(row: array[float]) -> float:
    """Return the sum of what the trees say of a row."""
    features = _NODE_FEATURES
    bounds = _NODE_BOUNDS
    greater = _NODE_GREATER
    roots = _ROOTS
    total = 0.0
    for tree in range(len(roots)):
        node = roots[tree]
        while features[node] >= 0:
            node = node + 1 if row[features[node]] <= bounds[node] else greater[node]
        total += bounds[node]
    return total
