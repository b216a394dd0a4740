"""What a run leaves for the one that resumes its job is there whole, whenever it is killed."""

from __future__ import annotations

import itertools
import signal
from pathlib import Path

import pytest

from tests.crawl import state_writer
from tests.crawl.state_writer import SIZE, state_in
from tests.forking import Job

KILLS = 6
MOST_KILLS = 30


def test_a_kill_while_the_state_is_saved_leaves_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    job, are_cut = str(tmp_path / "job"), 0
    Path(job).mkdir()
    last = 0
    for kill in range(MOST_KILLS):
        if kill >= KILLS and are_cut:
            break
        command = [state_writer.__file__, job, str(last + 1)]
        with Job(command, tmp_path, piped=True) as child:
            lines = list(itertools.islice(child.stdout, 1 + kill % KILLS))
            while not list(Path(job).glob(".simhash-test.state.*.new")):
                """The next one is being written."""
            child.send_signal(signal.SIGKILL)
            lines += child.stdout
        last = int(lines[-1])
        are_cut += any(one.stat().st_size < SIZE for one in Path(job).glob(".*.new"))
        found = state_in(job).load()
        assert found is not None
        assert found in (bytes([one % 256]) * SIZE for one in (last, last + 1))
        assert not list(Path(job).glob("*.unreadable"))
    assert are_cut, "one kill at least came while the file was being written"


@pytest.mark.parametrize("may_be_moved", [True, False])
def test_a_damaged_state_starts_anew(
    may_be_moved: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Also if something is where it would be set aside."""
    state, aside = tmp_path / "simhash-test.state", tmp_path / "simhash-test.unreadable"
    state.write_bytes(b"no state")
    if not may_be_moved:
        (aside / "something").mkdir(parents=True)
    assert state_in(str(tmp_path)).load() is None
    said = f"moved to {aside}" if may_be_moved else "could not be moved aside"
    assert said in caplog.text
    assert state.exists() is not may_be_moved
