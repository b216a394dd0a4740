"""The report as one HTML page that needs nothing else: no network, no script.

Its charts are bars of HTML, made without a library: pygal 3.1, which draws SVG without numpy,
installs an import hook that makes each later import warn on Python 3.10 and 3.11.
"""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from rich.filesize import decimal

# Longer URLs are cut.  The page holds at most 800 of them: even if each character takes 5 bytes in
# HTML, the page stays below 500 KB.
SHOWN = 120


def html_of(report: dict[str, Any]) -> str:
    """Return the page for the report that :func:`~.document.report_of` made."""
    return _environment().get_template("report.html").render(report)


def printable(text: object) -> str:
    r"""Return *text* with invisible characters escaped: NULs, changes of direction.

    >>> print(printable("a\x00b \u202etxt"))
    a\x00b \u202etxt
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in str(text)
    )


def shown(text: object) -> str:
    """Return *text* as it is shown: printable, and at most :data:`SHOWN` characters."""
    visible = printable(text)
    return visible if len(visible) <= SHOWN else visible[: SHOWN - 1] + "\N{HORIZONTAL ELLIPSIS}"


def linkable(url: object) -> bool:
    """Whether *url* may be a link: it leads to a web server, and is shown unchanged and uncut."""
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
