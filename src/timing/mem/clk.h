/* clk.h: the four clock domains as exact rationals.
 *
 * Tick n of a domain of frequency f happens at time n / f; all domains start together.
 * Frequencies are taken to whole kHz, so that every comparison is one of integers: no
 * drift, whatever the number of cycles. 128-bit products hold for 10^12 cycles of any mix
 * of frequencies up to 20 GHz. */
#ifndef ALLOT_TIMING_CLK_H
#define ALLOT_TIMING_CLK_H

#include "timing/mem/packet.h"

enum clk_domain { CLK_CORE, CLK_ICNT, CLK_L2, CLK_DRAM, CLK_DOMAINS };

typedef unsigned __int128 clk_time; /* in units of 1 / lcm of the frequencies */

struct clk {
    clk_time period[CLK_DOMAINS];
    /* frequency of b over frequency of a, reduced */
    uint64_t num[CLK_DOMAINS][CLK_DOMAINS], den[CLK_DOMAINS][CLK_DOMAINS];
};

static inline uint64_t
clk_gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

static inline void
clk_init(struct clk *k, const double mhz[CLK_DOMAINS])
{
    uint64_t f[CLK_DOMAINS], all = 0;
    for (int i = 0; i < CLK_DOMAINS; i++) {
        f[i] = (uint64_t)(mhz[i] * 1000 + 0.5);
        if (!f[i])
            f[i] = 1;
        all = clk_gcd(all, f[i]);
    }
    clk_time lcm = 1;
    for (int i = 0; i < CLK_DOMAINS; i++) {
        f[i] /= all;
        lcm *= f[i] / clk_gcd(f[i], (uint64_t)(lcm % f[i]));
    }
    for (int i = 0; i < CLK_DOMAINS; i++) {
        k->period[i] = lcm / f[i];
        for (int j = 0; j < CLK_DOMAINS; j++) {
            uint64_t g = clk_gcd(f[i], f[j]);
            k->num[i][j] = f[j] / g;
            k->den[i][j] = f[i] / g;
        }
    }
}

/* n * num / den, rounded down. */
static inline uint64_t
clk_scale(uint64_t n, uint64_t num, uint64_t den, bool *exact)
{
    uint64_t p, whole = 0;
    if (__builtin_mul_overflow(n, num, &p)) {
        whole = n / den * num;
        p = n % den * num;
    }
    *exact = p % den == 0;
    return whole + p / den;
}

/* First tick of domain b at or after tick n of domain a. */
static inline uint64_t
clk_at_or_after(const struct clk *k, enum clk_domain a, uint64_t n, enum clk_domain b)
{
    if (n == NEVER || k->num[a][b] == k->den[a][b])
        return n;
    bool exact;
    uint64_t before = clk_scale(n, k->num[a][b], k->den[a][b], &exact);
    return before + !exact;
}

/* First tick of domain b strictly after tick n of domain a. */
static inline uint64_t
clk_after(const struct clk *k, enum clk_domain a, uint64_t n, enum clk_domain b)
{
    if (k->num[a][b] == k->den[a][b])
        return n + (n != NEVER);
    if (n == NEVER)
        return NEVER;
    bool exact;
    return clk_scale(n, k->num[a][b], k->den[a][b], &exact) + 1;
}

#endif
