/* launchfile.h: a user's own kernel from the command line or a YAML file: what to launch
 * and what its arguments and buffers are. */
#ifndef ALLOT_CLI_LAUNCHFILE_H
#define ALLOT_CLI_LAUNCHFILE_H

#include "cli/cli.h"

struct launch_desc {
    const char *kernel, *grid, *block, *smem;
    struct cli_list args;
};

/* Reads kernel, grid, block, scratchpad and args from a YAML file. What the command line
 * gave already stays. False after printing why not. */
bool launch_file(const char *path, struct launch_desc *l);

/* One argument made ready: bytes of the parameter, and the buffer behind it. */
struct launch_arg {
    uint8_t value[64];
    bool buffer;
    uint64_t addr, bytes;
    char type[8];    /* element type of a buffer: f32, u8, ... */
    const char *out; /* file that gets the contents afterwards, NULL: none */
    uint64_t show;   /* elements to print afterwards */
};

/* Text of an argument -> value for parameter p, buffers allocated and filled on dev:
 *   42  -7  0x10  1.5                 a number, converted to the parameter's type
 *   buf:BYTES or buf:COUNTxTYPE       a buffer; options behind commas:
 *       init=zero|iota|random|NUMBER  contents (zero by default)
 *       in=FILE                       contents from a file (size from it if left out)
 *       out=FILE                      written afterwards
 *       show=N                        first N elements printed afterwards
 * False after printing why not. */
bool launch_arg_make(const char *text, const struct allot_param *p,
                     struct allot_device *dev, uint32_t seed, struct launch_arg *a,
                     struct allot_diag *d);
/* Writes what the argument asks for, and prints it to `show`. */
bool launch_arg_finish(const struct launch_arg *a, const char *name,
                       struct allot_device *dev, FILE *show, struct allot_diag *d);

#endif
