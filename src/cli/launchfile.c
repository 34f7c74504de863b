/* launchfile.c: arguments and buffers of a user's own kernel. */
#include "cli/launchfile.h"

#include "ptx/opcode.h"

#include <cyaml/cyaml.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* -- the YAML file -- */

struct file_desc {
    char *kernel, *grid, *block, *scratchpad;
    char **args;
    unsigned args_count;
};

static const cyaml_schema_value_t arg_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED)};
static const cyaml_schema_field_t file_fields[] = {
    CYAML_FIELD_STRING_PTR("kernel", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct file_desc, kernel, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("grid", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct file_desc, grid, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("block", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct file_desc, block, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("scratchpad", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                           struct file_desc, scratchpad, 0, CYAML_UNLIMITED),
    CYAML_FIELD_SEQUENCE("args", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                         struct file_desc, args, &arg_schema, 0, CYAML_UNLIMITED),
    CYAML_FIELD_END};
static const cyaml_schema_value_t file_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct file_desc, file_fields)};

/* libcyaml reports through a log function; its messages are kept to be printed with ours.
 */
static void
keep_log(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
    struct strbuf *b = ctx;
    char line[512];
    vsnprintf(line, sizeof line, fmt, args);
    if (level >= CYAML_LOG_ERROR)
        strbuf_printf(b, "    %s", line);
}

static char *
copy(const char *s)
{
    return s ? arena_strdup(cli_mem(), s) : NULL;
}

static const char keys_hint[] =
    "    hint: keys are kernel, grid, block, scratchpad, args (a "
    "list of texts as for --arg)\n";

bool
launch_file(const char *path, struct launch_desc *l)
{
    struct strbuf log = {0};
    const cyaml_config_t config = {.log_fn = keep_log,
                                   .log_ctx = &log,
                                   .log_level = CYAML_LOG_ERROR,
                                   .mem_fn = cyaml_mem};
    struct file_desc *f = NULL;
    size_t len = 0;
    char *text = file_read(path, &len);
    if (!text) {
        fprintf(stderr, "allot: cannot read %s: %s\n", path, strerror(errno));
        return false;
    }
    cyaml_err_t err = CYAML_OK;
    if (len)
        err = cyaml_load_data((const uint8_t *)text, len, &config, &file_schema,
                              (cyaml_data_t **)&f, NULL);
    free(text);
    if (err != CYAML_OK) {
        fprintf(stderr, "allot: %s: %s\n%s", path, cyaml_strerror(err),
                log.s ? log.s : "");
        fputs(keys_hint, stderr);
        strbuf_free(&log);
        return false;
    }
    if (!f) { /* an empty document is no error to libcyaml */
        fprintf(stderr, "allot: %s says nothing\n%s", path, keys_hint);
        strbuf_free(&log);
        return false;
    }
    /* The strings live to the end of the command. */
    if (!l->kernel)
        l->kernel = copy(f->kernel);
    if (!l->grid)
        l->grid = copy(f->grid);
    if (!l->block)
        l->block = copy(f->block);
    if (!l->smem)
        l->smem = copy(f->scratchpad);
    if (!l->args.n && f->args_count) {
        l->args.v = ARENA_ARRAY(cli_mem(), const char *, f->args_count);
        for (unsigned i = 0; i < f->args_count; i++)
            l->args.v[i] = copy(f->args[i]);
        l->args.n = f->args_count;
    }
    cyaml_free(&config, &file_schema, f, 0);
    strbuf_free(&log);
    return true;
}

/* -- values -- */

static bool
say(const char *text, const char *fmt, ...)
{
    va_list ap;
    fprintf(stderr, "allot: argument '%s': ", text);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n");
    return false;
}

static const struct ptx_type_info *
find_type(const char *name)
{
    for (int t = PTX_NOTYPE + 1; t < PTX_NTYPES; t++)
        if (ptx_types[t].bytes && !strcmp(ptx_types[t].text, name))
            return &ptx_types[t];
    return NULL;
}

/* A number as the bytes of one element. */
static bool
number(const char *text, const struct ptx_type_info *t, uint8_t out[8])
{
    char *end;
    if (t->kind == PTX_K_FLT) {
        double v = strtod(text, &end);
        if (end == text || *end)
            return false;
        if (t->bytes == 4) {
            float f = (float)v;
            memcpy(out, &f, 4);
        } else if (t->bytes == 8)
            memcpy(out, &v, 8);
        else
            return false;
        return true;
    }
    errno = 0;
    if (!isdigit((unsigned char)text[*text == '-']))
        return false;
    uint64_t v =
        *text == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
    if (end == text || *end || errno)
        return false;
    int64_t sv = (int64_t)v;
    unsigned bits = t->bytes * 8u;
    if (bits < 64 && (*text == '-' ? sv < -((int64_t)1 << (bits - 1)) : v >> bits != 0))
        return false;
    memcpy(out, &v, t->bytes < 8 ? t->bytes : 8);
    return true;
}

struct buf_spec {
    uint64_t bytes;
    const struct ptx_type_info *type;
    const char *init, *in;
};

static void
element(uint8_t *p, const struct ptx_type_info *t, uint64_t i, bool random,
        uint64_t *state)
{
    if (t->kind == PTX_K_FLT && t->bytes >= 4) {
        double v = random ? (double)wl_uniform(state, 0, 1) : (double)i;
        float f = (float)v;
        if (t->bytes == 4)
            memcpy(p, &f, 4);
        else
            memcpy(p, &v, 8);
        return;
    }
    uint64_t v = random ? wl_random(state) : i;
    memcpy(p, &v, t->bytes < 8 ? t->bytes : 8);
}

static bool
fill(const char *text, const struct buf_spec *s, uint32_t seed, uint8_t *data)
{
    uint64_t state = seed;
    uint8_t one[8] = {0};
    if (!strcmp(s->init, "zero"))
        return true;
    bool random = !strcmp(s->init, "random"), iota = !strcmp(s->init, "iota");
    if (!random && !iota && !number(s->init, s->type, one))
        return say(text, "init=%s: zero, iota, random or a number of type %s", s->init,
                   s->type->text);
    for (uint64_t at = 0, i = 0; at + s->type->bytes <= s->bytes;
         at += s->type->bytes, i++) {
        if (random || iota)
            element(data + at, s->type, i, random, &state);
        else
            memcpy(data + at, one, s->type->bytes);
    }
    return true;
}

/* "4096" or "1024xf32" */
static bool
buf_size(const char *text, const char *s, struct buf_spec *b)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)*s))
        return say(text, "a buffer's size is BYTES or COUNTxTYPE, as in buf:1024xf32");
    unsigned long long n = strtoull(s, &end, 0);
    if (errno || n > (1ull << 40))
        return say(text, "the buffer is too large");
    if (!*end) {
        b->bytes = n;
        return true;
    }
    const struct ptx_type_info *type = *end == 'x' ? find_type(end + 1) : NULL;
    if (!type)
        return say(
            text,
            "'%s': the element type is one of u8 u16 u32 u64, s8 to s64, b8 to b64, f32, f64",
            end);
    b->type = type;
    b->bytes = n * type->bytes;
    return true;
}

/* The name after out=, which ends at the next comma. */
static const char *
launch_out(const struct launch_arg *a, char path[4096])
{
    snprintf(path, 4096, "%.*s", (int)strcspn(a->out, ","), a->out);
    return path;
}

static bool
make_buffer(const char *text, struct allot_device *dev, uint32_t seed,
            struct launch_arg *a, struct allot_diag *d)
{
    struct buf_spec b = {.type = &ptx_types[PTX_U8], .init = "zero"};
    char *copy_text = xstrdup(text + 4), *save, *part = strtok_r(copy_text, ",", &save);
    bool ok = true;
    if (part && !strchr(part, '=')) {
        ok = buf_size(text, part, &b);
        part = strtok_r(NULL, ",", &save);
    }
    for (; ok && part; part = strtok_r(NULL, ",", &save)) {
        uint64_t n;
        if (!strncmp(part, "init=", 5))
            b.init = part + 5;
        else if (!strncmp(part, "in=", 3))
            b.in = part + 3;
        else if (!strncmp(part, "out=", 4))
            a->out = text + 4 + (part + 4 - copy_text);
        else if (!strncmp(part, "show=", 5)) {
            if (cli_u64(part + 5, 1, 1 << 20, &n))
                a->show = n;
            else
                ok = say(text, "'%s': not a number from 1 to 1048576", part);
        } else
            ok = say(text, "'%s': options are init= in= out= show=", part);
    }
    uint8_t *data = NULL;
    size_t len = 0;
    if (ok && b.in) {
        data = (uint8_t *)file_read(b.in, &len);
        if (!data)
            ok = say(text, "cannot read %s: %s", b.in, strerror(errno));
        else if (!len)
            ok = say(text, "%s is empty", b.in);
        else if (b.bytes && b.bytes != len)
            ok = say(text, "%s holds %zu bytes, not %llu", b.in, len,
                     (unsigned long long)b.bytes);
        b.bytes = len;
    }
    if (ok && !b.bytes)
        ok = say(text, "a buffer needs a size (buf:1024xf32) or in=FILE");
    if (ok && a->out) {
        char path[4096];
        ok = cli_writable(launch_out(a, path));
    }
    if (ok && !(a->addr = allot_alloc(dev, b.bytes, d)))
        ok = false;
    if (ok && !b.in) {
        data = calloc(b.bytes, 1);
        ok = data ? fill(text, &b, seed, data)
                  : say(text, "no host memory for %llu bytes",
                        (unsigned long long)b.bytes);
    }
    ok = ok && allot_write(dev, a->addr, data, b.bytes, d);
    a->buffer = true;
    a->bytes = b.bytes;
    snprintf(a->type, sizeof a->type, "%s", b.type->text);
    memcpy(a->value, &a->addr, 8);
    free(data);
    free(copy_text);
    return ok;
}

bool
launch_arg_make(const char *text, const struct allot_param *p, struct allot_device *dev,
                uint32_t seed, struct launch_arg *a, struct allot_diag *d)
{
    memset(a, 0, sizeof *a);
    if (!strncmp(text, "buf:", 4)) {
        if (p->bytes != 8 && p->bytes != 4)
            return say(text, "parameter %s (.%s, %u bytes) cannot hold an address",
                       p->name, p->type, p->bytes);
        return make_buffer(text, dev, seed, a, d);
    }
    const struct ptx_type_info *t = find_type(p->type);
    if (!t || p->bytes != t->bytes)
        return say(text,
                   "parameter %s is %u bytes passed by value; give it as a buffer's "
                   "address is not possible, and structures are not supported here",
                   p->name, p->bytes);
    /* Compilers declare untyped parameters too (.b32): a fraction then means a float. */
    if (t->kind == PTX_K_BITS && strpbrk(text, ".eE") && strncmp(text, "0x", 2))
        t = &ptx_types[t->bytes == 8 ? PTX_F64 : PTX_F32];
    if (!number(text, t, a->value))
        return say(text, "not a value of type .%s (parameter %s)", p->type, p->name);
    return true;
}

static void
show_element(FILE *to, const uint8_t *p, const struct ptx_type_info *t)
{
    if (t->kind == PTX_K_FLT && t->bytes == 4) {
        float f;
        memcpy(&f, p, 4);
        fprintf(to, " %.9g", (double)f);
    } else if (t->kind == PTX_K_FLT && t->bytes == 8) {
        double f;
        memcpy(&f, p, 8);
        fprintf(to, " %.17g", f);
    } else {
        uint64_t v = 0;
        memcpy(&v, p, t->bytes < 8 ? t->bytes : 8);
        unsigned shift = 64 - 8u * t->bytes;
        if (t->kind == PTX_K_SINT)
            fprintf(to, " %lld", (long long)((int64_t)(v << shift) >> shift));
        else
            fprintf(to, " %llu", (unsigned long long)v);
    }
}

bool
launch_arg_finish(const struct launch_arg *a, const char *name, struct allot_device *dev,
                  FILE *show, struct allot_diag *d)
{
    if (!a->buffer || (!a->out && !a->show))
        return true;
    uint8_t *data = xmalloc(a->bytes);
    bool ok = allot_read(dev, a->addr, data, a->bytes, d);
    if (ok && a->show) {
        const struct ptx_type_info *t = find_type(a->type);
        fprintf(show, "%s:", name);
        for (uint64_t i = 0; i < a->show && (i + 1) * t->bytes <= a->bytes; i++)
            show_element(show, data + i * t->bytes, t);
        fprintf(show, "\n");
    }
    if (ok && a->out) {
        char path[4096];
        ok = cli_write_file(launch_out(a, path), (const char *)data, a->bytes);
    }
    free(data);
    return ok;
}
