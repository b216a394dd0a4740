"""Layers import downwards only, and files stay short."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "scrapy_simhash"

# From the top down; a module may import those of lower layers, and of its own package.
LAYERS = [
    ["addon", "commands"],
    ["extension", "links", "monitors", "prometheus", "reporting"],
    ["middleware", "pausing"],
    ["recall"],
    [
        "components",
        "exceptions",
        "feed",
        "judgement",
        "log",
        "redirects",
        "report",
        "scope",
        "shared",
        "signals",
        "withdrawals",
        "workers",
    ],
    ["worker"],
    ["analysis"],
    ["index"],
    ["sketch", "tables", "template"],
    ["extras", "settings"],
    ["errors", "places", "progress", "_version"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
SCRAPY_FACES = {
    *("addon", "commands", "extension", "links", "monitors", "prometheus", "reporting"),
    *("middleware", "pausing", "components", "exceptions"),
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(path: Path) -> set[str]:
    """Names of the modules that a file imports, those for type checking included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_module_imports_only_downwards(path: Path) -> None:
    if path == PACKAGE / "__init__.py":
        return
    layer = layer_of(path)
    for name in imports(path):
        top, _, rest = name.partition(".")
        if top == "scrapy_simhash":
            other = rest.split(".")[0]
            assert other == layer or RANK[other] > RANK[layer], f"{layer} imports {other}"
        if top in ("scrapy", "twisted"):
            assert layer in SCRAPY_FACES, f"{layer} knows Scrapy"


def test_every_module_has_a_layer() -> None:
    assert {layer_of(path) for path in MODULES} - {"__init__"} == set(RANK)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_file_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


def test_workers_do_not_import_scrapy() -> None:
    code = "import sys, scrapy_simhash.workers; sys.exit('scrapy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
