"""What live sites change at each visit of one page, one function a kind.

A page may also ask for values that change, with or without noise: the server puts a signature and
the time in the place of ``SIGNATURE`` and ``SECONDS``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

Noise = Callable[[str, random.Random, Sequence[str]], str]

SIGNATURE, SECONDS = "@signature@", "@seconds@"

_SOURCE = re.compile(r'(<(?:img|script)\b[^>]*? (?:data-)?src="[^"?]*)(")')
# Leaves have no links of their own, so the crawl of a site with endless session ids ends.
_LEAF = re.compile(r'( href="(?:/[a-z]+)?/leaf/[^"]*)(")')


def signed(html: str, rng: random.Random) -> str:
    """Fill in the signatures and times that a page asks for, of 128 bits and in seconds."""
    html = re.sub(SIGNATURE, lambda _: f"{rng.getrandbits(128):032x}", html)
    return re.sub(SECONDS, lambda _: str(1_790_000_000 + rng.randrange(10**7)), html)


def token(html: str, rng: random.Random, pool: Sequence[str]) -> str:
    """A token in a hidden field of a form."""
    form = (
        '<form action="/newsletter" method="post"><input type="hidden" name="csrf_token" '
        f'value="{_hex(rng)}"><input name="email"><button>Subscribe</button></form>'
    )
    return html.replace("</main>", f"{form}</main>", 1)


def request_id(html: str, rng: random.Random, pool: Sequence[str]) -> str:
    """The id of the request in a meta element, in a script and in an attribute."""
    value = _hex(rng)
    head = (
        f'<meta name="request-id" content="{value}"><script>window.requestId = "{value}";</script>'
    )
    html = html.replace("</head>", f"{head}</head>", 1)
    return html.replace("<main", f'<main data-request-id="{value}"', 1)


def time(html: str, rng: random.Random, pool: Sequence[str]) -> str:
    """The time in JSON, and how long the page took."""
    seconds = rng.randrange(86_400)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    data = f'{{"now": "2026-03-01T{clock}Z", "took": {rng.random():.4f}, "locale": "en"}}'
    script = f'<script type="application/json" id="page-data">{data}</script>'
    return html.replace("</body>", f"{script}</body>", 1)


def buster(html: str, rng: random.Random, pool: Sequence[str]) -> str:
    """A number in the addresses of pictures and scripts, so that no cache answers for them."""
    logo = '<img src="/logo.png" alt=""><script src="/main.js"></script>'
    html = html.replace("<main", f"{logo}<main", 1)
    return _SOURCE.sub(rf"\g<1>?cb={rng.randrange(10**9)}\g<2>", html)


def ad(html: str, rng: random.Random, pool: Sequence[str]) -> str:
    """An advertisement, one of 50, in a sidebar."""
    number = rng.randrange(50)
    box = (
        f'<aside class="sidebar"><div class="ad"><a href="https://ads.example/click/{number}">'
        f'<img src="https://ads.example/picture/{number}.jpg" alt=""></a></div></aside>'
    )
    return html.replace("</main>", f"</main>{box}", 1)


def related(html: str, rng: random.Random, pool: Sequence[str]) -> str:
    """Links to three other pages of the site."""
    links = "".join(
        f'<li><a href="{path}">{path.rpartition("/")[2]}</a></li>'
        for path in rng.sample(pool, min(3, len(pool)))
    )
    box = f'<div class="related"><h4>You may also like</h4><ul>{links}</ul></div>'
    return html.replace("</main>", f"{box}</main>", 1)


def session(html: str, rng: random.Random, pool: Sequence[str]) -> str:
    """A session id in the links to leaves."""
    value = _hex(rng)

    def add(match: re.Match[str]) -> str:
        mark = "&amp;" if "?" in match[1] else "?"
        return f"{match[1]}{mark}session={value}{match[2]}"

    return _LEAF.sub(add, html)


def comment(html: str, rng: random.Random, pool: Sequence[str]) -> str:
    """A comment with a counter."""
    return html.replace("</body>", f"<!-- page {rng.randrange(10**6)} -->\n</body>", 1)


NOISE: dict[str, Noise] = {
    "token": token,
    "request_id": request_id,
    "time": time,
    "buster": buster,
    "ad": ad,
    "related": related,
    "session": session,
    "comment": comment,
}


def _hex(rng: random.Random) -> str:
    return f"{rng.getrandbits(64):016x}"
