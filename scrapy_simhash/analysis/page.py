"""One page from body to :class:`PageAnalysis`: what a worker does, whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter

from scrapy_simhash.analysis.content import Content, content_of, title_of, visible_blocks
from scrapy_simhash.analysis.extraction import (
    DEFAULT_EXTRACTOR,
    extractor_identity,
    load_extractor,
    parse,
    trafilatura_text,
)
from scrapy_simhash.analysis.features import DEFAULT_SCHEME, FeatureScheme
from scrapy_simhash.analysis.text import fingerprint_text
from scrapy_simhash.errors import SimhashError


class AnalysisError(SimhashError):
    """A page could not be analysed: its extractor raised, or returned no string."""


@dataclass(frozen=True, slots=True)
class PageAnalysis:
    """What is kept of a page's text.

    *fingerprint* is the 64-bit simhash of the main text, *digest* 16 bytes that equal texts
    share, *tokens* the number of words (and CJK characters), *seconds* what it took.
    *content* is the second view of the page, None where it has none or it is not asked for.
    *recalled* says that it is the analysis of an earlier page with the same bytes.
    """

    fingerprint: int
    digest: bytes
    tokens: int
    seconds: float
    content: Content | None = None
    recalled: bool = False


@dataclass(frozen=True)
class Analyser:
    """Turns page bodies into analyses; a plain value that can be sent to a worker.

    Make one with :meth:`create`, which checks that it can work.
    """

    extractor: str
    scheme: FeatureScheme
    verify: bool
    identity: str

    @classmethod
    def create(
        cls,
        extractor: str = DEFAULT_EXTRACTOR,
        features: str = DEFAULT_SCHEME,
        stop_words: Iterable[str] = (),
        idf: Mapping[str, float] | None = None,
        verify: bool = True,
    ) -> Analyser:
        """Return the analyser for these settings; *verify* asks for the content, too.

        Its *identity* names all that decides a fingerprint, for the index to keep.

        :raises SettingsError: no such extractor or features.
        """
        scheme = FeatureScheme.from_name(features, stop_words, idf)
        identity = "; ".join(
            [
                "simhash 64 bits, murmurhash3-x64-128",
                "tokens 1: nfkc, casefold",
                f"features {scheme.identity}",
                f"extractor {extractor_identity(extractor)}",
                "content 1" if verify else "unverified",
            ]
        )
        return cls(extractor, scheme, verify, identity)

    @property
    def reads_urls(self) -> bool:
        """Whether the analysis may depend on the URL: a callable of the user's is told it."""
        return self.extractor != DEFAULT_EXTRACTOR

    def load(self) -> None:
        """Import what the analysis needs, so that the first page does not wait for it."""
        parse(b"<p>A page to parse.</p>", "utf-8")
        if self.extractor != DEFAULT_EXTRACTOR:
            load_extractor(self.extractor)

    def analyse(
        self, body: bytes, encoding: str | None, url: str, template: Collection[int] = ()
    ) -> PageAnalysis:
        """Extract the main text and the content of *body*, and fingerprint them.

        *template* holds the ids of the blocks that the site repeats, as far as is known.

        :raises AnalysisError: whatever goes wrong.
        """
        started = perf_counter()
        try:
            return self._analyse(body, encoding, url, template, started)
        except (Exception, SystemExit) as exc:  # a hostile page may raise whatever it likes
            raise AnalysisError(f"{type(exc).__name__}: {exc}") from exc

    def _analyse(
        self, body: bytes, encoding: str | None, url: str, template: Collection[int], started: float
    ) -> PageAnalysis:
        extracts = self.extractor == DEFAULT_EXTRACTOR
        tree = parse(body, encoding) if self.verify or extracts else None
        content = None
        if self.verify and tree is not None:
            content = content_of(visible_blocks(tree), template, title_of(tree))
        if not extracts:
            text = load_extractor(self.extractor)(body, encoding, url)
            if not isinstance(text, str):
                raise TypeError(f"the extractor returned {type(text).__name__}, not str")
        else:
            text = "" if tree is None else trafilatura_text(tree)
        found = fingerprint_text(text, self.scheme)
        return PageAnalysis(
            fingerprint=found.fingerprint,
            digest=found.digest,
            tokens=found.tokens,
            seconds=perf_counter() - started,
            content=content,
        )
