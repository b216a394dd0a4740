"""Check the built site without a network: ``python docs/check_site.py build/docs``.

Each link within the site must lead to a file, and to an element if it names one.  No page may load
a script, a font, a style or a picture from elsewhere.  Links to other sites are not followed.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lxml import html

# Elements whose address a browser fetches by itself; a link with rel=canonical is not fetched.
LOADED = "//*[self::script or self::img or self::iframe or self::source]/@src | //link/@href"
LOADED_BY_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")]+)")


@cache
def page(path: Path) -> html.HtmlElement:
    return html.fromstring(path.read_bytes())


@cache
def names(path: Path) -> frozenset[str]:
    """Return what a link to this page may name after its ``#``."""
    return frozenset(page(path).xpath("//@id | //a/@name")) | {""}


def problems(path: Path) -> list[str]:
    """Return what is wrong on one page."""
    found = []
    for address in page(path).xpath(LOADED):
        if urlsplit(address).netloc:
            found.append(f"loads {address}")
    for address in page(path).xpath("//a/@href | //link/@href | //script/@src | //img/@src"):
        split = urlsplit(address)
        if split.scheme or split.netloc:
            continue
        target = (path.parent / unquote(split.path)).resolve() if split.path else path
        if not target.is_file():
            found.append(f"leads nowhere: {address}")
        elif target.suffix == ".html" and unquote(split.fragment) not in names(target):
            found.append(f"names no element: {address}")
    return found


def main(folder: Path) -> int:
    pages = sorted(folder.resolve().rglob("*.html"))
    lines = [f"{path.name}: {problem}" for path in pages for problem in problems(path)]
    for path in sorted(folder.rglob("*.css")):
        lines += [f"{path.name}: loads {a}" for a in LOADED_BY_STYLE.findall(path.read_text())]
    print(*lines, sep="\n", file=sys.stderr, end="\n" if lines else "")
    print(f"{len(pages)} pages in {folder}, {len(lines)} problems")
    return 1 if lines or not pages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
