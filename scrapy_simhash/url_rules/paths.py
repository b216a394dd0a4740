"""What a rule may do to the path of an address, and what two paths differ in.

Each function costs O(length of the path): no regular expression here can backtrack.
"""

from __future__ import annotations

import re
from functools import lru_cache

# Paths that differ in more segments are taken for different pages, not aliases.
MAX_DIFFERENT_SEGMENTS = 2
# A relative link that is followed again and again repeats up to so many folders.
MAX_PERIOD = 3

# The end of a file's name, as in lamp.html: as much as may stand behind a suffix.
_EXTENSION = re.compile(r"\.[A-Za-z]{1,5}\Z")
# What a print or mobile view may add to a name: lamp.print.html, lamp_print.html, lamp/amp.
_SUFFIX = re.compile(r"[._/-][A-Za-z][A-Za-z_-]{1,14}")
_PATH_PARAMETER = re.compile(r";([A-Za-z][A-Za-z0-9_-]{0,29})=[^/;]*")


def replaced(path: str, drop: str, keep: str) -> str | None:
    """Return *path* with the first *drop* replaced by *keep*, or None if *path* has no *drop*.

    A *drop* of ``/`` means the start of the path.  If one side is an index page (``/index.html``),
    both mean the end of the path.
    """
    if not drop.endswith("/") or not keep.endswith("/"):
        return path[: -len(drop)] + keep if path.endswith(drop) else None
    if drop == "/":
        return keep + path[1:]
    before, found, after = path.partition(drop)
    return before + keep + after if found else None


def without_suffix(path: str, suffix: str) -> str | None:
    """Return *path* without a suffix of its name, or None if it has none.

    >>> without_suffix("/a/lamp.print.html", ".print"), without_suffix("/a/lamp/amp", "/amp")
    ('/a/lamp.html', '/a/lamp')
    """
    stem, extension = _split(path)
    for before, after in ((stem, extension), (path, "")):
        shorter = before[: -len(suffix)]
        if before.endswith(suffix) and shorter and not shorter.endswith("/"):
            return shorter + after
    return None


def without_parameter(path: str, name: str) -> str | None:
    """Return *path* without a parameter of its segments, or None if it has none.

    >>> without_parameter("/a/lamp;jsessionid=1f.node7", "jsessionid")
    '/a/lamp'
    """
    if f";{name}=" not in path:
        return None
    return _parameter(name).sub("", path)


@lru_cache(maxsize=1_000)
def _parameter(name: str) -> re.Pattern[str]:
    return re.compile(f";{re.escape(name)}=[^/;]*")


def with_any_segment(path: str, pattern: str) -> str | None:
    """Return *path* with a star for the segment that *pattern* has it for, or None.

    >>> with_any_segment("/s/4711/lamp", "/s/*/")
    '/s/*/lamp'
    """
    start = pattern[: -len("*/")]
    _, slash, after = path[len(start) :].partition("/")
    return f"{pattern}{after}" if slash and path.startswith(start) else None


def without_repeats(path: str) -> str | None:
    """Return *path* with folders that follow themselves taken once, or None if there are none.

    >>> without_repeats("/a/b/a/b/a/b/lamp")
    '/a/b/lamp'
    """
    folders: list[str] = []
    for segment in path.split("/"):
        folders.append(segment)
        for period in range(1, MAX_PERIOD + 1):
            last, before = folders[-period:], folders[-2 * period : -period]
            if last == before and any(last):
                del folders[-period:]
                break
    shorter = "/".join(folders)
    return None if shorter == path else shorter


def replacement(one: str, other: str) -> tuple[str, str]:
    """Return what differs between two paths with the same end, with the slashes around it.

    For example ``/print/`` and ``/article/``, ``/mirror/`` and ``/``, ``/index.html`` and ``/``;
    two empty strings if the paths differ in other ways than by whole segments.
    """
    left, right = one.split("/"), other.split("/")
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    middles = left[start : len(left) - end], right[start : len(right) - end]
    if start == 0 or max(map(len, middles)) > MAX_DIFFERENT_SEGMENTS:
        return "", ""
    if end == 0:
        names = {middle[0] if len(middle) == 1 else None for middle in middles}
        if "" not in names or not any(name and name.startswith("index.") for name in names):
            return "", ""
        return f"/{middles[0][0]}", f"/{middles[1][0]}"
    return _between_slashes(middles[0]), _between_slashes(middles[1])


def suffix_between(one: str, other: str) -> str | None:
    """Return the suffix that only one of two paths has, or None.

    >>> suffix_between("/a/lamp.html", "/a/lamp.print.html")
    '.print'
    """
    short, long = sorted((one, other), key=len)
    for stem, extension in {_split(short), (short, "")}:
        added = long[len(stem) : len(long) - len(extension)]
        if long == stem + added + extension and _SUFFIX.fullmatch(added) and not stem.endswith("/"):
            return added
    return None


def parameter_between(one: str, other: str) -> str | None:
    """Return the path parameter that two paths differ in, or None."""
    names: set[str] = {*_PATH_PARAMETER.findall(one), *_PATH_PARAMETER.findall(other)}
    for name in sorted(names):
        if (without_parameter(one, name) or one) == (without_parameter(other, name) or other):
            return name
    return None


def segment_between(one: str, other: str) -> str | None:
    """Return the pattern of the one segment that two paths differ in, or None.

    >>> segment_between("/s/4711/lamp", "/s/4712/lamp")
    '/s/*/'
    """
    left, right = one.split("/"), other.split("/")
    if len(left) != len(right):
        return None
    differing = [at for at, pair in enumerate(zip(left, right, strict=True)) if pair[0] != pair[1]]
    if len(differing) != 1 or differing[0] == len(left) - 1:
        return None
    return "/".join([*left[: differing[0]], "*", ""])


def _split(path: str) -> tuple[str, str]:
    """Return a path without its extension, and the extension, which may be empty."""
    found = _EXTENSION.search(path[-6:])
    extension = found[0] if found else ""
    return path[: len(path) - len(extension)], extension


def _between_slashes(segments: list[str]) -> str:
    return "/".join(["", *segments, ""])
