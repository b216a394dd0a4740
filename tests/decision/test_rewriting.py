"""What an address on a copy would be on the kept page, and what a page calls itself."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.decision.rewriting import MOST_PARAMETERS, OwnAddress, Rewriting, Session

A = "http://a.example"


# Rewriting --------------------------------------------------------------------------------------


def names(url: str, kept_url: str, address: str) -> list[str]:
    """All that an address may be on the kept page."""
    rewriting = Rewriting(url, kept_url)
    return [*rewriting.own(address), *rewriting.others(address)]


@pytest.mark.parametrize(
    ("url", "kept_url", "address", "there"),
    [
        (f"{A}/x", "https://a.example/x", f"{A}/y", "https://a.example/y"),
        (f"{A}/x", "http://b.example/x", f"{A}/y?z=1", "http://b.example/y?z=1"),
        (f"{A}/2/x", f"{A}/1/x", f"{A}/2/y/z.png", f"{A}/1/y/z.png"),
        (f"{A}/doc/2/x", f"{A}/doc/1/x", f"{A}/doc/2/y", f"{A}/doc/1/y"),
        (f"{A}/de/2/x", f"{A}/en/1/x", f"{A}/de/2/y", f"{A}/en/1/y"),
        (f"{A}/old/doc/x", f"{A}/doc/x", f"{A}/old/doc/y", f"{A}/doc/y"),
        (f"{A}/doc/old/x", f"{A}/doc/x", f"{A}/doc/old/y", f"{A}/doc/y"),
        (f"{A}/doc/x", f"{A}/doc/new/x", f"{A}/doc/y", f"{A}/doc/new/y"),
        (f"{A}/doc/x", f"{A}/new/doc/x", f"{A}/doc/y", f"{A}/new/doc/y"),
        (f"{A}/x", f"{A}/new/x", f"{A}/y", f"{A}/new/y"),
        (f"{A}/new/x", f"{A}/x", f"{A}/new/y", f"{A}/y"),
        (f"{A}/x.html", f"{A}/x", f"{A}/y.html", f"{A}/y"),
        (f"{A}/x.html", f"{A}/x.php", f"{A}/y.html?p=2", f"{A}/y.php?p=2"),
        (f"{A}/x", f"{A}/x.html", f"{A}/y?p=2", f"{A}/y.html?p=2"),
        (f"{A}/doc/4/amp", f"{A}/doc/4", f"{A}/doc/5/amp?p=2", f"{A}/doc/5?p=2"),
        (f"{A}/doc/4/amp/", f"{A}/doc/4/", f"{A}/doc/5/amp/", f"{A}/doc/5/"),
        (f"{A}/doc/4", f"{A}/doc/4/amp", f"{A}/doc/5", f"{A}/doc/5/amp"),
        (f"{A}/doc/", f"{A}/doc/index.html", f"{A}/man/", f"{A}/man/index.html"),
        (f"{A}/doc/x.html", "http://b.example/1/x", f"{A}/doc/y.html", "http://b.example/1/y"),
        (f"{A}/v?s=1", f"{A}/v?s=2", f"{A}/w?s=1", f"{A}/w?s=2"),
        (f"{A}/v?s=1", f"{A}/v", f"{A}/w?i=7&s=1", f"{A}/w?i=7"),
        (f"{A}/1/v?s=1", f"{A}/2/v?s=2", f"{A}/1/w?s=1", f"{A}/2/w?s=2"),
        (f"{A}/x", f"{A}/y", f"{A}/login?next=/x", f"{A}/login?next=\0self"),
        (f"{A}/x", f"{A}/y", f"{A}/x", "\0self"),
        (A, f"{A}/index.html", f"{A}/y", f"{A}/y"),
        (f"{A}/new/", A, f"{A}/new/y", f"{A}/y"),
    ],
)
def test_address_has_what_is_the_kept_page_s_own(
    url: str, kept_url: str, address: str, there: str
) -> None:
    assert there in names(url, kept_url, address)


@pytest.mark.parametrize(
    ("url", "kept_url", "address", "not_there"),
    [
        (f"{A}/2/x", f"{A}/1/x", f"{A}/3/y", f"{A}/1/y"),
        (f"{A}/view?id=2", f"{A}/view?id=1", f"{A}/img/2.png", f"{A}/img/1.png"),
        (f"{A}/x", "http://b.example/x", "http://c.example/y", "http://b.example/y"),
        (f"{A}/v?page=2", f"{A}/v?page=1", f"{A}/v?page=3", f"{A}/v?page=1"),
        (f"{A}/list/2", f"{A}/list/", f"{A}/hats/2", f"{A}/hats/"),
        (f"{A}/doc/4/a/b", f"{A}/doc/4", f"{A}/doc/5/a/b", f"{A}/doc/5"),
        (f"{A}/docs", f"{A}/doc", f"{A}/cats", f"{A}/cat"),
        (f"{A}/item/17", f"{A}/item/23", f"{A}/cart/17/add", f"{A}/cart/23/add"),
    ],
)
def test_what_is_another_address_stays_one(
    url: str, kept_url: str, address: str, not_there: str
) -> None:
    found = names(url, kept_url, address)
    assert not_there not in found
    assert "\0self" not in found


PATHS = st.lists(st.sampled_from(["a", "b", "doc", "2"]), max_size=4).map("/".join)
HOSTS = st.sampled_from([A, "https://a.example", "http://b.example"])
QUERIES = st.sampled_from(["", "?s=1", "?s=2", "?i=1&s=1", "?t=3"])
URLS = st.builds("{}/{}{}".format, HOSTS, PATHS, QUERIES)


@given(URLS, URLS, URLS)
def test_an_address_may_be_itself_and_forms_are_few(url: str, kept_url: str, address: str) -> None:
    found = names(url, kept_url, address)
    is_kept = address.partition(":")[2] == kept_url.partition(":")[2]
    own = {address, "\0self"} if is_kept else {address}
    assert own & {found[0], OwnAddress(kept_url).without(address)}
    assert len(found) <= 200
    assert all(one == "\0self" or one.startswith(("http://", "https://")) for one in found)


FOLDERS = st.lists(st.sampled_from(["x", "y", "z"]), max_size=2, unique=True)


@given(HOSTS, HOSTS, FOLDERS, FOLDERS, st.sampled_from(["ab c", "a c", "a ", " c", "ab cd", " "]))
def test_a_page_of_a_mirror_has_its_address_there(
    host: str, kept_host: str, before: list[str], behind: list[str], differing: str
) -> None:
    def moved(host: str, folders: str, name: str) -> str:
        return "/".join((host, *before, *folders, *behind, name))

    own, kept = differing.split(" ")
    urls = moved(host, own, "p"), moved(kept_host, kept, "p")
    assert moved(kept_host, kept, "q/r") in names(*urls, moved(host, own, "q/r"))


@given(URLS, URLS, URLS)
def test_the_likeliest_name_is_the_last(url: str, kept_url: str, address: str) -> None:
    assert Rewriting(url, kept_url).likeliest(address) == names(url, kept_url, address)[-1]


# Session ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "kept_url", "link", "there"),
    [
        ("/v?s=1", "/v?s=2", "/w?s=1", {"/w", "/w?s=2"}),
        ("/v?s=1", "/v?s=2", "/w?i=7&s=1&j=8", {"/w?i=7&j=8", "/w?i=7&s=2&j=8"}),
        ("/v?s=1", "/v", "/w?s=1", {"/w"}),
        ("/v", "/v?s=2", "/w", {"/w", "/w?s=2"}),
        ("/v?s=1", "/v?s=2", "/w", {"/w"}),
        ("/v?s=1", "/v?s=2", "/w?s=3", set()),
        ("/v?s=1", "/v?s=1", "/w?s=1", set()),
        ("/v", "/w", "/login?next=/v", {"/login?next=/w"}),
        ("/v?s=1", "/w", "/login?next=%2Fv%3Fs%3D1", {"/login?next=%2Fw"}),
    ],
)
def test_link_in_a_session(url: str, kept_url: str, link: str, there: set[str]) -> None:
    session = Session(A + url, A + kept_url)
    found = {*session.named(A + link), *session.given(A + link)}
    assert found - {A + link} == {A + one for one in there} - {A + link}


def test_whole_address_is_named_in_a_link() -> None:
    link = f"http://social.example/share?u={quote(f'{A}/v', safe='')}&t=x"
    assert list(Session(f"{A}/v", f"{A}/w").named(link)) == [link.replace("%2Fv", "%2Fw")]


def test_addresses_that_differ_in_many_parameters_are_in_no_session() -> None:
    def of(count: int) -> list[str]:
        one, other = (
            f"{A}/v?" + "&".join(f"p{n}={value}" for n in range(count)) for value in (1, 2)
        )
        return list(Session(one, other).given(f"{A}/w?p0=1"))

    assert of(MOST_PARAMETERS)
    assert not of(MOST_PARAMETERS + 1)


def test_links_to_other_hosts_are_in_no_session() -> None:
    assert not list(Session(f"{A}/v?s=1", f"{A}/v?s=2").given("http://b.example/w?s=1"))


@pytest.mark.parametrize(
    ("url", "links", "carried"),
    [
        ("/v?s=1", ["/a?s=1", "/b?s=1", "/c?s=1&t=2"], {"s"}),
        ("/v?s=1", ["/a?s=1", "/b?s=1"], set()),
        ("/v?s=1", ["/a?s=1", "/b?s=1", "/c?s=1", "/d"], set()),
        ("/v?s=1", ["/a?s=1", "/b?s=1", "/c?s=3"], set()),
        ("/v", ["/a", "/b", "/c"], {"s"}),
        ("/v", ["/a", "/b", "/c?s=3"], set()),
        ("/v?s=2", ["/a?s=2", "/b?s=2", "/c?s=2"], set()),
    ],
)
def test_session_is_in_nearly_all_links_of_a_page(
    url: str, links: list[str], carried: set[str]
) -> None:
    session = Session(A + url, f"{A}/v?s=2")
    elsewhere = "http://b.example/"
    assert session.carried([elsewhere, *(A + link for link in links)]) == carried


# A page's own address ---------------------------------------------------------------------------

OWN = f"{A}/view/17?a=b c"
ENCODED = base64.b64encode(OWN.encode()).decode()


@pytest.mark.parametrize(
    "form",
    [
        OWN,
        "//a.example/view/17?a=b c",
        "/view/17?a=b c",
        quote(OWN, safe=""),
        quote("/view/17?a=b c", safe=""),
        quote("/view/17?a=b c", safe="/"),
        OWN.replace("/", "\\/"),
        ENCODED,
    ],
)
@pytest.mark.parametrize("around", ["{}", "see {} now", "u={}&t=1", "({})", '"{}"'])
def test_a_value_names_its_page_in_any_form(form: str, around: str) -> None:
    assert OwnAddress(OWN).out_of(around.format(form)) == around.format("\0self")


@pytest.mark.parametrize("ampersand", ["&", "&amp;", "&#038;", "\\u0026", "%26"])
@pytest.mark.parametrize("form", ["http://a.example/user?id=7", "/user?id=7"])
@pytest.mark.parametrize("around", ["load('{}tab=1')", '{{"url":"{}tab=1"}}'])
def test_an_address_with_one_more_parameter_is_another_one(
    around: str, form: str, ampersand: str
) -> None:
    value = around.format(form + ampersand)
    assert OwnAddress(f"{A}/user?id=7").out_of(value) == value


@pytest.mark.parametrize("behind", ["&quot;", "'", '"', ")", " ", ", ", ": ", "&lt;", "#top"])
def test_an_address_ends_where_no_other_one_goes_on(behind: str) -> None:
    found = OwnAddress(f"{A}/user?id=7").out_of(f"see /user?id=7{behind}")
    assert found == f"see \0self{behind}"


@pytest.mark.parametrize("behind", [";part", ",5", ":8", "~me", "+a", "!x", "@b"])
def test_an_address_that_goes_on_is_another_one(behind: str) -> None:
    value = f"see /user/7{behind}"
    assert OwnAddress(f"{A}/user/7").out_of(value) == value


@pytest.mark.parametrize("padding", ["=", "%3D", ",", "~", ""])
@pytest.mark.parametrize("name", ["x", "xx", "xx?"])
@pytest.mark.parametrize("around", ["/uenc/{}/product/1", "uenc={}&a=1"])
def test_an_address_in_base64_leaves_no_padding(name: str, padding: str, around: str) -> None:
    url = f"{A}/{name}"
    encoded = base64.urlsafe_b64encode(url.encode()).decode().replace("=", padding)
    assert OwnAddress(url).out_of(around.format(encoded)) == around.format("\0self")


@pytest.mark.parametrize(
    "value",
    [
        "/view/170",
        "/view/17?a=b",
        "/more/view/17?a=b c",
        "/view/17?a=b c/d",
        "17",
        f"{A}/",
        "http://b.example/view/17?a=b c",
        "",
    ],
)
def test_other_values_stay_as_they_are(value: str) -> None:
    assert OwnAddress(OWN).out_of(value) == value


@pytest.mark.parametrize("value", ["/view/17", f"{A}/view/17", "%2Fview%2F17", "\\/view\\/17"])
def test_a_copy_names_its_page_without_a_query(value: str) -> None:
    assert OwnAddress(OWN).out_of(f"go({value})") == "go(\0self)"
    assert OwnAddress(f"{A}/view/17").out_of(f"go({value})") == "go(\0self)"


@pytest.mark.parametrize(
    "value", [f"{A}/view/17", "/view/17", f"u={quote(f'{A}/view/17', safe='')}"]
)
@pytest.mark.parametrize("url", ["http://m.a.example/17", f"{A}/print/17"])
def test_a_copy_names_its_page_by_the_address_that_it_gives_as_its_own(
    url: str, value: str
) -> None:
    named = OwnAddress(url, f"{A}/view/17").out_of(value)
    assert named == OwnAddress(f"{A}/view/17").out_of(value)
    assert OwnAddress(url).out_of(value) == value


@pytest.mark.parametrize("url", [f"{A}/?p=17", f"{A}/?p=18&q=2"])
@pytest.mark.parametrize("value", ["/", f"{A}/", "a/b"])
def test_the_root_is_no_copy_s_name(url: str, value: str) -> None:
    assert OwnAddress(url, f"{A}/").out_of(value) == value


@pytest.mark.parametrize("value", ["/", "a/b", "and / or", f"{A}/other", "a.example"])
def test_the_root_is_named_by_its_whole_address_alone(value: str) -> None:
    assert OwnAddress(f"{A}/").out_of(value) == value
    assert OwnAddress(f"{A}/").out_of(f"at {A}/ now") == "at \0self now"


@pytest.mark.parametrize(
    ("address", "left"),
    [
        (f"{A}/q", "\0self"),
        (f"{A}/q?page=2", f"{A}/q?page=2"),
        (f"{A}/q/answers", f"{A}/q/answers"),
        (f"{A}/login?next=/q", f"{A}/login?next=\0self"),
        (f"http://b.example/?u={quote(f'{A}/q', safe='')}", "http://b.example/?u=\0self"),
        (f"http://b.example/?u={quote(f'{A}/q/1', safe='')}", None),
    ],
)
def test_an_address_without_the_page_s_own(address: str, left: str | None) -> None:
    assert OwnAddress(f"{A}/q").without(address) == (left or address)


@given(st.text(max_size=30), st.text(max_size=20))
def test_any_address_is_taken_out_of_any_value(path: str, around: str) -> None:
    own = OwnAddress(f"{A}/{path}")
    assert own.without(f"{A}/{path}") == "\0self"
    assert own.out_of(own.out_of(around)) == own.out_of(around)
