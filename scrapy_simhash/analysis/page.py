"""One page from body to :class:`PageAnalysis`: what a worker does, whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter

from scrapy_simhash.analysis.extraction import (
    DEFAULT_EXTRACTOR,
    extractor_identity,
    load_extractor,
)
from scrapy_simhash.analysis.features import DEFAULT_SCHEME, FeatureScheme, text_digest
from scrapy_simhash.analysis.fingerprint import simhash
from scrapy_simhash.errors import SimhashError


class AnalysisError(SimhashError):
    """A page could not be analysed: its extractor raised, or returned no string."""


@dataclass(frozen=True, slots=True)
class PageAnalysis:
    """What is kept of a page's text.

    *fingerprint* is the 64-bit simhash, *digest* 16 bytes that equal texts share,
    *tokens* the number of words (and CJK characters), *seconds* what it took.
    """

    fingerprint: int
    digest: bytes
    tokens: int
    seconds: float


@dataclass(frozen=True)
class Analyser:
    """Turns page bodies into analyses; a plain value that can be sent to a worker.

    Make one with :meth:`create`, which checks that it can work.
    """

    extractor: str
    scheme: FeatureScheme
    identity: str

    @classmethod
    def create(
        cls,
        extractor: str = DEFAULT_EXTRACTOR,
        features: str = DEFAULT_SCHEME,
        stop_words: Iterable[str] = (),
        idf: Mapping[str, float] | None = None,
    ) -> Analyser:
        """Return the analyser for these settings.

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
            ]
        )
        return cls(extractor, scheme, identity)

    def analyse(self, body: bytes, encoding: str | None, url: str) -> PageAnalysis:
        """Extract the main text of *body* and fingerprint it.

        :raises AnalysisError: whatever goes wrong.
        """
        started = perf_counter()
        try:
            text = load_extractor(self.extractor)(body, encoding, url)
            if not isinstance(text, str):
                raise TypeError(f"the extractor returned {type(text).__name__}, not str")
            return self.analyse_text(text, started)
        except (Exception, SystemExit) as exc:  # a hostile page may raise whatever it likes
            raise AnalysisError(f"{type(exc).__name__}: {exc}") from exc

    def analyse_text(self, text: str, started: float | None = None) -> PageAnalysis:
        """Fingerprint a text that is extracted already; *started* is when work on it began."""
        if started is None:
            started = perf_counter()
        tokens = self.scheme.tokens(text)
        fingerprint = simhash(self.scheme.features(text, tokens))
        return PageAnalysis(fingerprint, text_digest(tokens), len(tokens), perf_counter() - started)
