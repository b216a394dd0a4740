"""How many mistakes in the sources do the tests notice?

A mutant is the package with one small mistake (mutations.py).  This makes mutants of
``decision/``, ``index/`` with its Lua scripts and SQL, ``tables/`` and ``workers/``, one at a time
in a copy of the tree, and runs the tests that guard the place of the mistake, to the first that
fails::

    make mutants                                          # 300 of all modules
    make mutants MUTANTS="--sample 50 --module scrapy_simhash/decision/judge.py"
    make mutants MUTANTS="--numbers 17 203 --budget 300"  # these of the 300, with more tests

A first run of the tests notes which functions each test calls, and how long it takes.  A mutant is
given to the tests that call its function, then to the others of its module, as many as take 20
seconds: of each file in turn one, its quickest first, since the tests of one file are alike.  It is
caught if one fails, or if they take too long: endless loops.

Sample and order depend on ``--seed`` alone.  ``--keep`` keeps in a file what the first run noted,
for other runs of the same sources.  Survivors are shown with their difference.  The mutants that
equivalent_mutants.py lists are as right as the source, and are not run.

Left out: the compiled engine, tests of whole crawls (they take seconds each), and those that need
more than SLOW_SECONDS.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import pytest

FOLDER = Path(__file__).parents[2]
PACKAGE = "scrapy_simhash"
GUARDED = ("decision", "index", "tables", "workers")
# A test file is about them if it imports one of them, or what tests share to use them.
IS_ABOUT = re.compile(r"scrapy_simhash\.(rule|index|tables|workers)|tests\.(indexes|pages)")
IS_DOCTEST = re.compile("^ *>>> ", re.MULTILINE)
CRAWLS = {"crawl", "simhash_crawl"}

SLOW_SECONDS = 10.0
BUDGET_SECONDS = 20.0
# Of a script on the server, nobody sees which functions a test calls: it gets so many times that.
SCRIPT_BUDGETS = 3
# A mutant's tests may take this many times as long as before, and some more for the machine.
SLOWER, GRACE_SECONDS = 4, 10.0
MEMORY_BYTES = 8 << 30
# Imported once: a mutant's process is a fork.  Nothing here imports what is changed.
IMPORTED = ("hypothesis", "mmh3", "redis.asyncio", "redis.cluster", "scrapy.crawler", "trafilatura")


class Watched(NamedTuple):
    """What the first run told of a test: the functions as (path, first line)."""

    name: str
    seconds: float
    calls: frozenset[tuple[str, int]]

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


class Mutant(NamedTuple):
    path: str
    mutation: Mutation
    source: bytes

    @property
    def text(self) -> bytes:
        return self.mutation.apply(self.source)

    @property
    def line(self) -> int:
        return self.source.count(b"\n", 0, self.mutation.begin) + 1

    def difference(self) -> list[str]:
        """The lines that differ, each after its sign."""
        before, after = (text.decode().splitlines() for text in (self.source, self.text))
        shown = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
        return [line for line in shown if not line.startswith("@@")]

    @property
    def function(self) -> str:
        """The name of the function that it is in, empty if it is in none."""
        if not self.mutation.function:
            return ""
        lines = self.source.decode().splitlines()[self.mutation.function - 1 :]
        return next(
            found[1] for line in lines if (found := re.match(r" *(?:async )?def (\w+)", line))
        )

    @staticmethod
    def name_of(path: str, function: str, difference: Sequence[str]) -> tuple[str, ...]:
        """What a mutant is known by wherever its lines are; blanks do not matter."""
        return path, function, *(line.replace(" ", "") for line in difference)

    @property
    def name(self) -> tuple[str, ...]:
        return self.name_of(self.path, self.function, self.difference())


def all_mutants(folder: Path) -> list[Mutant]:
    """The mutants of all guarded modules, in the order of their paths and texts."""
    paths = [
        path
        for guarded in GUARDED
        for path in sorted((folder / PACKAGE / guarded).rglob("*"))
        if path.suffix in (".py", ".lua")
    ]
    return [
        Mutant(str(path.relative_to(folder)), mutation, source)
        for path in paths
        for source in [path.read_bytes()]
        for mutation in mutations(path.name, source)
    ]


def sample(mutants: Sequence[Mutant], size: int, seed: int) -> list[Mutant]:
    """Choose mutants by chance, spread over the modules by their size, and at least one of each."""
    chance, modules = random.Random(seed), defaultdict(list)
    for mutant in mutants:
        modules[mutant.path].append(mutant)
    chosen, ranked = [], []
    for found in modules.values():
        chance.shuffle(found)
        chosen.append(found[0])
        ranked += [((place + chance.random()) / len(found), one) for place, one in enumerate(found)]
    ranked.sort(key=lambda entry: entry[0])
    rest = [mutant for _, mutant in ranked if mutant not in chosen]
    return sorted([*chosen, *rest][:size], key=lambda one: (one.path, one.mutation))


class Watch:
    """A plug-in of pytest that notes in a file what each test calls, and how long it takes."""

    def __init__(self, folder: Path, file: Path) -> None:
        self._file = file
        self._tests: list[tuple[str, float, list[tuple[str, int]]]] = []
        self._start = f"{folder / PACKAGE}{os.sep}"
        self._cut = len(str(folder)) + 1
        self._codes: set[CodeType] = set()
        self._failed = False

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        self._codes.add(frame.f_code)

    @pytest.hookimpl
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if not CRAWLS & set(getattr(item, "fixturenames", ()))]

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed |= not report.passed

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._codes, self._failed = set(), False
        started = time.perf_counter()
        threading.settrace(self._called)
        sys.settrace(self._called)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            seconds = time.perf_counter() - started
            calls = {
                (code.co_filename[self._cut :], code.co_firstlineno)
                for code in self._codes
                if code.co_filename.startswith(self._start)
            }
            if not self._failed and calls and seconds <= SLOW_SECONDS:
                self._tests.append((item.nodeid, seconds, sorted(calls)))

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        self._file.write_text(json.dumps(self._tests))


class Chosen:
    """A plug-in of pytest that runs chosen tests in their order."""

    def __init__(self, tests: Sequence[Watched]) -> None:
        self._places = {test.name: place for place, test in enumerate(tests)}

    @pytest.hookimpl
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._places]
        items.sort(key=lambda item: self._places[item.nodeid])


def run_tests(folder: Path, files: list[str], plugin: object, limit: float) -> int | None:
    """Run tests in a fork; return pytest's exit code, or None after *limit* seconds."""
    process = multiprocessing.get_context("fork").Process(
        target=_run_here, args=(folder, files, plugin)
    )
    process.start()
    assert process.pid is not None
    process.join(limit)
    code = process.exitcode
    with suppress(ProcessLookupError):  # with the servers and workers that the tests started
        os.killpg(process.pid, signal.SIGKILL)
    process.join()
    return code


def _run_here(folder: Path, files: list[str], plugin: object) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    os.chdir(folder)
    sys.path[0] = str(folder)
    os.environ["PYTHONPATH"] = str(folder)
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", PACKAGE)]:
        del sys.modules[name]
    with Path(f"{folder}-output").open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    options = ["-x"] if isinstance(plugin, Chosen) else []
    options += ["-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    options += ["-m", "", f"--basetemp={folder}-run"]
    os._exit(pytest.main([*options, *files], plugins=[plugin]))


def watched_tests(folder: Path, kept: Path) -> list[Watched]:
    """Return what is known of each test, the quickest first; if nothing is *kept*, run them all."""
    if not kept.exists():
        tests = [path for path in (folder / "tests").rglob("test_*.py") if _says(path, IS_ABOUT)]
        doctests = [path for path in (folder / PACKAGE).rglob("*.py") if _says(path, IS_DOCTEST)]
        files = sorted(str(path.relative_to(folder)) for path in [*tests, *doctests])
        watch = Watch(folder, kept)
        if run_tests(folder, files, watch, 3600) is None or not kept.exists():
            sys.exit(Path(f"{folder}-output").read_text())
    told = json.loads(kept.read_text())
    found = [Watched(name, seconds, frozenset(map(tuple, calls))) for name, seconds, calls in told]
    return sorted(found, key=lambda test: test.seconds)


def _says(path: Path, words: re.Pattern[str]) -> bool:
    return words.search(path.read_text()) is not None


def guards(mutant: Mutant, tests: Sequence[Watched], budget: float) -> list[Watched]:
    """The tests of a mutant: those of its function, of its module, and of its folder if need be."""
    place, folder = (mutant.path, mutant.mutation.function), str(Path(mutant.path).parent)
    if mutant.path.endswith(".lua"):  # called by the modules beside its folder
        folder, budget = str(Path(folder).parent), SCRIPT_BUDGETS * budget
    near = [test for test in tests if place in test.calls]
    far = [test for test in tests if any(path == mutant.path for path, _ in test.calls)]
    if not far:
        far = [
            test for test in tests if any(path.startswith(folder + "/") for path, _ in test.calls)
        ]
    chosen, seconds = [], 0.0
    for test in dict.fromkeys([*_in_turn(near), *_in_turn(far)]):
        if seconds + test.seconds <= budget:
            chosen.append(test)
            seconds += test.seconds
    return chosen


def _in_turn(tests: Sequence[Watched]) -> list[Watched]:
    """One test of each file after the other, in the order that they have in it."""
    met = Counter[str]()
    rounds = []
    for test in tests:
        met[test.file] += 1
        rounds.append((met[test.file], test))
    return [test for _, test in sorted(rounds, key=lambda entry: entry[0])]


def outcome(mutant: Mutant, chosen: Sequence[Watched], folder: Path) -> int | None:
    """What comes of tests while the mutant takes the place of its source: see run_tests."""
    place = folder / mutant.path
    if not chosen:
        return 0
    files = sorted({test.file for test in chosen})
    limit = GRACE_SECONDS + SLOWER * sum(test.seconds for test in chosen)
    place.write_bytes(mutant.text)
    try:
        return run_tests(folder, files, Chosen(chosen), limit)
    finally:
        place.write_bytes(mutant.source)


def copy_tree(folder: Path) -> None:
    """Copy what git tracks, what it does not ignore, and the compiled modules.

    Where mutants are made, a module that is compiled as it is must run as Python.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=FOLDER,
        check=True,
        capture_output=True,
        text=True,
    )
    compiled = [
        str(path.relative_to(FOLDER))
        for path in (FOLDER / PACKAGE).rglob("*.so")
        if path.parent.name not in GUARDED
        or not path.with_name(f"{path.name.partition('.')[0]}.py").exists()
    ]
    for name in [*filter(None, listed.stdout.split("\0")), *compiled]:
        if (FOLDER / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(FOLDER / name, folder / name)
    # A source of the same second and size would be taken for the one before it.
    how = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash", PACKAGE]
    subprocess.run([sys.executable, *how], cwd=folder, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sample", type=int, default=300, help="how many mutants (300)")
    parser.add_argument("--seed", type=int, default=1, help="chooses the sample (1)")
    parser.add_argument("--module", action="append", help="only of this file; may be repeated")
    parser.add_argument("--numbers", type=int, nargs="+", help="only these of the sample")
    parser.add_argument("--keep", type=Path, help="keep in this file what the first run notes")
    parser.add_argument(
        "--budget", type=float, default=BUDGET_SECONDS, help="seconds of tests for a mutant (20)"
    )
    options = parser.parse_args()
    found = all_mutants(FOLDER)
    if options.module:
        found = [mutant for mutant in found if mutant.path in options.module]
    chosen = sample(found, options.sample, options.seed)
    print(f"{len(chosen)} of {len(found)} mutants, seed {options.seed}", flush=True)
    for name in IMPORTED:
        with suppress(ImportError):
            importlib.import_module(name)
    made, caught, too_long, not_run = Counter[str](), Counter[str](), 0, 0
    equivalent = {
        Mutant.name_of(path, function, difference.strip().splitlines())
        for path, function, difference, _ in EQUIVALENT
    }
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve() / "tree"
        copy_tree(folder)
        tests = watched_tests(folder, (options.keep or folder / "watched.json").resolve())
        seconds = sum(test.seconds for test in tests)
        print(f"{len(tests)} tests, {seconds:.0f} seconds", flush=True)
        for number, mutant in enumerate(chosen, start=1):
            if options.numbers and number not in options.numbers:
                continue
            if mutant.name in equivalent:
                not_run += 1
                continue
            made[mutant.path] += 1
            code = outcome(mutant, guards(mutant, tests, options.budget), folder)
            if code != 0:
                caught[mutant.path] += 1
                too_long += code is None
            else:
                print(f"\n{number} survived: {mutant.path}:{mutant.line}")
                print(*mutant.difference(), sep="\n", flush=True)
    print()
    for path in sorted(made):
        print(f"{caught[path]:4} of {made[path]:3}  {path}")
    print(
        f"{caught.total()} of {made.total()} mutants caught "
        f"({caught.total() / max(made.total(), 1):.1%}), {too_long} of them since their tests took "
        f"too long; {not_run} equivalent ones not run"
    )


if __name__ == "__main__":
    sys.path[0] = str(FOLDER)

from tests.project.equivalent_mutants import EQUIVALENT  # noqa: E402
from tests.project.mutations import Mutation, mutations  # noqa: E402

if __name__ == "__main__":
    main()
