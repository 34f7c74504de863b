/* ptxas_forms.c: does the front end take what ptxas takes, and nothing else? Of every row
 * of the opcode table, spellings are made of its types and modifiers, legal and illegal
 * ones, all of them or, where they are too many, some; each becomes a kernel of one
 * instruction. ptxas says for several targets which it takes; we take what is parsed and
 * decoded.
 *
 * What ptxas takes for a target up to sm_89 must be taken, what it takes for no target
 * must be refused. Of what both take, the first target must be the same (ptx/target.def). The exceptions are the list below, each with its reason; docs/ptx.md
 * says the same. And where constant-fold may put a literal, ptxas must take one. With an
 * argument the program prints all differences. Skipped without ptxas. */
#include "unit/kit/ptx_kit.h"
#include "unit/kit/sanitized.h"
#include "unit/kit/skip.h"

#include "exec/exec.h"
#include "exec/ops/exec_mem.h"
#include "passes/rewrite.h"
#include "ptx/print.h"
#include "ptx/target.h"
#include "unit/kit/lanes_util.h"
#include "vectors/matrix.h"

#include <regex.h>

enum { MOST = 3000 };

static const char *const old_targets[] = {"sm_75", "sm_80", "sm_86", "sm_89"},
                         *const new_targets[] = {"sm_90", "sm_100a", "sm_120a"};
enum { N_OLD = UTIL_COUNT(old_targets), N_NEW = UTIL_COUNT(new_targets) };

struct spelled {
    char *text; /* the instruction, with operands */
    bool ours, old,
        later; /* accepted by us, by ptxas for a target up to 89, by it at all */
    unsigned first, first_ours; /* target; 0: none of those asked */
};

static struct {
    struct spelled *v;
    size_t n, cap;
} all;

/* -- spelling -- */

static const char *
register_of(unsigned type)
{
    unsigned bytes = ptx_types[type].bytes;
    return type == PTX_PRED     ? "%p"
           : type == PTX_F32    ? "%f"
           : type == PTX_F64    ? "%fd"
           : type == PTX_B128   ? "%q"
           : type == PTX_E2M1X2 ? "%b" /* a byte and no integer, which stand in 32 bits */
           : bytes == 8         ? "%rd"
           : bytes == 2         ? "%h"
                                : "%r";
}

static const char *
token_register(const struct ptx_inst *in, const char *tok)
{
    if (*tok == 'P' || *tok == 'p')
        return "%p";
    if (*tok == 'U' || *tok == 'u')
        return "%r";
    unsigned t = in->type[tok[1] >= '0' && tok[1] <= '3' ? tok[1] - '0' : 0];
    if (tok[1] && tok[2] == 'w')
        return ptx_types[t].bytes == 2 ? "%r" : "%rd";
    return register_of(t);
}

/* Is the optional operand written? Those that a modifier asks for are. */
static bool
wants(const struct ptx_inst *in, char letter, unsigned nth)
{
    const uint16_t *m = in->mod;
    bool cas = m[PTX_MG_ATOMOP] == PTX_ATOMOP_CAS;
    switch (in->op) {
    case PTX_OP_ATOM:
    case PTX_OP_ATOMH: /* the compared value, the policy */
        return nth < (unsigned)cas + (m[PTX_MG_L2HINT] != 0);
    case PTX_OP_LD:
    case PTX_OP_ST:
    case PTX_OP_RED:
    case PTX_OP_REDH:
        return m[PTX_MG_L2HINT];
    case PTX_OP_SHFL:
    case PTX_OP_VOTEP:
    case PTX_OP_VOTEB:
        return letter == 'u' && m[PTX_MG_SYNC];
    default:
        if (letter == 'a')
            return m[PTX_MG_VOP2];
        return letter == 'p' && m[PTX_MG_BOOL];
    }
}

static void
operands(struct strbuf *b, const struct ptx_inst *in)
{
    unsigned reg = 1, optional = 0;
    bool first = true;
    const char *s = ptx_ops[in->op].operands;
    while (*s) {
        size_t n = strcspn(s, ",|");
        bool maybe = s[n - 1] == '?',
             joined = s > ptx_ops[in->op].operands && s[-1] == '|';
        char letter = *s;
        if (!maybe || (!joined && wants(in, letter, optional++))) {
            strbuf_addz(b, first ? " " : joined ? "|" : ", ");
            first = false;
            unsigned v = in->mod[PTX_MG_VEC], sp = in->mod[PTX_MG_SPACE];
            int count = v == PTX_VEC_V2 ? 2 : v == PTX_VEC_V4 ? 4 : 1;
            if (letter == 'm') {
                strbuf_addz(b, sp == PTX_SPACE_SS_PARAM || sp == PTX_SPACE_SS_PARAM_ENTRY
                                   ? "[par]"
                                   : "[%rd1]");
            } else if (letter == 'x') {
                bool cas = in->mod[PTX_MG_ATOMOP] == PTX_ATOMOP_CAS && optional == 1;
                strbuf_printf(b, "%s%u", cas ? register_of(in->type[0]) : "%rd", reg++);
            } else if ((letter == 'V' || letter == 'S') && count > 1) {
                for (int i = 0; i < count; i++)
                    strbuf_printf(b, "%s%s%u", i ? ", " : "{", token_register(in, s),
                                  reg++);
                strbuf_addz(b, "}");
            } else if (letter == 'u' &&
                       (in->op == PTX_OP_LOP3 || in->op == PTX_OP_LOP3P)) {
                strbuf_addz(b, "0x12");
            } else if (letter == 'u' &&
                       (in->op == PTX_OP_DISCARD || in->op == PTX_OP_APPLYPRIORITY)) {
                strbuf_addz(b, "128");
            } else if (letter == 'u' && in->op == PTX_OP_PMEVENT) {
                strbuf_addz(b, "3");
            } else {
                strbuf_printf(b, "%s%u", token_register(in, s), reg++);
            }
        }
        s += n + (s[n] != 0);
    }
}

static void
keep(struct strbuf *b)
{
    strbuf_addz(b, ";");
    if (all.n == all.cap) {
        all.cap = all.cap ? 2 * all.cap : 4096;
        all.v = realloc(all.v, all.cap * sizeof *all.v);
        assert_non_null(all.v);
    }
    all.v[all.n++] = (struct spelled){.text = strbuf_take(b)};
}

static void
spell(const struct ptx_inst *in)
{
    struct strbuf b = {0};
    const struct ptx_op_info *o = &ptx_ops[in->op];
    bool types_first = o->flags & PTX_SELECT;
    strbuf_addz(&b, o->mnemonic);
    for (int pass = 0; pass < 2; pass++)
        if ((pass == 0) == types_first)
            for (unsigned i = 0; i < in->ntypes; i++)
                strbuf_printf(&b, ".%s", ptx_types[in->type[i]].text);
        else
            for (unsigned g = 0; g < PTX_NMODGROUPS; g++)
                if (in->mod[g] && g != PTX_MG_PRMT)
                    strbuf_printf(&b, ".%s", ptx_mods[in->mod[g]].text);
    if (in->mod[PTX_MG_PRMT])
        strbuf_printf(&b, ".%s", ptx_mods[in->mod[PTX_MG_PRMT]].text);
    operands(&b, in);
    keep(&b);
}

/* -- combinations -- */

struct choice {
    uint16_t n, v[64];
};

static void
spell_row(unsigned op, uint64_t *rng)
{
    const struct ptx_op_info *o = &ptx_ops[op];
    struct choice c[4 + PTX_NMODGROUPS] = {0};
    unsigned group[PTX_NMODGROUPS], nt = 0, ng = 0;
    for (const char *s = o->types; *s;) {
        size_t n = strcspn(s, " /");
        c[nt].v[c[nt].n++] = (uint8_t)ptx_type_find(s, n);
        s += n;
        if (!*s || *s == '/')
            nt++;
        s += *s != 0;
    }
    for (unsigned g = 0; g < PTX_NMODGROUPS; g++) {
        if (!(o->groups >> g & 1))
            continue;
        struct choice *x = &c[nt + ng];
        group[ng++] = g;
        x->v[x->n++] = 0;
        for (unsigned m = 1; m < PTX_NMODS; m++)
            if (ptx_mods[m].group == g)
                x->v[x->n++] = (uint16_t)m;
    }
    double total = 1;
    for (unsigned i = 0; i < nt + ng; i++)
        total *= c[i].n;
    bool some = total > MOST;
    for (unsigned k = 0; k < (some ? MOST : (unsigned)total); k++) {
        uint16_t mods[PTX_NMODGROUPS] = {0};
        struct ptx_inst in = {.op = (uint16_t)op, .guard = -1, .mod = mods};
        unsigned rest = k;
        for (unsigned i = 0; i < nt + ng; i++) {
            /* Of the many, most have few modifiers: the others are all refused alike. */
            unsigned at = !some ? rest % c[i].n : (unsigned)(splitmix_next(rng) % c[i].n);
            rest /= c[i].n;
            if (some && i >= nt && c[i].n > 1 && ng > 2 && splitmix_next(rng) % 2)
                at = 0;
            if (i < nt)
                in.type[in.ntypes++] = c[i].v[at];
            else
                mods[group[i - nt]] = c[i].v[at];
        }
        spell(&in);
    }
}

/* Rows whose spellings need more than this: texture and matrix operands, labels, what is
 * known by its first word only. They have tests of their own. */
static bool
left_out(unsigned op)
{
    const struct ptx_op_info *o = &ptx_ops[op];
    return o->flags & (PTX_PSEUDO | PTX_EXTENSION) || *o->operands == '*' ||
           strpbrk(o->operands, "tlfvLM") || op == PTX_OP_CREATEPOLICY ||
           op == PTX_OP_TXQ || op == PTX_OP_SUQ || op == PTX_OP_ISTYPEP ||
           (o->flags & PTX_VERBATIM && !(o->flags & PTX_SELECT));
}

/* -- matrices -- */

static const char *const factors[] = {"f16", "bf16", "tf32", "f64",  "s8",  "u8",
                                      "s4",  "u4",   "b1",   "e4m3", "e5m2"},
                         *const sums[] = {"f16", "f32", "f64", "s32"};

/* Registers of a fragment of rows by columns; at least one. */
static int
fragment(const char *type, int rows, int cols)
{
    int bits = matrix_type_bits(type), n = rows * cols * bits / 1024;
    if (bits == 64)
        n /= 2;
    return n < 1 ? 1 : n > 16 ? 16 : n;
}

static void
spell_matrix(const char *head, const char *tail, const char *const t[4], const int n[4],
             const char *more)
{
    struct strbuf b = {0};
    strbuf_printf(&b, "%s%s ", head, tail);
    static const int first[4] = {1, 17, 33, 49};
    for (int i = 0; i < 4; i++) {
        strbuf_addz(&b, i ? ", " : "");
        matrix_list(&b, t[i], first[i], n[i]);
    }
    strbuf_addz(&b, more);
    keep(&b);
}

/* mma, mma.sp, wmma.mma, every shape with every pair of types of one family, and some of
 * two. */
static void
spell_products(void)
{
    for (unsigned s = 1; s < PTX_NMODS; s++) {
        int m, n, k;
        const char *shape = ptx_mods[s].text;
        if (ptx_mods[s].group != PTX_MG_SHAPE ||
            sscanf(shape, "m%dn%dk%d", &m, &n, &k) != 3)
            continue;
        for (unsigned i = 0; i < 11 * 11 * 16; i++) {
            unsigned a = i % 11, b = i / 11 % 11, d = i / 121 % 4, c = i / 484;
            if (a != b && b != (a ^ 1u) && b != a + 1 && a)
                continue;
            const char *t[4] = {sums[d], factors[a], factors[b], sums[c]};
            bool volta = m == 8 && k == 4 && !a;
            int of = volta ? 4 : 1;
            int regs[4] = {fragment(t[0], m, n * of), fragment(t[1], m, k * of),
                           fragment(t[2], k, n * of), fragment(t[3], m, n * of)};
            int half[4] = {regs[0], fragment(t[1], m, k / 2), regs[2], regs[3]};
            for (int v = 0; v < 4; v++) {
                char head[80], tail[80];
                const char *end = factors[a][0] == 'b' && factors[a][1] == '1'
                                      ? v & 1 ? ".and.popc" : ".xor.popc"
                                      : "";
                const char *sat = v & 1 && !*end ? ".satfinite" : "";
                snprintf(tail, sizeof tail, "%s.%s.%s.%s.%s%s", sat, t[0], t[1], t[2],
                         t[3], end);
                if (v < 2) {
                    snprintf(head, sizeof head, "mma.sync.aligned.%s.row.col", shape);
                    spell_matrix(head, tail, t, regs, "");
                } else if (!*end && m == 16 && n == 8) {
                    snprintf(head, sizeof head, "mma.sp.sync.aligned.%s.row.col", shape);
                    spell_matrix(head, tail, t, half, ", %r65, 0");
                }
                if (v >= 2) {
                    int w[4] = {regs[0], a ? regs[1] : 8, a ? regs[2] : 8, regs[3]};
                    snprintf(head, sizeof head, "wmma.mma%s.sync.aligned.row.col.%s", end,
                             shape);
                    if (!a)
                        snprintf(tail, sizeof tail, ".%s.%s%s", t[0], t[3], sat);
                    else
                        snprintf(tail, sizeof tail, ".%s.%s.%s.%s%s", t[0], t[1], t[2],
                                 t[3], sat);
                    /* ptxas 13 crashes at halves of other shapes. */
                    if (a || (!b && k == 16 && m * n == 256))
                        spell_matrix(head, tail, t, w, "");
                }
            }
        }
    }
}

/* -- everything else: alternatives in parentheses, all combined -- */

static const char *const templates[] = {
    "ldmatrix.sync.aligned.(m8n8|m16n16).x1(|.trans)(|.shared|.shared::cta|.global).(b16|b8) "
    "{%r1}, [%rd1]",
    "ldmatrix.sync.aligned.m8n8.x2(|.trans).shared.b16 {%r1, %r2}, [%rd1]",
    "ldmatrix.sync.aligned.m8n8.x4(|.trans).shared.b16 {%r1, %r2, %r3, %r4}, [%rd1]",
    "movmatrix.sync.aligned.m8n8(|.trans).(b16|b8) %r1, %r2",
    "wmma.load.(a|b|c|d).sync.aligned.(row|col).(m16n16k16|m32n8k16|m8n32k16)"
    "(|.global|.shared|.local).(f16|f32) {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1]"
    "(|, %r9)",
    "wmma.store.(a|c|d).sync.aligned.(row|col).m16n16k16(|.global|.shared|.local).(f16|s32) "
    "[%rd1], {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}(|, %r9)",
    "cp.async.(ca|cg).shared(|::cta).global(|.L2::cache_hint)(|.L2::64B|.L2::128B|.L2::256B) "
    "[%r1], [%rd1], (4|8|16|3)(|, %r2)(|, %rd2)",
    "cp.async.(ca|cg).shared.global [%r1], [%rd1], (4|8|16)(|, %p1)",
    "cp.async.commit_group",
    "cp.async.wait_all",
    "cp.async.wait_group (0|3|%r1)",
    "cp.async.mbarrier.arrive(|.noinc)(|.shared|.shared::cta|.global).(b64|b32) [%r1]",
    "mbarrier.(init|inval)(|.shared|.shared::cta|.global).b64 [%r1](|, %r2|, 7)",
    "mbarrier.(arrive|arrive_drop)(|.release|.acquire)(|.cta|.cluster|.gpu)"
    "(|.shared|.shared::cta).b64 (%rd1|_), [%r1](|, 3|, %r2)",
    "mbarrier.(arrive|arrive_drop).noComplete(|.release.cta)(|.shared).b64 %rd1, "
    "[%r1](|, 3|, %r2)",
    "mbarrier.(test_wait|try_wait)(|.acquire)(|.cta|.cluster|.gpu)(|.shared|.shared::cta)"
    ".b64 %p1, [%r1], %rd1(|, %r2)",
    "mbarrier.(test_wait|try_wait).parity(|.acquire.cta)(|.shared).b64 %p1, [%r1], "
    "%r3(|, %r2)",
    "mbarrier.pending_count.(b64|b32) %r1, %rd1",
    "tex(|.base).1d.v(2|4).(u32|s32|f32|f16|f16x2).s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}]",
    "tex(|.base).1d.v4.(u32|s32|f32|f16).f32 {%r1, %r2, %r3, %r4}, [%rd1, {%f5}]",
    "tex.level.1d.v4.(u32|s32|f32|f16).(s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5}], %r6|f32 "
    "{%r1, %r2, %r3, %r4}, [%rd1, {%f5}], %f6)",
    "tex(|.base).2d.v(2|4).(u32|f32).(s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5, %r6}]|f32 "
    "{%r1, %r2, %r3, %r4}, [%rd1, {%f5, %f6}])",
    "tex(|.base).(3d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%f5, %f6, %f7, %f8}]|a1d.v4"
    ".u32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5, %f6}]|a2d.v4.s32.f32 {%r1, %r2, %r3, %r4}, "
    "[%rd1, {%r5, %f6, %f7, %f8}]|a2d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5, %r6, "
    "%r7, %r8}])",
    "tex.(level|base).2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%f5, %f6}](|, %f7)",
    "tld4.(r|g|b|a).(2d.v4.|2d.v2.|1d.v4.)(u32|s32|f32).(s32|f32) {%r1, %r2, %r3, %r4}, "
    "[%rd1, {%f5, %f6}]",
    "suld.(b|p).(1d)(|.ca|.cg|.cs|.cv|.wb)(.b8|.b16|.b32|.u32).(trap|clamp|zero) %r1, "
    "[%rd1, {%r5}]",
    "suld.b.(1d|2d).(v2.b32|v4.b32|v2.b64|b64|v4.b8).zero (%rd1|{%r1, %r2}|{%rd1, "
    "%rd2}|{%r1, %r2, %r3, %r4}), [%rd1, {%r5, %r6}]",
    "suld.b.(3d|a2d).b32.trap %r1, [%rd1, {%r5, %r6, %r7, %r8}]",
    "sust.(b|p).2d(|.wb|.cg|.cs|.wt|.ca)(.b8|.b16|.b32|.u32|.s32|.f32).(trap|clamp|zero) "
    "[%rd1, {%r5, %r6}], %r1",
    "sust.(b|p).2d.v4.(b32|u32|b8).trap [%rd1, {%r5, %r6}], {%r1, %r2, %r3, %r4}",
    "sured.(b|p).(add|min|max|and|or).1d.(u32|s32|b32).(trap|clamp|zero) [%rd1, "
    "{%r5}], %r1",
    "sured.(b|p).(add|min|max|and|or).2d.(u64|s64|b64).trap [%rd1, {%r5, %r6}], %rd1",
    "(txq|suq).(width|height|depth|channel_data_type|channel_order|normalized_coords|"
    "array_size|num_mipmap_levels|num_samples|memory_layout|force_unnormalized_coords|"
    "filter_mode|addr_mode_0).(b32|b64) %r1, [%rd1]",
    "createpolicy.fractional.L2::(evict_last|evict_normal|evict_first|evict_unchanged)"
    "(|.L2::evict_first|.L2::evict_unchanged|.L2::evict_last).b64 %rd1(|, 0f3F000000)",
    "createpolicy.range(|.global).L2::(evict_last|evict_first)(|.L2::evict_unchanged).b64 "
    "%rd1, [%rd2], (4|%r1), (8|%r2)",
    "createpolicy.cvt.L2.b64 %rd1, (%rd2|4096)",
    "fence.proxy.(alias|async|async.global|async.shared::cta|generic)",
    "membar.proxy.(alias|async)",
    "fence.mbarrier_init.(release|acquire).(cluster|cta)",
    "bra(|.uni) L",
    "brx.idx(|.uni) %r1, T",
    "ret(|.uni)",
    "exit",
    "trap",
    "brkpt",
    "call(|.uni) f",
    "nanosleep.u32 (%r1|5)",
    "elect.sync %r1|%p1, %r2",
    "match.(any|all).sync.(b32|b64) %r1(||%p1), (%r2|%rd2), %r3",
    "bar(|.cta).(sync|arrive) (0|%r1|16)(|, 64|, %r2)",
    "barrier(|.cta).(sync|arrive)(|.aligned) (0|%r1)(|, 64|, %r2)",
    "bar.warp.sync (%r1|0xffffffff)",
};

static void
spell_template(struct strbuf *b, const char *s)
{
    while (*s && *s != '(')
        strbuf_add(b, s++, 1);
    if (!*s) {
        struct strbuf copy = {0};
        strbuf_add(&copy, b->s, b->n);
        keep(&copy);
        return;
    }
    const char *end = strchr(s, ')');
    size_t n = b->n;
    for (const char *a = s + 1;;) {
        /* "(|" at the end of "%r1(||%p1)" is one bar of the text. */
        size_t len = strcspn(a, "|)");
        if (a[0] == '|' && a > s + 1 && a[-1] == '|')
            len = 1 + strcspn(a + 1, "|)");
        strbuf_add(b, a, len);
        spell_template(b, end + 1);
        b->n = n;
        b->s[n] = 0;
        a += len;
        if (*a == ')')
            break;
        a++;
    }
}

/* -- what differs, and why; all of these are in docs/ptx.md -- */

static struct {
    const char *pattern;
    bool lenient; /* taken by us and not by ptxas; else the other way round */
    unsigned from,
        until; /* versions of ptxas for which it is one (see isa); 0: no limit */
    bool used;
} exceptions[] = {
    /* Taken by ptxas, though the ISA does not have it: what it means is open. */
    {"^fma\\.(rz|rm|rp)(\\.relu)?\\.bf16", false, 0, 0, false},
    {"^vset[24]?\\..*\\.(lo|ls|hi|hs)", false, 0, 0, false},
    {"^testp\\.f(32|64) ", false, 0, 0, false},
    {"^wmma\\.mma.*\\.(m16n16k(8|16)|m32n8k16|m8n32k16)\\.(f64|s32)\\.(f64|s4|u4)\\.",
     false, 0, 0, false},
    {"^wmma\\.mma.*\\.m8n8k4\\.s32\\.[su]4\\.", false, 0, 901, false},
    {"^mma\\.sync\\.aligned\\.m16n8k16\\.row\\.col\\.f32\\.tf32", false, 0, 0, false},
    {"^tex\\.base\\.2d\\.v4\\.f32\\.f32 .*\\], %f7", false, 0, 0, false},
    {"^suld\\.b\\.[12]d\\.b64\\.zero \\{", false, 0, 0, false},
    /* A parameter of a call is named, not addressed by a register. */
    {"^(ld|st)\\..*param::func", false, 0, 901, false},
    {"^ld\\..*param::func", true, 901, 0, false},
    /* Of targets or versions of PTX that ptxas no longer knows. */
    {"^mad\\.(ftz\\.)?(sat\\.)?f(32|64)", true, 0, 0, false},
    {"^(vote|shfl)\\.(all|any|uni|ballot|up|down|bfly|idx)\\.", true, 0, 0, false},
    {"^wmma\\.mma\\..*\\.f(16|32)\\.f(16|32)\\.satfinite", true, 0, 0, false},
    {"^sust\\.p\\..*\\.(u32|s32|f32)\\.", true, 0, 0, false},
    /* Halves in registers of 32 bits. */
    {"^tex\\..*\\.f16\\.", true, 0, 0, false},
    /* Newer than this ptxas. */
    {"^(ld|st)\\.volatile\\.local", true, 0, 901, false},
    {"^clmad\\.", true, 0, 903, false},
    {"^(ld\\.mmio\\.acquire|st\\.mmio\\.release)\\.", true, 0, 903, false},
};

/* -- who takes it -- */

/* Newest version of PTX that ptxas reads, 9.1 as 901: CUDA 13.N has 9.N. */
static unsigned isa = 900;

static void
find_isa(const char *ptxas)
{
    char cmd[256], line[256];
    unsigned minor;
    snprintf(cmd, sizeof cmd, "%s --version", ptxas);
    FILE *p = popen(cmd, "r");
    assert_non_null(p);
    while (fgets(line, sizeof line, p)) {
        const char *at = strstr(line, "release 13.");
        if (at && sscanf(at + 11, "%u", &minor) == 1)
            isa = 900 + minor;
    }
    pclose(p);
}

static const char before[] =
    ".address_size 64\n.func f() { ret; }\n.entry k(.param .align 16 .b8 par[64])\n{\n"
    ".reg .b8 %b<72>; .reg .pred %p<72>; .reg .b16 %h<72>; .reg .b32 %r<72>; .reg .b64 %rd<72>;\n"
    ".reg .f32 %f<72>; .reg .f64 %fd<72>; .reg .b128 %q<72>;\nT: .branchtargets L;\n",
                  after[] = "L: ret;\n}\n";

/* Spells the only instruction of f again for each register that constant-fold may replace
 * by a literal, with a literal there. */
static void
spell_literals(const struct ptx_func *f)
{
    const struct ptx_inst *in = &f->body.v[0];
    while (ptx_is_pseudo(in))
        in++;
    for (unsigned i = 1; i < in->nops; i++) {
        if (in->ops[i].kind != PTX_OPD_REG || !rewrite_takes_literal(in, i))
            continue;
        struct strbuf b = {0};
        struct ptx_operand was = in->ops[i];
        enum ptx_type type = rewrite_operand_type(in, i);
        uint64_t bits = type == PTX_F32   ? 0x3fc00000
                        : type == PTX_F64 ? 0x3ff8ull << 48
                                          : 3;
        in->ops[i] = rewrite_literal_of(type, bits);
        ptx_print_inst(f, in, &b);
        in->ops[i] = was;
        while (b.n && (b.s[b.n - 1] == '\n' || b.s[b.n - 1] == ';'))
            b.s[--b.n] = 0;
        keep(&b);
    }
}

/* literals: adds what it becomes with literals to the list. *first: its first target. */
static bool
ours(const char *text, bool literals, unsigned *first)
{
    struct strbuf t = {0};
    struct diag_sink diag = {0};
    strbuf_printf(&t, ".version 8.7\n.target sm_90\n%s%s\n%s", before, text, after);
    struct ptx_module *m = ptx_parse("t", t.s, t.n, &diag);
    bool ok = m;
    if (m) {
        static struct dev_mem *mem;
        mem = mem ? mem : dev_mem_new(1 << 20);
        struct exec_image *im = exec_image_new(m, mem, &diag);
        struct exec_prog *p = im ? exec_decode(im, m->funcs.v[1], &diag) : NULL;
        ok = p;
        if (ok) {
            const struct ptx_inst *in = &m->funcs.v[1]->body.v[0];
            while (ptx_is_pseudo(in))
                in++;
            *first = ptx_since(m->funcs.v[1], in).sm;
        }
        if (ok && literals)
            spell_literals(m->funcs.v[1]);
        exec_prog_free(p);
        exec_image_free(im);
        ptx_module_free(m);
    }
    diag_free(&diag);
    strbuf_free(&t);
    return ok;
}

static bool
applies(size_t k)
{
    return isa >= exceptions[k].from &&
           (!exceptions[k].until || isa < exceptions[k].until);
}

/* bad[i]: line i of the list is refused for the target, for lines from (incl.) to
 * (excl.). All in one file: ptxas names every line. One line that is wrong for sure keeps
 * it from compiling the rest. Where it crashes, the file is halved until the one line is
 * found. */
static void
theirs(const char *ptxas, const char *target, bool *bad, size_t from, size_t to)
{
    char dir[] = "/tmp/allot-forms-XXXXXX", path[64], cmd[256], line[4096] = "";
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/a.ptx", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, ".version %u.%u\n.target %s\n%s", isa / 100, isa % 100, target, before);
    size_t lines = 2; /* so far */
    for (const char *s = before; *s; s++)
        lines += *s == '\n';
    for (size_t i = from; i < to; i++)
        fprintf(f, "%s\n", all.v[i].text);
    fprintf(f, "add.nothing %%r1;\n%s", after);
    fclose(f);
    snprintf(cmd, sizeof cmd, "%s -arch=%s -o /dev/null %s 2>&1", ptxas, target, path);
    FILE *p = popen(cmd, "r");
    assert_non_null(p);
    bool last = false;
    memset(bad + from, 0, (to - from) * sizeof *bad);
    while (fgets(line, sizeof line, p)) {
        const char *at = strstr(line, ", line ");
        size_t n = at ? strtoul(at + 7, NULL, 10) : 0;
        if (n > lines && n <= lines + to - from && strstr(line, "error"))
            bad[from + n - lines - 1] = true;
        last |= n == lines + to - from + 1;
    }
    pclose(p);
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    assert_int_equal(system(cmd), 0);
    if (last)
        return;
    if (to - from < 2) {
        bad[from] = true;
        printf("ptxas for %s fails at %s\n", target, all.v[from].text);
        return;
    }
    theirs(ptxas, target, bad, from, from + (to - from) / 2);
    theirs(ptxas, target, bad, from + (to - from) / 2, to);
}

/* Literals that constant-fold may put into an instruction that ptxas takes, and that
 * ptxas refuses. */
static size_t
wrong_literals(const char *ptxas)
{
    size_t forms = all.n, wrong = 0;
    for (size_t i = 0; i < forms; i++)
        if (all.v[i].ours && all.v[i].old)
            ours(all.v[i].text, true, &all.v[i].first_ours);
    bool *bad = xcalloc(all.n, sizeof *bad);
    for (unsigned t = 0; t < N_OLD; t++) {
        theirs(ptxas, old_targets[t], bad, forms, all.n);
        for (size_t i = forms; i < all.n; i++)
            all.v[i].old |= !bad[i];
    }
    for (size_t i = forms; i < all.n; i++)
        if (!all.v[i].old) {
            printf("no literal here: %s\n", all.v[i].text);
            wrong++;
        }
    printf("%zu literals as operands: ptxas refuses %zu\n", all.n - forms, wrong);
    free(bad);
    return wrong + (all.n == forms);
}

/* Kernels of a file that are refused; -1: it cannot be read. */
static int
refused(const char *path)
{
    struct diag_sink diag = {0};
    struct strbuf said = {0}, text = {0};
    char part[4096];
    FILE *f = fopen(path, "r");
    if (!f) {
        perror(path);
        return -1;
    }
    for (size_t n; (n = fread(part, 1, sizeof part, f));)
        strbuf_add(&text, part, n);
    fclose(f);
    struct ptx_module *m = ptx_parse(path, text.s ? text.s : "", text.n, &diag);
    struct dev_mem *mem = dev_mem_new(64 << 20);
    struct exec_image *im = m ? exec_image_new(m, mem, &diag) : NULL;
    int all_kernels = 0, bad = im ? 0 : -1;
    for (size_t i = 0; im && i < m->funcs.n; i++) {
        if (!m->funcs.v[i]->is_entry || !m->funcs.v[i]->has_body)
            continue;
        struct exec_prog *p = exec_decode(im, m->funcs.v[i], &diag);
        all_kernels++;
        bad += !p;
        exec_prog_free(p);
    }
    diag_print(&diag, &said);
    printf("%s: %d kernels, %d refused\n%s", path, all_kernels, bad,
           said.s ? said.s : "");
    exec_image_free(im);
    if (m)
        ptx_module_free(m);
    dev_mem_free(mem);
    diag_free(&diag);
    strbuf_free(&said);
    strbuf_free(&text);
    return bad;
}

int
main(int argc, char **argv)
{
    bool verbose = argc == 2 && !strcmp(argv[1], "-v");
    int bad_files = 0;
    for (int i = 1; i < argc && !verbose; i++)
        bad_files += refused(argv[i]) != 0;
    if (argc > 1 && !verbose)
        return bad_files != 0;
    const char *ptxas = kit_ptxas();
    uint64_t rng = 1;
    if (!ptxas) {
        SKIP_PART("ptxas");
        return skip_status(0);
    }
    find_isa(ptxas);
    for (unsigned op = 0; op < PTX_NOPS; op++)
        if (!left_out(op) && in_sample(op, 0))
            spell_row(op, &rng);
    spell_products();
    struct strbuf b = {0};
    for (size_t i = 0; i < UTIL_COUNT(templates); i++) {
        strbuf_addz(&b, "");
        b.n = 0;
        spell_template(&b, templates[i]);
    }
    strbuf_free(&b);
    bool *bad = xcalloc(all.n, sizeof *bad);
    for (unsigned t = 0; t < N_OLD + N_NEW; t++) {
        theirs(ptxas, t < N_OLD ? old_targets[t] : new_targets[t - N_OLD], bad, 0, all.n);
        for (size_t i = 0; i < all.n; i++) {
            all.v[i].old |= !bad[i] && t < N_OLD;
            all.v[i].later |= !bad[i];
            if (!bad[i] && !all.v[i].first)
                all.v[i].first = (unsigned)atoi(
                    (t < N_OLD ? old_targets[t] : new_targets[t - N_OLD]) + 3);
        }
    }
    size_t wrong = 0, excused = 0;
    regex_t known[UTIL_COUNT(exceptions)];
    for (size_t k = 0; k < UTIL_COUNT(exceptions); k++)
        assert_int_equal(regcomp(&known[k], exceptions[k].pattern, REG_EXTENDED), 0);
    for (size_t i = 0; i < all.n; i++) {
        struct spelled *s = &all.v[i];
        s->ours = ours(s->text, false, &s->first_ours);
        /* ptxas knows no target before sm_75; of those between two that are asked, the later. */
        if (s->ours && s->first && s->first <= 90 &&
            (s->first_ours > 75 || s->first > 75) && s->first_ours != s->first) {
            printf("first target sm_%u here, sm_%u there: %s\n", s->first_ours, s->first,
                   s->text);
            wrong++;
        }
        bool missing = s->old && !s->ours, lenient = !s->later && s->ours, excuse = false;
        for (size_t k = 0; k < UTIL_COUNT(exceptions) && (missing || lenient); k++)
            if (exceptions[k].lenient == lenient && applies(k) &&
                !regexec(&known[k], s->text, 0, NULL, 0))
                excuse = exceptions[k].used = true;
        excused += excuse;
        if ((!missing && !lenient) || (excuse && !verbose))
            continue;
        wrong += !excuse;
        printf("%s%s %s\n", excuse ? "known: " : "", lenient ? "lenient" : "missing",
               s->text);
    }
    for (size_t k = 0; k < UTIL_COUNT(exceptions); k++) {
        if (!exceptions[k].used && applies(k) && !SANITIZED) {
            printf("no longer an exception: %s\n", exceptions[k].pattern);
            wrong++;
        }
        regfree(&known[k]);
    }
    printf("%zu spellings: %zu differ for a known reason, %zu otherwise\n", all.n,
           excused, wrong);
    wrong += wrong_literals(ptxas);
    for (size_t i = 0; i < all.n; i++)
        free(all.v[i].text);
    free(all.v);
    free(bad);
    return wrong != 0;
}
