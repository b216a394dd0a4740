/* Compare lines of stored fingerprints with one fingerprint, in vectors if the processor can.
 *
 *     line, 64 bytes   | count, capacity | 0 | 1 | 2 | 3 | 4 | 5 | 6 |
 *     run              | low halves, 4 bytes each | high halves, 4 or 2 bytes each | items |
 *
 * A line holds up to 7 entries itself.  If there are more, entry 6 and all later ones are in a
 * run elsewhere, and slot 6 points to that run.
 *
 * Fingerprints in a run are turned (rotated) so that their key is in the high half.  A scan reads
 * the low halves: of one in a thousand, 32 random bits are within 7 bits.  Only of those it reads
 * the high half.  A packed run leaves out the highest 16 bits, which all entries of its line share.
 *
 * The loop is compiled three times.  The version that runs is chosen once, by what the processor
 * can do.
 */
#ifndef SCRAPY_SIMHASH_SCAN_H
#define SCRAPY_SIMHASH_SCAN_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INLINE_SLOTS 7
#define SHARED_BITS 0xffff000000000000u
/* 64 tables, with an address of 32 bits each and those one bit away. */
#define MOST_PLACES (64 * 33)
/* Runs that are fetched before they are read, and the most entries of one that are. */
#define RUNS_AHEAD 16
#define MOST_FETCHED 1024

typedef struct {
    uint32_t count;
    uint32_t capacity : 30; /* of the run; 0 if there is none */
    uint32_t is_packed : 1;
    uint32_t is_pooled : 1; /* the run is in the table's pool (_memory.h), not malloc's */
    uint64_t slots[INLINE_SLOTS];
} Line;

/* A line to scan, and the query as its run has it: turned, with the key of that line.  The entries
   of the run differ from the query in at least *errors* bits that are not in the low half. */
typedef struct {
    const Line *line;
    uint64_t turned;
    int turn;
    int errors;
} Place;

/* What a scan found: fingerprints within the limit; one may be there several times.  A scan for all
   stops when it has found *most*. */
typedef struct {
    uint64_t *items;
    uint32_t count;
    uint32_t capacity;
    uint32_t most;
} Found;

enum { SCAN_ALL = 0, SCAN_CLOSEST = 1 };

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch((address), 0, 0)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define PREFETCH(address) ((void)(address))
#define ALWAYS_INLINE static inline
#endif

static inline uint64_t turn_left(uint64_t x, int turn)
{
    return x << turn | x >> (-turn & 63);
}

static inline uint32_t *line_run(const Line *line)
{
    return (uint32_t *)(uintptr_t)line->slots[INLINE_SLOTS - 1];
}

static inline uint64_t run_entry(const Line *line, uint32_t i, uint64_t turned)
{
    const uint32_t *run = line_run(line), *high = run + line->capacity;
    if (line->is_packed)
        return (turned & SHARED_BITS) | (uint64_t)((const uint16_t *)high)[i] << 32 | run[i];
    return (uint64_t)high[i] << 32 | run[i];
}

static inline void run_put(Line *line, uint32_t i, uint64_t turned)
{
    uint32_t *run = line_run(line), *high = run + line->capacity;
    run[i] = (uint32_t)turned;
    if (line->is_packed)
        ((uint16_t *)high)[i] = (uint16_t)(turned >> 32);
    else
        high[i] = (uint32_t)(turned >> 32);
}

static inline uint32_t *run_items(const Line *line)
{
    const size_t halves = line->capacity;
    return line_run(line) + (line->is_packed ? halves / 2 * 3 : halves * 2);
}

/* Copy entries to a run of another capacity that is packed if the first one is. */
static inline void run_copy(Line *line, const Line *from, uint32_t count, int has_items)
{
    memcpy(line_run(line), line_run(from), count * sizeof(uint32_t));
    memcpy(line_run(line) + line->capacity, line_run(from) + from->capacity,
           count * (line->is_packed ? sizeof(uint16_t) : sizeof(uint32_t)));
    if (has_items)
        memcpy(run_items(line), run_items(from), count * sizeof(uint32_t));
}

/* Fetch the low halves; of a long run the processor fetches the rest itself. */
static inline void prefetch_run(const Line *line)
{
    uint32_t count = line->count - (INLINE_SLOTS - 1);
    for (uint32_t i = 0; i < count + 15 && i < MOST_FETCHED; i += 16)
        PREFETCH(line_run(line) + i);
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
    if (mode == SCAN_ALL && found->count >= found->most)
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

/* Note one entry of a run, of which the low half is near enough, if all of it is. */
ALWAYS_INLINE int found_in_run(Found *found, const Place *place, uint32_t i, uint64_t fingerprint,
                               int limit, int mode)
{
    uint64_t turned = run_entry(place->line, i, place->turned);
    uint64_t item = turn_left(turned, -place->turn & 63);
    int distance = count_bits_portable(item ^ fingerprint);
    return distance <= limit ? found_match(found, item, distance, limit, mode) : limit;
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

/* The low halves of a run; *limit* is that of whole fingerprints. */
#define SCAN_RUN_SCALAR(name, count_bits)                                                      \
    ALWAYS_INLINE int name(const Place *place, uint64_t fingerprint, int limit, int mode,      \
                           Found *found)                                                       \
    {                                                                                          \
        const uint32_t *low = line_run(place->line), wanted = (uint32_t)place->turned;         \
        uint32_t count = place->line->count - (INLINE_SLOTS - 1);                              \
        for (uint32_t i = 0; i < count; i++) {                                                 \
            if (count_bits(low[i] ^ wanted) > limit - place->errors)                           \
                continue;                                                                      \
            limit = found_in_run(found, place, i, fingerprint, limit, mode);                   \
            if (limit < 0)                                                                     \
                return limit;                                                                  \
        }                                                                                      \
        return limit;                                                                          \
    }

/* First the entries in the lines, then the runs, which are fetched into the cache some runs ahead. */
#define SCAN_PLACES(name, target, scan_items, scan_run)                                        \
    target static int name(const Place *places, uint32_t count, uint64_t fingerprint,          \
                           int limit, int mode, Found *found)                                  \
    {                                                                                          \
        const Place *with_run[MOST_PLACES];                                                    \
        uint32_t runs = 0;                                                                     \
        for (uint32_t i = 0; i < count; i++) {                                                 \
            const Line *line = places[i].line;                                                 \
            if (line->capacity) {                                                              \
                if (runs < RUNS_AHEAD)                                                         \
                    prefetch_run(line);                                                        \
                with_run[runs++] = &places[i];                                                 \
            }                                                                                  \
            limit = scan_items(line->slots, line_inline_count(line), fingerprint, limit, mode, \
                               found);                                                         \
            if (limit < 0)                                                                     \
                return limit;                                                                  \
        }                                                                                      \
        for (uint32_t i = 0; i < runs; i++) {                                                  \
            if (i + RUNS_AHEAD < runs)                                                         \
                prefetch_run(with_run[i + RUNS_AHEAD]->line);                                  \
            limit = scan_run(with_run[i], fingerprint, limit, mode, found);                    \
            if (limit < 0)                                                                     \
                return limit;                                                                  \
        }                                                                                      \
        return limit;                                                                          \
    }

typedef int (*ScanPlaces)(const Place *, uint32_t, uint64_t, int, int, Found *);

typedef struct {
    const char *name;
    ScanPlaces scan;
} Scanner;

SCAN_ITEMS_SCALAR(scan_items_portable, count_bits_portable)
SCAN_RUN_SCALAR(scan_run_portable, count_bits_portable)
SCAN_PLACES(scan_portable, , scan_items_portable, scan_run_portable)

#if defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__))

/* Every arm64 processor can count bits (NEON), and compilers use that. */
#define count_bits_native(x) __builtin_popcountll(x)
SCAN_ITEMS_SCALAR(scan_items_arm64, count_bits_native)
SCAN_RUN_SCALAR(scan_run_arm64, count_bits_native)
SCAN_PLACES(scan_arm64, , scan_items_arm64, scan_run_arm64)

#elif defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

#define TARGET_POPCNT __attribute__((target("popcnt")))
#define TARGET_AVX512 __attribute__((target("popcnt,avx512f,avx512vpopcntdq")))

#define count_bits_popcnt(x) __builtin_popcountll(x)
TARGET_POPCNT SCAN_ITEMS_SCALAR(scan_items_popcnt, count_bits_popcnt)
TARGET_POPCNT SCAN_RUN_SCALAR(scan_run_popcnt, count_bits_popcnt)
SCAN_PLACES(scan_popcnt, TARGET_POPCNT, scan_items_popcnt, scan_run_popcnt)

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

TARGET_AVX512 ALWAYS_INLINE int scan_run_avx512(const Place *place, uint64_t fingerprint,
                                                int limit, int mode, Found *found)
{
    const uint32_t *low = line_run(place->line);
    const uint32_t count = place->line->count - (INLINE_SLOTS - 1);
    const __m512i wanted = _mm512_set1_epi32((int)(uint32_t)place->turned);
    for (uint32_t i = 0; i < count; i += 16) {
        uint32_t left = count - i;
        __mmask16 lanes = (__mmask16)(left >= 16 ? 0xffff : (1u << left) - 1);
        __m512i differing = _mm512_xor_si512(_mm512_maskz_loadu_epi32(lanes, low + i), wanted);
        __m512i distances = _mm512_popcnt_epi32(differing);
        __mmask16 near = _mm512_mask_cmple_epi32_mask(
            lanes, distances, _mm512_set1_epi32(limit - place->errors));
        while (near) {
            uint32_t lane = (uint32_t)__builtin_ctz(near);
            near &= (__mmask16)(near - 1);
            limit = found_in_run(found, place, i + lane, fingerprint, limit, mode);
            if (limit < 0)
                return limit;
        }
    }
    return limit;
}
SCAN_PLACES(scan_avx512, TARGET_AVX512, scan_items_avx512, scan_run_avx512)

#endif

/* Fill in the scanners that this processor can run, the widest first; return their number. */
#define MAX_SCANNERS 3
static int scan_list(Scanner *scanners)
{
    int count = 0;
#if defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__))
    scanners[count++] = (Scanner){"arm64", scan_arm64};
#elif defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vpopcntdq"))
        scanners[count++] = (Scanner){"avx512", scan_avx512};
    if (__builtin_cpu_supports("popcnt"))
        scanners[count++] = (Scanner){"popcnt", scan_popcnt};
#endif
    scanners[count++] = (Scanner){"portable", scan_portable};
    return count;
}

#endif
