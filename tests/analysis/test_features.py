"""The name of a scheme decides which features a text has."""

from __future__ import annotations

from math import log

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash import FeatureScheme
from scrapy_simhash.analysis.features import (
    UNSPACED,
    normalise,
    shingles,
    tokenise,
    unspaced_share,
)
from scrapy_simhash.errors import SettingsError


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Don't panic, 42 times!", ["don", "t", "panic", "42", "times"]),
        ("func_days v2.19", ["func", "days", "v2", "19"]),
        ("中文网页", ["中", "文", "网", "页"]),
        ("漢字かな交じり", ["漢", "字", "か", "な", "交", "じ", "り"]),
        ("Scrapyで抓取pages", ["scrapy", "で", "抓", "取", "pages"]),
        ("한국어 문서", ["한", "국", "어", "문", "서"]),
        ("किताब पढ़ना", ["किताब", "पढ़ना"]),  # vowel signs stay in their words
        ("Ａｂｃ ﬁne Straße", ["abc", "fine", "strasse"]),
        ("e\u0301te\u0301", ["été"]),
        ("", []),
        ("--- !!! ...", []),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokenise(normalise(text)) == [normalise(token) for token in tokens]


@given(st.text())
def test_tokens_hold_every_letter_and_digit_once(text: str) -> None:
    normal = normalise(text)
    kept = "".join(tokenise(normal))
    assert [c for c in kept if c.isalnum()] == [c for c in normal if c in kept and c.isalnum()]


@given(st.text(st.characters() | st.sampled_from("aB1 -\n\r\x85")))
def test_tokens_do_not_depend_on_the_lines_around_them(text: str) -> None:
    with_a_word_that_is_not_ascii = "\n".join(line + " é" for line in text.split("\n"))
    tokens = tokenise(with_a_word_that_is_not_ascii)
    assert [token for token in tokens if token != "é"] == [
        token for token in tokenise(text) if token != "é"
    ]


def test_shingles_shorter_than_their_width_are_one() -> None:
    assert shingles(["a", "b"], 3) == ["a b"]
    assert shingles([], 3) == []


@pytest.mark.parametrize(
    ("name", "features"),
    [
        ("words-1", {"a": 1, "b": 1}),
        ("words-1-binary", {"a": 1, "b": 1}),
        ("words-1-tf", {"a": 3, "b": 1}),
        ("words-1-logtf", {"a": 1 + log(3), "b": 1}),
        ("words-2-tf", {"a b": 1, "b a": 1, "a a": 1}),
        ("words-3", {"a b a": 1, "b a a": 1}),
    ],
)
def test_weights(name: str, features: dict[str, float]) -> None:
    assert FeatureScheme.from_name(name).features("A b, a A") == pytest.approx(features)


def test_idf_weighs_words_and_unlisted_ones_most() -> None:
    scheme = FeatureScheme.from_name("words-1-idf", idf={"The": 0.5, "keeper": 4})
    assert scheme.features("the keeper, the lamp") == {"the": 1.0, "keeper": 4.0, "lamp": 4.0}


def test_stop_words_are_left_out_before_shingles_are_made() -> None:
    scheme = FeatureScheme.from_name("words-2", stop_words=["The", "of"])
    assert scheme.features("the end of the line") == {"end line": 1.0}


def test_identity_says_what_features_depend_on() -> None:
    plain = FeatureScheme.from_name("words-2")
    stopped = FeatureScheme.from_name("words-2", stop_words=["the"])
    other = FeatureScheme.from_name("words-2", stop_words=["of"])
    assert plain.identity == "words-2"
    assert len({plain.identity, stopped.identity, other.identity}) == 3


@pytest.mark.parametrize(
    "name",
    [
        "",
        "words",
        "words-0",
        "words-11",
        "words-3-",
        "words-3-tfidf",
        "words-2-idf",
        "words-03",
        "chars-3",
        "words--tf",
        "jieba-tfidf",
        "jieba-tfidf-0",
        "words-tfidf-5",
        "words-3-tf-tf",
    ],
)
def test_unknown_scheme_is_refused_by_name(name: str) -> None:
    with pytest.raises(SettingsError, match=r"\(SIMHASH_FEATURES\) must be") as refused:
        FeatureScheme.from_name(name)
    assert repr(name) in str(refused.value)


def test_idf_table_without_an_idf_scheme_is_refused() -> None:
    with pytest.raises(SettingsError, match="idf table"):
        FeatureScheme.from_name("words-1-tf", idf={"a": 1.0})
    with pytest.raises(SettingsError, match="idf table"):
        FeatureScheme.from_name("words-1-idf")


@given(st.text(st.characters(codec=None), max_size=50))
def test_any_text_has_features(text: str) -> None:
    for name in ("words-3", "words-1-logtf"):
        scheme = FeatureScheme.from_name(name)
        assert bool(scheme.features(text)) == bool(scheme.tokens(text))


CHINESE = "小明硕士毕业于中国科学院计算所,后在日本京都大学深造。他研究网页去重,网页去重很有用。"


def test_jieba_segments_chinese() -> None:
    pytest.importorskip("jieba")
    features = FeatureScheme.from_name("jieba-1-tf").features(CHINESE)
    assert features["硕士"] == 1
    assert features["网页"] == 2
    assert "。" not in features


@pytest.mark.parametrize("method", ["tfidf", "textrank"])
def test_jieba_keywords_are_weighted(method: str) -> None:
    pytest.importorskip("jieba")
    features = FeatureScheme.from_name(f"jieba-{method}-4").features(CHINESE)
    assert len(features) == 4
    assert "网页" in features
    assert all(weight > 0 for weight in features.values())
    assert "jieba=" in FeatureScheme.from_name(f"jieba-{method}-4").identity


def test_no_character_of_a_script_without_spaces_is_overlooked() -> None:
    single = regex.compile(f"[{UNSPACED}]")
    for start in range(0, 0x110000, 0x1000):
        for character in single.findall("".join(map(chr, range(start, start + 0x1000)))):
            assert unspaced_share(character) == 1


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("latin", 0),
        ("кириллица", 0),
        ("a “quote” – or two", 0),
        ("網頁", 1),
        ("བོད་", 1),
        ("ab한국", 0.5),
    ],
)
def test_share_of_scripts_without_spaces(text: str, share: float) -> None:
    assert unspaced_share(text) == share
