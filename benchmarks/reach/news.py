"""The archive of a newspaper: articles by date and by tag, with AMP versions."""

from __future__ import annotations

import random
from datetime import date, timedelta

from reach.pages import Site, listing, marker, page, prose

FIRST_DAY = date(2025, 1, 1)
ARTICLES_A_DAY = 4
TAGS = 12
ON_PAGE = 20


def news(size: int) -> Site:
    """*size* articles; each is an item.

    An article is at its date and at ``/amp``, where it has no frame; its text has a note that all
    articles of an agency share, and every tenth is a brief of 40 words.  Pages of days and tags
    show the beginnings of their articles.  A box of related articles is on each page; with noise
    there is another one, which rotates.
    """
    addresses = [_address(i) for i in range(size)]
    days = -(-size // ARTICLES_A_DAY)

    def body(path: str) -> str | None:
        where, _, query = path.partition("?p=")
        number = int(query or 1) - 1
        match where.split("/")[1:]:
            case [""]:
                months = dict.fromkeys(_day(i).strftime("/%Y/%m") for i in range(days))
                return listing("News", [*months, *(f"/tag/{tag}" for tag in range(TAGS))])
            case ["tag", tag] if tag.isdigit():
                return _list(where, range(int(tag), size, TAGS), number)
            case ["amp", *_]:
                return _article(where[4:], size, is_amp=True)
            case [year, month]:
                in_month = [_path(i) for i in range(days) if _path(i)[:8] == f"/{year}/{month}"]
                return listing(f"{month} {year}", in_month)
            case [_, _, _]:
                day = next((i for i in range(days) if _path(i) == where), None)
                first = 0 if day is None else day * ARTICLES_A_DAY
                return day if day is None else _list(where, range(first, first + 4), 0, size)
            case [_, _, _, _]:
                return _article(where, size, is_amp=False)
        return None

    return Site(body, tuple(addresses))


def _day(number: int) -> date:
    return FIRST_DAY + timedelta(days=number)


def _path(day: int) -> str:
    return _day(day).strftime("/%Y/%m/%d")


def _address(i: int) -> str:
    return f"{_path(i // ARTICLES_A_DAY)}/article-{i}"


def _title(i: int) -> str:
    return prose(("headline", i), 6).rstrip(".")


def _list(where: str, articles: range, number: int, size: int | None = None) -> str | None:
    shown = [i for i in articles[number * ON_PAGE :][:ON_PAGE] if size is None or i < size]
    if not shown:
        return None
    teasers = "".join(
        f'<article><h2><a href="{_address(i)}">{_title(i)}</a></h2>'
        f"<p>{_text(i)[:120]} ...</p></article>"
        for i in shown
    )
    more = ""
    if len(articles) > (number + 1) * ON_PAGE:
        more = (
            f'<div class="pagination"><a rel="next" href="{where}?p={number + 2}">Older</a></div>'
        )
    return page("Archive", teasers + more)


def _text(i: int) -> str:
    return prose(("article", i), 40 if i % 10 == 9 else 150 + i * 37 % 300)


def _article(where: str, size: int, is_amp: bool) -> str | None:
    number = where.rpartition("article-")[2]
    if not number.isdigit() or int(number) >= size or _address(int(number)) != where:
        return None
    i = int(number)
    agency = f"<p>{prose(('agency', i % 3), 40)}</p>"
    text = f"<p>{_text(i)}</p>{agency if i % 3 else ''}"
    if is_amp:
        return (
            f"<!DOCTYPE html><html amp><head><title>{_title(i)}</title>{marker(i)}</head><body>"
            f"<main><h1>{_title(i)}</h1>{text}</main></body></html>"
        )
    near = random.Random(f"near {i}").sample(range(size), min(3, size))
    boxes = "".join(f'<li><a href="{_address(j)}">{_title(j)}</a></li>' for j in near)
    tags = f'<p>Tag: <a href="/tag/{i % TAGS}">{prose(("tag", i % TAGS), 1)}</a></p>'
    amp = f'<p><a href="/amp{where}">Fast version</a></p>'
    box = f'<div class="related"><h4>More</h4><ul>{boxes}</ul></div>'
    return page(_title(i), text + tags + amp + box, item=i)
