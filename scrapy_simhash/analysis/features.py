"""Features of a text: tokens, shingles and their weights, under a named scheme.

The name of a scheme states everything that its features depend on::

    words-3            shingles of 3 words, each counted once (the default)
    words-1-tf         single words, weighted by how often they occur in the text
    words-2-logtf      shingles of 2 words, weighted by 1 + ln(count)
    words-1-idf        single words, count times a given inverse document frequency
    jieba-2            shingles of 2 segments of jieba's Chinese segmentation
    jieba-tfidf-20     the 20 keywords of jieba's TF-IDF, with its weights
    jieba-textrank-20  the 20 keywords of jieba's TextRank, with its weights

In a ``words`` scheme, each character of a script that is written without spaces (and
each Hangul syllable) is one token.
"""

from __future__ import annotations

import hashlib
import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import log
from typing import Any

import regex

from scrapy_simhash.errors import SettingsError
from scrapy_simhash.settings import extra_version

DEFAULT_SCHEME = "words-3"
WEIGHTS = ("binary", "tf", "logtf", "idf")
KEYWORDS = ("tfidf", "textrank")
MAX_WIDTH = 10
MAX_KEYWORDS = 1000

# Scripts that are written without spaces between words, as the inside of a character class of the
# package regex.  Hangul is among them: spaces separate its words, but they carry particles.
UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Bopomofo}"
    r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}"
)
_UNSPACED_RUNS = regex.compile(f"[{UNSPACED}]+")
# This range holds every character of these scripts, and none of Latin, Greek, Cyrillic or Arabic.
# For 620 Cyrillic characters it takes 5 us, and the search by scripts takes 24 us.
_MAY_BE_UNSPACED = re.compile("[\u02ea\u02eb\u0e00-\u1fff\u2e80-\U0003ffff]")

# One character of these scripts (with its combining marks) is one token.
_WORD_CHARACTER = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{UNSPACED}]]"
_SINGLE_CHARACTER = rf"[[\p{{L}}\p{{N}}]&&[{UNSPACED}]]"
_MARK = r"\p{M}"
TOKEN = rf"{_WORD_CHARACTER}++|{_SINGLE_CHARACTER}{_MARK}*+"
_TOKEN = regex.compile(TOKEN, regex.V1)


def normalise(text: str) -> str:
    """Return *text* in Unicode form NFKC, case-folded.

    >>> normalise("Ｓtraße")
    'strasse'
    """
    return unicodedata.normalize("NFKC", text).casefold()


def tokenise(text: str) -> list[str]:
    """Return the words of a normalised text; each CJK character is one word.

    >>> tokenise("scrapy 2.19 抓取 pages")
    ['scrapy', '2', '19', '抓', '取', 'pages']
    """
    return _TOKEN.findall(text)


def unspaced_share(text: str) -> float:
    """Return the share of a text's characters, from 0 to 1, that are in scripts without spaces.

    >>> unspaced_share("scrapy 抓取")
    0.2222222222222222
    """
    if text.isascii() or not _MAY_BE_UNSPACED.search(text):
        return 0.0
    return sum(map(len, _UNSPACED_RUNS.findall(text))) / len(text)


def character_classes(start: int, stop: int) -> list[int]:
    """Return the class of each code point from *start* to *stop* in the pattern of a token.

    A class is the sum of 1 for a character of a word, 2 for a character that is one token, and 4
    for a mark.  The compiled module looks characters up by it.

    >>> character_classes(ord("a"), ord("a") + 1), character_classes(0x0E01, 0x0E02)
    ([1], [2])
    """
    text = "".join(map(chr, range(start, stop)))
    found = [0] * len(text)
    for value, pattern in ((1, _WORD_CHARACTER), (2, _SINGLE_CHARACTER), (4, _MARK)):
        for match in regex.finditer(pattern, text, regex.V1):
            found[match.start()] += value
    return found


def shingles(tokens: list[str], width: int) -> list[str]:
    """Return the runs of *width* tokens, joined by spaces; a shorter text makes one run.

    >>> shingles(["a", "b", "c"], 2)
    ['a b', 'b c']
    >>> shingles(["a"], 2)
    ['a']
    """
    if not tokens:
        return []
    if len(tokens) <= width:
        return [" ".join(tokens)]
    return list(map(" ".join, zip(*(tokens[i:] for i in range(width)), strict=False)))


@dataclass(frozen=True)
class FeatureScheme:
    """How a text becomes weighted features.

    Make one from its name with :meth:`from_name`.  *stop_words* are left out before
    shingles are made; a stop word of more than one token has no effect.  *idf* gives the weight
    of each word in a scheme that ends in ``-idf``; a word that it does not list gets the largest
    weight listed.
    """

    name: str
    tokeniser: str
    width: int = 1
    weights: str = "binary"
    keywords: str = ""
    top: int = 0
    stop_words: frozenset[str] = frozenset()
    idf: Mapping[str, float] = field(default_factory=dict, hash=False)

    @classmethod
    def from_name(
        cls, name: str, stop_words: Iterable[str] = (), idf: Mapping[str, float] | None = None
    ) -> FeatureScheme:
        """Return the scheme called *name*.

        :raises SettingsError: no scheme has this name; an ``idf`` scheme has no table, or
            another scheme has one; the scheme's extra is not installed.
        """
        scheme = cls(
            name=name,
            stop_words=frozenset(map(normalise, stop_words)),
            idf={normalise(word): float(weight) for word, weight in (idf or {}).items()},
            **_parse(name),
        )
        if (scheme.weights == "idf") != bool(scheme.idf):
            raise SettingsError(
                "a feature scheme (SIMHASH_FEATURES) has an idf table exactly when "
                f"its name ends in -idf: got {name!r} with a table of {len(scheme.idf)} words"
            )
        if scheme.tokeniser == "jieba":
            _jieba_version()
        return scheme

    @property
    def identity(self) -> str:
        """The name, and everything else that the features depend on."""
        parts = [self.name]
        if self.tokeniser == "jieba":
            parts.append(f"jieba={_jieba_version()}")
        if self.stop_words:
            parts.append(f"stop={_short_digest(sorted(self.stop_words))}")
        if self.idf:
            parts.append(f"idf={_short_digest(f'{w} {x!r}' for w, x in sorted(self.idf.items()))}")
        return ",".join(parts)

    @property
    def counts_words(self) -> bool:
        """Whether features are runs of all words, and weights are whole numbers."""
        return (
            self.tokeniser == "words" and self.weights in ("binary", "tf") and not self.stop_words
        )

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text as written, stop words included."""
        return tokenise(normalise(text))

    def features(self, text: str, tokens: list[str] | None = None) -> dict[str, float]:
        """Return feature -> weight for *text*; pass its *tokens* if they are known."""
        if self.keywords:
            analyse = _jieba().analyse
            extract = analyse.extract_tags if self.keywords == "tfidf" else analyse.textrank
            found = dict(extract(normalise(text), topK=self.top, withWeight=True))
            return {word: weight for word, weight in found.items() if word not in self.stop_words}
        if self.tokeniser == "jieba":
            tokens = list(filter(_is_word, _jieba().lcut(normalise(text))))
        elif tokens is None:
            tokens = self.tokens(text)
        if self.stop_words:
            tokens = [token for token in tokens if token not in self.stop_words]
        runs = shingles(tokens, self.width)
        if self.weights == "binary":
            return dict.fromkeys(runs, 1.0)
        counts = Counter(runs)
        if self.weights == "tf":
            return {feature: float(count) for feature, count in counts.items()}
        if self.weights == "logtf":
            return {feature: 1.0 + log(count) for feature, count in counts.items()}
        rarest = max(self.idf.values())
        return {word: count * self.idf.get(word, rarest) for word, count in counts.items()}


def _parse(name: str) -> dict[str, Any]:
    """Return the fields of :class:`FeatureScheme` that the name of a scheme states."""
    tokeniser, _, rest = name.partition("-")
    kind, _, last = rest.partition("-")
    if tokeniser == "jieba" and kind in KEYWORDS and _is_count(last, MAX_KEYWORDS):
        return {"tokeniser": tokeniser, "keywords": kind, "top": int(last)}
    weights = last or "binary"
    known = tokeniser in ("words", "jieba") and _is_count(kind, MAX_WIDTH) and weights in WEIGHTS
    if not known or rest.endswith("-") or (weights == "idf" and kind != "1"):
        raise SettingsError(
            f"a feature scheme (SIMHASH_FEATURES) must be words-N or jieba-N, with N from 1 to "
            f"{MAX_WIDTH} and one of {', '.join('-' + w for w in WEIGHTS)} after it, or nothing "
            f"(-idf for N = 1 only), or jieba-tfidf-TOP or jieba-textrank-TOP: got {name!r}"
        )
    return {"tokeniser": tokeniser, "width": int(kind), "weights": weights}


def _is_count(digits: str, most: int) -> bool:
    return digits.isascii() and digits.isdecimal() and digits[0] != "0" and int(digits) <= most


def _short_digest(lines: Iterable[str]) -> str:
    joined = "\n".join(lines).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=6).hexdigest()


@lru_cache(maxsize=1)
def _jieba() -> Any:
    """Return jieba with its dictionary loaded (takes about a second, once in each process)."""
    import jieba
    import jieba.analyse

    jieba.setLogLevel(logging.WARNING)
    jieba.initialize()
    return jieba


_jieba_version = partial(extra_version, "jieba", "a jieba scheme (SIMHASH_FEATURES)")


def _is_word(segment: str) -> bool:
    """Whether a segment of jieba's holds a letter or a digit."""
    return any(unicodedata.category(character)[0] in "LN" for character in segment)
