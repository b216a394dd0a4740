"""Two reports side by side."""

from __future__ import annotations

from typing import Any

from scrapy_simhash.report.document import SCHEMA
from scrapy_simhash.rule.page import VARIANT_REASONS

# The numbers that are compared; times and bytes differ by accident.
TOTALS = (
    *("pages", "judged", "unique", "variant", "near_duplicate", "exact_duplicate"),
    *("refresh", "unchanged", "moved"),
    *VARIANT_REASONS,
    *("skipped", "duplicate_share", "dropped", "flagged", "redirected"),
)


def comparison_of(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return rows of what both reports count: their *section*, *name*, and the two numbers.

    Sites and differences of either report have a row, with 0 for the report that lacks them.
    """
    return {
        "schema": SCHEMA,
        "names": [one["name"], other["name"]],
        "rows": [
            {"section": section, "name": name, "one": first, "other": second}
            for section, key, number in (
                ("totals", "", ""),
                ("skipped", "reason", "pages"),
                ("sites", "site", "duplicates"),
                ("differences", "advice", "duplicates"),
            )
            for name, first, second in _rows(
                _counts(one, section, key, number), _counts(other, section, key, number)
            )
        ],
    }


def _counts(report: dict[str, Any], section: str, key: str, number: str) -> dict[str, float]:
    if section == "totals":
        return {name: report["totals"][name] for name in TOTALS}
    return {row[key]: row[number] for row in report[section]}


def _rows(one: dict[str, float], other: dict[str, float]) -> list[tuple[str, float, float]]:
    return [(name, one.get(name, 0), other.get(name, 0)) for name in {**one, **other}]
