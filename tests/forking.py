"""Python scripts in processes of their own, without a second of imports for each.

A server process is started once.  It imports what the scripts need, and forks for each job.  The
fork waits for a fork of its own, in which the script runs, so jobs can run at the same time::

    test                      server          keeper              job
     | arguments, folder, ...    |               |                  |
     |-------------------------->| fork -------->| fork ----------->| runs the script as __main__
     |<--------------------------------- its pid |                  |
     |<--------------------------- its exit code |<-----------------|

No reactor is installed in the server: each job chooses its own.  Tests of how a process starts
start a real one.
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
from typing import IO, Any

FOLDER = Path(__file__).parents[1]
# More than the arguments and the environment of a job.
JOB_BYTES = 1 << 20
ANSWER_BYTES = 100
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


class Job:
    """A script that runs; its folder, arguments and import path are those of :func:`run`.

    If it is *piped*, *stdout* has the lines that it prints, at once.
    """

    def __init__(
        self,
        arguments: Sequence[str | Path],
        folder: Path,
        import_path: Path | None = None,
        *,
        piped: bool = False,
    ) -> None:
        self.command = [str(argument) for argument in arguments]
        job = {
            "arguments": self.command,
            "folder": str(folder),
            "environment": dict(os.environ),
            "import_path": [] if import_path is None else [str(import_path)],
        }
        self._keeper, status = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed at the end
        self.stdout: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115
        output = self.stdout.fileno()
        if piped:
            self.stdout.close()
            reading, output = os.pipe()
            self.stdout = os.fdopen(reading)
        with status:
            files = [output, self._errors.fileno(), status.fileno()]
            socket.send_fds(_server(), [json.dumps(job).encode()], files)
        if piped:
            os.close(output)
        self.pid = self._answer()
        self.returncode: int | None = None

    def _answer(self) -> int:
        answer = self._keeper.recv(ANSWER_BYTES)
        if not answer:
            raise RuntimeError("the fork server has ended; what it wrote to stderr says why")
        return int(answer)

    def poll(self) -> int | None:
        """Return its exit code, or None while it runs."""
        if self.returncode is None:
            self._keeper.settimeout(0)
            with suppress(BlockingIOError):
                self.returncode = self._answer()
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def wait(self, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Return what came of it; it is killed after *timeout* seconds.

        :raises subprocess.TimeoutExpired: it was killed.
        """
        if self.returncode is None:
            self._keeper.settimeout(timeout)
            try:
                self.returncode = self._answer()
            except TimeoutError as exc:
                self.send_signal(signal.SIGKILL)
                self._keeper.settimeout(None)
                self.returncode = self._answer()
                raise subprocess.TimeoutExpired(self.command, timeout) from exc
        output, errors = self.stdout, self._errors
        for file in (output, errors):
            if file.seekable():
                file.seek(0)
        return subprocess.CompletedProcess(
            self.command, self.returncode, output.read(), errors.read()
        )

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Wait for its end; if something went wrong, end it."""
        if exc_info[0] is not None:
            self.send_signal(signal.SIGKILL)
        self.stdout.close()
        self._errors.close()
        with self._keeper:
            if self.returncode is None:
                self._keeper.settimeout(None)
                self.returncode = self._answer()


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
    with Job(arguments, folder, import_path) as job:
        return job.wait(timeout)


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
        message, files, _, _ = socket.recv_fds(client, JOB_BYTES, 3)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                """A keeper has ended."""
        if not message:
            sys.exit()
        if not os.fork():
            client.close()
            if _is_the_job(*files):
                job: dict[str, Any] = json.loads(message)
                return job
        for file in files:
            os.close(file)


def _is_the_job(output: int, errors: int, status: int) -> bool:
    """Fork; return in the job alone, and tell of it where *status* leads to."""
    if pid := os.fork():
        os.close(output)
        os.close(errors)
        os.write(status, str(pid).encode())
        _, code = os.waitpid(pid, 0)
        os.write(status, str(os.waitstatus_to_exitcode(code)).encode())
        os._exit(0)
    os.close(status)
    for number, file in enumerate((output, errors), start=1):
        os.dup2(file, number)
        os.close(file)
    return True


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
