/* exec_random.c: fuzz target of the executor and the timing model. The first byte draws a
 * machine and policies, the others a kernel (tests/random): functional mode leaves the
 * memory that the evaluation in C says, timing mode the same at any number of threads. */
#include "random/check.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strbuf why = {0};
    struct rk_kernel *k = rk_from_bytes(data + (size > 0), size - (size > 0));
    if (!rk_test_executor(k, &why) ||
        (size && data[0] % 4 == 0 && !rk_test_timing(k, data[0] / 4, &why))) {
        struct strbuf text = {0};
        rk_print(k, &text);
        fprintf(stderr, "%s\n%s", why.s, text.s);
        abort();
    }
    rk_free(k);
    strbuf_free(&why);
    return 0;
}
