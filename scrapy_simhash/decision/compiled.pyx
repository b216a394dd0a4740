# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=False
"""Compares what is stored of pages as it is, without a Python object for each sample.

The results are those of ``ReferenceComparison`` (comparison.py).
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from array import array

from scrapy_simhash.decision import sketch

cdef enum:
    MARK_BYTES = 1 << 13  # a bit for each mark of 16 bits

cdef Py_ssize_t HEAD_BYTES = sketch.HEAD_BYTES
cdef Py_ssize_t WORD_BYTES = sketch.WORD_BYTES
cdef uint32_t NO_LIMIT = sketch.NO_LIMIT
cdef uint32_t HIDDEN = sketch.HIDDEN
cdef Py_ssize_t MIN_SAMPLES = sketch.MIN_SAMPLES


cdef struct Words:
    # What is left of the words of a stored sketch, and of the samples of the present block.
    const uint8_t *at
    const uint8_t *end
    uint32_t in_block


cdef inline Words words_of(bytes stored) noexcept:
    cdef Words words
    words.at = <const uint8_t *>PyBytes_AS_STRING(stored) + HEAD_BYTES
    words.end = <const uint8_t *>PyBytes_AS_STRING(stored) + PyBytes_GET_SIZE(stored)
    words.in_block = 0
    return words


cdef inline bint next_sample(Words *words, const uint8_t *left_out, uint32_t *sample) noexcept:
    """Read the next sample that is in no block with a mark in *left_out*; False at the end."""
    cdef uint32_t word
    while words.end - words.at >= WORD_BYTES:
        word = <uint32_t>words.at[0] << 16 | <uint32_t>words.at[1] << 8 | words.at[2]
        words.at += WORD_BYTES
        if words.in_block:
            words.in_block -= 1
            sample[0] = word
            return True
        words.in_block = word & 0xFF
        if left_out[word >> 11] >> (word >> 8 & 7) & 1:
            words.at += WORD_BYTES * <Py_ssize_t>words.in_block
            words.in_block = 0
    return False


cdef const uint8_t[MARK_BYTES] NONE_LEFT_OUT


cdef uint32_t limit_of(bytes stored) noexcept:
    """Return the hash up to which a sketch has all of its page's."""
    cdef Words words = words_of(stored)
    cdef uint32_t sample, highest = 0
    if PyBytes_AS_STRING(stored)[0]:
        return NO_LIMIT
    while next_sample(&words, NONE_LEFT_OUT, &sample):
        highest = max(highest, sample)
    return highest


cdef class CompiledComparison:
    """The same as ``ReferenceComparison``."""

    cdef bytes _own
    cdef uint32_t _limit
    cdef uint8_t[MARK_BYTES] _template
    cdef bint _has_template
    # Its samples that count, in order.
    cdef const uint32_t[::1] _samples

    def __init__(self, bytes own not None, template=()):
        cdef Words words = words_of(own)
        cdef uint32_t sample
        cdef uint16_t mark
        self._own, self._limit = own, limit_of(own)
        for mark in template:
            self._template[mark >> 3] |= 1 << (mark & 7)
            self._has_template = True
        samples = []
        while next_sample(&words, self._template, &sample):
            samples.append(sample)
        self._samples = array("I", sorted(samples))

    def overlap(self, bytes other not None):
        cdef Words words = words_of(other)
        cdef uint32_t limit = min(self._limit, limit_of(other))
        cdef uint32_t sample
        cdef Py_ssize_t one = self._place(limit + 1), two = 0, common = 0, compared, at
        cdef Py_ssize_t hidden = 0
        while next_sample(&words, self._template, &sample):
            if sample <= limit:
                two += 1
                at = self._place(sample)
                if at < one and self._samples[at] == sample:
                    common += 1
                    hidden -= sample & HIDDEN
        if not one and not two and self._has_template:
            return CompiledComparison(self._own).overlap(other)
        compared = one + two - common
        if compared < (1 if limit == NO_LIMIT else MIN_SAMPLES):
            return sketch.Overlap(0.0, compared, False, False, False, False)
        for at in range(one):
            hidden += self._samples[at] & HIDDEN
        is_exact = limit == NO_LIMIT or sketch.total_of(self._own) == sketch.total_of(other)
        return sketch.Overlap(
            common / <double>compared, compared, common == one, common == two, hidden == 0, is_exact
        )

    cdef Py_ssize_t _place(self, uint32_t value) noexcept:
        """Return how many of its own samples are lower than a value."""
        cdef Py_ssize_t low = 0, high = self._samples.shape[0], middle
        while low < high:
            middle = (low + high) // 2
            if self._samples[middle] < value:
                low = middle + 1
            else:
                high = middle
        return low
