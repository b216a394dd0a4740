# What Cython needs to know of values.py, which it compiles as it is: the types of what is read.

cimport cython
from libc.stdint cimport uint64_t

from scrapy_simhash.analysis.events cimport Element, Tag, Text
from scrapy_simhash.analysis.frames cimport Frame, Unit, beside_the_content
from scrapy_simhash.analysis.literals cimport Brackets
from scrapy_simhash.analysis.own_values cimport ValueRows
from scrapy_simhash.analysis.page_addresses cimport PageAddresses, call_of
from scrapy_simhash.hashes cimport add, long_hash_of, mix

cdef uint64_t _WIDE, _PLACE, _VALUE, _END, _BESIDE_BIT, _HEAD_BIT
cdef Py_ssize_t _SMALL_BYTES
cdef int _CUT, TEXT_KIND, ELEMENT_KIND, DATA_KIND, LINK_KIND, MEDIA_KIND, NAME_KIND, END_KIND


cdef class Reader:
    cdef public object atoms
    cdef object _cuts, _own, _parameters, _numbers
    cdef PageAddresses _addresses
    cdef ValueRows _rows
    cdef list _said, _events, _frames
    cdef dict _records, _ranks
    cdef uint64_t _before
    cdef set _beside, _met
    cdef Py_ssize_t _characters, _literals

    @cython.locals(frame=Frame, child=Frame, element=Element, depth=int, at=int)
    cpdef read(self, list events)
    @cython.locals(
        rows=ValueRows, number=int, kind=int, at=int, named_at=int, place=str, text=str,
        last_at=int, last_named_at=int, place_number=int, values=list, texts=list, kinds=bytearray,
    )
    cdef object _told(self, bytearray is_own)
    cdef Element _element_at(self, int at)
    @cython.locals(text=str)
    cdef str _text_at(self, int kind, int at, int end)
    @cython.locals(number=int, length=int, piece=str, pieces=list, element=Element, said=Text)
    cdef str _whole_text_at(self, int kind, int at, int end)
    @cython.locals(element=Element, kind=Tag, is_next=bint)
    cdef _open(self, Frame frame, Frame parent)
    @cython.locals(element=Element, row=int, written=str, number=uint64_t)
    cdef bint _is_plain(self, Frame frame) except -1
    @cython.locals(element=Element)
    cdef _read_attributes(self, Frame frame)
    @cython.locals(place=uint64_t, is_beside=bint)
    cdef _place_of_addresses(self, Frame frame)
    cdef bint _is_of_links(self, Frame frame) except -1
    cdef bint _is_own_field(self, Frame frame, dict held) except -1
    cdef bint _is_own_control(self, Frame frame, dict held, str name) except -1
    cdef bint _is_watching(self, Frame frame) except -1
    cdef _note_text(self, uint64_t number)
    @cython.locals(rank=int)
    cdef object _near(self, object wide)
    cdef str _cut(self, Frame frame, str kind, str what, str value)
    @cython.locals(row=int, left=int, number=int, whole=str, address=str)
    cdef bint _take_address(self, Frame frame, str name, str kind, str written) except -1
    cdef int _collect(self, Frame frame, int row, int kind) except -1
    cdef uint64_t _in_value(self, Frame frame, uint64_t place) except? 0
    cdef uint64_t _place(self, Frame frame, uint64_t called) except? 0
    @cython.locals(value=uint64_t, size=Py_ssize_t, text=str, is_changed=bint)
    cdef _say(self, Frame frame, Text said, int at)
    cdef _add_text(self, Frame frame, Text said, int at)
    cdef _run_on(self, Frame frame, uint64_t value)
    @cython.locals(unit=Unit, is_small=bint)
    cdef _end_run(self, Frame frame, int end, int last)
    @cython.locals(unit=Unit, value=uint64_t, shape=uint64_t, last=int, call=uint64_t, is_bare=bint, is_outermost=bint)
    cdef _close(self, Frame frame, Frame parent, int end)
    @cython.locals(value=uint64_t, is_first=bint)
    cdef _close_inline(self, Frame frame, Frame parent)
    @cython.locals(
        place=uint64_t, child=uint64_t, whole=uint64_t, items=uint64_t, shape=uint64_t, last=int,
        number=int, title=uint64_t, attributes=uint64_t,
    )
    cdef _close_big(self, Frame frame, Frame parent)
    @cython.locals(whole=uint64_t, loose=uint64_t, number=int, last=int, kind=Tag, has_small=bint)
    cdef _end_record(self, Frame frame, Frame parent, uint64_t items)
    @cython.locals(loose=uint64_t, number=int, at=int, named_at=int, first=int, last=int)
    cdef _note_records(self)
    cdef _add_item(self, Frame frame, uint64_t value, uint64_t shape)
    cdef _add(self, Frame frame, Unit unit)
    @cython.locals(unit=Unit)
    cdef _grow(self, Frame frame)
    @cython.locals(value=uint64_t, place=uint64_t, number=int, is_item=bint)
    cdef _add_small(self, Frame frame, Unit unit)
    cdef _place_first(self, Frame frame, uint64_t behind)
    @cython.locals(value=uint64_t)
    cdef uint64_t _behind(self, Frame head, Unit meta) except? 0
    @cython.locals(value=uint64_t, place=uint64_t)
    cdef _add_long(self, Frame frame, Unit unit)
    @cython.locals(is_behind_small=bint)
    cdef _begin_long(
        self, Frame frame, uint64_t value, uint64_t whole, uint64_t place, int at, int end
    )
    @cython.locals(value=uint64_t)
    cdef _end_long(self, Frame frame, bint is_before_small)
    cdef int _chain(
        self, Frame frame, uint64_t value, uint64_t place, int kind, int at, int end
    ) except -1
    @cython.locals(place=int)
    cdef _end_chain(self, Frame frame, uint64_t end)
    @cython.locals(
        of=PageAddresses, at=int, value=uint64_t, chain=int, inside=int, named_at=int, kind=int,
    )
    cdef _note_addresses(self)
    @cython.locals(
        value=uint64_t, chained=uint64_t, one=uint64_t, place=uint64_t, of_name=uint64_t,
        anchor=uint64_t, row=int, at=int, chain=int, brackets=Brackets, bracket=int,
        before=uint64_t, quote=bint,
    )
    cdef _read_code(self, Frame frame, str code)
