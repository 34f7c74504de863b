/* warp.c: forms, kernels and reference of warp.h. */
#include "vectors/warp.h"

#include "base/splitmix.h"
#include "ptx/opcode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const warp_places[WARP_PLACES] = {"straight", "branch", "loop", "loop-branch",
                                              "apart",    "ended",  "guard"};

/* -- forms -- */

static bool
takes(unsigned op, unsigned group)
{
    return ptx_ops[op].groups >> group & 1;
}

static void
add(struct warp_form *f, unsigned *n, unsigned op, const char *how, const char *type)
{
    const char *m = ptx_ops[op].mnemonic;
    /* Which of its types a reduction has, and which of vote's rows gives a ballot. */
    bool bits = !strcmp(how, "and") || !strcmp(how, "or") || !strcmp(how, "xor");
    bool sums = !strcmp(how, "add") || !strcmp(how, "min") || !strcmp(how, "max");
    if (!strcmp(m, "redux") && !(bits ? type[0] == 'b' : sums && type[0] != 'b'))
        return;
    if (!strcmp(m, "redux") && type[0] == 'f')
        return; /* sm_100: exec_blackwell has it */
    if (!strcmp(m, "vote") && !strcmp(how, "ballot") != !strcmp(type, "b32"))
        return;
    if (!strcmp(m, "shfl") && strcmp(type, "b32") != 0)
        return; /* the ISA has .b32 alone, the table what older texts have too */
    if (*n == WARP_FORMS)
        abort();
    struct warp_form *x = &f[(*n)++];
    bool sync = takes(op, PTX_MG_SYNC);
    snprintf(x->mnemonic, sizeof x->mnemonic, "%s", m);
    snprintf(x->how, sizeof x->how, "%s", how);
    snprintf(x->type, sizeof x->type, "%s", type);
    bool behind = !strcmp(m, "match"); /* match.any.sync */
    snprintf(x->name, sizeof x->name, "%s%s%s%s%s%s%s%s", m,
             takes(op, PTX_MG_WARP) ? ".warp" : "", behind ? "." : "", behind ? how : "",
             sync ? ".sync" : "", !behind && *how ? "." : "", behind ? "" : how,
             *type ? "." : "");
    strncat(x->name, type, sizeof x->name - strlen(x->name) - 1);
    x->sm = !strcmp(m, "elect") ? 90 : !strcmp(m, "redux") ? 80 : 70;
}

/* With every modifier of the group that says what is done. */
static void
each_how(struct warp_form *f, unsigned *n, unsigned op, const char *type)
{
    static const uint8_t groups[] = {PTX_MG_VOTE, PTX_MG_SHFL, PTX_MG_MATCH,
                                     PTX_MG_ATOMOP};
    bool any = false;
    for (size_t g = 0; g < sizeof groups; g++)
        for (unsigned m = 1; m < PTX_NMODS && takes(op, groups[g]); m++)
            if (ptx_mods[m].group == groups[g]) {
                any = true;
                add(f, n, op, ptx_mods[m].text, type);
            }
    if (!any)
        add(f, n, op, "", type);
}

unsigned
warp_forms(struct warp_form *f)
{
    unsigned n = 0, last = PTX_NOPS;
    for (unsigned op = 0; op < PTX_NOPS; op++) {
        const struct ptx_op_info *o = &ptx_ops[op];
        if (!(o->flags & PTX_CROSSLANE) ||
            o->flags & (PTX_REFUSED | PTX_EXTENSION | PTX_PSEUDO) ||
            takes(op, PTX_MG_ALIGNED)) /* matrices: all lanes */
            continue;
        if (op == PTX_OP_ACTIVEMASK) { /* is last: others bring lanes together first */
            last = op;
            continue;
        }
        char types[64], *rest = types;
        snprintf(types, sizeof types, "%s", o->types);
        if (!*types)
            each_how(f, &n, op, "");
        for (char *t; *types && (t = strtok_r(rest, " ", &rest));)
            each_how(f, &n, op, t);
    }
    if (last != PTX_NOPS)
        each_how(f, &n, last, "b32");
    return n;
}

/* -- input -- */

/* The group of each lane. */
static void
groups_of(unsigned partition, unsigned *group, uint64_t *rng)
{
    unsigned ngroups = 1 + (unsigned)(splitmix_next(rng) % 8);
    for (unsigned i = 0; i < WARP_LANES; i++)
        group[i] = partition == 0   ? 0
                   : partition <= 5 ? i >> (5 - partition) /* 16, 8, 4, 2, 1 lanes */
                   : partition == 6 ? i & 1
                                    : (unsigned)(splitmix_next(rng) % ngroups);
}

static uint32_t
pick_in(uint32_t set, uint64_t *rng)
{
    unsigned k = (unsigned)(splitmix_next(rng) % (unsigned)__builtin_popcount(set));
    while (k--)
        set &= set - 1;
    return (uint32_t)__builtin_ctz(set);
}

void
warp_draw(struct warp_input *in, unsigned partition, enum warp_place place, uint32_t live,
          uint64_t *rng)
{
    unsigned group[WARP_LANES];
    groups_of(partition, group, rng);
    memset(in, 0, sizeof *in);
    for (unsigned i = 0; i < WARP_LANES; i++)
        in->word[WARP_GONE][i] =
            place == WARP_ENDED && splitmix_next(rng) % 4 == 0 ? 1 : 0;
    for (unsigned g = 0; g < WARP_LANES; g++) {
        uint32_t lanes = 0, gone = 0, how = (uint32_t)splitmix_next(rng);
        for (unsigned i = 0; i < WARP_LANES; i++)
            if (group[i] == g) {
                lanes |= 1u << i;
                gone |= in->word[WARP_GONE][i] << i;
            }
        /* Lanes that never were, or have ended, may be named: half of the groups do. */
        uint32_t mask = how & 1 ? lanes : lanes & live & ~gone,
                 here = lanes & live & ~gone;
        uint32_t v = (uint32_t)splitmix_next(rng), size = 2u << (how >> 1 & 3);
        for (unsigned i = 0; i < WARP_LANES; i++) {
            if (!(lanes >> i & 1))
                continue;
            uint64_t r = splitmix_next(rng);
            in->word[WARP_MASK][i] = here >> i & 1 ? mask : 1u << i;
            /* all equal in a quarter of the groups, few values in another */
            in->word[WARP_V][i] = (how >> 3 & 3) == 0   ? v
                                  : (how >> 3 & 3) == 1 ? v ^ (r & 3)
                                                        : (uint32_t)r;
            in->word[WARP_HI][i] = how >> 5 & 1 ? v : (uint32_t)(r >> 32) & 1;
            in->word[WARP_P][i] = (how >> 6 & 3) == 0   ? 1
                                  : (how >> 6 & 3) == 1 ? 0
                                                        : (uint32_t)(r >> 40) & 1;
            in->word[WARP_ODD][i] = how >> 8 & 1;
            in->word[WARP_TIMES][i] = 1 + (how >> 9) % WARP_TRIPS;
            in->word[WARP_SIDE][i] = (uint32_t)(r >> 41) & 1;
            in->word[WARP_B][i] =
                here ? (r >> 42 & 1 ? pick_in(here, rng) : (uint32_t)(r >> 43) & 7) : 0;
            in->word[WARP_C][i] =
                (r >> 50 & 1 ? 31 : 0) | (how >> 12 & 1 ? (WARP_LANES - size) << 8 : 0);
        }
    }
}

/* -- kernels -- */

/* Registers: wm mask, wv value, wd of 64 bits, wb, wc, wp; results wr, wq; wa, we: own
 * word of scratchpad, that of lane wb. */
static void
instruction(struct strbuf *b, const struct warp_form *f, const char *guard)
{
    const char *m = f->mnemonic, *v = !strcmp(f->type, "b64") ? "%wd" : "%wv";
    bool pred = !strcmp(f->type, "pred"), all = !strcmp(f->how, "all");
    if (!strcmp(m, "bar")) {
        strbuf_printf(b,
                      "%sst.shared.b32 [%%wa], %%wv;\n%s%s %%wm;\n"
                      "%sld.shared.b32 %%wr, [%%we];\n%s%s %%wm;\n",
                      guard, guard, f->name, guard, guard, f->name);
        return;
    }
    strbuf_printf(b, "%s%s ", guard, f->name);
    if (!strcmp(m, "shfl"))
        strbuf_addz(b, "%wr|%wq, %wv, %wb, %wc, %wm;\n");
    else if (!strcmp(m, "vote"))
        strbuf_printf(b, "%s, %%wp, %%wm;\n", pred ? "%wq" : "%wr");
    else if (!strcmp(m, "match"))
        strbuf_printf(b, "%s, %s, %%wm;\n", all ? "%wr|%wq" : "%wr", v);
    else if (!strcmp(m, "redux"))
        strbuf_addz(b, "%wr, %wv, %wm;\n");
    else if (!strcmp(m, "elect"))
        strbuf_addz(b, "%wr|%wq, %wm;\n");
    else if (!strcmp(m, "activemask"))
        strbuf_addz(b, "%wr;\n");
    else {
        (void)fprintf(stderr, "no operands are known for %s\n", f->name);
        abort();
    }
}

static void
all_forms(struct strbuf *b, const struct warp_form *f, unsigned n, const char *guard)
{
    for (unsigned i = 0; i < n; i++) {
        strbuf_printf(b, "mov.b32 %%wr, %d;\nsetp.ne.b32 %%wq, %%wr, %%wr;\n",
                      WARP_UNWRITTEN);
        instruction(b, &f[i], guard);
        strbuf_printf(b,
                      "selp.b32 %%ws, 1, 0, %%wq;\nst.global.b32 [%%out+%u], %%wr;\n"
                      "st.global.b32 [%%out+%u], %%ws;\n",
                      i * 256, i * 256 + 128);
    }
}

static void
two_ways(struct strbuf *b, const struct warp_form *f, unsigned n)
{
    strbuf_addz(b, "@%odd bra ODD;\n");
    all_forms(b, f, n, "");
    strbuf_addz(b, "bra BOTH;\nODD:\n");
    all_forms(b, f, n, "");
    strbuf_addz(b, "BOTH:\n");
}

void
warp_kernel(struct strbuf *b, const struct warp_form *f, unsigned n,
            enum warp_place place, unsigned sm)
{
    static const char *const name[WARP_WORDS] = {
        [WARP_MASK] = "wm",  [WARP_V] = "wv",        [WARP_HI] = "hi",
        [WARP_B] = "wb",     [WARP_C] = "wc",        [WARP_P] = "p",
        [WARP_ODD] = "o",    [WARP_TIMES] = "times", [WARP_SIDE] = "side",
        [WARP_GONE] = "gone"};
    strbuf_printf(b,
                  ".version 8.0\n.target sm_%u\n.address_size 64\n"
                  ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                  ".reg .b32 %%wm, %%wv, %%hi, %%wb, %%wc, %%p, %%o, %%times, %%side, "
                  "%%gone, %%wr, %%ws, %%wa, %%we, %%t, %%l, %%w, %%k, %%i;\n"
                  ".reg .b64 %%wd, %%in, %%out, %%x;\n"
                  ".reg .pred %%wp, %%wq, %%odd, %%more, %%q, %%end;\n"
                  ".shared .align 4 .b8 sh[4096];\n"
                  "ld.param.u64 %%in, [in];\nld.param.u64 %%out, [out];\n"
                  "mov.u32 %%t, %%tid.x;\nand.b32 %%l, %%t, 31;\nshr.u32 %%w, %%t, 5;\n"
                  "mov.u32 %%k, %%ntid.x;\nadd.u32 %%k, %%k, 31;\nshr.u32 %%k, %%k, 5;\n"
                  "mov.u32 %%i, %%ctaid.x;\nmad.lo.u32 %%w, %%i, %%k, %%w;\n"
                  "shl.b32 %%l, %%l, 2;\n"
                  "mad.lo.u32 %%k, %%w, %d, %%l;\ncvt.u64.u32 %%x, %%k;\n"
                  "add.u64 %%in, %%in, %%x;\n"
                  "mad.lo.u32 %%k, %%w, %u, %%l;\ncvt.u64.u32 %%x, %%k;\n"
                  "add.u64 %%out, %%out, %%x;\n",
                  sm, WARP_WORDS * 128, WARP_TRIPS * n * 256);
    for (unsigned i = 0; i < WARP_WORDS; i++)
        strbuf_printf(b, "ld.global.b32 %%%s, [%%in+%u];\n", name[i], i * 128);
    strbuf_addz(b, "mov.b64 %wd, {%wv, %hi};\nsetp.ne.b32 %wp, %p, 0;\n"
                   "setp.ne.b32 %odd, %o, 0;\nmov.u32 %k, sh;\nshl.b32 %t, %t, 2;\n"
                   "add.u32 %wa, %k, %t;\nsub.u32 %we, %wa, %l;\n"
                   "mad.lo.u32 %we, %wb, 4, %we;\nmov.u32 %i, 0;\n");
    switch (place) {
    case WARP_BRANCH:
        two_ways(b, f, n);
        break;
    case WARP_LOOP:
    case WARP_LOOP_BRANCH:
        strbuf_addz(b, "NEXT:\n");
        if (place == WARP_LOOP)
            all_forms(b, f, n, "");
        else
            two_ways(b, f, n);
        strbuf_printf(b,
                      "add.u64 %%out, %%out, %u;\nadd.u32 %%i, %%i, 1;\n"
                      "setp.lt.u32 %%more, %%i, %%times;\n@%%more bra NEXT;\n",
                      n * 256);
        break;
    case WARP_APART: /* a way with a return: the branch has no post-dominator */
        strbuf_addz(b, "setp.ne.b32 %q, %side, 0;\n@%q bra SIDE;\nadd.u32 %i, %i, 1;\n"
                       "bra MEET;\nSIDE:\nsetp.gt.u32 %end, %times, 1000;\n@%end ret;\n"
                       "MEET:\n");
        all_forms(b, f, n, "");
        break;
    case WARP_ENDED:
        strbuf_addz(b, "setp.ne.b32 %q, %gone, 0;\n@%q ret;\n");
        all_forms(b, f, n, "");
        break;
    default:
        all_forms(b, f, n, place == WARP_GUARD ? "@%odd " : "");
    }
    strbuf_addz(b, "ret;\n}\n");
}

/* -- reference -- */

/* PTX ISA 9.7.9.6. False: the source takes no part, the value is open. */
static bool
shuffled(const struct warp_form *f, const struct warp_input *in, uint32_t group, int lane,
         uint32_t out[2])
{
    int bval = in->word[WARP_B][lane] & 31, cval = in->word[WARP_C][lane] & 31,
        segmask = in->word[WARP_C][lane] >> 8 & 31, j;
    int max = (lane & segmask) | (cval & ~segmask), min = lane & segmask;
    bool valid;
    if (!strcmp(f->how, "up"))
        j = lane - bval, valid = j >= max;
    else if (!strcmp(f->how, "down"))
        j = lane + bval, valid = j <= max;
    else if (!strcmp(f->how, "bfly"))
        j = lane ^ bval, valid = j <= max;
    else
        j = min | (bval & ~segmask), valid = j <= max;
    if (!valid)
        j = lane;
    out[0] = in->word[WARP_V][j & 31];
    out[1] = valid;
    return group >> (j & 31) & 1;
}

static uint32_t
reduced(const struct warp_form *f, const uint32_t *v, uint32_t group)
{
    bool first = true, is_signed = f->type[0] == 's';
    uint32_t r = 0;
    for (int i = 0; i < WARP_LANES; i++) {
        if (!(group >> i & 1))
            continue;
        bool less = is_signed ? (int32_t)v[i] < (int32_t)r : v[i] < r;
        bool more = is_signed ? (int32_t)v[i] > (int32_t)r : v[i] > r;
        if (first)
            r = v[i];
        else if (!strcmp(f->how, "add"))
            r += v[i];
        else if (!strcmp(f->how, "and"))
            r &= v[i];
        else if (!strcmp(f->how, "or"))
            r |= v[i];
        else if (!strcmp(f->how, "xor"))
            r ^= v[i];
        else if (!strcmp(f->how, "min") ? less : more)
            r = v[i];
        first = false;
    }
    return r;
}

bool
warp_reference(const struct warp_form *f, const struct warp_input *in,
               enum warp_place place, uint32_t live, unsigned trip, unsigned lane,
               uint32_t out[2], bool *open)
{
    uint32_t here = live, yes = 0, same = 0, same64 = 0, vote = 0;
    *open = false;
    for (unsigned i = 0; i < WARP_LANES; i++) {
        here &= ~(place == WARP_ENDED ? in->word[WARP_GONE][i] << i : 0);
        yes |= in->word[WARP_P][i] << i;
        bool eq = in->word[WARP_V][i] == in->word[WARP_V][lane];
        same |= (uint32_t)eq << i;
        same64 |= (uint32_t)(eq && in->word[WARP_HI][i] == in->word[WARP_HI][lane]) << i;
    }
    bool loop = place == WARP_LOOP || place == WARP_LOOP_BRANCH;
    if (!(here >> lane & 1) || trip >= (loop ? in->word[WARP_TIMES][lane] : 1))
        return false;
    uint32_t group = here & in->word[WARP_MASK][lane];
    out[0] = WARP_UNWRITTEN;
    out[1] = 0;
    if (place == WARP_GUARD && !in->word[WARP_ODD][lane])
        return true;
    const char *m = f->mnemonic;
    bool wide = !strcmp(f->type, "b64");
    vote = yes & group;
    same = (wide ? same64 : same) & group;
    if (!strcmp(m, "vote")) {
        if (!strcmp(f->how, "ballot"))
            out[0] = vote;
        else
            out[1] = !strcmp(f->how, "all")   ? vote == group
                     : !strcmp(f->how, "any") ? vote != 0
                                              : vote == group || !vote;
    } else if (!strcmp(m, "match")) {
        bool all = !strcmp(f->how, "all");
        out[0] = all && same != group ? 0 : same;
        out[1] = all && same == group;
    } else if (!strcmp(m, "redux")) {
        out[0] = reduced(f, in->word[WARP_V], group);
    } else if (!strcmp(m, "shfl")) {
        *open = !shuffled(f, in, group, (int)lane, out);
    } else if (!strcmp(m, "elect")) { /* the machine's choice: the lowest */
        out[0] = (uint32_t)__builtin_ctz(group);
        out[1] = out[0] == lane;
    } else if (!strcmp(m, "bar")) {
        unsigned from = in->word[WARP_B][lane] & 31;
        out[0] = in->word[WARP_V][from];
        *open = !(group >> from & 1);
    } else { /* activemask: of lanes apart who is together is open */
        out[0] = here;
        *open = place != WARP_STRAIGHT && place != WARP_ENDED;
    }
    return true;
}
