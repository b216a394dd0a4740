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
    HIDDEN = 0x34F  # events.MARK is behind what a page does not show

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


cdef class Pieces:
    """The pieces of a text: tokens, words or characters, in UTF-8."""

    cdef unsigned char *text
    cdef size_t length
    cdef uint32_t *ends
    cdef uint32_t count
    cdef bint have_hidden

    def __cinit__(self, Py_ssize_t characters):
        if characters > 0x3FFFFFFF:
            raise OverflowError(f"a text has at most 2**30 - 1 characters: got {characters}")
        # A character takes at most 4 bytes, and a space is after each piece; two words are empty.
        self.text = <unsigned char *>PyMem_Malloc(5 * characters + 2)
        self.ends = <uint32_t *>PyMem_Malloc((characters + 2) * sizeof(uint32_t))
        if self.text == NULL or self.ends == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_Free(self.text)
        PyMem_Free(self.ends)


cdef struct Run:
    uint64_t hash
    uint32_t text  # the number of its text, and 1; 0 if the slot is free
    bint is_hidden


cdef int compare_runs(const void *one, const void *other) noexcept nogil:
    cdef uint64_t mine = (<const Run *>one).hash, its = (<const Run *>other).hash
    return (mine > its) - (mine < its)


cdef inline Run *put_run(Run *held, size_t slots, Run run) noexcept:
    """Put a run into a set with room for it; return where, NULL if it is there already."""
    cdef size_t at = run.hash & (slots - 1)
    while held[at].text:
        if held[at].hash == run.hash:
            return NULL
        at = (at + 1) & (slots - 1)
    held[at] = run
    return &held[at]


cdef inline bint has_hidden(const unsigned char *text, size_t length) noexcept:
    """Whether HIDDEN is in a text in UTF-8."""
    cdef size_t at
    for at in range(1, length):
        if text[at - 1] == 0xCD and text[at] == 0x8F:
            return True
    return False


cdef inline void count(uint64_t *planes, uint64_t ones) noexcept:
    """Add 1 to each of the 64 counts whose bit is set."""
    cdef int plane = 0
    cdef uint64_t carry
    while ones:
        carry = planes[plane] & ones
        planes[plane] ^= ones
        ones = carry
        plane += 1


cdef class Runs:
    """A set of runs, by their hashes: at most half of the slots are taken.

    *planes* are the counts of the bits of their hashes, *total* is the sum of these.
    """

    cdef Run *held
    cdef size_t slots, count
    cdef uint64_t total
    cdef uint64_t[PLANES] planes

    def __dealloc__(self):
        PyMem_Free(self.held)

    cdef int take(
        self, Pieces pieces, uint32_t width, int gap, uint32_t number, bint repeated
    ) except -1:
        """Add each run of *width* pieces, with *gap* bytes between two; a shorter text is one.

        If *repeated*, those that are there already count again.
        """
        cdef uint32_t run, start, last, length
        cdef uint32_t most = pieces.count - width + 1 if pieces.count > width else pieces.count > 0
        cdef uint64_t hash
        cdef Run *found
        self.make_room(most)
        for run in range(most):
            start = pieces.ends[run - 1] + gap if run else 0
            last = min(run + width, pieces.count) - 1
            length = pieces.ends[last] - start
            hash = murmur3_x64(pieces.text + start, length)
            if not repeated:
                found = put_run(self.held, self.slots, Run(hash, number + 1, False))
                if found == NULL:
                    continue
                if pieces.have_hidden:
                    found.is_hidden = has_hidden(pieces.text + start, length)
            count(self.planes, hash)
            self.total += hash
            self.count += 1
        return 0

    cdef int make_room(self, size_t more) except -1:
        cdef size_t slot, slots = max(self.slots, 256)
        cdef Run *larger
        while slots < 2 * (self.count + more):
            slots *= 2
        if slots == self.slots:
            return 0
        larger = <Run *>PyMem_Calloc(slots, sizeof(Run))
        if larger == NULL:
            raise MemoryError
        for slot in range(self.slots):
            if self.held[slot].text:
                put_run(larger, slots, self.held[slot])
        PyMem_Free(self.held)
        self.held, self.slots = larger, slots
        return 0

    cdef uint64_t simhash(self) noexcept:
        """Return the bits whose count is more than half of the runs."""
        cdef uint64_t found = 0, ones
        cdef int bit, plane
        for bit in range(64):
            ones = 0
            for plane in range(PLANES):
                ones |= (self.planes[plane] >> bit & 1) << plane
            if 2 * ones > self.count:
                found |= 1ULL << bit
        return found

    cdef list lowest(self, size_t most):
        """Return the lowest *most* hashes, in order, each with the number of its text.

        And whether a run is hidden.
        """
        cdef Run *chosen = <Run *>PyMem_Malloc((self.count + 1) * sizeof(Run))
        cdef size_t at, found = 0
        if chosen == NULL:
            raise MemoryError
        # They are spread evenly: twice as many as are wanted are below this, and easily sorted.
        if self.count > 4 * most:
            found = self.choose(chosen, (<uint64_t>-1 // self.count) * 2 * most)
        if found < most:
            found = self.choose(chosen, <uint64_t>-1)
        qsort(chosen, found, sizeof(Run), compare_runs)
        lowest = [
            (chosen[at].hash, chosen[at].text - 1, chosen[at].is_hidden)
            for at in range(min(found, most))
        ]
        PyMem_Free(chosen)
        return lowest

    cdef size_t choose(self, Run *chosen, uint64_t limit) noexcept:
        """Copy the runs up to a hash; return how many."""
        cdef size_t slot, found = 0
        for slot in range(self.slots):
            if self.held[slot].text and self.held[slot].hash <= limit:
                chosen[found] = self.held[slot]
                found += 1
        return found


def simhash_of_words(str normalised, int width, bint repeated):
    """Return the 64-bit simhash of a normalised text, its tokens in UTF-8, and their number.

    Features are the runs of *width* tokens; one that occurs several times counts once, or each
    time if *repeated*.  Tokens are joined by one space.
    """
    cdef Pieces tokens = Pieces(PyUnicode_GET_LENGTH(normalised))
    cdef Runs runs = Runs()
    cut(normalised, tokens)
    runs.take(tokens, width, 1, 0, repeated)
    joined = PyBytes_FromStringAndSize(<char *>tokens.text, tokens.length)
    return runs.simhash(), joined, tokens.count


def sample_runs(list texts, int words, int characters, size_t most):
    """Return the simhash, the sum and the number of the different runs of words in all texts.

    And the lowest *most* hashes, in order, each with the number of the first text that has it, and
    whether something in it is hidden (``events.MARK``).
    White space separates words; in a run, one space joins them.  An empty word is put before the
    first word and after the last.  Of a text with a mark, the runs are of *characters* characters,
    and white space does not count.  A shorter text makes one run.
    """
    cdef Runs runs = Runs()
    cdef Pieces pieces
    cdef uint32_t number
    cdef bint of_characters
    for number, (text, of_characters) in enumerate(texts):
        pieces = Pieces(PyUnicode_GET_LENGTH(text))
        split(text, of_characters, pieces)
        runs.take(pieces, characters if of_characters else words, not of_characters, number, False)
    return runs.simhash(), runs.total, runs.count, runs.lowest(most)


cdef int split(str text, bint of_characters, Pieces pieces) noexcept:
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
        if character == HIDDEN:
            pieces.have_hidden = True
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


cdef int cut(str text, Pieces tokens) except -1:
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
