"""What else names a page, by the user's wish (``SIMHASH_KEEP_APART``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from cssselect import SelectorError
from lxml.cssselect import CSSSelector

from scrapy_simhash.analysis.content import title_of
from scrapy_simhash.analysis.extraction import ParsedPage, load_callable
from scrapy_simhash.errors import SettingsError

if TYPE_CHECKING:
    from lxml import etree

CSS = "css:"
HEADINGS = "headings"
TITLE = "title"

Naming = Callable[[ParsedPage], Iterable[str]]


def names_in(page: ParsedPage, rules: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each rule with the texts by which it names a page that has a tree.

    :raises TypeError: a callable of the user's returned something other than strings.
    """
    for rule in rules:
        for text in naming_by(rule)(page):
            if not isinstance(text, str):
                raise TypeError(f"{rule} must return strings: got {type(text).__name__}")
            yield rule, text


def is_callable_of_users(rule: str) -> bool:
    """Whether a rule is the import path of a callable, which receives the URL."""
    return rule not in (HEADINGS, TITLE) and not rule.startswith(CSS)


@lru_cache
def naming_by(rule: str) -> Naming:
    """Return what names a page under a rule.

    :raises SettingsError: it is no CSS selector, or there is no callable at that path.
    """
    if rule == TITLE:
        return lambda page: [title_of(page.tree)] if page.tree is not None else []
    if rule == HEADINGS:
        return partial(_selected, CSSSelector("h1, h2", translator="html"))
    if rule.startswith(CSS):
        try:
            selector = CSSSelector(rule.removeprefix(CSS).strip(), translator="html")
        except SelectorError as exc:
            raise SettingsError(f"{rule!r} is no CSS selector: {exc}") from exc
        return partial(_selected, selector)
    found = load_callable(
        rule,
        f"an entry of SIMHASH_KEEP_APART must be {HEADINGS!r}, {TITLE!r}, {CSS + 'SELECTOR'!r} or "
        "the import path of a callable (body, encoding, url) -> list of str",
    )
    return partial(_called, found)


def _selected(selector: etree.XPath, page: ParsedPage) -> Iterator[str]:
    for element in () if page.tree is None else selector(page.tree):
        yield element.get("content") or element.get("value") or element.text_content()


def _called(function: Callable[..., Any], page: ParsedPage) -> Iterable[str]:
    found: Iterable[str] = function(page.body, page.encoding, page.url)
    return found
