# What Cython needs to know of known_addresses.py, which it compiles as it is.

cimport cython
from libc.stdint cimport uint64_t

cdef int _WAYS


cdef class KnownAddresses:
    cdef uint64_t _lines
    cdef uint64_t[::1] _slots

    @cython.locals(value=uint64_t, start=uint64_t, at=uint64_t, end=uint64_t)
    cpdef add_hashes(self, hashes)
    @cython.locals(value=uint64_t, start=uint64_t, way=int)
    cpdef remove(self, address)
    @cython.locals(value=uint64_t)
    cpdef missing(self, addresses)
    @cython.locals(at=uint64_t, end=uint64_t)
    cpdef bint has(self, uint64_t value)
