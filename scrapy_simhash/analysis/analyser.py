"""One page from body to :class:`PageAnalysis`: the whole work of a worker."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from types import MappingProxyType
from typing import NamedTuple

from lxml.html import HtmlElement

from scrapy_simhash.analysis.blocks import NOTHING
from scrapy_simhash.analysis.content import (
    MAX_CHARACTERS,
    Content,
    Gist,
    content_of,
    gist_of,
    pack_source,
    unpack_source,
)
from scrapy_simhash.analysis.events import LINK_RELATIONS
from scrapy_simhash.analysis.extraction import (
    DEFAULT_EXTRACTOR,
    NAMED,
    READS_BLOCKS,
    ParsedPage,
    extractor_identity,
    load_extractor,
    main_text,
    trafilatura_text,
)
from scrapy_simhash.analysis.features import DEFAULT_SCHEME, FeatureScheme
from scrapy_simhash.analysis.fingerprint import fingerprint_text, majority
from scrapy_simhash.analysis.own_values import NO_STATE, values_under
from scrapy_simhash.analysis.tree import canonical_of, decode, is_deeper, parse, title_of, walk
from scrapy_simhash.analysis.values import Reader, atoms_of, base_of, links_of, read_values
from scrapy_simhash.decision.cuts import NO_CUTS, Cut, Cuts
from scrapy_simhash.decision.differences import Differences, differences
from scrapy_simhash.decision.holdings import NO_VALUES, PageValues
from scrapy_simhash.errors import AnalysisError
from scrapy_simhash.settings import ITEMS, TEXT

# Every "<" counts as a tag.  A page of 147,000 tags (a reference on one page) takes 3 s; for one of
# 340,000 tags, trafilatura took 13 s and 713 MB.
MAX_TAGS = 200_000
# libxml2 leaves out elements nested deeper than 256 levels, and everything after them: two pages
# that differ there would look the same.
MAX_DEPTH = 255

# A target and its parameters, up to the next comma outside of quotes (RFC 8288, section 3).
_LINK = re.compile(r'<([^<>]*)>((?:[^",<]|"[^"]*")*)')
_RELATION = re.compile(r';\s*rel\s*=\s*"?([^";]*)', re.I)
# A header "Refresh": seconds, and where the page leads then.
_REFRESH = re.compile(r"""\s*[\d.]+\s*[;,]\s*(?:url\s*=\s*)?["']?([^"']*)""", re.I)
LEADING_HEADERS = "Link", "Refresh"


def leading_headers(values_of: Callable[[str], Iterable[bytes]]) -> list[bytes]:
    """Return the :data:`LEADING_HEADERS` of a page; *values_of* returns those of a name."""
    return [one for name in LEADING_HEADERS for one in values_of(name)]


class Background(NamedTuple):
    """What is known of the site of a page.

    *template* holds the ids of the blocks and values that it repeats, *cuts* say what changes by
    itself there.
    """

    template: frozenset[int] = frozenset()
    cuts: Cuts = NO_CUTS


NO_BACKGROUND = Background()


@dataclass(frozen=True, slots=True)
class PageAnalysis:
    """The result of analysing one page.

    *fingerprint* is the 64-bit simhash of the main text, *digest* 16 bytes that equal texts
    share, *tokens* the number of words (and CJK characters), *seconds* the time it took.
    *content* is the second view of the page; it is None if the page has none, or if the settings
    do not ask for it.  *canonical* is the address that the page gives as its own, as it is written
    there.  *values* are those of the page (:mod:`scrapy_simhash.analysis.values`): where the spider
    takes texts alone, its links; without verification, none.  *addresses* are what is stored of its
    links, *own_values* of its values, *content_fingerprint* is that by which it is found beside the
    one of its main text.  *in_template* says of each of :attr:`repeatable` whether the template
    holds it that was given.  *source* is what content and values can be computed from again
    (:func:`view_from`), if no template was given.  *gist* are the words and numbers of a page with
    little text; None if there are more.  *recalled* says that this is the analysis of an earlier
    page with the same bytes.
    """

    fingerprint: int
    digest: bytes
    tokens: int
    seconds: float
    content: Content | None = None
    recalled: bool = False
    canonical: str | None = None
    values: PageValues = NO_VALUES
    addresses: bytes | None = None
    own_values: bytes | None = None
    content_fingerprint: int | None = None
    in_template: bytes = b""
    source: bytes | None = None
    gist: Gist | None = None

    @property
    def blocks(self) -> tuple[int, ...]:
        """The ids of the blocks of the page, which its site may repeat."""
        if self.content is None:
            return ()
        return self.content.blocks

    @property
    def repeatable(self) -> tuple[int, ...]:
        """The ids of all on which the analysis depends: blocks and values."""
        return (*self.blocks, *self.values.loose)

    def within(self, template: Collection[int]) -> bytes:
        """Return of each of :attr:`repeatable` whether a template holds it."""
        if not template:
            return bytes(len(self.blocks) + len(self.values.loose))
        return bytes(map(template.__contains__, self.repeatable))

    def with_headers(
        self, headers: Iterable[bytes], url: str, takes: str, cuts: Cuts = NO_CUTS
    ) -> PageAnalysis:
        """Return the analysis of the page at *url* with what its :data:`LEADING_HEADERS` lead to.

        They count as links in its head do; *cuts* say what changes by itself in them.
        """
        wanted = {"next"} if takes == TEXT else LINK_RELATIONS
        written: list[str] = []
        for text in (header.decode("latin-1") for header in headers):
            if refresh := _REFRESH.match(text):
                written.append(refresh[1].strip())
            for target, parameters in _LINK.findall(text):
                relation = _RELATION.search(parameters)
                if relation is not None and not wanted.isdisjoint(relation[1].lower().split()):
                    written.append(target.strip())
        links = Reader(url, url, Cuts(cuts.parameters)).links([(one, 0) for one in written])
        addresses = self.values.addresses.with_links(links.addresses.texts)
        values = replace(self.values, addresses=addresses)
        return replace(self, values=values, addresses=_stored_links(values))


@dataclass(frozen=True)
class Analyser:
    """Turns page bodies into analyses; a plain value that can be sent to a worker.

    Make one with :meth:`create`, which checks the settings.
    """

    extractor: str
    scheme: FeatureScheme
    verify: bool
    takes: str
    identity: str

    @classmethod
    def create(
        cls,
        extractor: str = DEFAULT_EXTRACTOR,
        features: str = DEFAULT_SCHEME,
        stop_words: Iterable[str] = (),
        idf: Mapping[str, float] | None = None,
        verify: bool = True,
        takes: str = ITEMS,
    ) -> Analyser:
        """Return the analyser for these settings; *verify* asks for content and values.

        *takes* says what the spider takes from a page: :data:`ITEMS` or :data:`TEXT`.
        The analyser's *identity* names everything that decides a fingerprint; the index stores it.

        :raises SettingsError: there is no such extractor or feature scheme.
        """
        scheme = FeatureScheme.from_name(features, stop_words, idf)
        identity = "; ".join(
            [
                "simhash 64 bits, murmurhash3-x64-128",
                "tokens 2: nfkc, casefold, hidden ones marked",
                f"features {scheme.identity}",
                f"extractor {extractor_identity(extractor)}",
                f"content 24 for {takes}" if verify else "unverified",
            ]
        )
        return cls(extractor, scheme, verify, takes, identity)

    @property
    def reads_urls(self) -> bool:
        """Whether the analysis may depend on the URL: a callable of the user's receives it."""
        return self.extractor not in NAMED

    def load(self) -> None:
        """Import the modules that the analysis needs, before the first page comes in."""
        page = "<html><body><p>A page to parse.</p></body></html>"
        if self.extractor not in NAMED:
            load_extractor(self.extractor)
            return
        self.analyse(page.encode(), "utf-8", "")
        if self.extractor == "trafilatura":
            trafilatura_text(parse(page))

    def analyse(
        self, body: bytes, encoding: str | None, url: str, background: Background = NO_BACKGROUND
    ) -> PageAnalysis:
        """Extract the main text and the content of *body*, and fingerprint them.

        :raises AnalysisError: the page cannot be analysed; the reason is ``too_many_tags``,
            ``too_deep`` or ``extraction_failed``.
        """
        started = perf_counter()
        try:
            return self._analyse(body, encoding, url, background, started)
        except AnalysisError:
            raise
        except (Exception, SystemExit) as exc:  # a hostile page may cause any exception
            raise AnalysisError("extraction_failed", f"{type(exc).__name__}: {exc}") from exc

    def _analyse(
        self, body: bytes, encoding: str | None, url: str, background: Background, started: float
    ) -> PageAnalysis:
        template, cuts = background
        page = self._parsed(body, encoding, url)
        content, canonical, values = None, None, NO_VALUES
        addresses, stored, source, gist = None, None, None, None
        if page.tree is not None:  # before an extractor changes the tree
            canonical = canonical_of(page.tree)
            if self.verify:
                title = title_of(page.tree)
                content = content_of(page.blocks, template, title)
                base = base_of(page.tree, url)
                state = NO_STATE
                if self.takes == TEXT:
                    values = links_of(page.events, base, cuts)
                else:
                    reader = read_values(page.events, url, base, cuts, canonical)
                    values = reader.values(template)
                    stored = values.pack() if content is not None else None
                    if not template:
                        state = reader.state()
                if not template:
                    source = pack_source(page.blocks, title, state)
                gist = self._gist(page, title, values)
                addresses = _stored_links(values)
        analysis = PageAnalysis(
            *fingerprint_text(main_text(self.extractor, page), self.scheme),
            seconds=0,
            content=content,
            canonical=canonical,
            values=values,
            addresses=addresses,
            own_values=stored,
            content_fingerprint=None if content is None else second_fingerprint(content, values),
            source=source,
            gist=gist,
        )
        in_template = analysis.within(template)
        return replace(analysis, in_template=in_template, seconds=perf_counter() - started)

    def _gist(self, page: ParsedPage, title: str, values: PageValues) -> Gist | None:
        texts = [title, *(block.text for block in page.blocks if not block.is_beside)]
        if sum(map(len, texts)) > MAX_CHARACTERS:
            return None
        return gist_of([*texts, *(one.text for one in values.told.values() if "<" in one.text)])

    def main_text(self, body: bytes, encoding: str | None, url: str) -> str:
        """Return the text that the fingerprint of a page is computed from."""
        return main_text(self.extractor, self._parsed(body, encoding, url))

    def all_told(
        self, body: bytes, encoding: str | None, url: str, cuts: Cuts = NO_CUTS
    ) -> PageValues:
        """Return the values of a page, and what each of them is."""
        page = self._parsed(body, encoding, url, is_walked=True)
        if page.tree is None:
            return NO_VALUES
        base, canonical = base_of(page.tree, url), canonical_of(page.tree)
        reader = read_values(page.events, url, base, cuts, canonical)
        return reader.values((), tell_all=True)

    def compare(
        self,
        first: bytes,
        second: bytes,
        encoding: str | None,
        url: str,
        watched: Mapping[int, Collection[Cut]] = MappingProxyType({}),
    ) -> Differences:
        """Return what differs between two visits to a page, by their bodies, compressed.

        *watched* has changed before in its section.
        """
        if first == second and not watched:  # most visits to a site of files
            return differences({}, {})
        visits = []
        for body in dict.fromkeys((first, second)):
            page = self._parsed(zlib.decompress(body), encoding, url, is_walked=True)
            base = url if page.tree is None else base_of(page.tree, url)
            visits.append(atoms_of(page.events, url, base))
        return differences(visits[0], visits[-1], watched=watched)

    def _parsed(
        self, body: bytes, encoding: str | None, url: str, is_walked: bool = False
    ) -> ParsedPage:
        html = decode(body, encoding)
        tree = self._tree(html)
        is_walked = is_walked or self.verify or self.extractor in READS_BLOCKS
        read = walk(tree) if tree is not None and is_walked else NOTHING
        return ParsedPage(body, encoding, url, html, tree, *read)

    def _tree(self, html: str) -> HtmlElement | None:
        """Return the tree of a page, which must be within the limits."""
        if (tags := html.count("<")) > MAX_TAGS:
            raise AnalysisError("too_many_tags", f"{tags:,} tags are more than {MAX_TAGS:,}")
        tree = parse(html)
        if tree is not None and is_deeper(tree, MAX_DEPTH):
            raise AnalysisError("too_deep", f"nested deeper than {MAX_DEPTH} levels")
        return tree


def _stored_links(values: PageValues) -> bytes | None:
    """Return what is stored of the links and media of a page; None if they are not known."""
    if not values.is_whole:
        return None
    return values.addresses.pack()


def second_fingerprint(content: Content, values: PageValues) -> int:
    """Return the fingerprint by which a page is found beside that of its main text.

    It is that of the page's own values, once it is known what the section repeats: thousands of
    pages may share the rest.
    """
    is_known = values.own and values.repeated
    return majority(values.own) if is_known else content.fingerprint


def view_from(source: bytes, template: Collection[int]) -> tuple[Content, PageValues] | None:
    """Return the content of a page and its values under a template; None if it has no content."""
    blocks, title, state = unpack_source(source)
    content = content_of(blocks, template, title)
    return None if content is None else (content, values_under(state, template))
