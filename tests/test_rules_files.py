"""Rules in the format of duplicate-url-discarder, there and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.url_rules.book import MAX_RULES, SiteRules
from scrapy_simhash.url_rules.evidence import MAX_FOLDERS, Hypothesis
from scrapy_simhash.url_rules.exchange import ImportedRules, exported, imported
from scrapy_simhash.url_rules.rule import AddressRule
from tests.commands import simhash, simhash_json
from tests.conftest import CrawlFixture, Site, article, prose
from tests.indexes import open_index
from tests.pages import PARAMETERS

HOST = "www.a.example"
SID = AddressRule("parameter", HOST, "sid", "")
GOOD = {
    "order": 1,
    "urlPattern": {"include": [HOST]},
    "processor": "queryRemoval",
    "args": ["sid"],
}


def approved(rule: AddressRule, *where: str) -> Hypothesis:
    hypothesis = Hypothesis(rule, 1, 0.0)
    hypothesis.approve(where, 0.0)
    return hypothesis


def pattern(*include: str, exclude: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"include": [*include], "exclude": [*exclude]}


def of_discarder(
    urls: dict[str, Any], processor: str = "queryRemoval", *arguments: Any, host: str | None = None
) -> ImportedRules:
    rule = {"order": 1, "urlPattern": urls, "processor": processor, "args": [*arguments]}
    return imported([rule], host)


FOLDERS = ["/", "/*", "/a/", "/a/*", "/a-b/c/*", "/a/b/c/*"]
PLACES = st.frozensets(st.sampled_from(FOLDERS), min_size=1)
Places = dict[AddressRule, frozenset[str]]
RULES = st.sampled_from(
    [
        SID,
        AddressRule("parameter", HOST, "x-y&z.1", ""),
        AddressRule("only", HOST, "", "id&page"),
        AddressRule("only", HOST, "", ""),
    ]
)


@given(st.dictionaries(RULES, PLACES))
def test_rules_come_back_from_duplicate_url_discarder(
    places: Places,
) -> None:
    written = exported(approved(rule, *where) for rule, where in places.items())
    found = imported(json.loads(json.dumps(written)), None)
    assert found.rules == places
    assert not found.skipped


@pytest.mark.parametrize("where", ["/*/*", "/*/b/*"])
def test_a_folder_that_does_not_matter_comes_back(where: str) -> None:
    rule = AddressRule("segment", HOST, "/*/", "")
    (written,) = exported([approved(rule, where)])
    assert (written["processor"], written["args"]) == ("subpathRemoval", [0])
    assert imported([written], None).rules == {rule: frozenset([where])}


def test_a_pattern_of_url_matcher_says_where_a_rule_is_for() -> None:
    whole = of_discarder(pattern("https://a.example"), "queryRemoval", "sid")
    assert whole.rules == {AddressRule("parameter", "a.example", "sid", ""): frozenset("/")}
    for host in (HOST, "a.example"):
        found = of_discarder(pattern("a.example/x/"), "queryRemoval", "sid", host=host)
        assert found.rules == {AddressRule("parameter", host, "sid", ""): frozenset(["/x/"])}
    assert of_discarder(pattern(""), "queryRemoval", "sid", host=HOST).rules == {
        SID: frozenset("/")
    }


@pytest.mark.parametrize(
    "urls",
    [
        pattern(f"{HOST}/shop"),
        pattern(f"{HOST}/2024/"),
        pattern(f"{HOST}/a/b/c/d/"),
        pattern(f"{HOST}/a/*/"),
        pattern(f"{HOST}/N/"),
        pattern(f"{HOST}/a/", exclude=(f"{HOST}/a/b/",)),
    ],
)
def test_a_rule_for_places_that_we_cannot_say_is_for_a_trial_only(urls: dict[str, Any]) -> None:
    assert of_discarder(urls, "queryRemoval", "sid").rules == {SID: None}


def test_a_rule_for_very_many_places_is_for_a_trial_only(empty: Path) -> None:
    def written(letter: str, count: int) -> None:
        folders = [f"{HOST}/{letter * i}/" for i in range(1, count + 1)]
        rule = {"order": 1, "urlPattern": pattern(*folders), "processor": "queryRemoval"}
        (empty / "rules.json").write_text(json.dumps([{**rule, "args": ["sid"]}]))

    approve = ("rules", "other.simhash", "--import", "rules.json", "--approve")
    written("a", MAX_FOLDERS + 1)
    assert simhash_json(empty, *approve)["imported"] == 0
    for letter in "ab":
        written(letter, MAX_FOLDERS)
        assert simhash_json(empty, *approve)["imported"] == 1
    (rule,) = simhash_json(empty, "rules", "other.simhash")["rules"]
    assert len(rule["holds"]) == MAX_FOLDERS


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (of_discarder(pattern(HOST), "normalizer"), "the processor normalizer"),
        (of_discarder(pattern(HOST), "queryRemoval", "a&b"), "the processor queryRemoval"),
        (of_discarder(pattern(HOST), "queryRemoval", *["x" * 90] * 3), "longer than 200"),
        (of_discarder(pattern(HOST), "subpathRemoval", 1), "the processor subpathRemoval"),
        (of_discarder(pattern(HOST), "subpathRemoval", 0, 1), "the processor subpathRemoval"),
        (of_discarder(pattern(f"{HOST}/a/b/"), "subpathRemoval", 0), "the processor subpath"),
        (of_discarder(pattern(f"{HOST}/?a=b"), "queryRemoval", "sid"), "a pattern with more"),
        (of_discarder(pattern("*.a.example"), "queryRemoval", "sid"), "a pattern with more"),
        (of_discarder(pattern(""), "queryRemoval", "sid"), "for all sites"),
        (of_discarder(pattern(HOST), "queryRemoval", "sid", host="b.example"), "for another host"),
    ],
)
def test_what_cannot_be_imported_is_named(found: ImportedRules, why: str) -> None:
    assert not found.rules
    ((reason, number),) = found.skipped.items()
    assert reason.startswith(why)
    assert number == 1


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    with open_index(str(tmp_path / "other.simhash"), PARAMETERS):
        pass
    return tmp_path


def test_rules_are_imported_on_trial_or_approved(empty: Path) -> None:
    rules = [{"order": 1, "urlPattern": pattern(f"{HOST}/a/"), "processor": "queryRemoval"}]
    rules[0]["args"] = ["sid"]
    rules.append({**rules[0], "processor": "normalizer", "args": []})
    (empty / "rules.json").write_text(json.dumps(rules))
    index = ("rules", "other.simhash")
    done = simhash_json(empty, *index, "--import", "rules.json")
    assert done["imported"] == 1
    assert done["skipped"] == {"the processor normalizer with these arguments": 1}
    (rule,) = simhash_json(empty, *index)["rules"]
    assert (rule["drop"], rule["learned"], rule["holds"], rule["approved"]) == (
        "sid",
        None,
        [],
        False,
    )
    shown = simhash(empty, *index, "--import", "rules.json", "--approve").stdout
    assert "1 rules imported" in shown
    assert "1 left out: the processor normalizer" in shown
    (rule,) = simhash_json(empty, *index)["rules"]
    assert (rule["number"], rule["holds"], rule["approved"]) == (1, ["/a/"], True)

    assert simhash_json(empty, *index, "--approved", "--export", "own.json")["exported"] == 1
    place = str(empty / "second.simhash")
    with open_index(place, PARAMETERS):
        pass
    simhash_json(empty, "rules", place, "--import", "own.json")
    (again,) = simhash_json(empty, "rules", place)["rules"]
    assert (again["host"], again["drop"]) == (HOST, "sid")


@pytest.mark.parametrize("how", [(), ("--approve",)])
def test_there_is_room_for_few_imported_rules(empty: Path, how: tuple[str, ...]) -> None:
    (empty / "rules.json").write_text(json.dumps([{**GOOD, "args": [f"p{i}"]} for i in range(40)]))
    done = simhash_json(empty, "rules", "other.simhash", "--import", "rules.json", *how)
    assert done["imported"] == MAX_RULES
    assert list(done["skipped"].values()) == [40 - MAX_RULES]
    assert len(simhash_json(empty, "rules", "other.simhash")["rules"]) == MAX_RULES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be imported"),
        ("{", "cannot be imported"),
        ("[" * 100_000, "cannot be imported"),
        ('{"a": 1}', "no list of rules"),
        ("7", "no list of rules"),
        (json.dumps([GOOD, 7]), "rule 2 is none"),
        (json.dumps([GOOD, {**GOOD, "args": "sid"}]), "rule 2 is none"),
        (json.dumps([GOOD, {**GOOD, "urlPattern": HOST}]), "rule 2 is none"),
        (json.dumps([GOOD, {**GOOD, "urlPattern": {"include": HOST}}]), "rule 2 is none"),
        (json.dumps([GOOD, {**GOOD, "urlPattern": {"include": [1]}}]), "rule 2 is none"),
    ],
)
def test_what_is_no_file_of_rules_changes_nothing(empty: Path, text: str, message: str) -> None:
    (empty / "rules.json").write_text(text)
    done = simhash(empty, "rules", "other.simhash", "--import", "rules.json", "--approve")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert simhash_json(empty, "rules", "other.simhash")["rules"] == []


def test_a_missing_file_is_refused(empty: Path) -> None:
    assert simhash(empty, "rules", "other.simhash", "--import", "no.json").returncode == 2


def test_approved_rules_make_one_request_of_two_with_duplicate_url_discarder(
    empty: Path, site: Site, crawl: CrawlFixture
) -> None:
    pytest.importorskip(
        "duplicate_url_discarder", reason="duplicate-url-discarder is not installed"
    )
    host = site.url.partition("//")[2]
    sid = AddressRule("parameter", host, "sid", "")
    folder = AddressRule("segment", host, "/s/*/", "")

    def approve(rules: SiteRules) -> None:
        for rule, where in ((sid, "/a/*"), (folder, "/s/*/*")):
            hypothesis = rules.put_on_trial(rule, 0.0)
            assert hypothesis is not None
            hypothesis.approve([where], 0.0)

    with open_index(str(empty / "other.simhash"), PARAMETERS) as index:
        index.learned.change_rules(host, approve)
    done = simhash_json(empty, "rules", "other.simhash", "--approved", "--export", "dud.json")
    assert done["exported"] == 2
    aliases = ["/a/p?sid=1", "/a/p?sid=2", "/s/1/p", "/s/2/p"]
    others = ["/a/b/p?sid=1", "/a/b/p?sid=2", "/s/1/x/p", "/s/2/x/p", "/a/q?id=1", "/a/q?id=2"]
    site["/"] = article(prose("start"), [*aliases, *others])
    for path in (*aliases, *others):
        site[path] = article(prose(path.replace("/", "x")))
    crawl(
        REQUEST_FINGERPRINTER_CLASS="duplicate_url_discarder.Fingerprinter",
        DUD_LOAD_RULE_PATHS=["dud.json"],
    )
    assert [site.asked[path] for path in aliases] == [1, 0, 1, 0]
    assert all(site.asked[path] == 1 for path in others)
