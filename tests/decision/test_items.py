"""A page is dropped only if nothing on it is new: whole pages, from their HTML to the verdict."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scrapy_simhash.decision.judge import MAX_COMPARED
from scrapy_simhash.decision.page import Decision, Reason
from scrapy_simhash.pipeline import Fetched, Pipeline
from scrapy_simhash.settings import ITEMS, TEXT, SimhashSettings
from tests.conftest import CrawlFixture, Site, article, path_of, prose
from tests.indexes import LOOP, Blocking, open_index

SITE = "http://shop.example"
TEXT_OF_ALL = prose("bench", 800)


class Judge:
    """Judges pages one after the other, in memory."""

    def __init__(self, takes: str = ITEMS) -> None:
        settings = SimhashSettings(takes=takes, workers=0, extractor="text")
        self.pipeline = Pipeline.of(settings)
        self.index = open_index("memory:", self.pipeline.parameters)
        self.workers = self.pipeline.workers()

    def __call__(self, path: str, html: str) -> Decision:
        fetched = Fetched(SITE + path, html.encode(), "utf-8", path.encode().ljust(20, b"-"))
        index: Blocking = self.index
        page, _ = LOOP.run_until_complete(
            self.pipeline.page(fetched, self.workers, index.index.learned, "shop")
        )
        found: Decision = index.check_and_add(page)
        return found


@pytest.fixture
def judge() -> Iterator[Judge]:
    judge = Judge()
    yield judge
    judge.index.close()


def shop_page(inside: str, text: str = TEXT_OF_ALL, head: str = "") -> str:
    return (
        f"<!DOCTYPE html><html><head><title>Bench</title>{head}</head><body>"
        f'<nav><a href="/">Start</a></nav><main><h1>Bench</h1><p>{text}</p>{inside}</main>'
        "<footer><p>Shop of benches, 12 Mill Lane</p></footer></body></html>"
    )


def price(number: int) -> str:
    return shop_page(f'<p class="price">{number} EUR</p><p class="stock">In stock</p>')


def test_a_price_variant_is_kept_and_says_what_is_new(judge: Judge) -> None:
    assert judge("/1", price(39)).verdict == "unique"
    found = judge("/2", price(35))
    assert (found.verdict, found.reason) == ("variant", "new_text")
    assert found.representative == f"{SITE}/1"
    assert found.share is not None
    assert found.share >= 0.9
    assert found.is_kept
    assert not found.is_duplicate
    assert "35 EUR" in found.new[0].text


def test_a_variant_that_has_only_less_than_its_kept_page_says_where(judge: Judge) -> None:
    seat = "<h2>Seat</h2><p>A1</p>{}<script>var sku = {}</script>".format
    for n in range(40):  # the section repeats all of it
        judge(f"/{n}", shop_page(seat("<p>taken</p>", 17), prose(f"seat {n}", 800)))
    found = judge("/free", shop_page(seat("", 17), prose("seat 0", 800)))
    assert (found.verdict, found.reason) == ("variant", "new_text")
    assert [(one.kind, one.place) for one in found.new] == [("end", "main")]
    other = judge("/sold", shop_page(seat("", 23), prose("seat 1", 800)))
    assert (other.reason, {one.kind for one in other.new}) == ("new_data", {"data", "end"})


def test_a_variant_stands_for_others(judge: Judge) -> None:
    judge("/1", price(39))
    judge("/2", price(35))
    found = judge("/3", price(35))
    assert (found.verdict, found.representative) == ("exact_duplicate", f"{SITE}/2")


def test_what_is_new_is_told_in_at_most_three(judge: Judge) -> None:
    judge("/1", shop_page(""))
    found = judge("/2", shop_page("".join(f"<h2>Part {n}</h2><p>{n} EUR</p>" for n in range(9))))
    assert len(found.new) == 3
    assert {told.kind for told in found.new} == {"text"}


@pytest.mark.parametrize(
    ("first", "second", "reason", "shown"),
    [
        ("<p>A+</p>", "<p>A-</p>", "new_text", "A-"),
        ("", "<h2>Comments</h2><p>By Ann: it wobbles</p>", "new_text", "By Ann: it wobbles"),
        ('<p><a href="/of/1">File</a></p>', '<p><a href="/of/2">File</a></p>', "new_links", "/2"),
        ('<p><img src="/1.png"></p>', '<p><img src="/2.png"></p>', "new_media", "/2.png"),
        ("<script>var sku = 17</script>", "<script>var sku = 23</script>", "new_data", "23"),
    ],
    ids=["grade", "comment page", "link", "picture", "script"],
)
def test_why_a_page_is_a_variant(
    judge: Judge, first: str, second: str, reason: Reason, shown: str
) -> None:
    judge("/1", shop_page(first))
    found = judge("/2", shop_page(second))
    assert (found.verdict, found.reason) == ("variant", reason)
    assert any(shown in told.text for told in found.new)


def test_a_page_without_something_is_dropped_if_nothing_is_new(judge: Judge) -> None:
    judge("/1", shop_page("").replace("</main>", f"</main><aside><p>{prose('ad', 12)}</p></aside>"))
    assert judge("/2", shop_page("")).is_duplicate


def session(identifier: str, item: int = 7) -> str:
    links = "".join(
        f'<p><a href="/view?id={n}&sid={identifier}">A part</a></p>' for n in (item, 8, 9)
    )
    return shop_page(links)


def test_a_session_copy_is_dropped(judge: Judge) -> None:
    judge("/list?sid=ab12", session("ab12"))
    found = judge("/list?sid=cd34", session("cd34"))
    assert (found.verdict, found.representative) == ("exact_duplicate", f"{SITE}/list?sid=ab12")
    assert judge("/list?sid=ef56", session("ef56", item=6)).reason == "new_links"


def described(number: int, around: str, price_around: str = "") -> str:
    """A product, and what is shown beside its text and its price."""
    inside = f"<p class=price>{number} EUR</p>{price_around}<p>{prose(f'{number}', 60)}</p>{around}"
    return shop_page(inside, prose(f"text {number}", 150))


PRINT_LINK = '<p><a href="/about">Print</a></p>'
SHARE = "<p class=share>Share it</p>"


@pytest.fixture
def printed(judge: Judge) -> Judge:
    """Of 40 products, the print views say neither "Print" nor "Share it"."""
    for number in range(40):
        judge(f"/product/{number}", described(number, PRINT_LINK, SHARE))
    for number in range(40):
        judge(f"/print/{number}", described(number, ""))
    return judge


def test_print_views_that_have_less_around_the_text_are_dropped(printed: Judge) -> None:
    for number in range(50, 55):
        assert printed(f"/product/{number}", described(number, PRINT_LINK, SHARE)).is_kept
        found = printed(f"/print/{number}", described(number, ""))
        assert found.is_duplicate
        assert found.representative == f"{SITE}/product/{number}"


def test_a_missing_badge_is_new_where_other_pages_of_the_section_have_it(printed: Judge) -> None:
    printed("/product/50", described(50, PRINT_LINK, SHARE))
    assert not printed("/product/51", described(50, "", SHARE)).is_duplicate
    assert not printed("/product/52", described(50, PRINT_LINK)).is_duplicate


def test_a_badge_of_its_own_that_a_print_view_lacks_beside_the_price_is_new(
    printed: Judge,
) -> None:
    badge = "<p class=badge>Booked until May</p>"
    printed("/product/50", described(50, PRINT_LINK, badge))
    assert not printed("/print/50", described(50, "")).is_duplicate


def test_a_print_view_without_its_price_is_new_where_others_have_one(printed: Judge) -> None:
    printed("/product/50", described(50, PRINT_LINK, SHARE))
    without = described(50, "").replace("<p class=price>50 EUR</p>", "")
    assert not printed("/print/50", without).is_duplicate


@pytest.mark.parametrize("section", ["chairs", "product"])
def test_a_missing_badge_is_new_in_a_section_that_is_not_known(
    printed: Judge, section: str
) -> None:
    printed("/product/50", described(50, PRINT_LINK, SHARE))
    assert not printed(f"/{section}/60", described(50, "")).is_duplicate


def test_a_print_view_with_its_own_canonical_is_dropped(judge: Judge) -> None:
    def page(path: str) -> str:
        return shop_page("<p>39 EUR</p>", head=f'<link rel="canonical" href="{SITE}{path}">')

    judge("/bench", page("/bench"))
    assert judge("/print/bench", page("/print/bench")).is_duplicate


def test_a_copy_among_many_variants_of_one_text_is_found() -> None:
    judge = Judge()
    count = 2 * MAX_COMPARED
    assert {judge(f"/{n}", price(n)).verdict for n in range(1, count)} == {"variant"} | {"unique"}
    copies = range(5, count, 20)
    kept = {n: judge(f"/copy/{n}", price(n)).representative for n in copies}
    assert kept == {n: f"{SITE}/{n}" for n in copies}


def test_a_page_that_a_list_shows_whole_is_no_copy_of_the_list(judge: Judge) -> None:
    """Also where it is found by values that no other page has."""

    def blog(*posts: int) -> str:
        shown = "".join(
            f'<div><article><h2><a href="/post/{n}">{prose(f"title {n}", 4)}</a></h2>'
            f"<p>{prose(f'post {n}', 60)}</p><p>{prose(f'more {n}', 60)}</p></article></div>"
            for n in posts
        )
        return f"<!DOCTYPE html><html><head><title>Blog</title></head><body>{shown}</body></html>"

    for n in range(0, 60, 2):
        assert judge(f"/page/{n}", blog(n, n + 1)).is_kept
    assert all(judge(f"/post/{n}", blog(n)).is_kept for n in range(60))
    assert judge("/post/3?from=list", blog(3)).is_duplicate


def test_a_shell_passes_once_its_section_is_known(judge: Judge) -> None:
    """A page of which only the template is there says nothing of itself."""
    shell = shop_page("", text=prose("frame", 80))
    for number in range(60):
        text = f"</p><p>{prose(f'item{number}x', 60)}"
        judge(f"/{number}", shop_page(f"<p>Number {number}</p>", text=prose("frame", 80) + text))
    found = judge("/shell", shell)
    again = judge("/shell-again", shell)
    assert (found.verdict, again.verdict) == ("unique", "unique")
    assert (found.reason, again.reason) == ("shell", "shell")


def test_the_same_page_is_dropped_before_its_section_is_known(judge: Judge) -> None:
    judge("/1", shop_page(""))
    assert judge("/2", shop_page("")).verdict == "exact_duplicate"


def settled(judge: Judge, folder: str = "") -> None:
    """Let it be known what the pages of a folder repeat."""
    for number in range(100, 140):
        judge(f"{folder}/{number}", shop_page("", text=prose(f"{folder} item{number}x", 80)))


def test_what_the_section_repeats_is_new_where_the_kept_page_says_something_else(
    judge: Judge,
) -> None:
    settled(judge)
    judge("/1", price(39).replace("In stock", "Sold out"))
    found = judge("/2", price(39))
    assert (found.verdict, found.reason) == ("variant", "new_text")


def test_a_combination_that_the_section_repeats_is_new_where_the_kept_page_has_another(
    judge: Judge,
) -> None:
    def pool(number: int, closes_early: str) -> str:
        days = "Monday", "Tuesday", "Wednesday", "Thursday", "Friday"
        hours = (f"<dt>{day}<dd>9 to {(18, 13)[day == closes_early]}" for day in days)
        return shop_page(f"<dl>{''.join(hours)}</dl>", prose(f"pool {number}", 80))

    for n in range(100):
        judge(f"/{n}", pool(n, "Wednesday" if n % 20 else "Friday"))
    judge("/kept", pool(100, "Friday"))
    found = judge("/other", pool(100, "Wednesday"))
    assert (found.verdict, found.representative) == ("variant", f"{SITE}/kept")


def test_a_section_of_few_texts_repeats_no_more_what_its_later_pages_lack(judge: Judge) -> None:
    def tour(number: int, day: int, is_sale: bool = False) -> str:
        sale = '<script>var sale = {"ends": "May", "price": 39};</script>' * is_sale
        return shop_page(f'<p data-day="{day}">Day</p>{sale}', prose(f"tour {number % 40}", 80))

    for n in range(40):
        judge(f"/{n}", tour(n, 1, is_sale=True))
    assert judge("/kept", tour(7, 2)).verdict == "variant"
    assert judge("/sale", tour(7, 2, is_sale=True)).is_duplicate  # all had it so far
    for n in range(1000):
        judge(f"/later-{n}", tour(n, 3 + n))
    judge("/free", tour(7, 2000))
    assert judge("/sale-again", tour(7, 2000, is_sale=True)).verdict == "variant"


@pytest.mark.parametrize("kept", ["/old/1", "/new/1"])
def test_a_copy_in_another_section_is_dropped(judge: Judge, kept: str) -> None:
    settled(judge, "/old")
    copy = "/new/1" if kept == "/old/1" else "/old/1"
    judge(kept, price(39))
    found = judge(copy, price(39))
    assert (found.is_duplicate, found.representative) == (True, SITE + kept)
    assert judge(copy + "/40", price(40)).verdict == "variant"


# All words are on all pages.
FEATURES = "Swimming pool", "Wireless internet", "Pets allowed", "Parking"
COMBINATIONS = "yynn", "ynyn", "ynny", "nyyn", "nyny", "nnyy"


def features(have: str) -> str:
    """Return which features a room has, by a letter each."""
    pairs = zip(FEATURES, have, strict=True)
    rows = (f"<dt>{name}</dt><dd>{'yes' if one == 'y' else 'no'}</dd>" for name, one in pairs)
    return f'<dl class="features">{"".join(rows)}<dt>Air</dt><dd>on request</dd></dl>'


@pytest.mark.parametrize("known", [40, 5], ids=["both sections known", "one section known"])
@pytest.mark.parametrize("first", ["", features("nnyy")], ids=["nothing", "others"])
def test_another_combination_of_what_another_section_repeats_is_new(
    judge: Judge, first: str, known: int
) -> None:
    for n in range(40):
        have = COMBINATIONS[n % 6]
        judge(f"/summer/{n}", shop_page(first and features(have), prose(f"summer {n}", 80)))
        if n < known:
            judge(f"/winter/{n}", shop_page(features(have), prose(f"winter {n}", 80)))
    judge("/summer/twin", shop_page(first, prose("twin", 80)))
    found = judge("/winter/twin", shop_page(features("ynny"), prose("twin", 80)))
    assert found.verdict == "variant"


def test_what_stands_behind_a_text_that_the_section_repeats_is_new(judge: Judge) -> None:
    def room(number: int, is_booked: bool) -> str:
        badge = '<div class="badge">Booked</div>' * is_booked
        note = f'<div class="note"><p>{prose("all rooms", 12)}</p>{badge}</div>'
        return shop_page(note, prose(f"room {number}", 80))

    for n in range(60):
        judge(f"/{n}", room(n, n % 2 == 0))
    booked, free = judge("/50-free", room(50, False)), judge("/51-booked", room(51, True))
    assert (booked.verdict, free.verdict) == ("variant", "variant")
    assert judge("/52-again", room(52, True)).verdict == "exact_duplicate"


def test_what_a_folder_repeats_beside_the_content_is_learned_in_a_section_known_for_long(
    judge: Judge,
) -> None:
    def page(search: str, text: str) -> str:
        aside = f'<aside><input placeholder="Search {search}"></aside><main>'
        return shop_page("", prose(text, 800)).replace("<main>", aside)

    for n in range(140):  # old ones weigh less
        judge(f"/docs/all/{n}", page("in all parts", f"a{n}"))
    for n in range(15):
        judge(f"/docs/part/{n}", page("in this part", f"b{n}"))
    copy = judge("/docs/part/copy", page("in this part", "a138"))
    assert (copy.verdict, copy.representative) == ("exact_duplicate", f"{SITE}/docs/all/138")


def test_what_all_pages_of_a_section_say_of_themselves_in_html_is_no_news(judge: Judge) -> None:
    """A page that nobody has translated is in two folders."""

    def page(language: str, text: str = "") -> str:
        return shop_page("", text).replace("<html>", f'<html lang="{language}">')

    for language in ("de", "ja"):
        for number in range(40):
            judge(f"/{language}/{number}", page(language, prose(f"{language} item{number}x", 80)))
    judge("/de/oak", page("de"))
    found = judge("/ja/oak", page("ja"))
    assert (found.is_duplicate, found.representative) == (True, f"{SITE}/de/oak")
    assert judge("/ja/elm", page("en")).verdict == "variant"


def test_a_copy_of_a_page_with_hundreds_of_links_is_dropped_in_another_folder(
    judge: Judge,
) -> None:
    """All its links differ from those of the kept page, of which there is but a table."""
    for folder in ("/en", "/de"):
        settled(judge, folder)

    def listing(folder: str, price: int) -> str:
        links = (f'<li><a href="{folder}/part{n}">Part {n}</a></li>' for n in range(280))
        return shop_page(f"<p>{price} EUR</p><ul>{''.join(links)}</ul>", prose("listing", 60))

    judge("/en/all", listing("/en", 39))
    found = judge("/de/all", listing("/de", 39))
    assert (found.verdict, found.representative) == ("exact_duplicate", f"{SITE}/en/all")
    assert judge("/de/others", listing("/de", 40)).is_kept


@pytest.mark.parametrize("takes", [ITEMS, TEXT])
def test_for_texts_alone_values_do_not_count(takes: str) -> None:
    judge = Judge(takes)
    judge("/1", price(39))
    found = judge("/2", price(35))
    assert found.verdict == ("variant" if takes == ITEMS else "near_duplicate")
    other = shop_page("", text=prose("lamp", 800))
    assert judge("/3", other).verdict == "unique"


def test_for_texts_alone_nothing_but_text_is_stored() -> None:
    judge = Judge(TEXT)
    judge("/1", price(39))
    [row] = judge.index.rows()
    assert row.page.own_values is None
    assert row.page.sketch is not None


# Crawls -----------------------------------------------------------------------------------------


def served(site: Site, pages: dict[str, str]) -> None:
    site["/"] = article(prose("start"), list(pages))
    for path, html in pages.items():
        site[path] = html


def test_a_crawl_gets_every_item_and_no_copy(site: Site, crawl: CrawlFixture) -> None:
    pages = {f"/bench/{n}": price(n) for n in range(10, 16)}
    copies = {f"/copy/{n}": price(n) for n in range(10, 16)}
    served(site, {**pages, **copies})
    result = crawl(CONCURRENT_REQUESTS=1, SIMHASH_TAKES=ITEMS)
    assert result.seen() == {"/", *pages}
    variants = [one for one in result.decisions if one["verdict"] == "variant"]
    assert variants
    assert result.stats["simhash/variant"] == len(variants)
    assert result.stats["simhash/variant/new_text"] == len(variants)
    flagged = {item["url"] for item in result.items if item["flags"] == ["variant"]}
    assert flagged == {one["url"] for one in variants}
    for one in variants:
        number = path_of(one["url"]).rpartition("/")[2]
        assert any(f"{number} EUR" in told["text"] for told in one["new"])
        assert {"kind", "place", "text"} == one["new"][0].keys()


@pytest.mark.parametrize("takes", [ITEMS, TEXT])
def test_a_crawl_for_texts_drops_price_variants(
    site: Site, crawl: CrawlFixture, takes: str
) -> None:
    pages = {f"/bench/{n}": price(n) for n in range(10, 16)}
    served(site, pages)
    result = crawl(CONCURRENT_REQUESTS=1, SIMHASH_TAKES=takes)
    assert len(result.seen() & set(pages)) == (6 if takes == ITEMS else 1)


def test_a_crawl_learns_what_a_presigned_photo_changes(site: Site, crawl: CrawlFixture) -> None:
    """Copies pass until the signature is known; each photo comes through."""
    names = [f"/photo/{n}" for n in range(40)]
    site["/"] = article(prose("start"), names)
    for n, name in enumerate(names):

        def photo(visit: int, n: int = n) -> str:
            token = f"{7919 * (n + 1) + 104_729 * visit:08x}ab"
            return shop_page(f'<img src="/i/{n // 4}.jpg?X-Amz-Signature={token}">')

        site[name] = photo
    result = crawl(CONCURRENT_REQUESTS=1, SIMHASH_TAKES=ITEMS)
    seen = {int(path.rpartition("/")[2]) // 4 for path in result.seen() if path != "/"}
    assert seen == set(range(10))
    late = [name for name in names[20:] if name in result.seen()]
    assert len(late) <= 6
    reasons = {one["reason"] for one in result.decisions if one["verdict"] == "variant"}
    assert reasons == {"new_media"}


def test_a_copy_is_found_among_many_that_differ_in_an_attribute(judge: Judge) -> None:
    """More of one text than one page is compared with."""
    settled(judge)
    number_of = MAX_COMPARED + 20

    def variant(number: int) -> str:
        return shop_page(f'<p class="price" data-id="{number}">Price in the shop</p>')

    for number in range(number_of):
        assert judge(f"/p{number}", variant(number)).is_kept
    for number in (0, number_of // 2, number_of - 1):
        found = judge(f"/p{number}?ref=home", variant(number))
        assert (found.is_duplicate, found.representative) == (True, f"{SITE}/p{number}")
