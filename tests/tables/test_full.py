"""Tables that have a line for each key leave the key out of their runs, and hold the same."""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from typing import Any

import pytest

from scrapy_simhash.tables import split_design
from tests.tables.engines import CompiledTables

# Above five fingerprints for each key of 16 bits.
COUNT = 65_536 * 5 + 20_000

pytestmark = pytest.mark.skipif(CompiledTables is None, reason="not compiled")


@pytest.fixture(scope="module")
def stored() -> list[int]:
    """Uniform fingerprints, and a few thousand that share the key of one table each.

    The runs of those are too long for the pool.
    """
    rng = random.Random(5)
    found = [rng.getrandbits(64) for _ in range(COUNT)]
    for block in (0, 16, 32, 48):
        key = 0xBEEF << block
        alike = (rng.getrandbits(64) & ~(0xFFFF << block) | key for _ in range(3_000))
        found.extend(alike)
    rng.shuffle(found)
    return found


def grown(stored: list[int]) -> Any:
    tables = CompiledTables(7)
    tables.add_many(array("Q", stored), array("I", range(len(stored))))
    return tables


def built(stored: list[int]) -> Any:
    tables = CompiledTables(7)
    tables.build(array("Q", stored), array("I", range(len(stored))))
    return tables


def assert_holds(tables: Any, stored: list[int], items: Sequence[int]) -> None:
    """The tables have these items, each under its fingerprint, and no other."""
    found, distances = tables.check_many(array("Q", [stored[item] for item in items]))
    assert (list(found), set(distances)) == ([*items], {0})
    assert len(tables) == len(items)


@pytest.mark.parametrize("fill", [grown, built])
def test_full_tables_hold_and_find_everything(fill: Any, stored: list[int]) -> None:
    tables = fill(stored)
    tables._check()
    assert_holds(tables, stored, range(len(stored)))
    rng = random.Random(6)
    for item in rng.sample(range(len(stored)), 2_000):
        for distance in (0, 6, 7):
            flips = sum(1 << bit for bit in rng.sample(range(64), distance))
            found = tables.matches(stored[item] ^ flips)
            assert (distance, item, stored[item]) in found
            assert all((one ^ stored[item] ^ flips).bit_count() == d <= 7 for d, _, one in found)


def test_a_key_in_full_tables_may_have_one_error_and_the_rest_six(stored: list[int]) -> None:
    from scrapy_simhash.tables.compiled import SCANNERS, use_scanner

    tables = grown(stored)
    try:
        for scanner in SCANNERS:
            use_scanner(scanner)
            for item in range(len(stored) - 300, len(stored)):  # the last ones of their runs
                for table in split_design(7).tables:
                    key = [1 << bit for bit in range(64) if table.mask >> bit & 1]
                    rest = [1 << bit for bit in range(64) if not table.mask >> bit & 1]
                    # Two in each other block, so that no other table finds it.
                    near = stored[item] ^ key[item % 16] ^ sum(rest[::8])
                    assert tables.nearest(near) == (7, item, stored[item])
                    assert tables.nearest(near ^ rest[1]) is None
    finally:
        use_scanner(SCANNERS[0])


def test_full_tables_leave_the_key_out() -> None:
    """With all 8 bytes in the runs, these tables would take 40 bytes for each fingerprint."""
    count = 1_000_000
    tables = CompiledTables(7)
    tables.build(array("Q", random.Random(8).randbytes(8 * count)), array("I", range(count)))
    assert tables.nbytes < 38 * count


def test_full_tables_shrink_and_grow_again(stored: list[int]) -> None:
    tables = grown(stored)
    rng = random.Random(7)
    gone = set(rng.sample(range(len(stored)), len(stored) // 2))
    for item in gone:
        tables.remove(stored[item], item)
    tables._check()
    assert_holds(tables, stored, [item for item in range(len(stored)) if item not in gone])
    for item in gone:
        tables.add(stored[item], item)
    tables._check()
    assert_holds(tables, stored, range(len(stored)))
