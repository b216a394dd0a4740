"""What the spider has been handed, and the decision on a page that leads beyond that.

An index decides on a page by its text and values.  A duplicate is kept all the same if it has
addresses that the spider was never handed: :func:`decide` asks the :class:`Reach` for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, filterfalse, islice
from posixpath import splitext
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from scrapy_simhash.analysis.fingerprint import hash_feature, hash_features
from scrapy_simhash.crawl.known_addresses import KnownAddresses
from scrapy_simhash.decision.cuts import NO_CUTS, Cuts, stripped, with_stripped
from scrapy_simhash.decision.holdings import LEADING, Addresses, Told, unpack_addresses
from scrapy_simhash.decision.judge import SHOWN
from scrapy_simhash.decision.page import PURPOSE_BYTES, Decision, NearMiss, Page, Reason
from scrapy_simhash.decision.rewriting import Session
from scrapy_simhash.hashes import long_hash_of
from scrapy_simhash.index.base import Index
from scrapy_simhash.report.counting import Heaviest
from scrapy_simhash.urls import Address, folder_pattern, page_pattern, section_of

if TYPE_CHECKING:
    from scrapy_simhash.url_rules.evidence import Hypothesis
    from scrapy_simhash.url_rules.rule import AddressRule

KEPT_SLOTS = ASKED_SLOTS = 1 << 20
FRAME_SLOTS = 1 << 16

# The kinds of rules by which pages of one site are one.
PARAMETERS = ("parameter", "path_parameter")
# Rules that are tried.
RULES = 128
# A copy with more new links than this leads on, without a look at rules that are trusted, and one
# with more than the second without a look at its own rule.
MOST_NEW = 64
MOST_ALIASES = 250
# Trusted rules that apply to such a page, of those that are then applied to its links.
MOST_OF_PAGE = 2
# A parameter must not have mattered so many times before links with it count as known: if it does
# for a page of seven, this is found out with 95 %.
TRUSTED_AFTER = 20
# Pages must have been copies of so many others before a rule says where a link was that is known.
RENAMED_AFTER = 5
# Some copies of a mirror are kept, for example since they are too short.  Of two releases of a
# documentation, far more pages differ.
MOST_WRONG = 0.02
# If at most this share of the pages are others, a copy leads to what its kept page leads to: of two
# releases of a guide, as they are linked, between a fifth and a third.
MOST_OTHERS = 0.34
# If so many links led to another text for each that led to the same, that is no matter of pages.
MOST_APART = 0.25
# What has come with so many copies is not what one of them is about.
FRAME_AFTER = 2
# Of so many kinds of addresses, it is noted that a rule was right about them.
MOST_PATTERNS = 256
# Kinds of addresses of which it is known how often something was there.
MOST_KINDS = 1_024
# A page that is kept for these is another one than the kept page.
OTHER_PAGES: tuple[Reason, ...] = ("new_text", "new_data")
# Why a page is kept for an address of a kind; the first counts.
_REASONS: tuple[tuple[str, Reason], ...] = (
    ("link", "new_links"),
    ("media", "new_media"),
    ("data", "new_data"),
)
# So many links are waited for, and so many of one copy.
MOST_WAITING = 4_096
MOST_WAITING_OF_PAGE = 64
# Longer addresses are not waited for; as Scrapy's URLLENGTH_LIMIT.
MAX_WAITING = 2_083
# Parameters of a kept address that are looked at one by one.
MARKED_PARAMETERS = 5
# What an address is noted with that was on a page whose links were cut.
_CUT = 0x9E3779B97F4A7C15
# What is cut from a link and has such a word does not say where it leads: a number or a name of an
# item is shorter, and a UUID has hyphens.
_RANDOM = re.compile(r"(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{16,}|(?<![a-z\d-])\d{10,}", re.IGNORECASE)


class Party(NamedTuple):
    """For whom a page is: who asks, and a hash of what the callback gets beside it, its own first.

    What one party makes of an address says nothing of another one.
    """

    asker: str = ""
    purpose: bytes | None = None

    @property
    def asking(self) -> int:
        """What two parties have in common whose requests differ in their callbacks alone."""
        rest = (self.purpose or bytes(PURPOSE_BYTES))[PURPOSE_BYTES // 2 :]
        return long_hash_of(f"{self.asker} {rest.hex()}")

    def handed_on(self, url: str) -> int:
        """Return what addresses on pages like one are noted with: of each section by itself."""
        purpose = "" if self.purpose is None else self.purpose.hex()
        return long_hash_of(f"{self.asker} {purpose} {section_of(url)}")


ANYBODY = Party()


async def decide(
    index: Index, reach: Reach, page: Page, party: Party = ANYBODY
) -> tuple[Decision, Decision]:
    """Store a page, and decide on it: a duplicate by its values is kept for links that are new.

    Return the decision, and that by the text alone, from which the index learns.

    Where candidates are not verified, the index alone decides.  Another page may be judged as soon
    as the caller waits for anything.  So the caller must first say what the spider is handed, or a
    copy of this page seems to lead on.
    """
    decision = await index.add(page)
    address = with_stripped(page.url, index.learned.noises.of(page.section).cuts.parameters)
    by_text = decision.verdict != "variant"
    if decision.beside is not None and index.parameters.share is not None:
        told, _ = with_links(index, reach, page, decision.beside, party)
        decision = replace(decision, is_alias=told.is_duplicate or told.is_alias)
    elif (decision.reason == "new_text" or decision.verdict == "refresh") and not decision.replaces:
        reach.note_unique(page.url, by_text)
    if decision.reason in OTHER_PAGES:
        reach.note_judged(address, is_same=False, by_text=by_text)
    elif decision.is_duplicate and index.parameters.share is not None:
        told, leads_on = with_links(index, reach, page, decision, party)
        reach.note_judged(address, is_same=not leads_on)
        if told is not decision:
            await index.keep(page)
            return told, decision
    return decision, decision


def with_links(
    index: Index, reach: Reach, page: Page, decision: Decision, party: Party = ANYBODY
) -> tuple[Decision, bool]:
    """Return the decision on a page by what it says, or that it is kept for links that are new.

    It is if it is a duplicate with addresses that its *party* was never handed.  With it comes
    whether the page leads to something that no kept page may lead to.
    """
    if not decision.is_duplicate or decision.representative is None:
        return decision, False
    cuts = index.learned.noises.of(page.section).cuts
    known = index.learned.rules.about(Address.of(page.url).host)
    share = 1.0 if decision.share is None else decision.share
    closest = NearMiss(share, decision.distance or 0, decision.representative)
    kept = partial(Decision, "variant", representative=closest.url, distance=closest.distance)
    kept = partial(kept, share=share, closest=closest)
    if not page.holds.is_whole:
        return kept("new_links"), True
    addresses = page.holds.addresses
    told_of_kept = decision.kept_addresses, cuts, known, decision.renamed
    new = reach.new_among(addresses, page.url, closest.url, *told_of_kept, party=party)
    kinds = addresses.kinds_of(new.addresses) if new.addresses else {}
    for kind, reason in _REASONS:
        if own := [Told(kind, "", one) for one in kinds.get(kind, ())]:
            told = kept(reason, new=tuple(own[:SHOWN]), is_alias=new.are_aliases)
            return told, not new.are_known
    return decision, False


class Naming(NamedTuple):
    """Links to an address, up to its query, with a parameter that says which page they are on.

    *is_whole*: by the page's whole address, not by the value of a parameter.
    """

    start: str
    parameter: str
    is_whole: bool = False

    @property
    def may_be_idle(self) -> bool:
        """Whether it is trusted where the spider follows none of so many."""
        return self.is_whole


class Changing(NamedTuple):
    """Links that are others at each visit, at one place of the pages of a section."""

    section: str
    place: int

    @property
    def may_be_idle(self) -> bool:
        return True


# By what a link of a copy may be one of its kept page, or lead to the same.
Way: TypeAlias = "AddressRule | Naming"
Key: TypeAlias = "Way | Changing"


@dataclass(slots=True)
class _Trials:
    """What became of links that were known by one key alone.

    So many led to the *same*, to something *different*, or to nothing yet (*open*).  Of *texts*
    links that led to another text, and pairs of pages that a rule makes one, both were kept for
    their texts, of *values* for some values alone, while of *copies* one was a copy of the other:
    of those in *kept*, and more.
    *patterns* are the kinds of addresses that were copies or led to the same.
    """

    same: int = 0
    different: int = 0
    texts: int = 0
    values: int = 0
    open: int = 0
    are_followed: bool = False
    copies: int = 0
    kept: set[str] = field(default_factory=set)
    patterns: set[str] = field(default_factory=set)

    @property
    def pages(self) -> int:
        return self.same + self.different + self.wrong + self.open + self.copies

    @property
    def wrong(self) -> int:
        """Pairs of which the rule was wrong to make one page."""
        return self.texts + self.values

    @property
    def are_right(self) -> bool:
        """Whether so many links have led to the same, and hardly any to something else."""
        return (
            self.same >= TRUSTED_AFTER and max(self.wrong, self.different) <= MOST_WRONG * self.same
        )

    @property
    def is_of_many(self) -> bool:
        """Whether pages were copies of several others, so that it is no matter of one of them."""
        most = MOST_WRONG * self.copies
        return len(self.kept) >= TRUSTED_AFTER and self.wrong <= most and self.different <= most

    @property
    def are_trusted(self) -> bool:
        """Whether a rule is trusted to say what pages are one."""
        return self.is_of_many or self.are_right

    @property
    def may_rename(self) -> bool:
        """Whether links that were handed may have the place of others on the kept page.

        They may if pages were copies of several others, as most are that the rule is about.
        """
        most = MOST_OTHERS * (self.copies + self.wrong)
        return len(self.kept) >= RENAMED_AFTER and max(self.wrong, self.different) <= most

    @property
    def led_elsewhere(self) -> bool:
        """Whether more links led to another text than hold for a matter of single pages."""
        return self.texts > MOST_APART * self.same

    def note_copy(self, kept_url: str) -> None:
        """Note that a page was a copy of another one."""
        self.copies += 1
        if len(self.kept) < TRUSTED_AFTER:
            self.kept.add(kept_url)


class _Renamed(NamedTuple):
    """An address that is a value, and that the kept page has only under another name.

    *copies* are hashes of it in its place: one for each copy that was kept for it.
    """

    is_file: bool
    copies: list[int]


@dataclass(frozen=True, slots=True)
class _View:
    """What one party knows: what was *asked* for, if need be by who is *asking*.

    And what it was *handed* on pages like some, for *whose* followers it is.
    """

    handed: KnownAddresses
    asked: KnownAddresses
    asking: int
    whose: list[int]

    def _has(self, value: int) -> bool:
        if self.was_asked(value):
            return True
        was_handed = any(self.handed.has(value ^ one) for one in self.whose)
        return was_handed and not self.asked.has(value ^ _CUT)

    def __contains__(self, address: str) -> bool:
        return self._has(hash_feature(address))

    def was_asked(self, value: int) -> bool:
        """Whether a request was made for an address, by its hash."""
        return self.asked.has(value ^ self.asking)

    def unmet(self, held: Addresses, *kinds: str) -> list[str]:
        """Return the addresses of some kinds on a page that it does not know; 0.5 us each."""
        rows = [row for row in held.rows_of(*kinds) if not self._has(held.hashes[row])]
        texts = held.texts if rows else []
        return [texts[row] for row in rows]

    def ahead(self, held: Addresses) -> set[str]:
        """Return the links that it was handed, but never called so, and that it never asked for."""
        rows = {
            row
            for row, call in held.calls()
            if not any(self.asked.has(call ^ one) for one in self.whose)
            and not self.was_asked(held.hashes[row])
            and self._has(held.hashes[row])
        }
        texts = held.texts if rows else []
        return {texts[row] for row in rows}


@dataclass(slots=True)
class NewAddresses:
    """The *addresses* in a copy that are new.

    *are_aliases*: all are known under the rule that turns the address of the copy into that of the
    kept page, or under a trusted rule that applies to the copy.  *are_known*: some are known by a
    key at least, or they are too many to say.
    """

    addresses: set[str]
    are_aliases: bool = False
    are_known: bool = field(default=False, compare=False)


class Reach:
    """What the spider has been handed, and what a copy of a page has beside that.

    A link in a copy also counts as handed if one was that it would be on the kept page, by a key
    that is trusted:

    - the scheme, or www before the host;
    - a session: a parameter that the addresses differ in, and that nearly all links of the copy
      have with its own value;
    - :class:`Naming`: a link that names the page that it is on, or has a parameter of it;
    - :class:`Changing`: a link that is another one at each visit.

    A copy with links that are known by another key alone is kept, and what these lead to is noted
    (:meth:`note_judged`).  A key is trusted once :data:`TRUSTED_AFTER` such links have led to
    duplicates and at most :data:`MOST_WRONG` to something else; a rule also once so many kept
    pages have had copies by it.  That is said of links like those that led to duplicates.  Of a
    mirror or another release, any page may have changed: its links are known only once they were
    handed.

    Addresses in the content are values, too.  One that the kept page has under another name must
    have come with :data:`FRAME_AFTER` copies, or be a link that was handed, where pages of several
    others were copies by the same rule.  Of a picture, that says nothing: photo 7 of two albums.

    Where the spider follows none of so many, they are trusted, too; *under_way* pages may wait for
    their callbacks, which might.

    A spider may make of a link on one page what it makes of none on another.  So what was handed is
    known to one :class:`Party` alone, on pages of the sections of the copy and the kept page.  What
    was asked for is known to all, if Scrapy filters it and nobody's requests are told apart.

    Beside the content, a link that the spider never asked for counts as handed only if it was
    called so: who follows "next" alone makes nothing of the same address in a list of all pages.
    There, a link is no news either if nothing is at addresses of its folder.
    """

    def __init__(self, under_way: int = 0) -> None:
        self._idle_after = TRUSTED_AFTER + under_way
        # What the spider has met, and, mixed with whom it was for, what it was handed.
        self._handed = KnownAddresses()
        # What was asked for, if need be mixed with by whom, and, mixed with whom it was for, links
        # beside the content, each with what it was called.
        self._asked = KnownAddresses()
        self._kept = KnownAddresses(KEPT_SLOTS)
        # What the spider got with a copy though the kept page has something else there.
        self._frames = KnownAddresses(FRAME_SLOTS)
        self._rules: Heaviest[AddressRule, _Trials] = Heaviest(RULES, _Trials)
        self._others: Heaviest[Naming | Changing, _Trials] = Heaviest(RULES, _Trials)
        # By kind of address: how many were there (different), and how many were not (same).
        self._answers: Heaviest[str, _Trials] = Heaviest(MOST_KINDS, _Trials)
        # Links that are known by some keys alone, the oldest first.
        self._waiting: dict[str, tuple[Key, ...]] = {}

    def meet(self, addresses: Iterable[str]) -> None:
        """Note that the spider has these addresses, without what changes by itself."""
        self._handed.add(addresses)

    def hand_styles(self, addresses: Addresses, url: str, party: Party = ANYBODY) -> None:
        """Note which style sheets a party gets with the page at *url*, if it follows no link."""
        whose = party.handed_on(url)
        self._handed.add_hashes(one ^ whose for one in addresses.styles())

    def hand_all(self, addresses: Addresses, url: str, party: Party = ANYBODY) -> None:
        """Note that a party gets what is on the page at *url*, without what changes by itself."""
        whose = party.handed_on(url)
        self._handed.add_hashes(addresses.hashes)
        self._handed.add_hashes(one ^ whose for one in addresses.hashes)
        self._asked.add_hashes(call ^ whose for _, call in addresses.calls())

    def note_asked(self, addresses: Sequence[str], asking: int | None = 0) -> None:
        """Note that a request is made for an address, as it is and without what changes.

        *asking*: who gets it no second time by a link (:attr:`Party.asking`), 0 if nobody does,
        None if anybody does.
        """
        if asking is not None:
            self._asked.add_hashes(one ^ asking for one in hash_features(addresses))
            self._asked.add_hashes([asking] if asking else [])
        for key in (key for one in addresses for key in self._waiting.get(one, ())):
            self._trials_of(key).are_followed = True

    def note_judged(self, addresses: Iterable[str], is_same: bool, by_text: bool = False) -> None:
        """Note that an address led to a duplicate, or to something else, *by_text* or by values."""
        for address in addresses:
            keys = self._waiting.pop(address, ())
            if is_same and (rules := _rules_among(keys)):
                self._note_pattern(_pattern_of(address, rules), rules)
            for trials in map(self._trials_of, keys):
                trials.open = max(0, trials.open - 1)
                trials.are_followed = True
                trials.texts += by_text
                trials.different += not is_same and not by_text
                trials.same += is_same

    def note_answer(self, url: str, is_gone: bool) -> None:
        """Note that something is at an address, or nothing; 5 us."""
        trials = self._answers[_kind_of(url)]
        trials.same += is_gone
        trials.different += not is_gone

    def _leads_nowhere(self, link: str) -> bool:
        """Whether nothing was at many addresses in the folder of a link, and hardly ever a page."""
        trials = self._answers.get(_kind_of(link))
        return trials is not None and trials.are_right

    def _trials_of(self, key: Key) -> _Trials:
        return self._others[key] if isinstance(key, Naming | Changing) else self._rules[key]

    def _untrusted(
        self, keys: Sequence[Key], address: str, by_index: Mapping[Key, Hypothesis]
    ) -> list[Key]:
        """Return the keys that are not trusted to say what an address is on the kept page."""
        rules = _rules_among(keys)
        pattern = _pattern_of(address, rules) if rules else ""
        untrusted = (key for key in keys if not self._is_trusted(key, pattern))
        return [key for key in untrusted if not _is_proven(by_index.get(key), address)]

    def _is_trusted(self, key: Key, pattern: str = "") -> bool:
        if isinstance(key, Naming | Changing):
            trials = self._others.get(key)
            if trials is None:
                return False
            may_be_idle = key.may_be_idle and not trials.are_followed
            return (may_be_idle and trials.open >= self._idle_after) or trials.are_right
        # With parameters, there is no end of addresses; of a mirror, any page may be another one.
        if key.kind not in PARAMETERS and not _is_of_one_site(key):
            return False
        found = self._rules.get(key)
        return found is not None and found.are_trusted and pattern in found.patterns

    def _may_rename(self, rules: Sequence[AddressRule], link: str) -> bool:
        """Whether the place of a link on the kept page may be another's, by some rules at once."""
        if not rules:
            return False
        pattern = _pattern_of(link, rules)
        found = [self._rules[rule] for rule in rules]
        return all(trials.may_rename and pattern in trials.patterns for trials in found)

    def _note_pattern(self, pattern: str, rules: Iterable[AddressRule]) -> None:
        """Note that there was a copy at an address of a kind: others of it may be copies, too."""
        for rule in rules:
            patterns = self._rules[rule].patterns
            if len(patterns) < MOST_PATTERNS:
                patterns.add(pattern)

    def take_back(self, addresses: Sequence[str]) -> None:
        """Note that no request is sent for an address that was on a page; but one may have been."""
        if addresses[0] not in self._asked:
            for address in addresses:
                self._handed.remove(address)
            self._asked.add_hashes(one ^ _CUT for one in hash_features(addresses))

    def unmet(self, addresses: Iterable[str]) -> list[str]:
        """Return the addresses that the spider has not got yet; 0.3 us each."""
        return self._handed.missing(addresses)

    def _view(self, party: Party, *urls: str) -> _View:
        """Return what a party knows that gets pages at addresses."""
        asking = party.asking if self._asked.has(party.asking) else 0
        whose = {*map(party.handed_on, urls)}
        return _View(self._handed, self._asked, asking, [*whose])

    def note_unique(self, url: str, by_text: bool = True) -> None:
        """Note that a page is like none before: rules that make it one of them are wrong.

        If it is not *by_text*, it has some values of its own.

        Cost: 0.2 us for each rule, of which there are at most :data:`RULES`, and 5 us for each that
        may be about the page.
        """
        for rule, trial in self._rules.items():
            if not _may_be_about(rule, url):
                continue
            short = rule.rewritten(url)
            # The second stands for an address with any value of the parameter that is dropped.
            if short != url and (short in self._kept or f"{short} {rule.drop}" in self._kept):
                trial.texts += by_text
                trial.values += not by_text
        self._kept.add([url, *_marks(url)])

    def start_trials_over(self) -> None:
        """Forget what spoke against rules and namings, except for texts: it may be noise."""
        for trials in (*self._rules.values(), *self._others.values()):
            trials.different = trials.values = 0

    def new_among(
        self,
        held: Addresses,
        url: str,
        kept_url: str,
        kept: bytes | None = None,
        cuts: Cuts = NO_CUTS,
        known: Sequence[Hypothesis] = (),
        renamed: Sequence[int] = (),
        party: Party = ANYBODY,
    ) -> NewAddresses:
        """Return those links and media in a copy at *url* of the page at *kept_url* that are new.

        They come without what *cuts* leave out.  *kept* are the packed addresses of the kept page,
        which another process may have handed its spider.  *known* are the rules in the index that
        are about the host.  One that is proven is trusted, as where requests wait for
        it; new addresses that are known under one that pages have been copies by, and that is about
        the copy, are aliases.
        *renamed* are the numbers of those that are values and that the kept page has only under
        another name.  That they were handed says nothing: they must be in several copies, as what
        is around pages, or be links that a rule is right about.  What any other than *party* was
        handed, which the copy is for, says nothing.

        Cost: 0.5 us for each address, for each of at most :data:`MOST_NEW` new ones up to 5 us for
        each trusted rule, three times if rules are about the copy, and for each of at most
        :data:`MOST_ALIASES` 20 us.
        """
        own = {stripped(one, cuts.parameters) for one in (url, kept_url)}
        kept_hashes = unpack_addresses(kept)

        view = self._view(party, kept_url, url)
        ahead = view.ahead(held) - own

        def is_theirs(address: str) -> bool:
            return address in own or (
                bool(kept_hashes)
                and address not in ahead
                and hash_feature(address) >> 32 in kept_hashes
            )

        def is_known(address: str) -> bool:
            return is_theirs(address) or (address not in ahead and address in view)

        def is_known_by(rules: Iterable[AddressRule], link: str) -> bool:
            about = (rule for rule in rules if _may_be_about(rule, link))
            return any(is_known(rule.rewritten(link)) for rule in about)

        address = Address.of(url)
        rule = _rule_of(address, Address.of(kept_url))
        session = Session(url, kept_url)
        parameters = _rules_of(session.names, address.host)
        of_pages = [*parameters, *([rule] if rule and rule.kind != "parameter" else [])]
        for one in of_pages:
            self._rules[one].note_copy(kept_url)
        self._note_pattern(_pattern_of(url, of_pages), of_pages)
        section = section_of(url) if held.cuts else ""
        changing = {
            link: key
            for link, (left, place) in held.cut_links().items()
            if not is_known(link)
            and not (is_known(left) and any(one not in left for one in _RANDOM.findall(link)))
            and not self._is_trusted(key := Changing(section, place))
        }
        self._wait({one: [key] for one, key in changing.items()})
        unmet = [one for one in view.unmet(held, *LEADING) if not is_theirs(one)]
        if unmet and len(unmet) <= MOST_NEW:
            texts = held.texts
            beside = {texts[row] for row, _ in held.calls()}
            unmet = [one for one in unmet if not (one in beside and self._leads_nowhere(one))]
        new = [*unmet, *sorted(ahead), *changing]
        values = self._renamed(held, renamed)
        if not new and not values:
            return NewAddresses(set())
        if max(len(new), len(values)) > MOST_ALIASES:
            return NewAddresses({*new, *values}, are_known=True)
        trusted = [one for one, trials in self._rules.items() if trials.are_trusted]
        by_index: dict[Key, Hypothesis] = {one.rule: one for one in known if _is_for_links(one)}
        of_page = [*islice(_about(url, chain(_rules_of_copies(known), trusted)), MOST_OF_PAGE)]
        trusted = [*dict.fromkeys((*trusted, *_rules_among(by_index)))]
        carried = session.carried(held.of("link"))
        ways = partial(_ways, session, rule, [one for one in parameters if one.drop in carried])
        if len(new) > MOST_NEW:
            by = [*of_page, *([rule] if rule else [])]
            has_files = any(one.is_file for one in values.values())
            are_aliases = not has_files and all(is_known_by(by, one) for one in new)
            if rule is not None:
                self._wait({one: [rule] for one in new[:MOST_NEW] if is_known_by([rule], one)})
            return NewAddresses({*new}, are_aliases, are_known=True)

        def is_it(other: str) -> bool:
            return is_known(other) or any(
                is_known(one.rewritten(other))
                for one in trusted
                if _may_be_about(one, other) and not self._untrusted([one], other, by_index)
            )

        files: set[str] = set()
        doubtful: dict[str, list[Key]] = {}
        for link in dict.fromkeys((*new, *values)):
            if link in values and values[link].is_file:
                found = [keys for other, keys in ways(link) if is_known(other)]
                if not any(all(map(_is_of_one_site, keys)) for keys in found if keys):
                    files.add(link)
            elif link in values and link in view:
                if not view.was_asked(hash_feature(link)) or not self._may_rename(of_pages, link):
                    doubtful[link] = [*of_pages]
            else:
                found = [keys for other, keys in ways(link) if is_it(other)]
                missing = [self._untrusted(keys, link, by_index) for keys in found]
                missing += [[changing[link]]] if link in changing else []
                if [] not in missing:
                    doubtful[link] = missing[0] if missing else []
        waiting = {one: keys for one, keys in doubtful.items() if keys}
        self._wait(waiting)
        is_right = rule is not None and len(waiting) == len(doubtful)
        if rule is not None and not is_right:
            self._rules[rule].different += 1
        # A spider that does not follow what it was handed may follow the same without a parameter.
        keys = chain.from_iterable(waiting.values())
        is_right = is_right and not any(self._trials_of(key).led_elsewhere for key in keys)
        # By these, the page at its other address may have been dropped.
        tried = [one for one, trial in self._rules.items() if trial.same >= TRUSTED_AFTER]

        def is_known_elsewhere(address: str) -> bool:
            others = (one.rewritten(address) for one in of_page if _may_be_about(one, address))
            return any(is_known(other) or is_known_by(tried, other) for other in others)

        for link in values.keys() & {*doubtful, *files}:
            self._frames.add_hashes(islice(filterfalse(self._frames.has, values[link].copies), 1))
        are_aliases = not files and (is_right or all(map(is_known_elsewhere, doubtful)))
        are_known = are_aliases or any(doubtful.values())
        return NewAddresses({*doubtful, *files}, are_aliases, are_known)

    def _renamed(self, held: Addresses, numbers: Sequence[int]) -> dict[str, _Renamed]:
        """Return what the kept page has only under another name, but for what is in many copies.

        *numbers* are those of addresses on a page, which are values.  That by which the page calls
        itself leads nowhere else.
        """
        found: dict[str, _Renamed] = {}
        texts = held.texts if numbers else []
        for number in numbers:
            row = held.rows[number]
            if (kind := held.kind_of(number)) == "name":
                continue
            copies = [held.hashes[row] ^ held.places[number] ^ nth for nth in range(FRAME_AFTER)]
            if not self._frames.has(copies[-1]):
                found[texts[row]] = _Renamed(kind == "media", copies)
        return found

    def _wait(self, keys_of: Mapping[str, Sequence[Key]]) -> None:
        """Wait for what is behind addresses that are known by some keys alone."""
        for address, keys in islice(keys_of.items(), MOST_WAITING_OF_PAGE):
            if address not in self._waiting and len(address) <= MAX_WAITING:
                self._waiting[address] = tuple(keys)
                for key in keys:
                    self._trials_of(key).open += 1
        while len(self._waiting) > MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]


def _ways(
    session: Session, rule: AddressRule | None, carried: Sequence[AddressRule], address: str
) -> Iterator[tuple[str, list[Way]]]:
    """Yield what a link on a copy may be on its kept page, each with the keys that say so.

    *carried* are about parameters that are a matter of the session.
    """
    start, _, query = address.partition("?")
    ways: list[tuple[str, list[Way]]] = [(address, [])]
    for other in session.given(address):
        differing = session.differing(address, other)
        keys: list[Way] = [one for one in carried if one.drop in differing]
        if named := differing - {one.drop for one in carried}:
            keys.append(Naming(start, "&".join(sorted(named))))
        ways.append((other, keys))
    for other in session.named(address):
        pieces = zip(query.split("&"), other.partition("?")[2].split("&"), strict=False)
        names = (one.partition("=")[0] for one, its in pieces if one != its)
        ways.append((other, [Naming(start, next(names, ""), is_whole=True)]))
    yield from ways
    if rule is not None:
        for other, keys in ways:
            if _may_be_about(rule, other):
                yield rule.rewritten(other), [*keys, rule]


def _rules_of(names: Iterable[str], host: str) -> list[AddressRule]:
    """Return the rules by which parameters do not matter."""
    from scrapy_simhash.url_rules.rule import AddressRule

    return [AddressRule("parameter", host, name, "") for name in sorted(names)]


def _rule_of(address: Address, kept: Address) -> AddressRule | None:
    """Return the rule that would make two addresses one; parameters are a matter of the session.

    Where nothing else differs, the rule is about the parameters.
    """
    from scrapy_simhash.url_rules.rule import difference, differences

    if address[:3] == kept[:3]:
        return difference(address, kept)
    pair = address._replace(parameters=()), kept._replace(parameters=())
    return difference(*pair) or next(differences(*pair), None)


def _about(url: str, rules: Iterable[AddressRule]) -> Iterator[AddressRule]:
    """Yield the rules that make another address of one, each once; 5 us each."""
    for rule in dict.fromkeys(rules):
        if _may_be_about(rule, url) and rule.rewritten(url) != url:
            yield rule


def _is_of_one_site(key: Way) -> bool:
    """Whether a key is about ways to write the address of one site, or the page's own address."""
    if isinstance(key, Naming):
        return key.is_whole
    is_www = key.kind == "host" and key.drop.removeprefix("www.") == key.keep.removeprefix("www.")
    return key.kind == "scheme" or is_www


def _rules_of_copies(known: Iterable[Hypothesis]) -> Iterator[AddressRule]:
    """Yield the rules by which pages have been copies."""
    # Not before the first duplicate: no rules may be learned in this crawl.
    from scrapy_simhash.url_rules.evidence import MOST_DOUBT

    return (one.rule for one in known if one.doubt <= MOST_DOUBT)


def _is_for_links(known: Hypothesis) -> bool:
    """Whether a rule may say what is behind links that were never handed; see `_is_trusted`."""
    return known.rule.kind in PARAMETERS or _is_of_one_site(known.rule)


def _is_proven(known: Hypothesis | None, address: str) -> bool:
    """Whether a rule is proven where an address is."""
    return known is not None and known.stage_at(Address.of(address))[1] == "proven"


def _rules_among(keys: Iterable[Key]) -> list[AddressRule]:
    return [key for key in keys if not isinstance(key, Naming | Changing)]


def _pattern_of(url: str, rules: Iterable[AddressRule]) -> str:
    """Return the kind of an address, without what rules take from it; 10 us.

    Pages and files of one folder are of different kinds.  Of an address with other parameters the
    name counts, of one without them its extension.
    """
    for rule in rules:
        url = rule.rewritten(url)
    address = Address.of(url)
    if address.parameters:
        return page_pattern(address)
    return folder_pattern(address) + splitext(address.path)[1]


def _kind_of(url: str) -> str:
    """Return the folder of an address, the extension of its name, and the names of parameters."""
    address = Address.of(url)
    folder, _, name = address.path.rpartition("/")
    kind = f"{address.host}{folder}/*{splitext(name)[1]}?{'&'.join(address.names)}"
    return kind[:MAX_WAITING]


def _may_be_about(rule: AddressRule, url: str) -> bool:
    """Whether a rule may change an address: a look of 0.2 us, where changing it takes 5."""
    return rule.host in url and rule.drop.partition("&")[0] in url


def _marks(url: str) -> Iterable[str]:
    """Yield what stands for an address with any value of one of its parameters."""
    parts = urlsplit(url)
    pieces = parts.query.split("&") if parts.query else []
    for place, piece in enumerate(pieces[:MARKED_PARAMETERS]):
        others = [*pieces[:place], *pieces[place + 1 :]]
        short = parts._replace(query="&".join(others)).geturl()
        yield f"{short} {piece.partition('=')[0]}"
