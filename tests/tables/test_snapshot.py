"""What a snapshot holds comes back whole, or not at all."""

from __future__ import annotations

import hashlib
import json
import random
import struct
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.errors import IndexFormatError
from scrapy_simhash.tables import PermutedTables
from scrapy_simhash.tables.batch import snapshot as codec
from scrapy_simhash.tables.batch.snapshot import (
    BLOCK,
    MatchedPair,
    Snapshot,
    decode_block_in_python,
    encode_block_in_python,
    rice_parameter,
    save_snapshot,
    stream_matches,
)

FINGERPRINTS = st.integers(0, (1 << 64) - 1)
CODECS = [
    (encode_block_in_python, decode_block_in_python),
    (codec.encode_block, codec.decode_block),  # compiled, where there was a compiler
]


def fingerprints(count: int, seed: int = 1) -> array[int]:
    rng = random.Random(seed)
    return array("Q", sorted(rng.getrandbits(64) for _ in range(count)))


def saved(path: Path, values: array[int]) -> Path:
    save_snapshot(path, values, array("I", range(len(values))))
    return path


@given(st.lists(st.one_of(FINGERPRINTS, st.integers(0, 40)), min_size=1, max_size=200))
def test_blocks_are_coded_and_decoded(values: list[int]) -> None:
    block = array("Q", sorted(values))
    r = rice_parameter(block)
    encoded = {encode(block, r) for encode, _ in CODECS}
    assert len(encoded) == 1
    (data,) = encoded
    for _, decode in CODECS:
        assert decode(data, block[0], len(block), r) == block


@pytest.mark.parametrize(("encode", "decode"), CODECS)
def test_block_that_ends_early_is_refused(encode: object, decode: object) -> None:
    assert callable(encode)
    assert callable(decode)
    block = fingerprints(100)
    r = rice_parameter(block)
    data = encode(block, r)
    for end in (0, 1, len(data) // 2, len(data) - 1):
        with pytest.raises(ValueError, match="ends early"):
            decode(data[:end], block[0], len(block), r)


@pytest.mark.parametrize(("encode", "decode"), CODECS)
def test_block_that_leaves_64_bits_is_refused(encode: object, decode: object) -> None:
    assert callable(encode)
    assert callable(decode)
    block = array("Q", [0, 1 << 60, 1 << 61])
    r = rice_parameter(block)
    with pytest.raises(ValueError, match="64 bits"):
        decode(encode(block, r), (1 << 64) - 1, len(block), r)


@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 5000])
def test_everything_comes_back(tmp_path: Path, count: int) -> None:
    values = fingerprints(count)
    with Snapshot(saved(tmp_path / "a", values)) as snapshot:
        assert len(snapshot) == count
        found, items = array("Q"), array("I")
        for block, block_items in snapshot.blocks():
            found += block
            items += block_items
        assert (found, items) == (values, array("I", range(count)))


def test_header_of_an_earlier_release_is_read(tmp_path: Path) -> None:
    values = fingerprints(3)
    path = saved(tmp_path / "a", values)
    whole = path.read_bytes()
    (length,) = struct.unpack_from("<I", whole, 8)
    header = json.loads(whole[12 : 12 + length]) | {"scheme": "words", "change": 7}
    longer = json.dumps(header).encode()
    altered = whole[:8] + struct.pack("<I", len(longer)) + longer + whole[12 + length : -32]
    path.write_bytes(altered + hashlib.blake2b(altered, digest_size=32).digest())
    with Snapshot(path) as snapshot:
        assert next(snapshot.blocks())[0] == values


def test_five_and_a_half_bytes_hold_a_fingerprint(tmp_path: Path) -> None:
    values = fingerprints(100_000)
    size = saved(tmp_path / "a", values).stat().st_size
    # log2(2**64 / 100000) + 1.5 bits, 4 bytes for the item, the directory
    assert size / len(values) < 4 + (64 - 16.6 + 1.6) / 8 + 0.05


def test_truncated_snapshot_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "a", fingerprints(3000))
    whole = path.read_bytes()
    for end in (0, 1, 8, 20, 40, 1000, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(IndexFormatError, match=r"no snapshot|truncated"):
            Snapshot(path)
        assert path.read_bytes() == whole[:end]


def test_altered_snapshot_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "a", fingerprints(3000))
    whole = path.read_bytes()
    rng = random.Random(3)
    for at in [0, 9, 30, len(whole) - 1, *rng.sample(range(len(whole)), 40)]:
        altered = bytearray(whole)
        altered[at] ^= 1 << rng.randrange(8)
        path.write_bytes(altered)
        with pytest.raises(IndexFormatError, match=r"no snapshot|truncated or was altered"):
            Snapshot(path)


def test_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "a", fingerprints(10))
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        saved(path, fingerprints(20))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_streamed_matches_are_those_of_a_linear_scan(tmp_path: Path) -> None:
    rng = random.Random(5)
    stored = fingerprints(4000)
    values = [value ^ (1 << rng.randrange(64)) for value in rng.sample(list(stored), 50)]
    values += [*fingerprints(50, seed=6), *values[:5]]
    queries = PermutedTables(3)
    queries.add_many(array("Q", values), array("I", range(len(values))))
    with Snapshot(saved(tmp_path / "a", stored)) as snapshot:
        found = [pair for pairs in stream_matches(queries, snapshot.blocks()) for pair in pairs]
    assert sorted(found) == sorted(
        MatchedPair(query, item, (value ^ other).bit_count())
        for query, value in enumerate(values)
        for item, other in enumerate(stored)
        if (value ^ other).bit_count() <= 3
    )
