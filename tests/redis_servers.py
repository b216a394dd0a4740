"""Real Redis servers for tests, each a process of its own on loopback."""

from __future__ import annotations

import atexit
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
import redis

PROGRAMS = ("redis-server", "valkey-server")
# SIMHASH_TEST_SERVER names another program, so that all tests can run with it.
PROGRAM = os.environ.get("SIMHASH_TEST_SERVER") or next(
    filter(None, map(shutil.which, PROGRAMS)), None
)
NO_PROGRAM = f"no Redis here: none of {', '.join(PROGRAMS)} is installed"
ATTEMPTS = 5
SLOTS = 16384
DOCUMENT = Path(__file__).parents[1] / "docs" / "redis.md"


def free_port() -> int:
    """A port that nobody listens at, below those that the system gives to connections.

    A node of a cluster listens at the one 10,000 above, too.
    """
    while True:
        port = random.randrange(10_000, 22_000)
        with socket.socket() as found, suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port


class RedisServer:
    """A server that can be killed and started again; further arguments are its options."""

    def __init__(
        self, folder: Path, *options: str, port: int | None = None, program: str | None = PROGRAM
    ) -> None:
        if program is None:
            pytest.skip(NO_PROGRAM)
        self.program = program
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.options = options
        self.port = port or free_port()
        self.process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Return when it has loaded its data and takes commands."""
        for _ in range(ATTEMPTS):
            arguments = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
            self.process = subprocess.Popen(
                [self.program, *arguments, "--dir", str(self.folder), *self.options],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            assert self.process.stdout is not None
            log = []
            for line in self.process.stdout:
                log.append(line)
                if "eady to accept connections" in line or "Sentinel ID is" in line:
                    return
            self.process.communicate()
            self.port = free_port()
        raise RuntimeError("".join(log))

    def kill(self) -> None:
        """End it as a power cut would end the process; if that was done, do nothing."""
        assert self.process is not None
        if self.process.returncode is None:
            self.process.kill()
            self.process.communicate()

    def processor_seconds(self) -> float:
        """Return the processor time that it has taken."""
        with self.client() as client:
            found: Any = client.info("cpu")
        return float(found["used_cpu_user"] + found["used_cpu_sys"])

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port)

    def __enter__(self) -> RedisServer:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()


@cache
def shared_server() -> RedisServer:
    """The server for all tests that leave it running."""
    if PROGRAM is None:  # skipped before there is a folder to remove
        pytest.skip(NO_PROGRAM)
    folder = tempfile.TemporaryDirectory()
    server = RedisServer(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(server.kill)
    with server.client() as client:
        client.execute_command(*documented_rule().replace("~simhash:*", "~test*").split())
    return server


def documented_rule() -> str:
    """The access rule with the least rights, as it stands in the documentation."""
    (rule,) = re.findall(r"^ACL SETUSER crawler .*$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    return str(rule)


_prefixes = count(1)


def new_redis_url() -> str:
    """The URL of an index that is not there yet."""
    url = shared_server().url.replace("://", "://crawler:PASSWORD@")
    return f"{url}?prefix=test{next(_prefixes)}"


@contextmanager
def started_cluster(folder: Path) -> Iterator[list[RedisServer]]:
    """Three servers, each with a third of the slots."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(RedisServer(folder / str(i), "--cluster-enabled", "yes"))
            for i in range(3)
        ]
        clients = [stack.enter_context(server.client()) for server in servers]
        edges = [SLOTS * i // 3 for i in range(4)]
        for i, client in enumerate(clients):
            client.execute_command("CLUSTER ADDSLOTSRANGE", edges[i], edges[i + 1] - 1)
            client.execute_command("CLUSTER MEET", "127.0.0.1", servers[0].port)
        while any(_state(client) != "ok" for client in clients):
            pass
        yield servers


def _state(client: redis.Redis) -> object:
    return client.cluster("INFO")["cluster_state"]
