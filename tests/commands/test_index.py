"""The subcommands that look into an index and tend it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_simhash.settings import ITEMS
from tests.command_line import INDEX, simhash, simhash_json
from tests.conftest import CrawlFixture, Site, article, prose

# What docs/decisions.md says of every decision.
FEED_FIELDS = {"verdict", "reason", "representative", "distance", "share", "closest", "changed"}


@pytest.fixture
def folder(site: Site, crawl: CrawlFixture, tmp_path: Path) -> Path:
    """Where a crawl left an index: /, /a with the copies /b and /c, /d."""
    site["/"] = article(prose("start"), ["/a", "/b", "/c", "/d"])
    for path in ("/a", "/b", "/c"):
        site[path] = article(prose("the same text"))
    site["/d"] = article(prose("another"))
    assert crawl().returncode == 0
    return tmp_path


def change(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / INDEX)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_controls_and_markup_in_a_stored_url_are_shown_as_they_are(folder: Path) -> None:
    """An index of a stranger may hold what would change the terminal."""
    change(folder, "UPDATE pages SET url = char(27) || ']0;title' || char(7) || '[red]' || url")
    for arguments in (
        ("stats", str(INDEX)),
        ("check", str(INDEX), "page.html", "--url", "http://a.example/"),
    ):
        (folder / "page.html").write_text(article(prose("the same text")))
        shown = simhash(folder, *arguments).stdout
        assert "\\x1b]0;title\\x07[red]http" in shown
        assert "\x1b" not in shown


def test_stats_count_pages_crawls_and_groups(site: Site, folder: Path) -> None:
    found = simhash_json(folder, "stats", str(INDEX))
    assert (found["pages"], found["kept"], found["duplicates"]) == (5, 3, 2)
    assert found["largest_groups"] == [{"url": site.url + "/a", "duplicates": 2}]
    (crawl,) = found["crawls"]
    assert (crawl["spider"], crawl["pages"]) == ("links", 5)
    assert crawl["finished"] >= crawl["started"]
    shown = simhash(folder, "stats", str(INDEX)).stdout
    assert site.url + "/a" in shown
    assert "links" in shown


@pytest.mark.parametrize("subcommand", ["stats", "repair", "forget", "export", "check"])
def test_index_that_is_not_there_is_not_made(tmp_path: Path, subcommand: str) -> None:
    further = {"forget": ["--url", "x"], "export": ["-"], "check": ["page.html"]}
    done = simhash(tmp_path, subcommand, "none.simhash", *further.get(subcommand, []))
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"scrapy simhash {subcommand}: none.simhash is not there: no crawl has made an index yet"
    )
    assert list(tmp_path.iterdir()) == []


def test_check_says_what_a_crawl_would_decide_and_remembers_nothing(
    site: Site, folder: Path
) -> None:
    (folder / "copy.html").write_text(article(prose("the same text")))
    (folder / "new.html").write_text(article(prose("something new")))
    for _ in range(2):
        copy = simhash_json(folder, "check", str(INDEX), "copy.html")
        assert (copy["verdict"], copy["representative"]) == ("exact_duplicate", site.url + "/a")
        assert simhash_json(folder, "check", str(INDEX), "new.html")["verdict"] == "unique"
    again = simhash_json(folder, "check", str(INDEX), site.url + "/d")
    assert (again["verdict"], again["reason"]) == ("refresh", "unchanged")
    shown = simhash(folder, "check", str(INDEX), "copy.html", "--url", site.url + "/x").stdout
    assert f"exact_duplicate (same_text): {site.url}/x" in shown


def test_check_names_the_closest_page_once_the_site_is_known(
    crawl: CrawlFixture, site: Site, tmp_path: Path
) -> None:
    def framed(words: str, links: list[str] | None = None) -> str:
        return article(f"{words}</p><p>{prose('frame', 200)}", links)

    site["/"] = framed("A chisel of 4 mm.")
    assert crawl().returncode == 0
    chisel = tmp_path / "chisel.html"
    chisel.write_text(framed("A chisel of 6 mm."))
    arguments = ("check", str(INDEX), "chisel.html", "--url", site.url + "/chisel")
    assert simhash_json(tmp_path, *arguments)["verdict"] == "near_duplicate"
    site["/more"] = framed(prose("more"), [f"/{i}" for i in range(40)])
    for i in range(40):
        site[f"/{i}"] = framed(prose(f"tool {i}"))
    assert crawl(start="/more").returncode == 0
    found = simhash_json(tmp_path, *arguments)
    assert found["verdict"] == "unique"
    assert found.keys() == FEED_FIELDS | {"url", "fingerprint", "tokens"}
    assert found["closest"].keys() == {"url", "distance", "share"}
    shown = simhash(tmp_path, *arguments).stdout
    assert f"closest page: {site.url}/, share in common" in shown


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("none.html", "none.html cannot be read"),
        ("127.0.0.1:8765/x", "did you mean http://127.0.0.1:8765/x?"),
        ("www.a.example/x", "did you mean http://www.a.example/x?"),
        ("localhost:8765", "did you mean http://localhost:8765?"),
        ("ftp://a.example/", "must be a file, or a URL of http or https"),
        ("http://127.0.0.1:1/", "cannot be fetched"),
        ("empty.html", "has no text to compare"),
    ],
)
def test_check_says_why_a_page_cannot_be_had(folder: Path, place: str, message: str) -> None:
    (folder / "empty.html").write_text("")
    done = simhash(folder, "check", str(INDEX), place)
    assert done.returncode == 2
    assert message in done.stderr


def test_check_refuses_an_address_that_is_none(folder: Path) -> None:
    (folder / "page.html").write_text(article(prose("x")))
    done = simhash(folder, "check", str(INDEX), "page.html", "--url", "a.example")
    assert done.returncode == 2
    assert "Missing scheme" in done.stderr


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        (
            "SIMHASH_FEATURES=words-2",
            "scheme 'features words-3'; this crawl asks for 'features words-2'. It",
        ),
        ("SIMHASH_TAKES=items", "SIMHASH_TAKES = 'text'; this crawl asks for 'items'. It"),
    ],
)
def test_check_needs_what_the_index_was_built_with(folder: Path, setting: str, shown: str) -> None:
    (folder / "page.html").write_text(article(prose("x")))
    done = simhash(folder, "check", str(INDEX), "page.html", "-s", setting)
    assert done.returncode == 2
    assert f"was built with {shown}" in " ".join(done.stderr.split())


def test_explain_shows_what_two_pages_have_in_common(site: Site, folder: Path) -> None:
    (folder / "copy.html").write_text(article(prose("the same text") + " but for these words"))
    found = simhash_json(folder, "explain", site.url + "/a", "copy.html")
    assert found["decision"]["verdict"] == "near_duplicate"
    assert found["distance"] <= found["limit"]
    one, two = found["pages"]
    assert one["features"] == found["features_in_common"] == two["features"] - 4
    assert one["features_of_its_own"] == []
    assert "but for these" in two["features_of_its_own"]
    assert found["content"]["share"] > 0.9
    held = '<img src="/p.jpg"><a href="/more" data-id="7">x</a></main>'
    (folder / "more.html").write_text(article(prose("the same text")).replace("</main>", held))
    explain_all = ("explain", site.url + "/a", "more.html", "-s", f"SIMHASH_TAKES={ITEMS}")
    found = simhash_json(folder, *explain_all)
    assert found["decision"]["verdict"] == "variant"
    assert found["decision"].keys() == FEED_FIELDS | {"new"}
    new = {(one["kind"], one["place"]): one["text"] for one in found["new"]}
    assert new["link", "a"] == "file:///more"
    assert new["media", "img"] == "file:///p.jpg"
    assert "data-id=7" in new["text", "main"]
    shown = simhash(folder, *explain_all).stdout
    assert "new in the second: link at a: file:///more" in shown
    assert f"verdict on the second: variant ({found['decision']['reason']})" in shown
    shown = simhash(folder, "explain", site.url + "/a", site.url + "/d").stdout
    assert "verdict on the second: unique (new_text)\n  It is not near the first" in shown
    shown = simhash(folder, "explain", site.url + "/a", "copy.html").stdout
    assert "near_duplicate (share_in_common)\n  The first has all that is on it" in shown


def test_export_writes_a_line_for_each_page(site: Site, folder: Path) -> None:
    done = simhash(folder, "export", str(INDEX), "-")
    pages = {page["url"]: page["kept"] for page in map(json.loads, done.stdout.splitlines())}
    assert pages.keys() == {site.url + path for path in ("/", "/a", "/b", "/c", "/d")}
    assert pages[site.url + "/c"] == site.url + "/a"
    assert simhash_json(folder, "export", str(INDEX), "pages.jsonl")["pages"] == 5
    assert (folder / "pages.jsonl").read_text() == done.stdout


def test_export_overwrites_nothing(folder: Path) -> None:
    (folder / "notes").write_text("mine")
    done = simhash(folder, "export", str(INDEX), "notes")
    assert done.returncode == 2
    assert "notes cannot be made" in done.stderr
    assert (folder / "notes").read_text() == "mine"


def test_forgotten_page_is_judged_anew_and_another_takes_its_place(
    site: Site, folder: Path
) -> None:
    found = simhash_json(folder, "forget", str(INDEX), "--url", site.url + "/a")
    assert found == {"forgotten": 1, "pages": 4, "kept": 3, "is_missing": False}
    shown = simhash(folder, "forget", str(INDEX), "--url", site.url + "/d").stdout
    assert shown == "1 page forgotten; 3 left, 2 of them kept\n"
    found = simhash_json(folder, "check", str(INDEX), site.url + "/a")
    assert (found["verdict"], found["representative"]) == ("exact_duplicate", site.url + "/b")


def test_an_address_that_is_not_in_the_index_is_said(site: Site, folder: Path) -> None:
    arguments = "forget", str(INDEX), "--url", site.url + "/A"
    done = simhash(folder, *arguments)
    assert (done.returncode, done.stdout) == (1, "The index has no page at this address\n")
    assert simhash_json(folder, *arguments, code=1)["is_missing"]


@pytest.mark.parametrize(
    ("arguments", "forgotten"),
    [
        (["--site", "127.0.0.1"], 5),
        (["--site", "a.example"], 0),
        (["--spider", "links"], 5),
        (["--spider", "others"], 0),
    ],
)
def test_sites_and_spiders_are_forgotten(
    folder: Path, arguments: list[str], forgotten: int
) -> None:
    found = simhash_json(folder, "forget", str(INDEX), *arguments)
    assert (found["forgotten"], found["pages"]) == (forgotten, 5 - forgotten)


def test_pages_that_no_crawl_has_met_for_some_days_are_forgotten(site: Site, folder: Path) -> None:
    with closing(sqlite3.connect(folder / INDEX)) as connection:
        old = "UPDATE pages SET judged_at = judged_at - 86400 * 3 WHERE url LIKE '%/a'"
        connection.execute(old)
        connection.commit()
    assert simhash_json(folder, "forget", str(INDEX), "--days", "4")["forgotten"] == 0
    assert simhash_json(folder, "forget", str(INDEX), "--days", "2.5")["forgotten"] == 1
    found = simhash_json(folder, "check", str(INDEX), site.url + "/a")
    assert found["representative"] == site.url + "/b"


def test_whole_index_is_verified(folder: Path) -> None:
    assert simhash_json(folder, "repair", str(INDEX)) == {"clean": True, "problems": []}
    assert simhash(folder, "repair", str(INDEX)).stdout == "The index is whole.\n"


@pytest.mark.parametrize(
    ("damage", "rule"),
    [
        ("UPDATE pages SET representative = 77 WHERE url LIKE '%/c'", "points to a kept page"),
        (
            "UPDATE pages SET representative = (SELECT id FROM pages WHERE url LIKE '%/b')"
            " WHERE url LIKE '%/c'",
            "points to a kept page",
        ),
        ("UPDATE pages SET representative = id WHERE url LIKE '%/a'", "points to a kept page"),
        ("UPDATE pages SET sketch = x'00' || sketch", "sketch"),
        ("UPDATE pages SET crawl = 77", "crawl"),
    ],
)
def test_broken_rows_are_mended_and_none_is_lost(folder: Path, damage: str, rule: str) -> None:
    change(folder, damage)
    found = simhash_json(folder, "repair", str(INDEX), code=1)
    assert [(rule in p["rule"], p["repaired"]) for p in found["problems"]] == [(True, True)]
    assert simhash_json(folder, "repair", str(INDEX))["clean"]
    assert simhash_json(folder, "stats", str(INDEX))["pages"] == 5


def test_page_that_cannot_be_read_is_taken_out_and_judged_anew(site: Site, folder: Path) -> None:
    change(folder, "UPDATE pages SET digest = 'text' WHERE url LIKE '%/a'")
    done = simhash(folder, "export", str(INDEX), "-")
    assert done.returncode == 2
    assert "is damaged: a row is damaged" in done.stderr
    page, group = simhash_json(folder, "repair", str(INDEX), code=1)["problems"]
    assert (page["count"], page["repaired"]) == (1, True)
    # Those that pointed to it are kept ones now.
    assert (group["count"], group["repaired"]) == (2, True)
    assert simhash_json(folder, "repair", str(INDEX))["clean"]
    found = simhash_json(folder, "check", str(INDEX), site.url + "/a")
    assert (found["verdict"], found["representative"]) == ("exact_duplicate", site.url + "/b")


def test_damage_of_the_file_is_shown_a_line_each(folder: Path) -> None:
    with closing(sqlite3.connect(folder / INDEX)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'pages'"
        (root,) = connection.execute(query).fetchone()
    content = bytearray((folder / INDEX).read_bytes())
    place = (root - 1) * 4096 + 1  # where the free space of the page is said to begin
    content[place : place + 2] = b"\x0f\xff"
    (folder / INDEX).write_bytes(content)
    done = simhash(folder, "repair", str(INDEX))
    assert done.returncode == 1
    first, *places = done.stdout.splitlines()
    assert first.startswith("NOT mended: ")
    assert first.endswith(" against the rule that the file is whole")
    assert f"page {root}: " in places[0].lower()
    assert not any("***" in line or "\\n" in line for line in places)


def test_damaged_indexes_of_the_file_are_made_anew(folder: Path) -> None:
    kept, others = "WHERE representative IS NULL", "WHERE representative IS NOT NULL"
    for before, after in ((kept, others), (others, kept)):
        change(
            folder,
            "PRAGMA writable_schema = ON",
            f"UPDATE sqlite_master SET sql = replace(sql, '{before}', '{after}')"
            " WHERE name = 'pages_by_text'",
        )
        if after == others:
            change(folder, "REINDEX pages_by_text")  # it has the other pages now
    (problem,) = simhash_json(folder, "repair", str(INDEX), code=1)["problems"]
    assert problem["repaired"]
    assert simhash_json(folder, "repair", str(INDEX))["clean"]
