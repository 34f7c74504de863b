/* runtime_warp.c: every instruction between the lanes of a warp (vectors/warp.h), under
 * every partition of the warp into member masks, in straight code, branches, loops, behind
 * ways that meet late, beside lanes that have ended or are predicated off, against the
 * reference: by quick records, step by step, in several host threads, and in timing mode
 * on a machine of each generation. */
#include "unit/kit/runtime_kit.h"

#include "base/splitmix.h"
#include "unit/kit/sanitized.h"
#include "vectors/warp.h"

enum { THREADS = 32 + 32 + 20, WARPS = 3, BLOCKS = 4 };

struct way {
    const char *machine, *settings[2];
    struct allot_options options;
};

/* One kernel with all forms, launched with different groups in each warp. */
struct run {
    struct rt_kit k;
    enum warp_place place;
    uint64_t in, out;
};

static struct warp_form form[WARP_FORMS];
static unsigned nforms;

static void
open_run(struct run *r, const struct way *way, enum warp_place place)
{
    struct strbuf b = {0};
    warp_kernel(&b, form, nforms, place, 90);
    setenv("ALLOT_MACHINES", SOURCE_DIR "/machines", 0);
    memset(r, 0, sizeof *r);
    struct rt_kit *k = &r->k;
    k->d = allot_diag_new();
    k->m = allot_machine_load(way->machine, k->d);
    if (!k->m || (way->settings[0] &&
                  !allot_machine_set(k->m, way->settings[0], way->settings[1], k->d)))
        rt_fail(k, "machine");
    k->dev = allot_device_new(k->m, &way->options, k->d);
    k->mod = allot_module_parse("warp.ptx", b.s, b.n, k->d);
    if (!k->dev || !k->mod)
        rt_fail(k, "device");
    r->place = place;
    r->in = allot_alloc(k->dev, BLOCKS * WARPS * sizeof(struct warp_input), k->d);
    r->out = allot_alloc(k->dev, BLOCKS * WARPS * WARP_TRIPS * nforms * 256, k->d);
    strbuf_free(&b);
}

static void
launch(struct run *r, unsigned round, const char *where)
{
    static struct warp_input in[BLOCKS * WARPS];
    struct rt_kit *k = &r->k;
    size_t words = (size_t)BLOCKS * WARPS * WARP_TRIPS * nforms * 64;
    uint32_t *got = malloc(words * 4);
    uint64_t rng = 1000u * round + r->place, args[2] = {r->in, r->out};
    unsigned checked = 0;
    for (unsigned w = 0; w < BLOCKS * WARPS; w++)
        warp_draw(&in[w], w % WARP_PARTITIONS, r->place,
                  w % WARPS == 2 ? 0xfffff : 0xffffffff, &rng);
    if (!allot_write(k->dev, r->in, in, sizeof in, k->d) ||
        !allot_set(k->dev, r->out, 0x77, words * 4, k->d))
        rt_fail(k, "memory");
    rt_run(k, BLOCKS, THREADS, 2, args);
    rt_said(k, "");
    if (!allot_read(k->dev, r->out, got, words * 4, k->d))
        rt_fail(k, "memory");
    for (unsigned w = 0; w < BLOCKS * WARPS; w++)
        for (unsigned t = 0; t < WARP_TRIPS; t++)
            for (unsigned f = 0; f < nforms; f++)
                for (unsigned l = 0; l < 32; l++) {
                    uint32_t live = w % WARPS == 2 ? 0xfffff : 0xffffffff;
                    const uint32_t *at = got + ((w * WARP_TRIPS + t) * nforms + f) * 64;
                    uint32_t want[2];
                    bool open, ran = warp_reference(&form[f], &in[w], r->place, live, t,
                                                    l, want, &open);
                    if (!ran) {
                        assert_int_equal(at[l], 0x77777777);
                        assert_int_equal(at[32 + l], 0x77777777);
                        continue;
                    }
                    checked += !open;
                    if ((!open && at[l] != want[0]) || at[32 + l] != want[1])
                        fail_msg("%s: %s, %s, round %u, partition %u, trip %u, lane %u "
                                 "with mask %08x: %08x %u, not %08x %u",
                                 where, form[f].name, warp_places[r->place], round,
                                 w % WARP_PARTITIONS, t, l, in[w].word[WARP_MASK][l],
                                 at[l], at[32 + l], want[0], want[1]);
                    /* together: at least with the lanes that have the same mask */
                    if (!strcmp(form[f].mnemonic, "activemask") && r->place != WARP_GUARD)
                        assert_int_equal(at[l] & 1u << l, 1u << l);
                }
    assert_true(checked > 20 * nforms * BLOCKS);
    free(got);
}

static void
try_way(const struct way *way, unsigned rounds)
{
    for (enum warp_place p = 0; p < WARP_PLACES; p++) {
        struct run r;
        open_run(&r, way, p);
        for (unsigned i = 0; i < rounds; i++)
            launch(&r, i, way->machine);
        rt_close(&r.k);
    }
}

/* The table has these and no others: the reference must know each. */
static void
every_form_is_known(void **state)
{
    (void)state;
    unsigned votes = 0, shuffles = 0, matches = 0, sums = 0;
    for (unsigned i = 0; i < nforms; i++) {
        votes += !strcmp(form[i].mnemonic, "vote");
        shuffles += !strcmp(form[i].mnemonic, "shfl");
        matches += !strcmp(form[i].mnemonic, "match");
        sums += !strcmp(form[i].mnemonic, "redux");
    }
    assert_int_equal(votes, 4);
    assert_int_equal(shuffles, 4);
    assert_int_equal(matches, 4);
    assert_int_equal(sums, 9);
    assert_int_equal(nforms, 4 + 4 + 4 + 9 + 3); /* bar.warp, elect, activemask */
}

static void
quick_records(void **state)
{
    (void)state;
    try_way(&(struct way){"a100", {0}, {.functional = true}}, SANITIZED ? 3 : 20);
}

static void
step_by_step(void **state)
{
    (void)state;
    try_way(&(struct way){"a100", {"functional.races", "all"}, {.functional = true}},
            SANITIZED ? 2 : 8);
}

static void
turns_of_one_instruction(void **state)
{
    (void)state;
    try_way(&(struct way){"a100",
                          {"functional.quantum", "1"},
                          {.functional = true, .threads = 3}},
            SANITIZED ? 2 : 8);
}

static void
timed(void **state)
{
    static const char *const machines[] = {"gtx480", "v100", "a100", "h100"};
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        for (unsigned threads = 1; threads <= 2; threads++)
            try_way(&(struct way){machines[i], {0}, {.threads = threads}},
                    SANITIZED || threads > 1 ? 1 : 3);
}

/* -- a lane outside its own mask -- */

#define STRANGER                                                                         \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                    \
    ".visible .entry k(.param .u32 mask)\n{\n.reg .b32 %r<6>;\n.reg .pred %p;\n"         \
    "ld.param.u32 %r1, [mask];\nmov.u32 %r2, %tid.x;\nsetp.ne.u32 %p, %r2, 70;\n"

/* It is warned of once an instruction, in each mode; --check sync says it in its own way. */
static void
strangers_are_warned_of(void **state)
{
    static const char *const code[] = {"vote.sync.all.pred %p, 1, %r1;",
                                       "vote.sync.any.pred %p, 1, %r1;",
                                       "vote.sync.uni.pred %p, 1, %r1;",
                                       "vote.sync.ballot.b32 %r3, 1, %r1;",
                                       "match.any.sync.b32 %r3, %r2, %r1;",
                                       "match.all.sync.b64 %r3|%p, 7, %r1;",
                                       "redux.sync.add.u32 %r3, %r2, %r1;",
                                       "shfl.sync.idx.b32 %r3, %r2, 3, 31, %r1;",
                                       "shfl.sync.down.b32 %r3, %r2, 1, 31, %r1;",
                                       "elect.sync %r3|%p, %r1;",
                                       "bar.warp.sync %r1;"};
    static const struct allot_options modes[] = {
        {.functional = true},
        {.functional = true, .threads = 2},
        {.threads = 1},
        {.threads = 2},
        {.functional = true, .checks = ALLOT_CHECK_SYNC}};
    (void)state;
    for (size_t c = 0; c < sizeof code / sizeof *code; c++)
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
            struct strbuf b = {0};
            struct rt_kit k;
            uint64_t right = 0xffffffff, wrong = 0xffffff0f;
            strbuf_printf(&b, "%s%s\nret;\n}\n", STRANGER, code[c]);
            rt_open(&k, b.s, &modes[m]);
            rt_run(&k, 3, 96, 1, &right);
            rt_said(&k, "");
            rt_run(&k, 3, 96, 1, &wrong);
            if (modes[m].checks) {
                assert_null(strstr(allot_diag_text(k.d), "undefined on a card"));
                rt_told(&k, "its own mask 0xffffff0f does not name it (36 times)");
            } else {
                const char *text = allot_diag_text(k.d);
                assert_null(strstr(strstr(text, "which does not name it") + 1,
                                   "which does not name it"));
                rt_told(&k, "test.ptx:11:1: warning: kernel 'k': block (0,0,0), thread "
                            "(4,0,0), lane 4 executes this with the member mask "
                            "0xffffff0f, which does not name it");
                rt_run(&k, 3, 96, 1, &wrong); /* once */
                rt_said(&k, "");
            }
            rt_close(&k);
            strbuf_free(&b);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_known),
        cmocka_unit_test(quick_records),
        cmocka_unit_test(step_by_step),
        cmocka_unit_test(turns_of_one_instruction),
        cmocka_unit_test(timed),
        cmocka_unit_test(strangers_are_warned_of),
    };
    nforms = warp_forms(form);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
