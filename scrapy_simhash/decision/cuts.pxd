# What Cython needs to know of cuts.py, which it compiles as it is.

cimport cython
from libc.stdint cimport uint64_t

from scrapy_simhash.hashes cimport long_hash_of, mix

cpdef str decoded(str written)

@cython.locals(at=Py_ssize_t, start=Py_ssize_t, has_capital=bint, letter=Py_UCS4)
cdef list _may_be_encoded(str written)

cpdef uint64_t near_place(uint64_t wide, uint64_t before, uint64_t rank)
cpdef uint64_t wide_place(uint64_t place, str kind, str what)
cdef int _WHAT_BITS
