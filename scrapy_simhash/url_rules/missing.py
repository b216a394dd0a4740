"""Trees of pages that are not there, but answer 200: their relative links lead ever deeper.

A page of such a tree says what the page says that led to it, which lies above it.  When two pages
do, a request for an address that cannot exist tells whether this is what the site says for pages
that are not there.

Nothing here knows Scrapy, or sends a request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from scrapy_simhash.rule.hashes import long_hash_of

P = TypeVar("P")

# So many pages say the same, of which each but the first was found in one of the others alone.
PAGES = 2
# Trees that are watched, and the addresses of one that are known: 25 MB, if all are hostile.
MAX_TREES = 100
MAX_FOUND = 1_000
# Hosts and depths of folders of which it was asked.
MAX_ASKED = 1_000
# Requests that are sent at the end, to look whether their pages are not there.
MOST_AUDITED = 1

# http://host/name
_SLASHES_OF_FIRST_FOLDER = 3

State = Literal["watched", "asked", "missing"]


@dataclass(eq=False, slots=True)
class Tree(Generic[P]):
    """Pages of a host that say one thing: what is known of the *first*, which is at *url*.

    *pages* are the hashes of the addresses of all, *found* of those that were found in them alone.
    The site was asked after so many pages.
    """

    host: str
    url: str
    first: P
    pages: set[int]
    found: set[int] = field(default_factory=set)
    state: State = "watched"
    asked_after: int = 0
    audited: int = 0

    def has(self, url: str) -> bool:
        """Whether the page at *url* is one of the tree."""
        return long_hash_of(url) in self.pages


class MissingPages(Generic[P]):
    """Finds trees of pages that are not there; P is what is known of a page."""

    def __init__(self) -> None:
        self._trees: OrderedDict[str, Tree[P]] = OrderedDict()
        # By the hash of an address, the tree that it was found in.
        self._of: dict[int, Tree[P]] = {}
        self._asked: OrderedDict[tuple[str, int], None] = OrderedDict()

    def tree_of(self, url: str) -> Tree[P] | None:
        """Return the tree in which alone an address was found; 1 us."""
        return self._of.get(long_hash_of(url)) if self._of else None

    def held(self, url: str) -> tuple[Tree[P], int] | None:
        """Return the tree of an address that may not be there, and the hash of it; 1 us."""
        if not self._of:
            return None
        key = long_hash_of(url)
        tree = self._of.get(key)
        return None if tree is None or tree.state == "watched" else (tree, key)

    def found_on(self, host: str) -> list[Tree[P]]:
        """Return the trees of a host that are more than watched; O(trees)."""
        return [one for one in self._trees.values() if one.host == host and one.state != "watched"]

    def grow(self, tree: Tree[P], url: str, links: Iterable[str]) -> bool:
        """Take a page that says what the others say; return whether the site should be asked.

        *links* are the addresses in it that no page had.
        """
        if len(tree.pages) < MAX_FOUND:
            tree.pages.add(long_hash_of(url))
        self._find(tree, url, links, url.count("/"))
        if tree.state != "watched" or len(tree.pages) < PAGES:
            return False
        place = tree.host, tree.url.count("/")
        if place in self._asked:
            return False
        tree.asked_after = len(tree.pages)
        self._asked[place] = None
        if len(self._asked) > MAX_ASKED:
            self._asked.popitem(last=False)
        return True

    def begin(self, host: str, url: str, links: Iterable[str], first: P) -> None:
        """Watch a page: it may be the first of a tree, if it leads to addresses below.

        The relative links of a page in the first folder lead to pages that are there.
        """
        tree = Tree(host, url, first, {long_hash_of(url)})
        if url.count("/") > _SLASHES_OF_FIRST_FOLDER:
            self._find(tree, url, links, url.count("/") + 1)
        if not tree.found:
            return
        self._trees[url] = tree
        if len(self._trees) > MAX_TREES:
            watched = (one for one in self._trees.values() if one.state == "watched")
            self.end(next(watched, tree))

    def confirm(self, tree: Tree[P], is_like: Callable[[P], bool]) -> None:
        """Note that the pages of a tree are not there, nor those of other trees like it."""
        tree.state = "missing"
        for other in [*self._trees.values()]:
            if other.host == tree.host and other is not tree and is_like(other.first):
                self.end(other)
                if len(tree.found) < MAX_FOUND:
                    tree.pages |= other.pages
                    tree.found |= other.found
                    self._of.update(dict.fromkeys(other.found, tree))

    def resume(self) -> None:
        """Note that a run begins that gets no answer to what an earlier one has asked."""
        for tree in self._trees.values():
            if tree.state == "asked":
                tree.state = "watched"
                self._asked.pop((tree.host, tree.url.count("/")), None)

    def missing(self) -> list[Tree[P]]:
        """Return the trees whose pages are not there."""
        return [one for one in self._trees.values() if one.state == "missing"]

    def end(self, tree: Tree[P]) -> None:
        """Forget a tree: its pages are there, or they are too many."""
        self._trees.pop(tree.url, None)
        for key in tree.found:
            if self._of.get(key) is tree:
                del self._of[key]

    def linked(self, links: Iterable[str]) -> list[tuple[Tree[P], int]]:
        """Take the links of a page that is in no tree; return tree and hash of those in one."""
        if not self._of:
            return []
        held = []
        for key in map(long_hash_of, links):
            tree = self._of.pop(key, None)
            if tree is not None:
                tree.found.discard(key)
                held.append((tree, key))
        return held

    def room_to_audit(self, url: str) -> int | None:
        """Return how many requests of the tree of a page may still be sent to look at it.

        None if it is none any more, or the site has not answered.
        """
        tree = self._trees.get(url)
        if tree is None or tree.state != "missing":
            return None
        return MOST_AUDITED - tree.audited

    def note_audited(self, url: str, requests: int) -> None:
        """Note that so many requests of a tree are sent to look at it."""
        if (tree := self._trees.get(url)) is not None:
            tree.audited += requests

    def _find(self, tree: Tree[P], url: str, links: Iterable[str], least: int) -> None:
        """Take note of the links to addresses below a page, with at least so many slashes."""
        folder = url.partition("?")[0].rpartition("/")[0] + "/"
        for link in links:
            if link.startswith(folder) and link.count("/") >= least:
                if len(tree.found) >= MAX_FOUND:
                    return
                key = long_hash_of(link)
                tree.found.add(key)
                self._of[key] = tree
