"""The keys of an index: prefix, format, scheme, and the scope, which a cluster shards by.

::

    simhash:1:{@}:about                  what the index was built for
    simhash:1:{@}:scopes, :crawls, :templates
    simhash:1:5d41402a:{a.example}:pages     the pages of a scope by id
    simhash:1:5d41402a:{a.example}:buckets   its tables, what finds a page, and its counters

What stands in braces (the hash tag) decides in which slot of a cluster a key is: a script touches
the two keys of one scope.  ``@`` stands for the scope of an index that has but one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from urllib.parse import quote

FORMAT = 1
# No scope is quoted to this.
GLOBAL_TAG = "@"
_ID_BITS = 32


@dataclass
class Scope:
    """The pages that are compared with each other: their keys, and what was last heard of them.

    The id of a row is its number in the scope plus *base*, so that ids differ in all scopes.
    *last* is the id and request of the youngest page that the server took from this process, and
    *connections* how many there had been when that was last looked for.
    """

    name: str
    keys: tuple[str, str]
    last: tuple[bytes, bytes] | None = None
    connections: int = 0
    base: int = field(init=False)

    def __post_init__(self) -> None:
        digest = blake2b(self.name.encode(), digest_size=8).digest()
        self.base = int.from_bytes(digest, "big") << _ID_BITS if self.name else 0


def base_of(row_id: int) -> int:
    """Return the base of the scope that the id of a row belongs to."""
    return row_id >> _ID_BITS << _ID_BITS


@dataclass(frozen=True)
class Keys:
    """The keys of an index."""

    prefix: str
    scheme: str

    def of_index(self, part: str) -> str:
        return f"{self.prefix}:{FORMAT}:{{{GLOBAL_TAG}}}:{part}"

    def scope(self, name: str) -> Scope:
        """Return a scope of the index."""
        scheme = blake2b(self.scheme.encode(), digest_size=4).hexdigest()
        start = f"{self.prefix}:{FORMAT}:{scheme}:{{{quote(name, safe='') or GLOBAL_TAG}}}"
        return Scope(name, (f"{start}:pages", f"{start}:buckets"))
