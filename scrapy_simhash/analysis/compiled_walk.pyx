# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: embedsignature=False
"""The walk of tree.py over the nodes of libxml2, with the same result.

lxml makes an object of each element that Python sees; this walk reads the nodes themselves, of a
tree that nobody changes meanwhile.  What is met is looked up by its bytes, and most pages of a site
make few objects of their own.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memcpy, strcmp, strlen
from lxml.includes.etreepublic cimport _Element, import_lxml__etree
from lxml.includes.tree cimport (
    XML_CDATA_SECTION_NODE,
    XML_ELEMENT_NODE,
    XML_TEXT_NODE,
    xmlAttr,
    xmlNode,
)

from scrapy_simhash.analysis import events as module
from scrapy_simhash.analysis.events cimport Element, Text, remember, remember_element

cdef dict known_elements = module.known_elements
cdef dict long_elements = module.long_elements
cdef dict known_texts = module.known_texts
cdef Py_ssize_t max_known = module.MAX_KNOWN

import_lxml__etree()


def events_of(_Element tree not None):
    """See ``tree.py``."""
    walk = Walk()
    walk.run(tree._c_node)
    return walk.events


cdef class Walk:
    """One walk: what was met, and the bytes of what is met now."""

    cdef readonly list events
    cdef unsigned char *bytes
    cdef size_t length, capacity
    cdef const xmlNode *hidden  # the outermost open element that hides what is in it

    def __cinit__(self):
        self.events = []

    def __dealloc__(self):
        PyMem_Free(self.bytes)

    cdef int run(self, xmlNode *root) except -1:
        cdef xmlNode *node = root
        while True:
            if node.type == XML_ELEMENT_NODE:
                self.open(node)
                if node.children != NULL:
                    node = node.children
                    continue
                self.close(node)
            elif is_text(node):
                self.length = 0
                self.put(node)
                while node != root and node.next != NULL and is_text(node.next):
                    node = node.next
                    self.put(node)
                if self.length:
                    self.say(node)
            while node != root and node.next == NULL:
                node = node.parent
                self.close(node)
            if node == root:
                return 0
            node = node.next

    cdef int open(self, const xmlNode *node) except -1:
        cdef const xmlAttr *held = node.properties
        cdef const xmlNode *piece
        cdef Element element
        self.length = 0
        self.append(<const char *>node.name)
        while held != NULL:
            self.append_nul()
            self.append(<const char *>held.name)
            self.append_nul()
            piece = held.children
            while piece != NULL:
                if is_text(piece):
                    self.put(piece)
                piece = piece.next
            held = held.next
        key = PyBytes_FromStringAndSize(<char *>self.bytes, self.length)
        known = known_elements if <Py_ssize_t>self.length <= max_known else long_elements
        found = (<dict>known).get(key)
        if found is None:
            parts = key.decode("utf-8").split("\0")
            found = Element(parts[0], tuple(parts[1:]))
            remember_element(key, self.length, found)
        element = found
        self.events.append(element)
        if element.hides and self.hidden == NULL:
            self.hidden = node
        return 0

    cdef int close(self, const xmlNode *node) except -1:
        self.events.append(None)
        if self.hidden == node:
            self.hidden = NULL
        return 0

    cdef int say(self, const xmlNode *node) except -1:
        """Take note of a text."""
        if is_code(node.parent):
            self.events.append(PyUnicode_DecodeUTF8(<char *>self.bytes, self.length, NULL))
            return 0
        if self.hidden != NULL:
            self.append_nul()  # no text has one
        key = PyBytes_FromStringAndSize(<char *>self.bytes, self.length)
        found = known_texts.get(key)
        if found is None:
            raw = key.decode("utf-8")
            if self.hidden != NULL:
                raw = raw.rstrip("\0")
                raw = raw if raw.isspace() else module.marked(raw)
            found = Text(raw)
            if <Py_ssize_t>self.length <= max_known:
                remember(known_texts, key, found, module.KNOWN)
        self.events.append(found)
        return 0

    cdef int put(self, const xmlNode *node) except -1:
        if node.content != NULL:
            self.append(<const char *>node.content)
        return 0

    cdef int append(self, const char *text) except -1:
        cdef size_t length = strlen(text)
        if self.length + length + 1 > self.capacity:
            capacity = 2 * (self.length + length + 1)
            found = PyMem_Realloc(self.bytes, capacity)
            if found == NULL:
                raise MemoryError
            self.bytes, self.capacity = <unsigned char *>found, capacity
        memcpy(self.bytes + self.length, text, length)
        self.length += length
        return 0

    cdef int append_nul(self) except -1:
        self.append("")  # makes room
        self.bytes[self.length] = 0
        self.length += 1
        return 0


cdef inline bint is_text(const xmlNode *node) noexcept:
    return node.type == XML_TEXT_NODE or node.type == XML_CDATA_SECTION_NODE


cdef inline bint is_code(const xmlNode *node) noexcept:
    """Whether what is in an element is a script, or rules of style."""
    cdef const char *name = <const char *>node.name
    return name != NULL and name[0] == c"s" and (
        strcmp(name, "script") == 0 or strcmp(name, "style") == 0
    )

