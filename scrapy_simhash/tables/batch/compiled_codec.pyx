# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=False
"""The codes of codec.py, compiled."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport uint64_t

from array import array


def encode_block(const uint64_t[::1] fingerprints, int r):
    """Return the differences of a sorted block in Rice codes of parameter *r*."""
    cdef Py_ssize_t count = fingerprints.shape[0], i
    cdef uint64_t difference, bits = 0
    for i in range(1, count):
        bits += ((fingerprints[i] - fingerprints[i - 1]) >> r) + 1 + r
    cdef size_t size = (bits + 7) // 8
    cdef unsigned char *data = <unsigned char *>PyMem_Calloc(size + 1, 1)
    cdef uint64_t at = 0
    if data == NULL:
        raise MemoryError
    for i in range(1, count):
        difference = fingerprints[i] - fingerprints[i - 1]
        at += difference >> r
        data[at >> 3] |= 0x80 >> (at & 7)
        at += 1
        put_bits(data, at, difference, r)
        at += r
    encoded = PyBytes_FromStringAndSize(<char *>data, size)
    PyMem_Free(data)
    return encoded


cdef inline void put_bits(unsigned char *data, uint64_t at, uint64_t value, int width) noexcept:
    """Write the lowest *width* bits of a value."""
    cdef int room, taken
    while width:
        room = 8 - <int>(at & 7)
        taken = min(room, width)
        data[at >> 3] |= ((value >> (width - taken)) & ((1 << taken) - 1)) << (room - taken)
        at += taken
        width -= taken


def decode_block(const unsigned char[::1] data, uint64_t first, Py_ssize_t count, int r):
    """Return the *count* fingerprints of a block that begins with *first*.

    :raises ValueError: the data ends before the block, or leaves 64 bits.
    """
    decoded = array("Q", bytes(8 * count))
    cdef uint64_t[::1] out = decoded
    cdef uint64_t at = 0, end = 8 * <uint64_t>data.shape[0], value = first, before, quotient
    cdef Py_ssize_t i
    out[0] = value
    for i in range(1, count):
        before = at
        while at < end and not data[at >> 3] & (0x80 >> (at & 7)):
            # Whole bytes of zeros at once.
            at += 8 if at & 7 == 0 and data[at >> 3] == 0 else 1
        quotient = at - before
        at += 1
        if at + r > end or (r and quotient >> (64 - r)):
            raise ValueError("a block of fingerprints ends early")
        before = value
        value += (quotient << r) + get_bits(data, at, r)
        if value < before:
            raise ValueError("a block of fingerprints leaves 64 bits")
        at += r
        out[i] = value
    return decoded


cdef inline uint64_t get_bits(const unsigned char[::1] data, uint64_t at, int width) noexcept:
    """Read *width* bits."""
    cdef uint64_t value = 0
    cdef int room, taken
    while width:
        room = 8 - <int>(at & 7)
        taken = min(room, width)
        value = value << taken | (data[at >> 3] >> (room - taken)) & ((1 << taken) - 1)
        at += taken
        width -= taken
    return value
