# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=False
"""The permuted tables in lines of one cache line each, which grow one line at a time.

A table is an array of lines (_scan.h), addressed by the key.  It grows by linear hashing (Litwin,
"Linear hashing: a new tool for file and table addressing", VLDB 1980): an addition moves the
entries of at most one line.  Entries that do not fit into a line are in one run elsewhere::

    key bits         k31 ... k16 | k15 ... k0
    address          k15^k31, ..., k0^k16          its lowest bits, enough for all lines

By this folding, all bits of the key count, even if they are unevenly distributed.  A key one bit
away still has an address one bit away: a table with radius 1 reads as many lines as its addresses
have bits, not as many as its key has.  A table with radius 0 mixes its key further.

Only the first table stores items; a match in another table is looked up there.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memset

import sys
from array import array
from bisect import insort

from scrapy_simhash.tables.design import ENTRIES_A_LINE as _ENTRIES_A_LINE
from scrapy_simhash.tables.design import check_distance, split_design
from scrapy_simhash.tables.reference import (
    ALL_MATCHES,
    Match,
    check_fingerprint,
    check_item,
)


cdef extern from "_scan.h":
    enum: INLINE_SLOTS
    enum: SCAN_ALL
    enum: SCAN_CLOSEST
    ctypedef struct Line:
        uint32_t count
        uint32_t capacity
        bint is_packed
        bint is_pooled
        uint64_t slots[7]
    ctypedef struct Place:
        const Line *line
        uint64_t turned
        int turn
        int errors
    ctypedef struct Found:
        uint64_t *items
        uint32_t count
        uint32_t capacity
        uint32_t most
    ctypedef int (*ScanPlaces)(
        const Place *, uint32_t, uint64_t, int, int, Found *
    ) noexcept nogil
    ctypedef struct Scanner:
        const char *name
        ScanPlaces scan
    uint64_t turn_left(uint64_t x, int turn) noexcept nogil
    uint32_t line_inline_count(const Line *line) noexcept nogil
    uint32_t *line_run(const Line *line) noexcept nogil
    uint64_t run_entry(const Line *line, uint32_t i, uint64_t turned) noexcept nogil
    void run_put(Line *line, uint32_t i, uint64_t turned) noexcept nogil
    uint32_t *run_items(const Line *line) noexcept nogil
    void run_copy(Line *line, const Line *old, uint32_t count, bint has_items) noexcept nogil
    enum: MAX_SCANNERS
    enum: MOST_PLACES
    int scan_list(Scanner *scanners) noexcept nogil
    void PREFETCH(const void *address) noexcept nogil
    int bits "count_bits_portable"(uint64_t x) noexcept nogil


cdef extern from "_memory.h":
    void *lines_alloc(size_t size) noexcept nogil
    void lines_free(void *memory, size_t size) noexcept nogil
    ctypedef struct Pool:
        pass
    bint fits_pool(size_t bytes) noexcept nogil
    void *pool_alloc(Pool *pool, size_t bytes) noexcept nogil
    void pool_free(Pool *pool, void *memory) noexcept nogil
    long pool_count(const Pool *pool) noexcept nogil
    void pool_drop(Pool *pool) noexcept nogil


cdef object tuple_new = tuple.__new__

cdef enum:
    FIRST_SEGMENT_BITS = 1  # a table begins with 2 lines: an index may have 100,000 tables
    SEGMENTS = 32
    MAX_LINE_BITS = 31  # there are at most 2**32 items, five for each line
    MAX_TABLES = 64  # MOST_PLACES of _scan.h are these times MAX_FLIPS
    MAX_PARTS = 32
    MAX_FLIPS = 33  # one for each bit of an address, and one for the address itself
    INLINE_WITH_RUN = 6  # entries in a line whose last slot points to a run
    POOL_LINES = 65536  # a table with fewer has no pool, which takes 2 MB at least
    LONG_LINE = 1000  # more entries of a line are sorted to find those that are repeated
    BATCH = 8  # number of queries whose lines are fetched together
    TOO_FEW = -2  # a scan returns this if memory is short

cdef uint64_t ENTRIES_A_LINE = _ENTRIES_A_LINE
# From splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
# OOPSLA 2014); any odd number with mixed bits would do.
cdef uint64_t MULTIPLIER = 0xBF58476D1CE4E5B9ULL

cdef Scanner scanners[MAX_SCANNERS]
cdef int scanner_count = scan_list(scanners)
cdef ScanPlaces scan = scanners[0].scan

# The ways in which this processor can compare fingerprints, the quickest first; that one is used.
SCANNERS = [scanners[i].name.decode() for i in range(scanner_count)]


def use_scanner(str name):
    """Use another one of SCANNERS from now on; for tests."""
    global scan
    scan = scanners[SCANNERS.index(name)].scan


cdef struct Table:
    # The parts of a fingerprint that form the key, each with the shift to its place.
    int parts
    signed char shifts[MAX_PARTS]
    uint64_t masks[MAX_PARTS]
    uint64_t key_mask
    int fold
    int radius
    bint has_items
    # How far fingerprints in runs are turned to the left; whether the low half then has none of the
    # key; where the key is, if it is in one piece; and whether the highest 16 bits are of the key.
    int turn
    bint is_apart
    int key_shift
    bint may_pack
    # Lines: 2**level <= lines < 2**(level + 1), at most one for each key.
    int level
    uint64_t lines
    uint64_t most_lines
    uint64_t entries
    uint64_t run_bytes
    Pool *pool  # NULL while the table is small
    int flips
    uint32_t flip[MAX_FLIPS]
    Line *segments[SEGMENTS]
    uint32_t *items[SEGMENTS]


cdef struct Pair:
    uint64_t fingerprint
    uint64_t item


cdef struct Filling:
    # Fingerprints in the order of their lines, each with its place in the input and its item; the
    # end of each line's fingerprints; and which places of the input repeat a fingerprint.
    Pair *pairs
    uint64_t *ends
    unsigned char *is_repeated


cdef struct Scratch:
    Place *places
    Found found


include "compiled_lines.pxi"


cdef Scratch new_scratch(size_t most_places) except *:
    cdef Scratch scratch
    scratch.found.items = NULL
    scratch.found.count = scratch.found.capacity = scratch.found.most = 0
    scratch.places = <Place *>malloc(most_places * sizeof(Place))
    if scratch.places == NULL:
        raise MemoryError
    return scratch


# For queries of one fingerprint, which hold the interpreter's lock.  All objects share it, since an
# index has two CompiledTables for each scope.
cdef Scratch single = new_scratch(MOST_PLACES)


cdef class CompiledTables:
    """The same as :class:`~scrapy_simhash.tables.reference.ReferenceTables`, but much faster.

    Items are ints from 0 to 2**32 - 1.  Cost, with t tables over n fingerprints: a query
    reads one line of 64 bytes in each table, or log2(n) lines if its radius is 1.  Adding and
    removing touch t lines, and adding splits at most one line of each table.

    :raises MemoryError: (any addition) memory is short; the tables are as they were.
    """

    cdef readonly int distance
    cdef readonly object tables
    cdef Table *_tables
    cdef int _table_count
    cdef dict _younger
    cdef Py_ssize_t _younger_count
    cdef int _readers

    def __cinit__(self, distance, tables=None):
        check_distance(distance)
        self.distance = distance
        self.tables = tuple(split_design(distance).tables if tables is None else tables)
        self._younger = {}
        if len(self.tables) > MAX_TABLES:
            raise ValueError(f"tables must be at most {MAX_TABLES}: got {len(self.tables)}")
        self._tables = <Table *>PyMem_Calloc(len(self.tables), sizeof(Table))
        if self._tables == NULL:
            raise MemoryError
        for table in self.tables:
            self._add_table(table.mask, table.radius)

    def __dealloc__(self):
        cdef int i
        if self._tables != NULL:
            for i in range(self._table_count):
                free_table(&self._tables[i])
            PyMem_Free(self._tables)

    cdef int _add_table(self, uint64_t mask, int radius) except -1:
        cdef Table *table = &self._tables[self._table_count]
        cdef int low = 0, width, place = 0
        table.radius = radius
        table.has_items = self._table_count == 0
        while low < 64:
            if not mask >> low & 1:
                low += 1
                continue
            width = 0
            while low + width < 64 and mask >> (low + width) & 1:
                width += 1
            table.shifts[table.parts] = <signed char>(low - place)
            table.masks[table.parts] = ones(width) << place
            table.parts += 1
            low += width
            place += width
        table.key_mask = ones(place)
        # At least half of the key, so that no two bits fold onto a third; less than all of it.
        table.fold = max(1, min(63, (place + 1) // 2))
        turn_key_up(table, mask)
        table.most_lines = 1ULL << min(place, <int>MAX_LINE_BITS)
        table.lines = min(1ULL << FIRST_SEGMENT_BITS, table.most_lines)
        table.level = HIGHEST_BIT(table.lines)
        set_flips(table)
        if not add_segment(table, 0):
            raise MemoryError
        self._table_count += 1
        return 0

    # ---- one fingerprint

    def __len__(self):
        """Return the number of stored items."""
        return self._tables[0].entries + self._younger_count

    @property
    def nbytes(self):
        """Bytes of memory that the tables take."""
        cdef size_t total = sizeof(Table) * self._table_count
        cdef Table *table
        cdef int i
        for i in range(self._table_count):
            table = &self._tables[i]
            total += table.lines * sizeof(Line) + table.run_bytes
            if table.has_items:
                total += table.lines * INLINE_SLOTS * sizeof(uint32_t)
        total += sys.getsizeof(self._younger)
        return total + sum(sys.getsizeof(items) + 32 * len(items) for items in self._younger.values())

    def add(self, fingerprint, item):
        """Store *item*; storing it twice under one fingerprint changes nothing.

        :raises ValueError: the fingerprint or the item is out of range.
        """
        cdef uint64_t value = to_fingerprint(fingerprint)
        cdef uint32_t number = to_item(item)
        self._refuse_while_read()
        cdef int added = self._try_add(value, number)
        if added < 0:
            raise MemoryError
        if not added:
            self._add_younger(value, number)

    def remove(self, fingerprint, item):
        """Forget *item*.

        :raises KeyError: it is not stored under *fingerprint*.
        """
        cdef uint64_t value = to_fingerprint(fingerprint)
        cdef uint64_t number
        cdef int i, place
        cdef Table *table
        self._refuse_while_read()
        cdef uint32_t *first = self._item(value)
        younger = self._younger.get(fingerprint, [])
        if first == NULL or (first[0] != item and item not in younger):
            raise KeyError(f"item {item} is not stored under fingerprint {value:016x}")
        if younger:
            if first[0] == item:
                first[0] = younger.pop(0)
            else:
                younger.remove(item)
            self._younger_count -= 1
            if not younger:
                del self._younger[fingerprint]
            return
        for i in range(self._table_count):
            table = &self._tables[i]
            number = line_number(table, address_of(table, value))
            place = find(table, line_at(table, number), value)
            take_out(table, number, place)

    def nearest(self, fingerprint):
        """Return the closest item, the oldest of several; None if none is near enough."""
        cdef uint64_t value = to_fingerprint(fingerprint)
        if not self._search(value, SCAN_CLOSEST):
            return None
        return self._oldest(value)

    def matches(self, fingerprint, uint32_t most=ALL_MATCHES):
        """Return every item within the distance, closest first, then oldest; or *most* of them."""
        cdef uint64_t value = to_fingerprint(fingerprint)
        cdef uint32_t i
        single.found.most = most
        cdef uint32_t count = self._search(value, SCAN_ALL)
        found = []
        for near in {single.found.items[i] for i in range(count)}:
            distance = (near ^ fingerprint).bit_count()
            found.append(new_match(distance, self._item(near)[0], near))
            for item in self._younger.get(near, ())[:most]:
                found.append(new_match(distance, item, near))
        found.sort()
        return found

    def check_and_add(self, fingerprint, item):
        """Return the result of :meth:`nearest`; if it is None, store *item*."""
        cdef uint64_t value = to_fingerprint(fingerprint)
        cdef uint32_t number = to_item(item)
        if self._search(value, SCAN_CLOSEST):
            return self._oldest(value)
        self._refuse_while_read()
        if self._add_new(value, number) < 0:
            raise MemoryError
        return None

    # ---- many fingerprints

    def reserve(self, uint64_t count):
        """Make room for *count* fingerprints in empty tables, which then need not grow."""
        cdef Table *table
        cdef int i, segment
        self._refuse_while_read()
        for i in range(self._table_count):
            table = &self._tables[i]
            if table.entries:
                raise ValueError(f"this must come first: the tables have {len(self)} items")
            for segment in range(1, SEGMENTS):
                if table.lines * ENTRIES_A_LINE >= count or table.lines >= table.most_lines:
                    break
                if table.segments[segment] == NULL and not add_segment(table, segment):
                    raise MemoryError
                table.lines = min(
                    table.most_lines,
                    segment_start(segment) + segment_lines(segment),
                    max(segment_start(segment), count // ENTRIES_A_LINE + 1),
                )
                table.level = HIGHEST_BIT(table.lines)
                set_flips(table)

    def add_many(self, const uint64_t[::1] fingerprints, const uint32_t[::1] items):
        """Store many items at once; only repeated fingerprints need the interpreter's lock.

        Both arguments are contiguous buffers of equal length: unsigned, of 8 and of 4 bytes.

        :raises ValueError: the numbers are of another type, or the lengths differ.
        :raises BufferError: a buffer is not contiguous.
        """
        cdef Py_ssize_t i = 0, ahead, count = fingerprints.shape[0]
        cdef int added = 1, t
        cdef Table *table
        if items.shape[0] != count:
            raise ValueError(
                f"fingerprints and items must be equally many: got {count} and {items.shape[0]}"
            )
        self._refuse_while_read()
        self._readers += 1
        try:
            while i < count:
                with nogil:
                    while i < count:
                        ahead = min(i + BATCH, count - 1)
                        for t in range(self._table_count):
                            table = &self._tables[t]
                            PREFETCH(line_at(table, line_number(
                                table, address_of(table, fingerprints[ahead])
                            )))
                        added = self._try_add(fingerprints[i], items[i])
                        if added != 1:
                            break
                        i += 1
                if i < count:
                    if added < 0:
                        raise MemoryError
                    self._add_younger(fingerprints[i], items[i])
                    i += 1
        finally:
            self._readers -= 1

    def build(self, const uint64_t[::1] fingerprints, const uint32_t[::1] items):
        """Store many items in empty tables, several times faster than :meth:`add_many`.

        The tables are filled one after the other, line by line, and each run gets the length that
        it needs.

        :raises ValueError: as :meth:`add_many`; the tables are not empty.
        """
        cdef Py_ssize_t count = fingerprints.shape[0], i
        cdef int t
        cdef bint is_done = True
        if items.shape[0] != count:
            raise ValueError(
                f"fingerprints and items must be equally many: got {count} and {items.shape[0]}"
            )
        self.reserve(count)
        if not count:
            return
        cdef uint64_t most_lines = 0
        for t in range(self._table_count):
            most_lines = max(most_lines, self._tables[t].lines)
        cdef Filling filling
        filling.ends = <uint64_t *>malloc((most_lines + 1) * sizeof(uint64_t))
        filling.pairs = <Pair *>lines_alloc(count * sizeof(Pair))
        filling.is_repeated = <unsigned char *>PyMem_Calloc(count, 1)
        self._readers += 1
        try:
            is_done = filling.ends != NULL and filling.pairs != NULL
            is_done = is_done and filling.is_repeated != NULL
            with nogil:
                for t in range(self._table_count):
                    is_done = is_done and fill(
                        &self._tables[t], &fingerprints[0], &items[0], count, &filling
                    )
            if not is_done:
                for t in range(self._table_count):
                    clear(&self._tables[t])
                raise MemoryError
            for i in range(count):
                if filling.is_repeated[i]:
                    self._add_younger(fingerprints[i], items[i])
        finally:
            self._readers -= 1
            free(filling.ends)
            lines_free(filling.pairs, count * sizeof(Pair))
            PyMem_Free(filling.is_repeated)

    def check_many(self, const uint64_t[::1] fingerprints):
        """Return, for each fingerprint, the closest stored item and its distance.

        Two arrays as long as *fingerprints* (a contiguous buffer of unsigned 8-byte numbers):
        items (typecode ``q``) and distances (``b``); both -1 if none is near enough.  The search
        runs without the interpreter's lock.  Several threads may search at once if none adds.
        """
        cdef Py_ssize_t count = fingerprints.shape[0]
        found = array("q", bytes(8 * count))
        distances = array("b", bytes(count))
        cdef int64_t[::1] items_out = found
        cdef signed char[::1] distances_out = distances
        cdef Scratch scratch = new_scratch(self._table_count * MAX_FLIPS * BATCH)
        cdef bint is_done
        self._readers += 1
        try:
            with nogil:
                is_done = self._search_many(fingerprints, items_out, distances_out, &scratch)
        finally:
            self._readers -= 1
            free_scratch(&scratch)
        if not is_done:
            raise MemoryError
        return found, distances

    # ---- parts of these

    cdef inline uint32_t _collect(self, uint64_t fingerprint, Place *places) noexcept nogil:
        """Note the places that a query reads, and prefetch their lines."""
        cdef uint32_t count = 0
        cdef uint64_t address
        cdef const Table *table
        cdef Place *place
        cdef int i, flip
        for i in range(self._table_count):
            table = &self._tables[i]
            address = address_of(table, fingerprint)
            for flip in range(table.flips):
                place = &places[count]
                place.line = line_at(table, line_number(table, address ^ table.flip[flip]))
                PREFETCH(place.line)
                place.turn = table.turn
                place.turned = turn_left(fingerprint, table.turn)
                place.errors = table.is_apart and flip > 0
                if table.may_pack and flip:
                    place.turned ^= 1ULL << (table.key_shift + flip - 1)
                count += 1
        return count

    cdef uint32_t _search(self, uint64_t fingerprint, int mode) except? 0xFFFFFFFF:
        """Fill *single.found* and return its count; a fingerprint may be in it several times."""
        cdef uint32_t count = self._collect(fingerprint, single.places)
        single.found.count = 0
        if scan(single.places, count, fingerprint, self.distance, mode, &single.found) == TOO_FEW:
            raise MemoryError
        return single.found.count

    cdef bint _search_many(
        self,
        const uint64_t[::1] fingerprints,
        int64_t[::1] items,
        signed char[::1] distances,
        Scratch *scratch,
    ) noexcept nogil:
        """Return False if memory is short."""
        cdef Py_ssize_t start = 0, count = fingerprints.shape[0]
        cdef uint32_t ends[BATCH + 1]
        cdef uint64_t nearest
        cdef int i, size
        ends[0] = 0
        while start < count:
            size = <int>min(<Py_ssize_t>BATCH, count - start)
            for i in range(size):
                ends[i + 1] = ends[i] + self._collect(
                    fingerprints[start + i], scratch.places + ends[i]
                )
            for i in range(size):
                scratch.found.count = 0
                if scan(
                    scratch.places + ends[i], ends[i + 1] - ends[i], fingerprints[start + i],
                    self.distance, SCAN_CLOSEST, &scratch.found,
                ) == TOO_FEW:
                    return False
                if scratch.found.count:
                    nearest = self._oldest_found(&scratch.found)
                    items[start + i] = self._item(nearest)[0]
                    distances[start + i] = bits(nearest ^ fingerprints[start + i])
                else:
                    items[start + i] = distances[start + i] = -1
            start += size
        return True

    cdef uint64_t _oldest_found(self, const Found *found) noexcept nogil:
        """Return the one with the oldest item, of fingerprints that are equally close."""
        cdef uint64_t best = found.items[0]
        cdef uint32_t i
        for i in range(1, found.count):
            if found.items[i] != best and self._item(found.items[i])[0] < self._item(best)[0]:
                best = found.items[i]
        return best

    cdef object _oldest(self, uint64_t fingerprint):
        cdef uint64_t best = self._oldest_found(&single.found)
        return new_match(bits(best ^ fingerprint), self._item(best)[0], best)

    cdef uint32_t *_item(self, uint64_t fingerprint) noexcept nogil:
        """Return the place of a fingerprint's oldest item, NULL if it is not stored."""
        cdef Table *table = &self._tables[0]
        cdef uint64_t number = line_number(table, address_of(table, fingerprint))
        cdef Line *line = line_at(table, number)
        cdef int place = find(table, line, fingerprint)
        if place < 0:
            return NULL
        if line.capacity and place >= INLINE_WITH_RUN:
            return &run_items(line)[place - INLINE_WITH_RUN]
        return &items_at(table, number)[place]

    cdef int _try_add(self, uint64_t fingerprint, uint32_t item) noexcept nogil:
        """Return 1, or 0 if the fingerprint is stored already, -1 if memory is short."""
        if self._item(fingerprint) != NULL:
            return 0
        return self._add_new(fingerprint, item)

    cdef int _add_new(self, uint64_t fingerprint, uint32_t item) noexcept nogil:
        """Store a fingerprint that is not there; return 1, or -1 if memory is short."""
        cdef uint64_t numbers[MAX_TABLES]
        cdef Table *table
        cdef int i
        for i in range(self._table_count):
            table = &self._tables[i]
            numbers[i] = line_number(table, address_of(table, fingerprint))
            PREFETCH(line_at(table, numbers[i]))
        for i in range(self._table_count):
            if not make_room(&self._tables[i], numbers[i]):
                return -1
        for i in range(self._table_count):
            table = &self._tables[i]
            append(table, numbers[i], fingerprint, item)
            # A table that cannot grow is slower, but still correct.
            grow(table)
        return 1

    cdef int _add_younger(self, fingerprint, item) except -1:
        """Store one more item of a fingerprint that is stored."""
        cdef uint32_t *first = self._item(fingerprint)
        younger = self._younger.get(fingerprint, ())
        if first[0] == item or item in younger:
            return 0
        oldest, other = sorted((first[0], item))
        insort(self._younger.setdefault(fingerprint, []), other)
        first[0] = oldest
        self._younger_count += 1
        return 0

    cdef int _refuse_while_read(self) except -1:
        if self._readers:
            raise RuntimeError("the tables are in use by check_many or add_many in another thread")
        return 0

    def _check(self):
        """Assert every invariant; for tests.  Cost: O(tables x fingerprints)."""
        cdef Table *table
        cdef Line *line
        cdef uint64_t number, seen, run_bytes, pooled
        cdef uint32_t i
        cdef int t
        for t in range(self._table_count):
            table = &self._tables[t]
            seen = run_bytes = pooled = 0
            assert 1ULL << table.level <= table.lines < 2ULL << table.level
            assert table.lines <= table.most_lines
            assert table.entries == self._tables[0].entries
            for number in range(table.lines):
                line = line_at(table, number)
                seen += line.count
                if line.capacity:
                    assert 0 < line.count - INLINE_WITH_RUN <= <uint32_t>line.capacity
                    run_bytes += run_size(table, line.capacity, line.is_packed)
                    pooled += line.is_pooled
                else:
                    assert line.count <= INLINE_SLOTS
                for i in range(line.count):
                    assert line_number(table, address_of(table, entry(table, line, number, i))) == number
                    assert self._item(entry(table, line, number, i)) != NULL
            assert seen == table.entries
            assert run_bytes == table.run_bytes
            assert table.pool == NULL or pool_count(table.pool) == <long>pooled
        for fingerprint, younger in self._younger.items():
            first = self._item(fingerprint)[0]
            assert younger == sorted(set(younger))
            assert first < younger[0]
        assert self._younger_count == sum(map(len, self._younger.values()))


cdef inline object new_match(distance, item, fingerprint):
    """Return a :class:`Match`, not by its constructor, which takes longer than a search."""
    return tuple_new(Match, (distance, item, fingerprint))


cdef inline uint64_t ones(int width) noexcept nogil:
    return 0xFFFFFFFFFFFFFFFFULL if width >= 64 else (1ULL << width) - 1


cdef int compare_pairs(const void *one, const void *other) noexcept nogil:
    cdef const Pair *a = <const Pair *>one
    cdef const Pair *b = <const Pair *>other
    if a.fingerprint != b.fingerprint:
        return 1 if a.fingerprint > b.fingerprint else -1
    return (a.item > b.item) - (a.item < b.item)


cdef void free_scratch(Scratch *scratch) noexcept nogil:
    free(scratch.places)
    free(scratch.found.items)


cdef inline uint64_t to_fingerprint(fingerprint) except? 0:
    if not isinstance(fingerprint, int):
        check_fingerprint(fingerprint)
    try:
        return fingerprint
    except OverflowError:
        check_fingerprint(fingerprint)
        raise


cdef inline uint32_t to_item(item) except? 0:
    if not isinstance(item, int):
        check_item(item)
    try:
        return item
    except OverflowError:
        check_item(item)
        raise
