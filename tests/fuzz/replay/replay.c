/* replay.c: runs a fuzz target over kept inputs, without libFuzzer:
 * replay-TARGET FOLDER|FILE... An input that once broke something lies in its target's
 * corpus, so it is a test from then on. No input at all is one too. */
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_SECONDS = 10 };

static int failed;

/* In a block of its own size: a read behind its end shows under ASan. */
static void
one(const char *path)
{
    size_t size;
    char *text = file_read(path, &size);
    if (!text) {
        fprintf(stderr, "replay: cannot read %s: %s\n", path, strerror(errno));
        failed = 1;
        return;
    }
    uint8_t *data = malloc(size ? size : 1);
    memcpy(data, text, size);
    printf("%s\n", path); /* the last line names the input that crashes */
    fflush(stdout);
    clock_t start = clock();
    LLVMFuzzerTestOneInput(data, size);
    if (clock() - start > (clock_t)MAX_SECONDS * CLOCKS_PER_SEC) {
        fprintf(stderr, "replay: %s takes longer than %d s\n", path, MAX_SECONDS);
        failed = 1;
    }
    free(data);
    free(text);
}

static int
visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

int
main(int argc, char **argv)
{
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        struct dirent **list;
        int n = scandir(argv[i], &list, visible, alphasort);
        if (n < 0) {
            one(argv[i]);
            continue;
        }
        for (int k = 0; k < n; k++) {
            struct strbuf path = {0};
            strbuf_printf(&path, "%s/%s", argv[i], list[k]->d_name);
            one(path.s);
            strbuf_free(&path);
            free(list[k]);
        }
        free(list);
    }
    return failed;
}
