"""Python scripts in processes of their own, without a second of imports for each.

A server process is started once.  It imports what the scripts need, and forks for each job::

    test                      server                    job
     | arguments, folder, ...    |                        |
     |-------------------------->| fork ----------------->| runs the script as __main__
     |<----------------- its pid |                        |
     |<----------- its exit code |<-----------------------|

No reactor is installed in the server: each job chooses its own.  Tests of how a process starts,
of signals and of pipes start a real one.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1]
# More than the arguments and the environment of a job.
JOB_BYTES = 1 << 20
# Folders of modules that crawls and commands import, and single ones that those import late.
PACKAGES = [
    "scrapy.commands",
    "scrapy.downloadermiddlewares",
    "scrapy.extensions",
    "scrapy.spidermiddlewares",
    "scrapy_simhash",
]
MODULES = [
    "scrapy.cmdline",
    "scrapy.core.downloader.handlers.datauri",
    "scrapy.core.downloader.handlers.file",
    "scrapy.core.downloader.handlers.ftp",
    "scrapy.core.downloader.handlers.http11",
    "scrapy.core.downloader.handlers.s3",
    "scrapy.dupefilters",
    "scrapy.logformatter",
    "scrapy.pqueues",
    "scrapy.squeues",
    "tests.spiders",
    "trafilatura",
]
# The monitors need Spidermon, which few crawls ask for; Scrapy's mailer warns that it is old.
LEFT_OUT = {"scrapy_simhash.crawl.monitors", "scrapy.extensions.statsmailer"}


def run(
    arguments: Sequence[str | Path],
    folder: Path,
    timeout: float = 120,
    import_path: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a script with arguments, as ``subprocess.run`` runs ``[sys.executable, *arguments]``.

    *import_path* is a folder from which the script and its workers can import, as from those of
    PYTHONPATH.
    """
    command = [str(argument) for argument in arguments]
    job = {
        "arguments": command,
        "folder": str(folder),
        "environment": dict(os.environ),
        "import_path": [] if import_path is None else [str(import_path)],
    }
    server = _server()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        files = [output.fileno(), errors.fileno()]
        socket.send_fds(server, [json.dumps(job).encode()], files)
        pid = _answer(server)
        server.settimeout(timeout)
        try:
            code = _answer(server)
        except TimeoutError as exc:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            server.settimeout(None)
            _answer(server)
            raise subprocess.TimeoutExpired(command, timeout) from exc
        server.settimeout(None)
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(command, code, output.read(), errors.read())


def _answer(server: socket.socket) -> int:
    answer = server.recv(JOB_BYTES)
    if not answer:
        raise RuntimeError("the fork server has ended; what it wrote to stderr says why")
    return int(answer)


@cache
def _server() -> socket.socket:
    """Start the server, until the tests end."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with there:
        process = subprocess.Popen(
            [sys.executable, __file__, str(there.fileno())],
            pass_fds=[there.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
    # The handlers run from the last to the first.
    atexit.register(process.wait)
    atexit.register(here.close)
    return here


def _serve(client: socket.socket) -> dict[str, Any]:
    """Fork for each job; return in the process of a job, to what it is to do there."""
    for name in MODULES:
        importlib.import_module(name)
    for package in map(importlib.import_module, PACKAGES):
        for _, name, _ in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if name not in LEFT_OUT:
                importlib.import_module(name)
    if "twisted.internet.reactor" in sys.modules:
        raise RuntimeError("what the fork server imports has installed a reactor")
    # What is there by now is never collected: a job need not look at it, nor copy it.
    gc.collect()
    gc.freeze()
    while True:
        message, files, _, _ = socket.recv_fds(client, JOB_BYTES, 2)
        if not message:
            sys.exit()
        pid = os.fork()
        if not pid:
            for number, file in enumerate(files, start=1):
                os.dup2(file, number)
                os.close(file)
            client.close()
            job: dict[str, Any] = json.loads(message)
            return job
        for file in files:
            os.close(file)
        client.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        client.send(str(os.waitstatus_to_exitcode(status)).encode())


def _run(job: dict[str, Any]) -> int:
    """Run the script of a job, and return its exit code."""
    os.environ.clear()
    os.environ.update(job["environment"])
    os.chdir(job["folder"])
    script, *_ = sys.argv = job["arguments"]
    sys.path[:1] = [str(Path(script).parent), *job["import_path"]]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as exc:
        if exc.code is None or isinstance(exc.code, int):
            return exc.code or 0
        print(exc.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end(code: int) -> None:
    """End the process as Python does, as far as a script takes part in it.

    Python goes on to free all that there is, object by object: two thirds of the time of a short
    job, 60 ms, for what the system frees at once.
    """
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.path[0] = str(FOLDER)
    _end(_run(_serve(socket.socket(fileno=int(sys.argv[1])))))
