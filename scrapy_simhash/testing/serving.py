"""HTTP on loopback, from a thread of the test's process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any


class FolderHandler(SimpleHTTPRequestHandler):
    """Answer with the files of a folder, and log nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serve(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """Answer requests with *handler*, and give the URL of the server, with a slash at its end."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        # The seconds between two looks at whether to end: the default, 0.5, would slow each test.
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def serve_folder(folder: Path) -> AbstractContextManager[str]:
    """Serve the files of a folder; a folder is its ``index.html``, or a list of its files.

    :raises NotADirectoryError: it is no folder.
    """
    if not folder.is_dir():
        raise NotADirectoryError(f"site must be a folder: got {str(folder)!r}")
    return serve(partial(FolderHandler, directory=str(folder)))
