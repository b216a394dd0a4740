"""What names a page: the hashes of its identifiers, in a few bytes.

::

    | 0 | hash, hash ...        up to 16 hashes of 32 bits, ascending
    | 1 | digest                of more: 16 bytes that the same hashes share

Two pages that both have an identity, and of which the new one has an identifier that the kept one
has not, are two pages, however alike their texts are.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from hashlib import blake2b

MAX_HASHES = 16
_LISTED, _DIGEST = b"\0", b"\1"


def identity_of(hashes: Collection[int]) -> bytes | None:
    """Return the identity of hashes of 32 bits; None if there are none."""
    if not hashes:
        return None
    packed = struct.pack(f">{len(hashes)}I", *sorted(hashes))
    if len(hashes) <= MAX_HASHES:
        return _LISTED + packed
    return _DIGEST + blake2b(packed, digest_size=16).digest()


def is_another(new: bytes | None, kept: bytes | None) -> bool:
    """Whether a new page names something that a kept page, which names something, does not name."""
    if new is None or kept is None or new == kept:
        return False
    if new[:1] == kept[:1] == _LISTED:
        return not _hashes(new) <= _hashes(kept)
    return True


def _hashes(identity: bytes) -> set[int]:
    return set(struct.unpack(f">{len(identity) // 4}I", identity[1:]))
