"""The mistakes that mutants.py makes are those that it names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.project.equivalent_mutants import EQUIVALENT
from tests.project.mutants import Mutant, all_mutants, sample
from tests.project.mutations import mutations

FOLDER = Path(__file__).parents[2]


def changed(name: str, source: str) -> list[str]:
    text = source.encode()
    return [one.apply(text).decode() for one in mutations(name, text)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", ["x = (a <= b)"]),
        ("x = a and b", ["x = (a or b)", "x = (b)", "x = (a)"]),
        ("x = min(a, b)", ["x = (max(a, b))"]),
        ("x = f(a, b, c=d)", ["x = (f(a, b))", "x = (f(b, a, c=d))"]),
        ("MOST = 1 << 4", ["MOST = (1 << 4) * 1000"]),
        ("if a:\n    b()", ["if (not (a)):\n    b()", "if a:\n    pass"]),
        ("def f(a: int = 2) -> int:\n    return a", None),
        ("x = 'SELECT a WHERE b < ? AND c'", None),
        ("def __str__(self):\n    return 1", []),
        ("'A docstring: 1 < 2.'\nlogger.info('%d', 1 + 1)", []),
        ("raise ValueError(f'{1 + 1}')", ["pass"]),
    ],
)
def test_python_is_changed_in_one_place(source: str, expected: list[str] | None) -> None:
    found = changed("a.py", source)
    assert all(ast.dump(ast.parse(one)) != ast.dump(ast.parse(source)) for one in found)
    if expected is None:
        assert len(found) > 1
    else:
        assert sorted(found) == sorted(expected)


def test_lua_is_changed_outside_its_comments_and_strings() -> None:
    found = changed("a.lua", "-- a == b\nif a == '1 < 2' then\n  put(a)\nend")
    assert sorted(found) == sorted(
        [
            "-- a == b\nif a ~= '1 < 2' then\n  put(a)\nend",
            "-- a == b\nif true then\n  put(a)\nend",
            "-- a == b\nif false then\n  put(a)\nend",
            "-- a == b\nif a == '1 < 2' then\n\nend",
        ]
    )


@pytest.mark.long
def test_sample_is_that_of_its_seed_and_has_each_module() -> None:
    mutants = all_mutants(FOLDER)
    chosen = sample(mutants, 100, seed=1)
    assert chosen == sample(mutants, 100, seed=1) != sample(mutants, 100, seed=2)
    assert len(chosen) == len(set(chosen)) == 100
    assert {mutant.path for mutant in chosen} == {mutant.path for mutant in mutants}


@pytest.mark.long
def test_each_equivalent_mutant_is_still_made() -> None:
    """Otherwise the source has changed, and the reason may be wrong."""
    made = {mutant.name for path in {one[0] for one in EQUIVALENT} for mutant in made_of(path)}
    for path, function, difference, reason in EQUIVALENT:
        name = Mutant.name_of(path, function, difference.strip().splitlines())
        assert name in made, difference
        assert reason


def made_of(path: str) -> list[Mutant]:
    source = (FOLDER / path).read_bytes()
    return [Mutant(path, mutation, source) for mutation in mutations(path, source)]
