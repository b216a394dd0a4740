"""Pages of one text that differ in one thing only, and the same pages at three addresses each."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from itertools import product
from math import factorial
from string import Template, ascii_lowercase

from reach.pages import Site, listing, marker, page, prose


@dataclass(frozen=True)
class Parts:
    """What the pages of a kind have in their head, in their content, and beside it.

    Their *title* is that of the kind if it is empty.
    """

    content: str = ""
    head: str = ""
    side: str = ""
    title: str = ""


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


# One element each, which differs in one value alone: $n is a number, $name a name of three words,
# $day a date, $code two letters.
IN_CONTENT: dict[str, str] = {
    "vue_prop": '<product-view :product-id="$n"></product-view>',
    "hx_get": '<div hx-get="/part/$n" hx-trigger="load"></div>',
    "ng_init": '<div ng-init="open($n)"></div>',
    "x_data": '<div x-data="{id: $n}"></div>',
    "wire": '<div wire:init="load($n)"></div>',
    "onclick": '<div class="opens" onclick="open_record($n)">Open</div>',
    "data_json": "<div data-item='{\"id\": $n}'></div>",
    "own_src": '<model-viewer src="/models/$n.glb"></model-viewer>',
    "tel": '<a href="tel:+4930$n">Call us</a>',
    "mailto": '<a href="mailto:seller-$n@mail.example">Write to us</a>',
    "javascript": '<a href="javascript:show($n)">Show</a>',
    "magnet": '<a href="magnet:?xt=urn:btih:${n}c12fe1c06bba254a9dc9f519b335aa7c">Get it</a>',
    "fragment": '<a href="#record-$n">Show</a>',
    "ping": '<a href="/leaf/terms" ping="/seen/$n">Terms</a>',
    "download_name": '<a href="/files/form.pdf" download="$name.pdf">Form</a>',
    "script_src": '<script src="/scripts/$n.js"></script>',
    "script_call": '<script>load("T-$n");</script>',
    "script_type": '<script type="text/x-config">{"id": $n}</script>',
    "style": '<div style="left: ${n}px"></div>',
    "style_url": '<div style="background-image: url(/picture/$n.jpg)"></div>',
    "style_element": '<style>.price::after {content: "$n"}</style>',
    "id": '<div id="record-$n"></div>',
    "class_number": '<div class="record-$n"></div>',
    "svg_path": '<svg viewBox="0 0 9 9"><path d="M0 0L$n 9"/></svg>',
    "svg_text": "<svg><text>$n</text></svg>",
    "mathml": "<math><mi>x</mi><mo>=</mo><mn>$n</mn></math>",
    "noscript": "<noscript><p>$name</p></noscript>",
    "srcdoc": '<iframe srcdoc="&lt;p&gt;$name&lt;/p&gt;"></iframe>',
    "template": "<template><p>$name</p></template>",
    "textarea": '<textarea name="text">$name</textarea>',
    "hidden_text": "<p hidden>$name</p>",
    "colspan": '<table><tr><td colspan="$n">All</td></tr></table>',
    "width": '<img src="/picture/map.png" alt="" width="$n">',
    "sizes": '<img src="/picture/map.png" alt="" sizes="${n}px">',
    "alt": '<img src="/picture/map.png" alt="$name">',
    "poster": '<video poster="/picture/$n.jpg" src="/film/all.mp4"></video>',
    "param": '<object data="/view.bin"><param name="id" value="$n"></object>',
    "coords": '<map name="m"><area coords="0,0,$n,9" href="/leaf/terms" alt="Part"></map>',
    "datetime": '<time datetime="$day">Start</time>',
    "lang": '<p lang="$code">Radio</p>',
    "ol_start": '<ol start="$n"><li>First</li></ol>',
    "li_value": '<ol><li value="$n">First</li></ol>',
    "progress": '<progress max="9999" value="$n"></progress>',
    "meter": '<meter max="9999" value="$n"></meter>',
    "pattern": '<input name="code" pattern="[0-9]{$n}">',
    "placeholder": '<input name="code" placeholder="$name">',
    "datalist": '<input list="all" name="code"><datalist id="all"><option value="$n"></datalist>',
    "cite": '<blockquote cite="https://books.example/$n">So it is.</blockquote>',
    "abbr": '<abbr title="$name">tba</abbr>',
    "rdfa": '<span property="price" content="$n"></span>',
    "itemid": '<div itemscope itemid="urn:isbn:$n"></div>',
    "hidden_number": '<form method="post"><input type="hidden" name="item" value="$n"></form>',
    "action": '<form method="post" action="/order/$n"><button>Order</button></form>',
    "number": "<p>$n</p>",
    "date": "<p>$day</p>",
}
IN_HEAD: dict[str, str] = {
    "meta_name": '<meta name="description" content="$name">',
    "meta_property": '<meta property="og:title" content="$name">',
    "preload": '<link rel="preload" as="fetch" href="/data/$n.json">',
    "alternate": '<link rel="alternate" type="application/rss+xml" href="/feeds/$n.xml">',
}
# Ten elements each, $slot is their number.  Any of them has the second value for the first one.
CHOICES: dict[str, tuple[str, str, str]] = {
    "class": ('<li class="$value">Day $slot</li>', "free", "booked"),
    "disabled": ('<button type="button" $value>Size $slot</button>', "", "disabled"),
    "checked": ('<label><input type="checkbox" $value> Extra $slot</label>', "", "checked"),
    "selected": ("<select><option>No<option $value>Yes</select>", "", "selected"),
    "hidden_row": ("<li $value>Room $slot</li>", "", "hidden"),
    "aria_checked": ('<i role="switch" aria-checked="$value">Lamp $slot</i>', "false", "true"),
    "dir": ('<p dir="$value">Line $slot</p>', "ltr", "rtl"),
    "color": ('<li style="color: $value">Line $slot</li>', "green", "red"),
    "svg_use": ('<li><svg><use href="#$value"/></svg> Line $slot</li>', "yes", "no"),
    "element": ("<li><$value>Rule $slot</$value></li>", "ins", "del"),
    "grade": ("<li>Subject $slot: A$value</li>", "+", "-"),
    "sign": ("<li>$value$slot</li>", "+", "\N{MINUS SIGN}"),
    "emoji": ("<li>Room $slot $value</li>", "\N{WHITE HEAVY CHECK MARK}", "\N{CROSS MARK}"),
    "letter_case": ("<li>Type ${value}b$slot</li>", "a", "A"),
}
SLOTS = 10


def in_content(kind: str, i: int) -> Parts:
    return Parts(_element(kind, IN_CONTENT[kind], i))


def in_head(kind: str, i: int) -> Parts:
    return Parts(head=_element(kind, IN_HEAD[kind], i))


def _element(kind: str, template: str, i: int) -> str:
    return Template(template).substitute(
        n=1000 + 7 * i,
        name=name_of(kind, i),
        day=date(2026, 1, 1) + timedelta(days=i),
        code=ascii_lowercase[i // 26 % 26] + ascii_lowercase[i % 26],
    )


def chosen(kind: str, i: int) -> Parts:
    """Ten elements with one of two values each: 1,024 pages differ."""
    template, *values = CHOICES[kind]
    # An odd factor makes another number of each of those below 1,024.
    bits = i * 167 % 2**SLOTS
    slots = (
        Template(template).substitute(slot=slot, value=values[bits >> slot & 1])
        for slot in range(SLOTS)
    )
    return Parts("".join(slots))


def title(i: int) -> Parts:
    return Parts(title=name_of("title", i))


def stars(i: int) -> Parts:
    """An element as often as what it counts."""
    return Parts('<i class="star"></i>' * (i + 1))


def order(i: int) -> Parts:
    """The same rows in another order: 5,040 pages differ."""
    left = [f"<li>Station {j}</li>" for j in range(7)]
    # A factor without a common divisor makes another number of each of those below 5,040.
    number = i * 1009 % factorial(7)
    rows = (left.pop(number // factorial(6 - j) % (7 - j)) for j in range(7))
    return Parts(f"<ol>{''.join(rows)}</ol>")


DETAILED: dict[str, Callable[[int], Parts]] = {
    kind.__name__: kind
    for kind in (
        *(state, next_data, literal, json_ld, json_ld_bare, microdata, pictures, srcset, lazy),
        *(media, iframe, links, picture_links, table_links, hidden, inputs, select, aria_label),
        *(title_alt, data_attributes, download, button, sidebar, related),
    )
}
KINDS: dict[str, Callable[[int], Parts]] = {
    **DETAILED,
    **{kind: partial(in_content, kind) for kind in IN_CONTENT},
    **{kind: partial(in_head, kind) for kind in IN_HEAD},
    **{kind: partial(chosen, kind) for kind in CHOICES},
    **{kind.__name__: kind for kind in (title, stars, order)},
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
    heading = f"Pages by {kind}"
    text = f"<h1>{heading}</h1><p>{prose(('kind', kind), 120)}</p>{parts.content}"
    terms = f'<p>{prose("terms", 8)} <a href="/leaf/terms">Terms</a></p>'
    menu = '<header><nav><a href="/leaf/about">About</a></nav></header>'
    foot = f"<footer><p>{prose('footer', 30)}</p></footer>"
    return (
        f"<!DOCTYPE html><html><head><title>{parts.title or heading}</title>"
        f"{marker(f'{kind}/{i}')}{parts.head}</head><body>{'' if is_print else menu}"
        f"<main>{text}{terms}</main>{parts.side}{'' if is_print else foot}</body></html>"
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


def _site(size: int, kinds: Sequence[str], copies: int) -> Site:
    paths = [path for kind in kinds for i in range(size) for path in addresses(kind, i)[:copies]]
    random.Random(1).shuffle(paths)
    start = listing("Items", paths)

    def made(path: str) -> str | None:
        return start if path == "/" else body(path)

    pool = tuple(f"/kind/{kind}/{i}" for kind in kinds for i in range(size))
    return Site(made, pool, _row, _item_row, _is_session)


def kinds(size: int, *names: str) -> Site:
    """Items that differ in one thing only, each at one address."""
    return _site(size, names or NAMES, copies=1)


def twins(size: int, *names: str) -> Site:
    """The items of the kinds that have a function, each at three addresses."""
    return _site(size, names or tuple(DETAILED), copies=3)
