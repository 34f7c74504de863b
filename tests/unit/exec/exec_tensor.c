/* exec_tensor.c: every form of mma, wmma, ldmatrix, stmatrix and movmatrix against a
 * plain triple loop. The places of elements in fragments are written down here once more,
 * from the tables of PTX ISA 9.0, 9.7.14.5, formula by formula; what wmma loads and
 * stores is seen through memory only. Small integers make every order of additions exact;
 * how inexact sums are rounded has tests of its own. */
#include "unit/kit/exec_kit.h"

#include "machine/machine.h"
#include "unit/kit/lanes_util.h"
#include "vectors/matrix.h"

/* -- elements and their bits -- */

static double
value_of(uint64_t v, const char *t)
{
    if (!strcmp(t, "f64")) {
        double d;
        memcpy(&d, &v, 8);
        return d;
    }
    if (!strcmp(t, "f32") || !strcmp(t, "tf32")) {
        float f;
        uint32_t b = (uint32_t)v;
        memcpy(&f, &b, 4);
        return (double)f;
    }
    if (!strcmp(t, "s32"))
        return (int32_t)v;
    if (!strcmp(t, "s8"))
        return (int8_t)v;
    if (!strcmp(t, "s4"))
        return (int)(v & 7) - (int)(v & 8);
    if (t[0] == 'u' || !strcmp(t, "b1"))
        return (double)v;
    /* sign, exponent, fraction */
    int mbits = !strcmp(t, "f16")    ? 10
                : !strcmp(t, "bf16") ? 7
                : !strcmp(t, "e4m3") ? 3
                                     : 2,
        ebits = !strcmp(t, "f16")    ? 5
                : !strcmp(t, "bf16") ? 8
                : !strcmp(t, "e4m3") ? 4
                                     : 5;
    int e = (int)(v >> mbits) & ((1 << ebits) - 1), bias = (1 << (ebits - 1)) - 1;
    double x = (double)(v & ((1u << mbits) - 1)) + (e ? (double)(1 << mbits) : 0);
    for (int s = (e ? e : 1) - bias - mbits; s; s += s < 0 ? 1 : -1)
        x *= s < 0 ? 0.5 : 2.0;
    return v >> (mbits + ebits) & 1 ? -x : x;
}

/* Bits of a small integer in that type. */
static uint64_t
bits_of(int x, const char *t)
{
    if (!strcmp(t, "f64")) {
        double d = x;
        uint64_t v;
        memcpy(&v, &d, 8);
        return v;
    }
    if (!strcmp(t, "f32") || !strcmp(t, "tf32") || !strcmp(t, "bf16")) {
        float f = (float)x;
        uint32_t v;
        memcpy(&v, &f, 4);
        return !strcmp(t, "bf16") ? v >> 16 : v;
    }
    if (!strcmp(t, "f16") || !strcmp(t, "e4m3") || !strcmp(t, "e5m2")) {
        int mbits = !strcmp(t, "f16")    ? 10
                    : !strcmp(t, "e4m3") ? 3
                                         : 2,
            e = 0, bias = !strcmp(t, "e4m3") ? 7 : 15;
        uint64_t m = (uint64_t)(x < 0 ? -x : x);
        if (!m)
            return 0;
        while (m >> e > 1)
            e++;
        uint64_t v = (uint64_t)(e + bias) << mbits | ((m << mbits >> e) - (1u << mbits));
        return v | (x < 0 ? (strcmp(t, "f16") ? 0x80 : 0x8000) : 0);
    }
    int bits = matrix_type_bits(t);
    return (uint32_t)x & (bits == 32 ? 0xffffffff : (1u << bits) - 1);
}

/* -- mma: the ISA's tables -- */

enum which { A, B, C };

/* Element i of the lane's fragment is at (row, col). i counts elements, of b1 bits. */
static void
isa_place(const struct mma_form *f, enum which w, const char *t, bool col_layout,
          int lane, int i, int *batch, int *row, int *col)
{
    int g = lane >> 2, tid = lane % 4, bits = matrix_type_bits(t);
    *batch = 0;
    if (f->m == 8 && f->k == 4 && bits != 64) { /* 9.7.14.5.1: mma.m8n8k4 */
        int low = lane < 16;
        *batch = lane % 16 / 4;
        if (w == A) {
            *row = col_layout ? (low ? i : i + 4) : (low ? lane % 4 : lane % 4 + 4);
            *col = col_layout ? lane % 4 : i;
        } else if (w == B) {
            *row = col_layout ? i : lane % 4;
            *col = col_layout ? (low ? lane % 4 : lane % 4 + 4) : (low ? i : i + 4);
        } else if (bits == 16) {
            *row = low ? lane % 4 : lane % 4 + 4;
            *col = i;
        } else {
            int x = (lane & 1) + (i & 2);
            *row = low ? x : x + 4;
            *col = (i & 4) + (lane & 2) + (i & 1);
        }
        return;
    }
    if (w == C) {
        *row = f->m == 8 || i < 2 ? g : g + 8;
        *col = tid * 2 + (i & 1);
        return;
    }
    if (bits == 64) {
        if (f->m == 8 || f->k == 4) {
            *row = w == A ? (i == 0 ? g : g + 8) : tid;
            *col = w == A ? tid : g;
        } else if (f->k == 8) {
            *row = w == A ? (i % 2 == 0 ? g : g + 8) : tid + i * 4;
            *col = w == A ? (i < 2 ? tid : tid + 4) : g;
        } else {
            *row = w == A ? (i % 2 == 0 ? g : g + 8) : tid + i * 4;
            *col = w == A ? (i % 2 == 0 ? i * 2 + tid : i * 2 - 2 + tid) : g;
        }
        return;
    }
    if (bits == 32) { /* tf32 */
        *row = w == A ? (i % 2 == 0 ? g : g + 8) : (i == 0 ? tid : tid + 4);
        *col = w == A ? (i < 2 ? tid : tid + 4) : g;
        return;
    }
    int per = 32 / bits; /* consecutive elements of one register */
    if (w == B) {
        *row = i < per ? tid * per + i : tid * per + i % per + 4 * per;
        *col = g;
        return;
    }
    if (f->m == 8) {
        *row = g;
        *col = tid * per + i;
        return;
    }
    bool upper = (i >= 0 && i < per) || (i >= 2 * per && i < 3 * per);
    *row = upper ? g : g + 8;
    *col = i < 2 * per ? tid * per + i % per : tid * per + i % per + 4 * per;
}

static uint32_t in_words[32 * 64], out_words[32 * 32];

/* Word and bit of element i of a fragment that starts at word `first`. */
static uint64_t
get_element(const uint32_t *words, int first, int bits, int lane, int i)
{
    if (bits == 64)
        return words[(first + 2 * i) * 32 + lane] |
               (uint64_t)words[(first + 2 * i + 1) * 32 + lane] << 32;
    int per = 32 / bits;
    uint32_t v = words[(first + i / per) * 32 + lane] >> i % per * bits % 32;
    return bits == 32 ? v : v & ((1u << bits) - 1);
}

static void
set_element(uint32_t *words, int first, int bits, int lane, int i, uint64_t v)
{
    if (bits == 64) {
        words[(first + 2 * i) * 32 + lane] = (uint32_t)v;
        words[(first + 2 * i + 1) * 32 + lane] = (uint32_t)(v >> 32);
        return;
    }
    int per = 32 / bits;
    words[(first + i / per) * 32 + lane] |= (uint32_t)v << i % per * bits % 32;
}

static void
run_words(const char *text, unsigned nout)
{
    struct kit k;
    kit_load(&k, text);
    uint64_t in = kit_buf(&k, sizeof in_words), out = kit_buf(&k, sizeof out_words);
    kit_param(&k, 0, in);
    kit_param(&k, 1, out);
    assert_true(dev_write(k.mem, in, in_words, sizeof in_words));
    kit_run(&k, 1, 32);
    assert_true(dev_read(k.mem, out, out_words, (uint64_t)nout * 128));
    kit_free(&k);
}

/* A small integer that the type holds. */
static int
some_int(uint64_t *rng, const char *t)
{
    int x = (int)(splitmix_next(rng) % 9) - 4;
    if (!strcmp(t, "b1"))
        return (int)(splitmix_next(rng) & 1);
    if (t[0] == 'u')
        return !strcmp(t, "u8") ? (int)(splitmix_next(rng) & 255)
                                : (int)(splitmix_next(rng) & 15);
    if (!strcmp(t, "s8"))
        return (int)(splitmix_next(rng) & 255) - 128;
    if (!strcmp(t, "s4"))
        return (int)(splitmix_next(rng) & 15) - 8;
    return x;
}

static void
check_mma(const struct mma_form *f, bool acol, bool bcol, uint64_t *rng)
{
    static int a[4][16][256], b[4][256][8], c[4][16][8];
    struct strbuf text = {0};
    char layouts[16];
    snprintf(layouts, sizeof layouts, ".%s.%s", acol ? "col" : "row",
             bcol ? "col" : "row");
    mma_kernel(&text, f, layouts, false);
    memset(in_words, 0, sizeof in_words);
    const char *types[3] = {f->a, f->b, f->c};
    int regs[3] = {f->na, f->nb, f->nc}, first = 0, bt, r, s;
    for (int w = A; w <= C; w++) {
        int bits = matrix_type_bits(types[w]),
            n = bits == 64 ? regs[w] : regs[w] * 32 / bits;
        for (int lane = 0; lane < 32; lane++)
            for (int i = 0; i < n; i++) {
                isa_place(f, w, types[w], w == A ? acol : bcol, lane, i, &bt, &r, &s);
                int x = some_int(rng, types[w]);
                if (w == A)
                    a[bt][r][s] = x;
                else if (w == B)
                    b[bt][r][s] = x;
                else
                    c[bt][r][s] = x;
                set_element(in_words, first, bits, lane, i, bits_of(x, types[w]));
            }
        first += regs[w] * (bits == 64 ? 2 : 1);
    }
    int dbits = matrix_type_bits(f->d), n = dbits == 64 ? f->nd : f->nd * 32 / dbits;
    run_words(text.s, (unsigned)f->nd * (dbits == 64 ? 2 : 1));
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < n; i++) {
            isa_place(f, C, f->d, false, lane, i, &bt, &r, &s);
            int sum = c[bt][r][s];
            for (int k = 0; k < f->k; k++)
                sum += !strncmp(f->op, ".xor", 4)   ? a[bt][r][k] ^ b[bt][k][s]
                       : !strncmp(f->op, ".and", 4) ? a[bt][r][k] & b[bt][k][s]
                                                    : a[bt][r][k] * b[bt][k][s];
            double got = value_of(get_element(out_words, 0, dbits, lane, i), f->d);
            if (got != sum)
                fail_msg("%s: d[%d][%d] is %g, not %d\n%s", f->shape, r, s, got, sum,
                         text.s);
        }
    strbuf_free(&text);
}

static void
test_mma(void **state)
{
    (void)state;
    uint64_t rng = 1;
    for (int i = 0; i < N_MMA_FORMS; i++) {
        const struct mma_form *f = &mma_forms[i];
        bool volta = f->m == 8 && f->k == 4 && strcmp(f->a, "f64");
        for (int l = 0; l < 4; l++)
            if (volta || l == 2) /* .row.col */
                check_mma(f, l & 1, l & 2, &rng);
    }
}

/* -- mma.sp (9.7.14.6) -- */

/* Kept element i of the lane is in that row, in this one of the columns that its register
 * covers: two for every element. */
static void
sparse_a_place(int bits, int lane, int i, int *row, int *first, int *nth)
{
    int per = 32 / bits, g = lane >> 2, tid = lane % 4;
    *row = (i < per || (i >= 2 * per && i < 3 * per)) ? g : g + 8;
    *first = tid * 2 * per + (i < 2 * per ? 0 : 8 * per);
    *nth = i % per;
}

/* Lane and lowest bit of the four bits of metadata of a chunk: the figures of the ISA,
 * shape by shape. */
static void
metadata_place(const struct sparse_form *s, int selector, int row, int chunk, int *lane,
               int *bit)
{
    int four = row % 8 * 4, low = row / 8, k = s->f.k, bits = matrix_type_bits(s->f.a);
    if ((bits == 16 && k == 16) || (bits == 32 && k == 8)) {
        *lane = four + selector; /* Ti: [15..0] row i / 4, [31..16] the row 8 below */
        *bit = 16 * low + 4 * chunk;
    } else if (bits >= 16) { /* T2i: first half of the columns, T2i+1: second half */
        *lane = four + 2 * selector + (chunk >= 4);
        *bit = 16 * low + 4 * (chunk % 4);
    } else if ((bits == 8 && k == 32) || (bits == 4 && k == 64)) {
        *lane = four + 2 * selector + low; /* T2i: upper rows, T2i+1: lower rows */
        *bit = 4 * chunk;
    } else { /* T0, T1: first half of the columns, T2, T3: second half */
        *lane = four + (chunk >= 8 ? 2 : 0) + low;
        *bit = 4 * (chunk % 8);
    }
}

static void
check_sparse(const struct sparse_form *s, bool ordered, int selector, uint64_t *rng)
{
    static int a[16][128], b[128][8], c[16][8], index[16][32][2];
    const struct mma_form *f = &s->f;
    struct strbuf text = {0};
    sparse_kernel(&text, s, ordered, selector, false);
    memset(in_words, 0, sizeof in_words);
    memset(a, 0, sizeof a);
    int abits = matrix_type_bits(f->a), bbits = matrix_type_bits(f->b),
        cbits = matrix_type_bits(f->c), dbits = matrix_type_bits(f->d);
    int meta = f->na + f->nb + f->nc, bt, r, col;
    uint32_t *m = in_words + meta * 32, used[32] = {0};
    for (int lane = 0; lane < 32; lane++)
        m[lane] = (uint32_t)splitmix_next(rng); /* what nobody must look at */
    for (r = 0; r < 16; r++)
        for (int chunk = 0; chunk < f->k / s->chunk; chunk++) {
            int i = (int)(splitmix_next(rng) % 4), j = (int)(splitmix_next(rng) % 3),
                lane, bit;
            j += j >= i;
            if (ordered && i > j) {
                int t = i;
                i = j, j = t;
            }
            if (s->chunk == 2) /* 0b0100: the first, 0b1110: the second */
                i = i < 2 ? 0 : 2, j = i + 1;
            index[r][chunk][0] = i, index[r][chunk][1] = j;
            metadata_place(s, selector, r, chunk, &lane, &bit);
            assert_false(used[lane] >> bit & 15);
            used[lane] |= 15u << bit;
            m[lane] = (m[lane] & ~(15u << bit)) | (uint32_t)(i | j << 2) << bit;
        }
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < f->na * 32 / abits; i++) {
            int first, nth, kept = s->chunk / 2, x = some_int(rng, f->a);
            sparse_a_place(abits, lane, i, &r, &first, &nth);
            int chunk = first / s->chunk + nth / kept, at = nth % kept;
            const int *ix = index[r][chunk];
            col = chunk * s->chunk + (s->chunk == 2   ? ix[0] / 2
                                      : s->chunk == 4 ? ix[at]
                                                      : 2 * ix[at / 2] + at % 2);
            a[r][col] = x;
            set_element(in_words, 0, abits, lane, i, bits_of(x, f->a));
        }
        for (int i = 0; i < f->nb * 32 / bbits; i++) {
            int per = 32 / bbits, x = some_int(rng, f->b);
            b[lane % 4 * per + i % per + i / per * 4 * per][lane >> 2] = x;
            set_element(in_words, f->na, bbits, lane, i, bits_of(x, f->b));
        }
        for (int i = 0; i < f->nc * 32 / cbits; i++) {
            isa_place(f, C, f->c, false, lane, i, &bt, &r, &col);
            c[r][col] = some_int(rng, f->c);
            set_element(in_words, f->na + f->nb, cbits, lane, i,
                        bits_of(c[r][col], f->c));
        }
    }
    run_words(text.s, (unsigned)f->nd);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < f->nd * 32 / dbits; i++) {
            isa_place(f, C, f->d, false, lane, i, &bt, &r, &col);
            int sum = c[r][col];
            for (int k = 0; k < f->k; k++)
                sum += a[r][k] * b[k][col];
            double got = value_of(get_element(out_words, 0, dbits, lane, i), f->d);
            if (got != sum)
                fail_msg("%s.%s selector %d: d[%d][%d] is %g, not %d\n%s", f->shape, f->a,
                         selector, r, col, got, sum, text.s);
        }
    strbuf_free(&text);
}

static void
test_sparse(void **state)
{
    (void)state;
    uint64_t rng = 6;
    for (int i = 0; i < N_SPARSE_FORMS; i++)
        for (int sel = 0; sel < sparse_forms[i].selectors; sel++)
            for (int ordered = 0; ordered < 2; ordered++)
                check_sparse(&sparse_forms[i], ordered, sel, &rng);
}

/* What is refused, and how. */
static void
test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *inst, *why;
    } t[] = {
        {"mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
         "{%r6,%r7}, {%r8,%r9,%r10,%r11}, %r12, 2",
         "the sparsity selector is a constant from 0 to 1 here"},
        {"mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
         "{%r6,%r7}, {%r8,%r9,%r10,%r11}, %r12, %r13",
         "the sparsity selector is a constant from 0 to 1 here"},
        {"mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
         "{%r6,%r7}, {%r8,%r9,%r10,%r11}, %r12, 0",
         "matrix A has 4 registers in this shape, not 2"},
        {"mma.sp.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, "
         "{%r4,%r5}, {%r6}, {%f8,%f9,%f10,%f11}, %r12, 0",
         "there is no such shape with these types"},
        {"mma.sp.sync.aligned.m16n8k64.row.col.f16.e4m3.e4m3.f16 {%r0,%r1}, "
         "{%r4,%r5,%r4,%r5}, {%r6,%r7,%r6,%r7}, {%r8,%r9}, %r12, 0",
         "this accumulator does not go with these factors"},
        {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16 {%f0,%f1,%f2,%f3}, "
         "{%r4,%r5}, {%r6,%r7}, {%r8,%r9}, %r12, 0",
         "the accumulators have the same type in this shape"},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct strbuf text = {0}, said = {0};
        struct diag_sink diag = {0};
        matrix_head(&text, 89);
        strbuf_printf(&text, "%s;\nret;\n}\n", t[i].inst);
        struct ptx_module *m = ptx_parse("t.ptx", text.s, text.n, &diag);
        assert_non_null(m);
        struct dev_mem *mem = dev_mem_new(1 << 20);
        struct exec_image *im = exec_image_new(m, mem, &diag);
        assert_null(exec_decode(im, m->funcs.v[0], &diag));
        diag_print(&diag, &said);
        if (!strstr(said.s, t[i].why))
            fail_msg("%s\ngives\n%s", t[i].inst, said.s);
        exec_image_free(im);
        dev_mem_free(mem);
        ptx_module_free(m);
        diag_free(&diag);
        strbuf_free(&said);
        strbuf_free(&text);
    }
}

/* -- wmma, through memory -- */

static uint64_t
tile_get(const uint8_t *m, int bits, int at)
{
    uint64_t v = 0;
    if (bits < 8)
        return m[at * bits / 8] >> at * bits % 8 & ((1 << bits) - 1);
    memcpy(&v, m + at * bits / 8, (size_t)bits / 8);
    return v;
}

static void
tile_set(uint8_t *m, int bits, int at, uint64_t v)
{
    if (bits < 8)
        m[at * bits / 8] |= (uint8_t)(v << at * bits % 8);
    else
        memcpy(m + at * bits / 8, &v, (size_t)bits / 8);
}

static void
check_wmma(const struct wmma_form *f, unsigned cols, int spare, bool generic,
           uint64_t *rng)
{
    static int a[32][128], b[128][32], c[32][32];
    static uint8_t in[16384], out[8192], before[8192];
    const char *types[4] = {f->ab, f->ab, f->c, f->d}, *lay[4];
    int rows[4] = {f->m, f->k, f->m, f->m}, width[4] = {f->k, f->n, f->n, f->n}, ld[4],
        bits[4];
    memset(in, 0, sizeof in);
    for (int w = 0; w < 4; w++) {
        bool col = cols >> w & 1;
        lay[w] = col ? "col" : "row";
        bits[w] = matrix_type_bits(types[w]);
        /* Rows begin at multiples of 16 bytes. */
        ld[w] = (col ? rows[w] : width[w]) + spare * 128 / bits[w];
        for (int r = 0; r < rows[w] && w < 3; r++)
            for (int s = 0; s < width[w]; s++) {
                int x = some_int(rng, types[w]);
                (w == 0 ? &a[r][s] : w == 1 ? &b[r][s] : &c[r][s])[0] = x;
                tile_set(in + w * 4096, bits[w], col ? s * ld[w] + r : r * ld[w] + s,
                         bits_of(x, types[w]));
            }
    }
    struct strbuf text = {0};
    const int none[4] = {0};
    wmma_kernel(&text, f, lay, spare ? ld : none, false, generic);
    struct kit k;
    kit_load(&k, text.s);
    uint64_t pi = kit_buf(&k, sizeof in), po = kit_buf(&k, sizeof out);
    kit_param(&k, 0, pi);
    kit_param(&k, 1, po);
    memset(before, 0xa5, sizeof before);
    assert_true(dev_write(k.mem, pi, in, sizeof in));
    assert_true(dev_write(k.mem, po, before, sizeof before));
    kit_run(&k, 1, 32);
    assert_true(dev_read(k.mem, po, out, sizeof out));
    kit_free(&k);
    bool col = cols >> 3 & 1;
    for (int r = 0; r < f->m; r++)
        for (int s = 0; s < f->n; s++) {
            int sum = c[r][s], at = col ? s * ld[3] + r : r * ld[3] + s;
            for (int x = 0; x < f->k; x++)
                sum += !strncmp(f->op, ".xor", 4)   ? a[r][x] ^ b[x][s]
                       : !strncmp(f->op, ".and", 4) ? a[r][x] & b[x][s]
                                                    : a[r][x] * b[x][s];
            double got = value_of(tile_get(out, bits[3], at), f->d);
            if (got != sum)
                fail_msg("%s: d[%d][%d] is %g, not %d\n%s", f->shape, r, s, got, sum,
                         text.s);
            memset(out + at * bits[3] / 8, 0xa5, (size_t)bits[3] / 8);
        }
    assert_memory_equal(out, before, sizeof out); /* nothing else is written */
    strbuf_free(&text);
}

static void
test_wmma(void **state)
{
    (void)state;
    uint64_t rng = 2;
    for (int i = 0; i < N_WMMA_FORMS; i++) {
        const struct wmma_form *f = &wmma_forms[i];
        bool small = matrix_type_bits(f->ab) < 8;
        for (unsigned cols = 0; cols < 16; cols++)
            if (!small || (cols & 3) == 2)
                for (int spare = 0; spare < 2; spare++)
                    check_wmma(f, cols, spare, cols & 1, &rng);
    }
}

/* -- 8 by 8 matrices of 16 bits -- */

static void
check_rows(int num, bool trans, bool store)
{
    struct strbuf b = {0};
    uint64_t rng = 3;
    matrix_head(&b, store ? 90 : 75);
    strbuf_printf(&b, ".shared .align 16 .b8 sm[1024];\n"
                      "mov.u32 %%r60, sm;\n"
                      "mul.lo.u32 %%r61, %%r70, 16;\nadd.u32 %%r61, %%r60, %%r61;\n"
                      "mul.lo.u32 %%r62, %%r70, 4;\nadd.u32 %%r62, %%r60, %%r62;\n");
    for (int i = 0; i < 4; i++) /* sm[0..512) = the first 4 words of the lanes */
        strbuf_printf(
            &b, "ld.global.b32 %%r%d, [%%rd1+%d];\nst.shared.b32 [%%r62+%d], %%r%d;\n", i,
            i * 128, i * 128, store ? 9 : i);
    strbuf_printf(&b, "bar.sync 0;\n%s.sync.aligned.m8n8.x%d%s.shared.b16 ",
                  store ? "stmatrix" : "ldmatrix", num, trans ? ".trans" : "");
    if (store)
        strbuf_addz(&b, "[%r61], ");
    matrix_list(&b, "b16", 0, num);
    strbuf_addz(&b, store ? ";\nbar.sync 0;\n" : ", [%r61];\n");
    for (int i = 0; i < 4; i++)
        if (store)
            strbuf_printf(&b, "ld.shared.b32 %%r%d, [%%r62+%d];\n", i, i * 128);
    for (int i = 0; i < (store ? 4 : num); i++)
        strbuf_printf(&b, "st.global.b32 [%%rd2+%d], %%r%d;\n", i * 128, i);
    strbuf_addz(&b, "ret;\n}\n");
    for (size_t i = 0; i < UTIL_COUNT(in_words); i++)
        in_words[i] = (uint32_t)splitmix_next(&rng);
    run_words(b.s, 4);
    /* Matrix k has its row i in the 16 bytes that lane 8 k + i points to; lane l holds
     * row l / 4 (.trans: column), elements 2 (l % 4) and the next. */
    for (int k = 0; k < num; k++)
        for (int l = 0; l < 32; l++)
            for (int j = 0; j < 2; j++) {
                int row = trans ? l % 4 * 2 + j : l / 4,
                    col = trans ? l / 4 : l % 4 * 2 + j;
                const uint32_t *mem = store ? out_words : in_words,
                               *regs = store ? in_words : out_words;
                uint32_t in_mem =
                             mem[(8 * k + row) * 4 + col / 2] >> col % 2 * 16 & 0xffff,
                         in_reg = regs[k * 32 + l] >> 16 * j & 0xffff;
                if (in_mem != in_reg)
                    fail_msg("x%d%s%s: matrix %d lane %d", num, trans ? ".trans" : "",
                             store ? " store" : "", k, l);
            }
    strbuf_free(&b);
}

static void
test_ldmatrix_stmatrix(void **state)
{
    (void)state;
    for (int num = 1; num <= 4; num *= 2)
        for (int m = 0; m < 4; m++)
            check_rows(num, m & 1, m & 2);
}

static void
test_movmatrix(void **state)
{
    (void)state;
    struct strbuf b = {0};
    uint64_t rng = 4;
    matrix_head(&b, 75);
    strbuf_addz(&b, "ld.global.b32 %r1, [%rd1];\n"
                    "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r1;\n"
                    "st.global.b32 [%rd2], %r1;\nret;\n}\n");
    for (size_t i = 0; i < 32; i++)
        in_words[i] = (uint32_t)splitmix_next(&rng);
    run_words(b.s, 1);
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 8; c++)
            assert_int_equal(in_words[r * 4 + c / 2] >> c % 2 * 16 & 0xffff,
                             out_words[c * 4 + r / 2] >> r % 2 * 16 & 0xffff);
    strbuf_free(&b);
}

/* -- rounding -- */

static uint32_t
f32_bits(double x)
{
    float f = (float)x;
    uint32_t b;
    memcpy(&b, &f, 4);
    return b;
}

static const struct mma_form *
form(const char *shape, const char *d, const char *a)
{
    for (int i = 0; i < N_MMA_FORMS; i++)
        if (!strcmp(mma_forms[i].shape, shape) && !strcmp(mma_forms[i].d, d) &&
            !strcmp(mma_forms[i].a, a))
            return &mma_forms[i];
    fail();
    return NULL;
}

/* d[0][0] of mma.m16n8k16 with f16: rows a and columns b given, c too. */
static uint32_t
dot16(const char *d, const uint16_t a[16], const uint16_t b[16], uint32_t c)
{
    const struct mma_form *f = form("m16n8k16", d, "f16");
    struct strbuf text = {0};
    int bt, r, s;
    mma_kernel(&text, f, ".row.col", false);
    memset(in_words, 0, sizeof in_words);
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < 8; i++) {
            isa_place(f, A, "f16", false, lane, i, &bt, &r, &s);
            if (!r)
                set_element(in_words, 0, 16, lane, i, a[s]);
        }
        for (int i = 0; i < 4; i++) {
            isa_place(f, B, "f16", true, lane, i, &bt, &r, &s);
            if (!s)
                set_element(in_words, 4, 16, lane, i, b[r]);
        }
    }
    in_words[6 * 32] = c; /* lane 0 holds c[0][0] first */
    run_words(text.s, (unsigned)f->nd);
    strbuf_free(&text);
    return !strcmp(d, "f16") ? out_words[0] & 0xffff : out_words[0];
}

static void
test_rounding(void **state)
{
    (void)state;
    uint16_t one[16] = {0}, a[16] = {0}, b[16] = {0};
    for (int i = 0; i < 16; i++)
        one[i] = 0x3c00;
    /* Exact: products of the smallest numbers are not lost. */
    a[0] = b[0] = 1; /* 2^-24 */
    assert_int_equal(dot16("f32", a, b, 0), f32_bits(0x1p-48));
    /* Toward zero: 1 + 2^-24 + 2^-24 is 1 + 2^-23 within a block (one bit more is
     * kept)... */
    a[0] = a[1] = 1;
    assert_int_equal(dot16("f32", a, one, f32_bits(1.0)), f32_bits(1.0 + 0x1p-23));
    /* ... but 2^-24 alone is cut, and so are two that lie in different blocks. */
    a[1] = 0;
    assert_int_equal(dot16("f32", a, one, f32_bits(1.0)), f32_bits(1.0));
    a[8] = 1;
    assert_int_equal(dot16("f32", a, one, f32_bits(1.0)), f32_bits(1.0));
    a[8] = 0;
    /* Negative: toward zero, too. */
    a[0] = 0x8001;
    assert_int_equal(dot16("f32", a, one, f32_bits(-1.0)), f32_bits(-1.0));
    assert_int_equal(dot16("f32", a, one, f32_bits(1.0)), f32_bits(1.0 - 0x1p-24));
    /* f16 results are rounded to nearest, after each block: 2048 + 1 is 2048; 2048 + 1 +
     * 1 is 2050 in one block and 2048 in two. */
    memset(a, 0, sizeof a);
    a[0] = 0x3c00;
    assert_int_equal(dot16("f16", a, one, 0x6800), 0x6800);
    a[7] = 0x3c00;
    assert_int_equal(dot16("f16", a, one, 0x6800), 0x6801);
    a[7] = 0, a[9] = 0x3c00;
    assert_int_equal(dot16("f16", a, one, 0x6800), 0x6800);
    /* Overflow, infinities, NaN. */
    for (int i = 0; i < 16; i++)
        a[i] = b[i] = 0x7bff;
    assert_int_equal(dot16("f16", a, b, 0), 0x7c00);
    assert_int_equal(dot16("f32", a, b, f32_bits(0x1.fffffep127)), 0x7f7fffff);
    memset(a, 0, sizeof a);
    a[3] = 0x7c00;
    assert_int_equal(dot16("f32", a, one, 0), 0x7f800000);
    assert_int_equal(dot16("f32", a, one, 0xff800000), 0x7fffffff);
    memset(b, 0, sizeof b);
    assert_int_equal(dot16("f32", a, b, 0), 0x7fffffff); /* inf * 0 */
    assert_int_equal(dot16("f16", a, b, 0), 0x7fff);
}

/* Random factors: within the error of cutting 25 digits at each of two blocks and two
 * sums. */
static void
test_error(void **state)
{
    (void)state;
    uint64_t rng = 5;
    for (int round = 0; round < 60; round++) {
        uint16_t a[16], b[16];
        double sum, mag;
        float c = (float)((int64_t)(splitmix_next(&rng) % 2001) - 1000) / 7;
        sum = (double)c;
        mag = c < 0 ? -sum : sum;
        for (int i = 0; i < 16; i++) {
            a[i] =
                (uint16_t)(splitmix_next(&rng) % 0x5000 | (splitmix_next(&rng) & 0x8000));
            b[i] =
                (uint16_t)(splitmix_next(&rng) % 0x5000 | (splitmix_next(&rng) & 0x8000));
            double x = value_of(a[i], "f16") * value_of(b[i], "f16");
            sum += x;
            mag += x < 0 ? -x : x;
        }
        uint32_t v = dot16("f32", a, b, f32_bits((double)c));
        double err = value_of(v, "f32") - sum;
        err = err < 0 ? -err : err;
        assert_true(err <= mag * (18 * 0x1p-24 + 2 * 0x1p-23));
    }
}

/* -- sums against whole numbers: the arithmetic of the papers named in exec_tensor.c,
 * once more, with integers in place of scaled doubles -- */

struct format {
    const char *type;
    int fraction, least; /* bits; least exponent of a normal number */
};

static const struct format *
format_of(const char *t)
{
    static const struct format f[] = {{"f16", 10, -14},   {"bf16", 7, -126},
                                      {"tf32", 10, -126}, {"e4m3", 3, -6},
                                      {"e5m2", 2, -14},   {"f32", 23, -126}};
    for (size_t i = 0; i < UTIL_COUNT(f); i++)
        if (!strcmp(f[i].type, t))
            return &f[i];
    fail();
    return NULL;
}

/* A finite value is *whole * 2^(*e - fraction). */
static void
take_apart(uint64_t bits, const struct format *f, int64_t *whole, int *e)
{
    if (!strcmp(f->type, "tf32"))
        bits = bits >> 13;
    int width = !strcmp(f->type, "tf32") ? 19 : matrix_type_bits(f->type);
    int64_t m = (int64_t)(bits & ((1ull << f->fraction) - 1));
    int x = (int)(bits >> f->fraction) & ((1 << (width - 1 - f->fraction)) - 1);
    *e = x ? x - 1 + f->least : f->least;
    *whole = x ? m | (int64_t)1 << f->fraction : m;
    if (bits >> (width - 1) & 1)
        *whole = -*whole;
}

/* whole * 2^at in the result's format: f32 toward zero (13: so many fraction bits), f16
 * to nearest even. */
static uint32_t
put_together(int64_t whole, int at, const char *d, int fraction)
{
    bool half = !strcmp(d, "f16");
    const struct format *f = format_of(d);
    uint64_t m = whole < 0 ? 0 - (uint64_t)whole : (uint64_t)whole;
    uint32_t sign = whole < 0 ? half ? 0x8000 : 0x80000000 : 0;
    int top = 63;
    if (!m)
        return 0;
    while (!(m >> top))
        top--;
    int e = top + at < f->least ? f->least : top + at, keep = half ? 10 : fraction;
    int drop = e - keep - at; /* bits below the last place */
    uint64_t v;
    if (drop <= 0) {
        v = m << -drop;
    } else if (drop > 62) {
        v = 0;
    } else {
        uint64_t rest = m & ((1ull << drop) - 1), tie = 1ull << (drop - 1);
        v = m >> drop;
        v += half && (rest > tie || (rest == tie && (v & 1)));
    }
    v <<= f->fraction - keep;
    uint64_t bits = ((uint64_t)(e - f->least) << f->fraction) + v; /* carries up */
    if (half && bits >= 0x7c00)
        bits = 0x7c00;
    assert_true(half || bits < 0x7f800000);
    return sign | (uint32_t)bits;
}

static int64_t
toward_zero(int64_t v, int shift)
{
    int64_t m = v < 0 ? -v : v;
    if (!m)
        return 0;
    m = shift > 62 ? 0 : shift > 0 ? m >> shift : m << -shift;
    return v < 0 ? -m : m;
}

/* The generations: products of a block, 0: all of k; fraction bits of a sum. */
static const struct generation {
    const char *name;
    int sums;
    int half, half_bits, tf32, tf32_bits, byte, byte_bits;
    bool halves, chains; /* what ptxas makes of 8-bit factors, of m8n8k4 with f16 */
} generations[] = {
    {"Volta", SUMS_VOLTA, 4, 23, 4, 24, 16, 13, false, false},
    {"Turing", SUMS_TURING, 8, 24, 4, 24, 16, 13, false, false},
    {"Ampere", SUMS_AMPERE, 8, 24, 4, 24, 16, 13, false, true},
    {"Hopper", SUMS_HOPPER, 0, 25, 0, 25, 0, 25, true, true},
    {"Blackwell", SUMS_BLACKWELL, 0, 25, 0, 25, 0, 25, true, true},
    {"Blackwell RTX", SUMS_BLACKWELL_RTX, 0, 25, 0, 25, 0, 25, false, true},
};

/* A row of products with the accumulator, of `type` before and after. */
static uint32_t
exact_block(const char *ta, const uint32_t *a, const char *tb, const uint32_t *b, int n,
            uint32_t c, const char *type, int fraction)
{
    const struct format *fa = format_of(ta), *fb = format_of(tb), *fc = format_of(type);
    int64_t whole[65], sum = 0;
    int e[65], point[65], most = -5000;
    for (int i = 0; i < n; i++) {
        int64_t x, y;
        int ex, ey;
        take_apart(a[i], fa, &x, &ex);
        take_apart(b[i], fb, &y, &ey);
        whole[i] = x * y;
        e[i] = ex + ey;
        point[i] = fa->fraction + fb->fraction;
    }
    take_apart(c, fc, &whole[n], &e[n]);
    point[n] = fc->fraction;
    for (int i = 0; i <= n; i++)
        most = whole[i] && e[i] > most ? e[i] : most;
    for (int i = 0; i <= n; i++)
        sum += toward_zero(whole[i], most - e[i] + point[i] - fraction);
    return put_together(sum, most - fraction, type, fraction < 23 ? fraction : 23);
}

static bool
is_infinite(uint32_t v, const char *type)
{
    return !strcmp(type, "f16") && (v & 0x7fff) == 0x7c00;
}

/* A sum of two that is rounded to nearest. */
static uint32_t
nearest_sum(uint32_t x, uint32_t y, const char *type)
{
    double a = value_of(x, type), b = value_of(y, type);
    if (!strcmp(type, "f16"))
        return is_infinite(x, type)
                   ? x
                   : put_together((int64_t)((a + b) * 0x1p24), -24, "f16", 10);
    return f32_bits((double)((float)a + (float)b));
}

/* m8n8k4 in single precision. */
static uint32_t
chain_dot(const uint32_t *a, const uint32_t *b, uint32_t c, const char *type)
{
    volatile float p[4], s = 0, t;
    for (int i = 0; i < 4; i++)
        p[i] = (float)(value_of(a[i], "f16") * value_of(b[i], "f16"));
    if (!strcmp(type, "f32")) {
        for (int i = 0; i < 4; i++)
            s = s + p[i];
        return nearest_sum(f32_bits((double)s), c, "f32");
    }
    s = (float)value_of(c, "f16");
    t = p[0] + p[1];
    s = s + t;
    t = p[2] + p[3];
    s = s + t;
    return f32_bits((double)s);
}

/* A sum of single precision as f16. */
static uint32_t
narrowed(uint32_t v)
{
    int64_t whole;
    int e;
    take_apart(v, format_of("f32"), &whole, &e);
    return put_together(whole, e - 23, "f16", 10);
}

/* k kept products; c and the result as types tc and td hold them. */
static uint32_t
exact_dot(const struct generation *g, const char *ta, const uint32_t *a, const char *tb,
          const uint32_t *b, int k, const char *tc, uint32_t c, const char *td,
          bool volta, bool wmma)
{
    bool single = strcmp(tc, "f16") || strcmp(td, "f16");
    const char *type = single ? "f32" : "f16";
    int bits = matrix_type_bits(ta);
    int block = bits == 32 ? g->tf32 : bits == 16 ? g->half : g->byte;
    int fraction = bits == 32 ? g->tf32_bits : bits == 16 ? g->half_bits : g->byte_bits;
    if (bits == 32 && wmma)
        block = 4; /* ptxas makes two products of k = 4 of one of k = 8 */
    if (single && !strcmp(tc, "f16"))
        c = f32_bits(value_of(c, "f16"));
    if (volta && g->chains) {
        c = chain_dot(a, b, c, type);
        return strcmp(td, "f16") ? c : narrowed(c);
    }
    if (bits == 8 && g->halves) {
        uint32_t sum = 0, x[32], y[32];
        for (int half = 0; half < 2; half++) {
            int n = 0;
            for (int i = 0; i < k; i++)
                if (i % 4 / 2 == half) { /* as f16 */
                    x[n] = narrowed(f32_bits(value_of(a[i], ta)));
                    y[n++] = narrowed(f32_bits(value_of(b[i], tb)));
                }
            if (!is_infinite(sum, type))
                sum = exact_block("f16", x, "f16", y, n, sum, type, 25);
        }
        return nearest_sum(sum, c, type);
    }
    block = block ? block : k;
    for (int k0 = 0; k0 < k && !is_infinite(c, type); k0 += block)
        c = exact_block(ta, a + k0, tb, b + k0, k - k0 < block ? k - k0 : block, c, type,
                        fraction);
    return single && !strcmp(td, "f16") ? narrowed(c) : c;
}

static uint32_t
some_bits(uint64_t *rng, const char *t, int round)
{
    uint64_t r = splitmix_next(rng), s = r >> 40 & 1;
    if (!(r >> 41 & 15))
        return 0;
    switch (round % 3) { /* near each other; far apart; subnormal */
    case 0:
        return !strcmp(t, "f16")    ? (uint32_t)(0x3400 + (r & 0xfff)) | (uint32_t)s << 15
               : !strcmp(t, "bf16") ? (uint32_t)(0x3f00 + (r & 0xff)) | (uint32_t)s << 15
               : t[0] == 'e'
                   ? (uint32_t)((r & 15) + 0x30) | (uint32_t)s << 7
                   : (uint32_t)(0x3f000000 + (r & 0xffffff)) | (uint32_t)s << 31;
    case 1:
        return !strcmp(t, "f16")    ? (uint32_t)(r % 0x6000) | (uint32_t)s << 15
               : !strcmp(t, "bf16") ? (uint32_t)(0x3000 + r % 0x1800) | (uint32_t)s << 15
               : !strcmp(t, "e4m3") ? (uint32_t)(r % 0x7f) | (uint32_t)s << 7
               : !strcmp(t, "e5m2")
                   ? (uint32_t)(r % 0x7c) | (uint32_t)s << 7
                   : (uint32_t)(0x30000000 + r % 0x18000000) | (uint32_t)s << 31;
    default:
        return !strcmp(t, "f16")    ? (uint32_t)(r & 0x7ff) | (uint32_t)s << 15
               : !strcmp(t, "bf16") ? (uint32_t)(0x1e00 + (r & 0x7ff)) | (uint32_t)s << 15
               : t[0] == 'e'
                   ? (uint32_t)(r & 15) | (uint32_t)s << 7
                   : (uint32_t)(0x1e000000 + (r & 0xffffff)) | (uint32_t)s << 31;
    }
}

static void
agree(const struct generation *g, const char *what, const char *shape, const char *d,
      const char *a, int round, uint32_t got, uint32_t want)
{
    if (got != want)
        fail_msg("%s: %s.%s.%s.%s round %d: 0x%x, not 0x%x", g->name, what, shape, d, a,
                 round, got, want);
}

enum { SUM_ROUNDS = 12 };

static void
mma_sums(const struct generation *g, const struct mma_form *f, uint64_t *rng)
{
    static uint32_t a[4][16][64], b[4][8][64], c[4][16][8];
    bool volta = f->m == 8 && f->k == 4;
    struct strbuf text = {0};
    mma_kernel(&text, f, ".row.col", false);
    for (int round = 0; round < SUM_ROUNDS; round++) {
        const char *types[3] = {f->a, f->b, f->c};
        int regs[3] = {f->na, f->nb, f->nc}, first = 0, bt, r, s;
        memset(in_words, 0, sizeof in_words);
        for (int w = A; w <= C; w++) {
            int bits = matrix_type_bits(types[w]);
            for (int lane = 0; lane < 32; lane++)
                for (int k = 0; k < regs[w] * 32 / bits; k++) {
                    isa_place(f, w, types[w], w == B, lane, k, &bt, &r, &s);
                    uint32_t v = some_bits(rng, types[w], round + (w == C) * (round / 3));
                    if (w == A)
                        a[bt][r][s] = v;
                    else if (w == B)
                        b[bt][s][r] = v;
                    else
                        c[bt][r][s] = v;
                    set_element(in_words, first, bits, lane, k, v);
                }
            first += regs[w];
        }
        run_words(text.s, (unsigned)f->nd);
        int dbits = matrix_type_bits(f->d);
        for (int lane = 0; lane < 32; lane++)
            for (int k = 0; k < f->nd * 32 / dbits; k++) {
                isa_place(f, C, f->d, false, lane, k, &bt, &r, &s);
                agree(g, "mma", f->shape, f->d, f->a, round,
                      (uint32_t)get_element(out_words, 0, dbits, lane, k),
                      exact_dot(g, f->a, a[bt][r], f->b, b[bt][s], f->k, f->c,
                                c[bt][r][s], f->d, volta, false));
            }
    }
    strbuf_free(&text);
}

/* Kept elements: the first and the last of each chunk (of tf32 the second; of 4-bit
 * elements, which are no floating-point ones, none). */
static void
sparse_sums(const struct generation *g, const struct sparse_form *sp, uint64_t *rng)
{
    static uint32_t a[16][64], b[8][128], kept[8][64], c[16][8];
    const struct mma_form *f = &sp->f;
    int abits = matrix_type_bits(f->a), dbits = matrix_type_bits(f->d), per = 32 / abits,
        bt, r, s;
    struct strbuf text = {0};
    sparse_kernel(&text, sp, false, 0, false);
    for (int round = 0; round < SUM_ROUNDS; round++) {
        memset(in_words, 0, sizeof in_words);
        for (int lane = 0; lane < 32; lane++) {
            in_words[(f->na + f->nb + f->nc) * 32 + lane] =
                sp->chunk == 2 ? 0xeeeeeeee : 0xcccccccc;
            for (int i = 0; i < f->na * per; i++) {
                int first, nth;
                sparse_a_place(abits, lane, i, &r, &first, &nth);
                uint32_t v = some_bits(rng, f->a, round);
                a[r][first / 2 + nth] = v;
                set_element(in_words, 0, abits, lane, i, v);
            }
            for (int i = 0; i < f->nb * per; i++) {
                uint32_t v = some_bits(rng, f->b, round);
                b[lane >> 2][lane % 4 * per + i % per + i / per * 4 * per] = v;
                set_element(in_words, f->na, abits, lane, i, v);
            }
            for (int i = 0; i < f->nc * 32 / dbits; i++) {
                isa_place(f, C, f->c, false, lane, i, &bt, &r, &s);
                c[r][s] = some_bits(rng, f->c, round + round / 3);
                set_element(in_words, f->na + f->nb, dbits, lane, i, c[r][s]);
            }
        }
        for (int n = 0; n < 8; n++)
            for (int i = 0; i < f->k / 2; i++)
                kept[n][i] =
                    b[n][sp->chunk == 2 ? 2 * i + 1 : i / 2 * 4 + (i % 2 ? 3 : 0)];
        run_words(text.s, (unsigned)f->nd);
        for (int lane = 0; lane < 32; lane++)
            for (int i = 0; i < f->nd * 32 / dbits; i++) {
                isa_place(f, C, f->d, false, lane, i, &bt, &r, &s);
                agree(g, "mma.sp", f->shape, f->d, f->a, round,
                      (uint32_t)get_element(out_words, 0, dbits, lane, i),
                      exact_dot(g, f->a, a[r], f->b, kept[s], f->k / 2, f->c, c[r][s],
                                f->d, false, false));
            }
    }
    strbuf_free(&text);
}

static void
wmma_sums(const struct generation *g, const struct wmma_form *f, uint64_t *rng)
{
    static uint32_t a[32][16], b[32][16], c[32][32];
    static uint8_t in[16384], out[4096];
    const char *types[3] = {f->ab, f->ab, f->c}, *const lay[4] = {"row", "col", "row",
                                                                  "row"};
    const int none[4] = {0};
    struct strbuf text = {0};
    wmma_kernel(&text, f, lay, none, false, false);
    for (int round = 0; round < SUM_ROUNDS; round++) {
        memset(in, 0, sizeof in);
        for (int w = 0; w < 3; w++)
            for (int r = 0; r < (w == 1 ? f->n : f->m); r++)
                for (int s = 0; s < (w == 2 ? f->n : f->k); s++) {
                    uint32_t v = some_bits(rng, types[w], round + (w == 2) * (round / 3));
                    (w == 0 ? &a[r][s] : w == 1 ? &b[r][s] : &c[r][s])[0] = v;
                    tile_set(in + w * 4096, matrix_type_bits(types[w]),
                             r * (w == 2 ? f->n : f->k) + s, v);
                }
        struct kit k;
        kit_load(&k, text.s);
        uint64_t pi = kit_buf(&k, sizeof in), po = kit_buf(&k, sizeof out);
        kit_param(&k, 0, pi);
        kit_param(&k, 1, po);
        assert_true(dev_write(k.mem, pi, in, sizeof in));
        kit_run(&k, 1, 32);
        assert_true(dev_read(k.mem, po, out, sizeof out));
        kit_free(&k);
        for (int r = 0; r < f->m; r++)
            for (int s = 0; s < f->n; s++)
                agree(g, "wmma", f->shape, f->d, f->ab, round,
                      (uint32_t)tile_get(out, matrix_type_bits(f->d), r * f->n + s),
                      exact_dot(g, f->ab, a[r], f->ab, b[s], f->k, f->c, c[r][s], f->d,
                                false, true));
    }
    strbuf_free(&text);
}

static bool
inexact(const char *d)
{
    return strcmp(d, "f64") && strcmp(d, "s32");
}

/* Every form of floating-point mma, mma.sp and wmma by every generation's rule: all
 * results, bit by bit. */
static void
test_sums(void **state)
{
    (void)state;
    uint64_t rng = 7;
    for (size_t i = 0; i < UTIL_COUNT(generations); i++) {
        const struct generation *g = &generations[i];
        kit_sums = g->sums;
        for (int k = 0; k < N_MMA_FORMS; k++)
            if (inexact(mma_forms[k].d))
                mma_sums(g, &mma_forms[k], &rng);
        for (int k = 0; k < N_SPARSE_FORMS; k++)
            if (inexact(sparse_forms[k].f.d))
                sparse_sums(g, &sparse_forms[k], &rng);
        for (int k = 0; k < N_WMMA_FORMS; k++)
            if (inexact(wmma_forms[k].d))
                wmma_sums(g, &wmma_forms[k], &rng);
    }
    kit_sums = -1;
}

static void
test_saturation(void **state)
{
    (void)state;
    const struct mma_form *f = form("m8n8k16", "s32", "s8");
    for (int satf = 0; satf < 2; satf++)
        for (int sign = 0; sign < 2; sign++) {
            struct strbuf text = {0};
            mma_kernel(&text, f, ".row.col", satf);
            for (int i = 0; i < 32; i++) {
                in_words[i] = 0x7f7f7f7f;
                in_words[32 + i] = sign ? 0x80808080 : 0x7f7f7f7f;
                in_words[64 + i] = in_words[96 + i] = sign ? 0x80000000 : 0x7fffffff;
            }
            run_words(text.s, 2);
            uint32_t wrapped =
                sign ? 0x80000000u - 16u * 127 * 128 : 0x7fffffffu + 16u * 127 * 127;
            for (int i = 0; i < 64; i++)
                assert_int_equal(out_words[i], satf ? in_words[64] : wrapped);
            strbuf_free(&text);
        }
}

/* f64: a chain of fma in the order of k, in the rounding mode written. */
static void
test_f64_chain(void **state)
{
    (void)state;
    struct mma_form f = *form("m8n8k4", "f64", "f64");
    static const struct {
        const char *op;
        double want; /* of 1 + 2^-53 + 2^-53 + 2^-53 + 2^-53, one after another */
    } t[] = {{"", 1}, {".rn", 1}, {".rz", 1}, {".rm", 1}, {".rp", 1 + 4 * 0x1p-52}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct strbuf text = {0};
        char layouts[24];
        snprintf(layouts, sizeof layouts, ".row.col%s", t[i].op);
        mma_kernel(&text, &f, layouts, false);
        memset(in_words, 0, sizeof in_words);
        double small = 0x1p-53, one = 1;
        for (int l = 0; l < 32; l++) {
            uint64_t s, o;
            memcpy(&s, &small, 8), memcpy(&o, &one, 8);
            set_element(in_words, 0, 64, l, 0, s);
            set_element(in_words, 2, 64, l, 0, o);
            set_element(in_words, 4, 64, l, 0, o);
            set_element(in_words, 4, 64, l, 1, o);
        }
        run_words(text.s, 4);
        for (int l = 0; l < 32; l++)
            assert_true(value_of(get_element(out_words, 0, 64, l, 0), "f64") ==
                        t[i].want);
        strbuf_free(&text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mma),        cmocka_unit_test(test_wmma),
        cmocka_unit_test(test_rounding),   cmocka_unit_test(test_ldmatrix_stmatrix),
        cmocka_unit_test(test_movmatrix),  cmocka_unit_test(test_error),
        cmocka_unit_test(test_saturation), cmocka_unit_test(test_f64_chain),
        cmocka_unit_test(test_sparse),     cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
