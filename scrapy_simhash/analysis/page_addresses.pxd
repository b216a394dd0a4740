# What Cython needs to know of page_addresses.py, which it compiles as it is.

cimport cython
from libc.stdint cimport uint64_t

from scrapy_simhash.analysis.events cimport Element, Text
from scrapy_simhash.hashes cimport long_hash_of, mix

cdef uint64_t _VALUE, _FRAME
cdef int _BESIDE, _CUT, _LINK


cdef class PageAddresses:
    cdef public object names
    cdef public uint64_t said
    cdef readonly int count
    cdef readonly int[::1] rows, kinds, inside, named_at
    cdef int[::1] _is_placed
    cdef cython.ulonglong[::1] _places, _anchors, _ids, _befores
    cdef object _own, _parameters, _carried
    cdef tuple _needles
    cdef str _base, _origin, _folder
    cdef dict _whole, _row_as_written, _row_of_whole, _row_at, _times, _names_of_rows
    cdef list _cuts, _texts, _hashes, _unnamed

    cpdef carry(self, list events)
    @cython.locals(address=str, left=str)
    cpdef int row_of(self, str written, uint64_t number=*) except -3
    cpdef int row_of_whole(self, str address, uint64_t number=*) except -3
    cpdef str text_of(self, int row)
    cdef str _joined(self, str written)
    cdef str _above(self, str folder)
    @cython.locals(needle=str)
    cpdef bint may_name_page(self, str text) except -1
    @cython.locals(number=int)
    cpdef int collect(self, int row, int kind, uint64_t place, int inside, int named_at) except -1
    cdef _make_room(self)
    cpdef note_cut(self, int row, int left, uint64_t place)
    cpdef forget(self, int first)
    @cython.locals(number=int)
    cpdef stand_at(self, int first, uint64_t place, bint is_beside)
    @cython.locals(number=int)
    cpdef note_box(self, int first, uint64_t place)
    @cython.locals(at=int, number=int)
    cpdef place(self, int first, int last, uint64_t anchor, uint64_t before=*)
    @cython.locals(at=int)
    cpdef call(self, int first, int last, uint64_t call)
    @cython.locals(row=int, place=uint64_t, there=uint64_t)
    cpdef place_one(self, int at, uint64_t anchor, uint64_t before)
    @cython.locals(at=int)
    cpdef belong(self, int first, int last, uint64_t record)
    @cython.locals(at=int)
    cdef uint64_t _named(self, uint64_t record, int first, int last, bint is_left) except? 0
    cpdef uint64_t name_of(self, int row) except? 0
    @cython.locals(place=uint64_t, value=uint64_t, times=int, number=uint64_t, anchor=uint64_t, is_one_of_several=bint, again=int, inside=int, named_at=int)
    cpdef uint64_t value_at(self, int at) except? 0
    @cython.locals(number=int)
    cpdef object found(self)


@cython.locals(element=Element, depth=int, number=int, call=uint64_t)
cpdef uint64_t call_of(list events, int at, object numbers=*) except? 0
@cython.locals(number=int, last=int, depth=int)
cdef uint64_t _before(list events, int at) except? 0
