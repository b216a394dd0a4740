# cython: annotation_typing=False, boundscheck=False, initializedcheck=False
"""What a walk over a page meets, in order: elements, texts, code, and the ends of elements.

::

    <p class="a">Oak <b>39</b></p>        Element p, Text "Oak ", Element b, Text "39", None, None
    <script>a = 1</script>                Element script, "a = 1", None

An :class:`Element` is a tag with its attributes, a :class:`Text` what is between two tags.
Whatever follows from one alone is worked out once.  The pages of a site have most of them in
common, so short ones are remembered (:data:`KNOWN`).

Each word that a page holds but does not show, by its own markup, gets a mark, so that it is another
word than the same one where it is shown.  Hidden text therefore never equals shown text: a page
that hides the text of another page does not stand for it, and a page with another hidden tab is
another page.  What a stylesheet or a script hides is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from itertools import filterfalse
from typing import Any, TypeVar
from urllib.parse import unquote, urljoin

import regex
from lxml.html import defs

from scrapy_simhash.analysis.features import TOKEN
from scrapy_simhash.decision.cuts import decoded
from scrapy_simhash.hashes import long_hash_of, mix

T = TypeVar("T")

# The combining grapheme joiner: a mark that is not seen, that is part of a token, and that no
# normal form changes (Unicode 15, section 23.2).
MARK = "\u034f"

# Elements that begin a new block: lxml's list, and the elements that HTML 5 added.
BLOCK_ELEMENTS = defs.block_tags - {"del", "ins"} | {
    *("article", "aside", "body", "br", "button", "details", "dialog", "figcaption", "figure"),
    *("footer", "header", "hgroup", "html", "main", "nav", "section", "select", "summary"),
}
# Elements whose text is not shown on the page.
UNSEEN_ELEMENTS = frozenset(
    {"head", "iframe", "math", "noscript", "object", "script", "style", "svg"}
)
# What a browser shows instead of the text in these, or only a script opens.
HIDDEN_ELEMENTS = frozenset(
    {"audio", "canvas", "datalist", "noembed", "noframes", "template", "video"}
)
# Elements whose text is code.
CODE_ELEMENTS = frozenset({"script", "style"})
WHOLE_PAGE = frozenset({"body", "html"})

# Elements that are beside the content, unless they are inside a content element and no menus.
BESIDE_ELEMENTS = frozenset({"aside", "footer", "header", "nav"})
CONTENT_ELEMENTS = frozenset({"article", "main"})
NEVER_BESIDE = CONTENT_ELEMENTS | WHOLE_PAGE
NAV_ROLES = frozenset({"navigation", "search"})
BESIDE_ROLES = frozenset({"banner", "complementary", "contentinfo"}) | NAV_ROLES
# Class names and ids that live sites give to such elements; "-" and "_" are ignored.
BESIDE_NAMES = frozenset(
    {
        *("ad", "ads", "advert", "advertisement", "advertising", "banner", "breadcrumb"),
        *("breadcrumbs", "cookie", "cookies", "footer", "masthead", "menu", "nav", "navbar"),
        *("navfooter", "navheader", "navigation", "newsletter", "pagination", "promo", "related"),
        *("sidebar", "social", "sponsor", "sponsored", "toolbar", "topbar"),
    }
)

# Elements and texts that are remembered, and how long they may be, in characters or bytes: at most
# 30 MB of each.
KNOWN = 20_000
MAX_KNOWN = 300
# The same of longer elements, such as pictures in many sizes: at most 20 MB.
KNOWN_LONG = 2_000
MAX_KNOWN_LONG = 2_000
# Names of elements that are remembered: the pages of a site have the same ones.  Longer ones are
# not; of an outline's names, this much counts: to read half a million words of a class took 3 s.
KNOWN_NAMES = 5_000
MAX_REMEMBERED = 200
# Values of "style" that are remembered.
KNOWN_STYLES = 1_000

# All browsers and servers accept URLs of up to about this length (RFC 9110, section 4.1, asks for
# 8,000 bytes).  A longer one is not a real address, and is ignored.
MAX_ADDRESS = 8_000
# Of a name that tells where an element is.
MAX_NAME = 100

# Attributes that name an element for other elements of its page, or change without a meaning;
# docs/values.md has the reasons.
NEVER = frozenset(
    {
        *("aria-controls", "aria-describedby", "aria-labelledby", "aria-owns", "for", "headers"),
        *("id", "integrity", "nonce"),
    }
)
# Attributes of an element that tell which one it is, for its place and those in it; for its own.
NAMES = ("class", "id", "role")
_NAMING = ("name", "property", "itemprop", "rel", "http-equiv")
_ADDRESSES = frozenset(
    {
        *("action", "background", "cite", "data", "formaction", "href", "longdesc", "manifest"),
        *("ping", "poster", "src", "srcset", "imagesrcset"),
    }
)
_LISTS = frozenset({"srcset", "imagesrcset", "ping"})
_SHOWN = frozenset({"src", "srcset", "imagesrcset", "poster", "data", "background"})

# Of a link in a head that leads to another page.
LINK_RELATIONS = frozenset(
    {
        *("contents", "copyright", "first", "glossary", "help", "home", "index"),
        *("last", "next", "prev", "previous", "search", "start", "top", "up"),
    }
)
# What a link in a head leads to: to another page, to a part of this one, to this one.
_RELATIONS = (
    ("link", LINK_RELATIONS),
    (
        "media",
        frozenset({"icon", "manifest", "modulepreload", "prefetch", "preload", "stylesheet"}),
    ),
    ("name", frozenset({"canonical"})),
)
LINKING = frozenset({"a", "area", "link"})

# What of an attribute counts: the value as it is, the addresses in it, both, or that there is one.
VALUE, ADDRESS, STYLE, FRAGMENT = range(4)

# Not "url( )", and not "url(#shape)", which is a part of the page.
_STYLE_ADDRESS = re.compile(r"""url\(\s*["']?\s*([^"')\s#][^"')]*)""")
# Addresses of characters that mean nothing but themselves, as urljoin reads them; without "//" and
# "/.", relative ones have nothing in them that it leaves out.
is_plain = re.compile(r"(?![.?])[A-Za-z0-9/_~%&=+:,@!$*()?.-]+(?<!\?)").fullmatch
is_whole = re.compile(r"https?://[A-Za-z0-9/_~%&=+:,@!$*()?.-]+(?<!\?)").fullmatch

# How an address begins that is whole, or is one from the host on.
_STARTS = ("http://", "https://", "/")
# A file that a page may lead to or show, by a name that is relative to it.
_is_file = re.compile(
    r"""(?:[\w.~%@+-]+/)*[\w.~%@+-]+\.(?:
    [sx]?html? | php\d? | aspx? | jsp | cfm | cgi | pdf | docx? | xlsx? | pptx? | od[tsp] | epub
    | csv | json | xml | txt | zip | jpe?g | png | gif | webp | avif | svg | bmp | tiff?
    | mp[34] | m4[av] | og[gv] | wav | webm | mov | avi
    )(?:[?#]\S*)?""",
    re.IGNORECASE | re.VERBOSE,
).fullmatch
# What these say is for a reader, or a name.
_NO_FILES = frozenset({"alt", "aria-label", "class", "download", "id", "label", "name", "title"})

_SEPARATORS = re.compile(r"[^a-z0-9]+")
_JOINERS = re.compile(r"[-_]+")
# "has-sidebar" says what an element has, not what it is.
_PROPERTIES = re.compile(r"\b(?:has|no|with|without)[-_]\S*")
# An article has a footer of its own, as with the elements.
_PARTS_OF_CONTENT = re.compile(r"banner|footer", re.IGNORECASE)
# A name with a digit, from its beginning on, so that a long one is read once.
_NUMBERED = re.compile(r"(?<!\S)[^\s0-9]*[0-9]\S*")

# A comment that is not closed runs to the end (CSS Syntax, section 4.3.2).
_NO_CHARACTERS = re.compile(r"/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)|\s+")
_ZERO = r"(?:0+(?:\.0*)?|\.0+)(?:%|[a-z]+)?(?=[;!]|\Z)"
# Far outside of the page: 1,000 pixels, or 100 of a larger unit.  Layouts move by less.
_FAR = r"-(?:\d{4,}|999|\d{3}(?:\.\d+)?(?:%|r?em|ch|ex|v[wh]|in|cm|pc))"
_HIDING = re.compile(
    rf"""(?<![^;])(?:
    display:none | (?:content-)?visibility:(?:hidden|collapse) | (?:opacity|font-size):{_ZERO}
    | (?:text-indent|left|right|top|bottom|margin(?:-left|-right|-top)?):{_FAR}
    | transform:[^;]*(?:scale(?:3d|[xy])?\(0[,)]|translate(?:3d|[xy])?\({_FAR})
    | clip:rect\((?:[01](?:px)?,?){{4}}\) | clip-path:(?:inset\((?:50|100)%|circle\(0)
    )""",
    re.VERBOSE,
)
_NO_OVERFLOW = re.compile(r"(?<![^;])overflow(?:-[xy])?:(?:hidden|clip)")
_NO_SIZE = re.compile(rf"(?<![^;])(?:max-)?(?:height|width):(?:1px|{_ZERO})")

_MAIL = "/cdn-cgi/l/email-protection#"

# Tokens, and words that have none.
_MARKED = regex.compile(rf"{TOKEN}|(?<!\S)[^\s\p{{L}}\p{{M}}\p{{N}}]++(?!\S)", regex.V1)
# What a parser lets through, but no text may be set to (XML 1.0, section 2.2).
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def remembering(most: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Return a decorator by which a function remembers what it said of the last *most* texts."""

    def decorated(function: Callable[[str], T]) -> Callable[[str], T]:
        known = lru_cache(most)(function)

        @wraps(function)
        def remembered(text: str) -> T:
            return known(text) if len(text) <= MAX_REMEMBERED else function(text)

        return remembered

    return decorated


@remembering(KNOWN_NAMES)
def is_named_beside(names: str) -> bool:
    """Whether one of the names in a class or id is that of something beside the content."""
    return bool(_beside_names(names))


@remembering(KNOWN_NAMES)
def is_named_menu(names: str) -> bool:
    """Whether they are those of a menu: of links, or of a restaurant."""
    return _beside_names(names) == {"menu"}


def _beside_names(names: str) -> frozenset[str]:
    names = _PROPERTIES.sub("", names.lower())
    whole = _JOINERS.sub("", names).split()
    return BESIDE_NAMES.intersection([*whole, *_SEPARATORS.split(names)])


@remembering(KNOWN_NAMES)
def is_named_beside_in_content(names: str) -> bool:
    """Say the same of an element within a ``main`` or ``article``, which has parts of its own."""
    return is_named_beside(names) and is_named_beside(_PARTS_OF_CONTENT.sub("", names))


@remembering(KNOWN_NAMES)
def without_digits(names: str) -> str:
    """Return the names in a class, id and role that have no digit: the others number things."""
    if names.isascii():
        return " ".join(_NUMBERED.sub("", names).split())
    return " ".join(word for word in names.split() if not any(map(str.isdigit, word)))


@remembering(KNOWN_NAMES)
def hash_without_numbers(text: str) -> int:
    """Return a hash of a text without its digits: the links to pages 7 and 8 are called alike."""
    return long_hash_of("".join(filterfalse(str.isdigit, text)).strip())


@remembering(KNOWN_STYLES)
def is_hiding(style: str) -> bool:
    """Whether the value of a ``style`` attribute hides the text of its element.

    >>> is_hiding("position: absolute; left: -9999px"), is_hiding("color: red")
    (True, False)
    """
    style = _NO_CHARACTERS.sub("", style.lower())
    if _HIDING.search(style):
        return True
    return _NO_OVERFLOW.search(style) is not None and _NO_SIZE.search(style) is not None


def marked(text: str) -> str:
    """Return a text with the mark at the end of each token, and of each word that has none."""
    return _MARKED.sub(rf"\g<0>{MARK}", _NOT_XML.sub(" ", text))


def style_addresses(style: str) -> list[str]:
    """Return the addresses in rules of style."""
    return [*map(str.rstrip, _STYLE_ADDRESS.findall(style))] if "url(" in style else []


# Of the addresses in a list, for what width or pixels each is.
_IS_SIZE = re.compile(r"\d[\d.]*[hwx]")
_SIZE = re.compile(rf"\s({_IS_SIZE.pattern})\b")
_BROWSER_SPACES = " \t\n\f\r"
_SPACES = re.compile(rf"[{_BROWSER_SPACES}]+")
_WIDE_SPACE = re.compile(r"[^\S \t\n\f\r]")


class Text:
    """A text between two tags, with one space between two words.

    *number* is a hash of it (with the spaces that a browser shows), *exact* one of the *raw* text,
    *size* its bytes in UTF-8, *shown* its characters that are no spaces.  *begins_apart* and
    *ends_apart*: a space is between it and the text before, and behind it.  A text of spaces alone
    is empty; *is_wide*: several of them are of other widths, as in a bar of no-break spaces.
    """

    def __init__(self, raw: str) -> None:
        self.text = text = " ".join(raw.split())
        # A browser shows several spaces as one, but for those of other widths.
        is_plain = raw.isascii() or not _WIDE_SPACE.search(raw)
        self.is_wide = not text and not is_plain and len(raw.strip(_BROWSER_SPACES)) > 1
        self.number = long_hash_of(text if is_plain else _SPACES.sub(" ", raw).strip(" "))
        self.raw = raw
        self.exact = self.number if raw == text else long_hash_of(raw)
        self.shown = len(text) - text.count(" ")
        self.size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        self.begins_apart = raw[:1].isspace()
        self.ends_apart = raw[-1:].isspace()


class Tag:
    """What is known of the elements of one name; *number* is a hash of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.number = long_hash_of(name)
        self.is_block = name in BLOCK_ELEMENTS
        self.is_unseen = name in UNSEEN_ELEMENTS
        self.is_noscript = name == "noscript"
        self.is_hidden = name in HIDDEN_ELEMENTS
        self.is_code = name in CODE_ELEMENTS
        self.is_content = name in CONTENT_ELEMENTS
        self.is_main = name == "main"
        self.is_beside = name in BESIDE_ELEMENTS
        self.is_nav = name == "nav"
        self.is_never_beside = name in NEVER_BESIDE
        self.is_head = name == "head"
        self.is_root = name == "html"
        self.is_meta = name == "meta"
        self.is_anchor = name == "a"
        self.is_first_heading = name == "h1"
        self.is_heading = name in ("h1", "h2", "h3", "h4", "h5", "h6")
        self.is_free = name in ("article", "li", "option", "tr")
        self.is_ordered = name == "ol"
        self.is_row = name == "tr"
        # What they hold has no order.
        self.is_apart = name in ("head", "html")
        self.is_link = name == "link"
        self.is_linking = name in LINKING
        self.is_form = name == "form"
        self.is_select = name == "select"
        self.is_control = name in ("input", "option")
        # Without attributes and content, it says nothing: an anchor, code, what code replaces.
        self.is_nothing = name in ("a", "script", "style", "template", "noscript")
        # Spaces count in it.
        self.is_spaced = name in ("pre", "textarea")


_tag = lru_cache(KNOWN_NAMES)(Tag)


class Element:
    """The beginning of an element: its tag, and its attributes, names and values in turn.

    *hides*: the page does not show the text in it.  What :meth:`read` finds is for the values of a
    page (values.py):

    - *names* are those that it has, without numbers; *called* is what tells it from others of its
      tag; of both, hashes (*names_number* is 0 if there are none);
    - *shown* is all of it that counts, with a mark for each address, and *number* a hash of it, 0
      if nothing counts: both hold on a page where all its addresses are some, none is cut, and
      nothing in *words* names the page;
    - *shape* is a hash of its names, and of those of its attributes, with which of these are empty;
    - *fields* are (name, value, form) of each attribute that counts, *written* (name, kind,
      address, hash) of each address, the hash 0 if what it leads to is up to the page; *leads*: an
      address is where a link leads to, or that of a style sheet (*is_style*).
    """

    def __init__(self, tag: str, attributes: tuple[str, ...]) -> None:
        self.kind = kind = _tag(tag)
        self.attributes = attributes
        self.is_read = False
        self.hides = kind.is_hidden or (tag == "dialog" and "open" not in attributes[::2])
        self.is_beside_by_role = self.is_nav_by_role = False
        self.class_names = self._outline = ""
        self.names = self.called = self.shown = self.words = self.control = ""
        self.names_number = self.called_number = self.number = self.shape = self._call = 0
        self.leads = self.is_style = False
        self.is_get = tag == "form"
        self.link_kind = "link"
        self.fields: tuple[tuple[str, str, int], ...] = ()
        self.written: tuple[tuple[str, str, str, int], ...] = ()
        if attributes:
            self._look_at(attributes)

    def _look_at(self, attributes: tuple[str, ...]) -> None:
        class_, id_ = "", ""
        for at in range(0, len(attributes), 2):
            name, value = attributes[at], attributes[at + 1]
            if name == "class":
                class_ = value
            elif name == "id":
                id_ = value
            elif name == "role":
                self.is_beside_by_role = value in BESIDE_ROLES
                self.is_nav_by_role = value in NAV_ROLES
            elif name == "hidden" or (name == "style" and is_hiding(value)):
                self.hides = True
        if class_ or id_:
            self.class_names = f"{class_} {id_}"

    def outline(self) -> str:
        """Return the tag, class and id, with a space between two, up to a length."""
        if not self._outline:
            self._outline = f"{self.kind.name} {self.class_names or ' '}"[:MAX_REMEMBERED]
        return self._outline

    def is_named_beside(self, in_content: bool) -> bool:
        """Whether its names are those of something beside the content."""
        if not self.class_names:
            return False
        if in_content:
            return is_named_beside_in_content(self.class_names)
        return is_named_beside(self.class_names)

    def held(self) -> dict[str, str]:
        """Return its attributes by their names."""
        attributes = self.attributes
        return dict(zip(attributes[::2], attributes[1::2], strict=True))

    def call(self) -> int:
        """Return a hash of what it is named; of a value with a number, its attribute alone."""
        if not self._call:
            if not self.is_read:
                self.read()
            call = mix(self.names_number, self.called_number)
            for name, value, form in self.fields:
                if form == VALUE:
                    has_number = any(map(str.isdigit, value))
                    call = mix(call, long_hash_of(name if has_number else f"{name}={value}"))
            self._call = call
        return self._call

    def read(self) -> None:
        """Find what counts of it; see above."""
        self.is_read = True
        tag = self.called = self.kind.name
        self.called_number = self.kind.number
        if not self.attributes:
            return
        held = self.held()
        self._name(tag, held)
        if self.kind.is_form:
            self.is_get = held.get("method", "get").lower() == "get"
        elif self.kind.is_link:
            self.link_kind = kind_of_link(held.get("rel", ""))
            self.is_style = "stylesheet" in held.get("rel", "").lower().split()
        elif self.kind.is_select:
            self.control = held.get("name", "")
        fields: list[tuple[str, str, int]] = []
        self._written: list[tuple[str, str, str, int]] = []
        if tag == "meta" and ("charset" in held or says_encoding(held.get("http-equiv", ""))):
            held = {}  # the text counts as it was read
        for name, value in held.items():
            if _counts(tag, name):
                value = decoded(_with_mail(name, value.strip()))
                fields.append((name, value, self._form_of(name, value)))
        self.fields, self.written = tuple(fields), tuple(self._written)
        self.words = "\0".join([value for _, value, form in fields if form in (VALUE, STYLE)])
        # An empty value is one of a title: "Choose a size".
        shapes = [name if value else f"{name}=" for name, value, _ in fields]
        if shapes or self.names:
            self.shape = long_hash_of(" ".join((self.names, *shapes)))
        self.shown = shown_of(tag, [told(*field) for field in fields])
        self.number = long_hash_of(self.shown) if self.shown else 0

    def _name(self, tag: str, held: dict[str, str]) -> None:
        if tag not in WHOLE_PAGE:
            names = " ".join([held[name] for name in NAMES if name in held])
            if names and (names := without_digits(names)):
                self.names = f"{tag} {names}"
                self.names_number = long_hash_of(self.names)
        for name in _NAMING:
            if name in held:
                self.called = f"{tag} {held[name][:MAX_NAME]}"
                self.called_number = long_hash_of(self.called)
                break

    def _form_of(self, name: str, value: str) -> int:
        """Return what of an attribute counts, and take note of the addresses in it."""
        if name in _LISTS and "data:" not in value:
            form = ADDRESS if value else VALUE
            for one in value.split() if name == "ping" else value.replace(",", " , ").split(" , "):
                address, *sizes = one.split() or [""]
                if not address:
                    continue
                if not self._write(name, address) or not all(map(_IS_SIZE.fullmatch, sizes)):
                    form = VALUE
            return form
        if name in _ADDRESSES or value.startswith(_STARTS):
            if value.startswith("#"):
                is_route = value.startswith(("#/", "#!"))
                if name == "href" and self.kind.is_linking and not is_route and len(value) > 1:
                    return FRAGMENT
            elif " " not in value and self._write(name, value):
                if name == "href" and self.kind.is_linking:
                    self.leads = not self.kind.is_link or self.link_kind == "link" or self.is_style
                return ADDRESS
        elif name == "style" and "url(" in value:
            for one in style_addresses(value):
                self._write(name, one)
            return STYLE
        elif is_address(name, value) and self._write(name, value):
            return STYLE  # a form may send it as it is
        return VALUE

    def _write(self, name: str, written: str) -> bool:
        """Take note of an address; return whether it is one, on a page of http or https.

        Of a picture, what follows ``#`` says which one it is.
        """
        if name == "href" and self.kind.is_linking:
            written = without_fragment(written)
        if len(written) > MAX_ADDRESS or not leads_to_page(written):
            return False
        kind = self.link_kind if name == "href" else "media" if name in _SHOWN else "data"
        number = long_hash_of(written) if is_whole(written) else 0
        self._written.append((name, kind, written, number))
        return True


def kind_of_link(rel: str) -> str:
    """Return the kind of what a link in a head leads to."""
    words = set(rel.lower().split())
    for kind, relations in _RELATIONS:
        if words & relations:
            return kind
    return "data"


def says_encoding(http_equiv: str) -> bool:
    """Whether a meta element with such an attribute says how the bytes of its page are read."""
    return http_equiv.lower() == "content-type"


def _counts(tag: str, name: str) -> bool:
    """Whether an attribute counts: see :data:`NEVER`.  Those of components are properties."""
    if name in NEVER:
        return "-" in tag and name in ("id", "for")
    return not (name == "name" and tag == "a")


def _with_mail(name: str, value: str) -> str:
    """Return a value, or the address of mail that it is, which some encode anew at each visit.

    Of what Cloudflare writes, the first byte is the key to all others.
    """
    if value.startswith("mailto:"):
        return unquote(value)
    encoded = value if name == "data-cfemail" else ""
    if value.startswith(_MAIL):
        encoded = value.removeprefix(_MAIL)
    if not encoded:
        return value
    try:
        key, *others = bytes.fromhex(encoded)
        return "mailto:" + bytes(byte ^ key for byte in others).decode()
    except ValueError:
        return value


def told(name: str, value: str, form: int) -> str:
    """Return what counts of an attribute, as it is hashed and shown."""
    if form == ADDRESS:
        sizes = _SIZE.findall(value) if name in _LISTS else ()
        return " ".join((f"{name}=\0address", *sizes))
    if form == FRAGMENT:
        return f"{name}=\0fragment"
    return f"{name}={value}" if value else name


def shown_of(tag: str, fields: list[str]) -> str:
    """Return an element with what counts of its attributes; empty if nothing does."""
    if len(fields) > 1:
        fields.sort()
    return f"<{tag} {' '.join(fields)}>" if fields else ""


def without_fragment(written: str) -> str:
    """Return an address without what leads to a place on its page.

    Routes of applications (``#/offer/7``) are no places, and neither are values on other pages
    (``/#map=15/52.5/13.4``).
    """
    start, _, place = written.partition("#")
    counts = place.startswith(("/", "!")) or ("=" in place and start)
    return written if counts else start.rstrip()


def is_address(name: str, value: str) -> bool:
    """Whether the value of a name is an address: whole, from the host on, or that of a file.

    >>> is_address("data-of", "/a"), is_address("data-src", "pictures/7.jpg")
    (True, True)
    >>> is_address("data-of", "item.price"), is_address("alt", "7.jpg")
    (False, False)
    """
    if value.startswith(_STARTS):
        return " " not in value
    return "." in value and name not in _NO_FILES and _is_file(value) is not None


def leads_to_page(written: str) -> bool:
    """Whether an address on a page of http or https is one of these, too."""
    if not written:
        return False
    # To join takes 10 us: nothing that is relative is refused, if it cannot be a wrong host.
    if ":" not in written and "[" not in written and "]" not in written and written.isascii():
        return True
    if is_whole(written):
        return True
    try:
        return urljoin("http://a/", written).startswith(("http://", "https://"))
    except ValueError:  # no address at all
        return False


known_elements: dict[Any, Element] = {}
long_elements: dict[Any, Element] = {}
known_texts: dict[Any, Text] = {}


def element_of(tag: str, attributes: tuple[str, ...]) -> Element:
    """Return an element, the same one for the same attributes unless they are long."""
    key = tag, attributes
    size = sum(map(len, attributes))
    found = (known_elements if size <= MAX_KNOWN else long_elements).get(key)
    if found is None:
        found = Element(tag, attributes)
        remember_element(key, size, found)
    return found


def text_of(raw: str, is_hidden: bool) -> Text:
    """Return a text, the same one for the same characters if they are few."""
    key = raw, is_hidden
    found = known_texts.get(key)
    if found is None:
        found = Text(marked(raw) if is_hidden and not raw.isspace() else raw)
        if len(raw) <= MAX_KNOWN:
            remember(known_texts, key, found, KNOWN)
    return found


def remember_element(key: object, size: int, found: Element) -> None:
    """Remember an element of a size, unless it is too long."""
    if size <= MAX_KNOWN:
        remember(known_elements, key, found, KNOWN)
    elif size <= MAX_KNOWN_LONG:
        remember(long_elements, key, found, KNOWN_LONG)


def remember(known: dict[Any, Any], key: object, found: object, most: int) -> None:
    """Remember what follows from something; of *most*, forget all."""
    if len(known) >= most:
        known.clear()
    known[key] = found
