# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: embedsignature=False
"""The walks of tree.py over the nodes of libxml2, with the same results.

lxml makes an object of each element that Python sees; these walks read the nodes themselves, of a
tree that nobody changes meanwhile.  libxml2 keeps each name of an element or attribute once for a
document, so what is known of a name is found by its address::

    <div class="x">a<a href="/">b</a></div>      node    what the walk does
                                                 div     the block before it ends
                                                 "a"     put into the buffer
                                                 a       an event with its attributes
                                                 "b"     put into the buffer, counted as linked
                                                 /div    the buffer becomes a block
"""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint64_t, uintptr_t
from libc.string cimport memcpy, strcmp, strlen, strstr
from lxml.includes.etreepublic cimport _Element, elementFactory, import_lxml__etree
from lxml.includes.tree cimport (
    XML_CDATA_SECTION_NODE,
    XML_ELEMENT_NODE,
    XML_TEXT_NODE,
    xmlAttr,
    xmlNode,
)

from scrapy_simhash.analysis import reading
from scrapy_simhash.analysis.fingerprint import hash_feature


cdef extern from "_murmur3.h":
    uint64_t murmur3_x64(const unsigned char *bytes, size_t length) noexcept nogil


cdef enum:
    BLOCK = 1
    UNSEEN = 2
    CONTENT = 4
    HEADING = 8
    LINK = 16
    BESIDE = 64
    NAV = 128
    NEVER_BESIDE_FLAG = 256
    MAIN = 1024
    HIDDEN = 2048
    DIALOG = 4096
    NOSCRIPT = 8192

    SLOTS = 1024  # for the names of one document
    TRIES = 8

cdef struct Open:
    const xmlNode *node
    Py_ssize_t section  # -1 if it has no block yet

cdef double link_share = reading.LINK_SHARE
cdef Py_ssize_t max_remembered = reading.MAX_REMEMBERED
cdef Py_ssize_t least_shown = reading.LEAST_SHOWN
cdef object Block = reading.Block
cdef object Outline = reading.Outline
cdef object Walked = reading.Walked
cdef object new_tuple = tuple.__new__

import_lxml__etree()


def walk(_Element tree not None, bint with_events):
    """See ``tree.py``."""
    walker = Walk()
    walker.with_events = with_events
    walker.run(tree._c_node)
    return walker.read()


def hidden_in(_Element tree not None, is_hiding):
    """Return the outermost elements that are hidden: see ``tree.py``."""
    cdef Names names = Names()
    cdef xmlNode *root = tree._c_node
    cdef xmlNode *node = root
    found = []
    while node != NULL:
        if node.type == XML_ELEMENT_NODE and is_hidden(node, names.flags_of(node.name), is_hiding):
            found.append(elementFactory(tree._doc, node))
            node = after(node, root)
        else:
            node = following(node, root)
    return found


def has_text(_Element tree not None, const char *text):
    """Whether a text is part of one of the texts in a tree, given in UTF-8."""
    cdef xmlNode *node = tree._c_node
    while node != NULL:
        if is_text(node) and node.content != NULL and strstr(<char *>node.content, text) != NULL:
            return True
        node = following(node, tree._c_node)
    return False


cdef class Walk:
    """One walk: what is open, the text of the block so far, and what was found."""

    cdef Names names
    cdef bint with_events
    cdef list blocks, other_blocks  # shown, in noscript; in noscript, the other way round
    cdef list places, other_places
    cdef Py_ssize_t shown, other_shown
    cdef bint in_other
    cdef list events, sections
    cdef Open *open_ones  # the open block-level elements, outermost first
    cdef Py_ssize_t depth, most_open
    cdef int links, contents, headings
    cdef const xmlNode *beside  # the outermost open element of this kind, and of the next
    cdef const xmlNode *unseen
    cdef const xmlNode *unscripted

    cdef dict bare  # the events of elements without attributes, by tag

    cdef unsigned char *text
    cdef size_t length, capacity
    cdef Py_ssize_t in_links

    def __cinit__(self):
        self.names = Names()
        self.blocks, self.other_blocks, self.places, self.other_places = [], [], [], []
        self.events, self.sections, self.bare = [], [(-1, "")], {}

    def __dealloc__(self):
        PyMem_Free(self.text)
        PyMem_Free(self.open_ones)

    cdef int run(self, xmlNode *root) except -1:
        cdef xmlNode *node = root
        while True:
            if node.type == XML_ELEMENT_NODE:
                self.open(node)
                if node.children != NULL:
                    node = node.children
                    continue
                self.close(node)
            elif is_text(node) and node.content != NULL:
                if self.with_events:
                    self.events.append(decoded(node))
                if self.unseen == NULL and (self.unscripted == NULL or self.is_of_other(node)):
                    self.say(node)
            while node != root and node.next == NULL:
                node = node.parent
                self.close(node)
            if node == root:
                break
            node = node.next
        self.finish()
        return 0

    cdef int open(self, const xmlNode *node) except -1:
        cdef int flags = self.names.flags_of(node.name)
        if flags & BLOCK:
            self.finish()
            self.contents += (flags & CONTENT) != 0
            self.headings += (flags & HEADING) != 0
            if self.beside == NULL and self.begins_beside(node, flags):
                self.beside = node
            self.enter(node)
        elif flags & LINK:
            self.links += 1
        if self.unseen == NULL and flags & UNSEEN:
            if flags & NOSCRIPT and self.unscripted == NULL:
                self.unscripted = node
            else:
                self.unseen = node
        if self.with_events:
            self.begin(node)
        return 0

    cdef int close(self, const xmlNode *node) except -1:
        cdef int flags = self.names.flags_of(node.name)
        if flags & BLOCK:
            self.finish()
            self.contents -= (flags & CONTENT) != 0
            self.headings -= (flags & HEADING) != 0
            self.depth -= 1
        elif flags & LINK:
            self.links -= 1
        if self.with_events:
            self.events.append(None)
        if self.beside == node:
            self.beside = NULL
        if self.unseen == node:
            self.unseen = NULL
        if self.unscripted == node:
            if self.in_other:
                self.change_sides()
            self.unscripted = NULL
        return 0

    cdef int enter(self, const xmlNode *node) except -1:
        """Note that a block-level element is open."""
        if self.depth == self.most_open:
            most = 2 * self.most_open + 64
            found = PyMem_Realloc(self.open_ones, most * sizeof(Open))
            if found == NULL:
                raise MemoryError
            self.open_ones, self.most_open = <Open *>found, most
        self.open_ones[self.depth] = Open(node, -1)
        self.depth += 1
        return 0

    cdef Py_ssize_t section(self) except -1:
        """Return the number of the innermost open section; number those that have none."""
        cdef Py_ssize_t at = self.depth, number = 0
        while at > 0 and self.open_ones[at - 1].section < 0:
            at -= 1
        if at > 0:
            number = self.open_ones[at - 1].section
        for at in range(at, self.depth):
            names = names_of(self.open_ones[at].node)[:max_remembered]
            self.sections.append((number, names))
            number = self.open_ones[at].section = len(self.sections) - 1
        return number

    cdef bint is_of_other(self, const xmlNode *node) except -1:
        """Whether a text in noscript counts there: not white space before all other text."""
        cdef const unsigned char *text = node.content
        if not self.in_other:
            while is_space(text[0]):
                text += 1
            if not text[0] or decoded(node).isspace():
                return False
            self.change_sides()
        return True

    cdef int change_sides(self) except -1:
        self.finish()
        self.blocks, self.other_blocks = self.other_blocks, self.blocks
        self.places, self.other_places = self.other_places, self.places
        self.shown, self.other_shown = self.other_shown, self.shown
        self.in_other = not self.in_other
        return 0

    cdef read(self):
        """Return what was read, when the walk is over."""
        cdef bint is_other = self.shown < least_shown <= self.other_shown
        blocks = self.other_blocks if is_other else self.blocks
        places = self.other_places if is_other else self.places
        return Walked(blocks, self.events, Outline(self.sections, places))

    cdef int say(self, const xmlNode *node) except -1:
        """Put a text into the buffer."""
        cdef const unsigned char *text = node.content
        cdef size_t length = strlen(<const char *>text), i
        cdef Py_ssize_t spaces = 0
        cdef unsigned char bits = 0
        for i in range(length):
            bits |= text[i]
            spaces += is_space(text[i])
        if not self.length and <size_t>spaces == length:
            return 0
        if self.length + length > self.capacity:
            capacity = 2 * (self.length + length)
            buffer = PyMem_Realloc(self.text, capacity)
            if buffer == NULL:
                raise MemoryError
            self.text, self.capacity = <unsigned char *>buffer, capacity
        memcpy(self.text + self.length, text, length)
        self.length += length
        if self.links:
            if bits < 0x80:
                self.in_links += <Py_ssize_t>length - spaces
            else:
                self.in_links += len("".join(decoded(node).split()))
        return 0

    cdef int finish(self) except -1:
        """Make the text in the buffer a block, with one space between two words."""
        cdef size_t i, at = 0, words = 0
        cdef unsigned char character, bits = 0
        cdef bint in_word = False
        cdef Py_ssize_t shown
        cdef uint64_t number
        if not self.length:
            return 0
        for i in range(self.length):
            bits |= self.text[i]
        if bits < 0x80:
            for i in range(self.length):
                character = self.text[i]
                if is_space(character):
                    in_word = False
                    continue
                if not in_word:
                    if words:
                        self.text[at] = 32
                        at += 1
                    words += 1
                    in_word = True
                self.text[at] = character
                at += 1
            text = PyUnicode_DecodeUTF8(<char *>self.text, at, NULL)
            shown = at + 1 - words
            number = murmur3_x64(self.text, at) if at else 0
        else:
            text = PyUnicode_DecodeUTF8(<char *>self.text, self.length, NULL)
            text = " ".join(text.split())
            shown = len(text) - text.count(" ")
            number = hash_feature(text)
        if text:
            is_links = self.in_links >= link_share * shown
            block = text, number, self.beside != NULL, is_links, self.headings > 0
            self.blocks.append(new_tuple(Block, block))
            self.places.append((self.section(), self.in_links / <double>shown))
            self.shown += shown
        self.length = 0
        self.in_links = 0
        return 0

    cdef bint begins_beside(self, const xmlNode *node, int flags) except -1:
        """Whether a block-level element begins what is beside the content."""
        cdef const xmlNode *below
        if flags & BESIDE:
            return not self.contents or flags & NAV
        if flags & NEVER_BESIDE_FLAG or node.properties == NULL:
            return False
        cdef const xmlAttr *role = attribute(node, "role")
        if role != NULL and value_of(role) in reading.BESIDE_ROLES:
            return True
        names = f"{value_of(attribute(node, 'class'))} {value_of(attribute(node, 'id'))}"
        is_named = (
            reading.is_named_beside_in_content if self.contents else reading.is_named_beside
        )
        if names == " " or not is_named(names):
            return False
        below = following(<xmlNode *>node, node)
        while below != NULL:
            if below.type == XML_ELEMENT_NODE and (
                self.names.flags_of(below.name) & (HEADING | MAIN)
            ):
                return False
            below = following(<xmlNode *>below, node)
        return True

    cdef int begin(self, const xmlNode *node) except -1:
        """Note that an element begins, with its attributes."""
        cdef const xmlAttr *held = node.properties
        cdef str tag = text_of(node.name)
        if held == NULL:
            event = self.bare.get(tag)
            if event is None:
                event = self.bare[tag] = (tag, ())
            self.events.append(event)
            return 0
        attributes = []
        while held != NULL:
            attributes.append(text_of(held.name))
            attributes.append(value_of(held))
            held = held.next
        self.events.append((tag, tuple(attributes)))
        return 0


cdef inline bint is_space(unsigned char character) noexcept:
    """Whether Python's ``str.split`` takes an ASCII character for white space."""
    return character == 32 or 9 <= character <= 13 or 28 <= character <= 31


include "compiled_nodes.pxi"
