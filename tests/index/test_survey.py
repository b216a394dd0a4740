"""What is said of an index, and which pages a command means."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index import survey
from scrapy_simhash.index.survey import CrawlPages, GroupSize
from tests.fault_writer import spread
from tests.indexes import LOOP, open_index
from tests.pages import PARAMETERS, page


@pytest.fixture
def index_place(lasting_place: str) -> str:
    """Two crawls; group 0 has two duplicates, group 1 three, and each of the others one."""
    with open_index(lasting_place, PARAMETERS) as index:
        one, two = index.begin_crawl("one"), index.begin_crawl("two")
        for group in range(12):
            for copy in range({0: 3, 1: 4}.get(group, 2)):
                new = page(f"{group}-{copy}", spread(group), text=f"{group} {copy}")
                run = two if group == 11 else one
                index.check_and_add(replace(new, crawl=run.id, judged_at=100.0 + group))
        index.end_crawl(one)
    return lasting_place


def test_survey_counts_pages_groups_and_crawls(
    index_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "SHOWN", 3)
    found = LOOP.run_until_complete(survey.survey(index_place))
    assert (found.scheme, found.scope) == (PARAMETERS.scheme, PARAMETERS.scope)
    assert (found.pages, found.kept, found.duplicates) == (27, 12, 15)
    assert (found.first_judged, found.last_judged) == (100, 111)
    assert found.sites_learned == 0
    one, two = found.crawls
    assert one == CrawlPages("one", one.started, one.finished, 25)
    assert two == CrawlPages("two", two.started, None, 2)
    assert one.finished is not None
    assert found.largest_groups == [
        GroupSize("http://site.example/1-0", 3),
        GroupSize("http://site.example/0-0", 2),
        GroupSize("http://site.example/2-0", 1),
    ]
    file = Path(index_place)
    assert found.file_bytes == (file.stat().st_size if file.exists() else None)


def test_survey_of_an_empty_index_has_no_times(lasting_place: str) -> None:
    open_index(lasting_place, PARAMETERS).close()
    found = LOOP.run_until_complete(survey.survey(lasting_place))
    assert (found.pages, found.first_judged, found.last_judged) == (0, None, None)
    assert (found.largest_groups, found.crawls) == ([], [])


def test_no_index_is_no_survey(lasting_place: str) -> None:
    with pytest.raises(IndexUnavailableError, match="is not there"):
        LOOP.run_until_complete(survey.survey(lasting_place))
