"""Subcommands that read stored pages: an HTTP cache that Scrapy wrote, WARC files, a folder."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from tests.archives import packed, record, response
from tests.command_line import INDEX, simhash, simhash_json
from tests.conftest import CrawlFixture, Reply, Site, article, prose

FAST = ("-s", "SIMHASH_WORKERS=0")


@pytest.fixture
def pages(site: Site) -> Site:
    """/, /a and its copy /b, /c; /b comes gzipped; /notes is no HTML, /gone is not there."""
    site["/"] = article(prose("start"), ["/a", "/b", "/c", "/notes", "/gone"])
    site["/a"] = article(prose("the same text"))
    packed = gzip.compress(article(prose("the same text")).encode())
    site["/b"] = Reply(packed, headers={"Content-Encoding": "gzip"})
    site["/c"] = article(prose("another"))
    site["/notes"] = Reply("notes", content_type="text/plain")
    return site


def cached(crawl: CrawlFixture, folder: Path, **settings: Any) -> Path:
    """Crawl with Scrapy's HTTP cache, and return its folder."""
    assert crawl(HTTPCACHE_ENABLED=True, **settings).returncode == 0
    return folder / ".scrapy" / "httpcache" / "links"


@pytest.mark.parametrize("packed", [False, True])
def test_http_cache_is_imported_as_the_crawl_judged_it(
    pages: Site, crawl: CrawlFixture, tmp_path: Path, packed: bool
) -> None:
    cache = cached(crawl, tmp_path, HTTPCACHE_GZIP=packed)
    found = simhash_json(tmp_path, "import", "new.simhash", str(cache), *FAST)
    assert found == {"pages": 4, "unique": 3, "exact_duplicate": 1}
    # The same requests: into the index of the crawl itself, nothing new comes.
    again = simhash_json(tmp_path, "import", str(INDEX), str(cache), *FAST)
    assert again == {"pages": 4, "refresh": 3, "exact_duplicate": 1}


def test_entry_of_the_cache_that_is_broken_is_left_out(
    pages: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    cache = cached(crawl, tmp_path)
    broken = sorted(cache.rglob("meta"))
    broken[0].write_text("__import__('os').abort()")
    broken[1].write_bytes(b"\x1f\x8bno gzip")
    broken[2].unlink()
    found = simhash_json(tmp_path, "import", "new.simhash", str(cache), *FAST)
    assert found["pages"] <= 3


@pytest.mark.parametrize("name", ["pages.warc", "pages.warc.gz"])
def test_warc_is_imported_and_what_of_it_is_not_read_is_said(tmp_path: Path, name: str) -> None:
    text = article(prose("the same text"))
    pages = [archived("a", text), archived("b", text), archived("c", "")]
    parts = [record("", b"software: test\r\n", "warcinfo"), *pages, archived("d", text)]
    parts = packed(parts) if name.endswith(".gz") else parts
    (tmp_path / name).write_bytes(b"".join(parts)[:-20])
    found = simhash_json(tmp_path, "import", "new.simhash", name, *FAST)
    cut = sum(map(len, parts[:-1]))
    unread = {
        "truncated": {"records": 1, "first": [{"file": name, "offset": cut}]},
        "warcinfo": {"records": 1, "first": [{"file": name, "offset": 0}]},
    }
    counts = {"unique": 1, "exact_duplicate": 1, "skipped": 1}
    assert found == {"pages": 3, **counts, "unread": unread}
    said = f"not read (truncated): 1, the first in {name} at {cut:,}"
    assert said in simhash(tmp_path, "import", "again.simhash", name, *FAST).stdout


def test_revisit_is_the_page_before_it_in_its_file(tmp_path: Path) -> None:
    digest = {"WARC-Payload-Digest": "sha1:ABC"}
    revisit = record("http://b.example/", b"", "revisit", headers=digest)
    first = record("http://a.example/", response(article(prose("text"))), headers=digest)
    (tmp_path / "a.warc").write_bytes(revisit + first + revisit)
    found = simhash_json(tmp_path, "import", "new.simhash", "a.warc", *FAST)
    unread = {"revisit_unresolved": {"records": 1, "first": [{"file": "a.warc", "offset": 0}]}}
    assert found == {"pages": 2, "unique": 1, "exact_duplicate": 1, "unread": unread}


def archived(host: str, body: str) -> bytes:
    return record(f"http://{host}.example/", response(body))


def test_folder_is_imported_by_worker_processes(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    (folder / "deep").mkdir(parents=True)
    for i in range(12):
        (folder / "deep" / f"{i:02}.html").write_text(article(prose(f"topic{i % 4}x")))
    found = simhash_json(tmp_path, "import", "new.simhash", "pages", "-s", "SIMHASH_WORKERS=2")
    assert found == {"pages": 12, "unique": 4, "exact_duplicate": 8}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none", None, "a folder with .html files, a .warc or .warc.gz file, or an index"),
        ("empty.warc", "no WARC at all", "cannot be read"),
        ("decisions.jsonl", '{"url": "http://a.example/"}', "must be an HTTP cache of Scrapy"),
    ],
)
def test_source_that_cannot_be_read_is_refused(
    tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    done = simhash(tmp_path, "import", "new.simhash", name)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_an_index_of_other_settings_is_made_of_the_pages(
    pages: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    cache = cached(crawl, tmp_path)
    words = ("-s", "SIMHASH_FEATURES=words-2")
    refused = simhash(tmp_path, "import", str(INDEX), str(cache), *FAST, *words)
    assert refused.returncode == 2
    assert 'or make it anew by "scrapy simhash import"' in " ".join(refused.stderr.split())
    found = simhash_json(tmp_path, "import", "new.simhash", str(cache), *FAST, *words)
    assert found == {"pages": 4, "unique": 3, "exact_duplicate": 1}
    assert "words-2" in simhash_json(tmp_path, "stats", "new.simhash")["scheme"]
