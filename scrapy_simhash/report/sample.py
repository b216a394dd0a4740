"""A sample of all pages, which shows the pages that a rule would have lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from scrapy_simhash.rule.hashes import hash_of
from scrapy_simhash.url_rules.rule import AddressRule
from scrapy_simhash.urls import MAX_URL, Address

# With addresses of 100 bytes the sample takes about 3 MB.
SAMPLED_PAGES = 10_000
# At most this many pages of one slug: a site may end all its paths in the same way.
PAGES_OF_A_SLUG = 100
EXAMPLES = 3


@dataclass
class Evidence:
    """What the sample says about a rule.

    The rule takes some pages for others.  *same* of them had the text of one of those, and
    *different* had another text, which would have been lost.  *examples* are pages with another
    text, each with the page that it is taken for.
    """

    same: int = 0
    different: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)


class PageSample:
    """Judged pages, each with the text that it was found to have.

    The addresses of one page mostly share their slug (the last segment of the path).  Pages are
    sampled by the hash of their slug, so those with one slug are all kept or all left out, and
    what is true of the sample is true of the crawl.  Up to *limit* pages, all are kept.
    """

    def __init__(self, limit: int = SAMPLED_PAGES) -> None:
        self.limit = limit
        self.level = 0
        self.size = 0
        self._texts: dict[str, dict[str, int]] = {}

    def add(self, slug: str, url: str, kept_url: str) -> None:
        """Note that the page at *url* has the text of the page at *kept_url*; O(1), amortised."""
        if not self._takes(slug) or len(url) > MAX_URL:
            return
        texts = self._texts.setdefault(slug, {})
        if url not in texts:
            if len(texts) >= PAGES_OF_A_SLUG:
                return
            self.size += 1
        texts[url] = hash_of(kept_url)
        while self.size > self.limit and self.level < 32:
            self._thin()

    @property
    def share(self) -> float:
        """The share of all slugs that the sample holds."""
        return 1 / (1 << self.level)

    def evidence(self, rules: Iterable[AddressRule]) -> dict[AddressRule, Evidence]:
        """Test each rule against the sample; O(rules x pages sampled)."""
        found = {rule: Evidence() for rule in rules}
        by_host: dict[str, list[AddressRule]] = defaultdict(list)
        for rule in found:
            by_host[rule.host].append(rule)
        for texts in self._texts.values():
            pages = [(url, Address.of(url), text) for url, text in texts.items()]
            for host in {page.host for _, page, _ in pages}:
                for rule in by_host.get(host, ()):
                    _test(rule, pages, found[rule])
        return found

    def _takes(self, slug: str) -> bool:
        return not hash_of(slug) & ((1 << self.level) - 1)

    def _thin(self) -> None:
        """Remove about half of the slugs."""
        self.level += 1
        self._texts = {slug: texts for slug, texts in self._texts.items() if self._takes(slug)}
        self.size = sum(map(len, self._texts.values()))


def _test(rule: AddressRule, pages: list[tuple[str, Address, int]], evidence: Evidence) -> None:
    """Compare the texts of pages that *rule* makes one, and count them in *evidence*."""
    for (first_url, first_text), *others in _made_one(rule, pages):
        texts = {first_text}
        for url, text in others:
            if text in texts:
                evidence.same += 1
            else:
                texts.add(text)
                evidence.different += 1
                if len(evidence.examples) < EXAMPLES:
                    evidence.examples.append((url, first_url))


def _made_one(
    rule: AddressRule, pages: list[tuple[str, Address, int]]
) -> Iterator[list[tuple[str, int]]]:
    """Yield the groups of pages that *rule* makes one; the page to prefer comes first."""
    groups: dict[Address, list[tuple[str, int]]] = defaultdict(list)
    concerned: set[Address] = set()
    for url, address, text in pages:
        preferred = rule.applied(address)
        if preferred is None:
            groups[address].insert(0, (url, text))
        else:
            concerned.add(preferred)
            groups[preferred].append((url, text))
    for address in concerned:
        if len(groups[address]) > 1:
            yield groups[address]
