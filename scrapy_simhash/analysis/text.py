"""The fingerprint of a text, by the compiled module if it is built and supports the scheme."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from scrapy_simhash.analysis.engine import compiled
from scrapy_simhash.analysis.features import FeatureScheme, normalise
from scrapy_simhash.analysis.fingerprint import simhash


class TextFingerprint(NamedTuple):
    """The fingerprint of a text, and what else is stored of it.

    *fingerprint* is its 64-bit simhash, *digest* 16 bytes that equal texts share (BLAKE2b of
    the tokens, joined by spaces), *tokens* the number of tokens.
    """

    fingerprint: int
    digest: bytes
    tokens: int


def fingerprint_text(text: str, scheme: FeatureScheme) -> TextFingerprint:
    """Return the fingerprint of a text as written, under *scheme*.

    A text without features (empty, or only stop words) gets fingerprint 0 and 0 tokens.  Such
    texts have nothing else in common.  Cost: O(characters).

    >>> fingerprint_text("The same text", FeatureScheme.from_name("words-2")).tokens
    3
    """
    if compiled is not None and scheme.counts_words:
        value, joined, tokens = compiled.simhash_of_words(
            normalise(text), scheme.width, scheme.weights == "tf"
        )
        return TextFingerprint(value, _digest(joined), tokens)
    words = scheme.tokens(text)
    features = scheme.features(text, words)
    joined = " ".join(words).encode("utf-8", "surrogatepass")
    return TextFingerprint(simhash(features), _digest(joined), len(words) if features else 0)


def _digest(joined: bytes) -> bytes:
    return hashlib.blake2b(joined, digest_size=16).digest()
