"""Who asks: accounts, languages and countries, whose pages are the same in part."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import urlsplit

import scrapy
from reach.pages import page

from asked.scenario import Scenario, Start, h1, links, rng, text, title
from asked.server import Answer, Asked, moved, welcome

ACCOUNTS = tuple(f"u{i}" for i in range(10))


def bank(asked: Asked) -> str | Answer:
    """Five pages of an account: two are near those of others, most others are the same."""
    if asked.path == "/":
        names = ("overview", "card", "orders", "messages", "limits")
        return page("Bank", text("bank") + links(f"/{name}" for name in names))
    if asked.path == "/sign-in":
        return welcome("Hello", f"token={asked.query['as']}; Path=/")
    bearer = asked.headers.get("Authorization", "").removeprefix("Bearer ")
    account = bearer or asked.headers.get("X-Api-Key") or asked.cookies.get("token", "")
    number = int(account[1:])
    own = {
        "/overview": f"Your balance is {rng(number // 3).randint(1, 5)}00 euros.",
        "/card": f"Your card ends in {rng('card', number).randint(1000, 9999)}.",
        "/orders": "None." if number % 4 else title("order", number),
    }
    shown = own.get(asked.path, "There is nothing new.")
    return page(asked.path[1:], f"<p class=own>{shown}</p>{text(asked.path)}")


def museum(asked: Asked) -> str | Answer:
    """20 objects in the language of the request; every third is not translated."""
    if asked.path == "/":
        return page("Museum", links(f"/object/{i}" for i in range(20)))
    language = "en" if asked.number % 3 == 0 else asked.headers["Accept-Language"]
    headers = {"Vary": "Accept-Language", "Content-Language": language}
    body = page(title(language, asked.number), text(language, asked.number))
    return Answer(body, headers=headers)


def abroad(asked: Asked) -> str:
    """15 products; the price depends on the country of the proxy's user, and is often the same."""
    if asked.path == "/":
        return page("Shop", links(f"/p/{i}" for i in range(15)))
    user = base64.b64decode(asked.headers["Proxy-Authorization"].removeprefix("Basic ")).decode()
    price = asked.number + (rng(user, asked.number).random() < 0.3)
    own = f"<p class=own>{price}.90</p>"
    return page(title("product", asked.number), own + text("product", asked.number))


class Asking(Start):
    """Asks for each page as each of *who*; the request alone says as whom."""

    who: tuple[str, ...] = ACCOUNTS
    header = ""
    before = ""

    def parse(self, response: Any) -> Any:
        for who in self.who:
            yield from response.follow_all(
                css="main a", callback=self.parse_page, dont_filter=True, **self.asks(who)
            )

    def asks(self, who: str) -> dict[str, Any]:
        return {"headers": {self.header: self.before + who}}

    def asker(self, request: scrapy.Request) -> str:
        value = request.headers[self.header]
        assert value is not None
        return value.decode().removeprefix(self.before)

    def parse_page(self, response: Any) -> Any:
        yield {
            "who": self.asker(response.request),
            "page": urlsplit(response.url).path,
            "title": h1(response),
            "own": response.css(".own::text").get(),
        }


class ByCookies(Asking):
    def asks(self, who: str) -> dict[str, Any]:
        meta = {"dont_merge_cookies": True}
        return {"cookies": {"token": who}, "headers": {"Cookie": f"token={who}"}, "meta": meta}

    def asker(self, request: scrapy.Request) -> str:
        assert isinstance(request.cookies, dict)
        return str(request.cookies["token"])


class ByJar(Asking):
    def parse(self, response: Any) -> Any:
        for who in self.who:
            carried = {"bank": response}
            url = f"/sign-in?as={who}"
            yield response.follow(url, self.signed_in, cb_kwargs=carried, **self.asks(who))

    def signed_in(self, response: Any, bank: Any) -> Any:
        yield from bank.follow_all(
            css="main a",
            callback=self.parse_page,
            dont_filter=True,
            **self.asks(self.asker(response.request)),
        )

    def asks(self, who: str) -> dict[str, Any]:
        return {"meta": {"cookiejar": who}}

    def asker(self, request: scrapy.Request) -> str:
        return str(request.meta["cookiejar"])


class ByProxy(Asking):
    def asks(self, who: str) -> dict[str, Any]:
        proxy = self.base.replace("http://", f"http://customer-{who}:password@")
        return {"meta": {"proxy": proxy, "country": who}}

    def asker(self, request: scrapy.Request) -> str:
        return str(request.meta["country"])


def companies(asked: Asked) -> str | Answer:
    """A search by a form, which leads to one address; most answers are the same."""
    if asked.path == "/":
        return page("Register", "<form method=post action=/search><input name=q></form>")
    if asked.is_post:
        return moved("/results", f"q={asked.form['q']}; Path=/", 303)
    is_found = rng(asked.cookies["q"]).random() < 0.3
    found = f"<p class=own>{title(asked.cookies['q'])}</p>"
    return page("Results", found if is_found else "<p>Your search had no matches.</p>")


class Companies(Start):
    """40 searches, each in a session of its own, or one after the other in one session."""

    one_session = False

    def parse(self, response: Any) -> Any:
        for i in range(1 if self.one_session else 40):
            yield self.search(response, i)

    def search(self, form: Any, i: int) -> scrapy.FormRequest:
        return scrapy.FormRequest.from_response(
            form,
            formdata={"q": f"firm{i}"},
            callback=self.parse_results,
            meta={} if self.one_session else {"cookiejar": i},
            cb_kwargs={"form": form, "i": i},
            dont_filter=True,
        )

    def parse_results(self, response: Any, form: Any, i: int) -> Any:
        yield {"search": i, "own": response.css(".own::text").get()}
        if self.one_session and i < 39:
            yield self.search(form, i + 1)


HEADERS = {
    "authorization": ("Authorization", "Bearer "),
    "api-key": ("X-Api-Key", ""),
    "cookie-header": ("Cookie", "lang=en; token="),
}
SCENARIOS = {
    **{
        f"accounts/{name}": Scenario(
            f"ten accounts by a header: {header}",
            bank,
            Asking,
            {"header": header, "before": before},
            {"COOKIES_ENABLED": False},
        )
        for name, (header, before) in HEADERS.items()
    },
    "accounts/cookies": Scenario("ten accounts by Request(cookies=...)", bank, ByCookies),
    "accounts/cookiejar": Scenario("ten accounts by meta cookiejar", bank, ByJar),
    "asker/language": Scenario(
        "four languages by Accept-Language",
        museum,
        Asking,
        {"who": ("en", "de", "fr", "es"), "header": "Accept-Language"},
    ),
    "asker/proxy": Scenario(
        "four countries by meta proxy", abroad, ByProxy, {"who": ("de", "fr", "pl", "us")}
    ),
    "asker/sessions": Scenario("40 POST that lead to one address", companies, Companies),
    "asker/one-session": Scenario(
        "the same, one after the other in a session", companies, Companies, {"one_session": True}
    ),
}
