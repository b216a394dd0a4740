from libc.stdint cimport uint64_t

cdef uint64_t _ONE, _OTHER, _THIRD, _MASK

cpdef uint64_t mix(uint64_t one, uint64_t other)
