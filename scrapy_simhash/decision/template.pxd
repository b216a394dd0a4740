# What Cython needs to know of template.py, which it compiles as it is.

cimport cython


cdef class Template:
    cdef object _least
    cdef public double _weight, _pages
    cdef public dict _recent, _earlier
    cdef public set _frequent, _lasting
    cdef public frozenset _blocks

    @cython.locals(
        weight=double, recent=dict, earlier=dict, threshold=double, met=set, frequent=set,
        count=double,
    )
    cpdef learn(self, blocks)
    @cython.locals(pages=double, others=double, count=double, others_counts=dict, threshold=double)
    cpdef merge(self, Template other)
    @cython.locals(pages=double, share=double, enough=double)
    cdef double _threshold(self)
    @cython.locals(least=double, frequent=set, lasting=set)
    cdef _note_frequent(self, set met)
    cdef double _count(self, block)
    cdef _begin_generation(self)
    @cython.locals(counts=dict)
    cdef _rescale(self)
