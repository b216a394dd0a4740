# What Cython needs to know of events.py, which it compiles as it is: the types of what is met.

from libc.stdint cimport uint64_t

from scrapy_simhash.hashes cimport long_hash_of, mix


cdef class Text:
    cdef readonly str text, raw
    cdef readonly uint64_t number, exact
    cdef readonly Py_ssize_t size, shown
    cdef readonly bint begins_apart, ends_apart, is_wide


cdef class Tag:
    cdef readonly str name
    cdef readonly uint64_t number
    cdef readonly bint is_block, is_unseen, is_noscript, is_hidden, is_code, is_content, is_main
    cdef readonly bint is_beside, is_nav, is_never_beside, is_anchor, is_first_heading, is_heading
    cdef readonly bint is_free, is_ordered, is_apart, is_link, is_linking, is_form
    cdef readonly bint is_select, is_control, is_nothing, is_spaced, is_head, is_meta, is_row, is_root


cdef class Element:
    cdef readonly Tag kind
    cdef readonly tuple attributes, fields, written
    cdef readonly str class_names, names, called, shown, words, control, link_kind
    cdef readonly uint64_t names_number, called_number, number, shape
    cdef readonly bint is_read, hides, is_beside_by_role, is_nav_by_role, leads, is_get, is_style
    cdef list _written
    cdef str _outline
    cdef uint64_t _call

    cdef _look_at(self, tuple attributes)
    cpdef str outline(self)
    cpdef uint64_t call(self) except? 0
    cpdef read(self)
    cdef _name(self, str tag, dict held)
    cdef int _form_of(self, str name, str value) except -1
    cdef bint _write(self, str name, str written) except -1


cpdef Element element_of(str tag, tuple attributes)
cpdef Text text_of(str raw, bint is_hidden)
cpdef remember_element(object key, Py_ssize_t size, Element found)
cpdef remember(dict known, object key, object found, Py_ssize_t most)
