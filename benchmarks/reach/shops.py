"""The sites that ``docs/quality.md`` reports on."""

from __future__ import annotations

import json
from collections.abc import Callable

from reach.pages import Site, listing, marker, page, prose

Pages = dict[str, str]


def shop(size: int) -> Site:
    """Listings of 12 cards under one introduction; each product at four addresses."""
    pages: Pages = {}
    intro = f"<p>{prose('intro', 120)}</p>"
    count = -(-size // 12)
    for number in range(count):
        cards = "".join(
            f'<div class="card"><a href="/product/{i}"><h3>Tool {i}</h3><p>{i % 90} euros</p></a>'
            f'<a href="/product/{i}?sid={i * 7919 % 1000}"><span>look at it</span></a></div>'
            for i in range(12 * number, min(12 * number + 12, size))
        )
        more = f'<div class="pagination"><a href="/list?page={number + 1}">next</a></div>'
        pages[f"/list?page={number}"] = page(
            "Tools", intro + cards + (more if number + 1 < count else "")
        )
    for i in range(size):
        text = f"<p>{prose(('product', i), 150)}</p>"
        printed = f'<p><a href="/print/product/{i}">Print</a></p>'
        pages[f"/product/{i}"] = page(f"Tool {i}", text + printed, item=i)
        pages[f"/product/{i}?sid={i * 7919 % 1000}"] = page(f"Tool {i}", text + printed, item=i)
        pages[f"/print/product/{i}"] = (
            f"<html><head>{marker(i)}</head><body><h1>Tool {i}</h1>{text}</body></html>"
        )
    pages["/"] = page("Shop", f'<p>{prose("start", 60)}</p><a href="/list?page=0">All tools</a>')
    return made_before(pages, "/product/")


def variants(size: int) -> Site:
    """Products whose text is the same but for a colour, with another number each."""
    pages: Pages = {}
    for i in range(size):
        data = {"@type": "Product", "sku": f"T-{i}", "gtin13": f"40{i:011d}", "name": "Tool"}
        head = f'<script type="application/ld+json">{json.dumps(data)}</script>'
        text = f"<p>{prose('variant', 160)} Colour {i % 7}.</p>"
        pages[f"/variant/{i}"] = page("Tool", text, item=i, head=head)
        pages[f"/variant/{i}?ref=mail"] = page("Tool", text, item=i, head=head)
    pages["/"] = listing("Variants", list(pages))
    return made_before(pages, "/variant/")


def blog(size: int) -> Site:
    """Posts that only pages of tags and dates lead to; these show a teaser that others show."""
    pages: Pages = {}
    for i in range(size):
        pages[f"/post/{i}"] = page(f"Post {i}", f"<p>{prose(('post', i), 200)}</p>", item=i)
    archives = []
    for i in range(0, size, 4):
        teaser = f"<article><p>{prose(('teaser', i % 40), 120)}</p></article>"
        links = "".join(f'<p><a href="/post/{j}">{j}</a></p>' for j in range(i, min(i + 4, size)))
        path = f"/{'tag' if i % 8 else 'date'}/{i}"
        pages[path] = page("Archive", teaser + links)
        archives.append(path)
    pages["/"] = listing("Blog", archives)
    return made_before(pages, "/post/")


def application(size: int) -> Site:
    """One shell for all pages; what they are is in a script."""
    pages: Pages = {}
    for i in range(size):
        state = f"<script>window.__STATE__ = {json.dumps({'id': i, 'name': prose(i, 5)})}</script>"
        shell = f"<p>{prose('shell', 120)}</p><div id='root'></div>"
        pages[f"/view/{i}"] = page("Application", shell + state, item=i)
    pages["/"] = listing("Application", list(pages))
    return made_before(pages, "/view/")


def gallery(size: int) -> Site:
    """Pages with one text and another picture each."""
    pages: Pages = {}
    for i in range(size):
        picture = f'<p>{prose("gallery", 120)}</p><img src="/picture/{i}.jpg" alt="">'
        pages[f"/photo/{i}"] = page("Gallery", picture, item=i)
    pages["/"] = listing("Gallery", list(pages))
    return made_before(pages, "/photo/")


def made_before(pages: Pages, items: str) -> Site:
    """A site of the given pages; rotating boxes link to those whose path begins with *items*."""
    pool = tuple(path for path in pages if path.startswith(items) and "?" not in path)
    return Site(pages.get, pool)


SITES: dict[str, Callable[..., Site]] = {
    "shop": shop,
    "variants": variants,
    "blog": blog,
    "application": application,
    "gallery": gallery,
}
