"""What a rule on trial makes needless waits behind all else, and gives the rule its trials."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import DontCloseSpider

from scrapy_simhash import RuledOut
from scrapy_simhash.crawl.parked import read_parked
from scrapy_simhash.crawl.rules import SimhashRulesMiddleware
from scrapy_simhash.decision.cuts import EVERYWHERE
from scrapy_simhash.decision.differences import Differences
from scrapy_simhash.url_rules.evidence import KEYS_BESIDE_FAILURES, LEAST_KEYS
from tests.crawl.parked import rules_in_use, teach
from tests.pages import UNIQUE

HOST = "http://a.com"
ON_TRIAL = 2 + LEAST_KEYS
# So many pairs of addresses make the first rule hold.
FIRST = 45
PRIORITY = 7


class Waiting:
    """A crawl with a rule for ``sid`` on trial, and what becomes of its requests."""

    def __init__(self, rules: SimhashRulesMiddleware, sent: list[Request]) -> None:
        self.rules = rules
        self.sent = sent
        teach(rules._learner, ON_TRIAL)

    def meet(self, page: str, end: str = "?sid=2", **values: Any) -> bool:
        """Keep a page, and ask for it at another address; return whether that waits."""
        url = HOST + page
        self.rules._learner.learn(url, url)
        try:
            self.rules.process_request(Request(url + end, priority=PRIORITY, **values))
        except RuledOut:
            return True
        return False

    def answer(self, differs: str = "none") -> int:
        """Answer all that was sent; pages with a text in their address differ.  Return how many."""
        answered = 0
        while self.sent:
            request = self.sent.pop(0)
            assert request.priority == PRIORITY
            own = request.url.partition("?")[0].removesuffix(".print")
            kept = request.url if differs in request.url else own
            lesson = self.rules._learner.learn(request.url, kept)
            self.rules._tell(lesson)
            decision = UNIQUE if kept == request.url else None
            self.rules.request_ended(request, decision)
            answered += 1
        return answered

    def idle(self) -> int:
        """Have the spider be idle; return how many requests are sent then."""
        with pytest.raises(DontCloseSpider):
            self.rules._parking.spider_idle()
        return len(self.sent)

    def left(self) -> list[str]:
        """Return the addresses that are parked."""
        file = self.rules._parking._store._path
        assert file is not None
        return [row.url for row in read_parked(file)]


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Waiting]:
    with rules_in_use(tmp_path, HOST, SIMHASH_RULES_AUDIT=0) as (rules, sent):
        yield Waiting(rules, sent)


def test_a_rule_takes_its_trials_from_what_waits(waiting: Waiting) -> None:
    assert all(waiting.meet(f"/a/q{i}") for i in range(100))
    assert waiting.sent == []
    assert waiting.idle() == FIRST - LEAST_KEYS
    assert len({request.url for request in waiting.sent}) == FIRST - LEAST_KEYS
    waiting.answer()
    waiting.rules._parking.spider_idle()  # nothing is left to do
    assert len(waiting.left()) == 100 - FIRST + LEAST_KEYS


def test_one_trial_serves_all_addresses_of_a_page(waiting: Waiting) -> None:
    assert all(waiting.meet(f"/a/q{i}", end=f"?sid={end}") for i in range(50) for end in range(3))
    assert waiting.idle() == FIRST - LEAST_KEYS
    pages = {request.url.partition("?")[0] for request in waiting.sent}
    assert len(pages) == FIRST - LEAST_KEYS


@pytest.mark.parametrize("pages", [10, 100])
def test_what_waits_for_two_rules_is_sent_if_one_of_them_cannot_hold(
    waiting: Waiting, pages: int
) -> None:
    """There are too few print views to show that they are needless, though ``sid`` may hold."""
    learner = waiting.rules._learner
    for i in range(ON_TRIAL):
        learner.learn(f"{HOST}/a/r{i}", f"{HOST}/a/r{i}")
        learner.learn(f"{HOST}/a/r{i}.print", f"{HOST}/a/r{i}")
    assert all(waiting.meet(f"/a/q{i}") for i in range(pages))
    both = [f"{HOST}/a/s{i}.print?sid=2" for i in range(10)]
    assert all(waiting.meet(f"/a/s{i}", end=".print?sid=2") for i in range(10))
    asked: set[str] = set()
    with suppress(pytest.fail.Exception):  # until the spider is idle
        while waiting.idle():
            asked |= {request.url for request in waiting.sent}
            waiting.answer()
    assert {*both} <= asked
    assert bool(waiting.left()) is (pages == 100)
    assert not any("print" in url for url in waiting.left())


def test_a_page_that_was_a_trial_needs_no_other_look(waiting: Waiting) -> None:
    tried = [f"/a/p{i}" for i in range(2, ON_TRIAL)]
    assert all(waiting.meet(page) for page in [*tried, *(f"/a/q{i}" for i in range(FIRST))])
    waiting.idle()
    assert not any("/p" in request.url for request in waiting.sent)


def test_what_waits_for_a_rule_that_cannot_hold_is_sent(waiting: Waiting) -> None:
    assert all(waiting.meet(f"/a/q{i}") for i in range(10))
    assert waiting.idle() == 10
    waiting.answer()
    assert waiting.left() == []


def test_what_waits_is_sent_when_its_rule_fails(waiting: Waiting) -> None:
    assert all(waiting.meet(f"/a/q{i}") for i in range(100))
    assert waiting.idle() < 100
    assert waiting.answer(differs="q") == 100, "without another idle spider"
    assert waiting.left() == []


def test_what_waits_outlives_a_process_that_is_killed(tmp_path: Path) -> None:
    """Half of it has been asked for, and the next process knows no rule."""
    asked: list[str] = []
    with rules_in_use(tmp_path, HOST) as killed:
        waiting = Waiting(*killed)
        assert all(waiting.meet(f"/a/q{i}") for i in range(80))
        waiting.idle()
        with rules_in_use(tmp_path, HOST) as (rules, sent):
            with pytest.raises(DontCloseSpider):
                rules._parking.spider_idle()
            while sent:
                asked.append(sent[0].url)
                rules.request_ended(sent.pop(0), None)
            with pytest.raises(DontCloseSpider):
                rules._parking.spider_idle()
            asked += [request.url for request in sent]
    assert sorted(asked) == sorted(f"{HOST}/a/q{i}?sid=2" for i in range(80))


def test_where_it_is_wrong_it_does_not_speak_for_other_folders(waiting: Waiting) -> None:
    for i in range(100):
        for folder in "abcd":
            assert waiting.meet(f"/{folder}/q{i}")
    sent = 0
    for _ in range(5):
        try:
            waiting.idle()
        except pytest.fail.Exception:  # nothing is left to do
            break
        sent += waiting.answer(differs="/d/")
    assert not any("/d/" in url for url in waiting.left())
    assert sent <= 100 + FIRST + 4 * KEYS_BESIDE_FAILURES + 70
    assert len(waiting.left()) == 400 - sent


def test_a_page_of_one_name_does_not_speak_for_its_folder(waiting: Waiting) -> None:
    waiting.rules._learner.learn(f"{HOST}/a/select", f"{HOST}/a/select")
    for i in range(200):
        assert waiting.meet(f"/a/q{i}")
        with pytest.raises(RuledOut):
            waiting.rules.process_request(Request(f"{HOST}/a/select?sid={i}x", priority=PRIORITY))
    sent = 0
    for _ in range(5):
        try:
            waiting.idle()
        except pytest.fail.Exception:
            break
        sent += waiting.answer(differs="select")
    assert not any("select" in url for url in waiting.left())
    assert len(waiting.left()) >= 50


def test_a_page_with_far_more_addresses_than_others_is_looked_at_though_two_were_one(
    tmp_path: Path,
) -> None:
    """Two searches that find nothing are a trial that is right, and say nothing of the others."""
    with rules_in_use(tmp_path, HOST) as use:
        waiting = Waiting(*use)
        for end in ("?sid=none1", "?sid=none2"):
            waiting.rules._learner.learn(f"{HOST}/a/select{end}", f"{HOST}/a/select?sid=none1")
        assert all(waiting.meet(f"/a/q{i}") for i in range(100))
        for i in range(60):
            with pytest.raises(RuledOut):
                waiting.rules.process_request(
                    Request(f"{HOST}/a/select?sid={i}x", priority=PRIORITY)
                )
        with suppress(pytest.fail.Exception):  # until the spider is idle
            while waiting.idle():
                waiting.answer(differs="select")
        assert not any("select" in url for url in waiting.left())


@pytest.mark.parametrize(
    "values",
    [{"cb_kwargs": {"item": 7}}, {"meta": {"list": "x"}}, {"dont_filter": True}, {"body": b"1"}],
)
def test_what_asks_for_something_else_never_waits(waiting: Waiting, values: dict[str, Any]) -> None:
    assert not waiting.meet("/a/new", **values)
    assert waiting.meet("/a/new")


def test_a_parameter_that_changes_at_each_visit_needs_no_trial(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.random", lambda: 1.0)  # nothing is explored
    assert not waiting.meet("/b/one", end="?sign=2")
    changed = frozenset({(EVERYWHERE, ("parameter", "sign"))})
    noises = waiting.rules._index.learned.noises
    noises.learn("a.com/b", Differences(changed, frozenset(), frozenset()))
    waiting.rules.noise_learned(f"{HOST}/b/one")
    assert waiting.meet("/b/two", end="?sign=2")
    waiting.rules._learner.learn(f"{HOST}/b/two?sign=7", f"{HOST}/b/two?sign=7")
    assert not waiting.meet("/b/three", end="?sign=2"), "it is wrong, and a signature may expire"
