"""Whole pages of the kinds that docs/algorithm.md lists, from their HTML to the verdict."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scrapy_simhash.analysis.analyser import Analyser, Background
from scrapy_simhash.decision.page import Page
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.settings import TEXT, SimhashSettings
from tests.indexes import Blocking, open_index

ANALYSER = Analyser.create(takes=TEXT)
SITE = "shop.example"


@pytest.fixture
def index() -> Iterator[Blocking]:
    """An index with the default settings, but for texts alone."""
    with open_index("memory:", Pipeline.of(SimhashSettings(takes=TEXT)).parameters) as opened:
        yield opened


def is_duplicate(index: Blocking, html: str) -> bool:
    """Whether a page is one of those that were judged before it."""
    number = len(index.rows())
    url = f"http://{SITE}/{number}"
    analysis = ANALYSER.analyse(
        html.encode(), "utf-8", url, Background(index.learned.template(SITE))
    )
    assert analysis.content is not None
    page = Page(
        url=url,
        request_fingerprint=number.to_bytes(20, "big"),
        scope="",
        fingerprint=analysis.fingerprint,
        digest=analysis.digest,
        tokens=analysis.tokens,
        judged_at=float(number),
        content_fingerprint=analysis.content.fingerprint,
        heading=analysis.content.heading,
        sketch=analysis.content.sketch,
        site=SITE,
        blocks=analysis.content.blocks,
    )
    return bool(index.check_and_add(page).is_duplicate)


def site_page(content: str, title: str = "Tool shop") -> str:
    """A page of a shop, with its menu and its footer."""
    return f"""<!DOCTYPE html><html><head><title>{title}</title></head><body>
      <div class="menu"><ul><li><a href="/">Start</a><li><a href="/all">All tools</a></ul></div>
      <div id="content">{content}</div>
      <div><p>Tool shop, 12 Mill Lane, open from Monday to Friday, 8 to 18.</p></div>
    </body></html>"""


def product(number: int) -> str:
    """A page unlike the others of its shop."""
    words = " ".join(f"word{number}x{i}" for i in range(60))
    return site_page(f"<h1>Tool {number}</h1><p>{words}.</p>", f"Tool {number}")


def login_wall(wanted: str, token: str) -> str:
    """What a page that wants a login shows instead: the same but for what is in the fields."""
    return site_page(
        f"""<h1>Please log in</h1>
        <form action="/login?next={wanted}" method="post">
          <input type="hidden" name="csrf" value="{token}">
          <label for="user">E-mail address</label> <input id="user" name="user">
          <label for="secret">Password</label> <input id="secret" type="password">
          <button>Log in</button>
        </form>
        <p><a href="/forgotten?next={wanted}">Forgotten your password?</a></p>""",
        "Log in",
    )


def form(heading: str, *labels: str) -> str:
    fields = "".join(
        f"<p><label>{label} <input name=f{i}></label></p>" for i, label in enumerate(labels)
    )
    return site_page(f"<h1>{heading}</h1><form>{fields}<button>Send</button></form>")


@pytest.mark.parametrize("pages_before", [0, 60])
def test_login_wall_is_kept_once_whatever_it_hides(index: Blocking, pages_before: int) -> None:
    for number in range(pages_before):
        assert not is_duplicate(index, product(number))
    assert not is_duplicate(index, login_wall("/orders/1", "93b1f0"))
    assert is_duplicate(index, login_wall("/orders/2", "c07e55"))
    assert is_duplicate(index, login_wall("/account", "48aa10"))
    assert not is_duplicate(index, product(pages_before))


def test_login_wall_is_still_known_when_it_was_learned_as_template(index: Blocking) -> None:
    wall = login_wall("/orders/1", "93b1f0")
    for number in range(60):
        teaser = wall.replace("<h1>", f"<h1>Offer {number} is for members alone</h1><h1>")
        assert not is_duplicate(index, teaser)
    assert not is_duplicate(index, wall)
    assert is_duplicate(index, login_wall("/orders/2", "c07e55"))


@pytest.mark.parametrize("pages_before", [0, 60])
def test_forms_are_told_apart_by_their_labels(index: Blocking, pages_before: int) -> None:
    for number in range(pages_before):
        assert not is_duplicate(index, product(number))
    assert not is_duplicate(index, form("Contact us", "Your name", "E-mail", "Your message"))
    assert not is_duplicate(index, form("Contact us", "Your name", "Telephone", "Your message"))
    assert not is_duplicate(index, form("Order a catalogue", "Your name", "Street", "City"))
    assert is_duplicate(index, form("Contact us", "Your name", "E-mail", "Your message"))


def listing(body: str) -> str:
    return site_page(f"<h1>Example</h1><pre><code>{body}</code></pre>")


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("x = a[i]\nprint(x)", "x = a(i)\nprint(x)"),
        ("if n &lt; 10:\n    stop()", "if n &gt; 10:\n    stop()"),
        ("mov r1, #16\nbx lr", "mov r1, #32\nbx lr"),
    ],
)
def test_short_code_that_differs_in_one_sign_is_another_page(
    index: Blocking, one: str, two: str
) -> None:
    assert not is_duplicate(index, listing(one))
    assert not is_duplicate(index, listing(two))
    assert is_duplicate(index, listing(one))


def test_long_code_with_one_line_changed_is_the_same_page(index: Blocking) -> None:
    lines = [f"total{i} = price{i} * count{i} - discount{i % 7}" for i in range(60)]
    assert not is_duplicate(index, listing("\n".join(lines)))
    lines[30] = "total30 = 0  # sold out"
    assert is_duplicate(index, listing("\n".join(lines)))
    other = [f"area{i} = width{i} * height{i} - border{i % 7}" for i in range(60)]
    assert not is_duplicate(index, listing("\n".join(other)))


def table(*rows: tuple[object, ...]) -> str:
    cells = ("".join(f"<td>{cell}</td>" for cell in row) for row in rows)
    head = "<tr><th>Size</th><th>Weight</th><th>Price</th></tr>"
    return site_page(f"<h1>Sizes</h1><table>{head}<tr>{'</tr><tr>'.join(cells)}</tr></table>")


def test_short_tables_that_differ_in_a_number_are_two_pages(index: Blocking) -> None:
    assert not is_duplicate(index, table(("M6", "4 g", 0.10), ("M8", "9 g", 0.15)))
    assert not is_duplicate(index, table(("M6", "4 g", 0.10), ("M8", "9 g", 0.25)))
    assert is_duplicate(index, table(("M6", "4 g", 0.10), ("M8", "9 g", 0.15)))


def test_long_table_with_a_row_more_is_the_same_page(index: Blocking) -> None:
    rows = [(f"M{i}", f"{i * i} g", f"{i * 17 % 40}.{i % 10}0 EUR") for i in range(4, 64)]
    assert not is_duplicate(index, table(*rows))
    assert is_duplicate(index, table(*rows, ("M99", "9801 g", "77.00 EUR")))
    other_prices = [
        (size, weight, f"{i * 7 % 90}.55 USD") for i, (size, weight, _) in enumerate(rows)
    ]
    assert not is_duplicate(index, table(*other_prices))


def reference(model: str, release: int, menu: str = "") -> str:
    """A page of a library's reference, nearly all of which its other pages have as well."""
    own = " ".join(f"{model}{i}" for i in range(12))
    common = "".join(
        f"<p>Parameter p{i} is passed to step {i * i} of the fit.</p>" for i in range(30)
    )
    return site_page(
        f"{menu}<h1>Our library</h1><h1>{model}</h1><p>{own} (release {release})</p>{common}"
    )


@pytest.mark.parametrize("menu", ["", "<ul><li><a href=/r>Ridge</a><li><a href=/l>Lasso</a></ul>"])
def test_look_alikes_are_told_apart_by_their_headings(index: Blocking, menu: str) -> None:
    for number in range(60):
        assert not is_duplicate(index, product(number).replace("<h1>", f"{menu}<h1>"))
    assert not is_duplicate(index, reference("Ridge", 1, menu))
    assert not is_duplicate(index, reference("Lasso", 1, menu))
    assert is_duplicate(index, reference("Ridge", 2, menu))
    assert is_duplicate(index, reference("Lasso", 2, menu))
