# What Cython needs to know of main_blocks.py, which it compiles as it is: the types of the numbers.

cimport cython
from libc.stdint cimport uint64_t

from scrapy_simhash.hashes cimport mix

cdef int[::1] _NODE_FEATURES, _NODE_GREATER, _ROOTS
cdef double[::1] _NODE_BOUNDS


@cython.locals(letter=Py_UCS4, total=int, slot="unsigned int")
cpdef int weight_of_words(str text, unsigned char[::1] slots) except -1


cdef class Section:
    cdef public Section above
    cdef public int kind, around
    cdef public double name, worst, best, names, size, links, blocks, long, words
    cdef public uint64_t series

    cpdef add(self, double size, double links, double blocks, double long, double words)


cdef class Series:
    cdef public double blocks, size, links


cdef class Spot:
    cdef public Section section
    cdef public Series series
    cdef public object id
    cdef public double size, links, share, words
    cdef public bint is_long, ends, is_hidden, is_beside


cdef class Chooser:
    cdef public list spots
    cdef public dict copies
    cdef public set seen
    cdef public Section page
    cdef public double heading, long, before
    cdef public double[::1] row

    @cython.locals(
        sections=list, all_series=dict, section=Section, one=Section, series=Series, spot=Spot,
        at=Py_ssize_t, links=double,
    )
    cdef Section _added_up(self, list blocks, object outline)
    @cython.locals(
        row="double[::1]", spot=Spot, last=Spot, next_=Spot, series=Series, bit=int,
        one=Section, two=Section, three=Section, four=Section, page=Section,
    )
    cpdef look_at(self, Py_ssize_t at)
    @cython.locals(spot=Spot, at=Py_ssize_t)
    cpdef judge(self)
    @cython.locals(
        spot=Spot, expected=double, threshold=double, size=double, held=double,
    )
    cpdef double threshold(self) except -1


@cython.locals(
    features="int[::1]", bounds="double[::1]", greater="int[::1]", roots="int[::1]",
    total=double, tree=Py_ssize_t, node=Py_ssize_t,
)
cdef double _score(double[::1] row) except? -1e300
