"""A text's fingerprint is the same, bit for bit, by the compiled pass and by its features."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_simhash import FeatureScheme, fingerprint_text, hash_feature, simhash
from scrapy_simhash.analysis import content, fingerprint
from scrapy_simhash.analysis.blocks import Block
from scrapy_simhash.analysis.events import MARK
from scrapy_simhash.analysis.features import character_classes, normalise, tokenise

needs_compiled = pytest.mark.skipif(fingerprint.compiled is None, reason="not compiled")

# Where tokens begin and end: spaced and unspaced scripts, marks behind both, what folds or
# composes, digits of many scripts, lone surrogates, beyond the basic plane.
TRICKY = "ab Z9.,-_'\x00\n\u00a0\u00df\u0130\ufb01\u0301\u0e01\u0e31\u0915\u094d\u0937漢字かカﾊﾟ한ᄒ\u0663\u200d\ud800\udfff\U0001f600\U00020000\U000e0100"  # noqa: E501
TEXTS = st.text(st.one_of(st.sampled_from(TRICKY), st.characters(codec=None)), max_size=60)


def by_features(text: str, scheme: FeatureScheme) -> tuple[int, list[str]]:
    tokens = scheme.tokens(text)
    return simhash(scheme.features(text, tokens)), tokens


def assert_same(text: str, width: int, weights: str = "") -> None:
    assert fingerprint.compiled is not None
    scheme = FeatureScheme.from_name(f"words-{width}{weights}")
    value, joined, count = fingerprint.compiled.simhash_of_words(
        normalise(text), width, weights == "-tf"
    )
    expected, tokens = by_features(text, scheme)
    assert joined == " ".join(tokens).encode("utf-8", "surrogatepass")
    assert count == len(tokens)
    assert f"{value:064b}" == f"{expected:064b}"


@needs_compiled
@given(TEXTS, st.integers(1, 10), st.sampled_from(["", "-tf"]))
def test_the_compiled_pass_is_that_of_the_features(text: str, width: int, weights: str) -> None:
    assert_same(text, width, weights)


@needs_compiled
@pytest.mark.parametrize(
    ("first", "end"), [(0, 0x10000), pytest.param(0x10000, 0x110000, marks=pytest.mark.long)]
)
def test_every_character_is_cut_the_same(first: int, end: int) -> None:
    for start in range(first, end, 0x1000):
        page = "".join(map(chr, range(start, start + 0x1000)))
        assert_same(page, 1)
        assert_same("x".join(page), 3)


@needs_compiled
def test_every_length_of_a_feature_is_hashed_the_same() -> None:
    for length in range(1, 70):
        assert fingerprint_text("y" * length, FeatureScheme.from_name("words-1")).fingerprint == (
            hash_feature("y" * length)
        )


@needs_compiled
def test_many_repeated_shingles_are_counted_the_same() -> None:
    text = "the same ten words again and again in one text " * 500
    for weights in ("", "-tf"):
        assert_same(text, 3, weights)
        assert_same("字" * 5000, 2, weights)


@pytest.mark.parametrize("name", ["words-3", "words-1-tf", "words-2-logtf"])
def test_without_the_compiled_pass_nothing_changes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme = FeatureScheme.from_name(name)
    texts = ["", "One", "Two two words, 漢字 and ümläute " * 30]
    before = [fingerprint_text(text, scheme) for text in texts]
    monkeypatch.setattr(fingerprint, "compiled", None)
    assert [fingerprint_text(text, scheme) for text in texts] == before


def test_stop_words_are_left_to_the_features() -> None:
    scheme = FeatureScheme.from_name("words-1", stop_words=["the"])
    assert not scheme.counts_words
    assert fingerprint_text("the THE", scheme).tokens == 0
    assert fingerprint_text("the cat", scheme).fingerprint == hash_feature("cat")


def test_digest_is_of_the_words_alone() -> None:
    scheme = FeatureScheme.from_name("words-3")
    same = fingerprint_text("One  two,\nTHREE", scheme).digest
    assert same == fingerprint_text("one two three", scheme).digest
    assert same != fingerprint_text("one two four", scheme).digest
    assert len(same) == 16


def test_classes_are_those_of_the_pattern() -> None:
    """One character is a token exactly where it begins one."""
    for start in range(0, 0x3200, 0x100):
        for offset, found in enumerate(character_classes(start, start + 0x100)):
            assert bool(found & 3) == bool(tokenise(chr(start + offset)))


@needs_compiled
@given(st.lists(TEXTS, max_size=5))
@example([" ".join(map(str, range(3_000))), "1 2 3 4", ""])
@example(["字" * 9 + "典", "a"])
@example([f"a b{MARK} c d e", f"{MARK}", f"字{MARK}" * 9])
def test_shingles_of_content_are_sampled_the_same(texts: list[str]) -> None:
    blocks = [Block(text, number, False, False) for number, text in enumerate(texts)]
    assert content._shingles_of(blocks) == content._reference_shingles(
        blocks, [*map(normalise, texts)]
    )
