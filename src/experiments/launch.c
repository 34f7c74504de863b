/* launch.c: texts of a user's own kernel, taken apart and launched. */
#include "experiments/launch.h"

#include "allot/workload.h"
#include "base/demangle.h"
#include "base/number.h"
#include "experiments/yamlfile.h"
#include "runtime/runtime.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SCRATCHPAD = 1 << 24 };

/* -- the YAML file -- */

struct file_desc {
    char *kernel, *grid, *block, *scratchpad;
    char **args;
    unsigned args_count;
};

enum { MAY = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL };

#define TEXT(field)                                                                      \
    CYAML_FIELD_STRING_PTR(#field, MAY, struct file_desc, field, 0, CYAML_UNLIMITED)

static const cyaml_schema_value_t arg_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED)};
static const cyaml_schema_field_t file_fields[] = {
    TEXT(kernel),
    TEXT(grid),
    TEXT(block),
    TEXT(scratchpad),
    CYAML_FIELD_SEQUENCE("args", MAY, struct file_desc, args, &arg_schema, 0,
                         CYAML_UNLIMITED),
    CYAML_FIELD_END};
static const cyaml_schema_value_t file_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct file_desc, file_fields)};

static const char *
either(const char *first, const char *second, struct arena *mem)
{
    return first ? first : second ? arena_strdup(mem, second) : NULL;
}

/* A launch file may come from anyone: its output files lie below the current folder, and
 * are not hidden (.bashrc). */
static bool
may_write(const char *arg)
{
    for (const char *p = arg; (p = strstr(p, "out=")); p++) {
        if (p == arg || (p[-1] != ',' && p[-1] != ':'))
            continue;
        const char *name = p + strlen("out=");
        size_t n = strcspn(name, ",");
        for (size_t i = 0; i < n; i++)
            if ((!i || name[i - 1] == '/') && (name[i] == '.' || name[i] == '/'))
                return false;
    }
    return true;
}

bool
launch_file(const char *path, struct launch_desc *l, struct arena *mem,
            struct diag_sink *diag)
{
    struct yamlfile y = {0};
    void *data;
    bool ok = yamlfile_load(&y, path, &file_schema, &data, "a launch file", diag);
    if (ok) {
        const struct file_desc *f = data;
        l->kernel = either(l->kernel, f->kernel, mem);
        l->grid = either(l->grid, f->grid, mem);
        l->block = either(l->block, f->block, mem);
        l->scratchpad = either(l->scratchpad, f->scratchpad, mem);
        if (!l->nargs && f->args_count) {
            const char **args = ARENA_ARRAY(mem, const char *, f->args_count);
            for (unsigned i = 0; i < f->args_count; i++) {
                args[i] = arena_strdup(mem, f->args[i]);
                if (ok && !may_write(f->args[i])) {
                    struct diag_loc loc = yamlfile_at(&y, "args[%u]", i);
                    struct diag *d = diag_add(diag, DIAG_ERROR, &loc,
                                              "a launch file's out= names a file below "
                                              "the current folder");
                    diag_hint(diag, d,
                              "no /, no name that begins with a dot; --arg may name any "
                              "file");
                    ok = false;
                }
            }
            l->args = args;
            l->nargs = f->args_count;
        }
    }
    yamlfile_drop(&file_schema, data);
    yamlfile_free(&y);
    return ok;
}

bool
launch_dims(const char *s, uint32_t out[3])
{
    out[0] = out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        char *end;
        if (!isdigit((unsigned char)*s))
            return false;
        errno = 0;
        unsigned long v = strtoul(s, &end, 10);
        if (errno || !v || v > UINT32_MAX)
            return false;
        out[i] = (uint32_t)v;
        if (!*end)
            return true;
        if (*end != ',' && *end != 'x')
            return false;
        s = end + 1;
    }
    return false;
}

/* -- values -- */

static bool say(struct diag_sink *diag, const char *text, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static bool
say(struct diag_sink *diag, const char *text, const char *fmt, ...)
{
    struct strbuf b = {0};
    char why[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    strbuf_printf(&b, "argument '%s': %s", text, why);
    diag_error(diag, "%s", b.s);
    strbuf_free(&b);
    return false;
}

static const struct ptx_type_info *
find_type(const char *name)
{
    const struct ptx_type_info *t = &ptx_types[ptx_type_find(name, strlen(name))];
    return t->bytes ? t : NULL;
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

/* "4096" or "1024xf32" */
static bool
buffer_size(struct launch_arg *a, const char *s, struct diag_sink *diag)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)*s))
        return say(diag, a->text,
                   "a buffer's size is BYTES or COUNTxTYPE, as in buf:1024xf32");
    unsigned long long n = strtoull(s, &end, 0);
    if (errno || n > (1ull << 40))
        return say(diag, a->text, "the buffer is too large");
    if (number_bytes(s, 0, 1ull << 40, &a->bytes)) /* 48K too */
        return true;
    const struct ptx_type_info *type = *end == 'x' ? find_type(end + 1) : NULL;
    if (!type)
        return say(diag, a->text,
                   "'%s': the element type is one of u8 u16 u32 u64, s8 to s64, b8 to "
                   "b64, f32, f64",
                   end);
    a->type = type;
    a->bytes = n * type->bytes;
    return true;
}

static bool
buffer_option(struct launch_arg *a, const char *part, struct diag_sink *diag)
{
    char *end;
    if (!strncmp(part, "init=", 5))
        a->init = part + 5;
    else if (!strncmp(part, "in=", 3))
        a->in = part + 3;
    else if (!strncmp(part, "out=", 4))
        a->out = part + 4;
    else if (!strncmp(part, "show=", 5)) {
        errno = 0;
        a->show = strtoull(part + 5, &end, 0);
        if (!isdigit((unsigned char)part[5]) || *end || errno || a->show < 1 ||
            a->show > 1 << 20)
            return say(diag, a->text, "'%s': not a number from 1 to 1048576", part);
    } else
        return say(diag, a->text, "'%s': options are init= in= out= show=", part);
    return true;
}

/* Whether each element has its own value. */
static bool
counted(const char *init)
{
    return !strcmp(init, "random") || !strcmp(init, "iota");
}

static bool
read_buffer(struct launch_arg *a, struct arena *mem, struct diag_sink *diag)
{
    char *copy = arena_strdup(mem, a->text + 4), *save,
         *part = strtok_r(copy, ",", &save);
    bool ok = true;
    uint8_t one[8];
    a->buffer = true;
    a->type = &ptx_types[PTX_U8];
    a->init = "zero";
    if (part && !strchr(part, '=')) {
        ok = buffer_size(a, part, diag);
        part = strtok_r(NULL, ",", &save);
    }
    for (; ok && part; part = strtok_r(NULL, ",", &save))
        ok = buffer_option(a, part, diag);
    if (ok && !a->in && !a->bytes)
        return say(diag, a->text, "a buffer needs a size (buf:1024xf32) or in=FILE");
    if (ok && strcmp(a->init, "zero") && strcmp(a->init, "self") && !counted(a->init) &&
        !number(a->init, a->type, one))
        return say(diag, a->text,
                   "init=%s: zero, iota, random, self or a number of type %s", a->init,
                   a->type->text);
    return ok;
}

static bool
read_arg(struct launch_arg *a, const struct allot_param *p, struct arena *mem,
         struct diag_sink *diag)
{
    if (!strncmp(a->text, "buf:", 4)) {
        if (p->bytes != 8 && p->bytes != 4)
            return say(diag, a->text,
                       "parameter %s (.%s, %u bytes) cannot hold an address", p->name,
                       p->type, p->bytes);
        return read_buffer(a, mem, diag);
    }
    const struct ptx_type_info *t = find_type(p->type);
    if (!t || p->bytes != t->bytes || p->bytes > sizeof a->value)
        return say(diag, a->text,
                   "parameter %s is %u bytes passed by value; give it as a buffer's "
                   "address is not possible, and structures are not supported here",
                   p->name, p->bytes);
    /* Compilers declare untyped parameters too (.b32): a fraction then means a float. */
    if (t->kind == PTX_K_BITS && strpbrk(a->text, ".eE") && strncmp(a->text, "0x", 2))
        t = &ptx_types[t->bytes == 8 ? PTX_F64 : PTX_F32];
    if (!number(a->text, t, a->value))
        return say(diag, a->text, "not a value of type .%s (parameter %s)", p->type,
                   p->name);
    return true;
}

/* -- the whole description -- */

const struct allot_kernel *
launch_kernel(struct allot_module *mod, const char *name)
{
    const struct allot_kernel *found = allot_module_find(mod, name), *k, *one = NULL;
    bool several = false;
    for (size_t i = 0; !found && (k = allot_module_kernel(mod, i)); i++) {
        char *plain = demangle(k->name), *bare = demangle_bare(plain);
        bool whole = !strcmp(plain, name);
        if (whole || !strcmp(bare, name)) {
            several |= one != NULL;
            one = k;
        }
        if (whole)
            found = k;
        free(plain);
        free(bare);
    }
    return found ? found : several ? NULL : one;
}

static const struct allot_kernel *
choose_kernel(struct allot_module *mod, const char *file, const char *name,
              struct diag_sink *diag)
{
    const struct allot_kernel *first = allot_module_kernel(mod, 0), *k;
    if (name && (k = launch_kernel(mod, name)))
        return k;
    if (!first) {
        diag_error(diag, "%s holds no kernel (no .entry with a body)", file);
        return NULL;
    }
    if (!name && !allot_module_kernel(mod, 1))
        return first;
    struct strbuf all = {0};
    for (size_t i = 0; (k = allot_module_kernel(mod, i)); i++) {
        char *plain = demangle_within(k->name, DEMANGLE_COLUMN);
        strbuf_printf(&all, "%s%s", i ? "; " : " ", k->name);
        if (strcmp(plain, k->name) != 0)
            strbuf_printf(&all, " (%s)", plain);
        free(plain);
    }
    struct diag *d =
        name
            ? diag_add(diag, DIAG_ERROR, NULL, "%s has no kernel '%s'", file, name)
            : diag_add(diag, DIAG_ERROR, NULL, "%s has several kernels: say which", file);
    diag_hint(diag, d, "it has%s", all.s);
    strbuf_free(&all);
    return NULL;
}

static bool
read_dims(const char *text, const char *what, uint32_t out[3], struct diag_sink *diag)
{
    if (!text)
        return diag_error(diag, "a kernel of one's own needs a %s", what);
    if (launch_dims(text, out))
        return true;
    return diag_error(diag,
                      "%s '%s': one to three positive numbers, as 64 or 16,16 or 8,8,4",
                      what, text);
}

static bool
read_scratchpad(const char *text, uint32_t *out, struct diag_sink *diag)
{
    uint64_t v = 0;
    bool ok = !text || number_bytes(text, 0, MAX_SCRATCHPAD, &v);
    *out = (uint32_t)v;
    if (!ok)
        return diag_error(diag, "scratchpad '%s': not a number of bytes from 0 to %d",
                          text, MAX_SCRATCHPAD);
    return true;
}

static bool
count_args(const struct launch_desc *l, const struct allot_kernel *k,
           struct diag_sink *diag)
{
    if (l->nargs == k->nparams)
        return true;
    struct strbuf all = {0};
    for (size_t i = 0; i < k->nparams; i++)
        strbuf_printf(&all, "%s.%s %s", i ? ", " : "", k->params[i].type,
                      k->params[i].name);
    struct diag *d = diag_add(diag, DIAG_ERROR, NULL,
                              "kernel %s has %zu parameters, %zu arguments were given",
                              k->name, k->nparams, l->nargs);
    if (all.s)
        diag_hint(diag, d, "its parameters: %s", all.s);
    strbuf_free(&all);
    return false;
}

bool
launch_read(const struct launch_desc *l, struct allot_module *mod, const char *file,
            struct launch *to, const char **part, struct arena *mem,
            struct diag_sink *diag)
{
    const char *ignored;
    if (!part)
        part = &ignored;
    memset(to, 0, sizeof *to);
    to->module = mod;
    *part = "kernel";
    to->kernel = choose_kernel(mod, file, l->kernel, diag);
    if (!to->kernel)
        return false;
    *part = "grid";
    if (!read_dims(l->grid, "grid", to->grid, diag))
        return false;
    *part = "block";
    if (!read_dims(l->block, "block", to->block, diag))
        return false;
    *part = "scratchpad";
    if (!read_scratchpad(l->scratchpad, &to->scratchpad, diag))
        return false;
    *part = "args";
    if (!count_args(l, to->kernel, diag))
        return false;
    to->arg = ARENA_ARRAY(mem, struct launch_arg, l->nargs);
    for (size_t i = 0; i < l->nargs; i++) {
        *part = arena_printf(mem, "args[%zu]", i);
        to->arg[i].text = arena_strdup(mem, l->args[i]);
        if (!read_arg(&to->arg[i], &to->kernel->params[i], mem, diag))
            return false;
    }
    return true;
}

/* -- running it -- */

char *
launch_input(struct launch_arg *a, struct diag_sink *diag)
{
    size_t len = 0;
    char *data = file_read(a->in, &len);
    if (!data)
        say(diag, a->text, "cannot read %s: %s", a->in, strerror(errno));
    else if (!len)
        say(diag, a->text, "%s is empty", a->in);
    else if (a->bytes && a->bytes != len)
        say(diag, a->text, "%s holds %zu bytes, not %llu", a->in, len,
            (unsigned long long)a->bytes);
    else {
        a->bytes = len;
        return data;
    }
    free(data);
    return NULL;
}

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

static void
fill(const struct launch_arg *a, uint64_t address, uint32_t seed, uint8_t *data)
{
    uint64_t state = seed;
    uint8_t one[16] = {0}; /* the widest element; of b128, its low half */
    bool own = counted(a->init), random = !strcmp(a->init, "random");
    if (!strcmp(a->init, "zero"))
        return;
    if (!strcmp(a->init, "self")) {
        for (uint64_t at = 0, p; at + sizeof p <= a->bytes; at += sizeof p) {
            p = address + at;
            memcpy(data + at, &p, sizeof p);
        }
        return;
    }
    if (!own)
        number(a->init, a->type, one);
    for (uint64_t at = 0, i = 0; at + a->type->bytes <= a->bytes;
         at += a->type->bytes, i++) {
        if (own)
            element(data + at, a->type, i, random, &state);
        else
            memcpy(data + at, one, a->type->bytes);
    }
}

static bool
make_buffer(struct launch_arg *a, struct allot_device *dev, uint32_t seed,
            struct allot_diag *d)
{
    char *data = NULL;
    if (a->in && !(data = launch_input(a, &d->sink)))
        return false;
    uint64_t addr = allot_alloc(dev, a->bytes, d);
    bool ok = addr != 0;
    if (ok && !a->in) {
        data = calloc(a->bytes, 1);
        if (data)
            fill(a, addr, seed, (uint8_t *)data);
        else
            ok = say(&d->sink, a->text, "no host memory for %llu bytes",
                     (unsigned long long)a->bytes);
    }
    ok = ok && allot_write(dev, addr, data, a->bytes, d);
    memcpy(a->value, &addr, 8);
    free(data);
    return ok;
}

bool
launch_run(struct launch *l, struct allot_device *dev, uint32_t seed,
           struct diag_sink *diag)
{
    size_t n = l->kernel->nparams;
    const void **values = xcalloc(n + 1, sizeof *values);
    struct allot_diag *d = allot_diag_new();
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        if (l->arg[i].buffer)
            ok = make_buffer(&l->arg[i], dev, seed + (uint32_t)i, d);
        values[i] = l->arg[i].value;
    }
    struct allot_launch launch = {.module = l->module,
                                  .kernel = l->kernel->name,
                                  .dynamic_scratchpad = l->scratchpad,
                                  .args = values,
                                  .nargs = n};
    memcpy(launch.grid, l->grid, sizeof launch.grid);
    memcpy(launch.block, l->block, sizeof launch.block);
    ok = ok && allot_launch(dev, &launch, d);
    diag_append(diag, &d->sink);
    allot_diag_free(d);
    free(values);
    return ok;
}

void
launch_show(const struct launch_arg *a, const uint8_t *data, struct strbuf *out)
{
    const struct ptx_type_info *t = a->type;
    for (uint64_t i = 0; i < a->show && (i + 1) * t->bytes <= a->bytes; i++) {
        const uint8_t *p = data + i * t->bytes;
        if (t->kind == PTX_K_FLT && t->bytes == 4) {
            float f;
            memcpy(&f, p, 4);
            strbuf_printf(out, " %.9g", (double)f);
        } else if (t->kind == PTX_K_FLT && t->bytes == 8) {
            double f;
            memcpy(&f, p, 8);
            strbuf_printf(out, " %.17g", f);
        } else {
            uint64_t v = 0;
            memcpy(&v, p, t->bytes < 8 ? t->bytes : 8);
            unsigned shift = t->bytes < 8 ? 64 - 8u * t->bytes : 0;
            if (t->kind == PTX_K_SINT)
                strbuf_printf(out, " %lld", (long long)((int64_t)(v << shift) >> shift));
            else
                strbuf_printf(out, " %llu", (unsigned long long)v);
        }
    }
}

/* -- as texts -- */

static const char *
dims_text(const char *name, const uint32_t d[3], struct arena *mem)
{
    if (d[2] > 1)
        return arena_printf(mem, "%s=%u,%u,%u", name, d[0], d[1], d[2]);
    if (d[1] > 1)
        return arena_printf(mem, "%s=%u,%u", name, d[0], d[1]);
    return arena_printf(mem, "%s=%u", name, d[0]);
}

/* A buffer's text without what does nothing to the launch. */
static const char *
buffer_text(const struct launch_arg *a, const char *beside, struct arena *mem)
{
    struct strbuf b = {0};
    char *copy = xstrdup(a->text + 4), *save;
    strbuf_addz(&b, "arg=buf:");
    for (char *part = strtok_r(copy, ",", &save); part;
         part = strtok_r(NULL, ",", &save)) {
        if (!strncmp(part, "out=", 4) || !strncmp(part, "show=", 5))
            continue;
        const char *comma = b.s[b.n - 1] == ':' ? "" : ",";
        if (!strncmp(part, "in=", 3) && part[3] != '/')
            strbuf_printf(&b, "%sin=%s%s", comma, beside, part + 3);
        else
            strbuf_printf(&b, "%s%s", comma, part);
    }
    const char *text = arena_strdup(mem, b.s);
    strbuf_free(&b);
    free(copy);
    return text;
}

const char *const *
launch_texts(const struct launch *l, const char *beside, size_t *n, struct arena *mem)
{
    const char **v = ARENA_ARRAY(mem, const char *, l->kernel->nparams + 4);
    *n = 0;
    v[(*n)++] = arena_printf(mem, "kernel=%s", l->kernel->name);
    v[(*n)++] = dims_text("grid", l->grid, mem);
    v[(*n)++] = dims_text("block", l->block, mem);
    v[(*n)++] = arena_printf(mem, "smem=%u", l->scratchpad);
    for (size_t i = 0; i < l->kernel->nparams; i++)
        v[(*n)++] = l->arg[i].buffer ? buffer_text(&l->arg[i], beside, mem)
                                     : arena_printf(mem, "arg=%s", l->arg[i].text);
    return v;
}

/* "arg2=TEXT", of n arguments. */
static bool
replaces(const char *s, size_t n, size_t *at, const char **text)
{
    char *end;
    if (strncmp(s, "arg", 3) || !isdigit((unsigned char)s[3]))
        return false;
    *at = strtoul(s + 3, &end, 10);
    *text = end + 1;
    return *end == '=' && *at < n;
}

bool
launch_from_texts(const char *const *texts, size_t n, struct launch_desc *l,
                  const char **wrong, struct arena *mem)
{
    const struct {
        const char *name;
        const char **to;
    } one[] = {{"kernel=", &l->kernel},
               {"grid=", &l->grid},
               {"block=", &l->block},
               {"smem=", &l->scratchpad}};
    const char **args = ARENA_ARRAY(mem, const char *, n);
    memset(l, 0, sizeof *l);
    l->args = args;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0, at;
        const char *text;
        while (k < 4 && strncmp(texts[i], one[k].name, strlen(one[k].name)))
            k++;
        if (k < 4)
            *one[k].to = texts[i] + strlen(one[k].name);
        else if (!strncmp(texts[i], "arg=", 4))
            args[l->nargs++] = texts[i] + 4;
        else if (replaces(texts[i], l->nargs, &at, &text))
            args[at] = text;
        else {
            *wrong = texts[i];
            return false;
        }
    }
    return true;
}
