"""What changes by itself between two visits to one page, at the finest grain."""

from __future__ import annotations

import json
import pickle
import random
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid5

import pytest

from scrapy_simhash.analysis.analyser import Analyser
from scrapy_simhash.decision import noise as module
from scrapy_simhash.decision.cuts import (
    AT_END,
    AT_START,
    EVERYWHERE,
    NO_CUTS,
    ONE_WORD,
    WHOLE,
    Cut,
    Cuts,
    decoded,
    in_order,
    stripped,
)
from scrapy_simhash.decision.differences import (
    MOST_ALIGNED,
    MOST_CUTS,
    MOST_LEFT_OUT,
    MOST_RUNS,
    MOST_WORDS,
    Atom,
    Differences,
    Place,
    differences,
)
from scrapy_simhash.decision.holdings import Comparable, Told
from scrapy_simhash.decision.noise import AGREEING, STAYING, Noise, Noises
from scrapy_simhash.index.site_knowledge import noise_key
from tests.indexes import open_index
from tests.pages import PARAMETERS

SITE = "http://a.example"
TEXT = "A bench of oak for two, made by hand in the north, with a back and two arms of iron."
ANALYSER = Analyser.create(extractor="text")


def visit(kind: str, places: dict[int, Sequence[str]]) -> dict[int, list[Atom]]:
    return {place: [Atom(kind, text) for text in texts] for place, texts in places.items()}


def cuts_of(kind: str, first: Sequence[str], second: Sequence[str]) -> set[Cut]:
    """What differs in one place, 7, between two visits."""
    found = differences(visit(kind, {7: first}), visit(kind, {7: second}))
    assert {place for place, _ in found.changed} <= {7, EVERYWHERE}
    return {cut for _, cut in found.changed}


def addresses(*paths: str) -> list[str]:
    return [SITE + path for path in paths]


def learned(*visits: Differences) -> Noise:
    noise = Noise()
    for found in visits:
        noise.learn(found)
    return noise


def changed(place: int, *cuts: Cut, same: Iterable[int] = ()) -> Differences:
    return Differences(frozenset((place, cut) for cut in cuts), frozenset(same), frozenset())


# Two visits -------------------------------------------------------------------------------------


def test_equal_visits_are_read_only_where_something_is_watched() -> None:
    found = ANALYSER.compare(b"no zlib", b"no zlib", None, SITE)
    assert not found.changed
    assert pickle.loads(pickle.dumps(found)) == found, "a worker sends it"
    with pytest.raises(zlib.error):
        ANALYSER.compare(b"no zlib", b"no zlib", None, SITE, {7: [WHOLE]})


def test_a_box_that_shows_something_again_elsewhere_is_not_cut_as_a_whole() -> None:
    """Where both visits show the same is looked at last, and only for such a box."""

    def in_boxes(offers: str, names: str, others: str = "") -> dict[int, list[Atom]]:
        box, other_box = (Place(70, 71),), (Place(80, 81),)
        shown = {7: offers, 8: names}
        found = {at: [Atom("text", one, boxes=box) for one in of] for at, of in shown.items()}
        found[8] += (Atom("text", one, boxes=other_box) for one in others)
        return found

    assert (70, WHOLE) in differences(in_boxes("ab", "x"), in_boxes("cd", "y")).changed
    # The second time, others are where the name is, in another box.
    for others in (("", ""), ("mn", "op")):
        visits = in_boxes("ab", "x", others[0]), in_boxes("cd", "x", others[1])
        found = differences(*visits)
        assert (7, WHOLE) in found.changed
        assert (70, WHOLE) not in found.changed
        assert 70 in found.same_places
        left_out = differences(*visits, watched={70: [WHOLE]}).left_out[70]
        assert len(left_out[0] & left_out[1]) == 1  # what stays belongs to what it shows
    # A button of each offer belongs to whatever is offered.
    found = differences(in_boxes("ab", "xx"), in_boxes("cd", "xx"))
    assert (70, WHOLE) in found.changed
    left_out = found.left_out[70]
    assert len(left_out[0] & left_out[1]) == 1


@pytest.mark.parametrize(
    ("first", "second", "cuts"),
    [
        (["/17.jpg?sig=a"], ["/17.jpg?sig=b"], {("parameter", "sig")}),
        (
            ["/17.jpg?date=1&sig=a&w=2"],
            ["/17.jpg?date=2&sig=b&w=2"],
            {("parameter", "date"), ("parameter", "sig")},
        ),
        (
            ["/17.jpg?sig=a", "/18.jpg?sig=b"],
            ["/17.jpg?sig=c", "/18.jpg?sig=d"],
            {("parameter", "sig")},
        ),
        (["/s/a/17.m3u8"], ["/s/b/17.m3u8"], {("segment", 4, 6)}),
        (["/s/a/17.ts", "/s/b/18.ts"], ["/s/c/17.ts", "/s/d/18.ts"], {("segment", 4, 6)}),
        (["/17.jpg"], ["/17.jpg"], set()),
        (["/1", "/2"], ["/2", "/1"], set()),
    ],
)
def test_of_an_address_what_changed_is_cut(
    first: list[str], second: list[str], cuts: set[Cut]
) -> None:
    assert cuts_of("address", addresses(*first), addresses(*second)) == cuts


@pytest.mark.parametrize(
    "visits",
    [
        [["17", "23"], ["31", "42"]] * 3,
        [["17", "23"], ["23", "31"]] * 3,
        [["17"], ["23"], ["23"], ["31"], ["31"], ["17", "42"]],
        [["17"], ["23"], ["23"], ["31"], ["31"], ["17"]],
    ],
    ids=["two others", "one other", "not always one", "values return"],
)
def test_a_rotating_box_teaches_nothing_of_a_parameter(visits: list[list[str]]) -> None:
    shown = [
        visit("address", {7: [f"{SITE}/view?id={number}" for number in one]}) for one in visits
    ]
    noise = learned(*map(differences, shown[::2], shown[1::2]))
    assert "id" not in noise.cuts.parameters
    assert ("parameter", "id") not in noise.cuts.places.get(7, ())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["/offer/17", "/offer/23"], ["/offer/31", "/offer/42"]),
        (["/offer/17"], ["/deals/of/23"]),
        (["/view?id=17", "/view?id=23"], ["/view?id=31"]),
    ],
)
def test_a_rotating_box_of_one_place_is_cut_as_a_whole(first: list[str], second: list[str]) -> None:
    assert cuts_of("address", addresses(*first), addresses(*second)) == {WHOLE}


@pytest.mark.parametrize(("one", "two"), [("EUR 1301", "EUR 1,301"), ("1301", "1,301")])
@pytest.mark.parametrize("kind", ["text", "value"])
def test_what_is_written_in_another_way_has_not_changed(kind: str, one: str, two: str) -> None:
    found = differences(visit(kind, {7: [one]}), visit(kind, {7: [two]}))
    assert not found.changed
    assert not found.same_places


def test_beside_data_of_which_something_stays_a_token_is_cut_by_its_words() -> None:
    """Of two elements with one class: all of one changes, and one word of the other."""
    first, second = ([n, f'{{"t":"{n}","qty":310}}'] for n in ("1a7", "2b3"))
    cuts = Cuts(places={7: in_order(cuts_of("value", first, second))})
    assert cuts.text(7, "9d8") == cuts.text(7, "8e7")
    assert cuts.text(7, '{"t":"9d8","qty":310}') == cuts.text(7, '{"t":"8e7","qty":310}')
    assert cuts.text(7, '{"t":"9d8","qty":310}') != cuts.text(7, '{"t":"9d8","qty":311}')
    assert cuts_of("value", first[:1], second[:1]) == {WHOLE}


@pytest.mark.parametrize("is_last", [False, True])
def test_a_link_that_stays_where_it_stood_is_no_part_of_what_a_box_shows(is_last: bool) -> None:
    def offers(links: str, pictures: str) -> dict[int, list[Atom]]:
        box = (Place(70, 71),)
        links = links[::-1] if is_last else links
        return {
            7: [Atom("address", f"http://a.example/{one}/x", boxes=box) for one in links],
            8: [Atom("text", one, boxes=box) for one in pictures],
        }

    assert (70, WHOLE) in differences(offers("abcd", "xyz"), offers("ecfgh", "uvw")).changed
    found = differences(offers("abcd", "xyz"), offers("aefgh", "uvw"))
    assert (70, WHOLE) not in found.changed
    assert 70 in found.same_places


def test_siblings_with_links_are_one_list_behind_what_is_before_the_first() -> None:
    """Each but the first stands behind a text of another, which is another one at each visit."""

    def page(number: int, visit: int) -> bytes:
        words = [f"{at}{'abc'[visit]}{number}" for at in ("one", "two", "six")]
        boxes = "".join(f'<div class="b"><a href="/{one}">{one}</a></div>' for one in words)
        head = f"<h1>Page {number}</h1><p>Text of page {number}.</p><h2>Related</h2>"
        return f"<html><body><main>{head}{boxes}</main></body></html>".encode()

    noise = Noise()
    for number in range(AGREEING):
        first, second = (zlib.compress(page(number, visit)) for visit in (0, 1))
        noise.learn(ANALYSER.compare(first, second, None, SITE, noise.watched()))
    one, other = (ANALYSER.all_told(page(7, visit), None, SITE, noise.cuts) for visit in (0, 1))
    assert one.told.keys() == other.told.keys()


def test_of_too_many_parameters_nothing_is_said() -> None:
    one, two = (
        addresses(*(f"/view?n{number}={number}{letter}" for number in range(MOST_CUTS + 1)))
        for letter in "ab"
    )
    assert cuts_of("address", one[:-1], two[:-1])
    assert not cuts_of("address", one, two)


def test_a_box_that_shows_something_again_is_not_cut_as_a_whole() -> None:
    assert not cuts_of("address", addresses("/1", "/2"), addresses("/2", "/3"))
    assert not cuts_of("text", ["Ann", "Bob"], ["Bob", "Cid"])


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("17|1700000000|ab12", "17|1700000009|cd34", "17|"),
        ("player-17-ab", "player-17-cd", "player-17-"),
        ("exp=1;id=17", "exp=2;id=17", "id=17"),
    ],
)
def test_a_token_keeps_what_does_not_change(first: str, second: str, kept: str) -> None:
    cuts = Cuts(places={7: in_order(cuts_of("value", [first], [second]))})
    assert cuts.text(7, first) == cuts.text(7, second)
    assert kept in cuts.text(7, first)
    assert cuts.text(7, first.replace("17", "23", 1)) != cuts.text(7, first)


def test_of_a_value_that_changes_in_many_places_the_first_are_cut() -> None:
    """Each cut reads the value once: of 1,000 changes in 9 KB, all took 4 s."""
    first, second = (
        " ".join(f"name{i} {i + add}" for i in range(2 * MOST_RUNS)) for add in (0, 7_000)
    )
    cuts = cuts_of("value", [first], [second])
    assert len(cuts) == 2 * MOST_RUNS
    one, other = (Cuts(places={7: in_order(cuts)}).text(7, value) for value in (first, second))
    assert one != other, "so the page passes"
    assert one.count("\0noise") == MOST_RUNS


def test_of_a_place_so_many_cuts_are_known() -> None:
    first, second = ([f"Item {i} at {i + add}" for i in range(2 * MOST_CUTS)] for add in (0, 7_000))
    assert len(cuts_of("text", first, second)) == MOST_CUTS


def test_a_value_of_one_word_is_cut_as_a_whole() -> None:
    assert cuts_of("value", ["ab12"], ["cd34"]) == {WHOLE}


def test_a_time_within_a_text_is_cut_between_the_words_around_it() -> None:
    first, second = "Updated 3 minutes ago", "Updated 17 minutes ago"
    assert cuts_of("text", [first], [second]) == {("between", "Updated ", " minutes ago", ONE_WORD)}
    both = cuts_of("text", ["Oak", first, "Iron"], ["Oak", second, "Iron"])
    assert both == {("between", "Updated ", " minutes ago", ONE_WORD)}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("5,310.00 EUR", "5,367.00 EUR"),
        ("1'310 EUR", "2'310 EUR"),
        ("12:59:01 EUR", "13:00:01 EUR"),
    ],
)
def test_a_number_is_one_word(first: str, second: str) -> None:
    cuts = cuts_of("text", ["x", f"Subtotal {first}"], ["x", f"Subtotal {second}"])
    assert cuts == {("between", "Subtotal ", " EUR", ONE_WORD)}


@pytest.mark.parametrize(
    ("first", "second", "own"),
    [
        ("17:381 views", "17:382 views", "17:"),
        ("17,39.90,5 EUR", "17,39.90,6 EUR", "17,39.90,"),
    ],
)
def test_several_numbers_are_several_words(first: str, second: str, own: str) -> None:
    ((kind, before, *_),) = cuts_of("text", ["x", first], ["x", second])
    assert (kind, before) == ("between", own)


def test_of_a_text_without_words_around_nothing_is_known() -> None:
    assert not cuts_of("text", ["39 EUR", "5", "6"], ["39 EUR", "4", "6"])
    assert cuts_of("text", ["5"], ["4"]) == {WHOLE}


def test_a_long_text_that_changes_is_cut_by_what_is_near_the_change() -> None:
    first, second = f"{TEXT} In stock: 3", f"{TEXT} In stock: 2"
    cuts = cuts_of("text", ["x", first], ["x", second])
    assert not any(cut[0] == "between" for cut in cuts)
    (cut,) = cuts
    assert Cuts(places={7: (cut,)}).text(7, f"{TEXT} In stock: 5") == f"{TEXT} In stock: \0noise"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("buy('7Yp-EY9Z-8',21,'cf9-w1')", "buy('St_p6yr',21,'fuSU8')"),
        ("buy('Pnk1sG',21,'7cCm')", "buy('Z5x_D',21,'kgBy')"),
        ("buy('ab',21,'cd-ef-gh')", "buy('-ab-x-',21,'cd')"),
    ],
)
def test_an_argument_between_tokens_of_any_marks_stays(first: str, second: str) -> None:
    cuts = cuts_of("value", [first], [second])
    assert cuts
    kept = Cuts(places={7: in_order(cuts)})
    assert "21" in kept.text(7, first)


def test_of_long_values_with_tokens_of_other_numbers_of_words_nothing_is_known() -> None:
    def data(*tokens: str) -> str:
        stays = ",".join(f'"key{n}":{n}' for n in range(MOST_ALIGNED))
        return f'{{"a":"{tokens[0]}",{stays},"z":"{tokens[1]}"}}'

    assert not cuts_of("value", [data("p-q", "r-s")], [data("tu", "v-w-x-y")])
    assert cuts_of("value", [data("p-q", "r-s")], [data("t-u", "v-w")])


def test_texts_of_other_number_are_not_compared_one_by_one() -> None:
    assert not cuts_of("text", ["Ann", "at 1 pm"], ["Ann"])
    assert not cuts_of("value", ["a-1", "a-2"], ["a-2", "a-3", "a-1"])


def test_a_place_that_only_one_visit_has_is_noise() -> None:
    assert differences(visit("text", {7: ["Sale"]}), {}).changed == {(7, WHOLE)}


def test_a_place_of_a_page_is_no_part_of_a_parameter() -> None:
    visits = (addresses(f"/a?s={one}#top", f"/b?s={one}") for one in (1, 2))
    found = differences(*(visit("address", {7: one}) for one in visits))
    assert (EVERYWHERE, ("parameter", "s")) in found.changed


def test_the_parameter_of_all_links_has_no_place() -> None:
    first, second = (
        visit("address", {7: addresses(f"/a?s={n}", f"/b?x=3&s={n}"), 8: addresses(f"/c?s={n}")})
        for n in (1, 2)
    )
    found = differences(first, second)
    assert found.changed == {(EVERYWHERE, ("parameter", "s"))}
    assert found.same_places == {7, 8}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["/p?id=1"], ["/p?id=2"]),
        (["/p?id=1", "/q?id=2"], ["/p?id=3", "/q?id=4"]),
        (["/a?lang=en", "/b?lang=en"], ["/a?lang=en", "/b?lang=en"]),
    ],
)
def test_a_parameter_that_tells_addresses_apart_is_not_one_of_the_visit(
    first: list[str], second: list[str]
) -> None:
    found = differences(*(visit("address", {7: addresses(*v)}) for v in (first, second)))
    assert EVERYWHERE not in {place for place, _ in found.changed}


# What is learned --------------------------------------------------------------------------------


def test_a_cut_needs_three_pages_that_agree() -> None:
    noise = Noise()
    for number in range(1, AGREEING + 1):
        assert not noise.cuts
        noise.learn(changed(7, WHOLE))
        assert bool(noise.cuts) == (number == AGREEING)
    assert noise.cuts.places == {7: (WHOLE,)}


def test_three_pages_that_change_in_other_ways_do_not_agree() -> None:
    noise = learned(changed(7, WHOLE), changed(7, ("words", 1, 1, 0)), changed(8, WHOLE))
    assert not noise.cuts


def test_the_parameter_of_all_links_is_known_at_once() -> None:
    noise = learned(changed(EVERYWHERE, ("parameter", "s")))
    assert noise.cuts.parameters == {"s"}
    assert noise.cuts.address(7, f"{SITE}/a?s=1&x=2") == f"{SITE}/a?x=2"


def test_what_stayed_in_over_half_of_the_visits_is_no_noise() -> None:
    noise = learned(*[changed(7, WHOLE)] * 3, *[changed(9, same=[7])] * 3)
    assert noise.cuts.places == {7: (WHOLE,)}
    noise.learn(changed(9, same=[7]))
    assert not noise.cuts
    noise.learn(changed(7, WHOLE))
    assert noise.cuts


def test_what_stays_on_pages_of_one_kind_is_never_cut_again() -> None:
    noise = learned(*[changed(7, WHOLE)] * 9)
    for number in range(STAYING):
        assert noise.cuts
        noise.audit(changed(9, same=[7]), "/room*" if number else "/page*")
    noise.audit(changed(9, same=[7]), "/room*")
    assert not noise.cuts
    assert noise.refuted == 1
    for _ in range(20):
        noise.learn(changed(7, WHOLE))
    assert not Noise.from_bytes(noise.to_bytes()).cuts


def test_what_stays_on_pages_of_one_kind_in_several_sections_is_no_noise_there() -> None:
    noises = Noises()
    sections = [f"a.example/{number}" for number in range(STAYING + 1)]
    for section in sections:
        for _ in range(AGREEING):
            noises.learn(section, changed(7, WHOLE))
    for number, section in enumerate(sections[:STAYING], start=1):
        assert noises.of(section).cuts
        found = noises.audit(section, changed(9, same=[7]), "/*/room*")
        assert found == (set() if number < STAYING else {*sections[:STAYING]})
    assert [bool(noises.of(section).cuts) for section in sections] == [False] * STAYING + [True]
    assert noises.refuted() == {section: int(section != sections[-1]) for section in sections}


def test_what_changes_now_and_then_on_pages_of_a_kind_is_noise_there() -> None:
    noise = learned(*[changed(7, WHOLE)] * 9)
    for found in (changed(7, WHOLE), *[changed(9, same=[7])] * STAYING) * 5:
        noise.audit(found, "/page*")
    assert noise.cuts
    assert not noise.refuted


def test_an_audit_teaches_what_is_not_cut_yet_as_any_visit_does() -> None:
    noise = learned(*[changed(7, WHOLE)] * 3, *[changed(9, WHOLE)] * (AGREEING - 1))
    assert noise.cuts.places == {7: (WHOLE,)}
    noise.audit(changed(9, WHOLE), "/page*")
    assert noise.cuts.places == {7: (WHOLE,), 9: (WHOLE,)}


def test_one_change_among_many_visits_to_a_kind_may_be_for_good() -> None:
    noise = learned(*[changed(7, WHOLE)] * 9)
    for found in (changed(7, WHOLE), *[changed(9, same=[7])] * 2 * STAYING):
        noise.audit(found, "/room*")
    assert not noise.cuts


def test_what_stays_on_pages_of_several_kinds_is_never_cut_again() -> None:
    noise = learned(*[changed(7, WHOLE)] * 9)
    noise.audit(changed(7, WHOLE), "/live*")
    for number in range(STAYING + 1):
        assert noise.cuts
        noise.audit(changed(9, same=[7]), f"/{number}/room*")
    assert not noise.cuts


def test_a_parameter_that_stays_on_pages_of_a_kind_is_never_cut_again() -> None:
    session = changed(EVERYWHERE, ("parameter", "s"))
    noise = learned(session)
    for _ in range(STAYING):
        assert noise.cuts.parameters == {"s"}
        noise.audit(Differences(frozenset(), frozenset(), frozenset({"s"})), "/show*")
    noise.learn(session)
    assert not noise.cuts.parameters
    assert noise.refuted == 1


@pytest.mark.parametrize(
    ("kind", "visits"),
    [
        ("text", [["Bold", "Ann"], ["Calm", "Ann"]]),
        ("address", [["/img/17.jpg", "/img/ann.jpg"], ["/img/4.jpg", "/img/ann.jpg"]]),
    ],
)
def test_beside_the_content_what_stays_in_its_place_is_the_page_s_own(
    kind: str, visits: list[list[str]]
) -> None:
    """A quote above a contact, a banner above a portrait: elements of one class."""
    first, second = (
        {7: [Atom(kind, text, True, (Place(8, 0),)) for text in texts]} for texts in visits
    )
    assert not differences(first, second).changed
    assert differences(first, {7: first[7][:1]}).changed


def test_a_parameter_that_stays_is_unlearned() -> None:
    stays = Differences(frozenset(), frozenset(), frozenset({"s"}))
    noise = learned(changed(EVERYWHERE, ("parameter", "s")), stays)
    assert noise.cuts.parameters == {"s"}
    noise.learn(stays)
    assert not noise.cuts.parameters


def test_a_visit_that_does_not_show_a_place_says_nothing_of_it() -> None:
    noise = learned(*[changed(7, WHOLE)] * 3, *[changed(8)] * 9)
    assert noise.cuts.places == {7: (WHOLE,)}


def test_other_cuts_have_another_number() -> None:
    noise = learned(*[changed(7, WHOLE)] * 3)
    before = noise.cuts
    noise.learn(changed(7, WHOLE))
    assert noise.cuts is before
    noise.learn(changed(EVERYWHERE, ("parameter", "s")))
    assert noise.cuts.number != before.number


def test_what_is_watched_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WATCHED", 2)
    noise = learned(*[changed(place, WHOLE) for place in range(1, 6) for _ in range(3)])
    assert set(noise.cuts.places) == {4, 5}


# Cuts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cut", "value", "left"),
    [
        (WHOLE, "ab12", ""),
        (("words", 2, 3, 0), "17|1700|ab", "17|\0noise"),
        (("words", 0, 1, 2), "1700|ab", "\0noise|ab"),
        (("words", 2, 1, 2), "a|b|c", "a|\0noise|c"),
        (("words", 2, 1, 2), "a|b|c|d", "a|b|c|d"),
        (("words", 2, 1, 2), "a|b", "a|b"),
        (("near", "t=", "&", 0), "s=1&t=2&u=3", "s=1&t=\0noise&u=3"),
        (("near", "t=", "&", 0), "s=1&t=2", "s=1&t=2"),
        (("near", "t=", "", AT_END), "s=1&t=2", "s=1&t=\0noise"),
        (("near", "t=", "&", AT_START), "t=1&t=2&", "t=\0noise&t=2&"),
        (("near", "t=", "&", AT_START), "s=1&t=2&", "s=1&t=2&"),
        (("near", "t=", "&", 0), "t=1&t=2&u=3", "t=1&t=2&u=3"),
        (("near", "t=", "&u", AT_END), "t=1&u&t=2&u", "t=1&u&t=\0noise&u"),
        (("near", "t=", "&u", AT_START | AT_END), "t=1&u&t=2&u", "t=\0noise&u"),
        (("between", "Updated ", " ago", 0), "Updated 3 hours ago", "Updated \0noise ago"),
        (("between", "Updated ", " ago", 0), "Updated ago", "Updated ago"),
        (("between", "Updated ", " ago", 0), "Posted 3 hours ago", "Posted 3 hours ago"),
        (("between", "", " left", 0), "3 left", "\0noise left"),
        (("between", "", " left", ONE_WORD), "3 left", "\0noise left"),
        (("between", "", " left", ONE_WORD), "3 or 4 left", "3 or 4 left"),
        (("near", "t=", "}", AT_END | ONE_WORD), "t=2,s=1}", "t=2,s=1}"),
        (("parameter", "s"), "a?s=1", "a?s=1"),
        (("segment", 3, 4), "a/b/c/d", "a/b/c/d"),
    ],
)
def test_cut_of_a_value(cut: Cut, value: str, left: str) -> None:
    cuts = Cuts(places={7: (cut,)})
    assert cuts.text(7, value) == left
    assert cuts.text(8, value) == value


@pytest.mark.parametrize(
    ("cut", "address", "left"),
    [
        (WHOLE, "/ad/17", ""),
        (("parameter", "s"), "/a?s=1&x=2", "/a?x=2"),
        (("parameter", "s"), "/a?s=1", "/a"),
        (("parameter", "s"), "/a?size=1", "/a?size=1"),
        (("segment", 4, 6), "/s/ab/17.ts?q=1", "/s/\0noise/17.ts?q=1"),
        (("segment", 4, 6), "/s/17.ts", "/s/17.ts"),
        (("segment", 9, 6), "/s/ab/17.ts", "/s/ab/17.ts"),
        (("words", 1, 1, 0), "/s/ab", "/s/ab"),
    ],
)
def test_cut_of_an_address(cut: Cut, address: str, left: str) -> None:
    cuts = Cuts(places={7: (cut,)})
    assert cuts.address(7, SITE + address) == (left and SITE + left)
    assert cuts.address(8, SITE + address) == SITE + address


def test_several_cuts_of_one_place_are_all_made() -> None:
    cuts = Cuts(frozenset({"s"}), {7: (("parameter", "t"), ("segment", 3, 5))})
    assert cuts.address(7, f"{SITE}/ab/x?s=1&t=2&u=3") == f"{SITE}/\0noise/x?u=3"
    assert cuts.address(8, f"{SITE}/ab/x?s=1&t=2&u=3") == f"{SITE}/ab/x?t=2&u=3"
    assert stripped(f"{SITE}/a?s=1&x", {"s"}) == f"{SITE}/a?x"
    assert not NO_CUTS
    assert cuts


# The state --------------------------------------------------------------------------------------

ALL_CUTS: tuple[Cut, ...] = (
    WHOLE,
    ("parameter", "t"),
    ("segment", 4, 6),
    ("words", 1, 1, 0),
    ("near", "t=", "&", AT_START),
    ("between", "Updated ", " ago", 0),
)


def test_state_comes_back_and_is_merged_once() -> None:
    noise = learned(*[changed(7, *ALL_CUTS)] * 3, changed(EVERYWHERE, ("parameter", "s")))
    again = Noise.from_bytes(noise.to_bytes())
    assert again.to_bytes() == noise.to_bytes()
    assert again.cuts == noise.cuts
    assert set(again.cuts.places[7]) == set(ALL_CUTS)
    other = learned(*[changed(8, WHOLE)] * 2)
    for _ in range(2):
        other.merge(again)
    assert set(other.cuts.places) == {7}
    other.learn(changed(8, WHOLE))
    assert set(other.cuts.places) == {7, 8}


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"{",
        b"7",
        b"{}",
        b'{"cuts": [], "words": 7}',
        *(
            b'{"cuts": [%b], "words": []}' % row
            for row in (
                b"7",
                b'["x", 0, ["whole"], 1, 1]',
                b'[7, 0, ["whole"], 1]',
                b'[7, 0, ["whole"], 1, 2]',
                b'[7, 0, ["whole"], 1, -1]',
                b'[7, 0, "whole", 1, 1]',
                b'[7, 0, ["words", "a", "b", "c"], 1, 1]',
                b"[7, 0, [1], 1, 1]",
                b'[7, 0, ["words", 1.5], 1, 1]',
                b'[7, 0, [["whole"]], 1, 1]',
                b"[7, 0, null, 1, 1]",
                b'[7, 0, ["whole"], null, 1]',
                b'[7, 0, ["words", 1], 3, 3]',
                b'[7, 0, ["parameter", 3], 3, 3]',
                b'[7, 0, ["segment", "a"], 3, 3]',
                b'[0, 0, ["whole"], 3, 3]',
            )
        ),
        *(
            b'{"cuts": [[7, 0, ["whole"], 3, 3]], "words": [%b]}' % words
            for words in (b"7", b"[7]", b"[7, 7]", b'[7, ["a"]]', b"[[7], [1]]", b"[7, [[1]]]")
        ),
        b"[" * 9999,
        b"\xff\xfe",
    ],
)
def test_damaged_state_is_refused(stored: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        Noise.from_bytes(stored)
    noises = Noises()
    noises.restore("a.example", stored)
    assert not noises.of("a.example").cuts


def test_the_sections_that_are_known_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SECTIONS", 2)
    noises = Noises()
    for section in "abc":
        noises.learn(section, changed(EVERYWHERE, ("parameter", "s")))
    assert [bool(noises.of(section).cuts) for section in "abc"] == [False, True, True]


def test_what_is_noise_in_one_section_is_in_another_once_it_changes_there() -> None:
    noises = Noises()
    for _ in range(AGREEING):
        noises.learn("a.example/shop", changed(7, WHOLE))
    assert noises.is_noisy("a.example/new")
    assert not noises.is_noisy("b.example")
    noises.learn("a.example/new", changed(9, ("segment", 4), same=[7]))
    assert not noises.of("a.example/new").cuts
    for host, are_cut in (("a.example", True), ("b.example", False)):
        noises.learn(f"{host}/new", changed(7, WHOLE))
        assert bool(noises.of(f"{host}/new").cuts) is are_cut


def test_what_has_changed_in_one_section_is_noise_once_it_is_in_another() -> None:
    noises = Noises()
    for host in ("a.example", "b.example"):
        noises.learn(f"{host}/once", changed(7, WHOLE))
    noises.learn("a.example/never", changed(9, WHOLE, same=[7]))
    learned = [noises.learn("a.example/shop", changed(7, WHOLE)) for _ in range(AGREEING)]
    assert learned == [(True, set()), (True, set()), (False, {"a.example/once", "a.example/shop"})]
    assert noises.of("a.example/once").has_cut(7, WHOLE)
    assert not noises.of("b.example/once").cuts
    assert not noises.of("a.example/never").cuts


@pytest.mark.parametrize(
    ("cut", "tells"),
    [
        (("parameter", "Signature"), True),
        (("between", "", " views", ONE_WORD), True),
        (("between", "", " left", 0), False),
        (WHOLE, False),
        (("segment", 4, 5), False),
    ],
)
def test_what_is_noise_in_two_places_is_in_a_third_once_it_changes_there(
    cut: Cut, tells: bool
) -> None:
    noises = Noises()
    for section, place in (("a.example/shop", 7), ("a.example/blog", 8)):
        noises.learn("a.example/new", changed(9, cut))
        assert not noises.of("a.example/new").has_cut(9, cut)
        noises = Noises() if section == "a.example/shop" else noises
        for _ in range(AGREEING):
            noises.learn(section, changed(place, cut))
            noises.learn("a.example/shop", changed(7, cut))
    assert noises.of("a.example/new").has_cut(9, cut) is tells
    assert not noises.of("a.example/shop").has_cut(9, cut)


def test_a_parameter_that_is_known_does_not_say_what_all_changes_are_behind() -> None:
    """An advertisement stands behind the title of each page, and its address has a known number."""
    noises, number = Noises(), ("parameter", "imp")
    for place in (7, 8):
        for _ in range(AGREEING):
            noises.learn("a.example/shop", changed(place, number))
    for near in range(20, 20 + AGREEING):
        found = changed(9, WHOLE, number).changed | changed(near, number).changed
        noises.learn("a.example/new", Differences(found, frozenset(), frozenset(), wide={near: 9}))
    assert noises.of("a.example/new").has_cut(9, WHOLE)


def shown(*paths: str) -> Mapping[int, list[Atom]]:
    return visit("address", {7: addresses(*paths)})


def test_a_link_that_says_what_it_leads_to_in_a_parameter_is_noise_as_a_whole() -> None:
    """An advertisement of ten, say: its number returns on other pages."""
    noise = Noise()
    for number in range(AGREEING):
        assert not noise.has_cut(7, WHOLE)
        noise.learn(differences(shown(f"/to?ad={number}"), shown(f"/to?ad={number + 1}")))
    assert noise.cuts.places == {7: (WHOLE,)}


@pytest.mark.parametrize("alike", [0, AGREEING])
def test_an_address_that_keeps_what_is_the_page_s_own_is_no_noise_as_a_whole(alike: int) -> None:
    """A signed picture of each page, of which a time returns: two pages of one millisecond."""
    noise = Noise()
    for number in range(alike + AGREEING):
        path = "/to" if number < alike else f"/{number}.jpg"
        first, second = (
            shown(f"{path}?at={number + more}&sign=x{7 * number + more}") for more in (0, 1)
        )
        noise.learn(differences(first, second))
        assert noise.has_cut(7, WHOLE) == (alike > 0 and number == alike - 1)
    assert noise.has_cut(7, ("parameter", "sign"))


def test_a_list_of_which_a_link_stays_is_no_noise_as_a_whole() -> None:
    noise = Noise()
    for number in range(9):
        first, second = (shown("/about", f"/to?ad={number + more}") for more in (0, 1))
        noise.learn(differences(first, second))
    assert not noise.has_cut(7, WHOLE)


def test_a_parameter_that_was_refuted_says_nothing_of_the_rest_of_its_links() -> None:
    noise = learned(*[changed(7, ("parameter", "id"))] * 9)
    for _ in range(STAYING):
        noise.audit(
            Differences(frozenset(), frozenset({7}), frozenset(), names={7: frozenset({"id"})}),
            "/a*",
        )
    assert not noise.cuts
    for number in range(9):
        noise.learn(differences(shown(f"/to?id={3 * number}"), shown(f"/to?id={3 * number + 1}")))
    assert not noise.cuts


def test_each_index_learns_what_changes_by_itself_in_a_section(place: str) -> None:
    with open_index(place, PARAMETERS) as index:
        index.learned.learn_noise("a.example/shop", changed(EVERYWHERE, ("parameter", "s")))
        assert index.learned.noises.of("a.example/shop").cuts.parameters == {"s"}
        assert not index.learned.noises.of("a.example").cuts
        assert not index.learned.noises.of("a.example/blog").cuts


def test_what_one_process_learns_the_next_one_knows(lasting_place: str) -> None:
    section = "a.example/shop"
    with open_index(lasting_place, PARAMETERS) as index:
        for _ in range(AGREEING):
            index.learned.learn_noise(section, changed(7, *ALL_CUTS))
    with open_index(lasting_place, PARAMETERS) as index:
        assert set(index.learned.noises.of(section).cuts.places[7]) == set(ALL_CUTS)
        assert [key for key, _ in index.templates()] == [noise_key(section)]
        for _ in range(AGREEING):
            index.learned.learn_noise(section, changed(8, WHOLE))
        assert set(index.learned.noises.of(section).cuts.places) == {7, 8}


# Real pages -------------------------------------------------------------------------------------

# A page with an id and what changes at each visit; the id is in the same place.
Page = Callable[[int, int], str]


@pytest.mark.parametrize(("others", "is_noise"), [(0, False), (1, True), (2, False)])
def test_what_changes_behind_texts_of_single_pages_changes_behind_any_text(
    others: int, is_noise: bool
) -> None:
    """Of the visits, *others* saw the token behind another text than the rest."""

    def html(number: int, visit: int) -> str:
        title = "Order" if others <= number < 8 else "Ask" if number < 8 else "Reserve"
        return f"<p>{title} here</p><div class=form data-token={pad(visit)}></div>"

    cuts = noise_of(html, 8).cuts
    assert bool(new(html, cuts, 50, 502)) != is_noise


@pytest.mark.parametrize("name", ["meta", "input"])
def test_what_meta_elements_say_is_no_matter_of_the_title_before(name: str) -> None:
    def html(number: int, visit: int) -> str:
        title = "Shop" if number < 8 else "Blog"
        token = f"<{name} name=token content={pad(visit)} value={pad(visit)}>"
        return f"<p>{title} here</p>{token}"

    cuts = noise_of(html, 8).cuts
    assert bool(new(html, cuts, 50, 502)) == (name == "input")


@pytest.mark.parametrize(("without", "is_noise"), [(True, True), (False, False)])
def test_pages_without_a_parameter_say_nothing_of_it(without: bool, is_noise: bool) -> None:
    """Of eight pages, five have links without it, or with one value of it."""

    def html(number: int, visit: int) -> str:
        token = f"?s={pad(visit)}" if number < 3 else "" if without else "?s=7"
        return f'<p>Page</p><p class="terms"><a href="/terms{token}">Terms</a></p>'

    cuts = noise_of(html, 8).cuts
    kept = {cuts.address(place, f"{SITE}/a?s=1") for place in cuts.places}
    assert (f"{SITE}/a" in kept) == is_noise


def page(inside: str) -> str:
    return (
        f"<!DOCTYPE html><html><head><title>Page</title></head><body><main><h1>Bench</h1>"
        f"<p>{TEXT}</p>{inside}</main></body></html>"
    )


def noise_of(html: Page, pages: int = AGREEING) -> Noise:
    """What second visits to some pages teach."""
    noise = Noise()
    for number in range(pages):
        first, second = (
            zlib.compress(page(html(number, 10 * number + visit)).encode()) for visit in (1, 2)
        )
        url = f"{SITE}/page/{number}"
        noise.learn(ANALYSER.compare(first, second, "utf-8", url, noise.watched()))
    return noise


def new(html: Page, cuts: Cuts, number: int, visit: int) -> list[Told]:
    """What is new on a page beside page 50 at its visit 501."""
    told = [
        ANALYSER.all_told(page(html(*of)).encode(), "utf-8", f"{SITE}/page/{of[0]}", cuts)
        for of in ((50, 501), (number, visit))
    ]
    kept, own = told
    found = Comparable(f"{SITE}/page/{number}", own, own.pack(), "a").new_beside(
        f"{SITE}/page/50", kept.pack(), "a"
    )
    assert found is not None
    return [own.told.get(value, Told("text", "", "...")) for value in found]


def either(*forms: str) -> Page:
    """The price of a page in one of some forms, which change from visit to visit."""
    return lambda number, visit: forms[(number + visit) % len(forms)].format(500 + number)


@pytest.mark.parametrize(
    "html",
    [
        either("<p>{} EUR</p>", "<p>EUR {}</p>"),
        either("<p>{}.00 EUR</p>", "<p>{} EUR</p>"),
        either("<p>{} May 2026</p>", "<p>May {}, 2026</p>"),
        either("<p>Oak {}A</p>", "<p>OAK {}A</p>"),
        either('<i class="card lg s-{}"></i>', '<i class="s-{} card lg"></i>'),
        either(
            '<div data-s=\'{{"a": {}, "b": 3}}\'></div>',
            '<div data-s=\'{{"b": 3, "a": {}}}\'></div>',
        ),
        either('<a href="/go?id={}&amp;a=1">Go</a>', '<a href="/go?a=1&amp;id={}">Go</a>'),
        either("<p>Ref {}: seen by Ann</p>", "<p>Ref {}: seen by Ann, Bob, Carl</p>"),
        either(
            "<button class=red data-of={}>Buy</button>",
            "<button class=green data-of={}>Buy</button>",
        ),
        either(
            "<button class='red st-{}'>Buy</button>", "<button class='green st-{}'>Buy</button>"
        ),
        either(
            "<div class=red><ul><li>Oak</li><li>{}</li></ul></div>",
            "<div class=green><ul><li>Oak</li><li>{}</li></ul></div>",
        ),
        either("<p>Price <b>{}</b></p>", "<p>Price <strong>{}</strong></p>"),
        either(
            "<table class=facts><tr><th>Rooms<td>3<tr><th>Area<td>{}<tr><th>Floor<td>2</table>",
            "<dl class=facts><dt>Rooms<dd>3 units<dt>Area<dd>{} units<dt>Floor<dd>2 units</dl>",
        ),
        either("<p>Price <b>{}</b></p>", "<section><i>{} EUR</i><button>Buy</button></section>"),
        either(
            "<table><tr class=odd><td>Oak<td>{}<tr class=even><td>Ash<td>7</table>",
            "<table><tr class=odd><td>Now!<tr class=even><td>Oak<td>{}<tr class=odd><td>Ash<td>7"
            "</table>",
        ),
    ],
    ids=[
        *("currency", "decimals", "date", "case", "classes", "keys", "parameters", "growing"),
        *("class", "state beside a class", "around a list", "tag", "table or list"),
        *("layout", "zebra"),
    ],
)
def test_what_is_shown_in_several_ways_is_no_noise(html: Page) -> None:
    cuts = noise_of(html, 8).cuts
    assert new(html, cuts, 51, 502)


def test_what_is_the_same_at_some_visits_alone_is_no_noise() -> None:
    def html(number: int, visit: int) -> str:
        is_metric = visit % 10 == 1 or number % 2 == 0
        return f"<p>{2 * number} m</p>" if is_metric else f"<p>{200 * number} cm</p>"

    assert not noise_of(html, 8).cuts
    assert noise_of(lambda number, visit: f"<p>{visit} views</p>", 8).cuts


def test_what_is_no_noise_is_none_after_a_restart() -> None:
    html = either("<p>{} EUR</p>", "<p>EUR {}</p>", "<p>Only {}.00 EUR</p>")
    noise = noise_of(html, 8)
    assert not Noise.from_bytes(noise.to_bytes()).cuts
    other = Noise()
    other.merge(Noise.from_bytes(noise.to_bytes()))
    assert not other.cuts


STATES = {
    "language": ["<p>{}</p>", ("In stock", "Auf Lager", "En stock"), ("Sold out", "Fort", "Fini")],
    "layout": [
        "{}",
        ("<b class=now>Now 501</b>", "<i>EUR 501</i>"),
        ("<b class=now>Now 504</b>", "<i>EUR 504</i>"),
    ],
    "box": [
        "<ul class=facts>{}</ul>",
        ("<li>Oak<li>In stock", "<li>Ash<li>Here"),
        ("<li>Oak<li>Sold out", "<li>Ash<li>Gone"),
    ],
    "value": ["<i data-of='{}'></i>", ('{"v": 1}', '{"w": [1]}'), ('{"v": 2}', '{"w": [2]}')],
}


def in_ways(states: list[Any], is_odd: Callable[[int], bool]) -> Page:
    """A state, another one on odd pages, in one of some ways by chance."""
    frame, usual, odd = states

    def html(number: int, visit: int) -> str:
        of = odd if is_odd(number) else usual
        return str(frame.format(random.Random(visit).choice(of)))

    return html


@pytest.mark.parametrize("states", STATES.values(), ids=STATES)
def test_a_word_is_no_noise_where_all_that_come_by_chance_are_known(states: list[Any]) -> None:
    """Nearly all pages say the same, in one of some ways, and one says something else."""
    html = in_ways(states, lambda number: number == 51)
    noise = noise_of(html, 14)
    for cuts in (noise.cuts, Noise.from_bytes(noise.to_bytes()).cuts):
        assert not any(new(html, cuts, 52, visit) for visit in range(501, 509))
        assert all(new(html, cuts, 51, visit) for visit in range(501, 509))


@pytest.mark.parametrize("odd", [3, 7, 8])
def test_some_pages_that_say_something_else_are_visited_as_well(odd: int) -> None:
    """At both visits in one way, or in two."""
    html = in_ways(STATES["language"], lambda number: number in (odd, 51))
    assert (html(odd, 10 * odd + 1) == html(odd, 10 * odd + 2)) == (odd == 3)
    noise = noise_of(html, 14)
    assert noise.cuts.places
    assert all(new(html, noise.cuts, 51, visit) for visit in range(501, 513))


def test_what_was_cut_before_all_words_were_known_is_counted_as_refuted() -> None:
    html = in_ways(STATES["language"], lambda number: False)
    noise = noise_of(html, 14)
    assert noise.refuted == len(noise.cuts.words) > 0


@pytest.mark.parametrize(
    "html",
    [
        lambda number, visit: f"<p>Banner {pad(random.Random(visit).randrange(30))}</p>",
        lambda number, visit: f"<p>{visit} views</p>",
        lambda number, visit: f"<p>As of {12 + visit // 600}:{visit // 20 % 60 + visit % 2:02}</p>",
    ],
    ids=["banners", "views", "time"],
)
def test_where_other_words_may_come_all_are_noise(html: Page) -> None:
    noise = noise_of(html, 20)
    assert noise.cuts.places
    assert not noise.cuts.words
    assert not new(html, noise.cuts, 50, 9_999)


def test_words_that_come_by_chance_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = noise_of(in_ways(STATES["language"], lambda number: False), 14)
    state = noise.to_bytes()
    assert noise.cuts.words
    monkeypatch.setattr(module, "MAX_WORDS", 1)
    assert not Noise.from_bytes(state).cuts.words
    monkeypatch.undo()
    monkeypatch.setattr(module, "MAX_VOCABULARY", 1)
    assert not Noise.from_bytes(state).cuts.words
    other = Noise()
    for _ in range(AGREEING):
        other.learn(changed(7, WHOLE)._replace(left_out={7: (frozenset({1, 2, 3}), frozenset())}))
    assert other.cuts.places
    assert not other.cuts.words


def test_what_is_told_of_two_visits_is_bounded() -> None:
    def page_of(visit_number: int) -> dict[int, list[Atom]]:
        shown: dict[int, Sequence[str]]
        shown = {place: [f"{visit_number * place} views"] for place in range(1, 5_000)}
        long = " ".join(f"word{visit_number * i}" for i in range(MOST_WORDS + 1))
        return visit("text", shown | {5_000: [long]})

    left_out = differences(page_of(7), page_of(11)).left_out
    assert 5_000 not in left_out
    assert 0 < sum(len(words) for both in left_out.values() for words in both) <= MOST_LEFT_OUT


def test_what_turns_out_to_be_no_noise_is_counted_as_refuted() -> None:
    def html(number: int, visit: int) -> str:
        is_metric = visit % 10 == 1 or number > AGREEING
        return f"<p>{number + 4} m</p>" if is_metric else f"<p>{number + 4}00 cm</p>"

    assert noise_of(html).cuts
    assert noise_of(html).refuted == 0
    assert not noise_of(html, 3 * AGREEING).cuts
    assert noise_of(html, 3 * AGREEING).refuted


def pad(number: int) -> str:
    """A number as a token, of letters and digits."""
    return f"{number * 7919:08x}ab"


def uuid(number: int) -> str:
    return str(uuid5(UUID(int=number), ""))


def in_base64(**values: object) -> str:
    return b64encode(json.dumps(values).encode()).decode()


SAID = "17|one of 23 items"  # in base64, it has a capital and no padding
ENCODED = b64encode(SAID.encode()).decode()


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (ENCODED, SAID),
        (f"a={ENCODED}&b", f"a={SAID}&b"),
        (f"{ENCODED}.{ENCODED}.{ENCODED}", f"{SAID}.{SAID}.{SAID}"),
        (b64encode(b"seventeen of 17").decode() + " ", "seventeen of 17 "),
        (b64encode(b"seventeen of 7").decode() + " ", "seventeen of 7 "),
        ("c2V2ZW50ZWVuIG9mID8_", "seventeen of ??"),
        ("c2V2ZW50ZWVuIG9mID8/", "seventeen of ??"),
        ("c2V2ZW50ZWVuIG9mIDc=", "seventeen of 7"),
        ("c2V2ZW50ZWVuIG9mIDd=", None),  # it says the same, and is another name
        (f"{ENCODED}===", None),
        (f"{ENCODED}=a", None),
        (f"-{ENCODED}/", None),  # no alphabet has both
        (ENCODED[:15], None),
        ("0.6666666666666666", None),  # three letters of Hangul
        ("Price 0.6666666666666666", None),
        ("woocommerce-LoopProduct-link", None),
        ("", None),
    ],
)
def test_a_value_in_base64_is_read_as_what_it_says(written: str, said: str | None) -> None:
    assert decoded(written) == (written if said is None else said)


def mail(number: int, visit: int) -> str:
    """The address of somebody, as Cloudflare writes it on a page."""
    key = visit % 251 + 1
    return bytes([key, *(byte ^ key for byte in f"desk{number}@a.example".encode())]).hex()


def hanzi(number: int) -> str:
    """The name of a thing, of eight characters."""
    return "".join(chr(0x4E00 + zlib.crc32(b"%d %d" % (number, i)) % 997) for i in range(8))


PAGES: dict[str, Page] = {
    "presigned picture": lambda n, v: (
        f'<img src="/i/{n}.jpg?X-Amz-Date={v}&X-Amz-Signature={pad(v)}">'
    ),
    "presigned pictures": lambda n, v: "".join(
        f'<img src="/i/{n}-{i}.jpg?X-Amz-Signature={pad(10 * v + i)}">' for i in range(3)
    ),
    "picture of now": lambda n, v: f'<img src="/i/{n}-{17_000 + v}.jpg">',
    "picture of now, behind a dot": lambda n, v: f'<img src="/i/photo-{n}.{17_000 + v}.jpg">',
    "picture of now, with a copy": lambda n, v: (
        f'<img src="/i/{n}-{17_000 + v}.jpg"><img src="/i/{n}-{17_000 + v}_2.jpg">'
    ),
    "piece of a parameter": lambda n, v: f'<a href="/go?of={n}_{pad(v)}&w=2">Go</a>',
    "pieces of parameters": lambda n, v: "".join(
        f'<a href="/go?of={n + i}_{pad(10 * v + i)}">Go</a>' for i in range(3)
    ),
    "parameter in base64": lambda n, v: f'<a href="/go?u={in_base64(item=n, at=v)}">Go</a>',
    "parameter with a web token": lambda n, v: (
        f'<iframe src="/view?t={in_base64(alg="HS256", typ="JWT")}.{in_base64(item=n, iat=v)}.'
        f'{pad(v)}{pad(v)}"></iframe>'
    ),
    "segment in base64": lambda n, v: f'<img src="/{pad(v)}/{in_base64(item=n, at=v)}.png">',
    "numbers of a call": lambda n, v: f'<b onclick="f({n},{1_700_000_000 + v})">Vote</b>',
    "number before a token": lambda n, v: f'<b data-of="{n}:{60 + v % 39}x{pad(v)}">Vote</b>',
    "numbers of a value": lambda n, v: f'<b data-of="{300 + n},{4_000 + v}">Vote</b>',
    "list in a string": lambda n, v: f"<script>f('{1_700_000_000 + v},{n},EUR')</script>",
    "base64": lambda n, v: f"<div data-state='{in_base64(at=17_000 + v, id=n)}'></div>",
    "short base64": lambda n, v: f"<i data-t='{b64encode(f'{n}|{pad(v)}'.encode()).decode()}'></i>",
    "base64 in a script": lambda n, v: f"<script>f('{in_base64(at=17_000 + v, id=n)}')</script>",
    "web token": lambda n, v: (
        f'<input name="t" value="{in_base64(alg="HS256", typ="JWT")}.'
        f'{in_base64(item=n, iat=17_000 + v)}.{pad(v)}{pad(v)}">'
    ),
    "player": lambda n, v: f'<iframe src="/embed/{n}?token={pad(v)}"></iframe>',
    "segment": lambda n, v: f'<video src="/s/{pad(v)}/{n}.m3u8"></video>',
    "uuid": lambda n, v: f'<meta name="request" content="{uuid(v)}"><p>Item {n}</p>',
    "uuid in a script": lambda n, v: f'<script>f({{id: "{uuid(v)}", of: {n}}})</script>',
    "token": lambda n, v: f'<div data-player="{n}|{17_000 + v}|{pad(v)}"></div>',
    "nonce": lambda n, v: (
        f'<form method="post"><input name="_token" type="hidden" value="{pad(v)}">'
        f'<input name="item" type="hidden" value="{n}"></form>'
    ),
    "script": lambda n, v: f'<script>var page = {{id: {n}, csrf: "{pad(v)}"}};</script>',
    "time": lambda n, v: f"<p>Updated {v} seconds ago</p><p>Item {n} of all</p>",
    "views": lambda n, v: f"<p>Seen by {v} people</p><p>Item {n}</p>",
    "session": lambda n, v: (
        f'<a href="/cart?s={v}">Cart</a><a href="/start?s={v}">Start</a><a href="/of/{n}">x</a>'
    ),
    # The kept page has no session.
    "session in a form": lambda n, v: (
        f'<a href="/cart?s={v}">Cart</a><a href="/start?s={v}">Start</a><a href="/of/{n}">x</a>'
        f'<form><input name="q"><input type="hidden" name="s" value="{v}"></form>'
        if v != 501
        else f'<a href="/cart">Cart</a><a href="/start">Start</a><a href="/of/{n}">x</a>'
        '<form><input name="q"></form>'
    ),
    "advertisement": lambda n, v: (
        f'<div class="banner"><a href="/ads/{pad(v)}"><img src="/ads/{pad(v)}.gif"></a></div>'
        f'<p class="item">Item {n}</p>'
    ),
    "box": lambda n, v: (
        f'<ul class="others"><li><a href="/view?id={v}">Of {pad(v)}</a></li>'
        f'<li><a href="/view?id={v + 5}">Of {pad(v + 5)}</a></li></ul>'
        f'<p class="item"><a href="/view?id={n}">Order {n}</a></p>'
    ),
    "list of others": lambda n, v: (
        '<ul class="others">'
        + "".join(
            f'<li><a href="/of/{pad(9 * v + i)}" title="Bench {pad(9 * v + i)}"><img width="300"'
            f' src="/i/{pad(9 * v + i)}.jpg">Bench {pad(9 * v + i)}</a>'
            f"<b>{(7 * v + 3 * i) % 15},000 EUR</b><button>Put it into the cart</button></li>"
            for i in range(4 + v % 3)
        )
        + f'</ul><ul class="items"><li>Bench {n}</li></ul>'
    ),
    "list of a brand": lambda n, v: (
        '<ul class="others">'
        + "".join(
            f'<li><a href="/of/{pad(9 * v + i)}">{"Oak" if (v + i) % 4 else "Elm"} {pad(9 * v + i)}'
            "</a></li>"
            for i in range(4)
        )
        + f'</ul><ul class="items"><li>Bench {n}</li></ul>'
    ),
    "text without spaces": lambda n, v: f"<p>{v}分钟前发布于{hanzi(n // 51)}</p>",
    "list without spaces": lambda n, v: (
        '<ul class="others">'
        + "".join(f'<li><a href="/of/{9 * v + i}">{hanzi(9 * v + i)}</a></li>' for i in range(4))
        + f'</ul><ul class="items"><li>{hanzi(n)}</li></ul>'
    ),
    "notice": lambda n, v: (
        ("" if v % 10 == 1 else f'<div class="notice"><b>Order {pad(v)}</b> is here</div>')
        + f'<p class="item">Item {n}</p>'
    ),
    "counters of a list": lambda n, v: (
        '<ul class="items">'
        + "".join(
            f'<li><a href="/of/{i}">Of {n}-{i}</a> <b>{v % 7},000 EUR</b> <i>{9 * v + i}</i></li>'
            for i in range(3)
        )
        + "</ul>"
    ),
    "row": lambda n, v: (
        f'<table><tr><td class="of">Item {n}</td><td class="rate">{v}.{v % 90}</td></tr></table>'
    ),
    "page in a row": lambda n, v: (
        f'<table><tr><td>{v}</td><td class="item">Item {n}</td></tr></table>'
    ),
}


@pytest.mark.parametrize("html", PAGES.values(), ids=PAGES)
def test_what_changes_by_itself_is_no_news_and_what_stays_is(html: Page) -> None:
    assert new(html, NO_CUTS, 50, 509)
    cuts = noise_of(html).cuts
    assert not new(html, cuts, 50, 509)
    assert new(html, cuts, 51, 509)


@pytest.mark.parametrize(
    "html",
    [
        lambda n, v: f'<a data-cfemail="{mail(n, v)}">[email protected]</a>',
        lambda n, v: f'<a href="/cdn-cgi/l/email-protection#{mail(n, v)}">Write to us</a>',
        lambda n, v: f'<a href="mailto:{"desk" if v % 2 else "%64%65sk"}{n}@a.example">Write</a>',
    ],
    ids=["shown by Cloudflare", "linked by Cloudflare", "percent-encoded"],
)
def test_mail_is_the_same_however_it_is_encoded(html: Page) -> None:
    assert not new(html, NO_CUTS, 50, 509)
    assert new(html, NO_CUTS, 51, 509)
    assert not noise_of(html).cuts


SECONDS = 1_795_896_569
STARS = ["★☆☆☆☆", "★★☆☆☆", "★★★☆☆", "★★★★☆", "★★★★★"]
# A field and what changes by itself are one word, or all else are signs.
IN_ONE_WORD: dict[str, Page] = {
    "time behind a point": lambda n, v: f'<b data-of="{4700 + n}.{SECONDS + v}">Seat</b>',
    "time behind a letter": lambda n, v: f'<b data-of="seat{10 + n}t{SECONDS + v}">Seat</b>',
    "time behind a word": lambda n, v: f'<b data-of="{"rstuvwx"[n % 7] * 3}{SECONDS + v}">Seat</b>',
    "version of a picture": lambda n, v: f'<img src="/i/room.jpg?v={10 + n}x{SECONDS + v}">',
    "build": lambda n, v: f'<b data-of="3.{10 + n}.{5000 + v}">Seat</b>',
    "stars": lambda n, v: f"<p>{STARS[n % 5]} ({5000 + v})</p>",
    "arrow": lambda n, v: f"<p>{'▲▼►'[n % 3]} {v}.{v % 90}</p>",
    "currency": lambda n, v: f"<p>{'€$£'[n % 3]} {5000 + v}</p>",
    "plus": lambda n, v: f'<b title="{"+" * (1 + n % 3)} {5000 + v}">Rate</b>',
    "emoji": lambda n, v: f"<p>{'🔥💧🌱'[n % 3]} {5000 + v}</p>",
}


@pytest.mark.parametrize("html", IN_ONE_WORD.values(), ids=IN_ONE_WORD)
def test_a_field_in_one_word_with_what_changes_by_itself_is_news(html: Page) -> None:
    assert new(html, noise_of(html, 8).cuts, 51, 509)


def test_where_signs_come_by_chance_another_one_is_news() -> None:
    def html(number: int, visit: int) -> str:
        return f"<p class=of>{'+' * (1 + visit % 3)}</p><p>Item 7</p>"

    cuts = noise_of(html, 9).cuts
    assert cuts.words
    assert not new(html, cuts, 50, 509)
    assert new(lambda n, v: f"<p class=of>{'+' if v == 501 else '✓'}</p><p>Item 7</p>", cuts, 50, 9)


@pytest.mark.parametrize("html", PAGES.values(), ids=PAGES)
def test_two_pages_are_not_enough(html: Page) -> None:
    cuts = noise_of(html, AGREEING - 1).cuts
    assert not cuts.places


def test_a_stock_that_changes_on_one_page_is_no_noise() -> None:
    def html(number: int, visit: int) -> str:
        left = visit if number == 1 else 5
        return f"<p class=stock>{left} left</p><p>Item 7</p>"

    assert not noise_of(html, 9).cuts
    assert new(lambda n, v: f"<p class=stock>{v} left</p><p>Item 7</p>", NO_CUTS, 50, 502)


def comments(number: int, visit: int) -> str:
    """Another comment at each visit, and the age of each."""
    written = "".join(
        f'<li><a href="/by/{i}">Ann {i}</a><p>{pad(number * 100 + i)}</p>'
        f"<i>{99 * visit + i}</i></li>"
        for i in range(4 + visit % 10)
    )
    return f'<ol class="comments">{written}</ol>'


def test_a_list_that_grows_is_no_noise() -> None:
    cuts = noise_of(comments).cuts
    assert cuts
    assert new(comments, cuts, 51, 501)
    assert new(comments, cuts, 50, 502)


def test_in_a_box_of_others_links_still_count_as_handed() -> None:
    html = PAGES["notice"]
    cuts = noise_of(html).cuts
    linked = page('<div class="notice"><b>Order</b> <a href="/order/9">is here</a></div>')
    found = ANALYSER.all_told(linked.encode(), "utf-8", f"{SITE}/page/50", cuts)
    assert [*found.addresses.cut_links()] == [f"{SITE}/order/9"]
    assert not found.addresses.values()
    assert not any("Order" in told.text for told in found.told.values())


def test_a_box_of_others_says_nothing_of_links_elsewhere() -> None:
    cuts = noise_of(PAGES["box"]).cuts
    assert "id" not in cuts.parameters
    assert {told.text for told in new(PAGES["box"], cuts, 51, 501)} >= {f"{SITE}/view?id=51"}


def test_a_cart_beside_the_content_is_noise_though_some_of_it_stays() -> None:
    """The things in it are those of the visitor, some from one visit to the next."""

    def html(number: int, visit: int) -> str:
        things = [7, *range(visit % 13, visit % 13 + 8 + visit % 3)]
        items = "".join(
            f'<li class="thing"><a href="/remove/{pad(one)}">x</a><img src="/{one}.jpg" '
            f'width="{300 - one % 2}"><a href="/thing/{one}">Thing {pad(one)}</a> {one} EUR</li>'
            for one in things
        )
        cart = f'<header><ul class="cart">{items}</ul><p>{pad(visit)} EUR</p></header>'
        return f"<p>Page {number}</p></main>{cart}<main>"

    cuts = noise_of(html, 2 * AGREEING).cuts
    assert not new(html, cuts, 50, 509)
    assert new(html, cuts, 51, 509), "it is another page"


@pytest.mark.parametrize(
    "item",
    [
        '<li><a href="/item/{0}">Item {1}</a></li>',
        '<p><img src="/{0}.jpg"></p>',
        "<li>Item {1}</li>",
        "<p>{1}</p>",
        "<p>{1} pieces</p>",
        "<li><b>{1}</b></li>",
    ],
)
def test_what_is_behind_another_text_where_others_change_is_the_page_s_own(item: str) -> None:
    """Boxes of one class: what else a visitor may like, and what belongs to an item."""

    def box(title: str, first: int) -> str:
        items = "".join(item.format(first + i, pad(first + i)) for i in range(3))
        return f'<div class="box"><h4>{title}</h4><ul>{items}</ul></div>'

    def html(number: int, visit: int) -> str:
        own = box("See also", number * 1_000) if number >= 50 else ""
        return own + box("You may also like", visit * 1_000)

    cuts = noise_of(html).cuts
    assert not new(html, cuts, 50, 509)
    assert new(html, cuts, 51, 509)


def test_what_is_behind_a_script_is_behind_the_text_before_it() -> None:
    def html(number: int, visit: int) -> str:
        script = '<script>show("offer", "now", 17);</script>'
        return f"<h4>You may also like</h4>{script}<p>Item {pad(visit)}</p>"

    cuts = noise_of(html).cuts
    assert not new(html, cuts, 50, 509)
    assert new(lambda *of: html(*of).replace("also", "rather"), cuts, 51, 509)


def test_a_list_in_another_order_at_each_visit_shows_nothing_that_changes() -> None:
    """Behind "None" stands another answer each time, and all of them are there at each visit."""

    def answers(*texts: str) -> dict[int, list[Atom]]:
        behind = zip(("Question", *texts), texts, strict=False)
        return {7: [Atom("text", text, near=hash(before)) for before, text in behind]}

    found = differences(answers("None", "All", "Oak"), answers("None", "Oak", "All"))
    assert not found.changed


def test_a_list_that_rotates_is_seldom_a_field_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of five lamps of thirty, some are shown at both visits to a page and at none before."""

    def is_refuted(seed: int) -> bool:
        def html(number: int, visit: int) -> str:
            lamps = random.Random(f"{seed} {visit}").sample(range(30), 5)
            items = (f'<li><a href="/of/{k}">Lamp {pad(k)} of {pad(7 * k)}</a></li>' for k in lamps)
            return f'<div class="seen"><ul>{"".join(items)}</ul></div>'

        noise = noise_of(html, 14)
        assert noise.cuts.places
        return noise.refuted > 0

    monkeypatch.setattr(module, "MAX_WORDS", 0)
    assert sum(map(is_refuted, range(10))) <= 1


@pytest.mark.parametrize("seed", range(10))
def test_a_field_with_many_words_in_two_notations_is_no_list(seed: int) -> None:
    """One of few values, so that other pages show all of its words as well."""

    def html(number: int, visit: int) -> str:
        days = number % 4
        if random.Random(f"{seed} {visit}").random() < 0.5:
            return f"<p>Ships within {days} days from our own house in the old town</p>"
        return f"<p>You get it after {days} days; our driver rings at your door with it</p>"

    cuts = noise_of(html, 14).cuts
    for visit in (501, 502, 503, 504):
        assert new(html, cuts, 51, visit)


@pytest.mark.parametrize(("words", "is_list"), [(10, True), (2, False)])
def test_a_list_that_was_taken_for_a_field_may_turn_out_to_be_one(
    words: int, is_list: bool
) -> None:
    """What two pages show at both visits, and no other; a field has fewer words."""

    def block(page: int) -> frozenset[int]:
        return frozenset(range(page * words, (page + 1) * words))

    def showed(page: int, *others: int, is_same: bool = False) -> Differences:
        first = frozenset[int]().union(*map(block, (page, *others)))
        visits = first, first if is_same else frozenset[int]()
        return changed(7, WHOLE)._replace(left_out={7: visits})

    noise = learned(*map(showed, range(3)))
    assert noise.has_cut(7, WHOLE)
    for page in (3, 4):
        noise.learn(showed(page, is_same=True))
    assert noise.refuted == 1
    assert not noise.has_cut(7, WHOLE)
    for page, other in enumerate((0, 1, 2, 5, 6, 7), 5):
        noise.learn(showed(page, other))
    assert noise.has_cut(7, WHOLE) == is_list
    noise.learn(showed(11, is_same=True))
    assert not noise.has_cut(7, WHOLE)
    for page, other in enumerate((8, 9, 10, 12, 13, 14, 15), 12):
        noise.learn(showed(page, other))
    assert noise.refuted == 1 + is_list
    assert not noise.has_cut(7, WHOLE), "it is not asked for again and again"
