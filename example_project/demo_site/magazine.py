"""Serve a magazine of 40 articles at 5,300 addresses: ``python -m demo_site.magazine [PORT]``.

Each article has a print view, addresses for answers to it, and addresses that say where a reader
comes from.  A reader who has asked for a session has it in all links.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from functools import cache
from string import Template
from urllib.parse import parse_qsl, urlsplit

from demo_site.server import ARTICLES as TEXTS
from demo_site.server import run

ARTICLES = 40
SESSIONS = 15
ANSWERS = 3
SOURCES = ("feed", "letter", "mail")
SUBJECTS = (
    *("boats", "bread", "cats", "clocks", "fog", "gardens"),
    *("kites", "lamps", "maps", "nets", "oysters", "weather"),
)

PAGE = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>$title</title></head>
<body><header>$home</header><nav>$subjects</nav><main>$content</main><aside>$links</aside>
<footer><p>The Ebb, a magazine of the island. It comes out when the tide does.</p></footer>
</body></html>
""")
PRINT = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>$title</title></head>
<body><main>$content</main>
<footer><p>The Ebb, a magazine of the island. It comes out when the tide does.</p></footer>
</body></html>
""")
WORDS = sorted(set(re.findall("[a-z]{4,}", (TEXTS / "storm.en.txt").read_text())))


class Magazine:
    """All pages."""

    def answer(self, target: str) -> str | None:
        """Return the HTML at a request target, None where there is nothing."""
        split = urlsplit(target)
        kind, _, name = split.path.strip("/").partition("/")
        sid = dict(parse_qsl(split.query)).get("sid", "")
        if kind == "":
            return page("The Ebb", sid, teasers(range(ARTICLES), sid))
        if kind == "about" and name in SUBJECTS:
            about = [number for number in range(ARTICLES) if name in subjects_of(number)]
            return page(name.title(), sid, teasers(about, sid))
        number = int(name) if name.isdigit() else ARTICLES
        if kind not in ("read", "print") or number >= ARTICLES:
            return None
        title, text = article(number)
        content = f"<article><h1>{title}</h1>{text}</article>"
        if kind == "print":
            return PRINT.substitute(title=title, content=content)
        own = {f"/print/{number}": "Print"}
        own |= {f"/read/{number}?answer={one}": "Answer" for one in range(ANSWERS)}
        own |= {f"/read/{number}?utm_source={source}": "Share" for source in SOURCES}
        session = listed({f"/read/{number}": "Read without cookies"}, str(number % SESSIONS))
        near = [(number + step) % ARTICLES for step in (1, 7)]
        return page(title, sid, content, listed(own, sid) + session + teasers(near, sid))


def page(title: str, sid: str, content: str, links: str = "") -> str:
    return PAGE.substitute(
        title=title,
        home=listed({"/": "The Ebb"}, sid),
        subjects=listed({f"/about/{one}": one for one in SUBJECTS}, sid),
        content=content,
        links=links,
    )


def subjects_of(number: int) -> list[str]:
    return random.Random(number).sample(SUBJECTS, 3)


def teasers(numbers: Iterable[int], sid: str) -> str:
    """Return links to articles."""
    return listed({f"/read/{number}": article(number)[0] for number in numbers}, sid)


def listed(labels: dict[str, str], sid: str) -> str:
    """Return an HTML list of links, from their labels by address, in a session if there is one."""
    links = ""
    for address, label in labels.items():
        session = f"{'&amp;' if '?' in address else '?'}sid={sid}" if sid else ""
        links += f'<li><a href="{address}{session}">{label}</a></li>'
    return f"<ul>{links}</ul>"


@cache
def article(number: int) -> tuple[str, str]:
    """Return the title of an article, and its text."""
    chance = random.Random(f"article {number}")

    def words(many: int) -> str:
        return " ".join(chance.sample(WORDS, many)).capitalize()

    paragraphs = (" ".join(f"{words(12)}." for _ in range(5)) for _ in range(6))
    return words(3), "".join(f"<p>{one}</p>" for one in paragraphs)


if __name__ == "__main__":
    run(Magazine())
