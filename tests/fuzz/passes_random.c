/* passes_random.c: fuzz target of the passes. The first four bytes draw a pipeline, the
 * others a kernel (tests/random): it leaves the same memory before and after. */
#include "random/check.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t seed = 0;
    size_t head = size < sizeof seed ? size : sizeof seed;
    unsigned few = 0;
    struct strbuf pipeline = {0}, why = {0};
    memcpy(&seed, data, head);
    rk_pipeline(seed, &pipeline);
    struct rk_kernel *k = rk_from_bytes(data + head, size - head);
    if (!rk_test_passes(k, pipeline.s, &few, &why)) {
        struct strbuf text = {0};
        rk_print(k, &text);
        fprintf(stderr, "%s\n%s", why.s, text.s);
        abort();
    }
    rk_free(k);
    strbuf_free(&pipeline);
    strbuf_free(&why);
    return 0;
}
