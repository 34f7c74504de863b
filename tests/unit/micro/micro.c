/* micro.c: the microbenchmark harness: buffers' pointers, parameters, kernels that tell how
 * long they ran, the host's speed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "micro/micro.h"
#include "micro/span.h"
#include "micro/speed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct seen {
    uint64_t offset[8], value[8];
    unsigned n;
};

static bool
see(void *user, uint64_t offset, uint64_t value)
{
    struct seen *s = user;
    s->offset[s->n] = offset;
    s->value[s->n++] = value;
    return s->n < 8;
}

static void
rings_of_pointers(void **st)
{
    struct seen s = {.n = 0};
    /* Four lines. 1664525 = 1 and 1013904223 = 3 modulo 4: 0, 3, 2, 1, 0. */
    assert_true(micro_fill("lcg-ring-first-4-lines", 4 * 128, 1000, see, &s));
    static const uint64_t at[] = {0, 3, 2, 1}, next[] = {3, 2, 1, 0};
    assert_int_equal(s.n, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(s.offset[i], at[i] * 128);
        assert_int_equal(s.value[i], 1000 + next[i] * 128);
    }
    /* Three of its steps round two lines. */
    s.n = 0;
    assert_true(micro_fill("seq-ring-first-3-lines", 2 * 128, 0, see, &s));
    assert_int_equal(s.n, 3);
    assert_true(s.value[0] == 128 && s.value[1] == 0 && s.value[2] == 128);
    s.n = 0;
    assert_true(micro_fill("zero", 512, 0, see, &s));
    assert_int_equal(s.n, 0);
    assert_false(micro_fill("odd-ring-first-3-lines", 256, 0, see, &s));
    assert_false(micro_fill("seq-ring-first-3-lines", 127, 0, see, &s));  /* no line */
    assert_false(micro_fill("seq-ring-first-9-lines", 4096, 0, see, &s)); /* see: 8 */
}

static void
parameters_are_numbers_and_buffers(void **st)
{
    const struct micro_launch l = {.params = "buf=b1 iters=16 it=3 out=b7 mask=0x1f"};
    const uint64_t address[] = {0x1000, 0x2000};
    uint64_t v;
    assert_true(micro_param(&l, "buf", address, 2, &v));
    assert_int_equal(v, 0x2000);
    assert_true(micro_param(&l, "it", address, 2, &v)); /* not iters */
    assert_int_equal(v, 3);
    assert_true(micro_param(&l, "iters", address, 2, &v));
    assert_int_equal(v, 16);
    assert_true(micro_param(&l, "mask", address, 2, &v));
    assert_int_equal(v, 31);
    assert_false(micro_param(&l, "out", address, 2, &v)); /* there are two buffers */
    assert_false(micro_param(&l, "uf", address, 2, &v));
    assert_int_equal(micro_room(1), 8192);
    assert_int_equal(micro_room(8193), 8193);
}

static void
quick_cases_are_the_shortest(void **st)
{
    struct micro_cases m;
    struct diag_sink diag = {0};
    assert_true(micro_load(&m, &diag));
    size_t quick = 0;
    for (size_t i = 0; i < m.n; i++) {
        const struct micro_launch *a = &m.v[i].launch[m.v[i].nlaunches - 1];
        quick += micro_is_quick(&m, i);
        for (size_t k = 0; k < m.n; k++) { /* no other of the kind is shorter */
            const struct micro_launch *b = &m.v[k].launch[m.v[k].nlaunches - 1];
            if (micro_is_quick(&m, i) && !strcmp(a->kernel, b->kernel) &&
                !strcmp(m.v[i].config, m.v[k].config))
                assert_true(a->cycles <= b->cycles);
        }
    }
    assert_true(m.n > 100 && quick > 10 && quick < m.n / 2);
    micro_free(&m);
    diag_free(&diag);
}

static void
longest_span_of_an_sm(void **st)
{
    static uint64_t slot[SPAN_WORDS];
    span_init(slot);
    assert_int_equal(span_cycles(slot), 0); /* no block ran */
    const size_t sm = SPAN_WORDS / SPAN_SMS;
    slot[sm * 3] = 100, slot[sm * 3 + 1] = 350;
    slot[sm * 7] = 1000000, slot[sm * 7 + 1] = 1000010; /* its own clock */
    slot[sm * 255] = 5, slot[sm * 255 + 1] = 256;
    assert_int_equal(span_cycles(slot), 251);
}

static const char kernel[] = ".version 6.0\n.target sm_30\n.address_size 64\n"
                             ".visible .entry k(.param .u64 p)\n{\n .reg .b32 %r<2>;\n"
                             " mov.u32 %r1, 1;\n ret;\n}\n";

/* What is instrumented reads as PTX, and a launch says how long it was. */
static void
instrumented_kernel_tells_its_span(void **st)
{
    char *text = span_instrument(kernel, 90);
    assert_non_null(text);
    assert_non_null(strstr(text, ".target sm_75\n")); /* the last that PTX 6.3 knows */
    assert_null(strstr(text, "sm_30"));
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("gtx480", d);
    const struct allot_options o = {0};
    struct allot_device *dev = allot_device_new(m, &o, d);
    struct allot_module *mod = allot_module_parse("k.ptx", text, strlen(text), d);
    if (!mod)
        fail_msg("%s", allot_diag_text(d));
    uint64_t slot[SPAN_WORDS], at = 0, size = 0, zero = 0, cycles = 0;
    assert_true(allot_symbol(dev, mod, SPAN_SYMBOL, &at, &size, d));
    assert_int_equal(size, SPAN_BYTES);
    span_init(slot);
    assert_true(allot_write(dev, at, slot, sizeof slot, d));
    const void *args[] = {&zero};
    const struct allot_launch l = {.module = mod,
                                   .kernel = "k",
                                   .grid = {3, 1, 1},
                                   .block = {32, 1, 1},
                                   .args = args,
                                   .nargs = 1};
    if (!allot_launch(dev, &l, d))
        fail_msg("%s", allot_diag_text(d));
    assert_true(allot_read(dev, at, slot, sizeof slot, d));
    unsigned used = 0;
    for (size_t i = 0; i < SPAN_SMS; i++)
        for (size_t k = 0; k < SPAN_SLOTS; k++)
            used += slot[4 * (i * SPAN_SLOTS + k)] != UINT64_MAX;
    assert_int_equal(used, 3); /* a block an SM */
    allot_result_get(allot_result_at(dev, 0), "cycles", &cycles, NULL);
    assert_true(span_cycles(slot) > 0 && span_cycles(slot) < cycles);
    allot_device_free(dev);
    allot_module_free(mod);
    allot_machine_free(m);
    allot_diag_free(d);
    free(text);

    /* each way out of a kernel is instrumented (unit/span) */
    text = span_instrument(".address_size 64\n.entry k()\n{\n ret;\n ret;\n}\n", 30);
    assert_non_null(text);
    free(text);
    assert_null(span_instrument(".address_size 64\n", 30));
}

static void
speed_in_rows(void **st)
{
    const struct speed slow = {1000, 2000, 0.5}, fast = {1000, 2000, 0.25};
    assert_true(speed_best(&slow, &fast).seconds == 0.25);
    assert_true(speed_best(&fast, &slow).seconds == 0.25);
    char *text;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    struct speed_report r = speed_report_runs(f, true);
    speed_report_run(&r, "w", "m", 2, true, &fast);
    speed_report_end(&r, true);
    fclose(f);
    assert_string_equal(text,
                        "workload\tmachine\tthreads\tmode\twarp_instructions\tseconds"
                        "\twarp_instructions_per_s\tcycles_per_s\n"
                        "w\tm\t2\tfunctional\t1000\t0.250000\t4000\t8000\n");
    free(text);
    f = open_memstream(&text, &n);
    r = speed_report_parsing(f, false);
    speed_report_parsed(&r, "a.ptx", 1500000, 12.34);
    speed_report_end(&r, true);
    fclose(f);
    assert_string_equal(text, "file   megabytes  megabytes_per_s\n"
                              "-----  ---------  ---------------\n"
                              "a.ptx      1.500             12.3\n");
    free(text);
}

/* Each file a row, up to the first that is no PTX or not there. */
static void
parsing_in_rows(void **st)
{
    char good[] = "/tmp/allot-speed-XXXXXX", bad[] = "/tmp/allot-speed-XXXXXX", *text;
    static const char ptx[] = ".version 6.0\n.target sm_30\n.address_size 64\n";
    FILE *f = fdopen(mkstemp(good), "w"), *out;
    fputs(ptx, f);
    fclose(f);
    f = fdopen(mkstemp(bad), "w");
    fputs("no PTX\n", f);
    fclose(f);
    struct allot_diag *d = allot_diag_new();
    struct diag_sink diag = {0};
    size_t n;
    out = open_memstream(&text, &n);
    struct speed_report r = speed_report_parsing(out, true);
    assert_true(speed_report_files(&r, (const char *[]){good, good}, 2, 2, &diag, d));
    assert_false(speed_report_files(&r, (const char *[]){bad, good}, 2, 1, &diag, d));
    assert_true(*allot_diag_text(d) && !diag.errors);
    assert_false(
        speed_report_files(&r, (const char *[]){"/nonexistent"}, 1, 1, &diag, d));
    assert_int_equal(diag.errors, 1);
    speed_report_end(&r, true);
    fclose(out);
    size_t rows = 0;
    for (const char *p = text; (p = strstr(p, good)); p++, rows++) {
        double mb, speed;
        assert_int_equal(sscanf(p + strlen(good), "\t%lf\t%lf", &mb, &speed), 2);
        assert_float_equal(mb, (sizeof ptx - 1) / 1e6, 1e-6);
        assert_true(speed > 0);
    }
    assert_int_equal(rows, 2);
    const char *name[2];
    assert_int_equal(speed_usual(name, 2), 2); /* there are more */
    assert_string_not_equal(name[0], name[1]);
    free(text);
    unlink(good);
    unlink(bad);
    diag_free(&diag);
    allot_diag_free(d);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_of_pointers),
        cmocka_unit_test(parameters_are_numbers_and_buffers),
        cmocka_unit_test(quick_cases_are_the_shortest),
        cmocka_unit_test(longest_span_of_an_sm),
        cmocka_unit_test(instrumented_kernel_tells_its_span),
        cmocka_unit_test(speed_in_rows),
        cmocka_unit_test(parsing_in_rows),
    };
    setenv("ALLOT_DATA", SOURCE_DIR, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
