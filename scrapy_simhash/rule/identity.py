"""What names a page: the hashes of its identifiers, in a few bytes.

::

    | 0 | hash, hash ...        up to 16 hashes of 32 bits, ascending
    | 1 | digest                of more: 16 bytes that the same hashes share

Two pages that both have an identity, and of which the new one has an identifier that the kept one
has not, are two pages, however alike their texts are.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b

from scrapy_simhash.rule.hashes import pack_hashes, unpack_hashes

MAX_HASHES = 16
_LISTED, _DIGEST = b"\0", b"\1"


def identity_of(hashes: Collection[int]) -> bytes | None:
    """Return the identity of hashes of 32 bits; None if there are none."""
    if not hashes:
        return None
    packed = pack_hashes(hashes)
    if len(hashes) <= MAX_HASHES:
        return _LISTED + packed
    return _DIGEST + blake2b(packed, digest_size=16).digest()


def is_another(new: bytes | None, kept: bytes | None) -> bool:
    """Whether a new page names something that a kept page, which names something, does not name."""
    if new is None or kept is None or new == kept:
        return False
    if new[:1] == kept[:1] == _LISTED:
        return not unpack_hashes(new[1:]) <= unpack_hashes(kept[1:])
    return True
