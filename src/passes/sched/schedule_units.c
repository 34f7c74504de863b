/* schedule_units.c: what passes schedule and post-schedule take instructions to cost.
 *
 * Units, and how long an instruction keeps them, are those by which ptxas sets the stall
 * counts of its code (CUDA 13.0, sm_75, 80, 86, 90; nvdisasm -hex, the least between two
 * instructions): an access to memory or a special register every 4 cycles, one to the
 * constant bank by a register every 8; FFMA and IMAD every 2, IADD3 and LOP3 every 2, one of
 * these beside one of those; MUFU every 8. It takes a load from global memory to last 300
 * cycles (a load that is needed after a chain of sums stands 299 to 303 cycles before its
 * use, however long the chain), one from scratchpad 37 (sums of loads: the first stands 37
 * cycles after its load; sm_75: 41), one from the constant bank 48 (50). An access to memory
 * issues 5 cycles after the ALU instruction whose result it reads (8), and on sm_75 nothing
 * issues for 5 cycles after a barrier. A predicate takes 13 cycles to what it guards (12), 4
 * to what reads it as an operand; a result takes 5 from one of the two ALU units to the other.
 * docs/registers.md has the kernels. An IEEE quotient reads its divisor (MUFU.RCP) 14 cycles
 * before its dividend (FCHK; sm_80). */
#include "passes/sched/schedule_int.h"

#include "analysis/operands.h"

#include "passes/pass.h"

#include "ptx/expansion.h"

#include <stdlib.h>
#include <string.h>

enum { DIVISOR_EARLY = 14 };

const char schedule_latencies_default[] =
    "global=500+local=500+shared=25+const=25+sfu=20+tensor=30";
const char schedule_taken_default[] =
    "global=300+local=300+shared=37+const=48+access=5+guard=13+cross=5";
/* ptxas 13 knows nothing older than 7.5; 7.0 has the same machine instructions */
static const char taken_before_80[] =
    "global=300+local=300+shared=41+const=50+access=8+barrier=5+guard=12+cross=5";

const char *
schedule_taken(unsigned compute_capability)
{
    return compute_capability < 80 ? taken_before_80 : schedule_taken_default;
}

static const char *const memory_names[SCHED_NLATS - PTX_NLATENCIES] = {
    "global", "shared", "local", "const", "barrier", "access", "guard", "cross"};

/* -- settings -- */

static int
class_of(const char *name)
{
    for (int i = 0; i < SCHED_NLATS; i++)
        if (!strcmp(name, i < PTX_NLATENCIES ? ptx_latency_names[i]
                                             : memory_names[i - PTX_NLATENCIES]))
            return i;
    return -1;
}

static bool
read_cycles(const struct pass_args *a, const char *key, int32_t *cycles,
            struct diag_sink *diag)
{
    char *text = xstrdup(pass_arg(a, key)), *save = NULL;
    bool ok = true;
    for (char *p = strtok_r(text, "+", &save); p && ok; p = strtok_r(NULL, "+", &save)) {
        char *eq = strchr(p, '='), *end = NULL;
        long n = eq ? strtol(eq + 1, &end, 10) : 0;
        if (eq)
            *eq = 0;
        int at = eq ? class_of(p) : -1;
        if (at < 0 || *end || end == eq + 1 || n < 0 || n > 100000)
            ok =
                diag_error(diag,
                           "%s: %s has '%s%s%s'; it takes CLASS=CYCLES, "
                           "joined by +, of the classes of a machine's latency group and "
                           "global, shared, local, const, barrier, access, guard, cross",
                           a->pass->name, key, p, eq ? "=" : "", eq ? eq + 1 : "");
        else
            cycles[at] = (int32_t)n;
    }
    free(text);
    return ok;
}

bool
schedule_read_latencies(struct sched *s, const struct pass_args *a,
                        struct diag_sink *diag)
{
    for (int i = 0; i < SCHED_NLATS; i++) {
        s->latency[i] = 4;
        s->taken[i] = 0;
    }
    return read_cycles(a, "latencies", s->latency, diag) &&
           read_cycles(a, "taken", s->taken, diag);
}

/* -- instructions -- */

/* A parameter in a register is a MOV from the constant bank. */
static int
latency_class(const struct ptx_func *f, const struct ptx_inst *in)
{
    if (operands_constant(f, in))
        return PTX_LAT_OTHER;
    if (!(ptx_ops[in->op].flags & (PTX_LOAD | PTX_ATOMIC)))
        return ptx_ops[in->op].latency;
    switch (ptx_inst_space(in)) {
    case PTX_SPACE_SHARED:
        return SCHED_LAT_SHARED;
    case PTX_SPACE_LOCAL:
        return SCHED_LAT_LOCAL;
    case PTX_SPACE_CONST:
    case PTX_SPACE_PARAM:
        return SCHED_LAT_CONST;
    default:
        return SCHED_LAT_GLOBAL;
    }
}

static enum sched_unit
unit_of(const struct ptx_func *f, const struct ptx_inst *in)
{
    const struct ptx_op_info *op = &ptx_ops[in->op];
    if (operands_constant(f, in))
        return SCHED_UNIT_ALU;
    if (op->flags & (PTX_LOAD | PTX_STORE | PTX_ATOMIC) || op->unit == PTX_UNIT_BARRIER ||
        (in->op == PTX_OP_MOV && in->nops == 2 && in->ops[1].kind == PTX_OPD_SREG))
        return SCHED_UNIT_MEMORY;
    switch (op->latency) {
    case PTX_LAT_INT_MUL:
    case PTX_LAT_INT_MAD:
    case PTX_LAT_INT_SAD:
    case PTX_LAT_INT_MUL24:
    case PTX_LAT_INT_MAD24:
    case PTX_LAT_INT_REM:
    case PTX_LAT_INT_DIV:
    case PTX_LAT_F32_ADD:
    case PTX_LAT_F32_MUL:
    case PTX_LAT_F32_FMA:
    case PTX_LAT_F32_DIV:
    case PTX_LAT_HALF:
    case PTX_LAT_F16X2:
    case PTX_LAT_BF16X2:
        return SCHED_UNIT_FMA;
    case PTX_LAT_F64_ADD:
    case PTX_LAT_F64_OTHER:
    case PTX_LAT_F64_MAX:
    case PTX_LAT_F64_MUL:
    case PTX_LAT_F64_FMA:
    case PTX_LAT_F64_DIV:
        return SCHED_UNIT_F64;
    case PTX_LAT_SFU:
        return SCHED_UNIT_SFU;
    case PTX_LAT_TENSOR:
        return SCHED_UNIT_TENSOR;
    case PTX_LAT_SHFL:
        return SCHED_UNIT_MEMORY;
    default:
        return SCHED_UNIT_ALU;
    }
}

int32_t
schedule_divisor_early(const struct sched *s, const struct ptx_inst *in)
{
    return s->expanded && in->op == PTX_OP_DIVF && ptx_machine_branches(in)
               ? DIVISOR_EARLY
               : 0;
}

void
schedule_cost(const struct sched *s, struct sched_node *n)
{
    static const uint8_t every[SCHED_UNITS] = {0, 4, 2, 2, 8, 4, 8};
    const struct ptx_inst *in = &s->f->body.v[n->inst];
    const int class = latency_class(s->f, in);
    n->slots = n->operand ? 0 : s->slots ? s->slots[n->inst] : 1;
    n->unit = n->slots ? (uint8_t)unit_of(s->f, in) : SCHED_UNIT_NONE;
    if (ptx_ops[in->op].unit == PTX_UNIT_BARRIER && s->taken[SCHED_LAT_BARRIER])
        n->slots = (uint8_t)s->taken[SCHED_LAT_BARRIER];
    n->latency = n->operand ? 0 : s->latency[class];
    const int32_t early = schedule_divisor_early(s, in);
    if (n->latency > early)
        n->latency -= early;
    n->taken = !n->slots ? 0 : s->taken[class] ? s->taken[class] : n->latency;
    n->until = n->taken;
    n->busy = every[n->unit];
    if (class == SCHED_LAT_CONST)
        n->busy = 8;
    else if (n->unit == SCHED_UNIT_FMA || n->unit == SCHED_UNIT_ALU ||
             n->unit == SCHED_UNIT_F64)
        n->busy = (uint16_t)(n->busy * n->slots);
}

bool
schedule_is_scratch(const struct sched *s, const struct sched_node *n)
{
    const struct ptx_inst *in = &s->f->body.v[n->inst];
    return ptx_ops[in->op].flags & (PTX_LOAD | PTX_STORE | PTX_ATOMIC) &&
           ptx_inst_space(in) == PTX_SPACE_SHARED;
}

bool
schedule_is_alu(const struct sched_node *n)
{
    return n->unit == SCHED_UNIT_FMA || n->unit == SCHED_UNIT_ALU;
}
