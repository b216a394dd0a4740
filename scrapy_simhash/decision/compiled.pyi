from collections.abc import Collection

from scrapy_simhash.decision.sketch import Overlap

class CompiledComparison:
    def __init__(self, own: bytes, template: Collection[int] = ()) -> None: ...
    def overlap(self, other: bytes) -> Overlap: ...
