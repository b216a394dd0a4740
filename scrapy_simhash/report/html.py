"""The report as one HTML page that needs nothing else: no network, no other file.

Its script only sorts tables, and its policy lets no other script run; without it the page is whole.
Its charts are made without a library: pygal 3.1, which draws SVG without numpy, installs an import
hook that makes each later import warn on Python 3.10 and 3.11.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.cells import cell_len, set_cell_size
from rich.filesize import decimal

from scrapy_simhash.report.picture import COLUMN_PIXELS, LABELS, counted, picture_of

# Longer URLs are cut.  The page holds at most 800 of them: even if each character takes 5 bytes in
# HTML, the page stays below 500 KB.
SHOWN = 120
# In the font of fixed width of the picture, 303 px: a telephone has room for them.
BRIEF_CELLS = 42


def html_of(report: dict[str, Any]) -> str:
    """Return the page for the report that :func:`~.document.report_of` made."""
    script = files("scrapy_simhash.report").joinpath("templates", "sort.js").read_text("utf-8")
    return (
        _environment()
        .get_template("report.html")
        .render(
            report,
            picture=picture_of(report),
            script=Markup(script),  # noqa: S704 - it is ours
            script_hash=f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",
        )
    )


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


def brief(text: object) -> str:
    """Return *text* as a line of the picture shows it."""
    visible = printable(text)
    if cell_len(visible) <= BRIEF_CELLS:
        return visible
    return set_cell_size(visible, BRIEF_CELLS - 1) + "\N{HORIZONTAL ELLIPSIS}"


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
        brief=brief,
        counted=counted,
        words=lambda name: name.replace("_", " "),
        seconds=lambda number: f"{number:,.2f} s" if number < 10 else f"{number:,.0f} s",
        moment=lambda iso: iso.replace("T", " ").replace("+00:00", " UTC"),
        count=lambda number: f"{number:,.0f}",
        percent=lambda share: f"{share:.1%}",
        size=lambda number: decimal(int(number)),
    )
    environment.globals.update(COLUMN_PIXELS=COLUMN_PIXELS, LABELS=LABELS)
    environment.tests["linkable"] = linkable
    return environment
