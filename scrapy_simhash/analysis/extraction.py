"""The main text of a page, by a named extractor or by a callable of the user's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simhash.analysis.auto_text import auto_text, is_thread
from scrapy_simhash.analysis.reading import Block, Event
from scrapy_simhash.analysis.resiliparse_text import (
    has_resiliparse,
    may_explode,
    resiliparse_text,
    resiliparse_version,
)
from scrapy_simhash.analysis.tree import has_marks
from scrapy_simhash.errors import AnalysisError, SettingsError

Extractor = Callable[[bytes, "str | None", str], str]

DEFAULT_EXTRACTOR = "auto"

# The identity of each named extractor, with its version, as a scheme states it.
NAMED: dict[str, Callable[[], str]] = {
    "auto": lambda: f"auto-1 of {NAMED['resiliparse']()} and {NAMED['trafilatura']()}",
    "trafilatura": lambda: f"trafilatura-{version('trafilatura')} with threads",
    "resiliparse": lambda: f"resiliparse-{resiliparse_version()}",
    "text": lambda: "text-1",
}

# The extractors that read the blocks of a page, and those that may ask trafilatura.
READS_BLOCKS = frozenset({"auto", "text"})
ASKS_TRAFILATURA = frozenset({"auto", "trafilatura"})


@dataclass(frozen=True)
class ParsedPage:
    """A page, its text as HTML, its tree (None if it is not HTML), and what is read of the tree."""

    body: bytes
    encoding: str | None
    url: str
    html: str
    tree: HtmlElement | None
    blocks: list[Block]
    events: list[Event]


def main_text(name: str, page: ParsedPage) -> str:
    """Return the main text of a page by the extractor *name*; it may change the tree.

    :raises TypeError: a callable of the user's returned something other than a string.
    :raises AnalysisError: resiliparse, if that is the extractor, might take gigabytes.
    """
    if name in NAMED and page.tree is None:
        return ""
    if name in ASKS_TRAFILATURA:
        thread = is_thread(page.body)
        careful = partial(trafilatura_text, page.tree, thread)
        if name == "trafilatura":
            return careful()
        html = html_of(page)
        return auto_text(html, page.tree, page.blocks, thread, careful)
    if name == "resiliparse":
        html = html_of(page)
        if may_explode(page.tree, html.count("<")):
            raise AnalysisError("extraction_failed", "resiliparse might take gigabytes for it")
        return resiliparse_text(html)
    if name == "text":
        return "\n".join(block.text for block in page.blocks)
    text = load_extractor(name)(page.body, page.encoding, page.url)
    if not isinstance(text, str):
        raise TypeError(f"the extractor returned {type(text).__name__}, not str")
    return text


def html_of(page: ParsedPage) -> str:
    """Return the HTML of a page for an extractor with a parser of its own, hidden words marked."""
    if page.tree is not None and has_marks(page.tree):
        html: str = etree.tostring(page.tree, encoding="unicode", method="html")
        return html
    return page.html


def trafilatura_text(tree: HtmlElement | None, comments: bool = False) -> str:
    """Return the main text that trafilatura finds, without metadata; may be empty.

    trafilatura may change the tree.  Comments make the same page differ from visit to visit:
    without them, recall on variants of real pages rose from 0.81 to 0.89 (3-shingles, k=3).  On a
    thread they are the page.
    """
    from trafilatura import extract

    return extract(tree, include_comments=comments, with_metadata=False) or ""


@lru_cache
def load_extractor(name: str) -> Extractor:
    """Return the extractor at an import path.

    :raises SettingsError: there is none at that path, or it cannot be called.
    """
    return load_callable(
        name,
        f"an extractor (SIMHASH_EXTRACTOR) must be {' or '.join(map(repr, NAMED))} or the import "
        f"path of a callable (body, encoding, url) -> str",
    )


def load_callable(name: str, rule: str) -> Callable[..., Any]:
    """Return the callable at an import path; *rule* says in an error what it must be.

    :raises SettingsError: there is none at that path, or it cannot be called.
    """
    try:
        if _is_in_main_script(name):
            raise ImportError("a worker would run the main script; put it into a module")
        found: Any = resolve_name(name)
        if not callable(found):
            raise ValueError(f"{found!r} cannot be called")
    except (ImportError, AttributeError, ValueError) as exc:
        raise SettingsError(f"{rule}: got {name!r} ({exc})") from exc
    return found  # type: ignore[no-any-return]


def _is_in_main_script(name: str) -> bool:
    """Whether importing *name* would run the script that this process was started with."""
    script = getattr(sys.modules["__main__"], "__file__", None)
    parts = name.replace(":", ".").split(".")
    if parts[0] == "__main__" or script is None or not Path(script).exists():
        return parts[0] == "__main__"
    for end in range(1, len(parts) + 1):
        spec = find_spec(".".join(parts[:end]))
        origin = None if spec is None else spec.origin
        if origin is not None and Path(origin).exists() and Path(origin).samefile(script):
            return True
        if spec is None or spec.submodule_search_locations is None:
            return False
    return False


def resolved(name: str) -> str:
    """Return the name of the extractor that is used: for "auto" without resiliparse, trafilatura.

    Then the log says so once.
    """
    return "trafilatura" if name == "auto" and not has_resiliparse() else name


def extractor_identity(name: str) -> str:
    """Return the extractor's name and version, as a scheme states them.

    The version of a callable is the ``__version__`` of its module, if it has one.

    :raises SettingsError: see :func:`load_extractor`.
    """
    if name in NAMED:
        return NAMED[name]()
    module = getattr(load_extractor(name), "__module__", None)
    release = getattr(sys.modules.get(module or ""), "__version__", None)
    return name if release is None else f"{name}-{release}"
