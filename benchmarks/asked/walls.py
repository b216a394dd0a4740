"""Pages that stand in for others: the form of a session that has ended, a captcha, a refusal.

Of sessions, captcha and consent, several requests are under way at once: how many of them meet the
wall depends on time.
"""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlsplit

import scrapy
from reach.pages import page
from scrapy.downloadermiddlewares.retry import get_retry_request

from asked.scenario import (
    TOGETHER,
    Scenario,
    Start,
    h1,
    links,
    product_item,
    products,
    rng,
    text,
    title,
)
from asked.server import Answer, Asked, moved, welcome


def members(
    asked: Asked, ends: tuple[int, ...] = (30, 65), after: str = "", names_page: bool = True
) -> str | Answer:
    """90 pages for members; the session ends with each page of a number in *ends*.

    After the form is sent comes a page of thanks, the address *after*, or the page asked for.
    """
    counts = asked.counts
    if asked.path == "/":
        return page("Members", text("members") + links(["/login?next=/members"]))
    if asked.path == "/login" and asked.is_post:
        cookie = f"sid={asked.times('sessions')}; Path=/"
        if after:
            return moved(asked.form["next"] if after == "next" else after, cookie)
        return welcome("Welcome", cookie)
    if asked.path == "/login":
        asked_for = f"<input type=hidden name=next value='{asked.query['next']}'>"
        fields = "<input name=user><input name=password type=password><button>Sign in</button>"
        form = f"<form method=post action=/login>{asked_for if names_page else ''}{fields}</form>"
        return page("Sign in", f"<p>Please sign in to see this page.</p>{form}")
    if int(asked.cookies.get("sid", 0)) <= counts["ended"]:
        return moved(f"/login?next={asked.url}")
    if asked.path == "/members":
        return page("All members", links(f"/member/{i}" for i in range(90)))
    if asked.path == "/account":
        return page("Your account", "<p>You are signed in.</p>" + links(["/members"]))
    if asked.times("served") in ends:
        counts["ended"] = counts["sessions"]
    return page(title("member", asked.number), text("member", asked.number))


class Members(Start):
    """Signs in where the form comes, and asks again for the page, unless the site leads there."""

    leads_back = False

    def parse(self, response: Any) -> Any:
        yield response.follow("/login?next=/members", self.parse_login)

    def sign_in(self, response: Any, callback: Any, **carried: Any) -> scrapy.FormRequest:
        return scrapy.FormRequest.from_response(
            response,
            formdata={"user": "one", "password": "x"},
            callback=callback,
            cb_kwargs=carried,
            dont_filter=True,
        )

    def parse_login(self, response: Any) -> Any:
        yield self.sign_in(response, self.parse_members if self.leads_back else self.signed_in)

    def signed_in(self, response: Any) -> Any:
        yield response.follow("/members", self.parse_members)

    def parse_members(self, response: Any) -> Any:
        yield from response.follow_all(css="main a", callback=self.parse_member)

    def parse_member(self, response: Any) -> Any:
        if not response.css("form"):
            yield {"member": h1(response)}
        elif self.leads_back:
            yield self.sign_in(response, self.parse_member)
        else:
            yield self.sign_in(response, self.again, url=response.meta["redirect_urls"][0])

    def again(self, response: Any, url: str) -> Any:
        yield scrapy.Request(url, self.parse_member, dont_filter=True)


def captcha(asked: Asked) -> str | Answer:
    """A shop that shows a captcha after each 25 pages until it is solved."""
    if asked.path == "/solve":
        asked.counts["served"] = 0
        return page("Thank you", "<p>You can go on now.</p>")
    if asked.path != "/" and asked.times("served") > 25:
        form = "<form method=post action=/solve><input name=letters><button>Go on</button></form>"
        return page("Are you a robot?", f"<p>Type the letters that you see.</p>{form}")
    return products(asked, 90)


def consent(asked: Asked) -> str | Answer:
    """A shop that asks for consent until the session has sent the form."""
    if asked.path == "/solve":
        return welcome("Thank you", "consent=yes; Path=/")
    if asked.path != "/" and not asked.cookies:
        back = f"<input type=hidden name=back value='{asked.url}'><button>Accept all</button>"
        form = f"<form method=post action=/solve>{back}</form>"
        return page("Before you go on", f"<p>We use cookies.</p>{form}")
    return products(asked)


class Solving(Start):
    """Sends the form of a wall, then asks again."""

    def parse(self, response: Any) -> Any:
        yield from response.follow_all(css="main a", callback=self.parse_product, dont_filter=True)

    def parse_product(self, response: Any) -> Any:
        if not response.css("form"):
            yield product_item(response)
            return
        yield scrapy.FormRequest.from_response(
            response,
            callback=self.solved,
            cb_kwargs={"request": response.request},
            dont_filter=True,
        )

    def solved(self, response: Any, request: scrapy.Request) -> Any:
        yield request.replace(dont_filter=True)


def blocking(asked: Asked, names_page: bool = False, incident: bool = False) -> str:
    """A shop that refuses every third product twice, with the status 200."""
    if asked.path == "/" or asked.number % 3 != 1 or asked.times(asked.path) > 2:
        return products(asked)
    told = f"<p>You have asked for {asked.url}.</p>" if names_page else ""
    if incident:
        number = rng(asked.path, asked.counts[asked.path]).getrandbits(64)
        told += f"<p>Incident {number:016x}.</p>"
    return page("Access denied", f"<p>This looks like a program.</p>{told}{text('why blocked')}")


class Refused(Start):
    """Asks again for what was refused, in one of three ways, or notes it."""

    then = ""

    def parse_page(self, response: Any, at: int = 1) -> Any:
        if "denied" not in h1(response):
            yield product_item(response)
        elif self.then == "address":
            yield response.follow(f"?_cb={at}", self.parse_page, cb_kwargs={"at": at + 1})
        elif self.then == "retry":
            yield get_retry_request(response.request, spider=self, reason="x", max_retry_times=5)
        elif self.then == "replace":
            yield response.request.replace(dont_filter=True)
        else:
            yield {"refused": urlsplit(response.url).path}


def refused(about: str, then: str, **wall: Any) -> Scenario:
    return Scenario(about, partial(blocking, **wall), Refused, {"then": then})


def session(about: str, leads_back: bool = False, **site: Any) -> Scenario:
    args = {"leads_back": leads_back}
    return Scenario(about, partial(members, **site), Members, args, TOGETHER)


SCENARIOS = {
    "session/twice": session("a session that ends twice in 90 pages"),
    "session/three-times": session(
        "three times; the form does not name the page", ends=(20, 45, 70), names_page=False
    ),
    "session/account": session("twice; the form leads to one page", after="/account"),
    "session/back": session("twice; the form leads to the page", leads_back=True, after="next"),
    "wall/captcha": Scenario("a captcha after each 25 pages", captcha, Solving, {}, TOGETHER),
    "wall/consent": Scenario("consent before the first page", consent, Solving, {}, TOGETHER),
    "wall/address": refused("refused twice; again with another address", "address"),
    "wall/retry": refused("the same; again by get_retry_request", "retry"),
    "wall/noted": refused("the same; noted as an item", "note"),
    "wall/incident": refused("a wall with an id; asked again", "replace", incident=True),
    "wall/named": refused("a wall that names the page; other address", "address", names_page=True),
    "wall/named-noted": refused("with an id, too; noted", "note", names_page=True, incident=True),
}
