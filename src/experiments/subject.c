/* subject.c: see subject.h. */
#include "experiments/subject.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum subject_kind
subject_kind(const char *word)
{
    struct stat st;
    const size_t n = strlen(word);
    const bool ptx = n > 4 && !strcmp(word + n - 4, ".ptx");
    if (allot_workload_find(word))
        return SUBJECT_WORKLOAD;
    if (stat(word, &st))
        return ptx ? SUBJECT_PTX : SUBJECT_NONE;
    return S_ISREG(st.st_mode) && !access(word, X_OK) && !ptx ? SUBJECT_PROGRAM
                                                              : SUBJECT_PTX;
}

struct allot_module *
subject_module(const struct subject *s, const struct allot_machine *m,
               struct allot_diag *d)
{
    if (!s->workload)
        return s->data ? allot_module_read(s->name, s->data, s->len, m, d)
                       : allot_module_load_for(s->name, m, d);
    size_t len;
    const char *text = allot_workload_ptx(s->workload->name, s->compiler, &len);
    char name[160];
    snprintf(name, sizeof name, "%s.%s.ptx", s->workload->name, s->compiler);
    return text ? allot_module_parse(name, text, len, d) : NULL;
}

bool
subject_ready(struct subject *s, struct allot_module *mod, struct arena *mem,
              struct diag_sink *diag)
{
    return s->workload || launch_read(s->desc, mod, s->name, &s->launch, NULL, mem, diag);
}

/* A workload's parameters in one text. */
static struct strbuf
params_text(const struct subject *s)
{
    struct strbuf params = {0};
    for (size_t i = 0; i < s->nparams; i++)
        strbuf_printf(&params, "%s%s", i ? " " : "", s->params[i]);
    return params;
}

bool
subject_run(struct subject *s, struct allot_device *dev, struct allot_module *mod,
            char why[256], struct diag_sink *diag, struct allot_diag *d)
{
    *why = 0;
    if (!s->workload)
        return launch_run(&s->launch, dev, s->seed, diag);
    struct strbuf params = params_text(s);
    bool ok = allot_workload_run_with(s->workload, dev, mod, s->quick, s->seed, params.s,
                                      why, d);
    strbuf_free(&params);
    return ok;
}

bool
subject_try(const struct subject *s, struct allot_device *dev, struct allot_module *mod,
            char why[256], struct allot_diag *d)
{
    *why = 0;
    if (!s->workload)
        return true;
    struct strbuf params = params_text(s);
    bool ok =
        allot_workload_ready(s->workload, dev, mod, s->quick, s->seed, params.s, why, d);
    strbuf_free(&params);
    return ok;
}
