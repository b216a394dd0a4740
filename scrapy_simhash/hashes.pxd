cimport cython
from libc.stdint cimport uint64_t

cdef uint64_t _ONE, _OTHER, _THIRD, _MASK, _PART
cdef int _CELLS

cpdef uint64_t long_hash_of(object text) except? 0
cpdef uint64_t mix(uint64_t one, uint64_t other)
cpdef uint64_t add(uint64_t one, uint64_t other)

@cython.locals(mixed=uint64_t, one=cython.uint, cell=cython.int, there=cython.int,
               count=cython.uchar,
               counts=cython.uchar[::1], sums=cython.uint[::1], checks=cython.uchar[::1])
cpdef object difference(object hashes, bytes table)

@cython.locals(mixed=uint64_t, one=cython.uint, part=cython.int, place=cython.int,
               counts=cython.uchar[::1], sums=cython.uint[::1], checks=cython.uchar[::1])
cdef object _add_all(object hashes, counts, sums, checks)
