"""The form of a page in Redis: a head of fixed size, then the fields of variable length.

::

    | change | representative | call | fields of fixed size ... | present | lengths ... | bytes ...
        4           4            4                                   2        2 each

The fields are those of :data:`~scrapy_simhash.decision.page.STORED`, without the scope, which is in
the keys.  *present* has a bit for each optional field, in their order, which says whether the page
has it.  Byte order is big-endian.  The server writes *change*.  A *representative* of 0 says that
the page is one.  *call* is the number of the call that wrote the page: by it the server recognises
a call that is repeated because its answer was lost.  Times are whole seconds, as in a file.

The scripts of the server get the layout from :func:`layout`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from scrapy_simhash.decision.page import STORED, Kind, Page, Row
from scrapy_simhash.errors import IndexFormatError, IndexUnavailableError
from scrapy_simhash.index.redis.address import Scope

# The largest number, to which counts and times are limited, and the maximal length of bytes.
MAX_NUMBER = 0xFFFFFFFF
MAX_BYTES = 0xFFFF

# For each kind of fixed size: its format, and the function that writes a value.
_FIXED: dict[Kind, tuple[str, Callable[[Any], Any]]] = {
    Kind.BITS: ("Q", int),
    Kind.DIGEST: ("16s", bytes),
    Kind.COUNT: ("I", lambda count: min(count, MAX_NUMBER)),
    Kind.NUMBER: ("I", int),
    Kind.SECONDS: ("I", lambda seconds: min(max(int(seconds), 0), MAX_NUMBER)),
}
_FIELDS = [field for field in STORED if field.name != "scope"]
_FIXED_FIELDS = [field for field in _FIELDS if field.kind in _FIXED]
_LONG_FIELDS = [field for field in _FIELDS if field.kind not in _FIXED]
_OPTIONAL = [field.name for field in _FIELDS if field.optional]
_PRESENT_BITS = {name: 1 << bit for bit, name in enumerate(_OPTIONAL)}
_FORMAT = [
    *(("change", "I"), ("representative", "I"), ("call", "I")),
    *((field.name, _FIXED[field.kind][0]) for field in _FIXED_FIELDS),
    ("present", "H"),
    *((f"{field.name}_length", "H") for field in _LONG_FIELDS),
]
_HEAD = struct.Struct(">" + "".join(code for _, code in _FORMAT))
_ABSENT: dict[str, Any] = {"Q": 0, "16s": bytes(16), "I": 0}

_FIXED_AT = 3
_PRESENT_AT = _FIXED_AT + len(_FIXED_FIELDS)
_FIXED_NAMES = [field.name for field in _FIXED_FIELDS]
_LONG_NAMES = [(field.name, field.kind is Kind.TEXT) for field in _LONG_FIELDS]


class StoredRow(NamedTuple):
    """A row, its scope and its number there, and the number of its last change."""

    row: Row
    scope: Scope
    number: int
    change: int

    @property
    def id(self) -> bytes:
        """Its number in the form that the server stores."""
        return pack_id(self.number)

    @property
    def seen(self) -> bytes:
        """Its id and its last change, which tell a script what the caller has seen."""
        return self.id + pack_id(self.change)


def layout() -> str:
    """Return the first and last position of each part of the head, from 1, as variables of Lua.

    ``CHANGE, CHANGE_END`` and so on, and ``HEAD_LENGTH``.
    """
    lines, start = [], 1
    for name, code in _FORMAT:
        end = start + struct.calcsize(f">{code}")
        lines.append(f"local {name.upper()}, {name.upper()}_END = {start}, {end - 1}\n")
        start = end
    return "".join(lines) + f"local HEAD_LENGTH = {_HEAD.size}\n"


def pack_id(number: int) -> bytes:
    """Return the number of a page in its scope in the form that the server stores."""
    return number.to_bytes(4, "big")


def number_of(row_id: bytes) -> int:
    """Return the number that :func:`pack_id` packed."""
    return int.from_bytes(row_id, "big")


def numbers_of(ids: bytes) -> list[int]:
    """Return the numbers of pages from their ids, side by side."""
    return [number for (number,) in struct.iter_unpack(">I", ids)]


def pack(page: Page, representative: int, call: int) -> bytes:
    """Return a page in its stored form, with a change of 0.

    :raises IndexUnavailableError: a field is too long.
    """
    present, fixed = 0, []
    for field in _FIXED_FIELDS:
        code, write = _FIXED[field.kind]
        value = getattr(page, field.name)
        fixed.append(_ABSENT[code] if value is None else write(value))
    long = []
    for name, is_text in _LONG_NAMES:
        value = getattr(page, name)
        long.append((value or "").encode("utf-8", "surrogatepass") if is_text else value or b"")
        if len(long[-1]) > MAX_BYTES:
            raise IndexUnavailableError(
                f"{name} must be at most {MAX_BYTES} bytes long in Redis: got {len(long[-1])}"
            )
    for name, bit in _PRESENT_BITS.items():
        if getattr(page, name) is not None:
            present |= bit
    head = _HEAD.pack(0, representative, call, *fixed, present, *map(len, long))
    return head + b"".join(long)


def unpack(number: int, scope: Scope, stored: bytes) -> StoredRow:
    """Return the row stored under a number in a scope.

    :raises IndexFormatError: it is not a stored page.
    """
    try:
        change, representative, *_ = values = _HEAD.unpack_from(stored)
        found = dict(zip(_FIXED_NAMES, values[_FIXED_AT:], strict=False))
        at = _HEAD.size
        for (name, is_text), length in zip(_LONG_NAMES, values[_PRESENT_AT + 1 :], strict=True):
            value = stored[at : at + length]
            found[name] = value.decode("utf-8", "surrogatepass") if is_text else value
            at += length
        if at != len(stored):
            raise ValueError(f"its length is {len(stored)}, not {at}")
    except (struct.error, ValueError, TypeError) as exc:
        raise IndexFormatError(f"page {number} is damaged: {exc}") from exc
    for name, bit in _PRESENT_BITS.items():
        if not values[_PRESENT_AT] & bit:
            found[name] = None
    row = Row(
        id=scope.base + number,
        page=Page(scope=scope.name, **found),
        representative=scope.base + representative if representative else None,
    )
    return StoredRow(row, scope, number, change)
