"""Which pages are compared with each other: the key of a scope."""

from __future__ import annotations

import pytest

from scrapy_simhash.urls import scope_key


@pytest.mark.parametrize(
    ("scope", "url", "key"),
    [
        ("global", "https://a.example.com/", ""),
        ("spider", "https://a.example.com/", "news"),
        ("host", "https://A.example.com:8080/", "a.example.com"),
        ("site", "https://a.b.example.com/", "example.com"),
        ("site", "https://a.example.co.uk/", "example.co.uk"),
        ("site", "http://127.0.0.1:8000/", "127.0.0.1"),
        ("site", "http://localhost/", "localhost"),
        ("site", "http://[::1]:8000/", "::1"),
        ("host", "data:,x", ""),
    ],
)
def test_scope(scope: str, url: str, key: str) -> None:
    assert scope_key(scope, url, "news") == key
