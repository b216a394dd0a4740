"""Pages that no crawl deserves: each costs a bounded time, and no other page anything."""

from __future__ import annotations

import gzip
import time
from dataclasses import replace
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.analysis.analyser import Analyser
from scrapy_simhash.analysis.extraction import NAMED
from scrapy_simhash.errors import AnalysisError
from tests.conftest import CrawlFixture, Reply, Site, article, needs_resiliparse, prose

MEGABYTE = 1_000_000
# What a crawl may have in memory: so many pages at once, of so many bytes.
AT_ONCE = 4
LARGEST = 60 * MEGABYTE
PAGE_TIMEOUT = 2.0
GOOD = 20


def html(inner: bytes) -> Reply:
    return Reply(b"<html><body>" + inner + b"</body></html>", content_type="text/html")


def repeated(pattern: str, times: int) -> Reply:
    return html("".join(pattern.format(i) for i in range(times)).encode())


def gzipped(body: bytes) -> Reply:
    return Reply(gzip.compress(body, compresslevel=1), headers={"Content-Encoding": "gzip"})


def entity_bomb() -> bytes:
    declared = "".join(
        f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "lol" * 10}">' for i in range(10)
    )
    return f"<!DOCTYPE html [{declared}]><html><body><p>&e9;</p></body></html>".encode()


TEXT = prose("hostile", 200)
JAPANESE = "".join(f"灯台守は{i}段の階段を毎晩のぼった。" for i in range(40))

# Scrapy itself gets into trouble over these, and they reach no spider with or without a plug-in.
REFUSED = "refused by Scrapy"

# Judged within the time limit on a fast machine.
SLOW = "judged, no_text or timed_out"

# What may become of each page, by reason; in "judged" any verdict is right, empty: anything.
HOSTILE: dict[str, tuple[Reply, str]] = {
    "nested-100k": (html(b"<div>" * 100_000 + TEXT.encode()), "too_deep"),
    "nested-inline-100k": (html(b"<b><i>x" * 50_000), "too_deep"),
    "nested-tables": (html(b"<table><tr><td>" * 10_000), "too_deep"),
    "50-mb": (html(b"<p>word word</p>\n" * 3_000_000), "too_large"),
    "a-million-links": (repeated('<a href="{}">x</a>', 1_000_000), "too_large"),
    "links-of-5-mb": (repeated('<a href="/{0}">l {0}</a> ', 170_000), "too_many_tags"),
    "100k-rows": (repeated("<tr><td>cell {}<td>x", 100_000), "too_many_tags"),
    "50k-rows": (repeated("<tr><td>cell {}<td>x", 50_000), SLOW),
    "unclosed": (repeated("<p>item {}<li>item<dd>item", 50_000), "too_deep"),
    # trafilatura and resiliparse may fail; what is in place is text
    "open-formatting": (
        repeated("<p><b data-n={}>word", 4_000),
        "judged, too_deep or extraction_failed",
    ),
    "long-word-in-a-script": (
        html(TEXT.encode() + b"<script>" + b"a1b2" * 50_000 + b"</script>"),
        "judged",
    ),
    "entity-bomb": (Reply(entity_bomb(), content_type="text/html"), "judged or no_text"),
    "entities": (html(b"<p>" + b"&lt;&amp;&nbsp;&#x110000;" * 100_000), SLOW),
    "attribute-of-10-mb": (html(b'<p class="' + b"x " * 5_000_000 + b'">text'), "too_large"),
    "attribute-of-4-mb": (html(b'<p class="' + b"x " * 2_000_000 + b'">text'), SLOW),
    "100k-attributes": (
        html(b"<p " + b" ".join(b"a%d=1" % i for i in range(100_000)) + b">text"),
        "timed_out",
    ),
    "nuls": (html(b"\x00" * MEGABYTE + TEXT.encode() + b"\x00" * 1000), SLOW),
    "nuls-within": (html("\x00".join(TEXT).encode()), "judged"),
    "less-than": (html(b"<" * 150_000), SLOW),
    "open-quote": (html(b'<a href="' * 50_000), SLOW),
    "open-comment": (html(b"<!--" + b"-" * MEGABYTE), "no_text"),
    "one-long-word": (html(b"<p>" + b"w" * 4 * MEGABYTE), SLOW),
    "many-words": (html(b"<p>" + b"w " * 2 * MEGABYTE), SLOW),
    "lone-surrogates": (
        html("".join(["<p>\ud800 &#xd800; word"] * 100).encode("utf-8", "surrogatepass")),
        "judged",
    ),
    "wrong-encoding": (Reply(article(JAPANESE).encode("euc-jp")), "judged"),
    "no-encoding": (Reply(article(JAPANESE).encode("shift_jis"), content_type="text/html"), ""),
    "unknown-encoding": (Reply(article(TEXT), content_type="text/html; charset=x-none"), "judged"),
    "codec-of-python": (Reply(article(TEXT), content_type="text/html; charset=idna"), REFUSED),
    "xml": (Reply(b"<?xml version='1.0'?><r><a>" + TEXT.encode() + b"</a></r>"), "not_html"),
    "json": (Reply(b'{"a": "' + TEXT.encode() + b'"}'), "not_html"),
    "png": (Reply(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 100), "not_html"),
    "bad-base": (html(b'<base href="http://[::1"><p>' + TEXT.encode()), REFUSED),
    "odd-base": (html(b'<base href="javascript:void(0)"><p>' + TEXT.encode()), "judged"),
    "bad-refresh": (
        html(b'<meta http-equiv="refresh" content="9999; url=http://[::1"><p>' + TEXT.encode()),
        REFUSED,
    ),
    "odd-refresh": (
        html(b'<meta http-equiv="refresh" content="x;;url=javascript:"><p>' + TEXT.encode()),
        "judged",
    ),
    "gzip-bomb": (gzipped(b"\x00" * 100 * MEGABYTE), REFUSED),
    "gzip-of-30-mb": (gzipped(b"<p>a</p>" * 3_750_000), "too_large"),
}


# Decided before an extractor sees the page, whichever it is; met by one crawl.
BEFORE_EXTRACTION = {REFUSED, "too_large", "not_html"}


@pytest.mark.parametrize(
    "extractor",
    [
        "text",
        "auto",
        pytest.param("trafilatura", marks=pytest.mark.long),
        pytest.param("resiliparse", marks=[needs_resiliparse, pytest.mark.long]),
    ],
)
def test_hostile_pages_cost_no_other_page(site: Site, crawl: CrawlFixture, extractor: str) -> None:
    good = {f"/good{i}": article(prose(f"good{i}")) for i in range(GOOD)}
    for path, page in good.items():
        site[path] = page
    hostile = {
        name: (reply, expected)
        for name, (reply, expected) in HOSTILE.items()
        if extractor == "text" or expected not in BEFORE_EXTRACTION
    }
    for name, (reply, _) in hostile.items():
        site[f"/{name}"] = reply
    paths = [f"/{name}" for name in hostile]
    site["/"] = article(prose("start"), [*paths[:16], *good, *paths[16:]])
    started = time.monotonic()
    result = crawl(
        "Hostile",
        SIMHASH_ACTION="observe",
        SIMHASH_EXTRACTOR=extractor,
        SIMHASH_WORKERS=2,
        SIMHASH_PAGE_TIMEOUT=PAGE_TIMEOUT,
        CONCURRENT_REQUESTS=AT_ONCE,
        DOWNLOAD_MAXSIZE=LARGEST,
        DOWNLOAD_WARNSIZE=0,
    )
    seconds = time.monotonic() - started
    assert result.returncode == 0, result.log
    refused = {f"/{name}" for name, (_, expected) in hostile.items() if expected == REFUSED}
    assert result.seen() == {"/", *good, *paths} - refused
    reasons = {
        d["url"].rpartition("/")[2]: d["reason"] if d["verdict"] == "skipped" else "judged"
        for d in result.decisions
    }
    assert {path: reasons[path[1:]] for path in good} == dict.fromkeys(good, "judged")
    unexpected = {
        name: (reasons[name], expected)
        for name, (_, expected) in hostile.items()
        if expected != REFUSED and reasons[name] not in (expected or reasons[name])
    }
    assert not unexpected
    assert result.stats["test/growth_mb"] <= AT_ONCE * LARGEST / MEGABYTE
    hung = sum(reason == "timed_out" for reason in reasons.values())
    assert seconds < 60 + hung * (PAGE_TIMEOUT + 1)


def pages() -> st.SearchStrategy[bytes]:
    """Bytes that look a little like HTML."""
    tags = ["html", "body", "div", "p", "a", "table", "tr", "td", "ul", "li", "title", "noscript"]
    tags += ["script", "style", "svg", "math", "template", "select", "main", "nav", "b", "base"]
    pieces = st.one_of(
        st.sampled_from([f"<{tag}>" for tag in tags] + [f"</{tag}>" for tag in tags]),
        st.sampled_from(["<", "<!--", "-->", "<![CDATA[", "]]>", "<!DOCTYPE", "<?xml ?>", "&#0;"]),
        st.sampled_from(['<a href="', "'", '"', ">", "&amp", "&#xd800;", "\x00", prose("word")]),
        st.text(max_size=20),
    )
    text = st.lists(pieces, max_size=60).map("".join)
    encodings = st.sampled_from(["utf-8", "utf-16", "latin-1", "shift_jis"])
    return st.one_of(
        st.builds(
            lambda t, e: t.encode(e, "surrogatepass" if "utf" in e else "ignore"), text, encodings
        ),
        st.binary(max_size=200),
    )


ENCODINGS = [None, "utf-8", "utf-16", "utf-16-le", "utf-32", "latin-1", "shift_jis", "idna", "hex"]
ANALYSERS = [
    Analyser.create(extractor=name, verify=verify)
    for name in NAMED
    if name != "resiliparse" or find_spec("resiliparse") is not None
    for verify in (True, False)
]


@given(pages(), st.sampled_from(ENCODINGS), st.sampled_from(ANALYSERS))
def test_any_bytes_are_analysed_or_refused(
    body: bytes, encoding: str | None, analyser: Analyser
) -> None:
    first, second = (what_comes_of(body, encoding, analyser) for _ in range(2))
    assert first == second


def what_comes_of(body: bytes, encoding: str | None, analyser: Analyser) -> object:
    try:
        analysis = analyser.analyse(body, encoding, "http://site.example/")
    except AnalysisError as exc:
        return exc.reason
    assert 0 <= analysis.fingerprint < 1 << 64
    return replace(analysis, seconds=0.0)
