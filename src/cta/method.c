/* method.c: see method.h. A method is a row of the table below. */
#include "cta/method.h"

#include "base/near.h"
#include "base/number.h"
#include "cta/schedule_text.h"

#include <stdio.h>
#include <string.h>

struct cta_method_row {
    const char *name, *options; /* of the text behind the name */
    bool baseline, shuffled;    /* baseline: one step; its order drawn */
    bool static_tlp, relaxed;   /* of the search */
    bool window;                /* cta_window */
};

static const struct cta_method_row methods[] = {
    {"awss", "packer=lmf, packer=iwfd, barriers=suspend, barriers=change",
     .baseline = false},
    {"static", "packer=lmf, packer=iwfd", .static_tlp = true},
    {"relax", "packer=mxf, packer=glanf, barriers=suspend, barriers=change",
     .relaxed = true},
    {"window", "no options", .window = true},
    {"round-robin", "tlp=N", .baseline = true},
    {"random", "tlp=N, seed=N", .baseline = true, .shuffled = true},
};

static const struct cta_method_row *
find(const char *text)
{
    size_t n = strcspn(text, ",");
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strlen(methods[i].name) == n && !memcmp(methods[i].name, text, n))
            return &methods[i];
    return NULL;
}

const char *
cta_method_name(size_t i)
{
    return i < sizeof methods / sizeof *methods ? methods[i].name : NULL;
}

bool
cta_is_method(const char *text)
{
    return find(text) != NULL;
}

const char *
cta_near_method(const char *text)
{
    struct near near = {.word = text};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        near_offer(&near, methods[i].name);
    return near.best;
}

/* One option of n bytes behind the method's name. */
static bool
take_option(struct cta_method *m, const char *s, size_t n)
{
    char text[64];
    if (n >= sizeof text)
        return false;
    snprintf(text, sizeof text, "%.*s", (int)n, s);
    if (m->row->baseline && !strncmp(text, "tlp=", 4))
        return number_u64(text + 4, 1, UINT32_MAX, &m->tlp);
    if (m->row->shuffled && !strncmp(text, "seed=", 5))
        return number_u64(text + 5, 0, UINT64_MAX, &m->seed);
    if (m->row->baseline || m->row->window)
        return false;
    if (!strncmp(text, "barriers=", 9) && !m->row->static_tlp)
        return cta_barriers_find(text + 9, n - 9, &m->barriers);
    if (strncmp(text, "packer=", 7))
        return false;
    m->packer = packer_find(text + 7);
    return m->packer && m->packer->open_end == m->row->relaxed;
}

bool
cta_method_parse(const char *text, struct cta_method *m, struct diag_sink *diag)
{
    *m = (struct cta_method){.row = find(text), .barriers = CTA_BARRIER_SUSPEND};
    if (!m->row) {
        struct diag *d =
            diag_add(diag, DIAG_ERROR, NULL, "'%s' is no method of scheduling", text);
        const char *near = cta_near_method(text);
        diag_hint(
            diag, d,
            "%s%s%sawss, static or relax, one packer alone: awss,packer=iwfd; window; baselines: "
            "round-robin,tlp=N or random,tlp=N,seed=N",
            near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
        return false;
    }
    size_t n = strlen(m->row->name);
    for (const char *s = text + n; *s; s += n) {
        n = strcspn(++s, ",");
        if (take_option(m, s, n))
            continue;
        struct diag *d = diag_add(diag, DIAG_ERROR, NULL,
                                  "'%s': this method takes no '%.*s'", text, (int)n, s);
        diag_hint(diag, d, "%s takes %s%s", m->row->name, m->row->options,
                  m->row->baseline ? "; N of tlp: 1 or more" : "");
        return false;
    }
    return true;
}

bool
cta_method_needs_sizes(const struct cta_method *m)
{
    return !m->row->baseline;
}

struct cta_schedule *
cta_method_schedule(const struct cta_method *m, struct cta_problem p)
{
    uint32_t tlp = m->tlp && m->tlp < p.max_tlp ? (uint32_t)m->tlp : p.max_tlp;
    if (m->row->shuffled)
        return cta_random(p.blocks, tlp, m->seed);
    if (m->row->baseline)
        return cta_one_step(p.blocks, tlp);
    if (m->row->window)
        return cta_window(&p);
    p.static_tlp = m->row->static_tlp;
    p.relaxed = m->row->relaxed;
    p.packer = m->packer;
    struct cta_schedule *s = cta_search(&p);
    s->barriers = m->barriers;
    return s;
}
