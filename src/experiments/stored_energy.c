/* stored_energy.c: see stored_energy.h. */
#include "experiments/stored_energy.h"

/* A setting as machine_set takes it. */
static bool
apply(struct machine *m, const char *path, const json_t *v, struct diag_sink *diag)
{
    struct strbuf b = {0};
    if (json_is_integer(v))
        strbuf_printf(&b, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v))
        strbuf_printf(&b, "%.17g", json_real_value(v));
    else if (json_is_boolean(v))
        strbuf_addz(&b, json_is_true(v) ? "true" : "false");
    else
        strbuf_addz(&b, json_is_string(v) ? json_string_value(v) : "");
    bool ok = machine_set(m, path, b.s, diag);
    strbuf_free(&b);
    return ok;
}

struct machine *
stored_machine(struct store *s, const json_t *run)
{
    const char *hash = json_string_value(json_object_get(run, "machine_hash"));
    json_t *settings = hash ? store_machine(s, hash) : NULL;
    struct machine *m = NULL;
    if (json_object_get(settings, "energy.model")) {
        /* what a later allot does not know, or refuses, has no energy here */
        struct diag_sink diag = {0};
        bool ok = true;
        const char *path;
        json_t *v;
        m = machine_new();
        json_object_foreach(settings, path, v) ok &= apply(m, path, v, &diag);
        diag_free(&diag);
        if (!ok) {
            machine_free(m);
            m = NULL;
        }
    }
    json_decref(settings);
    return m;
}

bool
stored_energy(const json_t *launch, const struct machine *m, struct energy *e)
{
    struct launch_stats s = {0};
    if (!m)
        return false;
    struct allot_stat_info info;
    for (size_t i = 0; stats_info(i, &info) && !info.derived; i++) {
        const json_t *v = json_object_get(launch, info.id);
        if (!json_is_integer(v))
            return false;
        stats_set(&s, info.id, (uint64_t)json_integer_value(v));
    }
    energy_of(&s, m, e);
    return true;
}
