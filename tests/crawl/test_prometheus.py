"""The file for Prometheus, written by a real crawl and read by Prometheus' own parser."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scrapy_simhash.errors import SettingsError
from scrapy_simhash.settings import extra_version
from tests.conftest import CrawlFixture, Reply, Site, article, prose


@pytest.fixture
def twins(site: Site) -> Site:
    site["/"] = article(prose("start"), ["/a", "/b", "/logo", "/none"])
    site["/a"] = site["/b"] = article(prose("same"))
    site["/logo"] = Reply(b"\x89PNG\x00", content_type="image/png")
    return site


def samples(path: Path) -> dict[tuple[str, ...], float]:
    """Name and further labels -> value."""
    found = {}
    for family in text_string_to_metric_families(path.read_text()):
        for sample in family.samples:
            labels = dict(sample.labels)
            assert labels.pop("spider") == "links"
            found[(sample.name, *labels.values())] = sample.value
    return found


def test_stats_are_in_the_file(twins: Site, crawl: CrawlFixture, tmp_path: Path) -> None:
    result = crawl(SIMHASH_PROMETHEUS_FILE="metrics/%(name)s.prom")
    found = samples(tmp_path / "metrics" / "links.prom")
    assert found["scrapy_simhash_judged_total",] == result.stats["simhash/judged"] == 3
    assert found["scrapy_simhash_exact_duplicate_total",] == 1
    assert found["scrapy_simhash_distance_total", "0"] == 1
    assert found["scrapy_simhash_skipped_total", "not_html"] == 1
    assert found["scrapy_simhash_analysis_seconds_total",] > 0
    skipped = [key for key in found if key[0] == "scrapy_simhash_skipped_total"]
    assert sum(found[key] for key in skipped) == result.stats["simhash/skipped"]
    assert [path.name for path in (tmp_path / "metrics").iterdir()] == ["links.prom"]


def test_file_that_cannot_be_written_costs_the_crawl_nothing(
    twins: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    (tmp_path / "links.prom").mkdir()
    result = crawl(SIMHASH_PROMETHEUS_FILE="links.prom")
    assert result.returncode == 0
    assert "since its file cannot be written" in result.log
    assert len(result.decisions) == 5


def test_stats_of_others_below_our_prefix_are_left_out(
    twins: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    foreign = {"simhash/my/own": 1, "simhash/judged/mine": 2, "simhash/skipped/my/own": 3}
    crawl("ForeignStats", SIMHASH_PROMETHEUS_FILE="links.prom", FOREIGN_STATS=foreign)
    found = samples(tmp_path / "links.prom")
    assert found["scrapy_simhash_judged_total",] == 3
    assert found["scrapy_simhash_skipped_total", "my/own"] == 3
    assert not [key for key in found if key[0].startswith("scrapy_simhash_my")]


def test_stat_that_is_no_number_is_a_warning_and_no_end_of_writing(
    twins: Site, crawl: CrawlFixture
) -> None:
    foreign = {"simhash/mine": "text"}
    result = crawl("ForeignStats", SIMHASH_PROMETHEUS_FILE="links.prom", FOREIGN_STATS=foreign)
    assert result.returncode == 0
    assert result.log.count("Prometheus will read older stats") == 1
    assert "Traceback" not in result.log


def test_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr("scrapy_simhash.settings.version", missing)
    with pytest.raises(SettingsError, match=r"pip install scrapy-simhash\[prometheus\]"):
        extra_version("prometheus_client", "SIMHASH_PROMETHEUS_FILE", extra="prometheus")
