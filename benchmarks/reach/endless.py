"""Sites that never end: calendars, and trees of pages that are not there but answer 200.

Each has articles that a crawl must still get; every article is an item.
"""

from __future__ import annotations

from calendar import day_name, month_name, monthcalendar
from collections.abc import Callable
from datetime import date, timedelta
from urllib.parse import parse_qs, urlsplit

from reach.pages import Site, page, prose

FIRST = date(2026, 11, 1)
# Of the articles, each fourth is linked from the start page, the others from one another.
FAN = 4


def articles(size: int, trap: str, entrance: str) -> Callable[[str], str | None]:
    """Pages of a site with *size* articles, each with a link to where its *trap* begins."""

    def body(path: str) -> str | None:
        beside = f'<aside><p><a href="{entrance}">{trap}</a></p></aside>'
        if path == "/":
            links = "".join(f'<li><a href="/article/{i}">{i}</a></li>' for i in range(0, size, FAN))
            return page("Start", f"<p>{prose('start', 60)}</p><ul>{links}</ul>{beside}")
        if path == "/about":
            return page("About", f"<p>{prose('about', 60)}</p>")
        _, first, *rest = path.split("/")
        if first != "article" or len(rest) != 1 or not rest[0].isdigit() or int(rest[0]) >= size:
            return None
        i = int(rest[0])
        content = f'<p>{prose(("article", i), 120)}</p><a href="/article/{i + 1}">Next</a>{beside}'
        return page(f"Article {i}", content, item=i)

    return body


def endless(size: int, trap: str, entrance: str, inside: Callable[[str], str | None]) -> Site:
    """A site whose other addresses are those of a trap, which *inside* answers."""
    outside = articles(size, trap, entrance)
    return Site(
        lambda path: outside(path) or inside(path),
        row=lambda path: "" if path == "/" or path.startswith("/article/") else "trap",
    )


def _next_month(first: date) -> date:
    return (first + timedelta(days=31)).replace(day=1)


def _month_before(first: date) -> date:
    return (first - timedelta(days=1)).replace(day=1)


def _month(first: date, month_at: Callable[[date], str], day_at: Callable[[date], str]) -> str:
    """A month as calendars show it: a grid of days, which may lead to pages of days."""

    def cell(day: int) -> str:
        address = day_at(first.replace(day=day)) if day else ""
        return f'<td><a href="{address}">{day}</a></td>' if address else f"<td>{day or ''}</td>"

    rows = "".join(
        "<tr>" + "".join(map(cell, week)) + "</tr>"
        for week in monthcalendar(first.year, first.month)
    )
    head = "".join(f"<th>{name[:3]}</th>" for name in day_name)
    around = (
        f'<p><a href="{month_at(_month_before(first))}">Previous</a> '
        f'<a href="{month_at(_next_month(first))}">Next</a></p>'
    )
    title = f"{month_name[first.month]} {first.year}"
    return page(title, f"{around}<table><tr>{head}</tr>{rows}</table><p>No events.</p>")


def _day(day: date, day_at: Callable[[date], str], month_at: Callable[[date], str]) -> str:
    title = f"{day_name[day.weekday()]}, {day.day} {month_name[day.month]} {day.year}"
    content = (
        f"<p>There are no events on this day. Choose another day, or add an event of your own.</p>"
        f'<p><a href="{day_at(day - timedelta(days=1))}">Previous day</a> '
        f'<a href="{month_at(day.replace(day=1))}">Month</a> '
        f'<a href="{day_at(day + timedelta(days=1))}">Next day</a></p>'
    )
    return page(title, content)


def _nothing(day: date) -> str:
    return ""


def month_grids(size: int) -> Site:
    """Months alone: ``/calendar/2031/5``."""

    def month_at(first: date) -> str:
        return f"/calendar/{first.year}/{first.month}"

    def inside(path: str) -> str | None:
        match path.split("/")[1:]:
            case ["calendar", year, month]:
                return _month(date(int(year), int(month), 1), month_at, _nothing)
        return None

    return endless(size, "Events", month_at(FIRST), inside)


def months_and_days(size: int) -> Site:
    """Months that lead to days: ``/calendar/2031/5/12``."""

    def month_at(first: date) -> str:
        return f"/calendar/{first.year}/{first.month}"

    def day_at(day: date) -> str:
        return f"/calendar/{day.year}/{day.month}/{day.day}"

    def inside(path: str) -> str | None:
        match path.split("/")[1:]:
            case ["calendar", year, month]:
                return _month(date(int(year), int(month), 1), month_at, day_at)
            case ["calendar", year, month, day]:
                return _day(date(int(year), int(month), int(day)), day_at, month_at)
        return None

    return endless(size, "Events", month_at(FIRST), inside)


def parameters(size: int) -> Site:
    """Views that parameters choose: ``/events?view=day&date=2031-05-12``."""

    def month_at(first: date) -> str:
        return f"/events?view=month&date={first}"

    def day_at(day: date) -> str:
        return f"/events?view=day&date={day}"

    def inside(path: str) -> str | None:
        parts = urlsplit(path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path != "/events" or not asked:
            return None
        day = date.fromisoformat(asked["date"])
        if asked["view"] == "month":
            return _month(day, month_at, day_at)
        return _day(day, day_at, month_at)

    return endless(size, "Events", month_at(FIRST), inside)


def bookings(size: int) -> Site:
    """Days with the hours of rooms, each leading to a form: ``/book?day=2031-05-12&hour=9``."""

    def day_at(day: date) -> str:
        return f"/rooms?day={day}"

    def inside(path: str) -> str | None:
        parts = urlsplit(path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path not in ("/rooms", "/book") or "day" not in asked:
            return None
        day = date.fromisoformat(asked["day"])
        if parts.path == "/book":
            form = (
                f'<form action="/book" method="post"><input name="day" value="{day}"><input '
                f'name="hour" value="{asked["hour"]}"><button>Book</button></form>'
            )
            return page(f"Book a room on {day}", f"<p>{prose('terms', 60)}</p>{form}")
        rows = "".join(
            f"<tr><td>{hour}:00</td>"
            f'<td><a href="/book?day={day}&amp;hour={hour}">free</a></td></tr>'
            for hour in range(8, 18)
        )
        around = (
            f'<p><a href="{day_at(day - timedelta(days=1))}">Before</a> '
            f'<a href="{day_at(day + timedelta(days=1))}">After</a></p>'
        )
        return page(f"Rooms on {day}", f"{around}<table>{rows}</table>")

    return endless(size, "Rooms", day_at(FIRST), inside)


RELATIVE = ("products/", "about/", "help/contact.html", "news/", "jobs/index.html")


def not_found(size: int) -> Site:
    """What is not there has one page, whose menu has relative links."""
    return endless(size, "Shop", "/shop/old/", lambda path: _missing(""))


def not_found_naming(size: int) -> Site:
    """The same, but the page names the address that was asked for."""
    return endless(size, "Shop", "/shop/old/", _missing)


def not_found_chain(size: int) -> Site:
    """The same with one relative link alone: each page leads one folder deeper."""
    return endless(size, "Shop", "/shop/old/", lambda path: _missing("", ("more/",)))


def _missing(path: str, links: tuple[str, ...] = RELATIVE) -> str:
    menu = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return page(
        "Not found",
        f"<p>We are sorry: the page {path} that you asked for is not here any more. "
        f"{prose('sorry', 40)}</p><ul>{menu}</ul>",
    )


CALENDARS = {
    "months": month_grids,
    "months and days": months_and_days,
    "parameters": parameters,
    "bookings": bookings,
}
MISSING = {
    "not found": not_found,
    "not found, naming": not_found_naming,
    "not found, chain": not_found_chain,
}
