"""Pages as an index sees them, made up for tests, and what is decided of them."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from itertools import islice
from pathlib import Path
from types import ModuleType

from scrapy_simhash.decision.holdings import KINDS, PageValues, ToldValues
from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.decision.page import Decision, Page, Reason
from scrapy_simhash.decision.sketch import sketch_of

PARAMETERS = Parameters(scheme="test", distance=2, min_tokens=10)
MASK = (1 << 64) - 1


def in_python(module: ModuleType) -> ModuleType:
    """A module that Cython compiles as it is, as Python runs it."""
    source = Path(str(module.__file__)).parent / f"{module.__name__.rpartition('.')[2]}.py"
    loader = SourceFileLoader(f"{module.__name__} in Python", str(source))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    found = module_from_spec(spec)
    sys.modules[loader.name] = found  # where dataclasses and pickle look for it
    loader.exec_module(found)
    return found


def page(name: str, fingerprint: int, tokens: int = 100, text: str = "", scope: str = "") -> Page:
    """A page at /name whose text is *text*; by default one of its own for each fingerprint."""
    return Page(
        url=f"http://site.example/{name}",
        request_fingerprint=name.encode().ljust(20, b"-"),
        scope=scope,
        fingerprint=fingerprint,
        digest=blake2b((text or f"text {fingerprint}").encode(), digest_size=16).digest(),
        tokens=tokens,
        judged_at=1.5,
    )


VERIFIED = Parameters(scheme="test", distance=2, min_tokens=10, share=0.9)


def page_with_content(
    name: str,
    content: Iterable[int],
    main_text: int = 0,
    block: int = 1,
    tokens: int = 100,
    content_fingerprint: int = 0,
) -> Page:
    """A page whose content has the shingles of these numbers."""
    spread = (i * 0x9E3779B97F4A7C15 % (1 << 64) for i in content)
    return Page(
        url=f"http://site.example/{name}",
        request_fingerprint=name.encode().ljust(20, b"-"),
        scope="",
        fingerprint=main_text,
        digest=main_text.to_bytes(16, "big"),
        tokens=tokens,
        judged_at=1.5,
        content_fingerprint=content_fingerprint,
        sketch=sketch_of(dict.fromkeys(spread, block)),
        site="site.example",
        blocks=(block,),
    )


def samples_in(stored: bytes) -> dict[int, int]:
    """The samples of a sketch, as they are read from its form: each with the mark of its block."""
    found: dict[int, int] = {}
    words = iter(range(47, len(stored), 3))
    for at in words:
        block, count = int.from_bytes(stored[at : at + 2], "big"), stored[at + 2]
        for there in islice(words, count):
            found[int.from_bytes(stored[there : there + 3], "big")] = block
    return found


def values(numbers: Iterable[int]) -> array[int]:
    """Values that are told apart by as few bits as are ever stored of one."""
    return array("Q", (number * 0x9E3779B97F4A7C15 % (1 << 64) >> 40 << 40 for number in numbers))


def with_values(page: Page, *numbers: int) -> Page:
    """The page with the values of these numbers as its own, by which it is compared, too."""
    kinds = bytes([KINDS.index("data")] * len(numbers))
    texts = "\n".join(map(str, numbers))
    places = array("H", [0] * len(numbers))
    told = ToldValues(values(numbers), kinds, places, ("",), texts)
    holds = PageValues(own=values(numbers), own_loose=values(numbers), told_values=told)
    return replace(page, holds=holds, own_values=holds.pack())


def near(representative: str, distance: int) -> Decision:
    return Decision(
        "near_duplicate", "within_distance", f"http://site.example/{representative}", distance
    )


def exact(representative: str) -> Decision:
    return Decision("exact_duplicate", "same_text", f"http://site.example/{representative}", 0)


def refreshed(name: str, distance: int, changed: bool, reason: Reason = "seen_before") -> Decision:
    return Decision("refresh", reason, f"http://site.example/{name}", distance, changed=changed)


UNIQUE = Decision("unique", "new_text")
