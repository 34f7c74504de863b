/* machine.c: machine files: what is read, what is refused and with which words. */
#include "machine/setting.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define PRESETS SOURCE_DIR "/machines"

/* -- helpers -- */

static char *
messages(const struct diag_sink *s)
{
    struct strbuf b = {0};
    diag_print(s, &b);
    return b.s ? strbuf_take(&b) : strdup("");
}

static struct machine *
parse(const char *text, struct diag_sink *diag)
{
    return machine_parse("test.yaml", text, strlen(text), diag);
}

/* The text is refused, and the explanation has all of these words. */
static void
refused(const char *text, size_t len, const char *const *words)
{
    struct diag_sink d = {0};
    struct machine *m = machine_parse("test.yaml", text, len, &d);
    char *said = messages(&d);
    if (m)
        fail_msg("accepted: %s", text);
    assert_true(d.errors > 0);
    for (; *words; words++)
        if (!strstr(said, *words))
            fail_msg("for:\n%s\n'%s' is not in:\n%s", text, *words, said);
    free(said);
    diag_free(&d);
}

#define REFUSED(text, ...)                                                               \
    refused(text, strlen(text), (const char *const[]){__VA_ARGS__, NULL})

static struct machine *
preset(const char *name)
{
    struct diag_sink d = {0};
    struct machine *m = machine_load(name, &d);
    char *said = messages(&d);
    if (!m)
        fail_msg("%s: %s", name, said);
    free(said);
    diag_free(&d);
    return m;
}

static void
put(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* -- reading -- */

static void
test_values(void **state)
{
    struct diag_sink d = {0};
    struct machine *m = parse("# a remark\n"
                              "sm:\n"
                              "  count: 0x10   # sixteen\n"
                              "  scheduler: lrr\n"
                              "clock: {core: 1411.5, icnt: 7e2}\n"
                              "memory:\n"
                              "  global_in_l1: no\n"
                              "l1d:\n"
                              "  replacement: 'fifo'\n"
                              "latency:\n"
                              "  sfu: [20, 0x4]\n",
                              &d);
    assert_non_null(m);
    assert_int_equal(d.n, 0);
    assert_int_equal(m->sm.count, 16);
    assert_string_equal(m->sm.scheduler, "lrr");
    assert_true(m->clock.core == 1411.5);
    assert_true(m->clock.icnt == 700);
    assert_false(m->memory.global_in_l1);
    assert_string_equal(m->l1d.replacement, "fifo");
    assert_int_equal(m->latency[PTX_LAT_SFU].cycles, 20);
    assert_int_equal(m->latency[PTX_LAT_SFU].interval, 4);
    /* untouched ones keep their defaults */
    assert_int_equal(m->sm.max_threads, 1536);
    assert_int_equal(m->dram.tRCD, 12);
    assert_string_equal(m->name, "test.yaml");
    machine_free(m);
    diag_free(&d);
}

static void
test_refusals_name_the_place(void **state)
{
    REFUSED("sm:\n  max_blocks: 8\n  cuont: 3\n", "test.yaml:3:3",
            "there is no setting 'sm.cuont'", "did you mean sm.count");
    REFUSED("smm:\n  count: 3\n", "test.yaml:1", "there is no group 'smm'",
            "did you mean sm");
    REFUSED("zebra: 1\n", "there is no group 'zebra'", "a machine file has: base, gpu");
    REFUSED("sm:\n  tRCD: 3\n", "there is no setting 'sm.tRCD'",
            "did you mean dram.tRCD");
    REFUSED("sm:\n  max_blocks: 4\n  count: many\n", "test.yaml:3:3",
            "sm.count: 'many' is not a whole number", "allowed: 1 to 1024 SMs");
    REFUSED("sm:\n  count: 3.5\n", "sm.count: '3.5' is not a whole number");
    REFUSED("sm:\n  count: -3\n", "sm.count: '-3' is not a whole number");
    REFUSED("sm:\n  count:\n", "sm.count: '' is not a whole number");
    REFUSED("sm:\n  count: 0\n", "test.yaml:2:3", "sm.count: '0' is out of range",
            "1 to 1024");
    REFUSED("sm:\n  count: 1025\n", "is out of range");
    REFUSED("sm:\n  count: 4294967297\n", "is out of range");
    REFUSED("sm:\n  count: 99999999999999999999999999\n", "is out of range");
    REFUSED("clock:\n  core: fast\n", "test.yaml:2:3",
            "clock.core: 'fast' is not a number", "MHz");
    REFUSED("clock:\n  core: nan\n", "is not a number");
    REFUSED("clock:\n  core: inf\n", "is not a number");
    REFUSED("clock:\n  core: 1e9\n", "clock.core: '1e9' is out of range");
    REFUSED("memory:\n  global_in_l1: maybe\n", "is neither true nor false",
            "true | false");
    REFUSED("l1d:\n  hash: md5\n", "l1d.hash: 'md5' is not one of its words",
            "linear | fermi | xor | ipoly");
    REFUSED("l1d:\n  hash: linear|fermi\n", "is not one of its words");
    REFUSED("sm:\n  scheduler: ''\n", "names no policy");
}

static void
test_refusals_of_structure(void **state)
{
    REFUSED("sm: 5\n", "test.yaml:1", "sm: a group of settings expected here");
    REFUSED("sm:\n  count: [1, 2]\n", "test.yaml:2", "sm.count: one value expected here");
    REFUSED("sm:\n  count:\n    deep: 1\n", "sm.count: one value expected here");
    REFUSED("- a\n- b\n", "groups of settings expected");
    REFUSED("just words\n", "groups of settings expected");
    REFUSED("latency:\n  sfu: 8\n",
            "latency.sfu: a pair [cycles, interval] expected here");
    REFUSED("latency:\n  sfu: [8]\n", "a latency is a pair");
    REFUSED("latency:\n  sfu: [8, 8, 8]\n", "a latency is a pair");
    REFUSED("latency:\n  sfu: [8, x]\n", "test.yaml:2:3",
            "latency.sfu: '8,x' is not a pair");
    REFUSED("latency:\n  sfu: [0, 1]\n", "latency.sfu: '0,1' is out of range");
    REFUSED("sm:\n  count: 3\n  count: 4\n", "sm.count: stated twice");
    REFUSED("sm:\n  count: 3\nsm:\n  max_blocks: 4\n", "sm: stated twice");
    REFUSED("sm: &a\n  count: 3\nl2: *a\n", "aliases");
    REFUSED("sm:\n\tcount: 3\n", "test.yaml:2:1", "not readable as YAML", "tabs");
    REFUSED("sm:\n  count: 'open\n", "not readable as YAML");
    REFUSED("sm: {count: 3\n", "not readable as YAML");
    REFUSED("sm:\n  ? [a]\n  : 1\n", "test.yaml");
    REFUSED("", "the file states nothing", "base: gtx480");
    REFUSED("# only a remark\n", "the file states nothing");
    REFUSED("sm: {count: 3}\n---\nsm: {count: 4}\n", "second YAML document");
}

static void
test_binary(void **state)
{
    static const char zeros[64] = {0};
    refused(zeros, sizeof zeros, (const char *const[]){"not a text file", NULL});
    refused("\x7f"
            "ELF\x02\x01\x01",
            7, (const char *const[]){"test.yaml", NULL});
    refused("\xff\xfe\x41\x00", 4, (const char *const[]){"not a text file", NULL});
    refused("sm:\n  count: \x01\x02\n", 16,
            (const char *const[]){"test.yaml:2", "control characters", NULL});
    refused("\xc3\x28: 1\n", 6, (const char *const[]){"not readable as YAML", NULL});
    char *big = malloc(2000001);
    memset(big, '#', 2000000);
    refused(big, 2000000, (const char *const[]){"too large", NULL});
    free(big);
    /* random bytes: refused, and no crash or leak (the sanitised build says) */
    uint64_t r = 12345;
    char noise[200];
    for (int i = 0; i < 3000; i++) {
        size_t n = (size_t)i % sizeof noise;
        for (size_t k = 0; k < n; k++) {
            r = r * 6364136223846793005u + 1442695040888963407u;
            static const char alphabet[] =
                "sm:count \n\n  [],{}'\"#&*-?|>%@!123\t~latency";
            noise[k] =
                i & 1 ? (char)(r >> 56) : alphabet[(r >> 33) % (sizeof alphabet - 1)];
        }
        struct diag_sink d = {0};
        struct machine *m = machine_parse("noise", noise, n, &d);
        assert_true(m || d.errors);
        machine_free(m);
        diag_free(&d);
    }
}

/* Every prefix of a real file, and the file with one byte changed. */
static void
test_damaged_files(void **state)
{
    size_t len;
    char *text = file_read(PRESETS "/001-table2.3-registers.yaml", &len);
    assert_non_null(text);
    for (size_t n = 0; n < len; n += 7) {
        struct diag_sink d = {0};
        machine_free(machine_parse(PRESETS "/x.yaml", text, n, &d));
        diag_free(&d);
    }
    uint64_t r = 99;
    for (int i = 0; i < 500; i++) {
        r = r * 6364136223846793005u + 1442695040888963407u;
        size_t at = (size_t)(r >> 32) % len;
        char old = text[at];
        text[at] = (char)(r >> 24);
        struct diag_sink d = {0};
        struct machine *m = machine_parse(PRESETS "/x.yaml", text, len, &d);
        assert_true(m || d.errors);
        machine_free(m);
        diag_free(&d);
        text[at] = old;
    }
    free(text);
}

static void
test_cross_checks(void **state)
{
    REFUSED("sm: {count: 15, per_cluster: 2}\n",
            "sm.count = 15 must be a multiple of sm.per_cluster");
    REFUSED("sm: {max_threads: 1000, max_block_threads: 1000}\n",
            "sm.max_threads = 1000 must be a multiple of 32");
    REFUSED("sm: {max_threads: 512}\n",
            "sm.max_block_threads = 1024 is more than sm.max_threads");
    REFUSED("sm: {max_threads: 4096, schedulers: 1}\n", "more than 64 warps");
    REFUSED("sm: {max_block_registers: 65536}\n",
            "sm.max_block_registers = 65536 is more");
    REFUSED("sm: {register_partitions: 3}\n",
            "must be a multiple of sm.register_partitions");
    REFUSED("sm: {scratchpad_sizes: 0 x}\n", "whole numbers of KiB");
    REFUSED("sm: {scratchpad_sizes: 0 48 16}\n", "must rise");
    REFUSED("sm: {scratchpad_sizes: 0 16 32}\n", "the last must be sm.scratchpad");
    REFUSED("l1d: {sets: 48}\n", "l1d.sets = 48 must be a power of two");
    REFUSED("l1d: {sets: 16}\n", "fermi hash is defined for 32 and 64 sets");
    REFUSED("l2: {sector: 48}\n", "l2.sector = 48");
    REFUSED("l2: {line: 256}\n", "l2.line = 256 and l1d.line = 128 must be equal");
    REFUSED("l1i: {line: 96}\n", "l1i.line = 96 must be a power of two");
    REFUSED("unit: {dp: 2}\n", "unit.slots_dp", "collector.units_dp");
    REFUSED("collector: {units_sp: 0}\n", "collector.units_sp");
    REFUSED("collector: {units_general: 4}\n", "collector.ports_general");
    REFUSED("partition: {interleave: 64}\n", "partition.interleave = 64");
    REFUSED("icnt: {flit: 8, input_buffer: 2}\n", "cannot hold a packet of 136 bytes");
    REFUSED("dram: {banks: 8}\n", "4 bank bits (B), but dram.banks = 8 needs 3");
    REFUSED("dram: {row: 2048}\n", "12 column and burst bits");
    REFUSED("dram: {burst: 32}\n", "6 burst bits");
    REFUSED("dram: {banks: 12}\n", "dram.banks = 12 must be a power of two");
    REFUSED("dram: {address_map: RRXBBBBCCCCCCSSSSSS}\n", "has a 'X'");
    REFUSED("dram: {address_map: SSSSSSRRBBBBCCCCCC}\n", "S bits come last");
    REFUSED("dram: {address_map: ''}\n", "0 row bits");
    REFUSED("dram: {groups: 3}\n", "multiple of dram.groups");
    REFUSED("dram: {bus: 48}\n", "multiple of dram.bus");
    REFUSED("dram: {tRC: 20}\n", "dram.tRC = 20 is less than dram.tRAS");
    REFUSED("dram: {tREFI: 100}\n", "needs dram.tRFC");
    REFUSED("dram: {tREFI: 100, tRFC: 200}\n", "must be more than dram.tRFC");
    REFUSED("residency: {threshold: 0}\n", "residency.threshold must be above 0");
    /* all of a file's violations, not only the first */
    REFUSED("dram: {tRC: 20, groups: 3}\nl1i: {line: 96}\n", "dram.tRC", "dram.groups",
            "l1i.line");
}

/* -- base -- */

static void
test_base(void **state)
{
    char dir[] = "/tmp/allot-machines-XXXXXX", path[400];
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    put("a.yaml", "base: gtx480\nsm: {count: 3, max_blocks: 5}\ngpu: {name: A}\n");
    put("b.yaml", "base: a\nsm: {count: 4}\n"); /* a neighbour by name */
    put("c.yaml",
        "base: ./b.yaml\nsm: {count: 6}\n"); /* by path, from the file's folder */
    put("x.yaml", "base: y\n");
    put("y.yaml", "\n\nbase: x\n");
    put("self.yaml", "base: self\n");
    put("bad.yaml", "base: wrong\n");
    put("wrong.yaml", "sm:\n  count: none\n");
    put("titan.yaml", "base: titan\nsm: {count: 9}\n"); /* bears a preset's name */
    put("gone.yaml", "base: gtx48\n");
    put("empty.yaml", "base: ''\n");
    put("late.yaml",
        "sm: {count: 2}\nbase: a\n"); /* wherever it stands, the base is below */

    struct machine *m = preset("./c.yaml");
    assert_int_equal(m->sm.count, 6);
    assert_int_equal(m->sm.max_blocks, 5);
    assert_string_equal(m->gpu.name, "A");
    assert_string_equal(m->name, "c");
    assert_string_equal(m->file, "./c.yaml");
    machine_free(m);
    m = preset("./titan.yaml");
    assert_int_equal(m->sm.count, 9);
    assert_int_equal(m->sm.max_threads, 2048);
    machine_free(m);
    m = preset("late.yaml");
    assert_int_equal(m->sm.count, 2);
    machine_free(m);

    static const struct {
        const char *file, *words[3];
    } bad[] = {
        {"./x.yaml", {"./y.yaml:3:1", "based on itself"}},
        {"./self.yaml", {"./self.yaml:1:1", "there is no machine 'self'"}},
        {"./bad.yaml", {"wrong.yaml:2:3", "sm.count: 'none'"}},
        {"./gone.yaml",
         {"./gone.yaml:1:1", "there is no machine 'gtx48'", "did you mean gtx480"}},
        {"./empty.yaml", {"there is no machine ''"}},
        {"./missing.yaml",
         {"cannot read the machine file ./missing.yaml", "No such file"}},
        {".//", {"cannot read the machine file", "directory"}},
        {"no-such-preset", {"there is no machine 'no-such-preset'", "gtx480"}},
        {"", {"there is no machine ''"}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct diag_sink d = {0};
        m = machine_load(bad[i].file, &d);
        assert_null(m);
        char *said = messages(&d);
        for (int k = 0; k < 3 && bad[i].words[k]; k++)
            if (!strstr(said, bad[i].words[k]))
                fail_msg("%s: '%s' is not in:\n%s", bad[i].file, bad[i].words[k], said);
        free(said);
        diag_free(&d);
    }

    /* $ALLOT_MACHINES comes first, and its presets are listed */
    put("gtx480.yaml", "sm: {count: 1}\n");
    snprintf(path, sizeof path, "/nonexistent:%s", dir);
    setenv("ALLOT_MACHINES", path, 1);
    assert_int_equal(chdir("/"), 0);
    m = preset("gtx480");
    assert_int_equal(m->sm.count, 1);
    machine_free(m);
    char **names = machine_names();
    int found = 0, gtx = 0;
    for (size_t i = 0; names[i]; i++) {
        if (i)
            assert_true(strcmp(names[i - 1], names[i]) < 0);
        found += !strcmp(names[i], "self") || !strcmp(names[i], "titan");
        gtx += !strcmp(names[i], "gtx480");
    }
    for (size_t i = 0; names[i]; i++)
        free(names[i]);
    free(names);
    assert_int_equal(found, 2);
    assert_int_equal(gtx, 1);
    unsetenv("ALLOT_MACHINES");

    DIR *folder = opendir(dir);
    for (struct dirent *e; (e = readdir(folder));) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        unlink(path);
    }
    closedir(folder);
    rmdir(dir);
}

/* -- one setting at a time -- */

static void
test_set_and_get(void **state)
{
    struct machine *m = machine_new();
    struct diag_sink d = {0};
    char buf[100];
    static const struct {
        const char *path, *in, *out;
    } good[] = {
        {"sm.count", "30", "30"},
        {"sm.scheduler", "lrr", "lrr"},
        {"clock.core", "732.25", "732.25"},
        {"clock.core", "0.1e4", "1000"},
        {"residency.threshold", "0.30000000000000004", "0.30000000000000004"},
        {"residency.threshold", "0.3", "0.3"},
        {"partition.prefill", "yes", "true"},
        {"latency.int_add", "4,1", "4,1"},
        {"latency.int_add", "[ 5, 2 ]", "5,2"},
        {"latency.f64_div", "330 130", "330,130"},
        {"gpu.name", "My: 'GPU' # 1", "My: 'GPU' # 1"},
        {"l2.hash", "ipoly", "ipoly"},
        {"sm.scratchpad", "48K", "49152"},
        {"l1d.line", "128", "128"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(machine_set(m, good[i].path, good[i].in, &d));
        assert_true(machine_get(m, good[i].path, buf, sizeof buf));
        assert_string_equal(buf, good[i].out);
    }
    assert_int_equal(m->latency[PTX_LAT_INT_ADD].cycles, 5);
    assert_int_equal(m->latency[PTX_LAT_INT_ADD].interval, 2);
    assert_int_equal(d.n, 0);

    static const char *const bad[][3] = {
        {"sm.cuont", "3", "did you mean sm.count"},
        {"sm", "3", "'sm' is a group of settings"},
        {"count", "3", "did you mean sm.count"},
        {"qqqqqqqqq", "3", "allot list settings"},
        {"", "3", "there is no setting ''"},
        {"sm.count", "", "not a whole number"},
        {"sm.count", " 3", "not a whole number"},
        {"sm.count", "3 ", "not a whole number"},
        {"sm.count", "0x", "not a whole number"},
        {"sm.count", "1K", "not a whole number"},
        {"sm.scratchpad", "48KX", "not a whole number"},
        {"sm.scratchpad", "2M", "out of range"},
        {"sm.rounding", "gpgpusim", "did you mean 'gpgpu-sim'?"},
        {"latency.int_add", "4", "not a pair"},
        {"latency.int_add", "4,1,1", "not a pair"},
        {"latency.int_add", "4,99999", "out of range"},
        {"latency.int_addd", "4,1", "did you mean latency.int_add"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct diag_sink e = {0};
        uint64_t before = machine_hash(m);
        assert_false(machine_set(m, bad[i][0], bad[i][1], &e));
        char *said = messages(&e);
        if (!strstr(said, bad[i][2]))
            fail_msg("%s=%s: '%s' is not in:\n%s", bad[i][0], bad[i][1], bad[i][2], said);
        free(said);
        assert_int_equal(e.errors, 1);
        assert_true(before == machine_hash(m)); /* nothing changed */
        diag_free(&e);
    }
    assert_false(machine_get(m, "sm.cuont", buf, sizeof buf));
    assert_true(machine_get(m, "sm.scheduler", buf, 3)); /* cut */
    assert_string_equal(buf, "lr");
    machine_free(m);
}

/* Each setting takes its own text back; bounds are tight. */
static void
test_every_setting(void **state)
{
    struct machine *m = machine_new();
    struct allot_setting_info s;
    size_t n = 0;
    char buf[200], text[100];
    for (; machine_setting(n, &s); n++) {
        struct diag_sink d = {0};
        assert_true(machine_get(m, s.path, buf, sizeof buf));
        assert_true(machine_set(m, s.path, buf, &d));
        assert_true(machine_set(m, s.path, s.value_default, &d));
        assert_true(strlen(s.meaning) >= 3);
        assert_non_null(s.unit);
        assert_true(strlen(s.range) > 0);
        const struct setting *row = setting_find(s.path);
        for (size_t k = 0; k < n; k++) { /* paths are unique */
            struct allot_setting_info o;
            machine_setting(k, &o);
            assert_string_not_equal(o.path, s.path);
        }
        if (row->type == SET_INT || row->type == SET_NUM) {
            snprintf(text, sizeof text, "%.17g", row->min);
            assert_true(machine_set(m, s.path, text, &d));
            snprintf(text, sizeof text, "%.17g", row->max);
            assert_true(machine_set(m, s.path, text, &d));
            assert_int_equal(d.n, 0);
            snprintf(text, sizeof text, "%.17g", row->max + 1);
            assert_false(machine_set(m, s.path, text, &d));
            if (row->min > 0) {
                snprintf(text, sizeof text, "%.17g",
                         row->type == SET_INT ? row->min - 1 : 0.);
                assert_false(machine_set(m, s.path, text, &d));
            }
        }
        diag_free(&d);
    }
    assert_true(n > 150 &&
                &setting_find("gpu.name")[n - 1] == setting_find("latency.shfl"));
    assert_false(machine_setting(n, &s));
    assert_false(machine_setting((size_t)-1, &s));
    machine_free(m);
}

/* -- the whole machine -- */

static void
test_hash(void **state)
{
    struct machine *a = preset("gtx480"), *b = preset("titan"), *c = machine_clone(a);
    struct diag_sink d = {0};
    assert_true(machine_hash(a) != machine_hash(b));
    assert_true(machine_hash(a) == machine_hash(c));
    assert_true(machine_set(c, "gpu.name", "another name", &d));
    assert_true(machine_hash(a) == machine_hash(c)); /* descriptive */
    assert_string_not_equal(a->gpu.name, c->gpu.name);
    /* every other setting counts */
    struct allot_setting_info s;
    for (size_t i = 0; machine_setting(i, &s); i++) {
        const struct setting *row = setting_find(s.path);
        if (!strcmp(s.path, "gpu.name") || !strcmp(s.path, "gpu.source"))
            continue;
        char old[200], text[64] = "";
        machine_get(a, s.path, old, sizeof old);
        for (int k = 0; k < 2; k++) { /* a value other than the present one */
            switch (row->type) {
            case SET_INT:
            case SET_NUM:
                snprintf(text, sizeof text, "%.17g", k ? row->max : row->min);
                break;
            case SET_BOOL:
                snprintf(text, sizeof text, k ? "true" : "false");
                break;
            case SET_LATENCY:
                snprintf(text, sizeof text, k ? "7,7" : "9999,3");
                break;
            case SET_ENUM:
                snprintf(text, sizeof text, "%s", row->words[k]);
                break;
            default:
                snprintf(text, sizeof text, "word%d", k);
            }
            if (strcmp(text, old))
                break;
        }
        assert_true(machine_set(c, s.path, text, &d));
        bool counts = strcmp(row->group, "functional") != 0; /* no part of the GPU */
        if ((machine_hash(a) != machine_hash(c)) != counts)
            fail_msg("%s: %s or %s, %s hash", s.path, old, text,
                     counts ? "the same" : "another");
        assert_true(machine_set(c, s.path, old, &d));
        assert_true(machine_hash(a) == machine_hash(c));
    }
    /* swapping two values of the same text must not cancel out */
    machine_set(c, "dram.tRCD", "13", &d);
    machine_set(c, "dram.tRP", "11", &d);
    uint64_t one = machine_hash(c);
    machine_set(c, "dram.tRCD", "11", &d);
    machine_set(c, "dram.tRP", "13", &d);
    assert_true(one != machine_hash(c));
    machine_free(a);
    machine_free(b);
    machine_free(c);
    diag_free(&d);
}

static void
test_presets(void **state)
{
    static const char *const wanted[] = {"gtx480",
                                         "titan",
                                         "001-table2.3-registers",
                                         "001-table2.3-scratchpad",
                                         "000-table2",
                                         "000-table8-48k",
                                         "000-table8-64k",
                                         "001-table4.2-k20x",
                                         "002-gtx680",
                                         "002-c2075",
                                         "003-gtx285",
                                         "003-gtx480-16k",
                                         "003-gtx480-48k",
                                         "004-table1-fermi"};
    char **names = machine_names();
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        bool there = false;
        for (size_t k = 0; names[k]; k++)
            there |= !strcmp(names[k], wanted[i]);
        if (!there)
            fail_msg("no preset %s", wanted[i]);
    }
    for (size_t k = 0; names[k]; k++) {
        struct machine *m = preset(names[k]);
        assert_string_equal(m->name, names[k]);
        assert_true(strlen(m->gpu.name) > 0 && strlen(m->gpu.source) > 0);
        /* printed and read again it is the same machine */
        struct strbuf b = {0};
        struct diag_sink d = {0};
        machine_print(m, &b);
        struct machine *again = machine_parse("again", b.s, b.n, &d);
        assert_non_null(again);
        assert_true(machine_hash(m) == machine_hash(again));
        assert_string_equal(m->gpu.name, again->gpu.name);
        assert_string_equal(m->gpu.source, again->gpu.source);
        machine_free(again);
        strbuf_free(&b);
        diag_free(&d);
        machine_free(m);
        free(names[k]);
    }
    free(names);
}

/* The preset that stands below the others leaves nothing to silent defaults: a new setting is
 * stated there, with its source, and wherever else its value is known. */
static void
test_presets_state_everything(void **state)
{
    char **names = machine_names();
    int whole = 0;
    for (size_t k = 0; names[k]; k++) {
        char path[500];
        snprintf(path, sizeof path, PRESETS "/%s.yaml", names[k]);
        char *text = file_read(path, NULL);
        assert_non_null(text);
        unsigned line, col;
        setting_locate(text, "base", NULL, &line, &col);
        size_t n;
        const struct setting *t = setting_rows(&n);
        for (size_t i = 0; !line && i < n; i++) {
            unsigned group, at;
            setting_locate(text, t[i].group, NULL, &group, &col);
            setting_locate(text, t[i].group, t[i].name, &at, &col);
            if (!strcmp(t[i].group, "functional")) /* no part of the GPU */
                continue;
            if (!group || at == group || !at)
                fail_msg("%s does not state %s", names[k], t[i].path);
            whole += !i;
        }
        free(text);
        free(names[k]);
    }
    free(names);
    assert_int_equal(whole, 1); /* gtx480: the others inherit what they do not state */
}

/* The built-in defaults are gtx480's structure; its latencies are stated in two places.
 */
static void
test_default_latencies(void **state)
{
    struct machine *m = machine_new(), *g = preset("gtx480");
    for (int i = 0; i < PTX_NLATENCIES; i++) {
        assert_int_equal(m->latency[i].cycles, g->latency[i].cycles);
        assert_int_equal(m->latency[i].interval, g->latency[i].interval);
    }
    struct diag_sink d = {0};
    assert_true(machine_check(m, &d));
    diag_free(&d);
    machine_free(m);
    machine_free(g);
}

static const char *
name_at(void *user, const char *folder, size_t i)
{
    static const char *const schedulers[] = {"lrr", "gto", "two-level"};
    (*(int *)user)++;
    if (!strcmp(folder, "schedulers"))
        return i < 3 ? schedulers[i] : NULL;
    if (!strcmp(folder, "residency"))
        return i < 1 ? "baseline" : NULL;
    if (!strcmp(folder, "cta_order"))
        return i < 1 ? "round-robin" : NULL;
    if (!strcmp(folder, "dram"))
        return i < 1 ? "fr-fcfs" : NULL;
    if (!strcmp(folder, "replacement"))
        return i < 1 ? "lru" : NULL;
    if (!strcmp(folder, "regpower"))
        return i < 1 ? "baseline" : NULL;
    fail_msg("unknown folder %s", folder);
    return NULL;
}

static void
test_policies(void **state)
{
    struct machine *m = machine_new();
    struct diag_sink d = {0};
    int asked = 0;
    assert_true(machine_check_policies(m, name_at, &asked, &d));
    assert_true(asked > 4 && d.n == 0);
    assert_true(machine_set(m, "sm.scheduler", "gtp", &d));
    assert_true(machine_set(m, "dram.scheduler", "oracle", &d));
    assert_false(machine_check_policies(m, name_at, &asked, &d));
    assert_int_equal(d.errors, 2);
    char *said = messages(&d);
    assert_non_null(strstr(said, "sm.scheduler: there is no policy 'gtp'"));
    assert_non_null(strstr(said, "did you mean gto? There are: lrr, gto, two-level"));
    assert_non_null(strstr(said, "dram.scheduler: there is no policy 'oracle'"));
    free(said);
    diag_free(&d);
    machine_free(m);
}

static void
test_docs(void **state)
{
    struct strbuf b = {0};
    machine_docs(&b);
    struct allot_setting_info s;
    for (size_t i = 0; machine_setting(i, &s); i++) {
        char cell[100];
        snprintf(cell, sizeof cell, "| `%s` |", s.path);
        assert_non_null(strstr(b.s, cell));
    }
    assert_non_null(strstr(b.s, "miss \\| fill")); /* bars inside cells are escaped */
    strbuf_free(&b);
}

int
main(void)
{
    unsetenv("ALLOT_MACHINES");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_refusals_name_the_place),
        cmocka_unit_test(test_refusals_of_structure),
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_cross_checks),
        cmocka_unit_test(test_base),
        cmocka_unit_test(test_set_and_get),
        cmocka_unit_test(test_every_setting),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_presets_state_everything),
        cmocka_unit_test(test_default_latencies),
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_docs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
