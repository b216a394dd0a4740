"""What a request carries to its callback: an item begun in a listing, a rank, a row, a count."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import scrapy
from itemadapter import ItemAdapter
from reach.pages import page, prose
from scrapy.loader import ItemLoader

from asked.scenario import Scenario, Start, h1, links, rng, text, title
from asked.server import Answer, Asked, moved


def cars(asked: Asked, to: str = "/car") -> str | Answer:
    """70 cars in two listings; the pages of 45 have the same text."""
    match asked.path.split("/")[1:]:
        case [""]:
            return page("Used cars", text("cars") + links(["/cars/0", "/cars/1"]))
        case ["cars", at]:
            rows = "".join(
                f"<tr><td class=name>{title('car', i)}</td><td class=price>{1000 + i * 37} EUR</td>"
                f"<td><a href='{to}/{i}'>details</a></td></tr>"
                for i in range(int(at) * 35, int(at) * 35 + 35)
            )
            return page(f"Cars, part {at}", f"<table>{rows}</table>")
        case ["go", number]:
            return moved(f"/car/{number}")
    is_known = asked.number % 14 < 5
    equipment = prose(("car", asked.number), 30) if is_known else "Not entered yet. Please call."
    return page("Details", f"<p class=equipment>{equipment}</p>{text('how to buy')}")


class Car(scrapy.Item):
    name = scrapy.Field()
    price = scrapy.Field()
    equipment = scrapy.Field()


@dataclass
class CarData:
    name: str
    price: str
    equipment: str = ""


class Cars(Start):
    """Begins an item in the listing and ends it on the page of the car."""

    how = ""

    def parse(self, response: Any) -> Any:
        self.out = tempfile.TemporaryFile("w")  # noqa: SIM115 - open as long as the spider is
        yield from response.follow_all(
            css="main a", callback=self.parse_list, meta=response.meta if self.how == "copy" else {}
        )

    def parse_list(self, response: Any) -> Any:
        for row in response.css("tr"):
            begun = {name: row.css(f".{name}::text").get() for name in ("name", "price")}
            yield response.follow(row.css("a")[0], **self.carrying(begun, row, response))

    def carrying(self, begun: dict[str, str], row: Any, response: Any) -> dict[str, Any]:
        """Return what a request gets beside its address."""
        match self.how:
            case "meta":
                return {"callback": self.parse_meta, "meta": {"item": begun}}
            case "copy":  # of all that is in meta: the depth, the decision, the redirects
                return {"callback": self.parse_meta, "meta": {**response.meta, "item": begun}}
            case "item":
                return {"callback": self.parse_item, "cb_kwargs": {"car": Car(**begun)}}
            case "dataclass":
                return {"callback": self.parse_item, "cb_kwargs": {"car": CarData(**begun)}}
            case "loader":
                loader = ItemLoader(item=Car(), selector=row)
                loader.add_css("name", ".name::text")
                loader.add_css("price", ".price::text")
                return {"callback": self.parse_loader, "meta": {"loader": loader}}
            case "rank":
                rank = f"{response.url[-1]}/{len(row.xpath('preceding-sibling::tr'))}"
                return {"callback": self.parse_car, "cb_kwargs": {"rank": rank}}
            case "lambda":
                return {"callback": lambda response: self.parse_car(response, **begun)}
            case "partial":
                return {"callback": partial(self.parse_car, **begun)}
            case "objects":  # that cannot be hashed or pickled
                carried = {"row": row, "listing": response, "out": self.out}
                return {"callback": self.parse_objects, "cb_kwargs": carried}

        def parse_row(response: Any) -> Any:
            yield from self.parse_car(response, **begun)

        return {"callback": parse_row}

    def parse_car(self, response: Any, **begun: str) -> Any:
        yield {**begun, "equipment": response.css(".equipment::text").get()}

    def parse_meta(self, response: Any) -> Any:
        yield from self.parse_car(response, **response.meta["item"])

    def parse_item(self, response: Any, car: Any) -> Any:
        ItemAdapter(car)["equipment"] = response.css(".equipment::text").get()
        yield car

    def parse_loader(self, response: Any) -> Any:
        response.meta["loader"].add_value("equipment", response.css(".equipment::text").get())
        yield response.meta["loader"].load_item()

    def parse_objects(self, response: Any, row: Any, listing: Any, out: Any) -> Any:
        out.write(row.css(".price::text").get())
        yield from self.parse_car(response, name=row.css(".name::text").get(), of=h1(listing))


def register(asked: Asked) -> str:
    """A search with a form; most answers are the same."""
    if asked.path == "/":
        return page("Trade marks", text("marks") + "<form action=/find><input name=mark></form>")
    mark = asked.query["mark"]
    is_found = rng(mark).random() < 0.35
    return page("Result", f"<p class=mark>{mark}</p>" if is_found else "<p>No results.</p>")


class LookUps(Start):
    """Looks up the rows of a table."""

    def parse(self, response: Any) -> Any:
        for i in range(80):
            row = {"number": str(i), "mark": f"mark{i}"}
            yield scrapy.FormRequest.from_response(
                response, formdata={"mark": row["mark"]}, callback=self.parse_found, cb_kwargs=row
            )

    def parse_found(self, response: Any, **row: Any) -> Any:
        yield {**row, "is_found": bool(response.css(".mark"))}


def forum(asked: Asked) -> str:
    """25 sections of up to three pages; the pages after them are the same for all."""
    if asked.path == "/":
        return page("Forum", links(f"/section/{i}" for i in range(25)))
    at = int(asked.query.get("page", 1))
    if at > 1 + asked.number % 3:
        return page("Forum", "<p>There are no more entries.</p>")
    entries = (prose((asked.number, at, i), 15) for i in range(8))
    return page("Forum", "".join(f"<p class=entry>{entry}</p>" for entry in entries))


class UntilEmpty(Start):
    """Counts entries in what the request carries, until a page has none."""

    def parse(self, response: Any) -> Any:
        for a in response.css("main a"):
            carried = {"section": a.css("::text").get(), "at": 1, "entries": 0}
            yield response.follow(a, self.parse_section, cb_kwargs=carried)

    def parse_section(self, response: Any, section: str, at: int, entries: int) -> Any:
        if found := len(response.css(".entry")):
            carried = {"section": section, "at": at + 1, "entries": entries + found}
            yield response.follow(f"?page={at + 1}", self.parse_section, cb_kwargs=carried)
        else:
            yield {"section": section, "entries": entries}


def archive(asked: Asked) -> Answer:
    """30 pages with one text; the next one is in a header."""
    at = int(asked.query.get("page", 1))
    headers = {"Link": f'</?page={at + 1}>; rel="next", </>; rel="first"'} if at < 30 else {}
    return Answer(page("Archive", "<p>This document is not transcribed yet.</p>"), 200, headers)


class LinkHeader(Start):
    def parse(self, response: Any) -> Any:
        yield {"page": urlsplit(response.url).query}
        if found := re.search(r'<([^>]+)>; rel="next"', response.headers.get("Link", b"").decode()):
            yield response.follow(found[1])


def tags(asked: Asked) -> str:
    """20 tags whose first pages are the same; every second one has the same older entries."""
    match asked.path.split("/")[1:]:
        case [""]:
            return page("Tags", links(f"/tag/{i}/" for i in range(20)))
        case ["tag", _, ""]:
            return page("Tag", "<p>Nothing in this week.</p><a class=older href=older>older</a>")
        case ["tag", number, "older"]:
            own = int(number) if int(number) % 2 else 0
            return page(
                "Tag", "".join(f"<p class=entry>{prose((own, i), 12)}</p>" for i in "abcde")
            )
    return ""


class Tags(Start):
    def parse(self, response: Any) -> Any:
        for tag in response.css("main p a"):
            carried = {"tag": tag.attrib["href"]}
            yield response.follow(tag, self.parse_tag, cb_kwargs=carried)

    def parse_tag(self, response: Any, tag: str) -> Any:
        for entry in response.css(".entry::text").getall():
            yield {"tag": tag, "entry": entry}
        yield from response.follow_all(
            css="a.older", callback=self.parse_tag, cb_kwargs={"tag": tag}
        )


CARS = {
    "meta": "a dict in meta",
    "item": "a scrapy.Item in cb_kwargs",
    "dataclass": "a dataclass in cb_kwargs",
    "loader": "an ItemLoader in meta",
    "rank": "its rank alone in cb_kwargs",
    "lambda": "a lambda as callback",
    "partial": "a functools.partial as callback",
    "closure": "an inner function as callback",
    "objects": "a Selector, a Response and an open file in cb_kwargs",
}
SCENARIOS = {
    **{
        f"begun/{how}": Scenario(f"an item begun in the listing: {what}", cars, Cars, {"how": how})
        for how, what in CARS.items()
    },
    "begun/copy": Scenario(
        "the same: all of meta copied, over redirects",
        partial(cars, to="/go"),
        Cars,
        {"how": "copy"},
    ),
    "carried/look-ups": Scenario("80 look-ups, most without a result", register, LookUps),
    "carried/until-empty": Scenario("pages until 'no more', 25 sections", forum, UntilEmpty),
    "carried/link-header": Scenario(
        "the next page in a header alone; one text", archive, LinkHeader, known="address"
    ),
    "carried/flag": Scenario(
        "links of flagged pages, for each tag", tags, Tags, settings={"SIMHASH_ACTION": "flag"}
    ),
}
