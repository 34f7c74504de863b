/* exec_compiled.c: every form that nvcc 13 and clang 14 were seen to emit is decoded and
 * runs: one warp executes one instruction of it, on zeroed registers and addresses that
 * exist. Textures and surfaces are other tests' matter. */
#include "unit/kit/exec_kit.h"

#include "unit/kit/forms_kit.h"

static const char exec_prologue[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".const .align 16 .b8 cm[64];\n.func dev() { ret; }\n"
    ".visible .entry k(.param .align 16 .b8 par[32])\n{\n"
    ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %rd<8>;\n"
    ".reg .f32 %f<40>; .reg .f64 %fd<8>; .shared .align 32 .b8 sm[4096];\n"
    ".local .align 16 .b8 depot[128]; .param .align 16 .b8 arg[32];\n"
    "mov.u32 %r1, 16; setp.eq.u32 %p1, %r1, 16;\n";

static void
test_forms_run(void **state)
{
    (void)state;
    size_t bytes, n = 0, left_out = 0;
    char *text = file_read(SOURCE_DIR "/tests/golden/ptx/forms-all.txt", &bytes), *save;
    assert_non_null(text);
    for (char *form = strtok_r(text, "\n", &save); form;
         form = strtok_r(NULL, "\n", &save)) {
        struct strbuf line = {0}, all = {0};
        char copy[128];
        snprintf(copy, sizeof copy, "%s", form);
        if (!instance(copy, &line)) {
            left_out++;
            continue;
        }
        n++;
        bool offset = strstr(form, ".local") || strstr(form, ".shared"),
             trap = !strcmp(form, "trap");
        strbuf_printf(&all, "%s%s\n%s\n$L: ret;\n}\n", exec_prologue,
                      offset ? "mov.u64 %rd1, 32;" : "ld.param.u64 %rd1, [par];", line.s);
        struct kit k;
        kit_load(&k, all.s);
        kit_param(&k, 0, kit_buf(&k, 4096) + 1024);
        enum exec_result r =
            kit_launch(&k, (struct exec_dim){1, 1, 1}, (struct exec_dim){32, 1, 1});
        if ((r == EXEC_OK) == trap)
            kit_fail(&k, form);
        kit_free(&k);
        strbuf_free(&line);
        strbuf_free(&all);
    }
    print_message("%zu forms run, %zu of textures and surfaces left out\n", n, left_out);
    assert_true(n >= 522);
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
