# What Cython needs to know of values.py, which it compiles as it is: the types of what is read.

cimport cython
from libc.stdint cimport uint64_t

from scrapy_simhash.analysis.events cimport Element, Tag, Text
from scrapy_simhash.hashes cimport mix

cdef uint64_t _WIDE, _PLACE, _VALUE, _END, _SEVERAL, _BESIDE_BIT, _HEAD_BIT
cdef Py_ssize_t _SMALL_BYTES
cdef int TEXT_KIND, ELEMENT_KIND, DATA_KIND, LINK_KIND, MEDIA_KIND, NAME_KIND, END_KIND


@cython.locals(
    loose=cython.ulonglong[::1], chain_of=cython.int[::1], ids=cython.ulonglong[::1],
    bases=cython.int[::1], number=int, chain=int, value=uint64_t,
)
cdef bytearray _sort_out(list held, object template, object found)
@cython.locals(
    loose=cython.ulonglong[::1], chain_of=cython.int[::1], ids=cython.ulonglong[::1],
    longs=cython.int[::1], first=cython.int[::1], number=int, chain=int, at=int, value=uint64_t,
)
cdef _note_combinations(list held, object template, object found, bytearray kinds)
@cython.locals(
    loose=cython.ulonglong[::1], chain_of=cython.int[::1], ids=cython.ulonglong[::1],
    longs=cython.int[::1],
    texts=cython.ulonglong[::1], places=cython.ulonglong[::1], around=cython.schar[::1],
    at=int, number=int, side=int, rank=int, behind=int, ranks=int, flags=int, place=uint64_t,
    shape=uint64_t, first=dict, count=dict, may_be=list,
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

@cython.locals(depth=int, content=int, at=int, kind=Tag, element=Element)
cpdef set beside_the_content(list events)


cdef class Brackets:
    cdef public list before
    cdef list _parts, _are_lists

    @cython.locals(last=int, character=cython.Py_UCS4, whole=uint64_t)
    cdef read(self, str code)
    @cython.locals(last=int, before=uint64_t)
    cdef uint64_t add(self, uint64_t value) except? 0


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
    cdef public bint has_links, has_small_parts, are_unlike
    cdef public tuple boxes
    cdef public uint64_t place, outer, attributes, run, chain, last, first, long, items
    cdef public uint64_t record, context, title, in_order, shape, smalls, others
    cdef public uint64_t near, far, farthest
    cdef public Py_ssize_t size, run_size
    cdef public int run_at, run_address, run_shown, shown, named_at, parts
    cdef public int chain_number, base, first_number, long_number, long_at
    cdef public list units

    cpdef begin(self, Element element, Frame parent, int at, int address)
    cdef uint64_t about(self)


cdef class Reader:
    cdef public object atoms
    cdef object _cuts, _own, _parameters, _names
    cdef tuple _needles
    cdef str _base, _origin, _folder
    cdef list _loose, _chain_of, _ids, _bases, _longs, _texts, _text_places, _around, _smalls
    cdef list _named_at, _in, _from, _to, _hashes, _unnamed
    cdef list _address_rows, _address_places, _anchors, _address_ids, _befores
    cdef list _begun, _begun_in, _contexts
    cdef list _address_in, _address_named_at
    cdef list _kinds, _address_kinds, _is_placed
    cdef list _lists, _held, _addresses, _said, _events, _frames
    cdef dict _counts, _context_at, _records, _rows, _rows_at, _ranks
    cdef uint64_t _before
    cdef set _beside, _met
    cdef Py_ssize_t _characters, _literals

    @cython.locals(frame=Frame, child=Frame, element=Element, depth=int, at=int)
    cpdef read(self, list events)
    @cython.locals(number=int, kind=int, at=int, named_at=int, place=str)
    cdef object _told(self, bytearray is_own)
    cdef Element _element_at(self, int at)
    cdef str _text_at(self, int kind, int at, int end)
    @cython.locals(number=int, length=int, piece=str)
    cdef str _whole_text_at(self, int kind, int at, int end)
    @cython.locals(element=Element, kind=Tag)
    cdef _open(self, Frame frame, Frame parent)
    @cython.locals(element=Element, row=int)
    cdef bint _is_plain(self, Frame frame) except -1
    cdef _forget_addresses(self, int first)
    @cython.locals(element=Element)
    cdef _read_attributes(self, Frame frame)
    @cython.locals(place=uint64_t, is_beside=bint, number=int)
    cdef _place_of_addresses(self, Frame frame)
    cdef bint _is_own_field(self, Frame frame, dict held) except -1
    cdef bint _is_own_control(self, Frame frame, dict held, str name) except -1
    cdef bint _is_watching(self, Frame frame) except -1
    cdef _note_text(self, uint64_t number)
    @cython.locals(rank=int)
    cdef object _near(self, object wide)
    cdef str _cut(self, Frame frame, str kind, str what, str value)
    cdef bint _take_address(self, Frame frame, str name, str kind, str written) except -1
    cdef _collect(self, Frame frame, int row, int kind)
    cpdef int _row_of(self, str written) except -3
    cdef int _row(self, str address) except -3
    cdef str _joined(self, str written)
    cdef str _above(self, str folder)
    @cython.locals(needle=str)
    cdef bint _may_name_page(self, str text) except -1
    cdef uint64_t _in_value(self, Frame frame, uint64_t place) except? 0
    cdef uint64_t _place(self, Frame frame, uint64_t called) except? 0
    @cython.locals(value=uint64_t, size=Py_ssize_t, text=str, is_changed=bint)
    cdef _say(self, Frame frame, Text said, int at)
    cdef _add_text(self, Frame frame, Text said, int at)
    cdef _run_on(self, Frame frame, uint64_t value)
    @cython.locals(unit=Unit, is_small=bint)
    cdef _end_run(self, Frame frame, int end, int last)
    @cython.locals(unit=Unit, value=uint64_t, shape=uint64_t, last=int, is_bare=bint, is_outermost=bint)
    cdef _close(self, Frame frame, Frame parent, int end)
    @cython.locals(value=uint64_t)
    cdef _close_inline(self, Frame frame, Frame parent)
    @cython.locals(
        place=uint64_t, child=uint64_t, whole=uint64_t, items=uint64_t, shape=uint64_t, last=int,
        number=int, title=uint64_t,
    )
    cdef _close_big(self, Frame frame, Frame parent)
    @cython.locals(whole=uint64_t, loose=uint64_t, number=int)
    cdef _end_record(self, Frame frame, Frame parent, uint64_t items)
    cdef _note_records(self)
    cdef _add_item(self, Frame frame, uint64_t value, uint64_t shape)
    cdef _add(self, Frame frame, Unit unit)
    @cython.locals(unit=Unit)
    cdef _grow(self, Frame frame)
    @cython.locals(value=uint64_t, place=uint64_t, number=int)
    cdef _add_small(self, Frame frame, Unit unit)
    @cython.locals(value=uint64_t)
    cdef uint64_t _behind(self, Frame head, Unit meta) except? 0
    @cython.locals(value=uint64_t, place=uint64_t)
    cdef _add_long(self, Frame frame, Unit unit)
    @cython.locals(is_behind_small=bint)
    cdef _begin_long(
        self, Frame frame, uint64_t value, uint64_t whole, uint64_t place, int at, int end
    )
    cdef _end_long(self, Frame frame, bint is_before_small)
    @cython.locals(number=int)
    cdef int _begin(self, uint64_t chain, int base, Frame frame) except -1
    @cython.locals(at=int, number=int, value=uint64_t)
    cdef _end_chains(self)
    cdef int _chain(
        self, Frame frame, uint64_t value, uint64_t place, int kind, int at, int end
    ) except -1
    cdef _end_chain(self, Frame frame, uint64_t end)
    cdef uint64_t _counted(self, uint64_t value) except? 0
    @cython.locals(counted=uint64_t)
    cdef int _emit(
        self, uint64_t value, uint64_t place, int kind, Frame frame, int at, int end
    ) except -2
    cdef int _note(
        self, uint64_t value, uint64_t place, int chain, int kind, Frame frame, int at, int end
    ) except -1
    cdef int _note_in(
        self, uint64_t loose, int chain, int kind, int inside, int named_at, int at, int end
    ) except -1
    @cython.locals(at=int, number=int)
    cdef _place_addresses(self, int first, int last, uint64_t anchor, uint64_t before=*)
    @cython.locals(row=int)
    cdef _place_address(self, int at, uint64_t anchor, uint64_t before)
    @cython.locals(at=int, place=uint64_t, kind=int, number=uint64_t, inside=int, named_at=int)
    cdef _note_addresses(self)
    @cython.locals(
        value=uint64_t, chained=uint64_t, one=uint64_t, place=uint64_t, of_name=uint64_t,
        row=int, at=int, chain=int, brackets=Brackets,
    )
    cdef _read_code(self, Frame frame, str code)
