/* ptx_hopper.c: are the memory instructions of sm_90 taken as ptxas takes them? Clusters,
 * mbarriers, bulk and tensor copies, st.async, red.async, changes of tensor maps, in spellings
 * legal and not (tests/golden/ptx/forms-hopper.txt: Y or N, the instruction). The answers are
 * those of ptxas 13.0 for sm_90a, PTX 9.0. What is taken is printed as it was read. */
#include "unit/kit/ptx_kit.h"

#include "exec/exec.h"

static void
each_is_taken_as_by_ptxas(void **state)
{
    (void)state;
    char *text = file_read(SOURCE_DIR "/tests/golden/ptx/forms-hopper.txt", NULL), *save;
    assert_non_null(text);
    unsigned n = 0, wrong = 0, taken = 0;
    for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save), n++) {
        struct strbuf b = {0};
        struct diag_sink diag = {0};
        strbuf_printf(
            &b,
            ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n"
            ".reg .b16 %%h<8>; .reg .b32 %%r<12>; .reg .b64 %%rd<12>; .reg .f32 %%f<8>;\n"
            ".reg .pred %%p<4>;\n%s\nret;\n}\n",
            l + 2);
        struct dev_mem *mem = dev_mem_new(1 << 24);
        struct ptx_module *m = ptx_parse("t.ptx", b.s, b.n, &diag);
        struct exec_image *im = m ? exec_image_new(m, mem, &diag) : NULL;
        const struct ptx_func *k = m ? ptx_find_func(m, "k") : NULL;
        struct exec_prog *p = k && !k->fault ? exec_decode(im, k, &diag) : NULL;
        if ((p != NULL) != (*l == 'Y')) {
            print_message("%s: %s\n", l, diag.n ? diag.list[0]->message : "taken");
            wrong++;
        }
        if (p)
            kit_roundtrip(m, NULL);
        taken += p != NULL;
        exec_prog_free(p);
        exec_image_free(im);
        ptx_module_free(m);
        dev_mem_free(mem);
        diag_free(&diag);
        strbuf_free(&b);
    }
    assert_int_equal(wrong, 0);
    assert_true(n > 1000 && taken > 300);
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_is_taken_as_by_ptxas)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
