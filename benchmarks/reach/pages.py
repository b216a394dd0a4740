"""What all seeded sites are made of: words, the frame of a page, and what a site is."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

WORDS = [
    f"{a}{b}{c}" for a in "bdfglm" for b in "aeiou" for c in ("ra", "ston", "lig", "men", "dun")
]


@lru_cache(maxsize=10_000)
def prose(seed: object, words: int) -> str:
    rng = random.Random(str(seed))
    return " ".join(rng.choices(WORDS, k=words)).capitalize() + "."


def page(
    title: str, content: str, item: object = None, head: str = "", about: str = "/about"
) -> str:
    """A page of a site with a menu and a footer; *item* is what a spider takes from it."""
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title>{marker(item)}{head}</head><body>"
        f'<header><nav><a href="/">Start</a> <a href="{about}">About</a></nav></header>'
        f"<main><h1>{title}</h1>{content}</main>"
        f"<footer><p>{prose('footer', 30)}</p></footer></body></html>"
    )


def marker(item: object) -> str:
    """What names an item of a page to the server, which sends the name in a header instead.

    So the plug-in cannot read it.
    """
    return "" if item is None else f'<meta name="item" content="{item}">'


_MARKER = re.compile(marker('([^"]*)'))


def without_markers(html: str) -> tuple[str, list[str]]:
    """Return a page without the names of its items, and these names."""
    return _MARKER.sub("", html), _MARKER.findall(html)


def listing(title: str, paths: Iterable[str]) -> str:
    """A page that links to *paths*."""
    links = "".join(f'<li><a href="{path}">{path[1:]}</a></li>' for path in paths)
    return page(title, f"<p>{prose('start', 60)}</p><ul>{links}</ul>")


def _no_row(path: str) -> str:
    return ""


@dataclass(frozen=True)
class Site:
    """A seeded site; its spider starts at ``/``.

    *body* returns the page at a path with its query, None if there is none.  *row* names the row of
    the table that an address counts in, and *item_row* the one of an item; both are empty if
    the site is one row.  *pool* has addresses for rotating boxes of related links.  *is_session*
    says whether a page has another session id in its links at each visit.
    """

    body: Callable[[str], str | None]
    pool: tuple[str, ...] = ()
    row: Callable[[str], str] = _no_row
    item_row: Callable[[str], str] = _no_row
    is_session: Callable[[str], bool] = lambda path: False
