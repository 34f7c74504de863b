/* experiments_record.c: fuzz target of records on their way to a store (FILE.spool/): any
 * JSON is taken or put aside with messages, and what was taken can be read again. Seeds:
 * corpus-experiments_record/; words: experiments_record.dict. */
#define _GNU_SOURCE
#include "experiments/store.h"

#include "kit.h"

#include <sys/stat.h>

enum { RUNS = 64 }; /* of one store: it must not grow for ever */

static struct store *store;
static unsigned age;

static void
end(void)
{
    store_close(store);
}

static void
renew(void)
{
    static struct diag_sink diag; /* lives as long as the store */
    if (!store)
        atexit(end);
    store_close(store);
    store = store_open(":memory:", STORE_WRITE, &diag);
    if (!store || diag.errors)
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag_sink diag = {0};
    size_t n = 0, taken = 0;
    if (age++ % RUNS == 0)
        renew();
    mkdir(fuzz_path("records"), 0777);
    const char *record = fuzz_file("records/record.json", data, size);
    bool ok = store_collect(store, fuzz_path("records"), &taken, &diag);
    if (ok == !!diag.errors || taken != ok)
        abort();
    int64_t *ids = store_list(store, &(struct store_filter){.newest = true}, &n);
    for (size_t i = 0; i < n; i++) {
        json_t *run = store_run(store, ids[i]);
        if (!run || !json_is_array(json_object_get(run, "launches")))
            abort();
        json_decref(run);
    }
    free(ids);
    diag_free(&diag);
    unlink(record);
    unlink(fuzz_path("records/record.json.bad"));
    return 0;
}
