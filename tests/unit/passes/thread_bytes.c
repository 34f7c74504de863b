/* thread_bytes.c: which bytes a block's threads touch and write again, and the regions that
 * follow, on cases decided by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bitset.h"
#include "passes/thread_bytes.h"
#include "ptx/parse.h"

#include <string.h>

#define OPEN                                                                             \
    ".version 7.0\n.target sm_70\n.address_size 64\n"                                    \
    ".visible .entry k(.param .u32 n)\n.reqntid 16, 2\n{\n.reg .pred %p<9>;\n"           \
    ".reg .b32 %r<20>;\n.reg .f32 %f<9>;\n.shared .align 16 .b8 A[256];\n"               \
    ".shared .align 4 .b8 B[128];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\n"         \
    "mad.lo.u32 %r3, %r2, 16, %r1;\nld.param.u32 %r4, [n];\n"
enum { HEAD_LINES = 15 };

struct code {
    struct strbuf text;
    struct ptx_module *m;
    const struct ptx_func *f;
    struct cfg *g;
    struct scratch_use *use;
    struct thread_bytes *bytes;
};

static struct code
analysed(const char *body)
{
    struct code c = {0};
    struct diag_sink d = {0};
    struct pass_launch any = {0};
    strbuf_printf(&c.text, "%s%s}\n", OPEN, body);
    c.m = ptx_parse("test.ptx", c.text.s, c.text.n, &d);
    if (!c.m) {
        struct strbuf b = {0};
        diag_print(&d, &b);
        fail_msg("%s", b.s);
    }
    c.f = ptx_find_func(c.m, "k");
    c.g = cfg_new(c.f);
    c.use = scratch_use_new(c.f);
    c.bytes = thread_bytes_new(c.g, c.use, &any);
    assert_non_null(c.bytes);
    diag_free(&d);
    return c;
}

static void
done(struct code *c)
{
    thread_bytes_free(c->bytes);
    scratch_use_free(c->use);
    cfg_free(c->g);
    ptx_module_free(c->m);
    strbuf_free(&c->text);
}

static size_t
at_line(const struct code *c, uint32_t line)
{
    for (size_t i = 0; i < c->f->body.n; i++)
        if (c->f->body.v[i].line == HEAD_LINES + line && !ptx_is_pseudo(&c->f->body.v[i]))
            return i;
    fail_msg("no instruction in line %u", line);
    return 0;
}

/* As runs of bytes, "0-63 128-191"; "-": not known. */
static void
same_set(const uint64_t *set, const char *want, const char *what)
{
    struct strbuf b = {0};
    for (unsigned k = 0; set && k < 384; k++)
        if (bitset_has(set, k) && (!k || !bitset_has(set, k - 1))) {
            unsigned e = k;
            while (e < 383 && bitset_has(set, e + 1))
                e++;
            strbuf_printf(&b, "%s%u-%u", b.n ? " " : "", k, e);
        }
    const char *got = set ? (b.s ? b.s : "") : "-";
    if (strcmp(got, want))
        fail_msg("%s: \"%s\", not \"%s\"", what, got, want);
    strbuf_free(&b);
}

static void
expect(const char *body, uint32_t line, const char *may, const char *must)
{
    struct code c = analysed(body);
    const struct region_bytes *b = &c.bytes->inst[at_line(&c, line)];
    same_set(b->may, may, "may");
    same_set(b->must, must, "must");
    done(&c);
}

static void
accesses(void **state)
{
    (void)state;
    expect("mov.u32 %r5, A;\nmad.lo.u32 %r6, %r3, 4, %r5;\nst.shared.u32 [%r6+128], 1;\n"
           "ret;\n",
           3, "128-255", "128-255");
    /* every second word; remainders and bits */
    expect("mov.u32 %r5, B;\nand.b32 %r7, %r3, 15;\nmad.lo.u32 %r6, %r7, 8, %r5;\n"
           "st.shared.u16 [%r6], 1;\nret;\n",
           4,
           "256-257 264-265 272-273 280-281 288-289 296-297 304-305 312-313 320-321 "
           "328-329 336-337 344-345 352-353 360-361 368-369 376-377",
           "256-257 264-265 272-273 280-281 288-289 296-297 304-305 312-313 320-321 "
           "328-329 336-337 344-345 352-353 360-361 368-369 376-377");
    /* a vector; a read writes nothing */
    expect("mov.u32 %r5, A;\nmad.lo.u32 %r6, %r1, 16, %r5;\n"
           "ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r6];\nret;\n",
           3, "0-255", "");
    /* a guard that is known: threads 0 to 7 of 32 */
    expect("mov.u32 %r5, A;\nmad.lo.u32 %r6, %r3, 4, %r5;\nsetp.lt.u32 %p1, %r3, 8;\n"
           "@%p1 st.shared.u32 [%r6], 1;\nret;\n",
           4, "0-31", "0-31");
    /* one that is not: it may, it need not */
    expect("mov.u32 %r5, A;\nmad.lo.u32 %r6, %r3, 4, %r5;\nsetp.lt.u32 %p1, %r3, %r4;\n"
           "@%p1 st.shared.u32 [%r6], 1;\nret;\n",
           4, "0-127", "");
    /* an index that is not; one outside */
    expect(
        "mov.u32 %r5, A;\nmad.lo.u32 %r6, %r4, 4, %r5;\nst.shared.u32 [%r6], 1;\nret;\n",
        3, "-", "");
    expect("st.shared.u32 [B+128], 1;\nret;\n", 1, "-", "");
}

/* What is dead after the instruction in that line. */
static void
dead(const char *body, uint32_t line, const char *want)
{
    struct code c = analysed(body);
    same_set(c.bytes->inst[at_line(&c, line)].dead, want, "dead");
    done(&c);
}

static void
parts(void **state)
{
    (void)state;
    /* 32 threads, two turns each: 64 words */
    static const char fill[] =
        "mov.u32 %r5, A;\nmov.u32 %r6, %r3;\nL:\nmad.lo.u32 %r7, %r6, 4, %r5;\n"
        "st.shared.u32 [%r7], 1;\nadd.u32 %r6, %r6, 32;\nsetp.lt.u32 %p1, %r6, 64;\n"
        "@%p1 bra L;\nret;\n";
    dead(fill, 2, "0-255");
    /* the iterations of a loop that a parameter ends: the first one alone is certain, and
     * after the loop's branch nothing is known */
    static const char some[] =
        "mov.u32 %r5, A;\nmov.u32 %r6, %r3;\nL:\nmad.lo.u32 %r7, %r6, 4, %r5;\n"
        "st.shared.u32 [%r7], 1;\nadd.u32 %r6, %r6, 32;\nsetp.lt.u32 %p1, %r6, %r4;\n"
        "@%p1 bra L;\nret;\n";
    dead(some, 2, "0-127");
    /* read before it is written */
    static const char add[] =
        "mov.u32 %r5, A;\nmov.u32 %r6, %r3;\nL:\nmad.lo.u32 %r7, %r6, 4, %r5;\n"
        "ld.shared.u32 %r8, [%r7];\nst.shared.u32 [%r7], %r8;\nadd.u32 %r6, %r6, 32;\n"
        "setp.lt.u32 %p1, %r6, 64;\n@%p1 bra L;\nret;\n";
    dead(add, 2, "");
    /* arms: threads of which the way is known write one or the other */
    static const char arms[] =
        "mov.u32 %r5, A;\nmad.lo.u32 %r6, %r3, 4, %r5;\nsetp.lt.u32 %p1, %r3, 8;\n"
        "@%p1 bra T;\nst.shared.u32 [%r6], 1;\nbra J;\nT:\nst.shared.u32 [%r6+128], 1;\n"
        "J:\nld.shared.u32 %r8, [A];\nret;\n";
    dead(arms, 4, "32-159");
    /* a way that is not known */
    static const char unknown[] =
        "mov.u32 %r5, A;\nmad.lo.u32 %r6, %r3, 4, %r5;\nsetp.lt.u32 %p1, %r4, 8;\n"
        "@%p1 bra J;\nst.shared.u32 [%r6], 1;\nJ:\nld.shared.u32 %r8, [A];\nret;\n";
    dead(unknown, 4, "");
    /* what the skipped code computes is not known after it */
    static const char skipped[] =
        "mov.u32 %r5, A;\nmov.u32 %r6, 0;\nsetp.lt.u32 %p1, %r3, 32;\n@%p1 bra G;\nbra J;\n"
        "G:\nsetp.lt.u32 %p2, %r4, 8;\n@%p2 bra S;\nmov.u32 %r6, 1;\nS:\n"
        "mad.lo.u32 %r7, %r6, 4, %r5;\nst.shared.u32 [%r7], 1;\nst.shared.u32 [A+64], 1;\n"
        "J:\nret;\n";
    dead(skipped, 4, "64-67");
}

/* "take 12, give 14", lines of the code. */
static void
regions_of(const char *body, const char *want)
{
    struct code c = analysed(body);
    struct strbuf b = {0};
    struct regions *r = regions_new(c.g, c.use, UNIFORM_GRID, c.bytes->inst, 0, 0);
    for (size_t i = 0; i < r->point.n; i++)
        strbuf_printf(&b, "%s%s %u", i ? ", " : "", r->point.v[i].take ? "take" : "give",
                      c.f->body.v[r->point.v[i].at].line - HEAD_LINES);
    if (strcmp(b.s ? b.s : r->why, want))
        fail_msg("\"%s\", not \"%s\":\n%s", b.s ? b.s : r->why, want, body);
    strbuf_free(&b);
    regions_free(r);
    done(&c);
}

static void
definitions(void **state)
{
    (void)state;
    /* a buffer that each turn fills, and reads: held within the turn */
    regions_of("mov.u32 %r5, B;\nmad.lo.u32 %r6, %r3, 4, %r5;\nmov.u32 %r9, 0;\nL:\n"
               "add.u32 %r9, %r9, 1;\nst.shared.u32 [%r6], %r9;\nbar.sync 0;\n"
               "ld.shared.u32 %r7, [B];\nbar.sync 0;\nsetp.lt.u32 %p1, %r9, %r4;\n"
               "@%p1 bra L;\nret;\n",
               "take 6, give 9");
    /* half of it is filled, all of it read: throughout */
    regions_of("mov.u32 %r5, A;\nmad.lo.u32 %r6, %r3, 4, %r5;\nmov.u32 %r9, 0;\nL:\n"
               "add.u32 %r9, %r9, 1;\nst.shared.u32 [%r6], %r9;\nbar.sync 0;\n"
               "ld.shared.u32 %r7, [%r6+64];\nbar.sync 0;\nsetp.lt.u32 %p1, %r9, %r4;\n"
               "@%p1 bra L;\nmov.u32 %r1, 0;\nret;\n",
               "take 4, give 12");
    /* filled by a loop within the turn */
    regions_of(
        "mov.u32 %r5, A;\nmov.u32 %r9, 0;\nL:\nadd.u32 %r9, %r9, 1;\n"
        "mov.u32 %r6, %r3;\nF:\nmad.lo.u32 %r7, %r6, 4, %r5;\n"
        "st.shared.u32 [%r7], 1;\nadd.u32 %r6, %r6, 32;\nsetp.lt.u32 %p1, %r6, 64;\n"
        "@%p1 bra F;\nbar.sync 0;\nld.shared.u32 %r8, [A+252];\nbar.sync 0;\n"
        "setp.lt.u32 %p2, %r9, %r4;\n@%p2 bra L;\nret;\n",
        "take 6, give 14");
}

static void
needs_the_size_of_a_block(void **state)
{
    static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                               ".visible .entry k()\n{\n.shared .b32 A;\nret;\n}\n";
    struct diag_sink d = {0};
    struct pass_launch l = {0};
    struct ptx_module *m = ptx_parse("test.ptx", text, sizeof text - 1, &d);
    const struct ptx_func *f = ptx_find_func(m, "k");
    struct cfg *g = cfg_new(f);
    struct scratch_use *use = scratch_use_new(f);
    (void)state;
    assert_null(thread_bytes_new(g, use, &l));
    l = (struct pass_launch){.kernel = "k", .block = {8, 1, 1}};
    struct thread_bytes *t = thread_bytes_new(g, use, &l);
    assert_non_null(t);
    thread_bytes_free(t);
    scratch_use_free(use);
    cfg_free(g);
    ptx_module_free(m);
    diag_free(&d);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses),
        cmocka_unit_test(parts),
        cmocka_unit_test(definitions),
        cmocka_unit_test(needs_the_size_of_a_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
