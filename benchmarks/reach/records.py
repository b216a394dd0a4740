"""Records of one form: the pages of a row have the same words, and differ in few of them.

A row is a site of its own if it is crawled alone.  Of two rows, one has addresses as ``/flats/7``
and the next ``/flats?id=7``.  Half of the rows have each page at a second address (``ref=home``).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from html import escape

from reach.noise import SECONDS, SIGNATURE
from reach.pages import Site, listing, marker, page, prose


@dataclass(frozen=True)
class Record:
    """What a page has below its menu, and how many items it has."""

    title: str
    content: str
    items: int = 1


# A record of each row by its number, an int from 0 on.
Make = Callable[[int], Record]

SEATS = ("Barra", "Deston", "Fulig", "Gomen", "Lidun")


def paragraphs(seed: object, words: int) -> str:
    return "".join(f"<p>{prose((seed, at), 80)}</p>" for at in range(0, words, 80))


def name_of(*seed: object) -> str:
    return prose(seed, 3).rstrip(".")


def table(values: Mapping[str, object]) -> str:
    rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in values.items())
    return f"<table>{rows}</table>"


def price(i: int) -> Record:
    """A price and a stock below 800 words."""
    return Record(
        "Bench", f"{paragraphs('bench', 800)}<p>{20 + i}.99 euros, {3 + i * 37 % 90} in stock</p>"
    )


def price_listed(i: int) -> Record:
    """A price that stands in a list on all pages."""
    rates = "".join(f"<li>Rate {rate}: {30 + rate} euros</li>" for rate in range(400))
    return Record("Room", f"<p>{30 + i} euros</p>{paragraphs('room', 160)}<ul>{rates}</ul>")


def flats(i: int) -> Record:
    """Flats of one building."""
    values = {"Flat": i + 1, "Area": f"{40 + i}.5 m2", "Floor": i // 6, "Rent": 700 + 10 * i}
    return Record("Residential park", table(values) + paragraphs("flats", 300))


def register(i: int) -> Record:
    """Companies above a notice of 400 words."""
    values = {
        "Name": name_of("company", i),
        "Number": f"HRB {10_000 + i}",
        "Seat": SEATS[i % len(SEATS)],
    }
    return Record("Register", table(values) + paragraphs("notice", 400))


def events(i: int) -> Record:
    """A weekly event."""
    day = date(2026, 1, 5) + timedelta(weeks=i)
    start = f"<p>Monday, {day.day} {day:%B} {day.year}, 18:00, gate {i % 4 + 1}</p>"
    return Record("Yoga in the park", start + paragraphs("yoga", 200))


def currencies(i: int) -> Record:
    """Products of 240 words, each in three currencies."""
    product, at = divmod(i, 3)
    currency, rate = (("USD", 1.0), ("EUR", 0.9), ("GBP", 0.8))[at]
    shown = f"<p>{currency} {(10 + product) * rate:.2f}</p>"
    return Record(name_of("product", product), shown + paragraphs(("product", product), 240))


def exam(i: int) -> Record:
    """A question under 200 words of instructions."""
    question = f"<p>{prose(('question', i), 15)}</p>"
    return Record("Examination", paragraphs("instructions", 200) + question)


def contributions(of: str, words: int, on_page: int, i: int) -> Record:
    """One of four pages of contributions under an article, each an item."""
    article = i // 4
    shown = "".join(
        f"<li><b>{prose(('author', of, i, at), 1)}</b> <p>{prose((of, i, at), 22)}</p></li>"
        for at in range(on_page)
    )
    more = " ".join(f'<a href="/{of}/{article}?cpage={at + 1}">{at + 1}</a>' for at in range(4))
    text = f"<article>{paragraphs((of, article), words)}</article>"
    content = f"{text}<section><h2>Comments</h2><ul>{shown}</ul></section><p>{more}</p>"
    return Record(name_of(of, article), content, items=on_page)


def names(link: str, i: int) -> Record:
    """A list of twelve names, each an item, in links that have no new address."""
    people = [name_of("person", link, i, at) for at in range(12)]
    rows = "".join(
        f"<tr><td>{at + 1}</td><td><a{link.format(at)}>{person}</a></td></tr>"
        for at, person in enumerate(people)
    )
    return Record("Cases", f"{paragraphs(link, 120)}<table>{rows}</table>", items=12)


def free_days(i: int) -> Record:
    """July and August of a flat; what is free has a class."""
    flat, month = divmod(i, 2)
    rng = random.Random(f"free {flat} {month}")
    cells = [f'<td class="{rng.choice(("free", "booked"))}">{day}</td>' for day in range(1, 32)]
    weeks = "".join(f"<tr>{''.join(cells[at : at + 7])}</tr>" for at in range(0, 31, 7))
    legend = f"<p>{prose('free days', 15)}</p>"
    return Record(
        "Free days", f"<h2>{('July', 'August')[month]}</h2><table>{weeks}</table>{legend}"
    )


def league(i: int) -> Record:
    """Twelve teams with the same twelve numbers in another order."""
    points = random.Random(f"league {i}").sample(range(12, 36, 2), 12)
    rows = {name_of("team", at): points[at] for at in range(12)}
    return Record("League", table(rows) + paragraphs("league", 160))


# Where a word stands that one page of a pair has and the other lacks.
BADGES: dict[str, str] = {
    "badge_row": "<table><tr><td>Room</td><td>Hall</td>{}</tr></table>",
    "badge_item": "<ul><li>Room</li><li>Hall</li>{}</ul>",
    "badge_card": '<div class="card"><div class="title">Hall</div>{}</div>',
    "badge_end": "{}",
}
BADGE_ELEMENTS = {"badge_row": "td", "badge_item": "li", "badge_card": "div", "badge_end": "span"}


def badge(place: str, i: int) -> Record:
    """A hall in two weeks, of which the second has a badge."""
    hall, is_booked = divmod(i, 2)
    element = BADGE_ELEMENTS[place]
    shown = f"<{element}>booked</{element}>" if is_booked else ""
    text = f"<p>{prose((place, hall), 120)}</p>"
    return Record(name_of(place, hall), text + BADGES[place].format(shown))


def classes(name: str, i: int) -> Record:
    """A text of 20 words in a class that sounds like what stands beside content."""
    return Record(
        "Paper", f'{paragraphs(name, 160)}<div class="{name}">{prose((name, i), 20)}</div>'
    )


# Values that change at each visit.  The number of the record is beside them.
SIGNED: dict[str, str] = {
    "signed_picture": '<img src="https://bucket.example/photos/{}.jpg?X-Amz-Expires=900&amp;'
    f'X-Amz-Date={SECONDS}&amp;X-Amz-Signature={SIGNATURE}{SIGNATURE}" alt="">',
    "signed_player": f'<iframe src="https://player.example/embed/{{}}?token={SIGNATURE}"></iframe>',
    "signed_data": f'<div data-url="/api/answers/{{}}?nonce={SIGNATURE}">Loading</div>',
    "signed_token": f'<div data-token="{{}}|{SECONDS}|{SIGNATURE}">Loading</div>',
    "view_state": '<form method="post"><input type="hidden" name="__VIEWSTATE" '
    f'value="/wEPDwUK{SIGNATURE}"><input type="hidden" name="record" value="{{}}"></form>',
}


def signed(form: str, i: int) -> Record:
    return Record("Lesson", paragraphs(form, 80) + SIGNED[form].format(1000 + 7 * i))


def shell(i: int) -> Record:
    """A page that a script fills: an element of the application has the number."""
    return Record(
        "Listing", f'<listing-view :listing-id="{4000 + i}"></listing-view><p>Please wait</p>'
    )


def shell_with_data(i: int) -> Record:
    """The same with the record beside the number."""
    data = json.dumps({"title": name_of("listing", i), "price": 3 * i})
    view = f"<listing-view :listing-id='{4000 + i}' :initial='{data}'></listing-view>"
    return Record("Listings", f"{view}<p>Loading</p>")


# What the links of names lead to.
LINKS: dict[str, str] = {
    "names_postback": " href=\"javascript:__doPostBack('list','Select${}')\"",
    "names_script": ' href="javascript:void(0)"',
    "names_fragment": ' href="#"',
    "names_bare": "",
    "names_known": ' href="/"',
}
CLASSES = ("ad-details", "newsletter", "menu-card", "related-work", "popup-info")

RECORDS: dict[str, Make] = {
    **{make.__name__: make for make in (price, price_listed, flats, register, events, currencies)},
    "comments_1500": partial(contributions, "comments_1500", 1500, 10),
    "comments_3000": partial(contributions, "comments_3000", 3000, 10),
    "reviews": partial(contributions, "reviews", 800, 5),
    **{make.__name__: make for make in (exam, free_days, league, shell, shell_with_data)},
    **{name: partial(names, link) for name, link in LINKS.items()},
    **{name: partial(badge, name) for name in BADGES},
    **{f"class_{name}": partial(classes, name) for name in CLASSES},
    **{name: partial(signed, name) for name in SIGNED},
}
NAMES = list(RECORDS)


def _page_of_article(name: str, i: int) -> str:
    return f"/{name}/{i // 4}?cpage={i % 4 + 1}"


# Addresses of the rows whose records have two numbers.
ADDRESSES: dict[str, Callable[[int], str]] = {
    "currencies": lambda i: f"/currencies/{i // 3}?currency={('USD', 'EUR', 'GBP')[i % 3]}",
    "free_days": lambda i: f"/free_days?flat={i // 2}&month={7 + i % 2}",
    **{name: partial(_page_of_article, name) for name in ("comments_1500", "comments_3000")},
    "reviews": partial(_page_of_article, "reviews"),
}


def addresses(name: str, i: int) -> list[str]:
    """The address of a record, and its second one if its row has such."""
    number = NAMES.index(name)
    if name in ADDRESSES:
        path = ADDRESSES[name](i)
    else:
        path = f"/{name}?id={i}" if number % 2 else f"/{name}/{i}"
    copy = f"{path}{'&' if '?' in path else '?'}ref=home"
    return [path, copy] if number // 2 % 2 else [path]


def row_of(name: str, i: int) -> str:
    """The row of a record: those with a badge have one, and those without it."""
    if name in BADGES:
        return f"{name} {'with' if i % 2 else 'without'}"
    return name


def _html(name: str, i: int) -> str:
    record = RECORDS[name](i)
    items = (f"{row_of(name, i)}/{i}/{at}" for at in range(record.items))
    return page(record.title, record.content, head="".join(map(marker, items)))


def records(size: int, *rows: str) -> Site:
    """*size* pages of each of the rows."""
    pages = {
        path: (name, i)
        for name in rows or NAMES
        for i in range(size)
        for path in addresses(name, i)
    }
    paths = [*pages]
    random.Random(1).shuffle(paths)
    start = listing("Records", map(escape, paths))

    def body(path: str) -> str | None:
        if path == "/":
            return start
        return _html(*pages[path]) if path in pages else None

    def row(path: str) -> str:
        return row_of(*pages[path]) if path in pages else ""

    return Site(body, tuple(map(escape, pages)), row, lambda item: item.partition("/")[0])
