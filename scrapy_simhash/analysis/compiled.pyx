# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=False
"""The fingerprint of a text in one pass over it: tokens, shingles, hashes, votes, bits.

The result is bit for bit that of features.py and fingerprint.py.  It is for the schemes whose
features are runs of words, each counted once or as often as it occurs in the text::

    text        Near-duplicate pages
    tokens      near | duplicate | pages            UTF-8, with a space between two
    shingles    near duplicate
                     duplicate pages                each is one piece of those bytes
    counters    for each of the 64 bits, the number of shingles whose hash has a 1 there: plane i
                holds bit i of all 64 counts, and a hash is added to all counts at once, with carry
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND, PyUnicode_READ
from cpython.unicode cimport Py_UNICODE_ISSPACE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memset

from array import array

from scrapy_simhash.analysis.features import character_classes


cdef extern from "_murmur3.h":
    uint64_t murmur3_x64(const unsigned char *bytes, size_t length) noexcept nogil


cdef enum:
    WORD = 1
    SINGLE = 2
    MARK = 4
    KNOWN = 8
    CODE_POINTS = 0x110000
    PAGE = 256
    PLANES = 32

cdef uint8_t classes[CODE_POINTS]


cdef inline int class_of(uint32_t character) except -1:
    """Return the class of a character."""
    if not classes[character] & KNOWN:
        learn_page(character & ~<uint32_t>(PAGE - 1))
    return classes[character]


cdef int learn_page(uint32_t start) except -1:
    """Note the classes of a page of characters; called when the first of them occurs."""
    for offset, found in enumerate(character_classes(start, start + PAGE)):
        classes[start + offset] = found | KNOWN
    return 0


cdef struct Tokens:
    unsigned char *text  # in UTF-8, one space between two
    size_t length
    uint32_t *ends
    uint32_t count


def simhash_of_words(str normalised, int width, bint repeated):
    """Return the 64-bit simhash of a normalised text, its tokens in UTF-8, and their number.

    Features are the runs of *width* tokens; one that occurs several times counts once, or each
    time if *repeated*.  Tokens are joined by one space.
    """
    cdef Tokens tokens
    cdef Py_ssize_t length = PyUnicode_GET_LENGTH(normalised)
    check_length(length)
    # A character takes at most 4 bytes, and one that is a token takes at most 5 with its space.
    tokens.text = <unsigned char *>PyMem_Malloc(5 * length + 1)
    tokens.ends = <uint32_t *>PyMem_Malloc((length + 1) * sizeof(uint32_t))
    try:
        if tokens.text == NULL or tokens.ends == NULL:
            raise MemoryError
        cut(normalised, &tokens)
        fingerprint = vote(&tokens, width, repeated)
        joined = PyBytes_FromStringAndSize(<char *>tokens.text, tokens.length)
        return fingerprint, joined, tokens.count
    finally:
        PyMem_Free(tokens.text)
        PyMem_Free(tokens.ends)


def sample_runs(list texts, int words, int characters, Py_ssize_t most):
    """Return the simhash, the sum and the number of the different runs of words in all texts.

    And the lowest *most* hashes, in order, each with the number of the first text that has it.
    White space separates words; in a run, one space joins them.  An empty word is put before the
    first word and after the last.  Of a text with a mark, the runs are of *characters* characters,
    and white space does not count.  A shorter text makes one run.
    """
    cdef Runs runs
    cdef Tokens pieces
    cdef uint64_t planes[PLANES]
    cdef uint64_t total = 0, limit
    cdef size_t slot, found = 0
    cdef uint32_t number = 0
    cdef bint of_characters
    cdef Py_ssize_t length
    cdef Run *chosen = NULL
    memset(&runs, 0, sizeof(runs))
    memset(planes, 0, sizeof(planes))
    try:
        for text, of_characters in texts:
            length = PyUnicode_GET_LENGTH(text)
            check_length(length)
            pieces.text = <unsigned char *>PyMem_Malloc(5 * length + 2)
            pieces.ends = <uint32_t *>PyMem_Malloc((length + 2) * sizeof(uint32_t))
            try:
                if pieces.text == NULL or pieces.ends == NULL:
                    raise MemoryError
                split(text, of_characters, &pieces)
                if of_characters:
                    take_runs(&runs, &pieces, characters, 0, number)
                else:
                    take_runs(&runs, &pieces, words, 1, number)
            finally:
                PyMem_Free(pieces.text)
                PyMem_Free(pieces.ends)
            number += 1
        chosen = <Run *>PyMem_Malloc((runs.count + 1) * sizeof(Run))
        if chosen == NULL:
            raise MemoryError
        for slot in range(runs.slots):
            if runs.held[slot].text:
                count(planes, runs.held[slot].hash)
                total += runs.held[slot].hash
        # They are spread evenly: twice as many as are wanted are below this, and easily sorted.
        if runs.count > 4 * <size_t>most:
            limit = (<uint64_t>-1 // runs.count) * 2 * <size_t>most
            found = choose(chosen, &runs, limit)
        if found < <size_t>most:
            found = choose(chosen, &runs, <uint64_t>-1)
        qsort(chosen, found, sizeof(Run), compare_runs)
        lowest = [
            (chosen[slot].hash, chosen[slot].text - 1) for slot in range(min(found, <size_t>most))
        ]
        return most_of(planes, <uint32_t>runs.count), total, runs.count, lowest
    finally:
        PyMem_Free(chosen)
        PyMem_Free(runs.held)


cdef struct Run:
    uint64_t hash
    uint32_t text  # the number of its text, and 1; 0 if the slot is free


cdef struct Runs:
    # A set of runs: at most half of the slots are taken.
    Run *held
    size_t slots, count


cdef int compare_runs(const void *one, const void *other) noexcept nogil:
    cdef uint64_t mine = (<const Run *>one).hash, its = (<const Run *>other).hash
    return (mine > its) - (mine < its)


cdef size_t choose(Run *chosen, const Runs *runs, uint64_t limit) noexcept:
    """Copy the runs up to a hash; return how many."""
    cdef size_t slot, found = 0
    for slot in range(runs.slots):
        if runs.held[slot].text and runs.held[slot].hash <= limit:
            chosen[found] = runs.held[slot]
            found += 1
    return found


cdef int take_runs(
    Runs *runs, const Tokens *pieces, uint32_t width, int gap, uint32_t number
) except -1:
    """Put each run of *width* pieces, with *gap* bytes between two, into a set."""
    cdef uint32_t run, start, last
    cdef uint32_t most = pieces.count - width + 1 if pieces.count > width else pieces.count > 0
    while runs.slots < 2 * (runs.count + most):
        grow(runs)
    for run in range(most):
        start = pieces.ends[run - 1] + gap if run else 0
        last = min(run + width, pieces.count) - 1
        put_run(
            runs, murmur3_x64(pieces.text + start, pieces.ends[last] - start), number + 1
        )
    return 0


cdef inline int put_run(Runs *runs, uint64_t hash, uint32_t text) noexcept:
    """Put a run into a set that has room for it; the first text that has it counts."""
    cdef size_t at = hash & (runs.slots - 1)
    while runs.held[at].text:
        if runs.held[at].hash == hash:
            return 0
        at = (at + 1) & (runs.slots - 1)
    runs.held[at] = Run(hash, text)
    runs.count += 1
    return 0


cdef int grow(Runs *runs) except -1:
    cdef Runs larger
    cdef size_t slot
    larger.slots = 2 * runs.slots if runs.slots else 256
    larger.count = 0
    larger.held = <Run *>PyMem_Calloc(larger.slots, sizeof(Run))
    if larger.held == NULL:
        raise MemoryError
    for slot in range(runs.slots):
        if runs.held[slot].text:
            put_run(&larger, runs.held[slot].hash, runs.held[slot].text)
    PyMem_Free(runs.held)
    runs[0] = larger
    return 0


cdef int split(str text, bint of_characters, Tokens *pieces) noexcept:
    """Fill *pieces* with the characters of a text, or its words between two empty ones."""
    cdef int kind = PyUnicode_KIND(text)
    cdef const void *data = PyUnicode_DATA(text)
    cdef Py_ssize_t length = PyUnicode_GET_LENGTH(text), i
    cdef unsigned char *at = pieces.text
    cdef uint32_t character, count = 0
    cdef bint in_word = False
    for i in range(length):
        character = <uint32_t>PyUnicode_READ(kind, data, i)
        if Py_UNICODE_ISSPACE(character):
            in_word = False
            continue
        if not of_characters and not in_word:
            in_word = True
            pieces.ends[count] = <uint32_t>(at - pieces.text)
            count += 1
            at[0] = 32
            at += 1
        at = put(at, character)
        if of_characters:
            pieces.ends[count] = <uint32_t>(at - pieces.text)
            count += 1
    if count and not of_characters:
        pieces.ends[count] = <uint32_t>(at - pieces.text)
        at[0] = 32
        pieces.ends[count + 1] = pieces.ends[count] + 1
        count += 2
    pieces.count = count
    return 0


def majority(const uint64_t[::1] hashes):
    """Return the integer in which a bit is 1 where more than half of the hashes have it."""
    cdef uint64_t planes[PLANES]
    cdef Py_ssize_t i
    memset(planes, 0, sizeof(planes))
    for i in range(hashes.shape[0]):
        count(planes, hashes[i])
    return most_of(planes, <uint32_t>hashes.shape[0])


cdef int check_length(Py_ssize_t length) except -1:
    if length > 0x3FFFFFFF:
        raise OverflowError(f"a text has at most 2**30 - 1 characters: got {length}")
    return 0


cdef int cut(str text, Tokens *tokens) except -1:
    """Fill *tokens* with the tokens that the pattern in features.py finds."""
    cdef int kind = PyUnicode_KIND(text)
    cdef const void *data = PyUnicode_DATA(text)
    cdef Py_ssize_t length = PyUnicode_GET_LENGTH(text), i = 0
    cdef unsigned char *at = tokens.text  # local, so that the compiler can keep it in a register
    cdef uint32_t character, count = 0
    cdef int found
    while i < length:
        character = <uint32_t>PyUnicode_READ(kind, data, i)
        found = class_of(character)
        i += 1
        if not found & (WORD | SINGLE):
            continue
        if count:
            at[0] = 32
            at += 1
        at = put(at, character)
        found = WORD if found & WORD else MARK
        while i < length:
            character = <uint32_t>PyUnicode_READ(kind, data, i)
            if not class_of(character) & found:
                break
            at = put(at, character)
            i += 1
        tokens.ends[count] = <uint32_t>(at - tokens.text)
        count += 1
    tokens.count = count
    tokens.length = at - tokens.text
    return 0


cdef inline unsigned char *put(unsigned char *at, uint32_t character) noexcept:
    """Write a character in UTF-8; return where the next one goes."""
    if character < 0x80:
        at[0] = <unsigned char>character
        return at + 1
    if character < 0x800:
        at[0] = 0xC0 | character >> 6
        at[1] = 0x80 | character & 0x3F
        return at + 2
    if character < 0x10000:
        at[0] = 0xE0 | character >> 12
        at[1] = 0x80 | character >> 6 & 0x3F
        at[2] = 0x80 | character & 0x3F
        return at + 3
    at[0] = 0xF0 | character >> 18
    at[1] = 0x80 | character >> 12 & 0x3F
    at[2] = 0x80 | character >> 6 & 0x3F
    at[3] = 0x80 | character & 0x3F
    return at + 4


cdef struct Shingle:
    uint64_t hash
    uint32_t start
    uint32_t length  # 0 if the slot of the set is free


cdef uint64_t vote(const Tokens *tokens, uint32_t width, bint repeated) except? 0:
    """Return the simhash of all runs of *width* tokens; a shorter text makes one run."""
    cdef uint64_t planes[PLANES]
    cdef uint32_t run, last, votes = 0
    cdef uint32_t runs = tokens.count - width + 1 if tokens.count > width else tokens.count > 0
    cdef size_t slots = 2
    cdef Shingle shingle
    cdef Shingle *seen = NULL
    memset(planes, 0, sizeof(planes))
    if not repeated:
        while slots < 2 * <size_t>runs:
            slots *= 2
        seen = <Shingle *>PyMem_Malloc(slots * sizeof(Shingle))
        if seen == NULL:
            raise MemoryError
        memset(seen, 0, slots * sizeof(Shingle))
    for run in range(runs):
        last = min(run + width, tokens.count) - 1
        shingle.start = tokens.ends[run - 1] + 1 if run else 0
        shingle.length = tokens.ends[last] - shingle.start
        shingle.hash = murmur3_x64(tokens.text + shingle.start, shingle.length)
        if repeated or is_new(seen, slots, tokens.text, shingle):
            count(planes, shingle.hash)
            votes += 1
    PyMem_Free(seen)
    return most_of(planes, votes)


cdef bint is_new(
    Shingle *seen, size_t slots, const unsigned char *text, Shingle shingle
) noexcept:
    """Put a shingle into a set; return False if the set has it already."""
    cdef size_t at = shingle.hash & (slots - 1)
    while seen[at].length:
        if (
            seen[at].hash == shingle.hash
            and seen[at].length == shingle.length
            and memcmp(text + seen[at].start, text + shingle.start, shingle.length) == 0
        ):
            return False
        at = (at + 1) & (slots - 1)
    seen[at] = shingle
    return True


cdef inline void count(uint64_t *planes, uint64_t ones) noexcept:
    """Add 1 to each of the 64 counts whose bit is set."""
    cdef int plane = 0
    cdef uint64_t carry
    while ones:
        carry = planes[plane] & ones
        planes[plane] ^= ones
        ones = carry
        plane += 1


cdef uint64_t most_of(const uint64_t *planes, uint32_t votes) noexcept:
    """Return the bits whose count is more than half of the votes."""
    cdef uint64_t found = 0, ones
    cdef int bit, plane
    for bit in range(64):
        ones = 0
        for plane in range(PLANES):
            ones |= (planes[plane] >> bit & 1) << plane
        if 2 * ones > votes:
            found |= 1ULL << bit
    return found
