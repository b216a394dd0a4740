"""Draws the downloads of two crawls over time, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

WIDTH, HEIGHT, LEFT, BELOW, ABOVE = 640, 320, 60, 40, 20
# Readable on white and on black.
COLOURS = ("#d1495b", "#2e86ab")
_TEXT = 'font-family="sans-serif" font-size="13" fill="#888"'


def drawn(courses: Mapping[str, Sequence[int]], contents: int, met: int) -> str:
    """Return a picture of how many downloads there were after so many addresses were *met*.

    What comes after them was downloaded when the spider was idle.
    """
    most = max(course[-1] for course in courses.values())
    longest = max(met, *map(len, courses.values()))

    def at(x: float, y: float) -> str:
        left = LEFT + x / longest * (WIDTH - LEFT - 20)
        return f"{left:.1f},{HEIGHT - BELOW - y / most * (HEIGHT - BELOW - ABOVE):.1f}"

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f'<polyline points="{at(0, most)} {at(0, 0)} {at(longest, 0)}" fill="none" stroke="#888"/>',
        _dashed(at(0, contents), at(longest, contents)),
        _dashed(at(met, 0), at(met, most)),
        f'<text x="8" y="{at(0, contents).split(",")[1]}" {_TEXT}>{contents:,}</text>',
        f'<text x="8" y="{ABOVE + 5}" {_TEXT}>{most:,}</text>',
        f'<text x="{LEFT}" y="{HEIGHT - 12}" {_TEXT}>addresses met, then idle; '
        "dashed: pages with content of their own</text>",
    ]
    for colour, (name, course) in zip(COLOURS, courses.items(), strict=True):
        points = " ".join(at(x, y) for x, y in enumerate(course) if x % 20 == 0)
        end = at(len(course) - 1, course[-1])
        lines.append(f'<polyline points="{points} {end}" fill="none" stroke="{colour}"/>')
        top = float(end.split(",")[1])
        lines.append(
            f'<text x="{LEFT + 20}" y="{max(top - 6, ABOVE + 5):.0f}" font-family="sans-serif" '
            f'font-size="13" fill="{colour}">{name}: {course[-1]:,} downloads</text>'
        )
    return "\n".join([*lines, "</svg>", ""])


def _dashed(start: str, end: str) -> str:
    return f'<polyline points="{start} {end}" stroke="#888" stroke-dasharray="4"/>'
