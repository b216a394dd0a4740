"""Which runs are going on: they say so now and then, so that a run that was killed is none.

A run may join those of its spider that share its queue, on any number of processes and machines.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

# A run says that it goes on every few seconds.  One that has said nothing for longer has ended.
BEAT_SECONDS = 5.0
SILENT_SECONDS = 20.0


class RunningRun(NamedTuple):
    """A run that has not said that it ended: its crawl, and where and when it said so last."""

    crawl: int
    process: str
    beat_at: float


def this_process() -> str:
    """Return the name of this process: where its number counts, and the number."""
    return f"{_place()} {os.getpid()}"


def _place() -> str:
    """Return the machine, and the part of it in which processes see each other's numbers."""
    namespace = ""
    with suppress(OSError):  # Linux has it: containers may have the name of their machine
        namespace = str(Path("/proc/self/ns/pid").readlink())
    return f"{socket.gethostname()} {namespace}"


def is_dead(process: str) -> bool:
    """Whether a process of this machine has ended; it need not have been able to say so."""
    place, _, number = process.rpartition(" ")
    if place != _place() or not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # that of another user
        return False
    return False


def crawl_to_join(runs: Iterable[RunningRun], now: float) -> int | None:
    """Return the oldest crawl that a run is going on of, None if there is none."""
    return min(
        (
            run.crawl
            for run in runs
            if abs(now - run.beat_at) < SILENT_SECONDS and not is_dead(run.process)
        ),
        default=None,
    )
