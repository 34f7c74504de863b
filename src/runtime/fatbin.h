/* fatbin.h: device code as compilers pack it: fatbins, and host files with fatbins
 * inside.
 *
 * A fatbin is a header (magic BA55ED50, version, size) and entries one after another. An
 * entry is one translation of the same source: PTX for one compute capability, machine
 * code (a cubin) for one, or LTO code; PTX and cubins may be compressed (raw LZ4 block,
 * zstd frame). A section of a host file holds several fatbins one after another: one a
 * source file, or, for relocatable device code, the parts that are linked to one module.
 *
 * Reading copies nothing: entries point into the bytes given. Any bytes may be given;
 * nothing outside them is read. */
#ifndef ALLOT_RUNTIME_FATBIN_H
#define ALLOT_RUNTIME_FATBIN_H

#include "base/diag.h"
#include "base/vec.h"

#define FATBIN_MAGIC 0xba55ed50u
#define FATBIN_WRAPPER_MAGIC 0x466243b1u
#define FATBIN_CUBIN_MACHINE 190 /* e_machine of a cubin */

enum fatbin_kind { FATBIN_PTX = 1, FATBIN_CUBIN = 2, FATBIN_LTO = 8 };
enum fatbin_packing { FATBIN_STORED, FATBIN_LZ4, FATBIN_ZSTD, FATBIN_UNKNOWN_PACKING };

/* Flags of an entry that say for which GPUs of its capability and later it is not. */
#define FATBIN_ARCH_SPECIFIC 0x100000u /* sm_90a: that capability only */
#define FATBIN_FAMILY 0x200000u        /* sm_120f: that capability's family only */

struct fatbin_entry {
    unsigned kind;       /* enum fatbin_kind, or a number not known here */
    unsigned capability; /* major*10+minor */
    uint64_t flags;
    enum fatbin_packing packing;
    unsigned image;      /* entries of one image are translations of one source */
    const char *source;  /* name of the source file, "" where it is not kept */
    const char *options; /* for ptxas, "" mostly */
    const uint8_t *data;
    size_t size, full_size; /* packed, unpacked; equal if FATBIN_STORED */
};

struct fatbin {
    struct arena mem;
    VEC(struct fatbin_entry) entries;
    unsigned images;
    bool parts; /* the images are parts of one program (relocatable device code) */
};

/* What the bytes are, by their first ones. */
enum fatbin_file { FATBIN_FILE_TEXT, FATBIN_FILE_FATBIN, FATBIN_FILE_ELF };
enum fatbin_file fatbin_file_kind(const void *data, size_t len);

/* Adds the images of the fatbins that stand one after another in len bytes, zero bytes
 * between them allowed. `name` is for messages. Zero-initialise fb; fatbin_free it after
 * a failure too. */
bool fatbin_read(struct fatbin *fb, const char *name, const void *data, size_t len,
                 struct diag_sink *diag);
/* The same for the sections of a host's ELF file (program, object, shared library). A
 * cubin is refused. */
bool fatbin_read_elf(struct fatbin *fb, const char *name, const void *data, size_t len,
                     struct diag_sink *diag);
void fatbin_free(struct fatbin *fb);

/* Bytes of the fatbin at p, header included; 0 if no fatbin is there. p is trusted. */
size_t fatbin_length(const void *p);

bool fatbin_has_ptx(const struct fatbin *fb, unsigned image);

/* The PTX of an image for a machine: the highest capability not above the machine's;
 * where all are above, the lowest (what is simulated is the PTX, whatever it was made
 * for). capability 0: the highest there is. NULL and an error that says what to do if
 * there is no PTX; NULL without an error if the image is empty. */
const struct fatbin_entry *fatbin_choose(const struct fatbin *fb, unsigned image,
                                         unsigned capability, const char *name,
                                         struct diag_sink *diag);

/* The entry's text, malloc'd, NUL-terminated; *len without the NUL. NULL on error. */
char *fatbin_text(const struct fatbin_entry *e, const char *name, size_t *len,
                  struct diag_sink *diag);

/* A fatbin of PTX texts, one entry each. packing is STORED, LZ4 or ZSTD. */
struct fatbin_input {
    const char *text;
    size_t len;
    unsigned capability, major, minor; /* of .target, .version */
    uint64_t flags;                    /* FATBIN_ARCH_SPECIFIC, FATBIN_FAMILY or 0 */
};
bool fatbin_write(struct strbuf *out, const struct fatbin_input *in, size_t n,
                  enum fatbin_packing packing, struct diag_sink *diag);

#endif
