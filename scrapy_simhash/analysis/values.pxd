# What Cython needs to know of values.py, which it compiles as it is: the types of what is read.

from libc.stdint cimport uint64_t

from scrapy_simhash.hashes cimport mix


cdef class Frame:
    cdef public str tag, shown, kind, control
    cdef public bint is_block, is_big, is_beside, is_content, is_link, is_get, is_apart, names_page
    cdef public bint is_noise
    cdef public tuple around, boxes
    cdef public uint64_t place, outer, attributes, run, chain, last, first, long, items
    cdef public Py_ssize_t size, run_size
    cdef public int chain_number, base, first_number, long_number, long_at
    cdef public list units, addresses, run_addresses, pieces

    cdef _inherit(self, Frame parent)


cdef class Reader:
    cdef public object atoms
    cdef object _cuts, _own, _parameters
    cdef str _base, _origin, _folder
    cdef object _loose, _chain_of, _ids, _bases, _longs, _texts, _text_places, _around, _smalls
    cdef list _held
    cdef dict _counts, _whole, _places, _wide
    cdef list _addresses, _shown
    cdef Py_ssize_t _characters, _literals
    cdef bint _is_watching

    cdef Frame _begin(self, Frame frame, tuple event)
    cdef _open(self, Frame frame, tuple event)
    cdef _watch(self, Frame frame)
    cdef tuple _element(self, Frame frame, dict held)
    cdef _read_attributes(self, Frame frame, dict held)
    cdef str _attribute(self, Frame frame, dict held, str name, str value)
    cdef bint _is_own_field(self, Frame frame, dict held) except -1
    cdef bint _is_own_control(self, Frame frame, dict held, str name) except -1
    cdef str _cut(self, Frame frame, str kind, str what, str value)
    cdef uint64_t _wide_place(self, Frame frame, str kind, str what) except? 0
    cdef bint _take_address(self, Frame frame, str name, str written) except -1
    cdef str _joined(self, str written)
    cdef uint64_t _place_of(self, tuple around, str tag) except? 0
    cdef _say(self, Frame frame, str text)
    cdef _end_run(self, Frame frame)
    cdef _close(self, Frame frame, Frame parent)
    cdef _close_inline(self, Frame frame, Frame parent)
    cdef _close_big(self, Frame frame, Frame parent)
    cdef _add(self, Frame frame, tuple unit)
    cdef _grow(self, Frame frame)
    cdef _add_small(self, Frame frame, tuple unit)
    cdef _add_long(self, Frame frame, tuple unit)
    cdef _begin_long(self, Frame frame, uint64_t value, object shown)
    cdef _end_long(self, Frame frame, bint is_before_small)
    cdef uint64_t _counted(self, uint64_t value) except? 0
    cdef int _chain(
        self, Frame frame, uint64_t value, uint64_t place, str kind, object shown
    ) except -1
    cdef _end_chain(self, Frame frame, uint64_t end, object shown)
    cdef int _emit(
        self, uint64_t value, uint64_t place, str kind, Frame frame, object shown
    ) except -2
    cdef int _note(
        self, uint64_t value, uint64_t place, int chain, str kind, Frame frame, object shown
    ) except -1
    cdef _place_addresses(self, list found, uint64_t anchor)
    cdef _note_address(
        self, str kind, Frame frame, uint64_t anchor, str address, bint is_beside
    )
    cdef _read_code(self, Frame frame, str code)
