# What Cython needs to know of comparison.py, which it compiles as it is.

cimport cython

cdef int HEAD_BYTES, HIDDEN, NO_LIMIT, WORD_BYTES


cdef class Comparison:
    cdef bytes _own
    cdef frozenset _template
    cdef set _samples
    cdef list _in_order, _hidden
    cdef int _limit

    @cython.locals(
        limit=int, its_limit=int, one=int, two=int, common=int, common_hidden=int, compared=int,
    )
    cpdef overlap(self, bytes other)
    @cython.locals(
        counts=bint, count=int, common=int, hidden=int, highest=int, at=int, end=int, behind=int,
        sample=int,
    )
    cdef (int, int, int, int) _read(self, bytes stored, int most, bint is_own)
