"""A wiki: articles with old versions, differences, print views and talk pages."""

from __future__ import annotations

import random
from functools import cache
from urllib.parse import parse_qs, urlsplit

from reach.pages import Site, marker, page, prose

VERSIONS = 4


def wiki(size: int) -> Site:
    """*size* articles; items are the articles, their versions, differences and talk pages.

    A version changes, adds or removes one of an article's paragraphs, so most of a version is in
    the others.  One that the next has whole is the same item; so copies that arrive again are
    mostly versions that were met before the longer ones.  Every sixth article is a stub under a
    note that all stubs share.  The newest version is the article itself.
    """

    def body(path: str) -> str | None:
        parts = urlsplit(path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        match parts.path.split("/")[1:]:
            case [""]:
                return _index(size)
            case ["wiki", name] if name.isdigit() and int(name) < size:
                return _view(int(name), asked)
            case ["talk", name] if name.isdigit() and int(name) < size:
                return _talk(int(name))
        return None

    return Site(body, tuple(f"/wiki/{i}" for i in range(size)))


def _index(size: int) -> str:
    rows = "".join(f'<li><a href="/wiki/{i}">{_title(i)}</a></li>' for i in range(size))
    return page("All articles", f"<ul>{rows}</ul>")


def _title(i: int) -> str:
    return prose(("entry", i), 2).rstrip(".") + f" {i}"


@cache
def _versions(i: int) -> tuple[tuple[str, ...], ...]:
    """The paragraphs of each version, the newest last."""
    rng = random.Random(f"versions {i}")
    now = [prose(("wiki", i, j), 20 if i % 6 == 5 else 60) for j in range(1 if i % 6 == 5 else 6)]
    made = [tuple(now)]
    for version in range(1, VERSIONS):
        place = rng.randrange(len(now))
        if version % 2:
            now[place] = prose(("wiki", i, place, version), 60)
        else:
            now.append(prose(("wiki", i, "added", version), 60))
        made.append(tuple(now))
    return tuple(made)


def _whole_in(i: int, version: int) -> int:
    """Return the newest version that has all of a version: dropping the older one loses nothing."""
    versions = _versions(i)
    while version + 1 < VERSIONS and set(versions[version]) <= set(versions[version + 1]):
        version += 1
    return version


def _view(i: int, asked: dict[str, str]) -> str | None:
    version = int(asked.get("oldid", VERSIONS - 1))
    if not 0 <= version < VERSIONS:
        return None
    if asked.get("action") == "diff":
        return _difference(i, version)
    paragraphs = "".join(f"<p>{text}</p>" for text in _versions(i)[version])
    stub = f"<p>{prose('stub', 60)}</p>" if i % 6 == 5 else ""
    item = f"{i}/{_whole_in(i, version)}"
    if asked.get("printable") == "yes":
        return (
            f"<!DOCTYPE html><html><head><title>{_title(i)}</title>{marker(item)}</head><body>"
            f"<main><h1>{_title(i)}</h1>{stub}{paragraphs}</main></body></html>"
        )
    rng = random.Random(f"see {i}")
    see = "".join(f'<li><a href="/wiki/{rng.randrange(i + 1)}">See</a></li>' for _ in range(3))
    old = "".join(
        f'<li><a href="/wiki/{i}?oldid={j}">Version {j}</a> '
        f'<a href="/wiki/{i}?oldid={j}&amp;action=diff">changes</a></li>'
        for j in range(VERSIONS)
    )
    tools = (
        f'<ul><li><a href="/wiki/{i}?printable=yes">Print</a></li>'
        f'<li><a href="/talk/{i}">Talk</a></li>{old}</ul>'
    )
    return page(_title(i), stub + paragraphs + f"<ul>{see}</ul>" + tools, item=item)


def _difference(i: int, version: int) -> str | None:
    if version == 0:
        return None
    before, after = _versions(i)[version - 1], _versions(i)[version]
    rows = "".join(f"<tr><td>-</td><td>{text}</td></tr>" for text in before if text not in after)
    rows += "".join(f"<tr><td>+</td><td>{text}</td></tr>" for text in after if text not in before)
    return page(f"Changes of {_title(i)}", f"<table>{rows}</table>", item=f"{i}/{version}/d")


def _talk(i: int) -> str:
    """A talk page: for two articles of three there is none yet."""
    if i % 3:
        return page(f"Talk about {_title(i)}", f"<p>{prose('no talk', 25)}</p>")
    return page(f"Talk about {_title(i)}", f"<p>{prose(('talk', i), 50)}</p>", item=f"talk/{i}")
