from lxml.html import HtmlElement

from scrapy_simhash.analysis.blocks import Event

def events_of(tree: HtmlElement) -> list[Event]: ...
