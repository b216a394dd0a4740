"""The lines of an export: what an index was built for, then its pages."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index import Page, Parameters, Row

VERSION = 1


def header_of(parameters: Parameters) -> dict[str, Any]:
    """Return the first line: a version of these lines, and what the pages depend on."""
    return {"simhash_index": VERSION, "scheme": parameters.scheme, "scope": parameters.scope}


def check_header(header: dict[str, Any], parameters: Parameters) -> None:
    """Refuse lines that the index cannot take.

    :raises SimhashError: they are of another version, or of another scheme or scope.
    """
    for name, wanted in header_of(parameters).items():
        if header.get(name) != wanted:
            raise SimhashError(
                f"The export was made with {name} {header.get(name)!r}; this index has {wanted!r}. "
                f"Import it into an index of its own kind."
            )


def record_of(row: Row) -> dict[str, Any]:
    """Return the line of a page; bytes in hexadecimal, the sketch in base64."""
    content = row.content_fingerprint
    return {
        "id": row.id,
        "url": row.url,
        "representative": row.representative,
        "request_fingerprint": row.request_fingerprint.hex(),
        "scope": row.scope,
        "fingerprint": f"{row.fingerprint:016x}",
        "digest": row.digest.hex(),
        "tokens": row.tokens,
        "judged_at": row.judged_at,
        "content_fingerprint": None if content is None else f"{content:016x}",
        "sketch": None if row.sketch is None else b64encode(row.sketch).decode("ascii"),
    }


def page_from(record: dict[str, Any]) -> Page:
    """Return the page that :func:`record_of` wrote.

    :raises SimhashError: the line lacks something, or it is of another kind.
    """
    try:
        content, sketch = record["content_fingerprint"], record["sketch"]
        return Page(
            url=str(record["url"]),
            request_fingerprint=bytes.fromhex(record["request_fingerprint"]),
            scope=str(record["scope"]),
            fingerprint=int(record["fingerprint"], 16),
            digest=bytes.fromhex(record["digest"]),
            tokens=int(record["tokens"]),
            judged_at=float(record["judged_at"]),
            content_fingerprint=None if content is None else int(content, 16),
            sketch=None if sketch is None else b64decode(sketch, validate=True),
        )
    except (KeyError, TypeError, ValueError) as exc:
        raise SimhashError(f"a line of an export must be whole: {exc!r} in {record!r}") from exc
