"""Sorted fingerprints in fewer bytes: Rice codes of their differences, block by block.

The differences of a sorted table are stored instead of its fingerprints, as section 3.2 of Manku,
Jain and Das Sarma proposes.  Each difference is a Rice code (Rice and Plaunt, "Adaptive
Variable-Length Coding for Efficient Compression of Spacecraft Television Data", IEEE Transactions
on Communications 19(6), 1971), whose parameter r suits the mean difference of the block::

    difference   quotient by 2**r in unary | remainder in r bits
    20, r = 3    001                       | 100

Bits fill bytes from the highest; the first fingerprint of a block is stored elsewhere.  A block of
n evenly spread fingerprints takes about log2(2**64 / n) + 1.5 bits for each, at most 0.1 bit more
than the least that is possible.

The functions here are the reference.  The compiled ones give the same results, and are used where
they are built.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

MASK = (1 << 64) - 1


def rice_parameter(fingerprints: Sequence[int]) -> int:
    """Return r for a sorted block: the bits of its mean difference, less 1; at least 0."""
    if len(fingerprints) < 2:
        return 0
    mean = (fingerprints[-1] - fingerprints[0]) // (len(fingerprints) - 1)
    return max(0, mean.bit_length() - 1)


def encode_block_in_python(fingerprints: Sequence[int], r: int) -> bytes:
    """Return the differences of a sorted block in Rice codes of parameter *r*."""
    codes = []
    for i in range(1, len(fingerprints)):
        quotient, remainder = divmod(fingerprints[i] - fingerprints[i - 1], 1 << r)
        codes.append("0" * quotient + "1" + (format(remainder, f"0{r}b") if r else ""))
    bits = "".join(codes)
    size = (len(bits) + 7) // 8
    return int(bits.ljust(8 * size, "0") or "0", 2).to_bytes(size, "big")


def decode_block_in_python(data: bytes, first: int, count: int, r: int) -> array[int]:
    """Return the *count* fingerprints of a block that begins with *first*.

    :raises ValueError: the data ends before the block, or leaves 64 bits.
    """
    bits = format(int.from_bytes(data, "big"), f"0{8 * len(data)}b") if data else ""
    fingerprints = array("Q", [first])
    at, value = 0, first
    for _ in range(count - 1):
        one = bits.find("1", at)
        end = one + 1 + r
        if one < 0 or end > len(bits):
            raise ValueError("a block of fingerprints ends early")
        value += (one - at << r) + (int(bits[one + 1 : end], 2) if r else 0)
        if value > MASK:
            raise ValueError("a block of fingerprints leaves 64 bits")
        fingerprints.append(value)
        at = end
    return fingerprints


if TYPE_CHECKING:
    encode_block, decode_block = encode_block_in_python, decode_block_in_python
else:
    try:
        from scrapy_simhash.tables.batch.compiled_codec import decode_block, encode_block
    except ImportError:
        encode_block, decode_block = encode_block_in_python, decode_block_in_python
