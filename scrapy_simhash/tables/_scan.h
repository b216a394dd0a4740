/* Compare lines of stored fingerprints with one fingerprint, in vectors if the processor can.
 *
 *     line, 64 bytes   | count, capacity | 0 | 1 | 2 | 3 | 4 | 5 | 6 |
 *
 * A line holds up to 7 entries itself.  If there are more, entry 6 and all later ones are in a
 * run elsewhere, and slot 6 points to that run.
 *
 * The loop is compiled three times.  The version that runs is chosen once, by what the processor
 * can do.
 */
#ifndef SCRAPY_SIMHASH_SCAN_H
#define SCRAPY_SIMHASH_SCAN_H

#include <stdint.h>
#include <stdlib.h>

#define INLINE_SLOTS 7

typedef struct {
    uint32_t count;
    uint32_t capacity; /* of the run; 0 if there is none */
    uint64_t slots[INLINE_SLOTS];
} Line;

/* What a scan found: fingerprints within the limit; one may be there several times.  A scan for all
   stops when it has found *most*. */
typedef struct {
    uint64_t *items;
    uint32_t count;
    uint32_t capacity;
    uint32_t most;
} Found;

enum { SCAN_ALL = 0, SCAN_CLOSEST = 1, SCAN_ANY = 2 };

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch((address), 0, 0)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define PREFETCH(address) ((void)(address))
#define ALWAYS_INLINE static inline
#endif

static inline const uint64_t *line_run(const Line *line)
{
    return (const uint64_t *)(uintptr_t)line->slots[INLINE_SLOTS - 1];
}

static inline uint32_t line_inline_count(const Line *line)
{
    if (line->capacity)
        return INLINE_SLOTS - 1;
    return line->count;
}

static int found_push(Found *found, uint64_t item)
{
    if (found->count == found->capacity) {
        uint32_t capacity = found->capacity ? 2 * found->capacity : 64;
        uint64_t *items = (uint64_t *)realloc(found->items, capacity * sizeof(uint64_t));
        if (!items)
            return -1;
        found->items = items;
        found->capacity = capacity;
    }
    found->items[found->count++] = item;
    return 0;
}

/* Note one match.  Returns the limit from now on, -1 to stop, -2 if memory is short. */
static int found_match(Found *found, uint64_t item, int distance, int limit, int mode)
{
    if (mode == SCAN_CLOSEST && distance < limit) {
        limit = distance;
        found->count = 0;
    }
    if (found_push(found, item))
        return -2;
    if (mode == SCAN_ANY || (mode == SCAN_ALL && found->count >= found->most))
        return -1;
    return limit;
}

/* Portable: Warren, "Hacker's Delight", 2nd edition, figure 5-2. */
ALWAYS_INLINE int count_bits_portable(uint64_t x)
{
    x = x - ((x >> 1) & 0x5555555555555555u);
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (int)((x * 0x0101010101010101u) >> 56);
}

#define SCAN_ITEMS_SCALAR(name, count_bits)                                                    \
    ALWAYS_INLINE int name(const uint64_t *items, uint32_t count, uint64_t fingerprint,        \
                           int limit, int mode, Found *found)                                  \
    {                                                                                          \
        for (uint32_t i = 0; i < count; i++) {                                                 \
            int distance = count_bits(items[i] ^ fingerprint);                                 \
            if (distance <= limit) {                                                           \
                limit = found_match(found, items[i], distance, limit, mode);                   \
                if (limit < 0)                                                                 \
                    return limit;                                                              \
            }                                                                                  \
        }                                                                                      \
        return limit;                                                                          \
    }

/* First the entries in the lines; meanwhile the runs are fetched into the cache.  Then the runs. */
#define SCAN_LINES(name, target, scan_items)                                                   \
    target static int name(const Line *const *lines, uint32_t count, uint64_t fingerprint,     \
                           int limit, int mode, Found *found)                                  \
    {                                                                                          \
        uint32_t runs = 0;                                                                     \
        for (uint32_t i = 0; i < count; i++) {                                                 \
            const Line *line = lines[i];                                                       \
            uint32_t inline_count = line_inline_count(line);                                   \
            if (line->capacity) {                                                              \
                PREFETCH(line_run(line));                                                      \
                runs++;                                                                        \
            }                                                                                  \
            limit = scan_items(line->slots, inline_count, fingerprint, limit, mode, found);    \
            if (limit < 0)                                                                     \
                return limit;                                                                  \
        }                                                                                      \
        for (uint32_t i = 0; runs > 0; i++) {                                                  \
            const Line *line = lines[i];                                                       \
            if (!line->capacity)                                                               \
                continue;                                                                      \
            runs--;                                                                            \
            limit = scan_items(line_run(line), line->count - (INLINE_SLOTS - 1), fingerprint,  \
                               limit, mode, found);                                            \
            if (limit < 0)                                                                     \
                return limit;                                                                  \
        }                                                                                      \
        return limit;                                                                          \
    }

typedef int (*ScanLines)(const Line *const *, uint32_t, uint64_t, int, int, Found *);

typedef struct {
    const char *name;
    ScanLines scan;
} Scanner;

SCAN_ITEMS_SCALAR(scan_items_portable, count_bits_portable)
SCAN_LINES(scan_lines_portable, , scan_items_portable)

#if defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__))

/* Every arm64 processor can count bits (NEON), and compilers use that. */
#define count_bits_native(x) __builtin_popcountll(x)
SCAN_ITEMS_SCALAR(scan_items_arm64, count_bits_native)
SCAN_LINES(scan_lines_arm64, , scan_items_arm64)

#elif defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

#define TARGET_POPCNT __attribute__((target("popcnt")))
#define TARGET_AVX512 __attribute__((target("popcnt,avx512f,avx512vpopcntdq")))

#define count_bits_popcnt(x) __builtin_popcountll(x)
TARGET_POPCNT SCAN_ITEMS_SCALAR(scan_items_popcnt, count_bits_popcnt)
SCAN_LINES(scan_lines_popcnt, TARGET_POPCNT, scan_items_popcnt)

TARGET_AVX512 ALWAYS_INLINE int scan_items_avx512(const uint64_t *items, uint32_t count,
                                                  uint64_t fingerprint, int limit, int mode,
                                                  Found *found)
{
    const __m512i wanted = _mm512_set1_epi64((long long)fingerprint);
    for (uint32_t i = 0; i < count; i += 8) {
        uint32_t left = count - i;
        __mmask8 lanes = (__mmask8)(left >= 8 ? 0xff : (1u << left) - 1);
        __m512i differing = _mm512_xor_si512(_mm512_maskz_loadu_epi64(lanes, items + i), wanted);
        __m512i distances = _mm512_popcnt_epi64(differing);
        __mmask8 near =
            _mm512_mask_cmple_epu64_mask(lanes, distances, _mm512_set1_epi64(limit));
        while (near) {
            uint64_t item = items[i + (uint32_t)__builtin_ctz(near)];
            int distance = __builtin_popcountll(item ^ fingerprint);
            near &= (__mmask8)(near - 1);
            if (distance > limit) /* another entry of this line was closer */
                continue;
            limit = found_match(found, item, distance, limit, mode);
            if (limit < 0)
                return limit;
        }
    }
    return limit;
}
SCAN_LINES(scan_lines_avx512, TARGET_AVX512, scan_items_avx512)

#endif

/* Fill in the scanners that this processor can run, the widest first; return their number. */
#define MAX_SCANNERS 3
static int scan_list(Scanner *scanners)
{
    int count = 0;
#if defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__))
    scanners[count++] = (Scanner){"arm64", scan_lines_arm64};
#elif defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vpopcntdq"))
        scanners[count++] = (Scanner){"avx512", scan_lines_avx512};
    if (__builtin_cpu_supports("popcnt"))
        scanners[count++] = (Scanner){"popcnt", scan_lines_popcnt};
#endif
    scanners[count++] = (Scanner){"portable", scan_lines_portable};
    return count;
}

/* Zeroed memory that is aligned to a line.  Large pieces are mapped: the system provides each page
 * when it is first touched, and uses huge pages if it has them, for fewer TLB misses. */
#define LARGE ((size_t)1 << 20)
#if defined(__linux__)
#include <string.h>
#include <sys/mman.h>
static void *lines_alloc(size_t bytes)
{
    void *memory;
    if (bytes < LARGE) {
        if (posix_memalign(&memory, sizeof(Line), bytes))
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

#endif
