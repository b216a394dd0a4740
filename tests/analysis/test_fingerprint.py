"""The fingerprint is that of the paper, and does not change between versions."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash import (
    FeatureScheme,
    bit_sums,
    hamming_distance,
    hash_feature,
    signature,
    simhash,
)
from scrapy_simhash.analysis.fingerprint import hash_features, majority

MASK = (1 << 64) - 1


def murmur3_x64_128_low(data: bytes) -> int:
    """The first 64 bits of MurmurHash3_x64_128, seed 0, from its public description."""

    def rotated(x: int, by: int) -> int:
        return (x << by | x >> 64 - by) & MASK

    def mixed(x: int) -> int:
        x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & MASK
        x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & MASK
        return x ^ x >> 33

    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    h1 = h2 = 0
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        k1, k2 = struct.unpack_from("<QQ", data, at)
        h1 ^= rotated(k1 * c1 & MASK, 31) * c2 & MASK
        h1 = ((rotated(h1, 27) + h2) * 5 + 0x52DCE729) & MASK
        h2 ^= rotated(k2 * c2 & MASK, 33) * c1 & MASK
        h2 = ((rotated(h2, 31) + h1) * 5 + 0x38495AB5) & MASK
    k1, k2 = struct.unpack("<QQ", data[whole:].ljust(16, b"\0"))
    h2 ^= rotated(k2 * c2 & MASK, 33) * c1 & MASK
    h1 ^= rotated(k1 * c1 & MASK, 31) * c2 & MASK
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = (h1 + h2) & MASK
    h2 = (h2 + h1) & MASK
    return (mixed(h1) + mixed(h2)) & MASK


def naive_simhash(features: dict[str, float]) -> int:
    """The algorithm in the paper's words, one line of code for each step."""
    v = [0.0] * 64
    for feature, weight in features.items():
        hashed = murmur3_x64_128_low(feature.encode("utf-8", "surrogatepass"))
        for i in range(64):
            v[i] += weight if hashed >> i & 1 else -weight
    return sum(1 << i for i in range(64) if v[i] > 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # from the test vectors of github.com/spaolacci/murmur3
        ("", 0x0000000000000000),
        ("hello", 0xCBD8A7B341BD9B02),
        ("hello, world", 0x342FAC623A5EBC8E),
        ("19 Jan 2038 at 3:14:07 AM", 0xB89E5988B737AFFC),
        ("The quick brown fox jumps over the lazy dog.", 0xCD99481F9EE902C9),
    ],
)
def test_hash_is_murmurhash3(text: str, expected: int) -> None:
    assert hash_feature(text) == expected == murmur3_x64_128_low(text.encode())


def test_three_bit_example() -> None:
    hashes = [0b101, 0b011, 0b100, 0b001, 0b110]
    sums = bit_sums(zip(hashes, [1, 2, 0, 3, 0], strict=True), bits=3)
    assert signature(sums) == 0b001


def test_two_bit_example() -> None:
    sums = bit_sums(zip([0b10, 0b01, 0b11], [3, 2, 4], strict=True), bits=2)
    assert signature(sums) == 0b11


def test_eight_bit_example_with_real_weights() -> None:
    sums = bit_sums([(0b01011001, 45.11), (0b11001011, 32.09)], bits=8)
    assert sums == pytest.approx([-13.02, 77.20, -77.20, 13.02, 77.20, -77.20, -13.02, 77.20])
    assert signature(sums) == 0b01011001


def test_distance_examples() -> None:
    assert hamming_distance(0b10101, 0b00110) == 3
    assert hamming_distance(0b00101110, 0b00001111) == 2


def test_zero_sum_gives_zero() -> None:
    assert bit_sums([(0b10, 1.5), (0b01, 1.5)], bits=2) == [0, 0]
    assert signature([0, 0]) == 0
    assert simhash([]) == 0


def test_a_feature_votes_by_its_weight() -> None:
    assert simhash({"heavy": 3, "light": 1, "feather": 1}) == hash_feature("heavy")
    assert simhash(["a", "b", "b"]) == simhash({"b": 2, "a": 1})


@given(st.dictionaries(st.text(max_size=40), st.integers(0, 1000), max_size=30))
def test_simhash_is_the_naive_one(features: dict[str, float]) -> None:
    assert simhash(features) == naive_simhash(features)


@given(st.lists(st.text(max_size=40), max_size=300))
def test_votes_of_equal_weight_are_counted_the_same(features: list[str]) -> None:
    hashes = [hash_feature(feature) for feature in features]
    assert list(hash_features(features)) == hashes
    assert majority(hashes) == signature(bit_sums((value, 1.0) for value in hashes))


@given(st.lists(st.tuples(st.text(max_size=5), st.floats(0, 1e6)), max_size=20), st.randoms())
def test_order_of_features_does_not_matter(
    features: list[tuple[str, float]], random: object
) -> None:
    shuffled = sorted(dict(features).items(), key=lambda pair: hash(pair))
    assert simhash(dict(features)) == simhash(dict(shuffled))


@given(st.integers(0, MASK), st.integers(0, MASK))
def test_hamming_distance_counts_bits(a: int, b: int) -> None:
    assert hamming_distance(a, b) == sum(a >> i & 1 != b >> i & 1 for i in range(64))


ENGLISH = (
    "The old lighthouse keeper climbed the stairs twice a day, once at dusk to light the lamp "
    "and once at dawn to put it out, and wrote the weather into a book that nobody read."
)
CHINESE = "老灯塔看守人每天爬两次楼梯,黄昏点灯,黎明熄灯,并把天气记在一本没有人读的本子里。"


# Computed with naive_simhash() above (its hash is checked against published vectors) from
# shingles of re.findall("[a-z0-9]+|[一-鿿]", text.lower()), without this package's features.
@pytest.mark.parametrize(
    ("scheme", "text", "expected"),
    [
        ("words-1-tf", ENGLISH, 0xF59E7591E8DA340D),
        ("words-3", ENGLISH, 0x6BC68A92615493DD),
        ("words-2-logtf", ENGLISH, 0xF57D47036DBEF745),
        ("words-3", CHINESE, 0xBED307E2F1762A51),
        ("words-1-tf", CHINESE, 0x1007455D303E86BA),
    ],
)
def test_golden_vectors(scheme: str, text: str, expected: int) -> None:
    features = FeatureScheme.from_name(scheme).features(text)
    assert f"{simhash(features):016x}" == f"{expected:016x}"


def test_long_excerpt_is_near_and_another_text_far() -> None:
    whole = "".join(
        f"第{i}章讲述灯塔看守人在第{i}个冬天里记录的天气与海浪的故事。" for i in range(40)
    )
    excerpt = whole[: len(whole) * 97 // 100]
    other = "".join(f"这道菜需要{i}克面粉、{i}个鸡蛋和新鲜牛奶,请慢慢搅拌均匀。" for i in range(40))
    scheme = FeatureScheme.from_name("words-1-tf")

    def fingerprint(text: str) -> int:
        return simhash(scheme.features(text))

    assert hamming_distance(fingerprint(whole), fingerprint(excerpt)) <= 3
    assert hamming_distance(fingerprint(whole), fingerprint(other)) > 10
