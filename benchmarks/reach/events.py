"""A calendar: views of months, weeks and days, most of them without an event."""

from __future__ import annotations

import random
from datetime import date, timedelta

from reach.pages import Site, page, prose

FIRST, LAST = date(2025, 1, 1), date(2026, 12, 31)


def calendar(size: int) -> Site:
    """*size* events in two years, each an item; the views lead to the next and the one before.

    An event is at ``/event/9``, and at ``/event/9?from=`` month, week or day.  Of the views, those
    without an event show the same few words and another date.
    """
    rng = random.Random("events")
    days = (LAST - FIRST).days + 1
    of_day: dict[date, list[int]] = {}
    for i in range(size):
        of_day.setdefault(FIRST + timedelta(days=rng.randrange(days)), []).append(i)

    def body(path: str) -> str | None:
        where, _, origin = path.partition("?from=")
        match where.split("/")[1:]:
            case [""]:
                return page(
                    "Events", f'<p>{prose("events", 60)} <a href="/month/{FIRST}">Now</a>.</p>'
                )
            case ["event", number] if number.isdigit() and int(number) < size:
                return _event(int(number), origin)
            case [("month" | "week" | "day") as view, day]:
                return _view(view, date.fromisoformat(day), of_day)
        return None

    return Site(body, tuple(f"/event/{i}" for i in range(size)))


def _event(i: int, origin: str) -> str:
    """An event; every fifth is a date of a series, whose text is the same but for the number."""
    text = prose(("series", i % 10), 80) if i % 5 == 0 else prose(("event", i), 90)
    back = f'<p><a href="/{origin}/{FIRST}">Back</a></p>' if origin else ""
    return page(f"Event {i}", f"<p>{text}</p><p>Date {i} of the series.</p>{back}", item=i)


def _range(view: str, day: date) -> tuple[date, date]:
    """The first day of a view around *day*, and the first after it."""
    if view == "day":
        return day, day + timedelta(days=1)
    if view == "week":
        first = day - timedelta(days=day.weekday())
        return first, first + timedelta(days=7)
    first = day.replace(day=1)
    return first, (first + timedelta(days=31)).replace(day=1)


def _view(view: str, day: date, of_day: dict[date, list[int]]) -> str | None:
    if not FIRST <= day <= LAST:
        return None
    first, end = _range(view, day)
    shown = [first + timedelta(days=i) for i in range((end - first).days)]
    rows = "".join(
        f'<li>{one.day}: <a href="/event/{i}?from={view}">{prose(("short", i), 3)}</a></li>'
        for one in shown
        for i in of_day.get(one, [])
    )
    content = f"<ul>{rows}</ul>" if rows else "<p>There is no event.</p>"
    inner = {"month": "week", "week": "day"}.get(view)
    step = 7 if inner == "week" else 1
    cells = "".join(f'<td><a href="/{inner}/{one}">{one.day}</a></td>' for one in shown[::step])
    grid = f"<table><tr>{cells}</tr></table>" if inner else ""
    around = (
        f'<p><a href="/{view}/{_range(view, first - timedelta(days=1))[0]}">Previous</a> '
        f'<a href="/{view}/{end}">Next</a></p>'
    )
    return page(f"{view.capitalize()} of {first}", around + grid + content)
