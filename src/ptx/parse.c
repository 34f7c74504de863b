/* parse.c: PTX text to IR: the module and its directives (PTX ISA 9.0, chapters 4, 11).
 *
 * A recursive-descent parser in one pass. Every error of the text is reported, in the
 * order of their places. */
#include "ptx/parse.h"

#include "ptx/fault.h"
#include "ptx/parse_int.h"

#include <errno.h>

/* -- going on after an error -- */

static bool
opens_module_item(const struct parser *p)
{
    static const char *const words[] = {
        ".version", ".target", ".address_size", ".file",  ".section", ".entry",
        ".func",    ".extern", ".visible",      ".weak",  ".common",  ".global",
        ".const",   ".alias",  ".shared",       ".pragma"};
    if (!at(p, T_DOT) || p->tok.line == p->last.line)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (at_word(p, T_DOT, words[i]))
            return true;
    return false;
}

static void
skip_module_item(struct parser *p)
{
    int depth = p->open;
    p->open = 0;
    for (bool first = true; !at(p, T_EOF); first = false) {
        if (!first && depth <= 0 && opens_module_item(p))
            return;
        int kind = p->tok.kind;
        parse_next(p);
        if (kind == '{')
            depth++;
        else if (kind == '}' && --depth <= 0)
            return;
        else if (kind == ';' && depth <= 0)
            return;
    }
}

/* -- the module -- */

/* The newest version of which compiled programs and single instructions were compared
 * with ptxas. Later ones are read too: what they add is refused where it stands. */
enum { TESTED_MAJOR = 9, TESTED_MINOR = 5 };

static bool
parse_version(struct parser *p)
{
    struct ptx_module *m = p->m;
    parse_next(p);
    struct place where = here(p);
    unsigned major, minor;
    char own[16] = "";
    if (p->tok.n < sizeof own)
        memcpy(own, p->tok.s, p->tok.n);
    if (!at(p, T_F64) || sscanf(own, "%u.%u", &major, &minor) != 2)
        return parse_expected(p, "a version such as 8.0");
    parse_next(p);
    if (m->version_major)
        parse_error(p, where, "a second .version");
    if (major * 100 + minor < 104) {
        struct diag *d =
            parse_error(p, where, "PTX ISA version %u.%u is not supported", major, minor);
        parse_hint(p, d, "versions from 1.4 on are");
    } else if (major > TESTED_MAJOR || (major == TESTED_MAJOR && minor > TESTED_MINOR)) {
        struct diag *d = parse_warn(
            p, where, "PTX ISA version %u.%u is newer than %u.%u, the newest tested",
            major, minor, TESTED_MAJOR, TESTED_MINOR);
        parse_hint(p, d, "what is not known is refused, by name and line");
    }
    m->version_major = (uint16_t)(major ? major : 1);
    m->version_minor = (uint16_t)minor;
    return true;
}

static bool
parse_target(struct parser *p)
{
    struct ptx_module *m = p->m;
    parse_next(p);
    struct place where = here(p);
    if (!at(p, T_ID))
        return parse_expected(p, "a target such as sm_80");
    const char *target = parse_text_slice(p, p->tok.s, p->tok.s + p->tok.n);
    unsigned sm;
    if (sscanf(target, "sm_%3u", &sm) != 1 && sscanf(target, "compute_%3u", &sm) != 1) {
        struct diag *d = parse_error(p, where, "unknown target '%.60s'", target);
        parse_hint(p, d, "targets are sm_20, sm_35, sm_80 ...");
        sm = 0;
    }
    parse_next(p);
    if (m->target)
        parse_error(p, where, "a second .target");
    m->target = target;
    m->sm = (uint16_t)sm;
    if (take(p, ',')) {
        const char *start = p->tok.s;
        do {
            if (!at(p, T_ID))
                return parse_expected(p, "a target option");
            parse_next(p);
        } while (take(p, ','));
        m->target_options = parse_text_slice(p, start, p->last_end);
    }
    return true;
}

static bool
parse_file(struct parser *p) /* .file 1 "name" {, time, size} */
{
    const char *start = p->tok.s;
    parse_next(p);
    if (!parse_need(p, T_INT, "a file number"))
        return false;
    if (!parse_need(p, T_STR, "a file name"))
        return false;
    while (at(p, ',')) {
        parse_next(p);
        if (!parse_need(p, T_INT, "a number"))
            return false;
    }
    *vec_push(&p->m->directives) = parse_text_slice(p, start, p->last_end);
    return true;
}

static bool
parse_section(struct parser *p)
{
    const char *start = p->tok.s;
    struct place where = here(p);
    parse_next(p);
    if (!at(p, T_DOT) && !at(p, T_ID))
        return parse_expected(p, "a section name");
    parse_next(p);
    if (!parse_need(p, '{', "'{'"))
        return false;
    while (!at(p, '}')) {
        if (at(p, T_EOF)) {
            parse_error(p, where, "the section is not closed");
            return false;
        }
        parse_next(p);
    }
    parse_next(p);
    *vec_push(&p->m->directives) = parse_text_slice(p, start, p->last_end);
    return true;
}

/* @@DWARF ...: debug information of PTX 1.x and 2.x, a line each. */
static bool
parse_old_dwarf(struct parser *p)
{
    const char *start = p->tok.s;
    uint32_t line = p->tok.line;
    parse_next(p);
    if (!at(p, '@'))
        return parse_expected(p, "'@DWARF'");
    while (!at(p, T_EOF) && p->tok.line == line)
        parse_next(p);
    *vec_push(&p->m->directives) = parse_text_slice(p, start, p->last_end);
    return true;
}

static bool
parse_alias(struct parser *p)
{
    const char *start = p->tok.s;
    parse_next(p);
    for (int i = 0; i < 2; i++) {
        if (!at(p, T_ID))
            return parse_expected(p, "a function");
        struct name *nm = parse_name_get(p, p->tok.s, p->tok.n);
        if (!nm->top || nm->top->kind != B_FUNC) {
            struct diag *d =
                parse_error(p, here(p), "'%.100s' is not a declared function", nm->s);
            parse_hint_name(p, d, nm, 1u << B_FUNC);
        }
        parse_next(p);
        if (!i && !parse_need(p, ',', "','"))
            return false;
    }
    const char *end = p->last_end;
    *vec_push(&p->m->directives) =
        arena_printf(&p->m->mem, "%.*s;", (int)(end - start), start);
    return parse_need_semicolon(p);
}

static bool
parse_module_item(struct parser *p)
{
    static const struct {
        const char *text;
        uint8_t linkage;
    } links[] = {{".extern", PTX_LINK_EXTERN},
                 {".visible", PTX_LINK_VISIBLE},
                 {".weak", PTX_LINK_WEAK},
                 {".common", PTX_LINK_COMMON}};
    struct ptx_module *m = p->m;
    struct place where = here(p);
    if (at(p, '@'))
        return parse_old_dwarf(p);
    if (take(p, ';'))
        return true;
    if (!at(p, T_DOT))
        return parse_expected(p, "a directive");
    if (at_word(p, T_DOT, ".version"))
        return parse_version(p);
    if (!m->version_major) {
        struct diag *d = parse_error(p, where, "the module does not begin with .version");
        parse_hint(p, d,
                   "the first line says the PTX ISA version, for example '.version 8.0'");
        m->version_major = 9;
    }
    if (at_word(p, T_DOT, ".target"))
        return parse_target(p);
    if (at_word(p, T_DOT, ".address_size")) {
        parse_next(p);
        where = here(p);
        uint64_t v;
        if (!parse_number(p, &v, 64, "the address size"))
            return false;
        if (v != 32 && v != 64)
            parse_error(p, where, "the address size is 32 or 64");
        m->address_size = v == 32 ? 32 : 64;
        return true;
    }
    if (at_word(p, T_DOT, ".file"))
        return parse_file(p);
    if (at_word(p, T_DOT, ".section"))
        return parse_section(p);
    if (at_word(p, T_DOT, ".alias"))
        return parse_alias(p);
    if (at_word(p, T_DOT, ".pragma")) {
        const char *text = parse_to_semicolon(p);
        if (text)
            *vec_push(&m->directives) = text;
        return text != NULL;
    }
    if (at_word(p, T_DOT, ".loc")) { /* between functions it says nothing */
        parse_next(p);
        while (at(p, T_INT))
            parse_next(p);
        return true;
    }
    unsigned linkage = PTX_LINK_NONE;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (!linkage && at_word(p, T_DOT, links[i].text)) {
            linkage = links[i].linkage;
            parse_next(p);
        }
    if (at_word(p, T_DOT, ".entry") || at_word(p, T_DOT, ".func")) {
        if (!m->target) {
            struct diag *d = parse_error(p, where, ".target is missing");
            parse_hint(p, d, "write for example '.target sm_80' behind .version");
            m->target = "sm_20";
        }
        return parse_function(p, linkage);
    }
    unsigned type = at(p, T_DOT) ? ptx_type_find(p->tok.s + 1, p->tok.n - 1) : 0;
    if (!parse_space_word(p) && ptx_types[type].kind != PTX_K_OPAQUE) {
        if (at(p, T_DOT))
            parse_error(p, here(p), "unknown directive '%.*s'",
                        (int)(p->tok.n > 60 ? 60 : p->tok.n), p->tok.s);
        else
            parse_expected(p, "a declaration");
        return false;
    }
    struct decl d = {.linkage = (uint8_t)linkage};
    if (!parse_decl(p, &d))
        return false;
    d.linkage = (uint8_t)linkage;
    if (d.space == PTX_SPACE_REG || d.space == PTX_SPACE_PARAM) {
        parse_error(p, d.at, "%s cannot be declared at module scope",
                    d.space == PTX_SPACE_REG ? "registers" : "parameters");
        return false;
    }
    return parse_vars(p, &d);
}

/* Diagnostics from `from` on, by place: some are found later than others. */
static void
sort_messages(struct diag_sink *s, size_t from)
{
    for (size_t i = from + 1; i < s->n; i++) {
        struct diag *d = s->list[i];
        size_t k = i;
        while (k > from &&
               (s->list[k - 1]->line > d->line ||
                (s->list[k - 1]->line == d->line && s->list[k - 1]->col > d->col))) {
            s->list[k] = s->list[k - 1];
            k--;
        }
        s->list[k] = d;
    }
}

/* Module-level pragmas first: the order in which they are printed. */
static void
sort_directives(struct parser *p)
{
    struct ptx_module *m = p->m;
    size_t n = m->directives.n, k = 0;
    if (!n)
        return;
    const char **all = ARENA_ARRAY(&p->mem, const char *, n);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n; i++)
            if (!strncmp(m->directives.v[i], ".pragma", 7) == !pass)
                all[k++] = m->directives.v[i];
    memcpy(m->directives.v, all, n * sizeof *all);
}

/* Is there a kernel that can run? In a text without kernels: a function. */
static bool
any_sound(const struct ptx_module *m)
{
    bool kernels = false;
    for (size_t i = 0; i < m->funcs.n; i++)
        kernels |= m->funcs.v[i]->is_entry;
    for (size_t i = 0; i < m->funcs.n; i++) {
        const struct ptx_func *f = m->funcs.v[i];
        if (f->has_body && !f->fault && f->is_entry == kernels)
            return true;
    }
    return false;
}

/* Errors in bodies, where the text is refused for them. */
static void
tell_faults(struct parser *p)
{
    for (size_t i = 0; i < p->m->funcs.n; i++)
        if (p->m->funcs.v[i]->fault)
            ptx_fault_tell(p->m->funcs.v[i], p->diag);
}

static struct ptx_module *
parse(const char *file, const char *text, size_t len, bool whole, struct diag_sink *diag)
{
    struct parser *p = xcalloc(1, sizeof *p);
    struct ptx_module *m = p->m = xcalloc(1, sizeof *m);
    p->diag = p->file_diag = diag;
    len = strnlen(text, len);
    m->text = xmalloc(len + 1);
    memcpy(m->text, text, len);
    m->text[len] = 0;
    m->file = arena_strdup(&m->mem, file);
    m->address_size = 32;
    p->lex = (struct ptx_lexer){m->text, m->text, 1};
    p->tok = (struct ptx_token){.s = m->text, .line = 1, .col = 1};
    /* A text of this length cannot use more; hostile ones could ask for anything. */
    p->regs_left = (1u << 18) + 16 * (uint64_t)len;
    p->init_left = (1u << 24) + 64 * (uint64_t)len;
    size_t first = diag->n;
    parse_sym_init(p);
    parse_next(p);
    while (!at(p, T_EOF)) {
        p->open = 0;
        if (!parse_module_item(p))
            skip_module_item(p);
    }
    if (p->cancelled) {
        /* The text seemed to end there: what followed from that is no error of it. */
        p->errors++;
        diag->n = p->told_before;
        diag->errors = p->errors_before;
    } else if (p->errors > p->faults || (p->faults && whole && !any_sound(m))) {
        tell_faults(p);
        p->faults = 0;
    } else if (!p->errors && !m->version_major) {
        struct diag *d =
            parse_error(p, (struct place){1, 1, 1}, "the text has no .version directive");
        parse_hint(p, d, "is this PTX?");
    } else if (!p->errors && !m->target) {
        parse_error(p, here(p), ".target is missing");
    }
    sort_messages(diag, first);
    sort_directives(p);
    bool ok = p->errors == p->faults;
    free(p->names);
    free(p->forms);
    vec_free(&p->pend);
    arena_free(&p->mem);
    free(p);
    if (ok)
        return m;
    ptx_module_free(m);
    return NULL;
}

struct ptx_module *
ptx_parse(const char *file, const char *text, size_t len, struct diag_sink *diag)
{
    return parse(file, text, len, true, diag);
}

struct ptx_module *
ptx_parse_part(const char *file, const char *text, size_t len, struct diag_sink *diag)
{
    return parse(file, text, len, false, diag);
}

struct ptx_module *
ptx_parse_file(const char *path, struct diag_sink *diag)
{
    size_t len;
    char *text = file_read(path, &len);
    if (!text) {
        diag_error(diag, "cannot read '%s': %s", path, strerror(errno));
        return NULL;
    }
    struct ptx_module *m =
        ptx_parse(strcmp(path, "-") ? path : "<stdin>", text, len, diag);
    free(text);
    return m;
}
