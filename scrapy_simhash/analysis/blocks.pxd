# What Cython needs to know of blocks.py, which it compiles as it is.

cimport cython

from scrapy_simhash.analysis.events cimport Element, Tag, Text
from scrapy_simhash.hashes cimport long_hash_of


cdef class _BlockReader:
    cdef list events, blocks, places, other_blocks, other_places, open, numbers, texts
    cdef readonly list sections
    cdef Py_ssize_t shown, other_shown, in_links
    cdef int links, contents, headings, beside, unseen, noscript
    cdef bint in_other

    cpdef read(self)
    cpdef tuple chosen(self)
    @cython.locals(kind=Tag, depth=int)
    cdef _open(self, Element element, int at)
    @cython.locals(kind=Tag, depth=int, element=Element)
    cdef _close(self)
    @cython.locals(kind=Tag)
    cdef bint _begins_beside(self, Element element, int at) except -1
    @cython.locals(
        found=Element, text=Text, depth=int, number=int, link=int, shown=Py_ssize_t, linked=Py_ssize_t
    )
    cdef bint _holds_content(self, Element element, int at) except -1
    cdef _say(self, Text text)
    cdef _change_sides(self)
    @cython.locals(first=Text, one=Text, shown=Py_ssize_t, is_apart=bint)
    cdef _finish(self)
    @cython.locals(at=int, inner=int, number=int, element=Element)
    cdef int _section(self) except -1
