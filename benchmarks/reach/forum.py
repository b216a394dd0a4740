"""A forum: boards, threads over several pages, and posts at addresses of their own."""

from __future__ import annotations

import random
from functools import cache
from urllib.parse import parse_qs, urlsplit

from reach.pages import Site, page, prose

THREADS_ON_PAGE = 20
POSTS_ON_PAGE = 10
MEMBERS = 40


def forum(size: int) -> Site:
    """*size* threads; each is an item, as is each further page of one, and each profile.

    Every fourth thread is locked and has one post, many of which are the same few words.  A page
    of a thread has three more addresses: that of each of its posts (``/post/9``), and ``?t=&p=``.
    """

    def body(path: str) -> str | None:
        parts = urlsplit(path)
        asked = {name: int(values[0]) for name, values in parse_qs(parts.query).items()}
        match parts.path.split("/")[1:]:
            case [""]:
                return _board(0, size)
            case ["board"]:
                return _board(asked.get("p", 1) - 1, size)
            case ["thread", number]:
                return _thread(int(number), asked.get("p", 1) - 1, size)
            case ["view"]:
                return _thread(asked["t"], asked.get("p", 1) - 1, size)
            case ["post", number]:
                thread, post = divmod(int(number), 1000)
                return _thread(thread, post // POSTS_ON_PAGE, size)
            case ["member", number] if int(number) < MEMBERS:
                return _member(int(number))
        return None

    return Site(body, tuple(f"/thread/{i}" for i in range(size)))


@cache
def _posts(thread: int) -> int:
    if thread % 4 == 3:
        return 1
    return random.Random(f"thread {thread}").choice((1, 2, 3, 5, 8, 13, 21, 34))


def _member_of(thread: int, post: int) -> int:
    return (thread * 7 + post * 11) % MEMBERS


def _pages(base: str, number: int, count: int) -> str:
    """Links to the pages around page *number* of *count*, which begin at 1 in addresses."""
    near = (i for i in range(max(0, number - 2), min(count, number + 3)) if i != number)
    links = " ".join(f'<a href="{base}p={i + 1}">{i + 1}</a>' for i in near)
    return f'<div class="pagination">Page {number + 1} of {count}: {links}</div>'


def _title(thread: int) -> str:
    return prose(("title", thread), 4).rstrip(".")


def _board(number: int, size: int) -> str | None:
    count = -(-size // THREADS_ON_PAGE)
    if not 0 <= number < count:
        return None
    first = number * THREADS_ON_PAGE
    rows = "".join(
        f'<tr><td><a href="/thread/{i}">{_title(i)}</a></td><td>{_posts(i)}</td>'
        f'<td><a href="/post/{i * 1000 + _posts(i) - 1}">last post</a></td></tr>'
        for i in range(first, min(first + THREADS_ON_PAGE, size))
    )
    intro = f"<p>{prose('board', 60)}</p>"
    return page("Board", f"{intro}<table>{rows}</table>{_pages('/board?', number, count)}")


def _thread(thread: int, number: int, size: int) -> str | None:
    posts = _posts(thread) if 0 <= thread < size else 0
    count = -(-posts // POSTS_ON_PAGE)
    if not 0 <= number < count:
        return None
    first = number * POSTS_ON_PAGE
    shown = "".join(_post(thread, i) for i in range(first, min(first + POSTS_ON_PAGE, posts)))
    other = f'<p><a href="/view?t={thread}&amp;p={number + 1}">Plain view</a></p>'
    locked = "<p>This thread is locked.</p>" if thread % 4 == 3 else ""
    pages = _pages(f"/thread/{thread}?", number, count)
    return page(_title(thread), shown + locked + pages + other, item=f"thread/{thread}/{number}")


def _post(thread: int, post: int) -> str:
    member = _member_of(thread, post)
    if thread % 4 == 3:
        text = prose(("locked", thread % 5), 6)
    else:
        text = prose(("post", thread, post), 20 + (thread * 31 + post * 17) % 100)
    number = thread * 1000 + post
    return (
        f'<article id="p{number}"><p><a href="/member/{member}">{prose(("member", member), 2)}</a> '
        f'<a href="/post/{number}#p{number}">link</a></p><p>{text}</p></article>'
    )


def _member(number: int) -> str:
    """A profile: few words, of which most are the same for all members."""
    name = prose(("member", number), 2)
    data = f"<dl><dt>Posts</dt><dd>{number * 13 % 97}</dd><dt>Since</dt><dd>2019</dd></dl>"
    return page(name, data, item=f"member/{number}")
