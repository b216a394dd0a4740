"""How long does the simhash of a text take, compared with other libraries?

Uses seeded texts of some hundred words, in Latin letters and in Chinese.  Each call starts from
the text as extracted (ours normalises it, too).  Prints the median of the rounds, and its ratio to
ours.

Peers cut texts in their own ways: gaoya treats a run of Chinese characters as one word, so it has
hardly any features to hash there.

Leaves out: extraction, which costs a thousand times more (bench_analysis.py).

    python benchmarks/bench_fingerprint.py [--words 600] [--rounds 30] [--peers NAME ...] [--json]

Peers that are not installed are left out, with a message: pip install simhash gaoya "numpy<2"
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable

from scrapy_simhash import FeatureScheme, fingerprint_text, simhash
from scrapy_simhash.analysis.features import normalise
from scrapy_simhash.analysis.fingerprint import compiled

SCHEME = FeatureScheme.from_name("words-3")


def latin(words: int) -> str:
    rng = random.Random(1)
    lexicon = ["".join(rng.choices("etaoinshrdlucmfw", k=rng.randint(2, 9))) for _ in range(5000)]
    return ". ".join(" ".join(rng.choices(lexicon, k=12)).capitalize() for _ in range(words // 12))


def chinese(words: int) -> str:
    rng = random.Random(2)
    return "。".join(
        "".join(chr(rng.randrange(0x4E00, 0x5E00)) for _ in range(20)) for _ in range(words // 20)
    )


def ours(text: str) -> object:
    return fingerprint_text(text, SCHEME)


def in_python(text: str) -> object:
    return simhash(SCHEME.features(text))


def simhash_1e0ng() -> Callable[[str], object]:
    from simhash import Simhash

    return lambda text: Simhash(normalise(text)).value


def gaoya() -> Callable[[str], object]:
    from gaoya.simhash import SimHashStringIndex

    # gaoya has no call for the fingerprint alone: this also looks it up in an empty index.
    index = SimHashStringIndex(analyzer="word", ngram_range=(3, 3), lowercase=True)
    return lambda text: index.query(text)


def trafilatura() -> Callable[[str], object]:
    from trafilatura.deduplication import Simhash

    return lambda text: Simhash(text).hash


PEERS = {"gaoya": gaoya, "simhash": simhash_1e0ng, "trafilatura": trafilatura}


def microseconds(function: Callable[[str], object], text: str, rounds: int) -> float:
    function(text)
    found = []
    for _ in range(rounds):
        calls = 0
        started = time.perf_counter()
        while time.perf_counter() - started < 0.02:
            function(text)
            calls += 1
        found.append((time.perf_counter() - started) / calls * 1e6)
    return statistics.median(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    functions: dict[str, Callable[[str], object]] = {"scrapy-simhash": ours}
    if compiled is None:
        print("the compiled module is not built: ours is in Python", file=sys.stderr)
    else:
        functions["scrapy-simhash in Python"] = in_python
    for name in options.peers:
        try:
            functions[name] = PEERS[name]()
        except ImportError as exc:
            print(f"{name} is left out: {exc}", file=sys.stderr)
    results = {}
    for kind, text in (("latin", latin(options.words)), ("chinese", chinese(options.words))):
        taken = {name: microseconds(f, text, options.rounds) for name, f in functions.items()}
        results[kind] = {
            name: {"us": round(us, 1), "ratio": round(us / taken["scrapy-simhash"], 1)}
            for name, us in taken.items()
        }
    if options.json:
        print(json.dumps({"words": options.words, "results": results}, indent=2))
        return
    for kind, found in results.items():
        for name, row in found.items():
            print(f"{kind:8} {name:26} {row['us']:8.1f} us  {row['ratio']:6.1f} x ours")


if __name__ == "__main__":
    main()
