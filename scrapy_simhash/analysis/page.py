"""One page from body to :class:`PageAnalysis`: the whole work of a worker."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING

from scrapy_simhash.analysis.content import (
    Content,
    canonical_of,
    content_of,
    pack_source,
    title_of,
)
from scrapy_simhash.analysis.extraction import (
    ASKS_TRAFILATURA,
    DEFAULT_EXTRACTOR,
    NAMED,
    READS_BLOCKS,
    ParsedPage,
    decode,
    extractor_identity,
    is_deeper,
    load_extractor,
    main_text,
    parse,
    resolved,
    trafilatura_text,
)
from scrapy_simhash.analysis.features import DEFAULT_SCHEME, FeatureScheme
from scrapy_simhash.analysis.gist import MAX_CHARACTERS, Gist, gist_of
from scrapy_simhash.analysis.holdings import NOTHING, Holdings, holdings_of
from scrapy_simhash.analysis.naming import is_callable_of_users, names_in, naming_by
from scrapy_simhash.analysis.text import fingerprint_text
from scrapy_simhash.analysis.walk import walk
from scrapy_simhash.errors import AnalysisError
from scrapy_simhash.rule.holdings import pack_addresses, pack_data
from scrapy_simhash.settings import MAX_DEPTH, MAX_TAGS

if TYPE_CHECKING:
    from lxml.html import HtmlElement


@dataclass(frozen=True, slots=True)
class PageAnalysis:
    """The result of analysing one page.

    *fingerprint* is the 64-bit simhash of the main text, *digest* 16 bytes that equal texts
    share, *tokens* the number of words (and CJK characters), *seconds* the time it took.
    *content* is the second view of the page; it is None if the page has none, or if the settings
    do not ask for it.  *canonical* is the address that the page gives as its own, as it is written
    there.  *holdings* are what it holds beside its text, *addresses* and *data* what is stored of
    them (:mod:`scrapy_simhash.rule.holdings`); these are empty, too, if the settings do not ask for
    verification.  *source* is what the content can be computed from again
    (:func:`~scrapy_simhash.analysis.content.content_from`), if no template was given.  *gist* are
    the words and numbers of a page with little text and data; None if there are more.  *recalled*
    says that this is the analysis of an earlier page with the same bytes.
    """

    fingerprint: int
    digest: bytes
    tokens: int
    seconds: float
    content: Content | None = None
    recalled: bool = False
    canonical: str | None = None
    holdings: Holdings = NOTHING
    addresses: bytes | None = None
    data: bytes | None = None
    source: bytes | None = None
    gist: Gist | None = None

    @property
    def blocks(self) -> tuple[int, ...]:
        """The ids of all that a site may repeat: the blocks of the page, and its values."""
        if self.content is None:
            return ()
        return (*self.content.blocks, *chain.from_iterable(self.holdings.data.values()))


@dataclass(frozen=True)
class Analyser:
    """Turns page bodies into analyses; a plain value that can be sent to a worker.

    Make one with :meth:`create`, which checks the settings.
    """

    extractor: str
    scheme: FeatureScheme
    verify: bool
    max_tags: int
    max_depth: int
    keep_apart: tuple[str, ...]
    identity: str

    @classmethod
    def create(
        cls,
        extractor: str = DEFAULT_EXTRACTOR,
        features: str = DEFAULT_SCHEME,
        stop_words: Iterable[str] = (),
        idf: Mapping[str, float] | None = None,
        verify: bool = True,
        max_tags: int = MAX_TAGS,
        max_depth: int = MAX_DEPTH,
        keep_apart: Iterable[str] = (),
    ) -> Analyser:
        """Return the analyser for these settings; *verify* asks for content and holdings.

        *keep_apart* are rules for what names a page (:mod:`scrapy_simhash.analysis.naming`).
        Pages with more than *max_tags* tags, or nested deeper than *max_depth*, are refused.
        The analyser's *identity* names everything that decides a fingerprint; the index stores it.
        Where resiliparse cannot be imported, *extractor* "auto" is "trafilatura".

        :raises SettingsError: there is no such extractor, feature scheme, or rule for names.
        """
        rules = tuple(sorted(keep_apart))
        for rule in rules:
            naming_by(rule)
        extractor = resolved(extractor)
        scheme = FeatureScheme.from_name(features, stop_words, idf)
        identity = "; ".join(
            [
                "simhash 64 bits, murmurhash3-x64-128",
                "tokens 2: nfkc, casefold, hidden ones marked",
                f"features {scheme.identity}",
                f"extractor {extractor_identity(extractor)}",
                "content 5" if verify else "unverified",
                *(f"keep apart {rule}" for rule in rules),
            ]
        )
        return cls(extractor, scheme, verify, max_tags, max_depth, rules, identity)

    @property
    def reads_urls(self) -> bool:
        """Whether the analysis may depend on the URL: a callable of the user's receives it."""
        return self.extractor not in NAMED or any(map(is_callable_of_users, self.keep_apart))

    def load(self) -> None:
        """Import the modules that the analysis needs, before the first page comes in."""
        page = "<html><body><p>A page to parse.</p></body></html>"
        if self.extractor not in NAMED:
            load_extractor(self.extractor)
            return
        self.analyse(page.encode(), "utf-8", "")
        if self.extractor in ASKS_TRAFILATURA:
            trafilatura_text(parse(page))

    def analyse(
        self, body: bytes, encoding: str | None, url: str, template: Collection[int] = ()
    ) -> PageAnalysis:
        """Extract the main text and the content of *body*, and fingerprint them.

        *template* holds the ids of the blocks and values that the site is known to repeat.

        :raises AnalysisError: the page cannot be analysed; the reason is ``too_many_tags``,
            ``too_deep`` or ``extraction_failed``.
        """
        started = perf_counter()
        try:
            return self._analyse(body, encoding, url, template, started)
        except AnalysisError:
            raise
        except (Exception, SystemExit) as exc:  # a hostile page may cause any exception
            raise AnalysisError("extraction_failed", f"{type(exc).__name__}: {exc}") from exc

    def _analyse(
        self, body: bytes, encoding: str | None, url: str, template: Collection[int], started: float
    ) -> PageAnalysis:
        page = self._parsed(body, encoding, url, self.verify)
        content, canonical, holdings = None, None, NOTHING
        addresses, data, source, gist = None, None, None, None
        if page.tree is not None:  # before an extractor changes the tree
            canonical = canonical_of(page.tree)
            if self.verify:
                title = title_of(page.tree)
                content = content_of(page.blocks, template, title)
                source = None if template else pack_source(page.blocks, title)
                texts = [block.text for block in page.blocks if not block.is_beside]
                is_little = sum(map(len, texts)) <= MAX_CHARACTERS
                told: dict[int, str] | None = {} if texts and is_little else None
                names = names_in(page, self.keep_apart)
                holdings = holdings_of(page.tree, page.blocks, page.findings, url, names, told)
                if told is not None:
                    gist = gist_of((title, *texts, *told.values()))
                values = chain.from_iterable(holdings.data.values())
                data = pack_data(value for value in values if value not in template)
                if holdings.is_whole:
                    addresses = pack_addresses(set(holdings.addresses()))
        found = fingerprint_text(main_text(self.extractor, page), self.scheme)
        return PageAnalysis(
            fingerprint=found.fingerprint,
            digest=found.digest,
            tokens=found.tokens,
            seconds=perf_counter() - started,
            content=content,
            canonical=canonical,
            holdings=holdings,
            addresses=addresses,
            data=data,
            source=source,
            gist=gist,
        )

    def main_text(self, body: bytes, encoding: str | None, url: str) -> str:
        """Return the text that the fingerprint of a page is computed from."""
        return main_text(self.extractor, self._parsed(body, encoding, url, with_findings=False))

    def data_by_hash(self, body: bytes, encoding: str | None, url: str) -> dict[int, str]:
        """Return the data that a page holds, by its hashes: names and value in one text."""
        told: dict[int, str] = {}
        tree = self._tree(decode(body, encoding))
        if tree is not None:
            holdings_of(tree, *walk(tree), url, told=told)
        return told

    def _parsed(
        self, body: bytes, encoding: str | None, url: str, with_findings: bool
    ) -> ParsedPage:
        html = decode(body, encoding)
        tree = self._tree(html)
        wants_blocks = self.verify or self.extractor in READS_BLOCKS
        read = walk(tree, with_findings) if tree is not None and wants_blocks else ([], [])
        return ParsedPage(body, encoding, url, html, tree, *read)

    def _tree(self, html: str) -> HtmlElement | None:
        """Return the tree of a page, which must be within the limits."""
        if (tags := html.count("<")) > self.max_tags:
            raise AnalysisError("too_many_tags", f"{tags:,} tags are more than {self.max_tags:,}")
        tree = parse(html)
        if tree is not None and is_deeper(tree, self.max_depth):
            raise AnalysisError("too_deep", f"nested deeper than {self.max_depth} levels")
        return tree
