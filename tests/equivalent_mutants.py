"""Mutants that are as right as the source: tests/mutants.py counts them neither way.

Each has its module, its difference (blanks do not matter), and the reason.
"""

EQUIVALENT: list[tuple[str, str, str]] = []
