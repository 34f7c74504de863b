/* hash.h: FNV-1a with 128 bits, for identities that are kept (keys of results, PTX). */
#ifndef ALLOT_BASE_HASH_H
#define ALLOT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct hash {
    unsigned __int128 v;
};

static inline struct hash
hash_start(void)
{
    return (struct hash){((unsigned __int128)0x6c62272e07bb0142 << 64) |
                         0x62b821756295c58d};
}

static inline void
hash_bytes(struct hash *h, const void *p, size_t n)
{
    const unsigned __int128 prime = ((unsigned __int128)1 << 88) + 0x13b;
    const uint8_t *b = p;
    for (size_t i = 0; i < n; i++)
        h->v = (h->v ^ b[i]) * prime;
}

/* A text with its end, so that neighbours cannot run together. */
static inline void
hash_text(struct hash *h, const char *s)
{
    hash_bytes(h, s, strlen(s) + 1);
}

static inline void
hash_hex(const struct hash *h, char out[33])
{
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)(h->v >> 64),
             (unsigned long long)h->v);
}

#endif
