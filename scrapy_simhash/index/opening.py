"""Opening an index: by its place, as a crawl asks for it, or as it was built, to look into it.

Each kind of index is imported when one is opened: a crawl needs one kind.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.base import Index, absent
from scrapy_simhash.settings import MEMORY, extra_version, is_in_redis, masked


def open_index(place: str, parameters: Parameters | None) -> Index:
    """Return the index at *place*: ``memory:``, the path of a file, or the URL of a Redis server.

    Where there is none, one is made with the *parameters*, if they are given.

    :raises FingerprintIndexError: see :class:`SQLiteIndex` and ``RedisIndex``.
    :raises SettingsError: the URL is wrong, or the package for Redis is not installed.
    """
    if is_in_redis(place):
        extra_version("redis", "an index in Redis")
        from scrapy_simhash.index.redis.index import RedisIndex

        return RedisIndex(place, parameters)
    from scrapy_simhash.index.sqlite.index import SQLiteIndex

    return SQLiteIndex(place, parameters)


def open_lasting(place: str, parameters: Parameters | None = None) -> Index:
    """Return the index at *place*, which outlives this process; see :func:`open_index`.

    Without *parameters*, it is one that is there, as it was built: to be tended, not to judge
    pages with.

    :raises IndexUnavailableError: *place* is in memory.
    """
    if place == MEMORY:
        raise IndexUnavailableError(f"An index must be a file or in Redis here: got {place!r}")
    return open_index(place, parameters)


def observed_place(place: str) -> str:
    """Return the place of the pages of crawls that only observe, beside an index."""
    if place == MEMORY:
        return place
    if not is_in_redis(place):
        path = Path(place)
        return str(path.with_name(f"{path.stem}.observed{path.suffix}"))
    from scrapy_simhash.index.redis.address import PREFIX

    url = urlsplit(place)
    options = dict(parse_qsl(url.query))
    options["prefix"] = f"{options.get('prefix', PREFIX)}-observed"
    return url._replace(query=urlencode(options)).geturl()


def is_index(place: str) -> bool:
    """Whether a place is one of an index, or the file there is one."""
    if is_in_redis(place):
        return True
    if not Path(place).is_file():
        return False
    from scrapy_simhash.index.sqlite.schema import is_index_file

    return is_index_file(Path(place))


def file_of(place: str, doing: str) -> Path:
    """Return the path of an index that is a file, as *doing* needs it.

    :raises IndexUnavailableError: it is none, or it is not there.
    """
    if is_in_redis(place):
        raise IndexUnavailableError(
            f"{doing} needs an index that is a file: got {masked(place)}. Make one of it by "
            f'"scrapy simhash import".'
        )
    if not Path(place).exists():
        raise absent(masked(place))
    return Path(place)
