"""The keys of an index: prefix, format, scheme, and the scope, by which a cluster shards.

::

    simhash:1:{@}:about                  the parameters of the index
    simhash:1:{@}:scopes, :crawls, :templates
    simhash:1:5d41402a:{a.example}:pages     the pages of a scope by id
    simhash:1:5d41402a:{a.example}:buckets   its tables, look-ups by request and text, counters

The part in braces (the hash tag) decides in which slot of a cluster a key is: so a script finds
both keys of one scope in one slot.  ``@`` is the tag of an index with only one scope.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from urllib.parse import quote

FORMAT = 1
# Not the quoted form of any scope.
GLOBAL_TAG = "@"
_ID_BITS = 32


@dataclass
class Scope:
    """The pages that are compared with each other: their keys, and what this process stored last.

    The id of a row is its number in the scope plus *base*, so ids of different scopes differ.
    *last* is the number of the youngest page that the server took from this process, 0 if none.
    *connections* is the number of connections up to the last check that this page is known.
    """

    name: str
    keys: tuple[str, str]
    last: int = 0
    connections: int = 0
    base: int = field(init=False)

    def __post_init__(self) -> None:
        digest = blake2b(self.name.encode(), digest_size=8).digest()
        self.base = int.from_bytes(digest, "big") << _ID_BITS if self.name else 0


def base_of(row_id: int) -> int:
    """Return the base of the scope to which the id of a row belongs."""
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
