"""What setup.cfg cannot declare: extension modules, and links for the package's page."""

import os
import re
from configparser import ConfigParser
from pathlib import Path

import lxml
from setuptools import Extension, setup

FOLDER = Path(__file__).parent
MODULES = {
    "analysis/compiled": ["analysis/_murmur3.h"],
    "analysis/compiled_walk": ["analysis/events.pxd"],
    "tables/compiled": ["tables/_memory.h", "tables/_scan.h", "tables/compiled_lines.pxi"],
}
# Compiled as they are, with the types in the .pxd beside each; without, Python runs them.
PLAIN_MODULES = (
    *("analysis/blocks", "analysis/events", "analysis/literals", "analysis/main_blocks"),
    *("analysis/frames", "analysis/own_values", "analysis/page_addresses", "analysis/values"),
    *("crawl/known_addresses", "decision/comparison", "decision/cuts", "decision/template"),
    "hashes",
)
# "" compiles if there is a C compiler; else the twins in Python serve.
# "compiled" fails if there is none: a wheel for one platform must hold the modules.
# "pure" makes a wheel for every platform, without them.
BUILDS = ("", "compiled", "pure")


def extensions(build: str) -> list[Extension]:
    """Return the modules to compile.

    The flags name no processor: what needs instructions beyond the platform's baseline is
    compiled beside the portable loop, and chosen at run time (``_scan.h``).
    """
    if build not in BUILDS:
        raise SystemExit(f"SIMHASH_BUILD must be one of {BUILDS}: got {build!r}")
    if build == "pure":
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:  # an sdist is made without it
        cythonize = _as_they_are

    modules = {f"{module}.pyx": parts for module, parts in MODULES.items()}
    modules |= {f"{module}.py": [f"{module}.pxd"] for module in PLAIN_MODULES}
    compiled = cythonize(
        [
            Extension(
                f"scrapy_simhash.{source.partition('.')[0].replace('/', '.')}",
                sources=[f"scrapy_simhash/{source}"],
                depends=[f"scrapy_simhash/{part}" for part in parts],
                include_dirs=lxml.get_include(),
                # Python was often built with -g, which makes the modules five times as large.
                extra_compile_args=["-O3", "-g0"] if os.name == "posix" else [],
            )
            for source, parts in modules.items()
        ],
        build_dir="build",
        quiet=True,
    )
    for one in compiled:
        one.optional = build == ""
    return list(compiled)


def _as_they_are(modules: list[Extension], **_options: object) -> list[Extension]:
    return modules


def stated(name: str) -> str:
    """Return what setup.cfg says of the package; empty if nothing: without url, no link is made."""
    config = ConfigParser()
    config.read(FOLDER / "setup.cfg", encoding="utf-8")
    return config["metadata"].get(name, "")


def page_of_the_package(url: str) -> str:
    """Return README.md with links to this version's files in the repository, or without links.

    On the page of the package a relative link leads nowhere.
    """
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    if url:
        return re.sub(r"\]\((?!https?:|#)", f"]({url}/blob/v{stated('version')}/", text)
    return re.sub(r"\[([^][]*)\]\((?!https?:|#)[^)]*\)", r"\1", text)


def links(url: str) -> dict[str, str]:
    """Return what the package's page links to."""
    pages = {"Documentation": "/tree/main/docs", "Changes": "/blob/main/CHANGELOG.md"}
    return {name: url + page for name, page in (pages | {"Issues": "/issues"}).items() if url}


setup(
    ext_modules=extensions(os.environ.get("SIMHASH_BUILD", "")),
    options={"build_ext": {"parallel": True}},  # a compiler for each core
    long_description=page_of_the_package(stated("url")),
    project_urls=links(stated("url")),
)
