# The lines of one table: the line of a fingerprint, and how entries are added and removed.
# compiled.pyx includes this file, and builds on it.

# ---- addresses

cdef inline uint64_t address_of(const Table *table, uint64_t fingerprint) noexcept nogil:
    cdef uint64_t key = 0
    cdef int part
    for part in range(table.parts):
        key |= (fingerprint >> table.shifts[part]) & table.masks[part]
    key ^= key >> table.fold
    if table.radius == 0:
        key = (key * MULTIPLIER) & table.key_mask
        key ^= key >> table.fold
    return key


cdef inline uint64_t line_number(const Table *table, uint64_t address) noexcept nogil:
    cdef uint64_t number = address & ((2ULL << table.level) - 1)
    if number >= table.lines:
        number &= (1ULL << table.level) - 1
    return number


cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define HIGHEST_BIT(x) (63 - __builtin_clzll(x))
    #else
    static int HIGHEST_BIT(uint64_t x) { int n = -1; while (x) { x >>= 1; n++; } return n; }
    #endif
    """
    int HIGHEST_BIT(uint64_t x) noexcept nogil


cdef inline int segment_of(uint64_t number) noexcept nogil:
    """Return the segment of a line: each one after segment 0 has as many lines as all before it."""
    if number >> FIRST_SEGMENT_BITS == 0:
        return 0
    return HIGHEST_BIT(number) - FIRST_SEGMENT_BITS + 1


cdef inline uint64_t segment_start(int segment) noexcept nogil:
    return 0 if segment == 0 else 1ULL << (segment + FIRST_SEGMENT_BITS - 1)


cdef inline uint64_t segment_lines(int segment) noexcept nogil:
    return 1ULL << FIRST_SEGMENT_BITS if segment == 0 else segment_start(segment)


cdef inline Line *line_at(const Table *table, uint64_t number) noexcept nogil:
    cdef int segment = segment_of(number)
    return &table.segments[segment][number - segment_start(segment)]


cdef inline uint32_t *items_at(const Table *table, uint64_t number) noexcept nogil:
    """Return the place of the items of a line's 7 slots; NULL except in the first table."""
    cdef int segment = segment_of(number)
    if not table.has_items:
        return NULL
    return &table.items[segment][(number - segment_start(segment)) * INLINE_SLOTS]


cdef void set_flips(Table *table) noexcept nogil:
    """Note the differences between the address of a key and those of the keys one bit away.

    Only the bits that choose a line count, so equal differences are noted once.
    """
    cdef uint64_t within = (2ULL << table.level) - 1
    cdef uint64_t bit = 1, flip
    cdef int i
    table.flips = 1
    table.flip[0] = 0
    if table.radius == 0:
        return
    while bit and bit & table.key_mask:
        flip = (bit ^ (bit >> table.fold)) & within
        for i in range(table.flips):
            if table.flip[i] == flip:
                break
        else:
            table.flip[table.flips] = <uint32_t>flip
            table.flips += 1
        bit <<= 1


# ---- lines and runs

cdef inline uint64_t *run_of(const Line *line) noexcept nogil:
    return <uint64_t *><uintptr_t>line.slots[INLINE_WITH_RUN]


cdef inline uint32_t *run_items(const Line *line) noexcept nogil:
    return <uint32_t *>(run_of(line) + line.capacity)


cdef inline size_t run_size(const Table *table, uint32_t capacity) noexcept nogil:
    return <size_t>capacity * (12 if table.has_items else 8)


cdef inline uint64_t entry(const Line *line, uint32_t i) noexcept nogil:
    if line.capacity and i >= INLINE_WITH_RUN:
        return run_of(line)[i - INLINE_WITH_RUN]
    return line.slots[i]


cdef inline uint32_t entry_item(const Line *line, const uint32_t *items, uint32_t i) noexcept nogil:
    if line.capacity and i >= INLINE_WITH_RUN:
        return run_items(line)[i - INLINE_WITH_RUN]
    return items[i]


cdef inline void put(
    Line *line, uint32_t *items, uint32_t i, uint64_t fingerprint, uint32_t item
) noexcept nogil:
    if line.capacity and i >= INLINE_WITH_RUN:
        run_of(line)[i - INLINE_WITH_RUN] = fingerprint
        if items != NULL:
            run_items(line)[i - INLINE_WITH_RUN] = item
    else:
        line.slots[i] = fingerprint
        if items != NULL:
            items[i] = item


cdef int find(const Line *line, uint64_t fingerprint) noexcept nogil:
    """Return the position of a fingerprint in a line, -1 if it is not there."""
    cdef const uint64_t *run
    cdef uint32_t inline_count = min(line.count, <uint32_t>INLINE_WITH_RUN) if line.capacity else line.count
    cdef uint32_t i
    for i in range(inline_count):
        if line.slots[i] == fingerprint:
            return <int>i
    if line.capacity and line.count > INLINE_WITH_RUN:
        run = run_of(line)
        for i in range(line.count - INLINE_WITH_RUN):
            if run[i] == fingerprint:
                return <int>i + INLINE_WITH_RUN
    return -1


cdef bint resize_run(Table *table, Line *line, uint32_t *items, uint32_t capacity) noexcept nogil:
    """Move a line's entries from the 7th on to a run of *capacity*, or back inline if it is 0.

    Return False if memory is short; then nothing has changed.
    """
    cdef uint64_t *old = run_of(line) if line.capacity else NULL
    cdef uint64_t *run
    cdef uint32_t had = line.capacity
    cdef uint32_t beyond = line.count - INLINE_WITH_RUN if line.count > INLINE_WITH_RUN else 0
    if capacity:
        if items != NULL and had > capacity:
            memmove(old + capacity, old + had, beyond * sizeof(uint32_t))
        run = <uint64_t *>realloc(old, run_size(table, capacity))
        if run == NULL:
            if had <= capacity:
                return False
            run = old  # longer than it need be
        if items != NULL and 0 < had < capacity:
            memmove(run + capacity, run + had, beyond * sizeof(uint32_t))
        if had == 0 and beyond:
            run[0] = line.slots[INLINE_WITH_RUN]
            if items != NULL:
                (<uint32_t *>(run + capacity))[0] = items[INLINE_WITH_RUN]
        line.slots[INLINE_WITH_RUN] = <uint64_t><uintptr_t>run
    else:
        if beyond:
            if items != NULL:
                items[INLINE_WITH_RUN] = run_items(line)[0]
            line.slots[INLINE_WITH_RUN] = old[0]
        free(old)
    line.capacity = capacity
    table.run_bytes += run_size(table, capacity)
    table.run_bytes -= run_size(table, had)
    return True


cdef inline bint has_room(const Line *line) noexcept nogil:
    if line.capacity:
        return line.count - INLINE_WITH_RUN < line.capacity
    return line.count < INLINE_SLOTS


cdef bint make_room(Table *table, uint64_t number) noexcept nogil:
    """Make sure that a line can take one more entry; return False if memory is short."""
    cdef Line *line = line_at(table, number)
    if has_room(line):
        return True
    # In place, if the memory behind the run is free.  Steps of an eighth would take 5 bytes more for
    # each fingerprint, and 0.5 us less to add one (4 million with keys of 16 bits: runs of 55).
    return resize_run(
        table, line, items_at(table, number), line.capacity + line.capacity // 64 + 2
    )


cdef void append(Table *table, uint64_t number, uint64_t fingerprint, uint32_t item) noexcept nogil:
    """Add an entry to a line that has room."""
    cdef Line *line = line_at(table, number)
    put(line, items_at(table, number), line.count, fingerprint, item)
    line.count += 1
    table.entries += 1


cdef void take_out(Table *table, uint64_t number, uint32_t i) noexcept nogil:
    """Remove one entry of a line; the last entry takes its place."""
    cdef Line *line = line_at(table, number)
    cdef uint32_t *items = items_at(table, number)
    cdef uint32_t last = line.count - 1
    put(line, items, i, entry(line, last), 0 if items == NULL else entry_item(line, items, last))
    line.count = last
    table.entries -= 1
    if line.capacity and line.count <= INLINE_WITH_RUN:
        resize_run(table, line, items, 0)


cdef bint grow(Table *table) noexcept nogil:
    """Split one line in two if the table is full; return False if memory is short."""
    cdef uint64_t added = table.lines
    cdef uint64_t bit = 1ULL << table.level
    cdef uint64_t number = added - bit
    cdef int segment = segment_of(added)
    cdef Line *line
    cdef Line *other
    cdef uint32_t *items
    cdef uint32_t *other_items
    cdef uint32_t i, kept = 0, moved = 0, item = 0
    cdef uint64_t fingerprint
    if table.entries <= ENTRIES_A_LINE * table.lines or table.lines >= table.most_lines:
        return True
    if table.segments[segment] == NULL and not add_segment(table, segment):
        return False
    line, items = line_at(table, number), items_at(table, number)
    other, other_items = line_at(table, added), items_at(table, added)
    for i in range(line.count):
        moved += (address_of(table, entry(line, i)) & bit) != 0
    if moved > INLINE_SLOTS and not resize_run(
        table, other, other_items, moved - INLINE_WITH_RUN
    ):
        return False
    for i in range(line.count):
        fingerprint = entry(line, i)
        if items != NULL:
            item = entry_item(line, items, i)
        if address_of(table, fingerprint) & bit:
            put(other, other_items, other.count, fingerprint, item)
            other.count += 1
        else:
            put(line, items, kept, fingerprint, item)
            kept += 1
    line.count = kept
    if line.capacity:
        if kept <= INLINE_SLOTS:
            resize_run(table, line, items, 0)
        elif moved:
            resize_run(table, line, items, kept - INLINE_WITH_RUN)
    table.lines += 1
    if table.lines == 2 * bit:
        table.level += 1
        set_flips(table)
    else:
        # The lines of the next split, a few additions from now: they will be in the cache by then.
        PREFETCH(line_at(table, number + 1))
        if segment_of(table.lines) == segment:
            PREFETCH(line_at(table, table.lines))
    return True


cdef bint fill(
    Table *table,
    const uint64_t *fingerprints,
    const uint32_t *items,
    Py_ssize_t count,
    Filling *filling,
) noexcept nogil:
    """Fill an empty table that has all its lines; return False if memory is short.

    The first table marks repeated fingerprints; all tables leave them out.
    """
    cdef uint64_t number, j, start, end = 0
    cdef uint32_t i
    cdef Line *line
    cdef Pair *pair
    memset(filling.ends, 0, (table.lines + 1) * sizeof(uint64_t))
    for i in range(count):
        if not filling.is_repeated[i]:
            filling.ends[line_number(table, address_of(table, fingerprints[i])) + 1] += 1
    for number in range(table.lines):
        filling.ends[number + 1] += filling.ends[number]
    # ends[number] is the beginning of a line's part; the loop moves it to the end of that part.
    for i in range(count):
        if not filling.is_repeated[i]:
            number = line_number(table, address_of(table, fingerprints[i]))
            pair = &filling.pairs[filling.ends[number]]
            pair.fingerprint = fingerprints[i]
            pair.item = <uint64_t>i << 32 | items[i]
            filling.ends[number] += 1
    for number in range(table.lines):
        start, end = end, filling.ends[number]
        line = line_at(table, number)
        if end - start > INLINE_SLOTS and not resize_run(
            table, line, items_at(table, number), <uint32_t>(end - start - INLINE_WITH_RUN)
        ):
            return False
        for j in range(start, end):
            pair = &filling.pairs[j]
            if table.has_items and find(line, pair.fingerprint) >= 0:
                filling.is_repeated[pair.item >> 32] = 1
            else:
                append(table, number, pair.fingerprint, <uint32_t>pair.item)
        if line.capacity and line.count <= INLINE_WITH_RUN:
            resize_run(table, line, items_at(table, number), 0)
    return True


cdef void clear(Table *table) noexcept nogil:
    """Remove all entries of a table."""
    cdef uint64_t number
    cdef Line *line
    for number in range(table.lines):
        line = line_at(table, number)
        line.count = 0
        if line.capacity:
            resize_run(table, line, items_at(table, number), 0)
    table.entries = 0


cdef bint add_segment(Table *table, int segment) noexcept nogil:
    cdef size_t lines = segment_lines(segment)
    table.segments[segment] = <Line *>lines_alloc(lines * sizeof(Line))
    if table.segments[segment] == NULL:
        return False
    if table.has_items:
        table.items[segment] = <uint32_t *>lines_alloc(lines * INLINE_SLOTS * sizeof(uint32_t))
        if table.items[segment] == NULL:
            lines_free(table.segments[segment], lines * sizeof(Line))
            table.segments[segment] = NULL
            return False
    return True


cdef void free_table(Table *table) noexcept nogil:
    cdef uint64_t number
    cdef size_t lines
    cdef int segment
    for number in range(table.lines):
        if line_at(table, number).capacity:
            free(run_of(line_at(table, number)))
    for segment in range(SEGMENTS):
        lines = segment_lines(segment)
        if table.segments[segment] != NULL:
            lines_free(table.segments[segment], lines * sizeof(Line))
        if table.items[segment] != NULL:
            lines_free(table.items[segment], lines * INLINE_SLOTS * sizeof(uint32_t))
