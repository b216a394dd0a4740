"""No password of an index in Redis is shown, however it is written."""

from __future__ import annotations

import pytest

from scrapy_simhash.errors import SettingsError
from scrapy_simhash.index.redis.address import ServerAddress
from scrapy_simhash.settings import masked

WRITTEN = [
    "redis://crawler:my secret@cache.example:6379/0",
    "redis://crawler:my?secret@cache.example:6379/0",
    "redis://crawler:my/secret@cache.example:6379/0",
    "redis://crawler:my#secret@cache.example:6379/0",
    "redis://crawler:my@secret@cache.example:6379/0",
    "redis://:my:secret@cache.example",
    "redis://cache.example/0?password=my secret",
    "redis://cache.example/0?password=my/secret&x=1",
]


@pytest.mark.parametrize("url", WRITTEN)
def test_password_is_masked(url: str) -> None:
    shown = masked(f"got {url!r}")
    assert "cache.example" in shown
    assert "***" in shown
    assert "my" not in shown
    assert "secret" not in shown


@pytest.mark.parametrize("url", WRITTEN)
def test_address_and_its_errors_show_no_password(url: str) -> None:
    try:
        shown = str(ServerAddress.from_url(url))
    except SettingsError as exc:
        shown = str(exc)
    assert "secret" not in shown
    assert "'my" not in shown


def test_error_says_how_to_write_a_password() -> None:
    with pytest.raises(SettingsError, match="write :/\\?#@ and spaces as %3A and so on"):
        ServerAddress.from_url(WRITTEN[1])
