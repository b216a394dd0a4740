"""Serve the demo site on loopback: ``python -m demo_site.server [PORT]``.

It has what live sites have: print views, session ids in links, a mirror, blocks that change
on every visit, tag and pagination pages, a login wall; pages that look alike and are not
(two products of one template, short notes); and one page that differs by a single word.
"""

from __future__ import annotations

import html
import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template
from typing import Protocol
from urllib.parse import parse_qs, quote, unquote, urlsplit

ARTICLES = Path(__file__).parent / "articles"
PER_PAGE = 3

PAGE = Template("""<!DOCTYPE html>
<html lang="$lang"><head><meta charset="utf-8"><title>$title - Northern Rock Courier</title></head>
<body>
<header><a href="/">Northern Rock Courier</a> <span>Visit number $visit, $clock</span></header>
<aside class="ad"><p>Advertisement: $ad</p></aside>
<nav><ul><li><a href="/articles?page=1">All articles</a></li>
<li><a href="/lamps/argand">Lamps</a></li>
<li><a href="/members/archive">Members</a></li><li><a href="/contact">Contact</a></li></ul></nav>
<main>$content</main>
<footer><p>Northern Rock Courier, the paper of the island. Printed with salt water.</p></footer>
</body></html>
""")
PRINT = Template("""<!DOCTYPE html>
<html lang="$lang"><head><meta charset="utf-8"><title>$title</title></head>
<body>$content<p>Printed from the Northern Rock Courier</p></body></html>
""")
ADS = [
    "Rope by the metre, any metre you like, at the old net loft.",
    "Rooms with a view of the fog. Breakfast from six, earplugs included.",
    "Does your clock run slow? Mine does too. Repairs on Thursdays.",
    "Fresh bread at the ferry steps as long as there is any.",
    "Lost: one oar. Found: another oar, not the same.",
]

LAMPS = {
    "argand": {
        "Name": "Argand burner of 1790",
        "Light": "Ten candles from a hollow wick, with a chimney of blown glass around it.",
        "Fuel": "Whale oil, later rape oil; a pint for each hour of light.",
        "Found": "Behind the wall of the coal store in 1961, wrapped in a sail.",
        "Care": "Do not polish the brass; the dark layer is what is left of the first keeper.",
    },
    "petroleum": {
        "Name": "Petroleum lamp with four wicks",
        "Light": "Two hundred candles, white and steady, visible for eighteen sea miles.",
        "Fuel": "Refined petroleum from casks that were rolled up the rock by six men.",
        "Found": "Bought back in 1988 at an auction of a bankrupt hotel on the mainland.",
        "Care": "Keep it away from the stove; one of the four tanks has a hair crack.",
    },
}
NOTES = {
    "contact": ("Contact", "Write to the paper at the ferry steps, third door."),
    "hours": ("Opening hours", "The office is open when the flag is up."),
    "closed": ("Closed", "The office is closed when the flag is down."),
}
MEMBERS_PAGES = (
    *("archive", "letters", "auctions", "tides", "recipes", "wrecks"),
    *("pilots", "crossword", "births", "weather", "hire", "logbook"),
)
HARBOUR = (
    "The harbour master informs all skippers that the inner basin is {state} for boats of more "
    "than twelve metres until further notice. Dredging goes on along the eastern quay, and the "
    "floating pontoon has been moved to the slip below the ice house. Boats that lie at the "
    "pontoon overnight are asked to keep a lamp on deck. Water can be taken at the hydrant next "
    "to the weigh house between seven and nine in the morning. The crane is out of order; for "
    "loads below half a ton the hand winch may be used after a word with the night watch. Nets "
    "must not be dried on the railing of the bridge. The tide tables for the coming month hang "
    "in the window of the office and cost nothing for those who copy them by hand. Skippers who "
    "come in at night sound one long blast off the beacon and wait for the green lantern on the "
    "pier. Whoever sees a seal on the slip leaves it alone; it was here first. Fish may be landed "
    "at the middle steps only, and boxes have to be gone before the school children pass at "
    "eight. The ice machine gives forty boxes a day, in the order of the slate by its door, and "
    "rubbing out somebody else's name on the slate costs a week without ice. Fuel is sold on "
    "Mondays and Thursdays from the cart, not from the barrel behind it. Sails that are left to "
    "dry on the chapel fence are brought to the lost property shelf, which is the other side of "
    "the chapel fence. Visitors with boats of their own pay four crowns a night at the office, "
    "or, when nobody is there, into the blue tin. The harbour master thanks the crew of the "
    "Margaret for the new bench, and asks whoever took the old one to bring back the cushion. "
    "The next meeting of the harbour board is on the first Friday of the month in the weigh "
    "house, after the scales have been put away; there will be soup."
)


@dataclass(frozen=True)
class Article:
    """One text of the paper."""

    slug: str
    lang: str
    title: str
    tags: list[str]
    paragraphs: list[str]

    @classmethod
    def read(cls, path: Path) -> Article:
        title, tags, text = path.read_text(encoding="utf-8").split("\n", 2)
        slug, lang = path.stem.split(".")
        paragraphs = [p.strip() for p in text.split("\n\n")]
        return cls(f"{slug}-{lang}", lang, title, [t.strip() for t in tags.split(",")], paragraphs)

    def body(self) -> str:
        paragraphs = "".join(f"<p>{html.escape(p)}</p>" for p in self.paragraphs)
        return f"<article><h1>{html.escape(self.title)}</h1>{paragraphs}</article>"


class DemoSite:
    """All pages; a visit counter makes no two answers the same."""

    def __init__(self) -> None:
        self.articles = {a.slug: a for a in map(Article.read, sorted(ARTICLES.iterdir()))}
        self._visits = itertools.count(1)

    def answer(self, target: str) -> str | None:
        """Return the HTML at a request target, None where there is nothing."""
        split = urlsplit(target)
        path, query = unquote(split.path), parse_qs(split.query)
        if path.startswith("/mirror/"):
            path = path.removeprefix("/mirror")
        kind, _, name = path.strip("/").partition("/")
        pages: dict[str, Callable[[], str | None]] = {
            "": lambda: self.home(),
            "article": lambda: self.article(name),
            "print": lambda: self.printed(name),
            "articles": lambda: self.listing(int(query.get("page", ["1"])[0])),
            "tag": lambda: self.tag(name),
            "lamps": lambda: self.lamp(name),
            "members": lambda: self.login(),
            "harbour": lambda: self.harbour(name),
        }
        if kind in NOTES:
            return self.note(kind)
        return pages[kind]() if kind in pages else None

    def home(self) -> str:
        links = [f"/article/{slug}" for slug in self.articles]
        links += ["/harbour/monday", "/harbour/tuesday", "/lamps/petroleum", "/hours", "/closed"]
        return self.page("Front page", "en", "<h1>Today</h1>" + listed(links))

    def article(self, slug: str) -> str | None:
        article = self.articles.get(slug)
        if article is None:
            return None
        links = [f"/print/{slug}", f"/article/{slug}?sid={hash_of(slug)}"]
        links += [f"/tag/{quote(tag)}" for tag in article.tags]
        return self.page(article.title, article.lang, article.body() + listed(links))

    def printed(self, slug: str) -> str | None:
        article = self.articles.get(slug)
        if article is None:
            return None
        return PRINT.substitute(
            lang=article.lang, title=html.escape(article.title), content=article.body()
        )

    def listing(self, number: int) -> str | None:
        slugs = list(self.articles)[(number - 1) * PER_PAGE : number * PER_PAGE]
        if not slugs:
            return None
        links = [f"/article/{slug}" for slug in slugs]
        if number * PER_PAGE < len(self.articles):
            links.append(f"/articles?page={number + 1}")
        return self.page(f"Articles, page {number}", "en", "<h1>Articles</h1>" + listed(links))

    def tag(self, tag: str) -> str:
        links = [f"/article/{a.slug}" for a in self.articles.values() if tag in a.tags]
        return self.page(tag, "en", f"<h1>{html.escape(tag)}</h1>" + listed(links))

    def lamp(self, name: str) -> str | None:
        if name not in LAMPS:
            return None
        rows = "".join(f"<tr><th>{k}</th><td>{v}</td></tr>" for k, v in LAMPS[name].items())
        links = [f"/lamps/{other}" for other in LAMPS if other != name]
        return self.page(name, "en", f"<h1>Lamp room</h1><table>{rows}</table>" + listed(links))

    def login(self) -> str:
        pages = listed(f"/members/{page}" for page in MEMBERS_PAGES)
        form = (
            "<form><p>This part of the paper is for members. Please log in with the number on "
            "your card and the name of your boat.</p><input name=card><input name=boat></form>"
        )
        return self.page("Members", "en", f"<h1>Please log in</h1>{form}{pages}")

    def harbour(self, day: str) -> str:
        state = "free" if day == "monday" else "closed"
        text = f"<article><h1>Harbour notice</h1><p>{HARBOUR.format(state=state)}</p></article>"
        return self.page("Harbour notice", "en", text)

    def note(self, kind: str) -> str:
        title, text = NOTES[kind]
        links = [f"/mirror/article/{slug}" for slug in list(self.articles)[:3]]
        return self.page(title, "en", f"<h1>{title}</h1><p>{text}</p>" + listed(links))

    def page(self, title: str, lang: str, content: str) -> str:
        visit = next(self._visits)
        return PAGE.substitute(
            lang=lang,
            title=html.escape(title),
            content=content,
            visit=visit,
            clock=f"{visit * 7 % 24:02}:{visit * 13 % 60:02}:{visit * 29 % 60:02}",
            ad=ADS[visit % len(ADS)],
        )


def listed(links: Iterator[str] | list[str]) -> str:
    """Return an HTML list of links, with their last part as the label."""
    items = (f'<li><a href="{link}">{unquote(link.rpartition("/")[2])}</a></li>' for link in links)
    return f"<ul>{''.join(items)}</ul>"


def hash_of(slug: str) -> str:
    """Return the session id in the links of a page: always the same, so that a crawl ends."""
    return f"{sum(ord(c) * 31**i for i, c in enumerate(slug)) % 16**8:08x}"


class Answers(Protocol):
    """A site."""

    def answer(self, target: str) -> str | None:
        """Return the HTML at a request target, None where there is nothing."""


@contextmanager
def serve(port: int = 0, site: Answers | None = None) -> Iterator[str]:
    """Serve a site, by default the demo site, from a thread; yields its URL."""
    answers = DemoSite() if site is None else site

    class Handler(BaseHTTPRequestHandler):
        # A connection serves many pages, each of which is sent at once.
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_GET(self) -> None:
            try:
                page = answers.answer(self.path)
            except ValueError:  # ?page=many
                page = None
            body = (page or "<h1>Not found</h1>").encode()
            self.send_response(200 if page else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run(site: Answers) -> None:
    """Serve a site at the port that the command line names."""
    with serve(int(sys.argv[1]) if sys.argv[1:] else 8000, site) as url:
        print(f"serving {url} until Ctrl-C")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    run(DemoSite())
