"""The names in the package are words of docs/glossary.md, or of the list in docs/tour.md."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "scrapy_simhash"
# An entry: its term in bold, and behind it in brackets its names in the code.
ENTRIES = re.findall(
    r"^- (\*\*.+?\*\*(?: and \*\*.+?\*\*)*)(?: \((`.+?)\))?:",
    "".join((ROOT / "docs" / page).read_text() for page in ("glossary.md", "tour.md")),
    re.MULTILINE,
)
LAYERS = ("decision", "index", "url_rules", "crawl")

# Classes that stand for no concept: parts of a backend, of Scrapy, or of one module alone.
TECHNICAL = """
    Buckets Checkpoints Counts Invariant Problem Question Script Segments Server
    Atom Changing Comparable Naming Differences Found Judged Kind Parameters Session StoredField
    Told JobState Parts RareWarning RuledOut Sample Shared Shown Sight
    Target Threshold UnderWay Withdrawals
"""


def names_in(path: Path) -> Iterator[str]:
    """The public classes and functions of a module."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
            yield node.name


def classes_in(path: Path) -> set[str]:
    return {name for name in names_in(path) if name[0].isupper()}


def words_of(name: str) -> set[str]:
    """The words of a name in CamelCase, each also in the singular."""
    words = {word.lower() for word in re.findall(r"[A-Z][a-z]+", name)}
    return words | {word.removesuffix("s") for word in words}


NAMES = {name for _, names in ENTRIES for name in re.findall(r"`(\w+)`", names)}
WORDS = {
    "simhash",
    *(word.lower() for term, _ in ENTRIES for word in re.findall(r"\w+", term.partition("](")[0])),
    *(word for name in NAMES for word in words_of(name)),
}


def test_each_name_in_the_glossary_exists() -> None:
    known = {name for path in PACKAGE.rglob("*.py") for name in names_in(path)}
    assert len(NAMES) > 30
    assert known >= NAMES


def test_each_concept_in_the_code_is_named_by_a_word_of_the_glossary() -> None:
    classes = {
        name
        for layer in LAYERS
        for path in (PACKAGE / layer).rglob("*.py")
        for name in classes_in(path)
    }
    unnamed = {name for name in classes if not words_of(name) & WORDS}
    assert unnamed == set(TECHNICAL.split())


def test_no_two_classes_have_one_name() -> None:
    places = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        # The backends of an index have the same parts.
        place = re.sub("sqlite|redis", "BACKEND", str(path.relative_to(PACKAGE).parent))
        for name in classes_in(path):
            places[name].add(place if "BACKEND" in place else str(path))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
