"""The lines of an export: what its index was built for, then a page a line.

The keys of a page are ``id`` and ``representative``, then the fields of
:data:`~scrapy_simhash.rule.page.STORED` but ``crawl``, a number that means nothing in another
index.  How a value is written follows from the kind of its field.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_simhash.errors import SourceError
from scrapy_simhash.rule.page import STORED, Kind, Page, Row
from scrapy_simhash.rule.rule import Parameters
from scrapy_simhash.rule.sketch import is_sketch

VERSION = 1
DIGEST_BYTES = 16

Record = dict[str, Any]

_BITS = re.compile(r"[0-9A-Fa-f]{16}")
_FIELDS = [field for field in STORED if field.name not in ("crawl", "met_by")]


class Line(NamedTuple):
    """A JSON object of an export, and *place*, which says where it is, for messages."""

    place: str
    record: Record


def read_lines(export: Path) -> Iterator[Line]:
    """Yield the lines of a file.

    :raises SourceError: it cannot be read, or a line is no JSON object.
    """
    try:
        with export.open(encoding="utf-8") as file:
            for number, text in enumerate(file, start=1):
                yield _line(f"{export}, line {number},", text)
    except (OSError, UnicodeDecodeError) as exc:
        raise SourceError(f"{export} cannot be read: {exc}") from exc


def header_of(parameters: Parameters) -> Record:
    """Return the first line: the version of these lines, and what the pages depend on."""
    return {"simhash_index": VERSION, "scheme": parameters.scheme, "scope": parameters.scope}


def check_header(header: Record, parameters: Parameters) -> None:
    """Refuse lines that the index cannot take.

    :raises SourceError: they are of another version, or of another scheme or scope.
    """
    for name, wanted in header_of(parameters).items():
        if header.get(name) != wanted:
            raise SourceError(
                f"The export was made with {name} {header.get(name)!r}; this index has {wanted!r}. "
                f"Import it into an index of its own kind."
            )


def record_of(row: Row) -> Record:
    """Return the line of a page."""
    record: Record = {"id": row.id, "representative": row.representative}
    for field in _FIELDS:
        value = getattr(row.page, field.name)
        record[field.name] = None if value is None else _FORMS[field.kind].write(value)
    return record


def page_from(line: Line) -> Page:
    """Return the page that :func:`record_of` wrote.

    :raises SourceError: a field is missing, or its value is not of its kind.
    """
    values: dict[str, Any] = {}
    for field in _FIELDS:
        if field.name not in line.record:
            raise SourceError(f"{line.place} must be whole: {field.name} is missing")
        value, form = line.record[field.name], _FORMS[field.kind]
        try:
            is_none = field.optional and value is None
            values[field.name] = None if is_none else form.read(value)
        except (TypeError, ValueError) as exc:
            raise SourceError(
                f"{line.place} must be whole: {field.name} must be {form.words}: got {value!r}"
            ) from exc
    return Page(**values)


def _line(place: str, text: str) -> Line:
    try:
        record = json.loads(text)
    except ValueError as exc:
        raise SourceError(f"{place} must be JSON: {exc}") from exc
    if not isinstance(record, dict):
        raise SourceError(f"{place} must be a JSON object: got {text[:80]!r}")
    return Line(place, record)


class _Form(NamedTuple):
    """How values of a kind stand in JSON, in words; *read* raises TypeError or ValueError."""

    words: str
    write: Callable[[Any], object]
    read: Callable[[Any], object]


def _unchanged(value: object) -> object:
    return value


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _read_digest(value: str) -> bytes:
    digest = bytes.fromhex(value)
    if len(digest) != DIGEST_BYTES:
        raise ValueError
    return digest


def _read_bits(value: str) -> int:
    if not _BITS.fullmatch(value):
        raise ValueError
    return int(value, 16)


def _write_sketch(sketch: bytes) -> str:
    return b64encode(sketch).decode("ascii")


def _read_sketch(value: str) -> bytes:
    sketch = b64decode(_read_text(value), validate=True)
    if not is_sketch(sketch):
        raise ValueError
    return sketch


def _read_integer(least: int, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError
    return value


def _read_seconds(value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not isfinite(value):
        raise ValueError
    return value


_FORMS: dict[Kind, _Form] = {
    Kind.TEXT: _Form("text", _unchanged, _read_text),
    Kind.BYTES: _Form("bytes in hexadecimal", bytes.hex, bytes.fromhex),
    Kind.SKETCH: _Form("a sketch in base64", _write_sketch, _read_sketch),
    Kind.DIGEST: _Form("16 bytes in hexadecimal", bytes.hex, _read_digest),
    Kind.BITS: _Form("16 hexadecimal digits", "{:016x}".format, _read_bits),
    Kind.COUNT: _Form("a whole number of at least 0", _unchanged, partial(_read_integer, 0)),
    Kind.NUMBER: _Form("a whole number of at least 1", _unchanged, partial(_read_integer, 1)),
    Kind.SECONDS: _Form("a number of seconds", _unchanged, _read_seconds),
}
