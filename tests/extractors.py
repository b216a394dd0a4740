"""Extractors that misbehave.

This module imports no more than they need: each worker of the tests imports it.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time

from scrapy_simhash.analysis.tree import decode
from scrapy_simhash.workers.child import WORKER_BYTES


def note_text(body: bytes, encoding: str | None, url: str) -> str:
    """An extractor that keeps the article and nothing else."""
    html = decode(body, encoding)
    return html.partition("<article>")[2].partition("</article>")[0]


def rude_text(body: bytes, encoding: str | None, url: str) -> str:
    """An extractor that does what the path says: hang, die, raise, or return no string."""
    action = url.rpartition("/")[2]
    if action == "hang":
        time.sleep(600)
    if action == "die":
        os._exit(3)
    if action == "raise":
        raise RuntimeError("a page that no parser likes")
    if action == "exit":
        raise SystemExit(3)
    if action == "fork":
        os.fork()
    if action == "print":
        print("said by an extractor", flush=True)
    if action == "thread":
        threading.Thread(target=time.sleep, args=(600,)).start()
    if action == "wait":
        subprocess.run(["sleep", "600"], check=True)
    if action == "read":
        subprocess.run(["cat"], check=True)
    if action == "number":
        return 42  # type: ignore[return-value]
    return decode(body, encoding)


_kept: list[bytes] = []


def growing_text(body: bytes, encoding: str | None, url: str) -> str:
    """An extractor whose text has as many words as the number of its process.

    It may grow or fork.
    """
    if url.endswith("fork"):
        os.fork()
    if url.endswith("grow"):
        _kept.append(b"x" * WORKER_BYTES)
    return "word " * os.getpid()
