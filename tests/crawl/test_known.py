"""Addresses that the spider has been handed: bounded, and never one too many."""

from __future__ import annotations

from array import array
from dataclasses import replace
from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.analysis.analyser import Analyser
from scrapy_simhash.crawl.known_addresses import KnownAddresses
from scrapy_simhash.crawl.reach import (
    FRAME_AFTER,
    MOST_ALIASES,
    MOST_WAITING,
    RENAMED_AFTER,
    TRUSTED_AFTER,
    Reach,
    with_links,
)
from scrapy_simhash.crawl.reach import NewAddresses as New
from scrapy_simhash.decision.cuts import Cuts, stripped
from scrapy_simhash.decision.holdings import (
    CUT_KIND,
    KINDS,
    MAX_ADDRESSES,
    Addresses,
    PageValues,
    Told,
    pack_addresses,
    unpack_addresses,
)
from scrapy_simhash.decision.page import Decision
from scrapy_simhash.hashes import long_hash_of
from scrapy_simhash.settings import MEMORY
from scrapy_simhash.url_rules.evidence import Hypothesis
from scrapy_simhash.url_rules.rule import AddressRule
from scrapy_simhash.urls import Address, folder_pattern
from tests.indexes import open_index
from tests.pages import PARAMETERS, page

SITE = "http://a.example"
TEXT = "A bench of oak for two, made by hand in the north, with a back and two arms of iron."
ANALYSER = Analyser.create(extractor="text")


# Slots of a line.
WAYS = 8


@given(st.lists(st.text(max_size=20)), st.text(max_size=20))
def test_no_address_is_known_that_was_not_added(added: list[str], other: str) -> None:
    known = KnownAddresses(slots=1 << 4)
    known.add(added)
    assert other not in known or other in added


def packed(addresses: list[str]) -> bytes:
    return pack_addresses([*map(long_hash_of, addresses)])


def test_an_address_may_be_forgotten_for_another_one() -> None:
    known = KnownAddresses(slots=WAYS)
    addresses = [f"{i}" for i in range(4 * WAYS)]
    known.add(addresses)
    assert addresses[-1] in known
    assert sum(address in known for address in addresses) == WAYS


def test_hardly_any_address_is_forgotten_while_most_slots_are_free() -> None:
    known = KnownAddresses(slots=1 << 16)
    addresses = [f"{SITE}/{i}" for i in range(1 << 14)]
    known.add(addresses)
    known.add(addresses)
    assert sum(address not in known for address in addresses) < 20


SECURE = SITE.replace("http:", "https:")


def reach(*handed: str) -> Reach:
    found = Reach()
    found.note_asked([f"{SITE}{path}" for path in handed])
    return found


def links(*addresses: str) -> Addresses:
    """The links of a page, beside its content."""
    return Addresses().with_links(addresses)


def leads(link: str, url: str, kept_url: str, *handed: str) -> bool:
    return bool(reach(*handed).new_among(links(SITE + link), SITE + url, SITE + kept_url).addresses)


def test_an_address_that_was_handed_is_not_new() -> None:
    assert leads("/new", "/copy", "/kept")
    assert not leads("/old", "/copy", "/kept", "/old")
    assert not leads("/copy", "/copy", "/kept")
    assert not leads("/kept", "/copy", "/kept")


proofs = count()


def prove(found: Reach, copy: str, kept: str, times: int = TRUSTED_AFTER) -> None:
    """Judge links of copies of one page, at addresses that have no other names than its links."""
    for number in islice(proofs, times):
        names = [f"proof{number}{letter}" for letter in "abc"]
        found.note_asked([kept.format(name) for name in names])
        own = [copy.format(name) for name in names]
        urls = copy.format("of"), kept.format("of")
        assert found.new_among(links(*own), *urls) == New({*own}, are_aliases=True)
        found.note_asked(own)
        found.note_judged([own[0]], is_same=True)


@pytest.mark.parametrize(
    ("link", "url", "kept_url", "handed"),
    [
        ("/{}?sid=2", "/p?sid=2", "/p?sid=1", "/{}?sid=1"),
        ("/{}?a=1&sid=2&b=3", "/p?sid=2", "/p?sid=1", "/{}?a=1&sid=1&b=3"),
        ("/{}?sid=2", "/p?sid=2", "/p", "/{}"),
        ("/{}?a=1", "/p", "/p?sid=1", "/{}?a=1&sid=1"),
        ("/{}?sid=2", "/other/p?sid=2", "/p?sid=1", "/{}?sid=1"),
        ("/{}?sid=2", "/p?sid=2", "/p?ref=mail", "/{}"),
        ("/{}", "/p?ref=mail", "/p?sid=2", "/{}?sid=2"),
    ],
)
def test_links_of_another_session_are_known_when_they_led_nowhere_new(
    link: str, url: str, kept_url: str, handed: str
) -> None:
    found = reach(*(handed.format(f"x{i}") for i in range(3 * TRUSTED_AFTER)))
    told = []
    for number in range(TRUSTED_AFTER + 1):
        own = [SITE + link.format(f"x{3 * number + i}") for i in range(3)]
        told.append({*own} - found.new_among(links(*own), SITE + url, SITE + kept_url).addresses)
        found.note_judged([own[0]], is_same=True)
        if number == TRUSTED_AFTER - 1:
            found.note_asked([SITE + handed.format(f"x{3 * TRUSTED_AFTER + i}") for i in range(3)])
    assert [*map(len, told)] == [0] * TRUSTED_AFTER + [3]


@pytest.mark.parametrize(
    ("link", "url", "kept_url", "handed"),
    [
        ("/login?next=/print/{}", "/print/{}", "/{}", "/login?next=/{}"),
        ("/login?next=%2F{}%3Fsid%3D2", "/{}?sid=2", "/{}", "/login?next=%2F{}"),
        (
            "/share?url=http%3A%2F%2Fa.example%2Fprint%2F{}",
            "/print/{}",
            "/{}",
            "/share?url=http%3A%2F%2Fa.example%2F{}",
        ),
        ("/papers?case={}", "/case?case={}", "/case?case=0", "/papers?case=0"),
    ],
)
def test_links_that_name_their_page_are_known_when_they_led_nowhere_new(
    link: str, url: str, kept_url: str, handed: str
) -> None:
    def is_new(found: Reach, number: int) -> bool:
        found.note_asked([SITE + handed.format(number)])
        held, *urls = (SITE + one.format(number) for one in (link, url, kept_url))
        return bool(found.new_among(links(held), urls[0], urls[1]).addresses)

    found = reach()
    for number in range(1, TRUSTED_AFTER + 1):
        assert is_new(found, number)
        found.note_asked([SITE + link.format(number)])
        found.note_judged([SITE + link.format(number)], is_same=True)
    assert not is_new(found, TRUSTED_AFTER + 1)
    followed, ignored = reach(), reach()
    for number in range(1, TRUSTED_AFTER + 1):
        assert is_new(followed, number)
        assert is_new(ignored, number)
    followed.note_asked([SITE + link.format(1)])
    assert is_new(followed, TRUSTED_AFTER + 1)
    is_whole = "case" not in link
    assert is_new(ignored, TRUSTED_AFTER + 1) is not is_whole, "the spider asks for none of these"


def test_links_of_which_one_led_to_another_text_are_new_until_hardly_any_does() -> None:
    found = reach()
    found.note_asked([f"{SITE}/papers?case=0"])

    def is_new(number: int) -> bool:
        own, kept = f"{SITE}/case?case={number}", f"{SITE}/case?case=0"
        return bool(found.new_among(links(f"{SITE}/papers?case={number}"), own, kept).addresses)

    for number in range(1, TRUSTED_AFTER + 2):
        assert is_new(number)
        is_same = number > 1
        found.note_judged([f"{SITE}/papers?case={number}"], is_same, by_text=not is_same)
    found.start_trials_over()  # what changes by itself is no text
    assert is_new(TRUSTED_AFTER + 2)


def changing(written: str, left: str, place: int = 1) -> Addresses:
    """A link that is cut at its place."""
    found = links(written, left)
    return found._replace(kinds=bytes([found.kinds[0] | CUT_KIND] * 2), cuts=((0, 1, place),))


def is_new_at_a_visit(found: Reach, number: int, place: int = 1) -> bool:
    held = changing(f"{SITE}/read?id={number}", f"{SITE}/read", place)
    return bool(found.new_among(held, f"{SITE}/p?n={number}", f"{SITE}/p?n=0").addresses)


def test_links_that_are_others_at_each_visit_are_known_when_they_led_nowhere_new() -> None:
    found = reach("/read?id=1")
    assert not is_new_at_a_visit(found, 1)
    for number in range(2, TRUSTED_AFTER + 2):
        assert is_new_at_a_visit(found, number)
        found.note_judged([f"{SITE}/read?id={number}"], is_same=True)
    assert not is_new_at_a_visit(found, TRUSTED_AFTER + 2)
    assert is_new_at_a_visit(found, TRUSTED_AFTER + 2, place=2)


def test_links_that_are_others_at_each_visit_stay_new_where_they_led_to_a_page() -> None:
    found = reach()
    for number in range(TRUSTED_AFTER + 1):
        assert is_new_at_a_visit(found, number)
        found.note_asked([f"{SITE}/read?id={number}"])
        found.note_judged([f"{SITE}/read?id={number}"], is_same=number > 0, by_text=number == 0)
    assert is_new_at_a_visit(found, TRUSTED_AFTER + 1)


def test_links_that_are_others_at_each_visit_are_no_news_if_the_spider_asks_for_none() -> None:
    found = reach()
    assert all(is_new_at_a_visit(found, number) for number in range(TRUSTED_AFTER))
    assert not is_new_at_a_visit(found, TRUSTED_AFTER)


def test_a_page_of_many_links_that_are_others_at_each_visit_tells_of_them() -> None:
    many = MOST_ALIASES + 1
    found = reach("/read")
    for number in range(TRUSTED_AFTER):
        written = [f"{SITE}/read?id={number}x{i}" for i in range(many)]
        held = links(*written, f"{SITE}/read")
        kinds = bytes([held.kinds[0] | CUT_KIND] * (many + 1))
        held = held._replace(kinds=kinds, cuts=tuple((i, many, 1) for i in range(many)))
        assert found.new_among(held, f"{SITE}/p?n={number}", f"{SITE}/p?n=0").addresses
        found.note_judged(written[:1], is_same=True)
    assert not found.new_among(held, f"{SITE}/p?n=30", f"{SITE}/p?n=0").addresses


def test_pages_that_wait_for_their_callbacks_may_follow_links() -> None:
    found = Reach(under_way=5)
    assert all(is_new_at_a_visit(found, number) for number in range(TRUSTED_AFTER + 5))
    assert not is_new_at_a_visit(found, TRUSTED_AFTER + 5)


@pytest.mark.parametrize(
    ("value", "is_known"),
    [
        ("0a1b2c3d4e5f60718293a4b5", True),
        ("1795896569", True),
        ("17", False),
        ("the-lamp-of-the-north", False),
        ("123e4567-e89b-12d3-a456-426614174000", False),
    ],
)
def test_what_is_cut_from_a_link_says_nothing_if_it_is_a_token(value: str, is_known: bool) -> None:
    held = changing(f"{SITE}/x/7?v={value}", f"{SITE}/x/7")
    found = reach("/x/7")
    assert bool(found.new_among(held, f"{SITE}/copy", f"{SITE}/kept").addresses) is not is_known
    assert reach().new_among(held, f"{SITE}/copy", f"{SITE}/kept").addresses


@pytest.mark.parametrize(
    ("kind", "reason"), [("link", "new_links"), ("media", "new_media"), ("data", "new_data")]
)
@pytest.mark.parametrize("is_cut", [False, True])
def test_an_address_in_the_content_under_another_name_must_be_in_several_copies(
    kind: str, reason: str, is_cut: bool
) -> None:
    """Photo 7 of two albums, also where its signature is cut."""
    photo = f"{SITE}/2/7.jpg"
    addresses = in_content((photo, KINDS.index(kind) | CUT_KIND * is_cut))
    copy = replace(page("2/p", 7), holds=PageValues(addresses=addresses))
    kept_url = "http://site.example/1/p"
    found = Reach()
    decision = Decision("exact_duplicate", "same_text", kept_url, 0, 1.0, renamed=(0,))
    with open_index(MEMORY, PARAMETERS) as index:
        for _ in range(FRAME_AFTER):
            told, _ = with_links(index.index, found, copy, decision)
            assert (told.verdict, told.reason) == ("variant", reason)
            assert told.new == (Told(kind, "", photo),)
        if is_cut or kind == "data":  # any other must be handed, too
            assert with_links(index.index, found, copy, decision)[0] is decision


@pytest.mark.parametrize(("others", "is_known"), [(3, True), (4, False)])
def test_a_link_in_the_content_may_have_another_place_where_hardly_any_page_is_another(
    others: int, is_known: bool
) -> None:
    """Two releases of a guide, whose pages link each other."""
    found = reach(*(f"/2/{i}" for i in range(11)))
    assert link_in_release(found, 4)
    for number in range(others):
        found.note_unique(f"{SITE}/1/{number}", by_text=False)
        found.note_unique(f"{SITE}/2/{number}", by_text=False)
    for number in range(5, 9):
        link_in_release(found, number)
    assert bool(link_in_release(found, 9)) is not is_known


def test_what_a_page_calls_itself_holds_no_copies_apart() -> None:
    """By rel=canonical, at the host that it was written for."""
    found = reach(*(f"/2/{i}" for i in range(20)))
    name = f"{SECURE}/2/4", KINDS.index("name")
    for number in range(RENAMED_AFTER - 1):
        assert link_in_release(found, number, name) == {f"{SITE}/2/{number + 1}"}
    assert not link_in_release(found, 9, name)
    found.hand_all(links(f"{SECURE}/2/4"), f"{SITE}/2/list")
    link = f"{SECURE}/2/4", KINDS.index("link")
    assert link_in_release(found, 10, name, link), "a review that links its product"


def test_a_link_in_the_content_may_have_another_place_only_if_it_was_asked_for() -> None:
    """A list names the product, by a link that the spider does not follow."""
    found = reach(*(f"/2/{i}" for i in range(9)))
    found.hand_all(links(*(f"{SITE}/2/{i}" for i in range(20))), f"{SITE}/2/list")
    for number in range(RENAMED_AFTER):
        link_in_release(found, number)
    assert not link_in_release(found, 7)
    assert link_in_release(found, 8)
    found.note_asked([f"{SITE}/2/9"])
    assert not link_in_release(found, 8)


def link_in_release(found: Reach, number: int, *more: tuple[str, int]) -> set[str]:
    """Judge a page of the second release that links the next one; return what is new there."""
    held = in_content((f"{SITE}/2/{number + 1}", KINDS.index("link")), *more)
    renamed = range(len(held.rows))
    urls = f"{SITE}/2/{number}", f"{SITE}/1/{number}"
    return found.new_among(held, *urls, renamed=renamed).addresses


def in_content(*addresses: tuple[str, int]) -> Addresses:
    """Addresses, each with its kind, as values of a page."""
    rows = {one: row for row, one in enumerate(dict.fromkeys(one for one, _ in addresses))}
    numbers = range(1, len(addresses) + 1)
    return Addresses(
        "\n".join(rows),
        array("Q", map(long_hash_of, rows)),
        array("I", [rows[one] for one, _ in addresses]),
        array("H", [8 for _ in numbers]),
        array("Q", numbers),
        array("Q", [1 + number for number in numbers]),
        bytes(kind for _, kind in addresses),
    )


def test_what_led_somewhere_else_is_new_from_then_on() -> None:
    mirror, kept = f"{SECURE}/{{}}", f"{SITE}/{{}}"
    found = reach("/x")
    prove(found, mirror, kept)
    assert not found.new_among(links(f"{SECURE}/x"), f"{SECURE}/p", f"{SITE}/p").addresses
    found = reach("/x", "/y", "/z")
    for one in "yz":
        assert found.new_among(links(f"{SECURE}/{one}"), f"{SECURE}/p", f"{SITE}/p").addresses
        found.note_judged([f"{SECURE}/{one}"], is_same=False)
    prove(found, mirror, kept)
    assert found.new_among(links(f"{SECURE}/x"), f"{SECURE}/p", f"{SITE}/p").addresses


def test_so_many_links_are_waited_for() -> None:
    found = reach()
    for number in range(MOST_WAITING + TRUSTED_AFTER):
        found.note_asked([f"{SITE}/x{number}"])
        found.new_among(links(f"{SECURE}/x{number}"), f"{SECURE}/p", f"{SITE}/p")
    for number in range(TRUSTED_AFTER):  # these are forgotten
        found.note_judged([f"{SECURE}/x{number}"], is_same=True)
    assert found.new_among(links(f"{SECURE}/x0"), f"{SECURE}/p", f"{SITE}/p").addresses
    for number in range(TRUSTED_AFTER):
        found.note_judged([f"{SECURE}/x{MOST_WAITING + number}"], is_same=True)
    assert not found.new_among(links(f"{SECURE}/x1"), f"{SECURE}/p", f"{SITE}/p").addresses


def test_links_of_a_mirror_in_another_session_are_known() -> None:
    found = reach(*(f"/x{i}?sid=1" for i in range(3)))
    prove(found, f"{SECURE}/{{}}?sid=2", f"{SITE}/{{}}?sid=1")
    urls = f"{SECURE}/p?sid=2", f"{SITE}/p?sid=1"
    own, others = (links(*(f"{SECURE}/x{i}?sid={sid}" for i in range(3))) for sid in (2, 3))
    assert not found.new_among(own, *urls).addresses
    assert found.new_among(others, *urls).addresses


def test_links_are_known_only_if_links_like_them_led_to_copies() -> None:
    """A session is none where it was never seen to lead: to a file, say."""
    names = ["x0", "x1", "x2", "get?n=7"]
    found = reach("/x0", "/x1", "/x2", "/get?n=7")
    prove(found, f"{SITE}/{{}}?sid=2", f"{SITE}/{{}}")
    own = [f"{SITE}/{name}{'&' if '?' in name else '?'}sid=2" for name in names]
    copy = links(*own), f"{SITE}/p?sid=2", f"{SITE}/p"
    assert found.new_among(*copy).addresses == {own[-1]}
    found.note_judged([own[-1]], is_same=True)
    assert not found.new_among(*copy).addresses


def test_the_next_page_of_a_list_is_not_taken_for_this_one() -> None:
    assert leads("/list?page=4", "/list?page=3", "/list?page=2", "/list?page=2", "/list?page=3")
    assert leads("/other", "/list?page=3", "/list?page=2", "/other?page=2")


@pytest.mark.parametrize(
    ("copy", "kept"),
    [
        (f"{SECURE}/", f"{SITE}/"),
        ("http://www.a.example/", f"{SITE}/"),
    ],
)
def test_links_of_the_same_site_are_known_when_it_was_one_often_enough(
    copy: str, kept: str
) -> None:
    found = reach()
    found.note_asked([f"{kept}x"])
    prove(found, f"{copy}{{}}", f"{kept}{{}}", TRUSTED_AFTER - 1)
    of = f"{copy}p", f"{kept}p"
    assert found.new_among(links(f"{copy}x"), *of) == New({f"{copy}x"}, are_aliases=True)
    found.note_judged([f"{copy}x"], is_same=True)
    assert found.new_among(links(f"{copy}x"), *of) == New(set(), are_aliases=True)
    assert found.new_among(links(f"{copy}y"), *of) == New({f"{copy}y"})


@pytest.mark.parametrize(
    ("copy", "kept"),
    [
        (f"{SITE}/print/", f"{SITE}/article/"),
        (f"{SITE}/mirror/", f"{SITE}/"),
        ("http://m.example/", f"{SITE}/"),
    ],
)
def test_links_of_a_mirror_are_aliases_but_never_known(copy: str, kept: str) -> None:
    """However many of its pages were copies, any other may have changed."""
    found = reach()
    found.note_asked([f"{kept}x"])
    prove(found, f"{copy}{{}}", f"{kept}{{}}", 2 * TRUSTED_AFTER)
    of = f"{copy}p", f"{kept}p"
    assert found.new_among(links(f"{copy}x"), *of) == New({f"{copy}x"}, are_aliases=True)
    assert found.new_among(links(f"{copy}y"), *of) == New({f"{copy}y"})


def test_copies_of_several_pages_prove_a_site_to_be_the_same() -> None:
    found = reach("/x")
    for number in range(TRUSTED_AFTER - 1):
        found.new_among(links(), f"{SECURE}/p{number}", f"{SITE}/p{number}")
    last = links(f"{SECURE}/x"), f"{SECURE}/p", f"{SITE}/p"
    other = reach("/x")
    for _ in range(TRUSTED_AFTER):
        other.new_among(links(), f"{SECURE}/p", f"{SITE}/p")
    assert other.new_among(*last).addresses, "they are of one page"
    assert not found.new_among(*last).addresses
    found.note_judged([f"{SECURE}/x"], is_same=False)
    assert not found.new_among(*last).addresses, "it was not waited for"


def test_copies_without_new_links_prove_nothing() -> None:
    """Categories that lead nowhere say nothing of those that do."""
    found = reach("/cat")
    for number in range(20):
        found.new_among(links(f"{SITE}/cat"), f"{SITE}/cat?c={number + 1}", f"{SITE}/cat?c=0")
    assert found.new_among(
        links(f"{SITE}/cat?c=100"), f"{SITE}/cat?c=30", f"{SITE}/cat?c=0"
    ).addresses


def test_many_links_of_a_mirror_are_aliases() -> None:
    found = reach(*(f"/x{i}" for i in range(MOST_ALIASES)))
    copies = [f"{SITE}/mirror/x{i}" for i in range(MOST_ALIASES)]
    url, kept_url = f"{SITE}/mirror/p", f"{SITE}/p"
    assert found.new_among(links(*copies, url), url, kept_url) == New({*copies}, are_aliases=True)
    assert found.new_among(links(*copies[1:], f"{SITE}/mirror/p"), url, kept_url).are_aliases
    assert not found.new_among(links(*copies[1:], f"{SITE}/y"), url, kept_url).are_aliases
    assert not found.new_among(links(*copies, f"{SITE}/mirror/p2"), url, kept_url).are_aliases
    assert not found.new_among(links(*copies), f"{SITE}/p?a=1", f"{SITE}/p?a=2").are_aliases


def test_many_links_of_a_mirror_are_aliases_whichever_page_is_kept() -> None:
    paths = [f"/2/x{i}" for i in range(MOST_ALIASES)]
    found = reach(*paths)
    copies = [f"{SITE}/mirror{path}" for path in paths]
    url, kept_url = f"{SITE}/mirror/2/p", f"{SITE}/1/p"
    assert not found.new_among(links(*copies), url, kept_url).are_aliases
    prove(found, f"{SITE}/mirror/{{}}", f"{SITE}/{{}}")
    assert found.new_among(links(*copies), url, kept_url) == New({*copies}, are_aliases=True)
    assert found.new_among(links(*copies), url, f"{SITE}/1/p?a=1&b=2&c=3").are_aliases
    assert not found.new_among(links(*copies[1:], f"{SITE}/mirror/2/y"), url, kept_url).are_aliases
    assert not found.new_among(links(*copies), f"{SITE}/2/p", kept_url).are_aliases, (
        "it is in no mirror"
    )


def test_links_by_another_scheme_are_new_when_pages_are_others_there() -> None:
    found = reach("/x")
    prove(found, f"{SECURE}/{{}}", f"{SITE}/{{}}")
    assert not found.new_among(links(f"{SECURE}/x"), f"{SECURE}/p", f"{SITE}/p").addresses
    for name in "qrs":
        found.note_unique(f"{SITE}/{name}")
        found.note_unique(f"{SECURE}/{name}")
    assert found.new_among(links(f"{SECURE}/x"), f"{SECURE}/p", f"{SITE}/p").addresses
    found.start_trials_over()  # what changes by itself is no text
    prove(found, f"{SECURE}/{{}}", f"{SITE}/{{}}")
    assert found.new_among(links(f"{SECURE}/x"), f"{SECURE}/p", f"{SITE}/p").addresses


def test_parameter_that_never_mattered_makes_no_link_new() -> None:
    found = reach()
    alias = f"{SITE}/other?utm=mail"
    assert found.new_among(links(alias), f"{SITE}/other", f"{SITE}/kept").addresses
    prove(found, f"{SITE}/{{}}?utm=mail", f"{SITE}/{{}}")
    assert not found.new_among(links(alias), f"{SITE}/other", f"{SITE}/kept").addresses


@pytest.mark.parametrize("first", ["/list", "/list?page=1"])
def test_parameter_that_mattered_once_is_never_ignored(first: str) -> None:
    found = reach("/list")
    prove(found, f"{SITE}/{{}}?page=2", f"{SITE}/{{}}")
    link, urls = links(f"{SITE}/list?page=9"), (f"{SITE}/copy", f"{SITE}/kept")
    assert not found.new_among(link, *urls).addresses
    found.note_unique(f"{SITE}{first}")
    found.note_unique(f"{SITE}/list?page=2")
    assert found.new_among(link, *urls).addresses


def test_values_that_may_be_noise_speak_against_a_rule_until_it_is_known() -> None:
    found = reach("/x")
    prove(found, f"{SECURE}/{{}}", f"{SITE}/{{}}")
    found.note_unique(f"{SITE}/p")
    found.note_unique(f"{SECURE}/p", by_text=False)
    copy = links(f"{SECURE}/x"), f"{SECURE}/q", f"{SITE}/q"
    assert found.new_among(*copy).addresses
    found.start_trials_over()
    assert not found.new_among(*copy).addresses


def test_parameter_of_pages_that_lead_on_is_never_ignored() -> None:
    found = reach("/list")
    for i in range(2 * TRUSTED_AFTER):
        url = f"{SITE}/list?page={i}"
        assert found.new_among(
            links(f"{SITE}/list?page={i + 1}", f"{SITE}/item{i}"), url, f"{SITE}/list"
        ).addresses
        found.note_asked([f"{SITE}/list?page={i + 1}", f"{SITE}/item{i}"])


def test_what_the_kept_page_links_to_is_known_whoever_was_handed_it() -> None:
    kept_links = packed([*(f"{SITE}/x{i}?sid=1" for i in range(9)), f"{SITE}/y"])
    url, kept_url = f"{SITE}/p?sid=2", f"{SITE}/p?sid=1"
    found = reach()
    prove(found, f"{SITE}/{{}}?sid=2", f"{SITE}/{{}}?sid=1")
    assert not found.new_among(
        links(*(f"{SITE}/x{i}?sid=2" for i in range(9)), f"{SITE}/y"), url, kept_url, kept_links
    ).addresses
    assert found.new_among(links(f"{SITE}/z"), url, kept_url, kept_links).addresses


def test_of_more_links_than_are_stored_it_is_known_whether_they_are_the_same() -> None:
    assert unpack_addresses(packed([f"{i}" for i in range(MAX_ADDRESSES)]))
    many = [f"{i}" for i in range(MAX_ADDRESSES + 1)]
    assert unpack_addresses(packed(many)) == frozenset()
    assert packed(many) == packed(many[::-1])
    assert packed(many) != packed([*many[1:], "other"])
    assert unpack_addresses(None) == unpack_addresses(packed([])) == frozenset()


def test_parameters_that_change_by_themselves_make_nothing_new() -> None:
    cuts = Cuts(frozenset({"ts"}))
    found = Reach()
    found.note_asked([stripped(f"{SITE}/x?ts=1", cuts.parameters)])
    assert not found.new_among(links(f"{SITE}/x"), f"{SITE}/a", f"{SITE}/b", None, cuts).addresses
    assert not found.new_among(
        links(f"{SITE}/a"), f"{SITE}/a?ts=2", f"{SITE}/b", None, cuts
    ).addresses
    assert found.new_among(links(f"{SITE}/y"), f"{SITE}/a", f"{SITE}/b", None, cuts).addresses


def test_what_was_noise_is_not_held_against_a_rule() -> None:
    found = reach("/x")
    for i in range(TRUSTED_AFTER):
        found.new_among(links(f"{SITE}/ad{i}"), f"{SECURE}/p{i}", f"{SITE}/p{i}")
    copy = links(f"{SECURE}/x"), f"{SECURE}/p", f"{SITE}/p"
    assert found.new_among(*copy).addresses
    found.start_trials_over()
    assert not found.new_among(*copy).addresses


AT_MIRROR = folder_pattern(Address.of(f"{SITE}/mirror/p"))


def known(rule: AddressRule, right: int = 20) -> Hypothesis:
    """A rule that was right about so many pages of /mirror/."""
    found = Hypothesis(rule, number=1, seen=0)
    for _ in range(right):
        found.count(AT_MIRROR, True, now=1)
    return found


def test_new_links_are_aliases_if_a_rule_about_the_copy_makes_them_known() -> None:
    mirror = known(AddressRule("path", "a.example", "/mirror/", "/"))
    url, kept_url = f"{SITE}/mirror/2/p", f"{SITE}/1/p"
    found = reach("/2/x")
    held = [f"{SITE}/mirror/2/x"]
    assert found.new_among(links(*held), url, kept_url) == New({*held})
    assert found.new_among(links(*held), url, kept_url, known=[mirror]) == New(
        {*held}, are_aliases=True
    )
    more = [*held, f"{SITE}/mirror/2/y"]
    assert found.new_among(links(*more), url, kept_url, known=[mirror]) == New({*more})
    outside = found.new_among(links(*held), f"{SITE}/2/p", kept_url, known=[mirror])
    assert outside == New({*held}), "the page is in no mirror"


def test_links_that_the_page_of_a_mirror_was_dropped_with_are_aliases() -> None:
    mirror = known(AddressRule("path", "a.example", "/mirror/", "/"))
    found = reach("/x")
    prove(found, f"{SITE}/{{}}?m=2", f"{SITE}/{{}}")
    found.note_unique(f"{SITE}/q")
    found.note_unique(f"{SITE}/q?m=2")
    held = [f"{SITE}/mirror/x?m=2"]
    told = found.new_among(links(*held), f"{SITE}/mirror/p?m=2", f"{SITE}/mirror/p", known=[mirror])
    assert told == New({*held}, are_aliases=True), "the parameter is trusted no more"


def test_a_rule_that_is_proven_says_where_a_link_was() -> None:
    rule = Hypothesis(AddressRule("parameter", "a.example", "s", ""), number=1, seen=0)
    url, link, pattern = f"{SITE}/p?s=1", f"{SITE}/x?s=1", folder_pattern(Address.of(SITE))
    of = links(link), url, f"{SITE}/p"
    found = reach("/p", "/x")
    rule.count(pattern, True, now=1)
    assert found.new_among(*of, known=[rule]).addresses == {link}
    while rule.stage(pattern) != "proven":
        rule.count(pattern, True, now=1)
    assert not found.new_among(*of, known=[rule]).addresses
    other = link.replace("/x", "/y")
    assert found.new_among(links(other), *of[1:], known=[rule]).addresses == {other}
    rule.count(pattern, False, now=2)
    assert found.new_among(*of, known=[rule]).addresses == {link}, "it has failed there"


# So few that none is forgotten for another one, whichever slots they take.
FEW = [f"{SITE}/{i}" for i in range(WAYS)]


@given(st.lists(st.tuples(st.sampled_from(["add", "remove"]), st.sampled_from(FEW))))
def test_addresses_are_known_from_when_they_are_added_until_they_are_removed(
    changes: list[tuple[str, str]],
) -> None:
    known, expected = KnownAddresses(slots=WAYS), {*FEW}
    known.add(FEW)
    for change, address in changes:
        if change == "add":
            known.add([address])
            expected.add(address)
        else:
            known.remove(address)
            expected.discard(address)
        assert {one for one in FEW if one in known} == expected
        assert known.missing(FEW) == [one for one in FEW if one not in expected]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 60))))
def test_removing_addresses_invents_none_and_makes_room(changes: list[tuple[bool, int]]) -> None:
    known, added = KnownAddresses(slots=1 << 4), set[int]()
    for is_added, i in changes:
        if is_added:
            known.add([f"{i}"])
            assert f"{i}" in known
            added.add(i)
        else:
            known.remove(f"{i}")
            added.discard(i)
        assert {one for one in range(61) if f"{one}" in known} <= added
    for i in added:
        known.remove(f"{i}")
    assert not any(f"{i}" in known for i in range(61))
    known.add(FEW)
    assert known.missing(FEW) == []


def called(*named: tuple[str, str]) -> Addresses:
    """The links of a page beside its content, each with what it is called, as a page has them."""
    links_of = "".join(f'<a class="{name}" href="{path}">{name}</a> ' for name, path in named)
    html = f"<main><p>{TEXT}</p></main><nav>{links_of}</nav>"
    return ANALYSER.all_told(html.encode(), "utf-8", f"{SITE}/of").addresses


@pytest.mark.parametrize(
    ("is_asked", "is_next", "is_new"),
    [(False, False, True), (True, False, False), (False, True, False)],
)
def test_a_link_that_nobody_asked_for_is_known_by_what_it_was_called(
    is_asked: bool, is_next: bool, is_new: bool
) -> None:
    """A spider that follows the next page alone makes nothing of a list of all pages."""
    found = reach("/6", "/7")
    handed = called(("next", "/7"), ("page", "/7"), ("page", "/8"), ("page", "/9"))
    found.hand_all(handed, SITE)
    if is_asked:
        found.note_asked([f"{SITE}/8"])
    if is_next:
        found.hand_all(called(("next", "/8")), SITE)
    copy = called(("next", "/8"), ("page", "/6"), ("page", "/8"), ("page", "/9"))
    new = found.new_among(copy, f"{SITE}/7", f"{SITE}/6", copy.pack())
    assert new.addresses == ({f"{SITE}/8"} if is_new else set())


@pytest.mark.parametrize(
    ("gone", "there", "link", "is_new"),
    [
        (20, 0, "/16/src/new.txt", False),
        (19, 0, "/16/src/new.txt", True),
        (20, 1, "/16/src/new.txt", True),
        (100, 2, "/16/src/new.txt", False),
        (20, 0, "/16/src/new.rst", True),
        (20, 0, "/15/src/new.txt", True),
        (20, 0, "/16/src/new.txt?raw=1", True),
        (20, 0, "http://elsewhere.example/16/src/new.txt", True),
    ],
)
def test_beside_the_content_a_link_to_a_folder_where_nothing_is_says_nothing(
    gone: int, there: int, link: str, is_new: bool
) -> None:
    found = reach()
    for number in range(gone + there):
        found.note_answer(f"{SITE}/16/src/{number}.txt", number < gone)
    link = link if link.startswith("http") else SITE + link
    new = found.new_among(links(link), f"{SITE}/copy", f"{SITE}/kept")
    assert bool(new.addresses) == is_new


def test_in_the_content_a_link_to_a_folder_where_nothing_is_says_something() -> None:
    found = reach()
    for number in range(30):
        found.note_answer(f"{SITE}/src/{number}.txt", True)
    html = f'<main><p>{TEXT}</p><p><a href="/src/new.txt">Source</a></p></main>'
    copy = ANALYSER.all_told(html.encode(), "utf-8", f"{SITE}/of").addresses
    assert found.new_among(copy, f"{SITE}/copy", f"{SITE}/kept").addresses


@pytest.mark.parametrize(("others", "are_aliases"), [(0, True), (1, False)])
def test_what_leads_to_another_text_under_a_rule_is_no_alias(
    others: int, are_aliases: bool
) -> None:
    """A spider that denies links with utm gets them on a copy, at addresses without it."""
    found = Reach()
    for number in range(2):
        name = f"{SITE}/{number}"
        own = [f"{name}/{what}" for what in ("more", "less", "all")]
        found.hand_all(links(*(f"{one}?utm=rss" for one in own)), SITE)
        new = found.new_among(links(*own), name, f"{name}?utm=rss")
        assert new.addresses == {*own}
        if others:
            found.note_judged([f"{name}/more"], is_same=False, by_text=True)
    assert new.are_aliases == are_aliases


def cutting(*handed: str) -> Reach:
    found = Reach()
    found.hand_all(links(*(f"{SITE}{path}" for path in handed)), SITE)
    return found


def test_an_address_that_is_not_asked_for_is_new_again() -> None:
    found = cutting("/x", "/y")
    assert found.unmet([f"{SITE}/x"]) == []
    found.take_back([f"{SITE}/x"])
    assert found.unmet([f"{SITE}/x", f"{SITE}/y"]) == [f"{SITE}/x"]
    assert found.new_among(links(f"{SITE}/x"), f"{SITE}/copy", f"{SITE}/kept").addresses
    assert not found.new_among(links(f"{SITE}/y"), f"{SITE}/copy", f"{SITE}/kept").addresses
    found.hand_all(links(f"{SITE}/x"), SITE)
    assert found.unmet([f"{SITE}/x"]) == []


def test_an_address_that_was_asked_for_stays_known() -> None:
    found = cutting("/x")
    found.note_asked([f"{SITE}/x"])
    found.take_back([f"{SITE}/x"])
    found.take_back([f"{SITE}/never"])
    assert found.unmet([f"{SITE}/x", f"{SITE}/never"]) == [f"{SITE}/never"]
    found.note_asked([f"{SITE}/later"])
    assert found.unmet([f"{SITE}/later"]), "it was on no page"
