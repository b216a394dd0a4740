"""Settings: read from any source of Scrapy's, refused with name, rule and value."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from scrapy_simhash.errors import SettingsError
from scrapy_simhash.settings import SimhashSettings, extra_version


def read(**settings: Any) -> SimhashSettings:
    return SimhashSettings.read(Settings(settings))


def test_defaults() -> None:
    assert read().action == "drop"
    assert read().verifies
    assert not read(SIMHASH_SHARE=0).verifies
    assert read().takes == "items"
    assert read().share == 0.9
    assert read().workers >= 1
    assert read(SIMHASH_ACTION=None) == read()


def test_empty_setting_that_is_none_by_default_is_not_set() -> None:
    names = ("DISTANCE", "INDEX", "CRAWL", "POLICY", "DECISIONS_FILE", "REPORT_FILE", "MAX_WAITING")
    assert read(**{f"SIMHASH_{name}": "" for name in names}) == read()


@pytest.mark.parametrize(("processors", "workers"), [(1, 1), (2, 1), (4, 3), (64, 8)])
def test_auto_leaves_a_processor_to_the_crawl(
    monkeypatch: pytest.MonkeyPatch, processors: int, workers: int
) -> None:
    monkeypatch.setattr("scrapy_simhash.settings.cpu_count", lambda: processors)
    assert read().workers == workers


def test_values_from_the_command_line_are_strings() -> None:
    settings = read(
        SIMHASH_DISTANCE="5",
        SIMHASH_ENABLED="False",
        SIMHASH_PAGE_TIMEOUT="2.5",
        SIMHASH_WORKERS="0",
    )
    assert settings.distance == 5
    assert settings.enabled is False
    assert settings.page_timeout == 2.5
    assert settings.workers == 0


def test_home_folder_is_expanded() -> None:
    settings = read(SIMHASH_INDEX="~/a.simhash", SIMHASH_DECISIONS_FILE="~/b.jsonl")
    assert settings.index == str(Path.home() / "a.simhash")
    assert settings.decisions_file == str(Path.home() / "b.jsonl")
    assert read(SIMHASH_INDEX="memory:").index == "memory:"


def test_words_and_weights_from_files(tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("the\nof und\n", encoding="utf-8")
    (tmp_path / "idf.json").write_text(json.dumps({"lamp": 3.5}))
    files = {"stop_words": str(tmp_path / "stop.txt"), "idf": tmp_path / "idf.json"}
    scheme = "words-1-idf"
    found = read(SIMHASH_FEATURES={"scheme": scheme, **files}).features
    assert found == (scheme, ("of", "the", "und"), {"lamp": 3.5})
    values = {"scheme": scheme, "stop_words": ["a"], "idf": {"a": 1}}
    for value in (values, json.dumps(values)):
        assert read(SIMHASH_FEATURES=value).features == (scheme, ("a",), {"a": 1.0})
    assert read(SIMHASH_FEATURES="words-2").features == ("words-2", (), None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stop_words", [1]),
        ("stop_words", "/no/such/file"),
        ("idf", "/no/such/file"),
        ("idf", ["a"]),
        ("idf", {"a": "heavy"}),
        ("idf", {"a": float("nan")}),
        ("idf", {"a": float("inf"), "b": 1}),
        ("idf", {"a": -1, "b": 1}),
        ("idf", {"a": 0}),
        ("idf", {}),
        ("stop", ["a"]),
        ("scheme", ""),
    ],
)
def test_words_and_weights_that_are_none_are_refused(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=r"^SIMHASH_FEATURES must be "):
        read(SIMHASH_FEATURES={"scheme": "words-1-idf", name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SIMHASH_ENABLED", "perhaps"),
        ("SIMHASH_ACTION", "delete"),
        ("SIMHASH_DISTANCE", -1),
        ("SIMHASH_DISTANCE", 8),
        ("SIMHASH_DISTANCE", 2.5),
        ("SIMHASH_DISTANCE", True),
        ("SIMHASH_DISTANCE", "three"),
        ("SIMHASH_DISTANCE", [3]),
        ("SIMHASH_SCOPE", ""),
        ("SIMHASH_INDEX", "mysql://localhost"),
        ("SIMHASH_INDEX", "mem:"),
        ("SIMHASH_INDEX", "memory"),
        ("SIMHASH_SCOPE", "page"),
        ("SIMHASH_EXTRACTOR", ""),
        ("SIMHASH_FEATURES", 3),
        ("SIMHASH_FEATURES", {"idf": {"a": 1}}),
        ("SIMHASH_FEATURES", "{words"),
        ("SIMHASH_ONLY", "glob:"),
        ("SIMHASH_EXCEPT", ["/a", "callback: "]),
        ("SIMHASH_TAKES", "links"),
        ("SIMHASH_TAKES", ["items"]),
        ("SIMHASH_SHARE", 0.4),
        ("SIMHASH_SHARE", -0.1),
        ("SIMHASH_SHARE", 1.1),
        ("SIMHASH_SKIP_UNCHANGED", "ever"),
        ("SIMHASH_WORKERS", -1),
        ("SIMHASH_WORKERS", "many"),
        ("SIMHASH_MAX_WAITING", -1),
        ("SIMHASH_PAGE_TIMEOUT", 0),
        ("SIMHASH_PAGE_TIMEOUT", float("inf")),
        ("SIMHASH_PAGE_TIMEOUT", float("nan")),
        ("SIMHASH_DECISIONS_FILE", 7),
        ("SIMHASH_CLOSE_ON", 7),
        ("SIMHASH_CLOSE_ON", ["trap", "fire"]),
    ],
)
def test_wrong_value_is_refused_with_name_rule_and_value(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=f"^{name} must be ") as refused:
        read(**{name: value})
    assert f"got {value!r}" in str(refused.value)
    assert refused.value.__cause__ is None, "the message says it all"


def test_what_is_wrong_with_an_expression_is_said() -> None:
    with pytest.raises(SettingsError, match="unterminated character set at position 1"):
        read(SIMHASH_ONLY="([")
    with pytest.raises(SettingsError, match="Expecting property name"):
        read(SIMHASH_FEATURES="{words")


@pytest.mark.parametrize(
    "address",
    [
        "redis://:s3cret@db.example/0",
        "redis://crawl:s3@cret/@db.example/0",
        "redis://db.example/0?password=s3cret&db=1",
    ],
)
def test_password_of_a_server_is_never_shown(address: str) -> None:
    with pytest.raises(SettingsError) as refused:
        read(SIMHASH_SHARE=address)
    assert "s3" not in str(refused.value)
    assert "cret" not in str(refused.value)
    assert "db.example/0" in str(refused.value)


def test_misspelt_name_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"SIMHASH_ACTON.*did you mean SIMHASH_ACTION"):
        read(SIMHASH_ACTON="flag")
    with pytest.raises(SettingsError, match="SIMHASH_XYZZY is not a setting"):
        read(SIMHASH_XYZZY=1)


def test_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr("scrapy_simhash.settings.version", missing)
    with pytest.raises(SettingsError, match=r"needs the package redis: .*-simhash\[redis\]"):
        extra_version("redis", "An index in Redis")
