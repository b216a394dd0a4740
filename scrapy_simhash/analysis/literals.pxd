# What Cython needs to know of literals.py, which it compiles as it is.

cimport cython
from libc.stdint cimport uint64_t

from scrapy_simhash.hashes cimport add, mix

cdef int MAX_NESTING, _MAX_NAME


@cython.locals(
    character=cython.Py_UCS4, before=cython.Py_UCS4, name=str, found=list, at=Py_ssize_t,
    since=Py_ssize_t, end=Py_ssize_t, after=Py_ssize_t, word=Py_ssize_t,
)
cpdef list literals(str code)
cdef Py_ssize_t _past_spaces(str code, Py_ssize_t at) except -1
cdef bint _is_of_word(cython.Py_UCS4 character, cython.Py_UCS4 also) except -1
cdef Py_ssize_t _end_of_word(str code, Py_ssize_t at, cython.Py_UCS4 also) except -1
@cython.locals(quote=cython.Py_UCS4)
cdef Py_ssize_t _end_of_string(str code, Py_ssize_t at) except -1
@cython.locals(first=cython.Py_UCS4)
cdef Py_ssize_t _behind_name(str code, Py_ssize_t at, Py_ssize_t word) except -1
cdef Py_ssize_t _end_of_number(str code, Py_ssize_t at, Py_ssize_t word) except -1
cdef Py_ssize_t _end_of_truth(str code, Py_ssize_t at, Py_ssize_t word) except -1


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
