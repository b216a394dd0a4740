"""Pages of one text that differ in one thing only, and the same pages at three addresses each."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from reach.pages import Site, listing, marker, page, prose


@dataclass(frozen=True)
class Parts:
    """What the pages of a kind have in their head, in their content, and beside it."""

    content: str = ""
    head: str = ""
    side: str = ""


def name_of(kind: str, i: int) -> str:
    return prose((kind, "name", i), 3).rstrip(".") + f" {i}"


def record(kind: str, i: int) -> dict[str, object]:
    return {"id": 1000 + 7 * i, "name": name_of(kind, i), "price": 10 + i / 4}


def state(i: int) -> Parts:
    data = json.dumps({"locale": "en", "item": record("state", i)})
    return Parts(f'<div id="root"></div><script>window.__STATE__ = {data};</script>')


def next_data(i: int) -> Parts:
    data = {"props": {"pageProps": {"item": record("next_data", i)}}, "page": "/item/[id]"}
    return Parts(
        '<div id="__next"></div><script id="__NEXT_DATA__" type="application/json">'
        f"{json.dumps(data)}</script>"
    )


def literal(i: int) -> Parts:
    return Parts(
        f"<script>var item = {{id: {1000 + 7 * i}, name: '{name_of('literal', i)}', "
        f"tags: ['a', 'b',], price: {10 + i / 4}, seen: undefined}};</script>"
    )


def _json_ld(data: dict[str, object]) -> Parts:
    whole = {"@context": "https://schema.org", "@type": "Product", **data}
    return Parts(head=f'<script type="application/ld+json">{json.dumps(whole)}</script>')


def json_ld(i: int) -> Parts:
    return _json_ld({"sku": f"T-{i}", "name": name_of("json_ld", i)})


def json_ld_bare(i: int) -> Parts:
    offer = {"@type": "Offer", "price": 10 + i / 4, "priceCurrency": "EUR"}
    return _json_ld({"name": name_of("json_ld_bare", i), "offers": offer})


def microdata(i: int) -> Parts:
    return Parts(
        '<div itemscope itemtype="https://schema.org/Product"><meta itemprop="name" '
        f'content="{name_of("microdata", i)}"><meta itemprop="price" content="{10 + i / 4}"></div>'
    )


def pictures(i: int) -> Parts:
    return Parts("".join(f'<img src="/picture/{i}-{j}.jpg" alt="">' for j in range(4)))


def srcset(i: int) -> Parts:
    return Parts(
        f'<picture><source srcset="/picture/{i}-800.webp 800w, /picture/{i}-400.webp 400w">'
        '<img src="/picture/blank.gif" alt=""></picture>'
    )


def lazy(i: int) -> Parts:
    return Parts(f'<img class="lazy" src="/picture/blank.gif" data-src="/picture/{i}.jpg" alt="">')


def media(i: int) -> Parts:
    return Parts(
        f'<video controls><source src="/film/{i}.mp4" type="video/mp4"></video>'
        f'<audio controls src="/sound/{i}.mp3"></audio>'
    )


def iframe(i: int) -> Parts:
    return Parts(f'<iframe src="https://film.example/embed/{1000 + 7 * i}"></iframe>')


def links(i: int) -> Parts:
    rows = (f'<li><a href="/leaf/links/{i}-{j}">Part {j}</a></li>' for j in range(2))
    return Parts(f"<ul>{''.join(rows)}</ul>")


def picture_links(i: int) -> Parts:
    return Parts(f'<a href="/leaf/picture_links/{i}"><img src="/picture/look.png" alt="Look"></a>')


def table_links(i: int) -> Parts:
    rows = (
        f'<tr><td>Part {j}</td><td><a href="https://files.example/{i}/{j}">open</a></td></tr>'
        for j in range(4)
    )
    return Parts(f"<table>{''.join(rows)}</table>")


def hidden(i: int) -> Parts:
    return Parts(
        f'<form action="/order" method="post"><input type="hidden" name="item" value="T-{i}">'
        '<label>Number <input name="number" value="1"></label><button>Order</button></form>'
    )


def inputs(i: int) -> Parts:
    return Parts(
        f'<form action="/save"><label>Name <input name="name" value="{name_of("inputs", i)}">'
        f'</label><label>Price <input name="price" value="{10 + i / 4}"></label></form>'
    )


def select(i: int) -> Parts:
    options = "".join(
        f'<option value="{i}-{j}">{name_of(f"select {j}", i)}</option>' for j in range(4)
    )
    return Parts(f'<form action="/order"><select name="variant">{options}</select></form>')


def aria_label(i: int) -> Parts:
    label = name_of("aria_label", i)
    return Parts(f'<div role="img" class="map" aria-label="{label}"></div>')


def title_alt(i: int) -> Parts:
    name = name_of("title_alt", i)
    return Parts(f'<span title="{name}">i</span><img src="/picture/chart.png" alt="{name}">')


def data_attributes(i: int) -> Parts:
    return Parts(
        f'<div class="item" data-id="{1000 + 7 * i}" data-price="{10 + i / 4}" '
        f'data-name="{name_of("data_attributes", i)}"></div>'
    )


def download(i: int) -> Parts:
    return Parts(f'<p><a class="button" href="/files/{1000 + 7 * i}.pdf" download>Get it</a></p>')


def button(i: int) -> Parts:
    return Parts(
        f'<button type="button" data-href="/leaf/button/{i}">Open</button>'
        f'<form action="/order"><button formaction="/order/{i}">Order</button></form>'
    )


def sidebar(i: int) -> Parts:
    rows = "".join(f'<li><a href="/leaf/sidebar/{i}-{j}">Part {j}</a></li>' for j in range(2))
    return Parts(side=f'<aside class="sidebar"><ul>{rows}</ul></aside>')


def related(i: int) -> Parts:
    rows = "".join(f'<li><a href="/leaf/related/{i}-{j}">Part {j}</a></li>' for j in range(2))
    return Parts(f'<div class="related"><h4>See also</h4><ul>{rows}</ul></div>')


KINDS: dict[str, Callable[[int], Parts]] = {
    kind.__name__: kind
    for kind in (
        *(state, next_data, literal, json_ld, json_ld_bare, microdata, pictures, srcset, lazy),
        *(media, iframe, links, picture_links, table_links, hidden, inputs, select, aria_label),
        *(title_alt, data_attributes, download, button, sidebar, related),
    )
}
NAMES = list(KINDS)

# The ways in which a page has a second address, two for each kind of page.
FORMS = ("ref", "sid", "print", "mirror")
PAIRS = [(a, b) for a, b in product(FORMS, FORMS) if a < b]
REFERENCES = ("ref=mail", "utm_source=news", "from=list")
# A visitor's session lasts for some pages.
SESSIONS = 10

_PATH = re.compile(r"(/print|/mirror)?/(kind|leaf)/(\w+)(?:/([\d-]+))?(?:\?(\w+)=(\w+))?$")
_OWN_LINK = re.compile(r'( (?:href|data-href)=")(/leaf/[^"]*)')


def addresses(kind: str, i: int) -> list[str]:
    """The three addresses of an item."""
    number = NAMES.index(kind)
    path = f"/kind/{kind}/{i}"
    forms = {
        "ref": f"{path}?{REFERENCES[number % len(REFERENCES)]}",
        "sid": f"{path}?sid={100 + i % SESSIONS}",
        "print": f"/print{path}",
        "mirror": f"/mirror{path}",
    }
    return [path, *(forms[form] for form in PAIRS[number % len(PAIRS)])]


def body(path: str) -> str | None:
    """The page at *path*, None if there is none."""
    match = _PATH.match(path)
    if match is None:
        return None
    folder, where, kind, number, parameter, value = match.groups()
    if where == "leaf":
        return page("Note", f"<p>{prose(('leaf', kind, number), 60)}</p>")
    if kind not in KINDS or not (number or "").isdigit():
        return None
    html = _item(kind, int(number), is_print=folder == "/print")
    if folder == "/mirror":
        html = _OWN_LINK.sub(r"\g<1>/mirror\g<2>", html)
    if parameter == "sid":
        html = _OWN_LINK.sub(rf"\g<0>?sid={value}", html)
    return html


def _item(kind: str, i: int, is_print: bool) -> str:
    parts = KINDS[kind](i)
    title = f"Pages by {kind}"
    text = f"<h1>{title}</h1><p>{prose(('kind', kind), 120)}</p>{parts.content}"
    terms = f'<p>{prose("terms", 8)} <a href="/leaf/terms">Terms</a></p>'
    menu = '<header><nav><a href="/leaf/about">About</a></nav></header>'
    foot = f"<footer><p>{prose('footer', 30)}</p></footer>"
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title>{marker(f'{kind}/{i}')}{parts.head}"
        f"</head><body>{'' if is_print else menu}<main>{text}{terms}</main>{parts.side}"
        f"{'' if is_print else foot}</body></html>"
    )


def _row(path: str) -> str:
    match = _PATH.match(path)
    return match[3] if match and match[3] in KINDS else ""


def _item_row(item: str) -> str:
    return item.partition("/")[0]


def _is_session(path: str) -> bool:
    """Every fourth kind has another session id in its links at each visit."""
    row = _row(path)
    return bool(row) and NAMES.index(row) % 4 == 3


def _site(size: int, kinds: tuple[str, ...], copies: int) -> Site:
    paths = [
        path for kind in kinds or NAMES for i in range(size) for path in addresses(kind, i)[:copies]
    ]
    random.Random(1).shuffle(paths)
    start = listing("Items", paths)

    def made(path: str) -> str | None:
        return start if path == "/" else body(path)

    pool = tuple(f"/kind/{kind}/{i}" for kind in kinds or NAMES for i in range(size))
    return Site(made, pool, _row, _item_row, _is_session)


def kinds(size: int, *names: str) -> Site:
    """Items that differ in one thing only, each at one address."""
    return _site(size, names, copies=1)


def twins(size: int, *names: str) -> Site:
    """The same items, each at three addresses."""
    return _site(size, names, copies=3)
