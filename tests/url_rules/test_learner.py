"""Rules are learned from verdicts, act where the evidence is, and stop at the first failure."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import pytest

from scrapy_simhash.url_rules import book as book_module
from scrapy_simhash.url_rules.book import MAX_RULES, MAX_SUGGESTED, RuleBook, SiteRules
from scrapy_simhash.url_rules.evidence import (
    KEYS_BESIDE_FAILURES,
    LEAST_KEYS,
    MAX_FOLDERS,
    MAX_STAGES,
    WIDE_PATTERNS,
    Hypothesis,
)
from scrapy_simhash.url_rules.learner import Learner, Lesson
from scrapy_simhash.url_rules.rule import AddressRule, Kind
from scrapy_simhash.urls import Address, folder_pattern
from tests.proven_rules import prove

HOST = "http://a.com"
SID = AddressRule("parameter", "a.com", "sid", "")
# So many duplicates put a rule on trial, and so many trials after them are enough for the first
# rule, and for the second.
SUGGESTIONS, FIRST, SECOND = 2, 45, 78
# So many prove it in the second folder that has trials.
PROVEN = 420


class Crawl:
    """A crawl that judges pages by what the test says their content is."""

    def __init__(self) -> None:
        self.book = RuleBook()
        self.learner = Learner(self.book)
        self.kept: dict[str, str] = {}

    def page(self, path: str, content: str, jar: str = "") -> Lesson:
        url = path if path.startswith("http") else HOST + path
        return self.learner.learn(url, self.kept.setdefault(content, url), jar)

    def alias(self, name: str, folder: str = "", end: str = "?sid=1") -> Lesson:
        """A page, and then the same at another address."""
        self.page(f"{folder}/{name}", f"{folder}{name}")
        return self.page(f"{folder}/{name}{end}", f"{folder}{name}")

    def aliases(self, count: int, folder: str = "", end: str = "?sid=1") -> list[Lesson]:
        return [self.alias(f"p{i}", folder, end) for i in range(count)]

    @property
    def of(self) -> dict[AddressRule, Hypothesis]:
        return {one.rule: one for one in self.book.all()}

    def matches(self, path: str, jar: str = "") -> bool:
        known = self.learner.say(HOST + path, jar).known
        return known is not None and known.stage != "waiting"


def suspended(lesson: Lesson) -> list[tuple[AddressRule, str | None]]:
    return [(one.rule, pattern) for one, pattern, _ in lesson.suspended]


def learned_in(folder: str) -> Crawl:
    crawl = Crawl()
    crawl.aliases(SUGGESTIONS + FIRST, folder)
    return crawl


def learned() -> Crawl:
    return learned_in("/a")


def test_a_rule_acts_after_45_keys() -> None:
    crawl = Crawl()
    lessons = crawl.aliases(SUGGESTIONS + FIRST, "/a")
    assert not any(lesson.learned for lesson in lessons[:-1])
    (rule,) = lessons[-1].learned
    assert (rule.rule, rule.keys, rule.failures) == (SID, FIRST, 0)
    assert rule.acts() == ["/a/*"]


def test_four_addresses_of_one_page_suggest_a_rule() -> None:
    crawl = Crawl()
    for value in range(3):
        assert SID not in crawl.of
        crawl.alias("p", "/a", f"?sid={value}")
    assert crawl.of[SID].keys == 0, "they are no trials"


def test_a_rule_matches_an_address_of_a_kept_page_only() -> None:
    crawl = learned()
    assert crawl.matches("/a/p1?sid=7")
    assert not crawl.matches("/a/p1"), "the kept page itself"
    assert not crawl.matches("/a/unknown?sid=7")
    assert not crawl.matches("/b/p1?sid=7"), "another folder"
    assert not crawl.matches("/a/p1?sid=7", jar="2")
    assert not crawl.matches("/a/p1?sid=7&page=2")


def test_the_page_that_was_kept_may_be_at_any_of_its_addresses() -> None:
    crawl = learned()
    crawl.page("/a/new?sid=3", "new")
    assert crawl.matches("/a/new")
    assert crawl.matches("/a/new?sid=4")


def test_a_page_that_was_kept_before_the_rule_was_tried_is_found() -> None:
    crawl = Crawl()
    crawl.page("/a/old?sid=9", "old")
    crawl.aliases(SUGGESTIONS + FIRST, "/a")
    assert crawl.matches("/a/old")
    assert crawl.matches("/a/old?sid=3")
    assert not crawl.matches("/a/old?sid=9")


def test_the_order_of_parameters_does_not_count() -> None:
    crawl = learned()
    crawl.page("/a/new?x=1&y=2", "new")
    assert crawl.matches("/a/new?sid=3&y=2&x=1")


def test_a_page_that_was_taken_back_is_not_kept() -> None:
    crawl = learned()
    crawl.page("/a/new?sid=3", "new")
    crawl.learner.forget(f"{HOST}/a/new?sid=3")
    assert not crawl.matches("/a/new")
    crawl.learner.forget(f"{HOST}/a/p1")
    assert not crawl.matches("/a/p1?sid=7")


def test_a_page_whose_content_is_elsewhere_is_not_kept() -> None:
    crawl = learned()
    crawl.page("/a/copy?sid=1", "/ap1")
    assert not crawl.matches("/a/copy?sid=2")


def with_templates() -> Crawl:
    """Sessions that do not matter in four folders."""
    crawl = learned_in("/v1")
    for folder in ("/b", "/c", "/d"):
        for i in range(LEAST_KEYS):
            crawl.alias(f"own{i}", folder)
    assert {*crawl.of[SID].acts()} == {"/vN/*", "/b/*", "/c/*", "/d/*"}
    crawl.page("/v2/mine", "mine")
    return crawl


def test_links_that_are_new_and_may_be_noise_suspend_a_rule_in_one_template() -> None:
    crawl = with_templates()
    url = f"{HOST}/v2/mine?sid=1"
    lesson = crawl.learner.learn(url, url, is_doubtful=True, leads_on=True)
    assert (SID, "/vN/*") in suspended(lesson)
    assert {*crawl.of[SID].acts()} == {"/b/*", "/c/*", "/d/*"}
    crawl.learner.fail(SID, "/d/*", True, f"{HOST}/d/lamp")
    assert not crawl.of[SID].acts(), "only two agree"
    crawl.learner.note_noise(url, ())
    assert {*crawl.of[SID].acts()} == {"/vN/*", "/b/*", "/c/*"}


def test_data_that_is_new_after_the_kept_page_suspends_it_everywhere() -> None:
    crawl = with_templates()
    url = f"{HOST}/v2/mine?sid=1"
    lesson = crawl.learner.learn(url, url, is_doubtful=True)
    assert (SID, "/vN/*") in suspended(lesson)
    assert not crawl.of[SID].acts()


def test_links_that_are_new_after_the_kept_page_suspend_it_there() -> None:
    crawl = with_templates()
    url = f"{HOST}/v2/mine?sid=1"
    lesson = crawl.learner.learn(url, url, leads_on=True)
    assert (SID, "/vN/*") in suspended(lesson)
    assert crawl.of[SID].acts() == ["/b/*", "/c/*", "/d/*"]


def test_a_failure_apart_that_has_no_room_counts_for_the_folders_above() -> None:
    crawl = learned()
    for i in range(MAX_FOLDERS):
        crawl.aliases(5, f"/f{'x' * (i + 1)}")
    crawl.learner.fail(SID, "/other/*", True, f"{HOST}/other/lamp")
    assert not crawl.matches("/f/p1?sid=7")
    trials = crawl.of[SID].trials
    assert all(one.right >= LEAST_KEYS for one in trials.values())
    assert [name for name, one in trials.items() if one.right > LEAST_KEYS] == ["/", "/a/", "/a/*"]


def test_eight_templates_stand_for_those_without_trials() -> None:
    crawl = Crawl()
    folders = [f"/f{'x' * (i + 1)}" for i in range(WIDE_PATTERNS)]
    for folder in folders:
        crawl.page("/new/sub/p1", "new")
        assert not crawl.matches("/new/sub/p1?sid=7")
        crawl.aliases(15, folder)
    match = crawl.learner.say(f"{HOST}/new/sub/p1?sid=7").known
    assert match is not None
    assert match.stage == "young"
    crawl.page("/new/sub/p1?sid=8", "another")
    assert not crawl.matches("/new/sub/p1?sid=7")
    crawl.page("/other/p1", "other")
    assert not crawl.matches("/other/p1?sid=7")
    assert not crawl.matches("/f/p1?sid=7"), "three templates agree, and one disagrees"


def test_a_template_that_failed_stays_suspended_whatever_others_say() -> None:
    crawl = Crawl()
    crawl.aliases(SUGGESTIONS, "/a")
    for i in range(WIDE_PATTERNS):
        crawl.aliases(15, f"/f{'x' * (i + 1)}")
    crawl.page("/new/p1", "new")
    assert crawl.matches("/new/p1?sid=7")
    crawl.learner.fail(SID, "/new/*", True, f"{HOST}/new/lamp")
    assert not crawl.matches("/new/p1?sid=7")
    crawl.page("/other/p1", "other")
    assert crawl.matches("/other/p1?sid=7")


def test_a_kept_page_is_evidence_for_one_key_whatever_copies_it_has() -> None:
    crawl = learned_in("/v1")
    crawl.page("/v1/new", "new")
    crawl.page("/v1/new?sid=1", "new")
    keys = crawl.of[SID].keys
    crawl.page("/v2/new", "new")
    crawl.page("/v2/new?sid=1", "new")
    assert crawl.of[SID].keys == keys


def test_a_copy_of_a_page_that_is_kept_elsewhere_makes_none_known() -> None:
    """It may be a copy of a wall or of an empty page, as pages at any addresses are."""
    crawl = learned_in("/v1")
    crawl.page("/v1/new", "new")
    for path in ("/v2/new", "/v1/other"):
        crawl.page(path, "new")
        assert not crawl.matches(f"{path}?sid=1")


def test_two_kept_pages_under_one_key_are_a_failure() -> None:
    crawl = learned()
    crawl.page("/a/new", "new")
    lesson = crawl.page("/a/new?sid=3", "something else")
    assert [one.rule for one in lesson.refuted] == [SID]
    assert not crawl.matches("/a/p1?sid=7")


def test_a_duplicate_of_another_page_is_no_trial() -> None:
    crawl = learned()
    crawl.page("/a/new", "new")
    assert not crawl.page("/a/new?sid=3", "/ap1").tried
    assert crawl.page("/a/new?sid=4", "new").tried
    crawl.page("/a/copy?sid=1", "/ap1")
    assert not crawl.page("/a/copy?sid=2", "copy").tried
    assert crawl.matches("/a/copy?sid=3"), "now it is kept"
    assert crawl.page("/a/copy?sid=3", "yet another").refuted


def test_a_failure_where_a_rule_is_known_to_fail_suspends_nothing() -> None:
    crawl = Crawl()
    crawl.aliases(SUGGESTIONS + 1, "/a")
    crawl.page("/d/p", "one")
    assert suspended(crawl.page("/d/p?sid=1", "other")) == [(SID, "/d/*")]
    crawl.aliases(PROVEN, "/a")
    assert crawl.of[SID].acts() == ["/a/*"]
    crawl.page("/d/q", "third")
    lesson = crawl.page("/d/q?sid=1", "fourth")
    assert [one.rule for one in lesson.refuted] == [SID]
    assert not lesson.suspended
    assert suspended(crawl.page("/a/p1?sid=2", "fifth")) == [(SID, "/a/*")]
    assert not crawl.of[SID].acts()


def test_a_failure_that_was_noise_is_forgotten_when_that_is_known() -> None:
    crawl = learned()
    crawl.page("/a/new", "new")
    url = f"{HOST}/a/new?sid=3"
    assert crawl.learner.learn(url, url, is_doubtful=True).refuted
    assert not crawl.matches("/a/p1?sid=7")
    later = Crawl()
    later.book.restore("a.com", stored(crawl))
    assert later.of[SID].failures == 0, "others do not share the doubt"
    crawl.learner.note_noise(url, ())
    assert crawl.matches("/a/p1?sid=7")
    assert crawl.page("/a/p1?sid=3", "another").refuted
    crawl.learner.note_noise(url, ())
    assert not crawl.matches("/a/p2?sid=7"), "this one was beyond doubt"


def test_a_key_has_one_trial() -> None:
    crawl = Crawl()
    crawl.aliases(SUGGESTIONS)
    for sid in range(2, 100):
        crawl.page(f"/p1?sid={sid}", "p1")
    assert crawl.of[SID].keys <= 1


def test_one_wall_teaches_nothing() -> None:
    crawl = Crawl()
    crawl.aliases(SUGGESTIONS)
    for i in range(10, 200):
        crawl.page(f"/p{i}?sid=1", "the wall")
        crawl.page(f"/p{i}?sid=2", "the wall")
    assert crawl.of[SID].keys <= 1


def test_two_aliases_of_a_page_that_is_kept_elsewhere_are_a_trial() -> None:
    crawl = Crawl()
    crawl.aliases(SUGGESTIONS)

    def keys_after(path: str, content: str) -> int:
        crawl.page(path, content)
        return crawl.of[SID].keys

    for i in range(10):
        crawl.page(f"/print/p{i}", f"new{i}")
        assert keys_after(f"/new{i}?sid=1", f"new{i}") == i
        assert keys_after(f"/new{i}", f"new{i}") == i + 1
        assert keys_after(f"/print/p{i}?sid=1", f"new{i}") == i + 1, "it had its trial"
    crawl.page("/other?sid=1", "new1")
    assert keys_after("/other", "new2") == 10, "they show nothing, and nothing is lost"
    assert crawl.of[SID].failures == 0


def test_a_template_of_which_little_was_seen_is_left_alone() -> None:
    crawl = learned()
    for folder in ("/b", "/c"):
        crawl.aliases(5, folder)
    crawl.aliases(4, "/d")
    assert crawl.matches("/c/p1?sid=7"), "three templates agree, and this is one of them"
    assert not crawl.matches("/d/p1?sid=7")
    assert crawl.alias("one more", "/d").learned == ()
    assert crawl.matches("/d/p1?sid=7")


def test_two_templates_are_too_few() -> None:
    crawl = learned()
    crawl.aliases(20, "/b")
    assert not crawl.matches("/b/p1?sid=7")
    assert crawl.matches("/a/p1?sid=7"), "it has shown so by itself, while it was alone"
    crawl.page("/a/new", "new")
    crawl.page("/a/new?sid=3", "something else")
    assert not crawl.matches("/a/p1?sid=7")


def test_templates_in_different_folders_agree_for_the_folder_of_all() -> None:
    crawl = Crawl()
    crawl.aliases(SUGGESTIONS, "/x/a")
    for i in range(16):
        for folder in ("/x/a", "/x/b", "/y/a"):
            crawl.alias(f"q{i}", folder)
    assert crawl.matches("/y/a/q1?sid=7")
    assert not crawl.matches("/y/b/q1?sid=7")


def test_templates_of_another_folder_do_not_agree_for_this_one() -> None:
    crawl = Crawl()
    crawl.aliases(SUGGESTIONS, "/z")
    crawl.page("/z/list?sid=1", "first")
    crawl.page("/z/list?sid=2", "second")
    crawl.aliases(20, "/y")
    for i in range(PROVEN):
        for folder in ("/x/a", "/x/b"):
            crawl.alias(f"q{i}", folder)
    assert crawl.of[SID].failures == 1
    assert not crawl.matches("/x/a/q1?sid=7")
    crawl.aliases(20, "/x/c")
    assert crawl.matches("/x/a/q1?sid=7")
    assert not crawl.matches("/y/q1?sid=7")


def test_the_evidence_of_two_templates_is_not_that_of_one() -> None:
    crawl = Crawl()
    crawl.aliases(SUGGESTIONS + 5, "/a")
    crawl.aliases(5, "/b")
    for i in range(40):
        crawl.alias(f"q{i}", ("/a", "/b")[i % 2])
    assert crawl.of[SID].keys >= FIRST
    assert not crawl.of[SID].acts()


def test_one_template_that_disagrees_leaves_the_others_to_themselves() -> None:
    crawl = learned()
    for folder in ("/b", "/c"):
        crawl.aliases(20, folder)
    assert crawl.matches("/b/p1?sid=7")
    crawl.page("/d/list?sid=1", "first")
    crawl.page("/d/list?sid=2", "second")
    assert not crawl.matches("/b/p1?sid=7"), "there may be such a page here, too"
    crawl.aliases(PROVEN, "/a")
    assert crawl.matches("/a/p1?sid=7"), "it is proven here"
    assert not crawl.matches("/b/p1?sid=7")
    crawl.page("/d/p1", "p1 of d")
    assert not crawl.matches("/d/p1?sid=7")


def test_a_template_in_which_a_rule_is_wrong_says_nothing_of_the_others() -> None:
    crawl = Crawl()
    for folder in ("/a", "/b", "/c"):
        crawl.aliases(60, folder)
    for i in range(LEAST_KEYS):
        assert not i or not crawl.matches("/b/p1?sid=7"), "it may be an exception"
        crawl.page(f"/d/list{i}", f"first{i}")
        crawl.page(f"/d/list{i}?sid=1", f"second{i}")
    assert crawl.of[SID].acts() == ["/a/*", "/b/*", "/c/*"]
    crawl.page("/d/list77", "new")
    assert crawl.learner.say(f"{HOST}/d/list77?sid=7").known is None


def test_a_name_for_which_a_parameter_matters_says_nothing_of_the_folder() -> None:
    crawl = Crawl()
    crawl.aliases(SUGGESTIONS + FIRST, "/a")
    for i in range(LEAST_KEYS + 1):
        crawl.page(f"/a/select?sid={i}", f"selected{i}")
        assert not i or not crawl.matches("/a/p1?sid=7")
    names = ["".join(name) for name in itertools.product("abcdefgh", repeat=3)]
    for name in names[:KEYS_BESIDE_FAILURES]:
        assert crawl.of[SID].stage("/a/*") == "waiting", "what was right may have been its pages"
        crawl.alias(name, "/a")
    for name in names[KEYS_BESIDE_FAILURES:110]:
        crawl.alias(name, "/a")
    assert crawl.matches("/a/aaa?sid=7")
    assert crawl.learner.say(f"{HOST}/a/select?sid=77").known is None


def test_pages_that_differ_by_exception_end_a_rule_everywhere() -> None:
    crawl = Crawl()
    for folder in ("/a", "/b", "/c"):
        crawl.aliases(50, folder)
    assert len(crawl.of[SID].acts()) == 3
    for i in range(8):
        for name in (f"lamp{'x' * i}", f"desk{'x' * i}", f"chair{'x' * i}"):
            crawl.alias(name, "/b")
        crawl.page(f"/b/{'x' * (i + 1)}", f"first{i}")
        crawl.page(f"/b/{'x' * (i + 1)}?sid=1", f"second{i}")
    assert not crawl.of[SID].acts()


def test_a_rule_waits_from_the_fifth_pair_that_agrees() -> None:
    crawl = Crawl()
    crawl.aliases(SUGGESTIONS + LEAST_KEYS - 1, "/a")
    crawl.page("/b/new", "new")
    assert crawl.learner.say(f"{HOST}/b/new?sid=7").known is None
    match = crawl.learner.say(f"{HOST}/a/p5?sid=7").known
    assert match is not None, "its key had its trial"
    assert match.stage == "waiting"
    crawl.alias("fifth", "/a")
    match = crawl.learner.say(f"{HOST}/b/new?sid=7").known
    assert match is not None
    assert match.stage == "waiting"
    crawl.page("/b/new?sid=8", "another")
    assert crawl.learner.say(f"{HOST}/b/new?sid=7").known is None
    assert crawl.learner.say(f"{HOST}/a/p5?sid=7").known is None, "5 for, 1 against"


def test_a_rule_that_matters_in_one_section_only_never_acts_there() -> None:
    crawl = Crawl()
    rng = random.Random(1)
    pages = [(folder, i) for folder in "abcd" for i in range(80)]
    rng.shuffle(pages)
    for folder, i in pages:
        for view in (1, 2):
            url = f"/{folder}/p{i}?view={view}"
            if folder == "d":
                assert not crawl.matches(url)
            crawl.page(url, f"{folder}{i}" + (str(view) if folder == "d" else ""))


@pytest.mark.parametrize(
    "url",
    [
        f"{HOST}/a/p1?sid=" + "7" * 2000,
        "http://user:pw@a.com/a/p1?sid=7",
        "",
        "\ud800",
        "http://[",
    ],
)
def test_an_address_that_is_no_plain_one_is_left_alone(url: str) -> None:
    crawl = learned()
    assert crawl.learner.say(url).known is None
    crawl.learner.forget(url)
    assert crawl.learner.learn(url, url).tried == ()


def test_what_another_process_kept_is_evidence_too() -> None:
    crawl = Crawl()
    for i in range(SUGGESTIONS + FIRST):
        crawl.learner.learn(f"{HOST}/a/p{i}?sid=1", f"{HOST}/a/p{i}")
    assert crawl.of[SID].keys == FIRST


def test_rules_of_paths_and_hosts_are_learned() -> None:
    crawl = Crawl()
    for i in range(120):
        crawl.page(f"/article/p{i}", f"{i}")
        crawl.page(f"/print/p{i}", f"{i}")
        crawl.page(f"http://www.a.com/article/p{i}", f"{i}")
        crawl.page(f"/article/p{i};jsessionid={i}", f"{i}")
    crawl.page("/print/new", "new")
    assert crawl.matches("/article/new")
    crawl.page("http://www.a.com/article/other", "other")
    assert crawl.matches("/article/other")
    crawl.page("/article/third", "third")
    assert crawl.matches("/article/third;jsessionid=9")
    assert crawl.learner.say("http://www.a.com/article/third").known is not None


def test_values_of_a_folder_suggest_that_it_does_not_matter() -> None:
    crawl = Crawl()
    for i in range(100):
        crawl.page(f"/s/{i}/p{i}", f"{i}")
        crawl.page(f"/s/{i + 500}/p{i}", f"{i}")
    assert crawl.matches("/s/9999/p7")
    assert len(crawl.of) == 1


def test_every_list_is_bounded() -> None:
    crawl = Crawl()
    for i in range(300):
        for page in range(2):
            crawl.page(f"/p{page}-{i}", f"{page}-{i}")
            crawl.page(f"/p{page}-{i}?x{i}=1", f"{page}-{i}")
    site = crawl.book.of("a.com")
    assert site is not None
    assert len(site.hypotheses) == MAX_RULES
    assert site.tried == 300
    for i in range(300):
        crawl.page(f"/q{i}", f"q{i}")
        crawl.page(f"/q{i}?y{i}=1", f"q{i}")
    assert len(site._suggested) <= MAX_SUGGESTED
    crawl = learned()
    for i in range(MAX_FOLDERS):
        crawl.aliases(5, f"/f{'x' * (i + 1)}")
    assert MAX_FOLDERS - 1 <= len(crawl.of[SID].trials) <= MAX_FOLDERS
    counted = [scope.right for name, scope in crawl.of[SID].trials.items() if name[-1] == "*"]
    assert crawl.of[SID].keys == sum(counted) < FIRST + 5 * MAX_FOLDERS
    assert len(crawl.of[SID].acts()) < MAX_FOLDERS
    assert crawl.matches("/a/p1?sid=7")
    last = f"/f{'x' * (MAX_FOLDERS - 1)}"
    assert crawl.matches(f"{last}/p1?sid=7"), "there was no room for it, but all others agree"
    crawl.page(f"{last}/list?sid=1", "first")
    crawl.page(f"{last}/list?sid=2", "second")
    assert not crawl.matches("/f/p1?sid=7"), "a failure counts all the same"
    for i in range(MAX_STAGES + 1):
        crawl.of[SID].stage(f"/{'x' * (i + 1)}/*")
    assert len(crawl.of[SID]._stages) <= MAX_STAGES


def suggest_many(crawl: Crawl) -> None:
    """Have more rules suggested than are tried at a time."""
    for i in range(MAX_RULES + 8):
        for page in range(2):
            crawl.page(f"/p{page}-{i}", f"{page}-{i}")
            crawl.page(f"/p{page}-{i}?x{i}=1", f"{page}-{i}")


@pytest.mark.parametrize(("failures", "is_left"), [(1, True), (20, False)])
def test_a_rule_that_is_mostly_right_is_not_displaced_by_new_ones(
    failures: int, is_left: bool
) -> None:
    crawl = learned()
    for i in range(failures):
        crawl.page(f"/a/{'x' * (i + 1)}", f"x{i}")
        crawl.page(f"/a/{'x' * (i + 1)}?sid=1", f"another{i}")
    assert not crawl.of[SID].acts()
    suggest_many(crawl)
    assert (SID in crawl.of) is is_left


def test_the_least_recently_used_site_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "MAX_SITES", 2)
    book = RuleBook()
    sites = [book.site(host) for host in ("a.com", "b.com", "a.com", "c.com")]
    assert book.of("b.com") is None
    assert book.of("a.com") is sites[0]


def stored(crawl: Crawl) -> bytes:
    return crawl.book.merged("a.com", None)


def test_stored_rules_are_restored() -> None:
    crawl, later = learned(), Crawl()
    later.book.restore("a.com", stored(crawl))
    assert later.of[SID].as_json() == crawl.of[SID].as_json()
    later.page("/a/new", "new")
    assert later.matches("/a/new?sid=1")
    assert not later.matches("/a/p1?sid=1"), "this crawl has not kept it"


def test_processes_take_the_most_that_one_has_seen() -> None:
    one, other = learned(), Crawl()
    other.alias("p1", end="?page=1")
    other.alias("p2", end="?page=1")
    other.aliases(SUGGESTIONS + 3, "/b")
    other.page("/b/x?sid=1", "x1")
    other.page("/b/x?sid=2", "x2")
    merged = other.book.merged("a.com", stored(one))
    one.book.restore("a.com", merged)
    assert one.of[SID].as_json() == other.of[SID].as_json()
    assert one.of[SID].failures == 1
    assert (one.of[SID].trials["/a/*"].right, one.of[SID].trials["/b/*"].right) == (FIRST, 3)
    numbers = [hypothesis.number for hypothesis in one.of.values()]
    assert numbers[0] == 1 < numbers[1]
    scopes = [scope.number for scope in one.of[SID].trials.values()]
    assert sorted(scopes) == list(range(1, len(scopes) + 1))


def test_a_rule_that_was_not_tried_for_long_starts_anew() -> None:
    crawl = learned()
    now = crawl.of[SID].seen
    assert SiteRules.from_bytes(stored(crawl), now + 89 * 86_400).hypotheses
    late = SiteRules.from_bytes(stored(crawl), now + 91 * 86_400)
    assert not late.hypotheses
    assert late.tried == 1, "its error is spent"


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"[]",
        b"{}",
        b'{"format": 2, "tried": 0, "rules": []}',
        b'{"format": 1, "tried": 1, "rules": [{"rule": ["odd", "", "", ""], "number": 1}]}',
        b'{"format": 1, "tried": 1, "rules": [{"rule": ["host", "a", "b", "c"], "number": 1, '
        b'"seen": 9e9, "learned": null, "scopes": [["/a/*", 1, 2, 3, null]]}]}',
        b"\xff",
    ],
)
def test_damaged_rules_are_learned_again(damaged: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json raises some of them
        SiteRules.from_bytes(damaged, 0)
    crawl = learned()
    crawl.book.restore("a.com", damaged)
    assert crawl.matches("/a/p1?sid=7")


def test_few_of_many_sites_learn_a_wrong_rule() -> None:
    """Sites with ten parameters each, which matter in more than a tenth of their pages."""
    rng, wrong, sites = random.Random(1), 0, 40
    for _ in range(sites):
        crawl = Crawl()
        rates = [rng.choice([0.0, 0.5, 0.8, 0.89]) for _ in range(10)]
        for i in range(400):
            name = rng.randrange(10)
            content = f"p{i}"
            crawl.page(f"/a/p{i}", content)
            is_alias = rng.random() < rates[name]
            crawl.page(f"/a/p{i}?x{name}=1", content if is_alias else f"{content}x{name}")
        wrong += any(one.learned is not None for one in crawl.book.all())
    assert wrong / sites <= 0.05


def test_templates_name_folders() -> None:
    assert folder_pattern(Address.of(f"{HOST}/lamp")) == "/*"
    assert folder_pattern(Address.of(f"{HOST}/2031/05/12/lamp")) == "/N/N/N/*"


def with_proven(*rules: AddressRule, at: Sequence[str] = ("/a/*",)) -> Crawl:
    """A crawl with rules that are proven in these templates."""
    crawl = Crawl()
    for rule in rules:
        prove(crawl.book.site("a.com"), rule, *at)
    return crawl


def test_a_rule_says_what_it_waits_for() -> None:
    crawl = Crawl()
    crawl.aliases(SUGGESTIONS + 40, "/a")
    wait = crawl.of[SID].waits_for()
    assert wait == "40 of 45 pairs of addresses in /a/*"
    crawl.aliases(SUGGESTIONS + 45, "/a")
    assert crawl.of[SID].waits_for() is None, "it acts"


def test_failures_for_links_are_among_the_failures_of_a_rule() -> None:
    crawl = Crawl()
    for folder in ("/a", "/b", "/c"):
        crawl.aliases(SUGGESTIONS + 3, folder)
    url = f"{HOST}/a/p1?sid=8"
    crawl.learner.learn(url, url, leads_on=True)
    sid = crawl.of[SID]
    assert (sid.failures, sid.trials["/"].wrong) == (1, 0)
    crawl.page("/b/p1?sid=8", "something else")
    assert (sid.failures, sid.trials["/"].wrong) == (2, 1)
    later = Crawl()
    later.book.restore("a.com", stored(crawl))
    assert (later.of[SID].failures, later.of[SID].trials["/"].wrong) == (2, 1)
    crawl.learner.fail(SID, "/c/*", True, f"{HOST}/c/lamp")
    assert (sid.failures, sid.trials["/"].wrong) == (3, 1)


PRINT = AddressRule("suffix", "a.com", ".print", "")


def with_two_rules() -> Crawl:
    """Sessions and print views, each learned by itself."""
    crawl = learned()
    crawl.aliases(100, "/a", ".print")
    assert {rule for rule, one in crawl.of.items() if one.acts()} == {SID, PRINT}
    crawl.page("/a/new", "new")
    return crawl


def test_rules_make_a_page_known_together() -> None:
    crawl = with_two_rules()
    match = crawl.learner.say(f"{HOST}/a/new.print?sid=7").known
    assert match is not None
    assert {match.hypothesis.rule, *dict(match.others)} == {SID, PRINT}
    assert match.stage == "young"
    assert not crawl.matches("/a/unknown.print?sid=7")
    assert not crawl.matches("/b/new.print?sid=7")
    assert not crawl.matches("/a/new.print?sid=7", jar="2")
    assert match.content == crawl.learner.forget(f"{HOST}/a/new")
    assert not crawl.matches("/a/new.print?sid=7")


@pytest.mark.parametrize("kept", ["/a/other?sid=1", "/a/other.print"])
def test_the_kept_page_may_be_one_that_a_single_rule_leads_to(kept: str) -> None:
    crawl = with_two_rules()
    crawl.page(kept, "other")
    match = crawl.learner.say(f"{HOST}/a/other.print?sid=7").known
    assert match is not None
    assert match.content == crawl.learner.forget(HOST + kept)


@pytest.mark.parametrize("kept", ["/a/other?sid=1", "/a/other.print"])
def test_two_addresses_are_one_page_if_a_rule_for_each_leads_to_a_third_one(kept: str) -> None:
    crawl = with_two_rules()
    (alias,) = {"/a/other?sid=7", "/a/other.print"} - {kept.replace("=1", "=7")}
    assert not crawl.matches(alias)
    crawl.page(kept, "other")
    match = crawl.learner.say(HOST + alias).known
    assert match is not None
    assert {match.hypothesis.rule, *dict(match.others)} == {SID, PRINT}
    own = PRINT if alias.endswith(".print") else SID
    assert match.hypothesis.rule == own, "requests of one kind are audited together"
    assert match.content == crawl.learner.forget(HOST + kept)
    assert not crawl.matches(alias)
    crawl.page(kept, "other")
    lesson = crawl.page(alias, "something else")
    assert [one.rule for one in lesson.refuted] == [match.hypothesis.rule]
    assert not crawl.matches("/a/p4.print?sid=7")


MOBILE = AddressRule("host", "www.a.com", "www.a.com", "a.com")
REF = AddressRule("parameter", "a.com", "ref", "")


def with_pairs(trials: int) -> Crawl:
    """A rule for hosts, and pages whose other addresses differ by a parameter as well."""
    crawl = Crawl()
    prove(crawl.book.site("a.com"), MOBILE, "/a/*")
    for i in range(SUGGESTIONS + trials):
        crawl.page(f"http://www.a.com/a/p{i}", f"p{i}")
        crawl.page(f"/a/p{i}?ref=1", f"p{i}")
    return crawl


def test_a_pair_that_differs_in_two_ways_suggests_and_tries_a_rule() -> None:
    assert with_pairs(0).of[REF].keys == 0
    crawl = with_pairs(SECOND)
    assert crawl.of[REF].keys == SECOND
    assert crawl.of[REF].acts() == ["/a/*"]
    crawl.page("http://www.a.com/a/new", "new")
    assert crawl.matches("/a/new?ref=7")


def test_a_pair_that_differs_in_two_ways_may_be_a_failure() -> None:
    crawl = with_pairs(LEAST_KEYS)
    crawl.page("http://www.a.com/a/new", "new")
    assert crawl.of[REF].stage("/a/*") == "waiting"
    lesson = crawl.page("/a/new?ref=7", "something else")
    assert [one.rule for one in lesson.refuted] == [REF]
    assert crawl.of[REF].stage("/a/*") is None


def test_a_pair_that_differs_in_two_ways_leaves_the_key_to_be_looked_at() -> None:
    crawl = with_pairs(LEAST_KEYS)
    rule, keys = crawl.of[REF], LEAST_KEYS
    assert rule.keys == keys
    crawl.page("/a/p5", "p5")
    assert rule.keys == keys, "a key has one trial"
    for url in (f"{HOST}/a/p6?ref=2", f"{HOST}/a/p6"):
        known = crawl.learner.say(url).known
        assert known is not None
        assert not known.is_tried
    crawl.page("/a/p6", "another page")
    known = crawl.learner.say(f"{HOST}/a/p6?ref=2").known
    assert known is not None
    assert not known.is_tried


def test_a_page_is_known_by_a_kept_one_from_which_two_rules_lead_there() -> None:
    crawl = with_two_rules()
    assert not crawl.matches("/a/other")
    crawl.page("/a/other.print?sid=7", "other")
    match = crawl.learner.say(f"{HOST}/a/other").known
    assert match is not None
    assert {match.hypothesis.rule, *dict(match.others)} == {SID, PRINT}
    assert match.content == crawl.learner.forget(f"{HOST}/a/other.print?sid=7")
    assert not crawl.matches("/a/other")


def test_rules_lead_to_one_key_together() -> None:
    learner = with_two_rules().learner
    places = [f"{HOST}/a/unknown{end}" for end in ("", "?sid=7", ".print", ".print?sid=7")]
    assert len({learner.say(place).whole for place in places}) == 1
    for first, second in itertools.permutations(places, 2):
        match = learner.shared(first, second)
        assert match is not None
        needed = {SID} if "sid" in first + second else set()
        needed |= {PRINT} if "print" in first + second else set()
        assert needed <= {match.hypothesis.rule, *dict(match.others)}


def test_rules_that_are_wrong_together_hold_no_longer() -> None:
    crawl = with_two_rules()
    match = crawl.learner.say(f"{HOST}/a/new.print?sid=7").known
    assert match is not None
    assert not crawl.page("/a/new.print?sid=7", "new").refuted
    lesson = crawl.page("/a/p3.print?sid=7", "something else")
    assert [one.rule for one in lesson.refuted] == [match.hypothesis.rule]
    assert not crawl.matches("/a/p4.print?sid=7")


@pytest.mark.parametrize("wrong", [SID, PRINT])
def test_of_rules_that_are_wrong_together_the_one_most_in_doubt_is(wrong: AddressRule) -> None:
    crawl = with_two_rules()
    for i in range(LEAST_KEYS):
        crawl.page(f"/d/list{i}", f"first{i}")
        crawl.page(f"/d/list{i}{'?sid=1' if wrong == SID else '.print'}", f"second{i}")
    match = crawl.learner.say(f"{HOST}/a/new.print?sid=7").known
    assert match is not None
    assert [match.hypothesis.rule, *dict(match.others)] == [wrong, *({SID, PRINT} - {wrong})]
    shared = crawl.learner.shared(f"{HOST}/a/x.print", f"{HOST}/a/x?sid=7")
    assert shared is not None
    assert shared.hypothesis.rule == wrong
    lesson = crawl.page("/a/new.print?sid=7", "something else")
    assert [one.rule for one in lesson.refuted] == [wrong]
    assert crawl.matches("/a/p3?sid=7") is (wrong == PRINT)
    assert crawl.matches("/a/p3.print") is (wrong == SID)


def test_a_rule_for_hosts_leads_to_those_of_the_other_host() -> None:
    crawl = Crawl()
    for i in range(130):
        crawl.page(f"/a/p{i}", f"{i}")
        crawl.page(f"/a/p{i}?sid=1", f"{i}")
        crawl.page(f"http://www.a.com/a/p{i}", f"{i}")
    crawl.page("/a/new", "new")
    assert crawl.learner.say("http://www.a.com/a/new?sid=7").known is not None
    assert crawl.learner.say("http://www.a.com/b/new?sid=7").known is None


@pytest.mark.parametrize("kind", ["path_parameter", "parameter"])
def test_rules_of_a_host_apply_before_they_lead_to_another_one(kind: Kind) -> None:
    session = AddressRule(kind, "a.com", "sid", "")
    crawl = with_proven(session, AddressRule("host", "a.com", "a.com", "m.a.com"))
    crawl.page("http://m.a.com/a/lamp", "lamp")
    assert crawl.matches("/a/lamp;sid=7" if kind == "path_parameter" else "/a/lamp?sid=7")


def test_rules_for_places_apply_before_those_for_parameters() -> None:
    crawl = with_proven(SID, AddressRule("path", "a.com", "/print/", "/"))
    crawl.page("/a/p1", "p1")
    assert crawl.matches("/print/a/p1?sid=7"), "sid is known not to matter in /a only"


def test_a_rule_may_apply_to_what_another_one_makes() -> None:
    session = AddressRule("path_parameter", "a.com", "jsessionid", "")
    printed = AddressRule("suffix", "a.com", ".print", "")
    crawl = with_proven(session, printed)
    crawl.page("/a/lamp", "lamp")
    assert crawl.matches("/a/lamp.print;jsessionid=7")


def test_rules_that_lead_back_make_no_page_known_by_itself() -> None:
    ways = [AddressRule("path", "a.com", *sides) for sides in (("/x/", "/y/"), ("/y/", "/x/"))]
    crawl = with_proven(*ways, at=("/x/y/*", "/x/x/*", "/y/y/*"))
    crawl.page("/x/y/p1", "p1")
    assert not crawl.matches("/x/y/p1")
