"""Archives for tests, byte by byte: records of WARC, in members of gzip or plain."""

from __future__ import annotations

import gzip
from collections.abc import Mapping

HTML = "text/html; charset=utf-8"


def response(
    body: bytes | str, content_type: str | None = HTML, status: str = "200 OK", **headers: str
) -> bytes:
    """Return a response of HTTP; headers are given as ``content_encoding="gzip"``."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    if content_type is not None:
        fields["Content-Type"] = content_type
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode() + (
        body.encode() if isinstance(body, str) else body
    )


def record(
    url: str,
    block: bytes,
    kind: str = "response",
    date: str = "2024-01-02T03:04:05Z",
    headers: Mapping[str, str] | None = None,
    length: int | None = None,
) -> bytes:
    """Return a record of WARC/1.0, as section 6 of ISO 28500 has it; *length* is what it claims."""
    is_http = kind in ("response", "revisit")
    fields = {
        "WARC-Type": kind,
        "WARC-Target-URI": url,
        "WARC-Date": date,
        "Content-Type": "application/http; msgtype=response" if is_http else "text/plain",
        "Content-Length": str(len(block) if length is None else length),
        **(headers or {}),
    }
    lines = ["WARC/1.0", *(f"{name}: {value}" for name, value in fields.items() if value)]
    return "\r\n".join([*lines, "", ""]).encode() + block + b"\r\n\r\n"


def page(number: int, body: str | None = None, **more: str) -> bytes:
    """Return the record of a page at ``http://a.example/NUMBER``."""
    url = f"http://a.example/{number}"
    return record(url, response(body or f"<html>page {number}"), **more)  # type: ignore[arg-type]


def packed(records: list[bytes]) -> list[bytes]:
    """Return the members of a .warc.gz file."""
    return [gzip.compress(one, mtime=0) for one in records]
