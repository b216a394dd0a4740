"""Made-up pages of archives, and the ten lines of Python that say what a batch must answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scrapy_simhash.analysis.analyser import Analyser
from scrapy_simhash.batch.rule import Seen, match, ranked, seen, signed
from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.settings import TEXT

ANALYSER = Analyser.create(takes=TEXT)
WORDS = [f"w{number}" for number in range(400)]


def html_of(words: Sequence[str], body: str = "") -> bytes:
    """A page whose text are these words, in paragraphs of ten, after the *body* so far."""
    paragraphs = (" ".join(words[at : at + 10]) for at in range(0, len(words), 10))
    body += "".join(f"<p>{text}</p>" for text in paragraphs)
    return f"<html><head><title>A page</title></head><body>{body}</body></html>".encode()


def link_of_chain(number: int, start: int = 0) -> list[str]:
    """A text of 150 words, which is like the next one of its chain and not like those beyond."""
    words = WORDS[start : start + 150]
    for one in range(number):
        words[(7 * one) % 150] = f"new{one}"
        words[(7 * one + 75) % 150] = f"other{one}"
    return words


def row_of(url: str, html: bytes) -> dict[str, Any]:
    """The row of a page of a site that repeats nothing."""
    found = ANALYSER.analyse(html, "utf-8", url)
    return seen(
        {
            "url": url,
            "fingerprint": signed(found.fingerprint),
            "digest": found.digest,
            "tokens": found.tokens,
            "canonical": None,
            "source": found.source,
            "content_fingerprint": None,
            "heading": None,
            "sketch": None,
        },
        frozenset(),
    )


def write_pages(path: Path, pages: Sequence[dict[str, Any]]) -> Path:
    """Write a Parquet file of pages."""
    pq.write_table(pa.Table.from_pylist(list(pages)), path)
    return path


def greedy(rows: Sequence[dict[str, Any]], parameters: Parameters) -> list[int | None]:
    """What each page is a duplicate of, by its number; None if it is kept."""
    pages = [Seen.of(row, frozenset()) for row in rows]
    kept_of: list[int | None] = []
    for number, page in enumerate(pages):
        found = {
            earlier: alike
            for earlier in range(number)
            if kept_of[earlier] is None
            and {*rows[earlier]["keys"]} & {*rows[number]["keys"]}
            and (alike := match(page, pages[earlier], parameters))
        }
        url, canonical = page.page.url, page.page.canonical
        rank = {
            one: (*ranked(url, canonical, pages[one].page.url, alike.share), -one)
            for one, alike in found.items()
        }
        kept_of.append(max(rank, key=rank.__getitem__, default=None))
    return kept_of
