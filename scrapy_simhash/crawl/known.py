"""The addresses that the spider has been handed, and whether a page leads to any other."""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from urllib.parse import urlsplit

from scrapy_simhash.analysis.fingerprint import hash_feature
from scrapy_simhash.report.addresses import Address, AddressRule, difference
from scrapy_simhash.report.counting import Heaviest
from scrapy_simhash.rule.hashes import hash_of
from scrapy_simhash.rule.links import unpack_links

# Slots of 8 bytes: 32 MB at most, of which the system gives only what is used.  An address is
# forgotten when another one takes its slot: of 1 million addresses, 11 % are.
SLOTS = 1 << 22
KEPT_SLOTS = 1 << 20

# Rules that are tried, and how often one must have been right before it counts.
RULES = 32
# A copy with more new links than this leads on, without a look at rules.
MOST_NEW = 64
TRUSTED_AFTER = 5
# Some copies of a mirror are kept, since they are too short, say.  Of two releases of a
# documentation, far more pages differ.
MOST_WRONG = 0.02
# Of a kept address, so many parameters are looked at one by one.
MARKED_PARAMETERS = 5


class KnownAddresses:
    """A set of addresses in bounded memory that may forget some, but never invents one.

    Each address is a 64-bit hash in the one slot that the hash names: about 8 bytes an address.
    A forgotten address counts as new, so that a page passes which leads nowhere new.  Two addresses
    with one hash (a chance of 2**-42 for each page that looks among 2**22) would hide a new one.
    """

    def __init__(self, slots: int = SLOTS) -> None:
        self._mask = slots - 1
        self._slots = memoryview(mmap.mmap(-1, 8 * slots)).cast("Q")

    def add(self, addresses: Iterable[str]) -> None:
        """Take note of addresses; 0.5 us each."""
        for address in addresses:
            value = _hash(address)
            self._slots[value & self._mask] = value

    def __contains__(self, address: str) -> bool:
        value = _hash(address)
        return self._slots[value & self._mask] == value


def _hash(address: str) -> int:
    """Return 64 bits of an address, never 0, which an empty slot has."""
    return hash_feature(address) or 1


@dataclass(slots=True)
class _Trial:
    """How often the two addresses that a rule makes one had the same text, or had not."""

    same: int = 0
    different: int = 0

    @property
    def pages(self) -> int:
        return self.same + self.different

    @property
    def is_trusted(self) -> bool:
        return self.same >= TRUSTED_AFTER and self.different <= MOST_WRONG * self.same


class Reach:
    """What the spider has been handed, and whether a copy of a page leads anywhere else.

    A link of a copy counts as handed, too, if it was under a rule by which addresses are one:

    - what the addresses of the copy and of the kept page differ in, if that is a parameter that the
      link has with the same value as the copy: a session;
    - any rule that was right at least :data:`TRUSTED_AFTER` times, and hardly ever wrong.  It is
      right if a copy, its links rewritten, leads nowhere new.  It is wrong if the copy leads on,
      or if of two addresses that the rule makes one both are kept for their texts.
    """

    def __init__(self) -> None:
        self._handed = KnownAddresses()
        self._kept = KnownAddresses(KEPT_SLOTS)
        self._trials: Heaviest[AddressRule, _Trial] = Heaviest(RULES, _Trial, attrgetter("pages"))

    def hand(self, addresses: Iterable[str]) -> None:
        """Note that the spider gets these addresses, as links of a page or of a request."""
        self._handed.add(addresses)

    def note_unique(self, url: str) -> None:
        """Note that a page is like none before: rules that make it one of them are wrong.

        Cost: 0.2 us for each rule, of which there are at most :data:`RULES`, and 5 us for each that
        may be about the page.
        """
        for rule, trial in self._trials.items():
            if not _may_be_about(rule, url):
                continue
            short = rule.rewritten(url)
            if short != url and (short in self._kept or _mark(short, rule) in self._kept):
                trial.different += 1
        self._kept.add([url, *_marks(url)])

    def leads_on(
        self, links: Iterable[str], url: str, kept_url: str, kept_links: bytes | None = None
    ) -> bool:
        """Whether a copy at *url* of the page at *kept_url* links to what was never handed.

        *kept_links* are those of the kept page, which another process may have handed its spider.

        Cost: 0.5 us for each link, and for each of at most :data:`MOST_NEW` new ones up to 5 us for
        each trusted rule.
        """
        own, kept = {url, kept_url}, unpack_links(kept_links)

        def is_known(address: str) -> bool:
            if address in own or address in self._handed:
                return True
            return bool(kept) and hash_of(address) in kept

        def is_known_by(rules: Iterable[AddressRule], link: str) -> bool:
            about = (rule for rule in rules if _may_be_about(rule, link))
            return any(is_known(rule.rewritten(link)) for rule in about)

        new = [link for link in links if not is_known(link)]
        if len(new) > MOST_NEW:
            return True
        trusted = [rule for rule, trial in self._trials.items() if trial.is_trusted]
        new = [link for link in new if not is_known_by(trusted, link)]
        rule = difference(Address.of(url), Address.of(kept_url))
        if rule is None:
            return bool(new)
        session = _Session(url, kept_url, rule)
        new = [link for link in new if not is_known(session(link))]
        is_right = all(is_known_by([rule], link) for link in new)
        trial = self._trials[rule]
        trial.same += is_right
        trial.different += not is_right
        return bool(new) and not (is_right and trial.is_trusted)


def _may_be_about(rule: AddressRule, url: str) -> bool:
    """Whether a rule may change an address: a look of 0.2 us, where changing it takes 5."""
    return rule.host in url and rule.drop.partition("&")[0] in url


class _Session:
    """Replaces what a link has of the parameters of a copy by those of the kept page."""

    def __init__(self, url: str, kept_url: str, rule: AddressRule) -> None:
        self._host = rule.host
        self._names = rule.drop.split("&") if rule.kind == "parameter" else []
        self._own, self._kept = _parameters(url), _parameters(kept_url)

    def __call__(self, link: str) -> str:
        parts = urlsplit(link)
        if not self._names or parts.netloc.lower() != self._host:
            return link
        pieces = []
        for piece in parts.query.split("&"):
            name, _, value = piece.partition("=")
            # Only the value of the page itself: the next page of a list has another number.
            if name in self._names and self._own.get(name) == value:
                if name not in self._kept:
                    continue
                piece = f"{name}={self._kept[name]}"
            pieces.append(piece)
        return parts._replace(query="&".join(pieces)).geturl()


def _marks(url: str) -> Iterable[str]:
    """Yield what stands for an address with any value of one of its parameters."""
    parts = urlsplit(url)
    pieces = parts.query.split("&") if parts.query else []
    for place, piece in enumerate(pieces[:MARKED_PARAMETERS]):
        others = [*pieces[:place], *pieces[place + 1 :]]
        short = parts._replace(query="&".join(others)).geturl()
        yield f"{short} {piece.partition('=')[0]}"


def _mark(short: str, rule: AddressRule) -> str:
    """Return what :func:`_marks` yields for the parameter that a rule drops."""
    return f"{short} {rule.drop}"


def _parameters(url: str) -> dict[str, str]:
    """Return the parameters of an address as they are written; of a repeated one the last."""
    pieces = (piece.partition("=") for piece in urlsplit(url).query.split("&") if piece)
    return {name: value for name, _, value in pieces}
