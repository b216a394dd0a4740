"""What stands beside the content never decides, and links decide where there is little text."""

from __future__ import annotations

import pytest

from scrapy_simhash.analysis.content import Content, content_of
from scrapy_simhash.analysis.tree import parse, title_of, visible_blocks
from scrapy_simhash.decision.comparison import overlap

SHOES = "Shoes of last year for half the price, today only, in all of our shops. " * 5
LOANS = "Loans for everyone: ask us by telephone and have your money by tomorrow. " * 5
# What every page of the site has.
FRAME = "<div class=menu><a href=/>Start</a></div><p>Forum of tool makers, since 1998</p>"


def content(body: str, title: str = "", template: str = "") -> Content:
    """The content of a page on a site that repeats the blocks of *template*."""
    tree, repeated = (
        parse(f"<!DOCTYPE html><title>{title}</title><body>{one}</body>")
        for one in (body, template or "<p></p>")
    )
    assert tree is not None
    assert repeated is not None
    known = {block.id for block in visible_blocks(repeated)}
    found = content_of(visible_blocks(tree), known, title_of(tree))
    assert found is not None
    return found


def share(one: Content, two: Content) -> float:
    return overlap(one.sketch, two.sketch).share


def is_beside(body: str) -> bool:
    tree = parse(f"<!DOCTYPE html><html><body>{body}</body></html>")
    assert tree is not None
    return visible_blocks(tree)[-1].is_beside


def thread(subject: str, advertisement: str) -> str:
    return (
        f"{FRAME}<h1>{subject}</h1><p>This thread is locked.</p>"
        f"<div class=advertisement><p>{advertisement}</p></div>"
    )


def test_short_page_beside_a_long_advertisement_is_judged_by_itself() -> None:
    locked = content(thread("Lathe chuck stuck", SHOES), template=FRAME)
    assert share(locked, content(thread("Lathe chuck stuck", LOANS), template=FRAME)) == 1
    assert share(locked, content(thread("Drill bit broken", SHOES), template=FRAME)) < 0.8


def wall(advertisement: str) -> str:
    return f"{FRAME}<aside><p>{advertisement}</p></aside>"


def test_page_with_nothing_of_its_own_in_place_is_judged_by_title_and_template() -> None:
    one = content(wall(SHOES), "Log in", FRAME)
    assert share(one, content(wall(LOANS), "Log in", FRAME)) == 1
    assert share(one, content(wall(SHOES), "Page not found", FRAME)) < 1


def test_page_of_which_nothing_is_in_place_or_known_is_judged_by_all_its_text() -> None:
    one, two = (content(f"<nav><p>{text}</p></nav>", "Page") for text in (SHOES, LOANS))
    assert share(one, two) < 0.1


@pytest.mark.parametrize(
    ("body", "beside"),
    [
        ("<div class='row sidebar-right'><h1>Title</h1><p>text</p></div>", False),
        ("<div class=sidebar><main><p>text</p></main></div>", False),
        ("<div class=sidebar><p>text</p></div>", True),
        ("<aside><h1>Title</h1><p>text</p></aside>", True),
        ("<div class=has-sidebar><p>text</p></div>", False),
        ("<div id=no_ads><p>text</p></div>", False),
        ("<div class='has-image sidebar'><p>text</p></div>", True),
        ("<div class=excerpt_footer><p>text</p></div>", True),
        ("<article><div class=excerpt_footer><p>text</p></div></article>", False),
        ("<main><div class='Card-Footer'><p>text</p></div></main>", False),
        ("<main><div class='footer sidebar'><p>text</p></div></main>", True),
        ("<div class=menu><p>Soup</p><p>Bread</p></div>", False),
        ("<div class=menu-list><p>Onion soup <a href=/soup>more</a></p></div>", False),
        ("<div class=menu><p>of <a href=/soup>the soups</a></p></div>", True),
        ("<div class='menu sidebar'><p>Soup</p></div>", True),
        (
            "<div class=menu><ul><li><a href=/a><b>Ships</b></a></li></ul><p>some text</p></div>",
            False,
        ),
    ],
)
def test_what_has_or_holds_something_is_not_that_thing(body: str, beside: bool) -> None:
    assert is_beside(body) == beside


def section(heading: str, *children: str) -> str:
    links = "".join(f"<li><a href=x>{child}</a></li>" for child in children)
    return f"<h1>{heading}</h1><ul>{links}</ul>"


def test_heading_above_child_links_is_told_apart_by_the_links() -> None:
    one = content(section("An overview of all the functions in this part", "sin", "cos", "tan"))
    two = content(section("An overview of all the functions in this part", "trim", "left", "mid"))
    assert share(one, two) < 0.8


def test_links_do_not_count_beside_enough_text() -> None:
    text = " ".join(f"word{number}" for number in range(20))
    one, two = (content(section(text, child, "next")) for child in ("sin", "trim"))
    assert share(one, two) == 1
