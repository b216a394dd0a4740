# What Cython needs to know of literals.py, which it compiles as it is.

cimport cython
from libc.stdint cimport uint64_t

from scrapy_simhash.hashes cimport add, mix

cdef int MAX_NESTING


cdef class Brackets:
    cdef public list before
    cdef list _parts, _are_lists, _sizes, _open, _around, _wholes, _names

    @cython.locals(last=int, character=cython.Py_UCS4, whole=uint64_t, is_ordered=bint, size=int)
    cpdef read(self, str code)
    @cython.locals(last=int, before=uint64_t)
    cpdef uint64_t add(self, uint64_t value) except? 0
    @cython.locals(bracket=int)
    cpdef int name(self, uint64_t value) except -1
    @cython.locals(whole=uint64_t, bracket=int, around=int, held=uint64_t)
    cpdef list wholes(self)
