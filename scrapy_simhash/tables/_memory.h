/* Memory of the permuted tables: lines, and a pool for the runs of a large table.
 *
 *     region   | next, bytes | block | block | free | block | ... | end |
 *     block    | size of the one before | its size, whether it is free | the run |
 *
 * Runs grow again and again, and each time move.  A free block is joined with the free ones beside
 * it at once, and is in the list of its size; an allocation takes the smallest that fits (Knuth,
 * "The Art of Computer Programming", volume 1, section 2.5, algorithm C).  malloc does the same, but
 * not in huge pages, and a search reads a run in one of 68 places.
 */
#ifndef SCRAPY_SIMHASH_MEMORY_H
#define SCRAPY_SIMHASH_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Zeroed memory that is aligned to a line.  Large pieces are mapped: the system provides each page
 * when it is first touched, and uses huge pages if it has them, for fewer TLB misses. */
#define LINE_BYTES ((size_t)64)
#define HUGE_PAGE ((size_t)1 << 21)
#define LARGE (HUGE_PAGE / 2)
#if defined(__linux__)
#include <string.h>
#include <sys/mman.h>
static void *lines_alloc(size_t bytes)
{
    void *memory;
    if (bytes < LARGE) {
        if (posix_memalign(&memory, LINE_BYTES, bytes))
            return NULL;
        return memset(memory, 0, bytes);
    }
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}
static void lines_free(void *memory, size_t bytes)
{
    if (bytes < LARGE)
        free(memory);
    else if (memory)
        munmap(memory, bytes);
}
#else
static void *lines_alloc(size_t bytes) { return calloc(1, bytes); }
static void lines_free(void *memory, size_t bytes)
{
    (void)bytes;
    free(memory);
}
#endif

/* Sizes of blocks are in units of 16 bytes, with the head.  Runs too long for a list are malloc's. */
#define UNIT ((size_t)16)
#define LISTS 1024

typedef struct Block {
    uint32_t before; /* 0 for the first of a region */
    uint32_t size : 31;
    uint32_t is_free : 1;
    struct Block *next, *last; /* in its list, if it is free */
} Block;
#define HEAD (offsetof(Block, next))

typedef struct Region {
    struct Region *next;
    size_t bytes;
    uint64_t unused; /* so that runs are aligned to a unit */
} Region;

/* List i has the free blocks of i units; the last one has all larger ones.  A bit for each list
 * tells whether it has any. */
typedef struct {
    Block *lists[LISTS];
    uint64_t filled[LISTS / 64];
    Region *regions;
    size_t bytes;
} Pool;

static inline Block *block_at(Block *block, size_t units)
{
    return (Block *)((char *)block + units * UNIT);
}

static inline uint32_t list_of(uint32_t units)
{
    return units < LISTS ? units : LISTS - 1;
}

static void block_list(Pool *pool, Block *block)
{
    uint32_t list = list_of(block->size);
    block->is_free = 1;
    block->last = NULL;
    block->next = pool->lists[list];
    if (block->next)
        block->next->last = block;
    pool->lists[list] = block;
    pool->filled[list / 64] |= (uint64_t)1 << list % 64;
}

static void block_unlist(Pool *pool, Block *block)
{
    uint32_t list = list_of(block->size);
    block->is_free = 0;
    if (block->next)
        block->next->last = block->last;
    if (block->last)
        block->last->next = block->next;
    else if (!(pool->lists[list] = block->next))
        pool->filled[list / 64] &= ~((uint64_t)1 << list % 64);
}

/* Add a region of free memory, 2 MB and 1/32 of what there is; return 0 if memory is short. */
static int pool_extend(Pool *pool)
{
    size_t bytes = HUGE_PAGE + pool->bytes / 32 / HUGE_PAGE * HUGE_PAGE;
    Region *region = (Region *)lines_alloc(bytes);
    Block *block, *end;
    if (!region)
        return 0;
    region->next = pool->regions;
    region->bytes = bytes;
    pool->regions = region;
    pool->bytes += bytes;
    block = (Block *)(region + 1);
    block->size = (uint32_t)((bytes - sizeof(Region) - HEAD) / UNIT);
    end = block_at(block, block->size);
    end->before = block->size;
    block_list(pool, block);
    return 1;
}

/* Return the first list from *list* on that has blocks, LISTS if there is none. */
static uint32_t list_with_blocks(const Pool *pool, uint32_t list)
{
    uint64_t left = pool->filled[list / 64] >> list % 64 << list % 64;
    for (list /= 64; !left; left = pool->filled[list])
        if (++list == LISTS / 64)
            return LISTS;
    for (list *= 64; !(left & 1); left >>= 1)
        list++;
    return list;
}

static inline int fits_pool(size_t bytes)
{
    return bytes + HEAD < (LISTS - 1) * UNIT;
}

/* Return memory for a run that fits_pool, NULL if memory is short. */
static void *pool_alloc(Pool *pool, size_t bytes)
{
    uint32_t units = (uint32_t)((bytes + HEAD + UNIT - 1) / UNIT), list, rest;
    Block *block, *after;
    if (units < sizeof(Block) / UNIT + 1)
        units = sizeof(Block) / UNIT + 1;
    list = list_with_blocks(pool, units);
    if (list == LISTS) {
        if (!pool_extend(pool))
            return NULL;
        list = LISTS - 1;
    }
    block = pool->lists[list];
    block_unlist(pool, block);
    rest = block->size - units;
    if (rest >= sizeof(Block) / UNIT + 1) {
        block->size = units;
        after = block_at(block, units);
        after->before = units;
        after->size = rest;
        block_at(after, rest)->before = rest;
        block_list(pool, after);
    }
    return (char *)block + HEAD;
}

static void pool_free(Pool *pool, void *memory)
{
    Block *block = (Block *)((char *)memory - HEAD);
    Block *after = block_at(block, block->size);
    if (after->is_free) {
        block_unlist(pool, after);
        block->size += after->size;
    }
    if (block->before) {
        Block *before = (Block *)((char *)block - block->before * UNIT);
        if (before->is_free) {
            block_unlist(pool, before);
            before->size += block->size;
            block = before;
        }
    }
    block_at(block, block->size)->before = block->size;
    block_list(pool, block);
}

/* Return the number of blocks in use, -1 if the heads contradict each other; for tests. */
static long pool_count(const Pool *pool)
{
    long used = 0;
    const Region *region;
    for (region = pool->regions; region; region = region->next) {
        Block *block = (Block *)(region + 1), *after;
        for (; block->size; block = after) {
            after = block_at(block, block->size);
            if (after->before != block->size || (block->is_free && after->is_free))
                return -1;
            used += !block->is_free;
        }
    }
    return used;
}

static void pool_drop(Pool *pool)
{
    Region *region, *next;
    for (region = pool ? pool->regions : NULL; region; region = next) {
        next = region->next;
        lines_free(region, region->bytes);
    }
    free(pool);
}

#endif
