"""A shop with facets, sort orders, sessions, print views, and reviews on pages of their own."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import parse_qs, urlsplit

from reach.pages import Site, marker, page, prose

ON_PAGE = 24
COLOURS = ("red", "green", "blue", "white")
SORTS = ("price", "name")
CATEGORIES = 6


def store(size: int) -> Site:
    """*size* products in six categories; items are the products, their variants and their reviews.

    A category can be seen by colour and in two orders, each over several pages.  Every third
    product has three variants, whose text is the same and whose JSON-LD has another sku.  The links
    of a listing have a session id, which the product's own links keep.
    """

    def body(path: str) -> str | None:
        parts = urlsplit(path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        match parts.path.split("/")[1:]:
            case [""]:
                links = (f'<a href="/category/{i}">Shelf {i}</a>' for i in range(CATEGORIES))
                return page("Store", f"<p>{prose('store', 60)}</p>{' '.join(links)}")
            case ["category", number]:
                return _category(int(number), asked, size)
            case ["product", number] if int(number) < size:
                return _product(int(number), asked, is_print=False)
            case ["print", "product", number] if int(number) < size:
                return _product(int(number), asked, is_print=True)
            case ["reviews", number] if int(number) < size:
                return _reviews(int(number), int(asked.get("p", 1)) - 1)
        return None

    return Site(body, tuple(f"/product/{i}" for i in range(size)))


def _category(number: int, asked: dict[str, str], size: int) -> str | None:
    products = list(range(number, size, CATEGORIES))
    colour, sort, at = asked.get("colour"), asked.get("sort"), int(asked.get("p", 1)) - 1
    if colour:
        products = [i for i in products if COLOURS[i // CATEGORIES % len(COLOURS)] == colour]
    if sort:
        products.sort(key=_price if sort == "price" else _title)
    shown = products[at * ON_PAGE :][:ON_PAGE]
    if not shown:
        return None
    cards = "".join(
        f'<div class="card"><a href="/product/{i}?sid={100 + number}"><h3>{_title(i)}</h3>'
        f"<p>{_price(i)} euros</p></a></div>"
        for i in shown
    )
    base = f"/category/{number}"
    facets = _links(
        [*(f"{base}?colour={one}" for one in COLOURS), *(f"{base}?sort={one}" for one in SORTS)]
    )
    chosen = "".join(f"{name}={asked[name]}&amp;" for name in ("colour", "sort") if name in asked)
    more = ""
    if len(products) > (at + 1) * ON_PAGE:
        more = f'<div class="pagination"><a href="{base}?{chosen}p={at + 2}">next</a></div>'
    intro = f"<p>{prose(('shelf', number), 80)}</p>"
    return page(f"Shelf {number}", intro + facets + cards + more)


def _links(paths: Iterable[str]) -> str:
    return (
        "<p>" + " ".join(f'<a href="{one}">{one.rpartition("=")[2]}</a>' for one in paths) + "</p>"
    )


def _title(i: int) -> str:
    return prose(("tool", i), 2).rstrip(".") + f" {i}"


def _price(i: int) -> int:
    return 5 + i * 37 % 90


def _product(i: int, asked: dict[str, str], is_print: bool) -> str | None:
    size = asked.get("size", "0")
    has_variants = i % 3 == 0
    if size not in ("0", "1", "2") or (size != "0" and not has_variants):
        return None
    item = f"{i}/{size}"
    data = f'{{"@type": "Product", "sku": "T-{i}-{size}"}}'
    head = f'<script type="application/ld+json">{data}</script>'
    text = f"<p>{prose(('tool text', i), 100)}</p><p>{_price(i)} euros</p>"
    if is_print:
        return (
            f"<!DOCTYPE html><html><head><title>{_title(i)}</title>{marker(item)}{head}</head>"
            f"<body><main><h1>{_title(i)}</h1>{text}</main></body></html>"
        )
    sid = f"&amp;sid={asked['sid']}" if "sid" in asked else ""
    own = [f"/reviews/{i}?p=1{sid}", f"/print/product/{i}?size={size}{sid}"]
    if has_variants:
        own += [f"/product/{i}?size={one}{sid}" for one in "012"]
    links = "".join(f'<li><a href="{path}">{path[1:8]}</a></li>' for path in own)
    return page(_title(i), f"{text}<ul>{links}</ul>", item=item, head=head)


def _reviews(i: int, at: int) -> str | None:
    """The reviews of a product; half of the products have none yet."""
    if i % 2:
        return page("Reviews", f"<p>{prose('no reviews', 12)}</p>") if at == 0 else None
    if at > i % 4:
        return None
    shown = "".join(f"<p>{prose(('review', i, at, j), 12 + i % 30)}</p>" for j in range(4))
    more = ""
    if at < i % 4:
        more = f'<div class="pagination"><a href="/reviews/{i}?p={at + 2}">next</a></div>'
    return page("Reviews", shown + more, item=f"reviews/{i}/{at}")
