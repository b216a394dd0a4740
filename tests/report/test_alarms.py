"""Alarms are raised in time, for nothing else, and again only when it helps."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.report.alarms import Alarm, AlarmWatch
from scrapy_simhash.report.record import Record
from tests.reports import record, skipped

SITE = "http://a.example"


def raised(records: Iterable[Record], share: float = 1.0) -> list[Alarm]:
    watch = AlarmWatch(share)
    return [alarm for one in records for alarm in watch.look(one)]


def test_many_names_of_one_text_are_one_alarm() -> None:
    wall = [record(f"{SITE}/login")] + [record(f"{SITE}/{i}", f"{SITE}/login") for i in range(50)]
    alarm, trap = raised(wall)
    assert (alarm.name, alarm.subject, alarm.page) == ("one_text", f"{SITE}/login", 11)
    assert (trap.name, trap.page) == ("trap", 21)


def test_aliases_of_one_page_are_no_alarm() -> None:
    aliases = [f"/page?sid={i}" for i in range(5)]
    aliases += ["/print/page", "/mirror/page", "/page/", "/page/index.html"]
    assert raised(record(SITE + alias, f"{SITE}/page") for alias in aliases) == []


def posts(threads: int) -> list[Record]:
    """Posts that show their threads, thread by thread."""
    return [
        record(f"{SITE}/post/{thread}{post:02}", f"{SITE}/thread/{thread}")
        for thread in range(threads)
        for post in range(12)
    ]


def test_posts_that_show_their_threads_are_no_walls_once_there_are_some() -> None:
    alarms = [alarm for alarm in raised(posts(30)) if alarm.name == "one_text"]
    assert len(alarms) == 2


def test_a_wall_among_posts_is_found() -> None:
    ban = [record(f"{SITE}/post/9{i:03}", f"{SITE}/post/9000") for i in range(1, 60)]
    (*_, last) = [alarm for alarm in raised(posts(30) + ban) if alarm.name == "one_text"]
    assert last.subject == f"{SITE}/post/9000"


def test_two_walls_at_a_time_are_found() -> None:
    walls = [f"{SITE}/login", f"{SITE}/captcha"]
    records = [record(f"{SITE}/{i}", walls[i % 2]) for i in range(24)]
    assert {alarm.subject for alarm in raised(records) if alarm.name == "one_text"} == {*walls}


def test_copies_that_come_slowly_are_no_alarm() -> None:
    records = []
    for i in range(20):
        records.append(record(f"{SITE}/copy{i}", f"{SITE}/copy"))
        records += [record(f"{SITE}/page{i}-{j}") for j in range(15)]
    assert raised(records) == []


def test_endless_parameter_is_a_trap() -> None:
    endless = [record(f"{SITE}/list?from={i}", f"{SITE}/list?from=0") for i in range(1, 50)]
    (alarm,) = raised(endless)
    assert (alarm.name, alarm.subject, alarm.page) == ("trap", "a.example/*?from", 20)


def test_endless_path_is_a_trap() -> None:
    endless = [record(f"{SITE}/x/y" + "/x/y" * i + "/", f"{SITE}/x/y/") for i in range(1, 50)]
    (alarm,) = raised(endless)
    assert (alarm.name, alarm.subject) == ("trap", "a.example/x/y/x/**/*")
    assert alarm.page <= 50


def test_trap_among_other_pages_is_found() -> None:
    records = []
    for i in range(1, 40):
        records.append(record(f"{SITE}/day/{i}?view=week", f"{SITE}/day/0"))
        records += [record(f"{SITE}/news/{i}/{j}") for j in range(3)]
    assert "trap" in {alarm.name for alarm in raised(records)}


def test_print_views_are_no_trap() -> None:
    assert raised(record(f"{SITE}/print/{i}", f"{SITE}/article/{i}") for i in range(100)) == []


def test_the_same_duplicate_again_and_again_is_no_trap() -> None:
    assert raised(record(f"{SITE}/b", f"{SITE}/a") for _ in range(100)) == []


def test_text_that_is_suddenly_gone_is_an_alarm() -> None:
    records = [record(f"{SITE}/{i}") for i in range(30)]
    gone = [skipped(f"{SITE}/gone{i}", "no_text") for i in range(30)]
    (alarm,) = raised(records + gone)
    assert (alarm.name, alarm.subject, alarm.page) == ("no_text", "a.example", 50)


def test_site_that_never_had_text_is_no_alarm() -> None:
    assert raised(skipped(f"{SITE}/{i}", "no_text") for i in range(100)) == []


def test_too_many_duplicates_are_one_alarm() -> None:
    records = [record(f"{SITE}/{i}?s=1", f"{SITE}/{i}") for i in range(400)]
    (alarm,) = raised(records, share=0.95)
    assert (alarm.name, alarm.page) == ("duplicates", 191)


def copies(pages: int, of_each: int) -> list[Record]:
    """The pages of a site, then their copies."""
    kept = [record(f"{SITE}/{i}") for i in range(pages)]
    return kept + [
        record(f"{SITE}/{i}?s={n}", f"{SITE}/{i}") for n in range(of_each) for i in range(pages)
    ]


def test_a_site_with_some_copies_of_each_page_is_no_alarm() -> None:
    """Though they may come last: its crawl ends."""
    assert raised(copies(100, 10), share=0.95) == []
    watch = AlarmWatch(0.95)
    for one in copies(100, 0):
        assert not list(watch.look(one))
    watch.resume()
    assert not [alarm for one in copies(100, 10)[100:] for alarm in watch.look(one)]


def test_a_site_that_comes_again_and_again_is_an_alarm() -> None:
    (alarm,) = raised(copies(100, 20), share=0.95)
    assert (alarm.name, alarm.page) == ("duplicates", 100 + 10 * 100 + 1)


def test_alarm_is_raised_once() -> None:
    wall = [record(f"{SITE}/{i}", f"{SITE}/login", second=i) for i in range(200)]
    assert sorted(alarm.name for alarm in raised(wall)) == ["one_text", "trap"]


def test_each_host_that_has_one_text_is_an_alarm() -> None:
    wall = [
        record(f"http://{host}.example/{i}", "http://login.example/")
        for host in "ab"
        for i in range(10)
    ]
    assert [(one.name, one.host) for one in raised(wall)] == [
        ("one_text", "a.example"),
        ("one_text", "b.example"),
    ]


def test_host_of_an_alarm_is_the_one_that_was_asked() -> None:
    wall = [
        record(
            f"https://login.example/?{i}",
            "https://login.example/",
            redirects=[f"http://me@A.example:8080/{i}", "http://b.example/"],
        )
        for i in range(10)
    ]
    (alarm,) = raised(wall)
    assert (alarm.host, alarm.example) == ("a.example:8080", "https://login.example/?9")


def test_resumed_crawl_raises_alarms_again_from_its_own_pages() -> None:
    wall = [record(f"{SITE}/{i}?s=1", f"{SITE}/login") for i in range(400)]
    watch = AlarmWatch(0.9)
    before = [(alarm.name, alarm.page) for one in wall for alarm in watch.look(one)]
    watch.resume()
    after = [(alarm.name, alarm.page - 400) for one in wall for alarm in watch.look(one)]
    assert before == after == [("one_text", 10), ("trap", 20), ("duplicates", 181)]


def test_host_that_had_text_before_a_crawl_was_resumed_is_watched_for_it() -> None:
    watch = AlarmWatch(1.0)
    assert not list(watch.look(record(f"{SITE}/")))
    watch.resume()
    gone = [skipped(f"{SITE}/gone{i}", "no_text") for i in range(30)]
    assert [alarm.name for one in gone for alarm in watch.look(one)] == ["no_text"]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.booleans()), max_size=300))
def test_no_alarm_is_raised_twice(pages: list[tuple[int, int, bool]]) -> None:
    records = [
        record(f"{SITE}/{page}?s={i % 30}", f"{SITE}/{text}" if twin else None)
        for i, (page, text, twin) in enumerate(pages)
    ]
    subjects = [(alarm.name, alarm.subject) for alarm in raised(records, share=0.2)]
    assert len(subjects) == len(set(subjects))
