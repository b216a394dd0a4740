"""``scrapy simhash batch``, from WARC files to decisions and an archive of what is kept."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pq = pytest.importorskip("pyarrow.parquet")

from tests.archives import packed, record, response  # noqa: E402
from tests.batches import html_of, link_of_chain  # noqa: E402
from tests.command_line import SCRAPY, simhash, simhash_json  # noqa: E402
from tests.documents import FOLDER, read  # noqa: E402


def archive(path: Path, links: list[int], start: int = 0) -> Path:
    """A WARC file with pages of a chain, a day apart."""
    records = [
        record(
            f"http://a.example/{start + number}",
            response(html_of(link_of_chain(link))),
            date=f"2024-01-{start + number % 5 + 1:02}T00:00:00Z",
        )
        for number, link in enumerate(links)
    ]
    request = record("http://a.example/", b"GET / HTTP/1.1\r\n\r\n", kind="request")
    path.write_bytes(b"".join(packed([request, *records])))
    return path


def test_pages_of_archives_are_judged_in_the_order_of_their_dates(tmp_path: Path) -> None:
    archive(tmp_path / "late.warc.gz", [2, 0], start=2)
    archive(tmp_path / "early.warc.gz", [0, 1])
    files = "late.warc.gz", "early.warc.gz"
    done = simhash(
        tmp_path, "batch", *files, "--out", "decisions.parquet", "--kept", "kept.warc.gz"
    )
    assert done.returncode == 0, done.stderr
    assert "not read (request): 2, the first in early.warc.gz at 0" in done.stdout
    rows = pq.read_table(tmp_path / "decisions.parquet").to_pylist()
    assert [(row["url"][-1], row["verdict"]) for row in rows] == [
        ("0", "unique"),
        ("1", "near_duplicate"),
        ("2", "unique"),
        ("3", "exact_duplicate"),
    ]
    assert [row["copies"] for row in rows] == [2, None, 0, None]
    kept = gzip.decompress((tmp_path / "kept.warc.gz").read_bytes())
    assert kept.count(b"WARC-Type: response") == 2
    assert kept.count(b"WARC-Type: revisit") == 1
    assert not (tmp_path / "decisions.parquet.work").exists()


def test_archive_of_the_demo_is_judged_as_the_page_on_archives_shows(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "demo_site.archive", str(tmp_path / "demo.warc.gz")],
        cwd=FOLDER / "example_project",
        check=True,
        capture_output=True,
        text=True,
    )
    done = simhash(tmp_path, "batch", "demo.warc.gz", "--out", "decisions.parquet")
    assert made.stdout.replace(f"{tmp_path}/", "") + done.stdout in read("docs/archives.md")


def test_a_later_batch_knows_what_an_earlier_one_has_kept(tmp_path: Path) -> None:
    archive(tmp_path / "early.warc.gz", [0])
    archive(tmp_path / "late.warc.gz", [1, 4], start=1)
    known = "--known", "seen"
    simhash_json(tmp_path, "batch", "early.warc.gz", "--out", "early.parquet", *known)
    found = simhash_json(tmp_path, "batch", "late.warc.gz", "--out", "late.parquet", *known)
    assert (found["kept"], found["near_duplicates"]) == (1, 1)
    (dropped,) = (
        row for row in pq.read_table(tmp_path / "late.parquet").to_pylist() if row["representative"]
    )
    assert dropped["representative_file"] == "early.warc.gz"


def test_pages_that_are_not_judged_are_counted_in_json(tmp_path: Path) -> None:
    page = record("http://a.example/", response("<html></html>"))
    (tmp_path / "a.warc.gz").write_bytes(b"".join(packed([page, page])))
    found = simhash_json(tmp_path, "batch", "a.warc.gz", "--out", "out.parquet")
    assert found["not_judged"] == {"no_text": 2}


def test_decisions_that_are_there_are_not_overwritten(tmp_path: Path) -> None:
    archive(tmp_path / "a.warc.gz", [0])
    (tmp_path / "out.parquet").write_text("of somebody else")
    done = simhash(tmp_path, "batch", "a.warc.gz", "--out", "out.parquet")
    assert done.returncode == 2
    assert "is there already" in done.stderr
    assert (tmp_path / "out.parquet").read_text() == "of somebody else"


@pytest.mark.parametrize(("engine", "package"), [("local", "pyarrow"), ("spark", "pyspark")])
def test_a_missing_package_is_named(tmp_path: Path, engine: str, package: str) -> None:
    archive(tmp_path / "a.warc.gz", [0])
    (tmp_path / f"{package}.py").write_text("raise ImportError")
    done = subprocess.run(
        [SCRAPY, "simhash", "batch", "a.warc.gz", "--out", "out.parquet", "--engine", engine],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    extra = "spark" if engine == "spark" else "batch"
    assert f"pip install scrapy-simhash[{extra}]" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_batch_that_was_killed_goes_on(tmp_path: Path) -> None:
    files = [archive(tmp_path / f"{n}.warc.gz", [0, 1, 2, 3] * 5, start=5 * n) for n in range(3)]
    names = [file.name for file in files]
    command = [str(SCRAPY), "simhash", "batch", *names, "--out"]
    done = tmp_path / "out.parquet.work" / "features" / "00000.parquet"
    with subprocess.Popen([*command, "out.parquet"], cwd=tmp_path, start_new_session=True) as batch:
        deadline = time.monotonic() + 60
        while not done.exists():
            assert time.monotonic() < deadline
            assert batch.poll() is None
            time.sleep(0.01)
        os.killpg(batch.pid, signal.SIGKILL)
    assert not (tmp_path / "out.parquet").exists()
    before = done.stat().st_mtime_ns
    out = "--out", "out.parquet", "--work", "out.parquet.work"
    assert simhash(tmp_path, "batch", *names, *out).returncode == 0
    assert done.stat().st_mtime_ns == before
    assert simhash(tmp_path, "batch", *names, "--out", "whole.parquet").returncode == 0
    assert pq.read_table(tmp_path / "out.parquet") == pq.read_table(tmp_path / "whole.parquet")


def test_pyarrow_is_imported_by_this_command_alone() -> None:
    code = (
        "import sys; from scrapy_simhash.commands import subcommands; subcommands(); "
        "print([name for name in sys.modules if name.startswith('pyarrow')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
