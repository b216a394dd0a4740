"""The address of an index in Redis, read from a URL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from scrapy_simhash.errors import SettingsError
from scrapy_simhash.settings import masked

PREFIX = "simhash"
CLIENT_NAME = "scrapy-simhash"
PORT = 6379
SENTINEL_PORT = 26379

_FORM = (
    "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], rediss:// (TLS), redis+cluster://HOST:PORT,"
    "HOST:PORT or redis+sentinel://HOST:PORT,HOST:PORT/SERVICE[/DATABASE], each with rediss too, "
    "and after a ? any of prefix, client_name, ssl_ca_certs, ssl_certfile and ssl_keyfile"
)
_KINDS = {"": "single", "cluster": "cluster", "sentinel": "sentinel"}
_TLS_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")


@dataclass(frozen=True)
class ServerAddress:
    """The data needed to reach the server, and the *prefix* of all keys there.

    *hosts* are (name, port): the server, some nodes of the cluster, or the sentinels, which know
    the server as *service*.  *tls* are further arguments of redis-py.
    """

    kind: str
    hosts: tuple[tuple[str, int], ...]
    is_tls: bool = False
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    database: int = 0
    service: str = ""
    prefix: str = PREFIX
    client_name: str = CLIENT_NAME
    tls: tuple[tuple[str, str], ...] = ()
    shown: str = ""

    def __str__(self) -> str:
        """Return the URL without its password."""
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
        user, password = _user(url.netloc)
        path = [unquote(part) for part in url.path.split("/") if part]
        service = path.pop(0) if kind == "sentinel" and path else ""
        database = int(path.pop(0)) if path and kind != "cluster" else 0
        if path or (kind == "sentinel" and not service) or database < 0:
            raise ValueError(f"the path must not be {url.path!r}")
        hosts = _hosts(url.netloc, SENTINEL_PORT if kind == "sentinel" else PORT)
        if not kind and len(hosts) > 1:
            raise ValueError("there must be one host")
        options = dict(parse_qsl(url.query, strict_parsing=True) if url.query else ())
        options = {"prefix": PREFIX, "client_name": CLIENT_NAME, **options}
        prefix, client_name = options.pop("prefix"), options.pop("client_name")
        if unknown := [name for name in options if name not in _TLS_FILES]:
            raise ValueError(f"{unknown[0]} is not known here")
        if "{" in prefix or "}" in prefix:
            raise ValueError("prefix must be without braces, which choose the shard of a cluster")
        return cls(
            kind=_KINDS[kind],
            hosts=hosts,
            is_tls=scheme == "rediss",
            user=user,
            password=password,
            database=database,
            service=service,
            prefix=prefix,
            client_name=client_name,
            tls=tuple(options.items()),
            shown=shown,
        )

    def options(self) -> dict[str, Any]:
        """Return the arguments of redis-py for the login, the client's name and TLS."""
        options: dict[str, Any] = {
            "username": self.user,
            "password": self.password,
            "client_name": self.client_name,
        }
        if self.is_tls:
            options.update(ssl=True, **dict(self.tls))
        return options


def _user(netloc: str) -> tuple[str | None, str | None]:
    """Return user and password; a part without a colon is a user, as in other URLs."""
    before, _, _ = netloc.rpartition("@")
    user, _, password = before.partition(":")
    return unquote(user) or None, unquote(password) or None


def _hosts(netloc: str, default_port: int) -> tuple[tuple[str, int], ...]:
    found = []
    for one in netloc.rpartition("@")[2].split(","):
        parts = urlsplit(f"//{one}")
        if not parts.hostname:
            raise ValueError("a host is missing")
        found.append((parts.hostname, parts.port or default_port))
    return tuple(found)
