/* The first 64 bits of MurmurHash3 x64 128, seed 0.
 *
 * After Austin Appleby's description and public-domain reference, MurmurHash3.cpp (2011),
 * https://github.com/aappleby/smhasher.  Words are read as little-endian on every machine.
 */
#ifndef SCRAPY_SIMHASH_MURMUR3_H
#define SCRAPY_SIMHASH_MURMUR3_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t murmur3_rotate(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static inline uint64_t murmur3_finish(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
}

static inline uint64_t murmur3_word(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline uint64_t murmur3_mix1(uint64_t word)
{
    return murmur3_rotate(word * 0x87c37b91114253d5u, 31) * 0x4cf5ad432745937fu;
}

static inline uint64_t murmur3_mix2(uint64_t word)
{
    return murmur3_rotate(word * 0x4cf5ad432745937fu, 33) * 0x87c37b91114253d5u;
}

static uint64_t murmur3_x64(const unsigned char *bytes, size_t length)
{
    uint64_t h1 = 0, h2 = 0;
    unsigned char tail[16] = {0};
    size_t left = length;
    for (; left >= 16; left -= 16, bytes += 16) {
        h1 ^= murmur3_mix1(murmur3_word(bytes));
        h1 = (murmur3_rotate(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= murmur3_mix2(murmur3_word(bytes + 8));
        h2 = (murmur3_rotate(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    /* Zeros mix to zero, so a tail padded with zeros gives the same hash as the shorter tail. */
    memcpy(tail, bytes, left);
    h2 ^= murmur3_mix2(murmur3_word(tail + 8));
    h1 ^= murmur3_mix1(murmur3_word(tail));
    h1 ^= length;
    h2 ^= length;
    h1 += h2;
    h2 += h1;
    return murmur3_finish(h1) + murmur3_finish(h2);
}

#endif
