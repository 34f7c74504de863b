/* video.h: kernels that run one video instruction: words 0, 1, 2 of the lane's input are
 * a, b and c, word 0 of its output is d. See matrix.h for the buffers. */
#ifndef TESTS_VECTORS_VIDEO_H
#define TESTS_VECTORS_VIDEO_H

#include "vectors/matrix.h"

struct video_form {
    char suffixes[64];              /* "vadd.s32.u32.s32.sat.add" */
    char dsel[8], asel[8], bsel[8]; /* ".h1", "" */
    const char *neg_a, *neg_b, *neg_c;
    bool has_c;
};

__attribute__((unused)) static void
video_kernel(struct strbuf *b, const struct video_form *f)
{
    matrix_head(b, 30);
    for (int i = 0; i < 3; i++)
        strbuf_printf(b, "ld.global.b32 %%r%d, [%%rd1+%d];\n", i, i * 128);
    strbuf_printf(b, "%s %%r4%s, %s%%r0%s, %s%%r1%s", f->suffixes, f->dsel, f->neg_a,
                  f->asel, f->neg_b, f->bsel);
    if (f->has_c)
        strbuf_printf(b, ", %s%%r2", f->neg_c);
    strbuf_addz(b, ";\nst.global.b32 [%rd2], %r4;\nret;\n}\n");
}

/* Form number i of all; false: there are no more. Every operation with every combination
 * of types, saturation and secondary operation, with selectors that change from form to
 * form. */
__attribute__((unused)) static bool
video_form(unsigned i, struct video_form *f)
{
    static const char *const ops[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax"};
    static const char *const parts[] = {"", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
    static const char *const second[] = {"", ".add", ".min", ".max"};
    static const char *const cmps[] = {".eq", ".ne", ".lt", ".le", ".gt", ".ge"};
    static const char *const vops[] = {"vadd",     "vsub", "vavrg",
                                       "vabsdiff", "vmin", "vmax"};
    static const char *const halves[] = {"",     ".h10", ".h32", ".h01",
                                         ".h13", ".h20", ".h33"};
    static const char *const bytes[] = {"",       ".b3210", ".b7654", ".b0123",
                                        ".b0716", ".b4444", ".b2461"};
    static const char *const mask2[] = {"", ".h0", ".h1", ".h10"};
    static const char *const mask4[] = {"", ".b0", ".b21", ".b310", ".b3", ".b3210"};
    unsigned k = i;
    memset(f, 0, sizeof *f);
    f->neg_a = f->neg_b = f->neg_c = "";
#define TYPE(bit) (k >> (bit)&1 ? ".s32" : ".u32")
    unsigned mix = i * 2654435761u >> 16;
    snprintf(f->asel, sizeof f->asel, "%s", parts[mix % 7]);
    snprintf(f->bsel, sizeof f->bsel, "%s", parts[mix / 7 % 7]);
    if (k < 5 * 160) { /* 10 ends: none, 3 secondary operations, 6 merges */
        unsigned op = k / 160, end = k % 160 / 16;
        snprintf(f->suffixes, sizeof f->suffixes, "%s%s%s%s%s%s", ops[op], TYPE(0),
                 TYPE(1), TYPE(2), k >> 3 & 1 ? ".sat" : "", end < 4 ? second[end] : "");
        snprintf(f->dsel, sizeof f->dsel, "%s", end < 4 ? "" : parts[end - 3]);
        f->has_c = end;
        return true;
    }
    k -= 5 * 160;
    if (k < 2 * 160) { /* shifts */
        unsigned end = k % 160 / 16;
        snprintf(f->suffixes, sizeof f->suffixes, "%s%s%s.u32%s%s%s",
                 k / 160 ? "vshr" : "vshl", TYPE(0), TYPE(1), k >> 2 & 1 ? ".sat" : "",
                 k >> 3 & 1 ? ".wrap" : ".clamp", end < 4 ? second[end] : "");
        snprintf(f->dsel, sizeof f->dsel, "%s", end < 4 ? "" : parts[end - 3]);
        f->has_c = end;
        return true;
    }
    k -= 2 * 160;
    if (k < 192) { /* vmad: types, saturation, scale, sign or plus one */
        static const char *const scale[] = {"", ".shr7", ".shr15"};
        unsigned sign = k / 48;
        snprintf(f->suffixes, sizeof f->suffixes, "vmad%s%s%s%s%s%s", TYPE(0), TYPE(1),
                 TYPE(2), sign == 3 ? ".po" : "", k >> 3 & 1 ? ".sat" : "",
                 scale[k % 48 / 16]);
        f->neg_a = sign == 1 ? "-" : "";
        f->neg_c = sign == 2 ? "-" : "";
        f->has_c = true;
        return true;
    }
    k -= 192;
    if (k < 240) { /* vset */
        unsigned end = k % 40 / 4;
        snprintf(f->suffixes, sizeof f->suffixes, "vset%s%s%s%s", TYPE(0), TYPE(1),
                 cmps[k / 40], end < 4 ? second[end] : "");
        snprintf(f->dsel, sizeof f->dsel, "%s", end < 4 ? "" : parts[end - 3]);
        f->has_c = end;
        return true;
    }
    k -= 240;
    f->has_c = true;
    if (k < 2 * 6 * 24 + 2 * 6 * 8) {
        bool set = k >= 2 * 6 * 24;
        if (set)
            k -= 2 * 6 * 24;
        unsigned per = set ? 8 : 24;
        bool four = k / (6 * per);
        k %= 6 * per;
        if (set)
            snprintf(f->suffixes, sizeof f->suffixes, "vset%d%s%s%s%s", four ? 4 : 2,
                     TYPE(0), TYPE(1), cmps[k / 8], k >> 2 & 1 ? ".add" : "");
        else
            snprintf(f->suffixes, sizeof f->suffixes, "%s%d%s%s%s%s", vops[k / 24],
                     four ? 4 : 2, TYPE(0), TYPE(1), TYPE(2),
                     k % 24 / 8 == 1   ? ".sat"
                     : k % 24 / 8 == 2 ? ".add"
                                       : "");
        snprintf(f->asel, sizeof f->asel, "%s", four ? bytes[mix % 7] : halves[mix % 7]);
        snprintf(f->bsel, sizeof f->bsel, "%s",
                 four ? bytes[mix / 7 % 7] : halves[mix / 7 % 7]);
        snprintf(f->dsel, sizeof f->dsel, "%s",
                 four ? mask4[mix / 49 % 6] : mask2[mix / 49 % 4]);
        return true;
    }
#undef TYPE
    return false;
}

#endif
