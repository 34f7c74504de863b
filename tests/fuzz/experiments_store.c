/* experiments_store.c: fuzz target of stores: a SQLite file of any content is read, or
 * refused with messages. Seeds: corpus-experiments_store/ (a store of today, one of the
 * first version). */
#define _GNU_SOURCE
#include "experiments/store.h"

#include "kit.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag_sink diag = {0};
    size_t n = 0;
    struct store *s = store_open(fuzz_file("fuzz.db", data, size), STORE_WRITE, &diag);
    if (!s && !diag.errors)
        abort(); /* refused without a word */
    if (s) {
        int64_t id = 0;
        int64_t *ids = store_list(s, &(struct store_filter){.newest = true}, &n);
        for (size_t i = 0; i < n && i < 20; i++) {
            json_t *run = store_run(s, ids[i]);
            char *text = run ? json_dumps(run, JSON_COMPACT) : NULL;
            if (run && !text)
                abort(); /* no record */
            const char *key = json_string_value(json_object_get(run, "key"));
            if (key)
                store_find(s, key, &id);
            free(text);
            json_decref(run);
        }
        free(ids);
        store_token(s, "none");
        json_t *record =
            json_pack("{s:s, s:s, s:s}", "token", "t", "key", "k", "state", "done");
        if (!store_add(s, record, &diag) && !diag.errors)
            abort();
        if (!store_good(s) && !diag.errors)
            abort(); /* damaged, and nobody was told */
        json_decref(record);
    }
    store_close(s);
    diag_free(&diag);
    fuzz_clear(false);
    return 0;
}
