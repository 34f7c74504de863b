/* gpu_answers.c: every test vector is accepted and runs; and where answers of a real card
 * are kept (tests/golden/gpu, written by `./x gpu-check --write`), ours are the same: to the
 * bit, matrix products by the rule of the card's generation too, but where the ISA bounds an
 * error only. Without such a file the second part is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/kit/ptx_kit.h"
#include "machine/machine.h"
#include "unit/kit/skip.h"
#include "vectors/vectors.h"
#include "vectors/warp.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned nvectors;
static uint32_t words[1 << 16];

static bool
runs(const struct vector *v, void *user)
{
    char *why = NULL;
    (void)user;
    assert_true(v->nout <= sizeof words / sizeof *words);
    nvectors++;
    if (!vector_run(v, SUMS_AMPERE, words, &why))
        fail_msg("%s: %s", v->name, why);
    return true;
}

static void
test_vectors_run(void **state)
{
    (void)state;
    vectors_each(runs, NULL);
    print_message("%u vectors\n", nvectors);
    assert_true(nvectors > 7800 + 160);
}

/* Matrix products as we print them are taken by ptxas; what the other vectors are made of
 * is held against it by unit/ptxas_forms. */
static bool
assembles(const struct vector *v, void *user)
{
    if (strncmp(v->name, "mma", 3))
        return true;
    struct strbuf printed = {0}, out = {0};
    struct ptx_module *m = kit_parse(v->text.s);
    char arch[16];
    snprintf(arch, sizeof arch, "sm_%u", v->sm < 75 ? 75 : v->sm);
    ptx_print(m, &printed);
    if (kit_assemble(user, printed.s, arch, &out))
        fail_msg("%s: %s", v->name, out.s);
    strbuf_free(&printed);
    strbuf_free(&out);
    ptx_module_free(m);
    return true;
}

static void
test_ptxas(void **state)
{
    (void)state;
    const char *ptxas = kit_ptxas();
    if (!ptxas)
        SKIP_NEEDS("ptxas");
    vectors_each(assembles, (void *)ptxas);
    struct warp_form f[WARP_FORMS];
    unsigned n = warp_forms(f);
    for (enum warp_place p = 0; p < WARP_PLACES; p++) {
        struct strbuf text = {0}, out = {0};
        warp_kernel(&text, f, n, p, 90);
        if (kit_assemble(ptxas, text.s, "sm_90", &out))
            fail_msg("%s: %s", warp_places[p], out.s);
        strbuf_free(&text);
        strbuf_free(&out);
    }
}

struct answers {
    char *text, *at;
    unsigned sums; /* enum machine_tensor_sums */
    unsigned compared, matrix, differ;
    unsigned others; /* matrix products that another rule gives other bits */
};

/* The answers stand in the order of the vectors, some left out. */
static bool
compare(const struct vector *v, void *user)
{
    static uint32_t card[1 << 16];
    struct answers *a = user;
    size_t n = strlen(v->name);
    unsigned bits;
    if (strncmp(a->at, v->name, n) || a->at[n] != '\t')
        return true;
    const char *hex = a->at + n + 1;
    a->at = strchr(hex, '\n') + 1;
    assert_true((size_t)(a->at - 1 - hex) == v->nout * (size_t)8);
    for (unsigned i = 0; i < v->nout; i++) {
        char word[9] = "";
        memcpy(word, hex + 8 * i, 8);
        card[i] = (uint32_t)strtoul(word, NULL, 16);
    }
    assert_true(vector_run(v, a->sums, words, NULL));
    if (!vector_agrees(v, words, card, &bits)) {
        print_error("%s: %u words differ from the card's\n", v->name, bits);
        a->differ++;
    }
    a->compared++;
    if (v->vclass != VEC_MATRIX)
        return true;
    a->matrix++;
    assert_int_equal(bits, 0);
    assert_true(
        vector_run(v, a->sums == SUMS_AMPERE ? SUMS_HOPPER : SUMS_AMPERE, words, NULL));
    a->others += !vector_agrees(v, words, card, &bits);
    return true;
}

static void
test_answers(void **state)
{
    (void)state;
    DIR *dir = opendir(SOURCE_DIR "/tests/golden/gpu");
    unsigned files = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[1024];
        size_t n = strlen(e->d_name);
        if (n < 5 || strcmp(e->d_name + n - 4, ".txt"))
            continue;
        snprintf(path, sizeof path, "%s/tests/golden/gpu/%s", SOURCE_DIR, e->d_name);
        struct answers a = {.text = file_read(path, NULL)};
        assert_non_null(a.text);
        const char *sm = strstr(a.text, ", sm_");
        assert_non_null(sm);
        a.sums = vector_sums((unsigned)atoi(sm + 5));
        for (a.at = a.text; *a.at == '#'; a.at = strchr(a.at, '\n') + 1)
            ;
        vectors_each(compare, &a);
        print_message("%s: %u vectors compared, %u of them sums of products, %u of which "
                      "tell generations from each other\n",
                      e->d_name, a.compared, a.matrix, a.others);
        if (*a.at)
            fail_msg("%s: no vector of ours is called %.60s", e->d_name, a.at);
        assert_int_equal(a.differ, 0);
        assert_true(a.matrix > 200 && a.others > a.matrix / 2);
        free(a.text);
        files++;
    }
    if (dir)
        closedir(dir);
    if (!files) {
        SKIP_BECAUSE(
            "no card's answers are kept (./x gpu-check --write tests/golden/gpu)");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ptxas),
        cmocka_unit_test(test_vectors_run),
        cmocka_unit_test(test_answers),
    };
    return skip_status(cmocka_run_group_tests(tests, NULL, NULL));
}
