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


cdef void turn_key_up(Table *table, uint64_t mask) noexcept nogil:
    """Choose the turn that leaves the fewest bits of the key in the low half, then the highest."""
    cdef uint64_t turned, best = 0
    cdef int turn, low, fewest = 64
    for turn in range(64):
        turned = turn_left(mask, turn)
        low = bits(<uint32_t>turned)
        if low < fewest or (low == fewest and turned > best):
            fewest, best, table.turn = low, turned, turn
    table.is_apart = fewest == 0
    table.key_shift = 64 - bits(mask)
    table.may_pack = (
        table.radius == 1 and 16 <= bits(mask) <= MAX_LINE_BITS and best == ones(table.key_shift) ^ ~0ULL
    )


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

cdef inline size_t run_size(
    const Table *table, uint32_t capacity, bint is_packed
) noexcept nogil:
    return <size_t>capacity * ((6 if is_packed else 8) + (4 if table.has_items else 0))


cdef inline bint packs(const Table *table) noexcept nogil:
    """Whether all entries of a line have the same key now, and so the same highest bits."""
    return table.may_pack and table.lines == table.most_lines


cdef bint new_run(Table *table, Line *line, uint32_t capacity) noexcept nogil:
    """Give a line another run; return False if memory is short."""
    cdef bint is_packed = packs(table)
    cdef size_t size = run_size(table, capacity, is_packed)
    cdef bint is_pooled = table.lines >= POOL_LINES and fits_pool(size)
    cdef void *run
    if is_pooled and table.pool == NULL:
        table.pool = <Pool *>calloc(1, sizeof(Pool))
        if table.pool == NULL:
            return False
    run = pool_alloc(table.pool, size) if is_pooled else malloc(size)
    if run == NULL:
        return False
    line.slots[INLINE_WITH_RUN] = <uint64_t><uintptr_t>run
    line.capacity, line.is_packed, line.is_pooled = capacity, is_packed, is_pooled
    return True


cdef void free_run(Table *table, const Line *line) noexcept nogil:
    if line.is_pooled:
        pool_free(table.pool, line_run(line))
    else:
        free(line_run(line))


cdef inline uint64_t turned_key(const Table *table, uint64_t number) noexcept nogil:
    """Return the key of a line in a table that packs, at its place in a turned fingerprint."""
    return (number ^ number >> table.fold) << table.key_shift


cdef inline uint64_t entry(
    const Table *table, const Line *line, uint64_t number, uint32_t i
) noexcept nogil:
    if line.capacity and i >= INLINE_WITH_RUN:
        return turn_left(
            run_entry(line, i - INLINE_WITH_RUN, turned_key(table, number)), -table.turn & 63
        )
    return line.slots[i]


cdef inline uint32_t entry_item(const Line *line, const uint32_t *items, uint32_t i) noexcept nogil:
    if items == NULL:
        return 0
    if line.capacity and i >= INLINE_WITH_RUN:
        return run_items(line)[i - INLINE_WITH_RUN]
    return items[i]


cdef inline void put(
    const Table *table, Line *line, uint32_t *items, uint32_t i, uint64_t fingerprint, uint32_t item
) noexcept nogil:
    if line.capacity and i >= INLINE_WITH_RUN:
        run_put(line, i - INLINE_WITH_RUN, turn_left(fingerprint, table.turn))
        if items != NULL:
            run_items(line)[i - INLINE_WITH_RUN] = item
    else:
        line.slots[i] = fingerprint
        if items != NULL:
            items[i] = item


cdef int find(const Table *table, const Line *line, uint64_t fingerprint) noexcept nogil:
    """Return the position of a fingerprint in its line, -1 if it is not there."""
    cdef uint64_t turned = turn_left(fingerprint, table.turn)
    cdef const uint32_t *low
    cdef uint32_t inline_count = min(line.count, line_inline_count(line))
    cdef uint32_t i
    for i in range(inline_count):
        if line.slots[i] == fingerprint:
            return <int>i
    if line.capacity and line.count > INLINE_WITH_RUN:
        low = line_run(line)
        for i in range(line.count - INLINE_WITH_RUN):
            if low[i] == <uint32_t>turned and run_entry(line, i, turned) == turned:
                return <int>i + INLINE_WITH_RUN
    return -1


cdef bint resize_run(Table *table, uint64_t number, uint32_t capacity) noexcept nogil:
    """Move a line's entries from the 7th on to a run of *capacity*, or back inline if it is 0.

    Return False if memory is short; then nothing has changed.
    """
    cdef Line *line = line_at(table, number)
    cdef uint32_t *items = items_at(table, number)
    cdef Line old = line[0]
    cdef uint32_t i
    # Even, so that items after high halves of 2 bytes are aligned.
    capacity += capacity & 1
    if not capacity:
        line.capacity = 0
    elif not new_run(table, line, capacity):
        return False
    if capacity and old.capacity and line.is_packed == old.is_packed:
        run_copy(line, &old, old.count - INLINE_WITH_RUN, table.has_items)
    else:
        for i in range(INLINE_WITH_RUN, old.count):
            put(table, line, items, i, entry(table, &old, number, i), entry_item(&old, items, i))
    table.run_bytes += run_size(table, line.capacity, line.is_packed)
    table.run_bytes -= run_size(table, old.capacity, old.is_packed)
    if old.capacity:
        free_run(table, &old)
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
    return resize_run(table, number, line.capacity + line.capacity // 16 + 2)


cdef void append(Table *table, uint64_t number, uint64_t fingerprint, uint32_t item) noexcept nogil:
    """Add an entry to a line that has room."""
    cdef Line *line = line_at(table, number)
    put(table, line, items_at(table, number), line.count, fingerprint, item)
    line.count += 1
    table.entries += 1


cdef void take_out(Table *table, uint64_t number, uint32_t i) noexcept nogil:
    """Remove one entry of a line; the last entry takes its place."""
    cdef Line *line = line_at(table, number)
    cdef uint32_t *items = items_at(table, number)
    cdef uint32_t last = line.count - 1
    put(table, line, items, i, entry(table, line, number, last), entry_item(line, items, last))
    line.count = last
    table.entries -= 1
    if line.capacity and line.count <= INLINE_WITH_RUN:
        resize_run(table, number, 0)


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
    cdef uint32_t i, kept = 0, moved = 0, item
    cdef uint64_t fingerprint
    if table.entries <= ENTRIES_A_LINE * table.lines or table.lines >= table.most_lines:
        return True
    if table.segments[segment] == NULL and not add_segment(table, segment):
        return False
    line, items = line_at(table, number), items_at(table, number)
    other, other_items = line_at(table, added), items_at(table, added)
    for i in range(line.count):
        moved += (address_of(table, entry(table, line, number, i)) & bit) != 0
    if moved > INLINE_SLOTS and not resize_run(table, added, moved - INLINE_WITH_RUN):
        return False
    for i in range(line.count):
        fingerprint = entry(table, line, number, i)
        item = entry_item(line, items, i)
        if address_of(table, fingerprint) & bit:
            put(table, other, other_items, other.count, fingerprint, item)
            other.count += 1
        else:
            put(table, line, items, kept, fingerprint, item)
            kept += 1
    line.count = kept
    if line.capacity:
        if kept <= INLINE_SLOTS:
            resize_run(table, number, 0)
        elif moved:
            resize_run(table, number, kept - INLINE_WITH_RUN)
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
    cdef bint is_sorted, is_repeat
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
            table, number, <uint32_t>(end - start - INLINE_WITH_RUN)
        ):
            return False
        # A line that was flooded may have a million: to look for each among those before takes n^2.
        is_sorted = table.has_items and end - start > LONG_LINE
        if is_sorted:
            qsort(&filling.pairs[start], end - start, sizeof(Pair), compare_pairs)
        for j in range(start, end):
            pair = &filling.pairs[j]
            if is_sorted:
                is_repeat = j > start and filling.pairs[j - 1].fingerprint == pair.fingerprint
            else:
                is_repeat = table.has_items and find(table, line, pair.fingerprint) >= 0
            if is_repeat:
                filling.is_repeated[pair.item >> 32] = 1
            else:
                append(table, number, pair.fingerprint, <uint32_t>pair.item)
        if line.capacity and line.count <= INLINE_WITH_RUN:
            resize_run(table, number, 0)
    return True


cdef void clear(Table *table) noexcept nogil:
    """Remove all entries of a table."""
    cdef uint64_t number
    cdef Line *line
    for number in range(table.lines):
        line = line_at(table, number)
        line.count = 0
        if line.capacity:
            resize_run(table, number, 0)
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
            free_run(table, line_at(table, number))
    for segment in range(SEGMENTS):
        lines = segment_lines(segment)
        if table.segments[segment] != NULL:
            lines_free(table.segments[segment], lines * sizeof(Line))
        if table.items[segment] != NULL:
            lines_free(table.items[segment], lines * INLINE_SLOTS * sizeof(uint32_t))
    pool_drop(table.pool)
