"""Where an index in Redis is: the address of its server, read from a URL, and its keys there.

::

    simhash:1:{@}:about                  the parameters of the index
    simhash:1:{@}:scopes, :crawls, :running, :named, :templates
    simhash:1:{a.example}:pages          the pages of a scope by id
    simhash:1:{a.example}:buckets        its tables, look-ups by request and text, a counter
    simhash:1:{a.example}:groups         which pages point to which

A key begins with the prefix and the format; then comes the scope.  The part in braces (the hash
tag) decides in which slot of a cluster a key is: so a script finds all keys of one scope in one
slot.  ``@`` is the tag of an index with only one scope.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from scrapy_simhash.errors import SettingsError
from scrapy_simhash.settings import masked

PREFIX = "simhash"
# Buckets and tables are planned for this many pages.
PAGES = 1_000_000
CLIENT_NAME = "scrapy-simhash"
PORT = 6379
SENTINEL_PORT = 26379

FORMAT = 1
# Not the quoted form of any scope.
GLOBAL_TAG = "@"
_ID_BITS = 32

_FORM = (
    "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], rediss:// (TLS), redis+cluster://HOST:PORT,"
    "HOST:PORT or redis+sentinel://HOST:PORT,HOST:PORT/SERVICE[/DATABASE], each with rediss too, "
    "and after a ? any of prefix, pages, client_name, ssl_ca_certs, ssl_certfile and ssl_keyfile"
)
_KINDS = {"": "single", "cluster": "cluster", "sentinel": "sentinel"}
_TLS_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")


@dataclass(frozen=True)
class ServerAddress:
    """The data needed to reach the server, and the *prefix* of all keys there.

    A new index is planned for a number of *pages* in its largest scope.

    *hosts* are (name, port): the server, some nodes of the cluster, or the sentinels, which know
    the server as *service*.  *options* are the arguments of redis-py for the login, the client's
    name and TLS; *shown* is the URL without its password.
    """

    kind: str
    hosts: tuple[tuple[str, int], ...]
    database: int
    service: str
    prefix: str
    pages: int
    options: dict[str, Any] = field(repr=False)
    shown: str

    def __str__(self) -> str:
        return self.shown

    @classmethod
    def from_url(cls, url: str) -> ServerAddress:
        """Return the address in *url*.

        :raises SettingsError: the URL has an unknown form.
        """
        try:
            return cls._from(urlsplit(url), masked(url))
        except ValueError as exc:
            detail = f" ({exc})" if str(exc) else ""
            if "@" in url:  # the error may quote a part of the password
                detail = " (in a user's name and password, write :/?#@ and spaces as %3A and so on)"
            raise SettingsError(
                f"The URL of an index in Redis must be {_FORM}: got {masked(url)!r}{detail}"
            ) from exc

    @classmethod
    def _from(cls, url: SplitResult, shown: str) -> ServerAddress:
        scheme, _, kind = url.scheme.partition("+")
        if scheme not in ("redis", "rediss") or kind not in _KINDS or url.fragment:
            raise ValueError
        path = [unquote(part) for part in url.path.split("/") if part]
        service = path.pop(0) if kind == "sentinel" and path else ""
        database = int(path.pop(0)) if path and kind != "cluster" else 0
        if path or (kind == "sentinel" and not service) or database < 0:
            raise ValueError(f"the path must not be {url.path!r}")
        hosts = _hosts(url.netloc, SENTINEL_PORT if kind == "sentinel" else PORT)
        if not kind and len(hosts) > 1:
            raise ValueError("there must be one host")
        query = dict(parse_qsl(url.query, strict_parsing=True) if url.query else ())
        prefix, pages = query.pop("prefix", PREFIX), int(query.pop("pages", PAGES))
        options: dict[str, Any] = {
            "username": unquote(url.username or "") or None,
            "password": unquote(url.password or "") or None,
            "client_name": query.pop("client_name", CLIENT_NAME),
        }
        if pages < 1:
            raise ValueError("pages must be at least 1")
        if unknown := [name for name in query if name not in _TLS_FILES]:
            raise ValueError(f"{unknown[0]} is not known here")
        if "{" in prefix or "}" in prefix:
            raise ValueError("prefix must be without braces, which choose the shard of a cluster")
        if scheme == "rediss":
            options.update(ssl=True, **query)
        return cls(_KINDS[kind], hosts, database, service, prefix, pages, options, shown)


def _hosts(netloc: str, default_port: int) -> tuple[tuple[str, int], ...]:
    found = []
    for one in netloc.rpartition("@")[2].split(","):
        parts = urlsplit(f"//{one}")
        if not parts.hostname:
            raise ValueError("a host is missing")
        found.append((parts.hostname, parts.port or default_port))
    return tuple(found)


@dataclass
class Scope:
    """The pages that are compared with each other: their keys, and what this process stored last.

    The id of a row is its number in the scope plus *base*, so ids of different scopes differ.
    *last* is the number of the youngest page that the server took from this process, 0 if none.
    *connections* is the number of connections up to the last check that this page is known.
    """

    name: str
    keys: tuple[str, str, str]
    last: int = 0
    connections: int = 0
    base: int = field(init=False)

    def __post_init__(self) -> None:
        digest = blake2b(self.name.encode(), digest_size=8).digest()
        self.base = int.from_bytes(digest, "big") << _ID_BITS if self.name else 0


def base_of(row_id: int) -> int:
    """Return the base of the scope to which the id of a row belongs."""
    return row_id >> _ID_BITS << _ID_BITS


def key_of(prefix: str, part: str, scope: str = "") -> str:
    """Return the key of a part of an index, or of one of its scopes."""
    return f"{prefix}:{FORMAT}:{{{quote(scope, safe='') or GLOBAL_TAG}}}:{part}"
