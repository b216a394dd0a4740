# What Cython needs to know of own_values.py, which it compiles as it is.

cimport cython
from libc.stdint cimport uint64_t

from scrapy_simhash.analysis.frames cimport Frame
from scrapy_simhash.hashes cimport mix

cdef uint64_t _PLACE, _VALUE, _BESIDE_BIT, _NOWHERE


cdef class ValueRows:
    cdef readonly int count
    cdef readonly cython.ulonglong[::1] loose, ids
    cdef readonly int[::1] kinds, inside, named_at, first, last
    cdef int[::1] _chain_of, _bases
    cdef int _chains
    cdef readonly list smalls, held
    cdef list _lists, _longs, _texts, _places, _around, _begun
    cdef dict _counts

    @cython.locals(number=int)
    cpdef int chain(self, uint64_t value, int base) except -1
    @cython.locals(number=int)
    cpdef int begin(self, uint64_t value, int base) except -1
    @cython.locals(number=int)
    cpdef end_chains(self)
    cdef uint64_t _counted(self, uint64_t value) except? 0
    @cython.locals(counted=uint64_t)
    cpdef int emit(
        self, uint64_t value, uint64_t place, int kind, Frame frame, int at, int end
    ) except -2
    cpdef int note(
        self, uint64_t value, uint64_t place, int chain, int kind, Frame frame, int at, int end
    ) except -1
    @cython.locals(number=int)
    cpdef int add(
        self, uint64_t loose, int chain, int kind, int inside, int named_at, int at, int end
    ) except -1
    cdef _make_room(self)
    cpdef int note_long(
        self, int number, uint64_t value, uint64_t place, bint is_behind_small
    ) except -1
    cpdef end_long(self, int chain, int at, uint64_t value, bint is_before_small)
    cpdef uint64_t id_of(self, int number) except? 0


@cython.locals(
    loose=cython.ulonglong[::1], chain_of=cython.int[::1], ids=cython.ulonglong[::1],
    bases=cython.int[::1], number=int, chain=int, value=uint64_t, places=set,
    place=uint64_t, has_own=bytearray, is_combined=bint,
)
cpdef bytearray sort_out(list held, object template, object found)
@cython.locals(
    loose=cython.ulonglong[::1], chain_of=cython.int[::1], ids=cython.ulonglong[::1],
    chosen=cython.ulonglong[::1], chosen_loose=cython.ulonglong[::1],
    number=int, chain=int, count=int, is_whole=bint,
)
cdef _put(list held, bytearray is_own, bytearray kinds, int kind, tuple into)
@cython.locals(
    loose=cython.ulonglong[::1], chain_of=cython.int[::1], ids=cython.ulonglong[::1],
    first=cython.int[::1], number=int, chain=int, value=uint64_t, beside=uint64_t,
)
cdef _note_combinations(list held, object template, object found, bytearray kinds)
@cython.locals(
    loose=cython.ulonglong[::1], chain_of=cython.int[::1], ids=cython.ulonglong[::1],
    longs=cython.int[::1],
    texts=cython.ulonglong[::1], places=cython.ulonglong[::1], around=cython.schar[::1],
    at=int, number=int, side=int, rank=int, behind=int, ranks=int, flags=int, place=uint64_t,
    shape=uint64_t, first=dict, count=dict, may_be=int, most=int,
)
cdef _note_long_shapes(list held, object template, object found, bytearray is_own)
@cython.locals(
    loose=cython.ulonglong[::1], chain_of=cython.int[::1], ids=cython.ulonglong[::1],
    bases=cython.int[::1], smalls=cython.int[::1], bare=cython.ulonglong[::1],
    shape_of=cython.ulonglong[::1], at=int, number=int, chain=int, place=uint64_t,
    value=uint64_t,
)
cdef _note_small_shapes(
    list held, object template, object found, bytearray is_own, bytearray kinds
)
