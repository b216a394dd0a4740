"""What a snapshot holds comes back whole, or not at all."""

from __future__ import annotations

import hashlib
import random
import struct
from array import array
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.errors import IndexFormatError
from scrapy_simhash.tables import PermutedTables
from scrapy_simhash.tables.snapshot import (
    BLOCK,
    VERSION,
    MatchedPair,
    Snapshot,
    save_snapshot,
    stream_matches,
)

FINGERPRINTS = st.integers(0, (1 << 64) - 1)


def fingerprints(count: int, seed: int = 1) -> array[int]:
    rng = random.Random(seed)
    return array("Q", sorted(rng.getrandbits(64) for _ in range(count)))


def saved(path: Path, values: array[int]) -> Path:
    save_snapshot(path, values, array("I", range(len(values))))
    return path


@given(st.lists(st.one_of(FINGERPRINTS, st.integers(0, 40)), max_size=200))
def test_any_block_comes_back(values: list[int]) -> None:
    block = array("Q", sorted(values))
    with TemporaryDirectory() as folder, Snapshot(saved(Path(folder) / "a", block)) as snapshot:
        assert [found for found, _ in snapshot.blocks()] == ([block] if block else [])


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


def test_newer_snapshot_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "a", fingerprints(3))
    whole = path.read_bytes()
    newer = whole[:8] + struct.pack("<I", VERSION + 1) + whole[12:-32]
    path.write_bytes(newer + hashlib.blake2b(newer, digest_size=32).digest())
    with pytest.raises(IndexFormatError, match=f"of version {VERSION + 1}; .* version {VERSION}"):
        Snapshot(path)


@pytest.mark.parametrize(("count", "width"), [(20, 8), (100_000, 7), (1_000_000, 6)])
def test_differences_take_as_many_bytes_as_they_need(
    tmp_path: Path, count: int, width: int
) -> None:
    size = saved(tmp_path / "a", fingerprints(count)).stat().st_size
    assert size < count * (4 + width + 0.05) + 60  # of one block in a hundred, a byte more


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
