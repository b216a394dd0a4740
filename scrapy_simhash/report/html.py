"""The report as one HTML page that needs nothing else: no network, no script.

Its charts are bars of HTML, not a library's: of those that draw SVG without numpy, pygal 3.1
puts an import hook in place that makes each later import warn on Python 3.10 and 3.11.
"""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from rich.filesize import decimal

# A URL is shown up to here: 800 of them, all of characters that take 5 bytes in HTML, are the
# most that the page holds, and still stay below its 500 KB.
SHOWN = 120


def html_of(report: dict[str, Any]) -> str:
    """Return the page for the report that :func:`~.document.report_of` made."""
    return _environment().get_template("report.html").render(report)


def printable(text: object) -> str:
    r"""Return *text* with what cannot be seen made visible: NULs, changes of direction.

    >>> print(printable("a\x00b \u202etxt"))
    a\x00b \u202etxt
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in str(text)
    )


def shown(text: object) -> str:
    """Return *text* as it is shown, cut where it would fill the page."""
    visible = printable(text)
    return visible if len(visible) <= SHOWN else visible[: SHOWN - 1] + "\N{HORIZONTAL ELLIPSIS}"


def linkable(url: object) -> bool:
    """Whether *url* may be a link: a whole one to a web server, without anything odd in it."""
    text = str(url)
    return text.startswith(("http://", "https://")) and shown(text) == text


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("scrapy_simhash.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        shown=shown,
        moment=lambda iso: iso.replace("T", " ").replace("+00:00", " UTC"),
        count=lambda number: f"{number:,.0f}",
        percent=lambda share: f"{share:.1%}",
        size=lambda number: decimal(int(number)),
    )
    environment.tests["linkable"] = linkable
    return environment
