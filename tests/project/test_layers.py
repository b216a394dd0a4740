"""Folders import downwards only, and know Scrapy only where they may."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "scrapy_simhash"

# From the top down: a module imports those of lower layers, and of its own folder.
LAYERS = [
    {"__init__"},
    {"addon", "commands", "testing"},
    {"spark"},
    {"batch", "crawl"},
    {"report"},
    {"pipeline"},
    {"workers"},
    {"index"},
    {"url_rules"},
    {"analysis"},
    {"decision"},
    {"tables"},
    {"settings"},
    {"errors", "files", "hashes", "urls"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
KNOWS_SCRAPY = {"addon", "commands", "crawl", "testing.child"}
MODULES = sorted(PACKAGE.rglob("*.py"))


def module_of(path: Path) -> str:
    """The name of a module in the package: ``index.redis.rows``; a folder's own is its name."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def layer_of(module: str) -> str:
    return module.partition(".")[0]


def imports(path: Path) -> set[str]:
    """Names of what a file imports, with those for type checking and within functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


NAMES = {module_of(path) for path in MODULES}


def own_imports(path: Path) -> set[str]:
    """The modules of the package that a file imports, by their names in it."""
    found = set()
    for name in imports(path):
        top, _, rest = name.partition(".")
        if top == "scrapy_simhash":
            whole = rest if rest in NAMES else rest.rpartition(".")[0] or "__init__"
            found.add(whole)
    return found


@pytest.mark.parametrize("path", MODULES, ids=module_of)
def test_module_imports_only_downwards(path: Path) -> None:
    layer = layer_of(module_of(path))
    for other in map(layer_of, own_imports(path)):
        assert other == layer or RANK[other] > RANK[layer], f"{layer} imports {other}"


@pytest.mark.parametrize("path", MODULES, ids=module_of)
def test_only_three_layers_and_the_crawl_of_a_test_know_scrapy(path: Path) -> None:
    knows = {name.partition(".")[0] for name in imports(path)} & {"scrapy", "twisted"}
    module = module_of(path)
    assert not knows or {module, layer_of(module)} & KNOWS_SCRAPY


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = {module_of(path): own_imports(path) - {module_of(path)} for path in MODULES}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_every_layer_is_there_and_has_its_rank() -> None:
    assert {layer_of(module) for module in NAMES} == set(RANK)


COMPONENTS = """
import sys
from scrapy.settings import Settings
from scrapy_simhash import Addon
settings = Settings({"SIMHASH_RULES": sys.argv[1]})
Addon().update_settings(settings)
components = ("DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "EXTENSIONS")
print(*(one.__name__ for name in components for one in settings[name]), *sys.modules)
"""
ABOUT_RULES = {"url_rules", "crawl.rules", "crawl.parking", "crawl.parked", "crawl.dead_ends"}


@pytest.mark.parametrize("rules", ["suggest", "use", "off"])
def test_rules_are_imported_only_if_they_are_on(rules: str) -> None:
    command = [sys.executable, "-c", COMPONENTS, rules]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {*done.stdout.split()}
    assert "SimhashDownloaderMiddleware" in loaded
    assert ("SimhashRulesMiddleware" in loaded) == (rules != "off")
    names = {f"scrapy_simhash.{name}" for name in ABOUT_RULES}
    assert names & loaded == (set() if rules == "off" else names)


def test_workers_do_not_import_scrapy() -> None:
    code = "import sys, scrapy_simhash.workers.child; sys.exit('scrapy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
