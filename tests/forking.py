"""Python scripts in processes of their own, without a second of imports for each.

A server process is started once.  It imports what the scripts need, and forks for each job.  Jobs
can run at the same time, so the server tells of each by a socket that it got with the job::

    test                      server                    job
     | arguments, folder, ...    |                        |
     |-------------------------->| fork ----------------->| runs the script as __main__
     |<----------------- its pid |                        |
     |<----------- its exit code |<-----------------------|

No reactor is installed in the server: each job chooses its own.  Tests of how a process starts
start a real one.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import importlib.metadata
import json
import os
import pkgutil
import runpy
import select
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
# Spark needs PySpark, which few have; Scrapy's mailer warns that it is old.
LEFT_OUT = (
    "scrapy_simhash.spark",
    "scrapy.extensions.statsmailer",
)


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
        self._told, status = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
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
        answer = self._told.recv(ANSWER_BYTES)
        if not answer:
            raise RuntimeError("the fork server has ended; what it wrote to stderr says why")
        return int(answer)

    def _end(self, timeout: float | None) -> int:
        """Wait for its end, and return its exit code."""
        if self.returncode is None:
            self._told.settimeout(timeout)
            self.returncode = self._answer()
        return self.returncode

    def poll(self) -> int | None:
        """Return its exit code, or None while it runs."""
        with suppress(BlockingIOError):
            self._end(0)
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def wait(self, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Return what came of it; it is killed after *timeout* seconds.

        :raises subprocess.TimeoutExpired: it was killed.
        """
        try:
            code = self._end(timeout)
        except TimeoutError as exc:
            self.send_signal(signal.SIGKILL)
            self._end(None)
            raise subprocess.TimeoutExpired(self.command, timeout) from exc
        output, errors = self.stdout, self._errors
        for file in (output, errors):
            if file.seekable():
                file.seek(0)
        return subprocess.CompletedProcess(self.command, code, output.read(), errors.read())

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Wait for its end; if something went wrong, end it."""
        if exc_info[0] is not None:
            self.send_signal(signal.SIGKILL)
        self.stdout.close()
        self._errors.close()
        with self._told:
            self._end(None)


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
    importlib.metadata.version = cache(importlib.metadata.version)
    for name in MODULES:
        importlib.import_module(name)
    for package in map(importlib.import_module, PACKAGES):
        for _, name, _ in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not name.startswith(LEFT_OUT):
                importlib.import_module(name)
    if "twisted.internet.reactor" in sys.modules:
        raise RuntimeError("what the fork server imports has installed a reactor")
    # What each crawl asks for is found out once: versions of packages take 6 % of a short crawl,
    # the list of public suffixes half of it.
    from scrapy.utils.versions import get_versions

    from scrapy_simhash.urls import site_of_host

    get_versions()
    site_of_host("www.example.com")
    # Scripts import what tests write, and write anew within the same second.
    sys.dont_write_bytecode = True
    # What is there by now is never collected: a job need not look at it, nor copy it.
    gc.collect()
    gc.freeze()
    # Python counts them one by one each time that a crawl asks: 9 % of a short one.
    gc.get_freeze_count = cache(gc.get_freeze_count)
    gc.get_freeze_count()
    jobs: dict[int, int] = {}  # where to tell of each, by pid
    ended, ends = socket.socketpair()
    ends.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(ends.fileno())
    while True:
        ready, _, _ = select.select([client, ended], [], [])
        if ended in ready:
            ended.recv(ANSWER_BYTES)
            for pid in list(jobs):
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    _tell(jobs[pid], os.waitstatus_to_exitcode(status))
                    os.close(jobs.pop(pid))
        if client not in ready:
            continue
        message, files, _, _ = socket.recv_fds(client, JOB_BYTES, 3)
        if not message:
            sys.exit()
        *files, teller = files
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number, file in enumerate(files, start=1):
                os.dup2(file, number)
            for file in (*files, teller, *jobs.values()):
                os.close(file)
            for one in (client, ended, ends):
                one.close()
            job: dict[str, Any] = json.loads(message)
            return job
        for file in files:
            os.close(file)
        jobs[pid] = teller
        _tell(teller, pid)


def _tell(teller: int, number: int) -> None:
    with suppress(BrokenPipeError):  # the test has failed
        os.write(teller, str(number).encode())


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
