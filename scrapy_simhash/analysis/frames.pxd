# What Cython needs to know of frames.py, which it compiles as it is.

cimport cython
from libc.stdint cimport uint64_t

from scrapy_simhash.analysis.events cimport Element, Tag


@cython.locals(depth=int, content=int, at=int, kind=Tag, element=Element)
cpdef set beside_the_content(list events)


cdef class Unit:
    cdef readonly uint64_t value, place
    cdef public uint64_t shape
    cdef readonly int at, end, first, last
    cdef readonly bint is_heading, is_free, is_meta
    cdef public bint is_spaced


cdef class Frame:
    cdef readonly Element element
    cdef readonly Tag kind
    cdef readonly int at, address
    cdef public str control
    cdef public bint is_nothing
    cdef public bint is_block, is_big, is_beside, is_content, is_link, is_get, is_apart, is_noise
    cdef public bint run_is_spaced, is_run_apart, is_spaced, is_spaced_text, is_in_head, is_titled
    cdef public bint has_links, has_small_parts, are_unlike, is_code, is_cut
    cdef public tuple boxes
    cdef public uint64_t place, outer, attributes, run, chain, last, first, long, items
    cdef public uint64_t record, title, in_order, shape, smalls, others
    cdef public uint64_t heads, waiting_in, run_shape, built
    cdef public uint64_t near, far, farthest, listed, listed_near
    cdef public Py_ssize_t size, run_size
    cdef public int run_at, run_address, run_shown, shown, named_at, parts, depth
    cdef public int waiting, waiting_end, listed_address
    cdef public int chain_number, base, first_number, long_number, long_at
    cdef public list units

    cpdef begin(self, Element element, Frame parent, int at, int address)
