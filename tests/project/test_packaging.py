"""What is packed: every tracked file in the sdist, and a page whose links lead somewhere."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from email.message import Message
from pathlib import Path

import pytest

from scrapy_simhash import __version__

FOLDER = Path(__file__).parents[2]
NAME = f"scrapy_simhash-{__version__}"


def tracked() -> list[str]:
    """The files of the repository, without those that are deleted and not yet committed."""
    if not (FOLDER / ".git").exists():
        pytest.skip("git knows which files belong to the repository; this is no clone")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=FOLDER, capture_output=True, check=True, text=True
    )
    return [name for name in listed.stdout.split("\0") if name and (FOLDER / name).exists()]


def build(kind: str, source: Path, to: Path, cython: bool = True, **environment: str) -> Path:
    """Build an sdist or a wheel with the setuptools that is installed; return its path.

    It builds in a copy: what a build leaves, such as ``build/``, is not in ``source``.  Without
    *cython*, as a distribution does that has none, it takes a tenth of the time.
    """
    code = f"import sys; from setuptools import build_meta as b; b.build_{kind}(sys.argv[1])"
    if not cython:
        code = f"import sys; sys.modules['Cython'] = None; {code}"
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(source, Path(folder) / source.name)
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, str(to)],
            cwd=copy,
            env={**os.environ, **environment},
            capture_output=True,
            check=True,
        )
    (made,) = to.iterdir()
    return made


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist of the tracked files, and of files that do not belong into it, unpacked."""
    pytest.importorskip("setuptools", minversion="77")
    source = tmp_path_factory.mktemp("source")
    for name in tracked():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(FOLDER / name, source / name)
    for name in ("scrapy_simhash/tables/compiled.so", "tests/__pycache__/x.pyc", "demo-output/x"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).touch()
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(build("sdist", source, tmp_path_factory.mktemp("sdist"))) as archive:
        archive.extractall(unpacked, filter="data")
    return unpacked / NAME


@pytest.fixture(scope="module")
def pure_wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel without compiled modules, built from the sdist."""
    return build("wheel", sdist, tmp_path_factory.mktemp("wheel"), SIMHASH_BUILD="pure")


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.long
def test_sdist_has_every_tracked_file_and_no_other(sdist: Path) -> None:
    made = {"PKG-INFO"} | {
        name for name in files_in(sdist) if name.startswith("scrapy_simhash.egg-info/")
    }
    assert files_in(sdist) - made == set(tracked())


@pytest.mark.long
def test_sdist_of_the_sdist_is_the_same(sdist: Path, tmp_path: Path) -> None:
    """Distributions patch an sdist and pack it again."""
    with tarfile.open(build("sdist", sdist, tmp_path, cython=False)) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    assert names == files_in(sdist)


@pytest.mark.long
def test_pure_wheel_is_for_every_platform_and_has_what_the_package_reads(pure_wheel: Path) -> None:
    assert pure_wheel.name == f"{NAME}-py3-none-any.whl"
    names = {n for n in zipfile.ZipFile(pure_wheel).namelist() if ".dist-info/" not in n}
    sources = (".pyx", ".pxi", ".pxd", ".h")
    assert names == {
        name
        for name in tracked()
        if name.startswith("scrapy_simhash/") and not name.endswith(sources)
    }


@pytest.mark.long
def test_unknown_build_is_refused(sdist: Path, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        build("wheel", sdist, tmp_path, SIMHASH_BUILD="fast")
    assert b"SIMHASH_BUILD must be one of" in refused.value.stderr


def package_page(sdist: Path) -> Message:
    return email.message_from_string((sdist / "PKG-INFO").read_text(encoding="utf-8"))


def targets(text: str) -> list[str]:
    """What the links of a document lead to."""
    return re.findall(r"\]\(([^)\s]+)\)", text)


def anchors(document: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def assert_leads_somewhere(target: str, document: Path) -> None:
    name, _, anchor = target.partition("#")
    found = document.parent / name if name else document
    assert found.exists(), f"{document.name} links to {target}"
    assert not anchor or anchor in anchors(found), f"{document.name} links to {target}"


@pytest.mark.parametrize(
    "document",
    [
        path.relative_to(FOLDER).as_posix()
        for pattern in ("*.md", "docs/*.md", ".github/**/*.md")
        for path in sorted(FOLDER.glob(pattern))
    ],
)
def test_links_between_files_lead_somewhere(document: str) -> None:
    path = FOLDER / document
    for target in targets(path.read_text(encoding="utf-8")):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert_leads_somewhere(target, path)


@pytest.mark.long
def test_page_of_the_package_has_no_link_that_leads_nowhere(sdist: Path) -> None:
    page = package_page(sdist)
    files = f"{page['Home-page']}/blob/v{__version__}/"
    for link in targets(str(page.get_payload())):
        assert link.startswith("https://"), link
        if link.startswith(files):
            assert_leads_somewhere(link.removeprefix(files), FOLDER / "README.md")


def test_links_of_the_package_are_made_of_the_address_of_the_repository(tmp_path: Path) -> None:
    for name in "README.md", "setup.py", "setup.cfg", "pyproject.toml":
        shutil.copy(FOLDER / name, tmp_path)
    shutil.copytree(FOLDER / "scrapy_simhash", tmp_path / "scrapy_simhash")
    setup_cfg = tmp_path / "setup.cfg"
    url = "https://code.example/simhash"
    setup_cfg.write_text(setup_cfg.read_text().replace("[metadata]", f"[metadata]\nurl = {url}"))
    made = subprocess.run(
        [sys.executable, "setup.py", "-q", "dist_info"],
        cwd=tmp_path,
        env={**os.environ, "SIMHASH_BUILD": "pure"},
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    (metadata,) = tmp_path.glob("*.dist-info/METADATA")
    page = metadata.read_text(encoding="utf-8")
    assert f"Project-URL: Issues, {url}/issues" in page
    files = f"{url}/blob/v{__version__}/"
    links = [link for link in targets(page) if link.startswith(files)]
    assert f"{files}docs/algorithm.md" in links
    assert not [link for link in targets(page) if "://" not in link]


@pytest.mark.long
def test_version_has_one_place_and_its_changes(sdist: Path) -> None:
    assert package_page(sdist)["Version"] == __version__
    assert re.search(
        rf"^## {re.escape(__version__)} \(.+\)$",
        (FOLDER / "CHANGELOG.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    sources = [
        *(FOLDER / "scrapy_simhash").rglob("*.py"),
        FOLDER / "setup.py",
        FOLDER / "setup.cfg",
    ]
    stating = [path.name for path in sources if __version__ in path.read_text(encoding="utf-8")]
    assert stating == ["setup.cfg"]


@pytest.mark.parametrize(
    ("document", "of_one"),
    [
        ("tox.ini", r"\bpy3(\d+)"),
        ("pyproject.toml", r"\bcp3(\d+)-\*"),
        (".github/workflows/ci.yml", r'(?:\[|, )"3\.(\d+)"'),
        (".ci/wheels", r" 3\.(\d+)(?= [3\d.]|;)"),
        ("README.md", r"Python 3\.(\d+) to 3\.(\d+)"),
        ("docs/compatibility.md", r"Python 3\.(\d+) to 3\.(\d+)"),
    ],
)
def test_the_supported_pythons_are_the_same_everywhere(document: str, of_one: str) -> None:
    classified = re.findall(
        r"Python :: 3\.(\d+)$", (FOLDER / "setup.cfg").read_text("utf-8"), re.MULTILINE
    )
    found = re.findall(of_one, (FOLDER / document).read_text("utf-8"))
    if isinstance(found[0], tuple):
        assert found == [(classified[0], classified[-1])]
    else:
        assert found == classified
