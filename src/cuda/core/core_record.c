/* core_record.c: the file from which `allot exec` learns what ran (ALLOT_RECORD).
 *
 * Lines of JSON of three kinds. A kernel's row has the sums of its launches in this
 * process; it is written at its first launch and rewritten in place, at the same length,
 * when a launch begins and when it ends. So the file does not grow with launches, and a
 * process that is killed leaves the kernel that was running ("running": 1). With
 * ALLOT_RECORD_ALL a line with every counter is appended for each launch as well.
 *
 * A launch that faults or is refused has a row as well, one for each kernel and error:
 * how often, and how often the program has taken notice.
 *
 * Several processes share the file: rows are appended by one write to a descriptor with
 * O_APPEND, and a process rewrites only its own. */
#define _GNU_SOURCE
#include "cuda/core/core_int.h"

#include "base/json.h"
#include "cuda/core/core_marks.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct acu_row {
    char *name;      /* of the kernel */
    off_t at;        /* in the file */
    bool functional; /* its launches without timing */
    uint64_t launches, cycles, warp_instructions, thread_instructions, resident_blocks;
    double seconds;
    uint32_t grid[3], block[3];
    const struct allot_progress *so_far; /* of the running launch; NULL: it has begun */
};

struct acu_failure {
    char *name, *why; /* of the kernel or module, JSON strings with their quotes */
    int error;
    bool fault;
    off_t at;
    uint64_t launch; /* the first one's number in the process, from 1 */
    uint64_t count, noticed;
};

bool
acu_record_open(const char *path)
{
    acu.record.append = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    acu.record.update = open(path, O_WRONLY | O_CLOEXEC); /* pwrite ignores O_APPEND's */
    if (acu.record.append >= 0 && acu.record.update >= 0)
        return true;
    acu_say("cannot open the record %s: %s", path, strerror(errno));
    return false;
}

/* An empty file beside the record, which a full disk still takes: `allot exec` asks for it. */
static void
mark(const char *end)
{
    const char *record = getenv("ALLOT_RECORD");
    struct strbuf path = {0};
    if (!record || !*record)
        return;
    strbuf_printf(&path, "%s%s", record, end);
    int fd = open(path.s, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0)
        close(fd);
    strbuf_free(&path);
}

void
acu_record_lost(void)
{
    mark(RECORD_LOST);
}

/* Says so once: a full disk would be told again at each launch. */
static void
check_written(ssize_t done, size_t wanted)
{
    if (done == (ssize_t)wanted || acu.record.failed)
        return;
    acu.record.failed = true;
    mark(RECORD_CUT);
    acu_say("the record of launches could not be written (%s): tables and files will "
            "lack some",
            done < 0 ? strerror(errno) : "short write");
}

/* Every number at its greatest width, so that the row can be rewritten. */
static void
row_text(struct strbuf *b, const struct acu_row *r, const uint32_t grid[3],
         const uint32_t block[3], bool running)
{
    strbuf_printf(b,
                  "{\"pid\": %10ld, \"kernel_row\": \"%s\", \"running\": %d, "
                  "\"grid\": [%10u, %10u, %10u], \"block\": [%10u, %10u, %10u], "
                  "\"launches\": %20llu, \"cycles\": %20llu, "
                  "\"warp_instructions\": %20llu, \"thread_instructions\": %20llu, "
                  "\"resident_blocks\": %20llu, \"seconds\": %20.6f, "
                  "\"functional\": %d, ",
                  (long)acu.record.pid, r->name, running, grid[0], grid[1], grid[2],
                  block[0], block[1], block[2], (unsigned long long)r->launches,
                  (unsigned long long)r->cycles, (unsigned long long)r->warp_instructions,
                  (unsigned long long)r->thread_instructions,
                  (unsigned long long)r->resident_blocks, r->seconds, r->functional);
    enum { WHERE = 240 };
    const struct allot_progress none = {.where = ""}, *p = r->so_far ? r->so_far : &none;
    char where[WHERE + 1];
    snprintf(where, sizeof where, "%s", p->where);
    for (char *c = where; *c; c++) /* no escapes: the length is kept */
        if ((unsigned char)*c < 32 || *c == '"' || *c == '\\' || (unsigned char)*c > 126)
            *c = '?';
    strbuf_printf(b,
                  "\"cycles_so_far\": %20llu, \"thread_instructions_so_far\": %20llu, "
                  "\"blocks_done\": %20llu, \"blocks\": %20llu, \"where\": \"%s\"%*s}\n",
                  (unsigned long long)p->cycles,
                  (unsigned long long)p->thread_instructions,
                  (unsigned long long)p->blocks_done, (unsigned long long)p->blocks,
                  where, WHERE - (int)strlen(where), "");
}

/* A forked child begins rows of its own, and needs a file position of its own. */
static void
begin_rows(void)
{
    char path[40];
    if (acu.record.rows.n || acu.record.failures.n) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", acu.record.update);
        int own = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (own >= 0)
            dup3(own, acu.record.append, O_CLOEXEC), close(own);
    }
    for (size_t i = 0; i < acu.record.rows.n; i++)
        free(acu.record.rows.v[i].name);
    vec_free(&acu.record.rows);
    for (size_t i = 0; i < acu.record.failures.n; i++) {
        free(acu.record.failures.v[i].name);
        free(acu.record.failures.v[i].why);
    }
    vec_free(&acu.record.failures);
    acu.record.pid = getpid();
}

/* The kernel's row in this process. */
static struct acu_row *
row_of(const char *name, bool functional)
{
    if (acu.record.pid != getpid())
        begin_rows();
    /* Most launches are of the kernel launched last, or of one of a few. */
    for (size_t i = acu.record.rows.n; i--;)
        if (!strcmp(acu.record.rows.v[i].name, name) &&
            acu.record.rows.v[i].functional == functional)
            return &acu.record.rows.v[i];
    struct acu_row *r = vec_push(&acu.record.rows);
    *r = (struct acu_row){.name = xstrdup(name), .functional = functional, .at = -1};
    return r;
}

/* Writes a row anew at *at, or appends it if that is negative. */
static void
write_text(const struct strbuf *b, off_t *at)
{
    if (*at >= 0) {
        check_written(pwrite(acu.record.update, b->s, b->n, *at), b->n);
    } else {
        ssize_t w = write(acu.record.append, b->s, b->n);
        check_written(w, b->n);
        if (w == (ssize_t)b->n) /* the write has moved this descriptor to its end */
            *at = lseek(acu.record.append, 0, SEEK_CUR) - (off_t)b->n;
    }
}

static void
write_row(struct acu_row *r, const uint32_t grid[3], const uint32_t block[3],
          bool running)
{
    struct strbuf b = {0};
    row_text(&b, r, grid, block, running);
    write_text(&b, &r->at);
    strbuf_free(&b);
}

void
acu_record_launch(const struct acu_function *f, const struct acu_launch *l,
                  bool functional, bool running)
{
    if (acu.record.append < 0)
        return;
    struct acu_row *r = row_of(f->name, functional);
    memcpy(r->grid, l->grid, sizeof r->grid);
    memcpy(r->block, l->block, sizeof r->block);
    write_row(r, l->grid, l->block, running);
}

void
acu_record_progress(const struct allot_progress *p)
{
    if (acu.record.append < 0)
        return;
    /* what its kernel has launched counts as its own until it has ended */
    struct acu_row *r = row_of(acu.watch.kernel, acu.functional);
    r->so_far = p;
    write_row(r, r->grid, r->block, true);
    r->so_far = NULL;
}

/* A line with every counter of one launch. */
static void
append_launch(const struct acu_function *f, const struct allot_result *r)
{
    struct strbuf b = {0};
    uint32_t grid[3], block[3], dynamic;
    const char *parent = allot_result_parent(r);
    allot_result_shape(r, grid, block, &dynamic);
    strbuf_printf(&b,
                  "{\"pid\": %ld, \"name\": \"%s\", \"grid\": [%u, %u, %u], "
                  "\"block\": [%u, %u, %u], \"dynamic_scratchpad\": %u, "
                  "\"seconds\": %.6f, \"ptx_hash\": \"%s\"",
                  (long)getpid(), allot_result_kernel(r), grid[0], grid[1], grid[2],
                  block[0], block[1], block[2], dynamic, allot_result_seconds(r),
                  acu_module_hash(f->module));
    if (parent)
        strbuf_printf(&b, ", \"parent\": \"%s\"", parent);
    struct allot_stat_info info;
    for (size_t i = 0; allot_stat(i, &info); i++) {
        uint64_t count;
        double value;
        if (!allot_result_get(r, info.id, &count, &value))
            continue;
        if (info.derived)
            strbuf_printf(&b, ", \"%s\": %.12g", info.id, value);
        else
            strbuf_printf(&b, ", \"%s\": %llu", info.id, (unsigned long long)count);
    }
    if (acu.options.by_line && !acu.functional) {
        char *lines = allot_result_lines_text(r);
        strbuf_printf(&b, ", \"lines\": %s", lines);
        free(lines);
    }
    strbuf_addz(&b, "}\n");
    check_written(write(acu.record.append, b.s, b.n), b.n);
    strbuf_free(&b);
}

/* {"working_set": ...}: what runtime/working.h says of the launch. */
static void
append_working(const struct allot_result *r, uint64_t n)
{
    char *text = acu_working_line(r, n);
    if (!text)
        return;
    struct strbuf b = {0};
    strbuf_printf(&b, "{\"pid\": %ld, \"working_set\": %s}\n", (long)getpid(), text);
    check_written(write(acu.record.append, b.s, b.n), b.n);
    strbuf_free(&b);
    free(text);
}

void
acu_record_result(const struct acu_function *f, const struct allot_result *r,
                  bool functional)
{
    if (acu.record.append < 0)
        return;
    struct acu_row *row = row_of(allot_result_kernel(r), functional);
    uint32_t grid[3], block[3], dynamic;
    allot_result_shape(r, grid, block, &dynamic);
    row->launches++;
    row->cycles += rt_count(r, "cycles");
    row->warp_instructions += rt_count(r, "warp_instructions");
    row->thread_instructions += rt_count(r, "thread_instructions");
    row->resident_blocks = rt_count(r, "resident_blocks");
    row->seconds += allot_result_seconds(r);
    if (acu.record.all && (!functional || acu.options.functional))
        append_launch(f, r);
    append_working(r, row->launches);
    write_row(row, grid, block, false);
}

/* -- findings of --check -- */

/* How many have been found so far: what is new gets a line. */
void
acu_record_findings(uint64_t all)
{
    struct strbuf b = {0};
    if (acu.record.append < 0 || all <= acu.record.findings)
        return;
    strbuf_printf(&b, "{\"pid\": %ld, \"findings\": %llu}\n", (long)getpid(),
                  (unsigned long long)(all - acu.record.findings));
    check_written(write(acu.record.append, b.s, b.n), b.n);
    acu.record.findings = all;
    strbuf_free(&b);
}

/* -- launches that come to nothing -- */

static void
write_failure(struct acu_failure *x)
{
    struct strbuf b = {0};
    const char *error = acu_error_runtime_name(x->error);
    strbuf_printf(&b,
                  "{\"pid\": %10ld, \"failure\": %s, \"fault\": %d, \"error\": \"%s\", "
                  "\"why\": %s, \"launch\": %20llu, \"count\": %20llu, "
                  "\"noticed\": %20llu}\n",
                  (long)acu.record.pid, x->name, x->fault, error ? error : "?", x->why,
                  (unsigned long long)x->launch, (unsigned long long)x->count,
                  (unsigned long long)x->noticed);
    write_text(&b, &x->at);
    strbuf_free(&b);
}

/* As a JSON string. */
static char *
quoted(const char *s)
{
    json_t *j = json_text(s);
    char *text = json_dumps(j, JSON_ENCODE_ANY);
    json_decref(j);
    return text;
}

void
acu_record_failure(const char *name, int error, bool fault, const char *why)
{
    if (acu.record.append < 0)
        return;
    if (acu.record.pid != getpid())
        begin_rows();
    char *q = quoted(name);
    struct acu_failure *x = NULL;
    for (size_t i = 0; i < acu.record.failures.n && !x; i++)
        if (acu.record.failures.v[i].error == error &&
            !strcmp(acu.record.failures.v[i].name, q))
            x = &acu.record.failures.v[i];
    if (x) {
        free(q);
    } else {
        x = vec_push(&acu.record.failures);
        *x = (struct acu_failure){.name = q,
                                  .why = quoted(why),
                                  .error = error,
                                  .fault = fault,
                                  .at = -1,
                                  .launch = acu.launched};
    }
    x->count++;
    write_failure(x);
}

void
acu_record_noticed(bool fault)
{
    for (size_t i = 0; i < acu.record.failures.n && acu.record.pid == getpid(); i++) {
        struct acu_failure *x = &acu.record.failures.v[i];
        if (x->fault == fault && x->noticed < x->count) {
            x->noticed = x->count;
            write_failure(x);
        }
    }
}
