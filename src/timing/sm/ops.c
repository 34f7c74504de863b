/* ops.c: kinds of operations, for the counters ops_* that the energy model reads. */
#include "timing/sm/sm.h"

#include <string.h>

uint16_t
ops_counter(const struct exec_static *st)
{
    static const uint16_t by_class[PTX_NLATENCIES] = {
#define OPS(latency, counter) [PTX_LAT_##latency] = offsetof(struct stat_sm, counter),
#include "timing/sm/ops.def"
#undef OPS
    };
    enum {
#define OPS(latency, counter) AT_##latency,
#include "timing/sm/ops.def"
#undef OPS
        ROWS
    };
    _Static_assert((int)ROWS == (int)PTX_NLATENCIES,
                   "ops.def has a row for each latency class");
    static const struct {
        const char *mnemonic;
        uint16_t counter;
    } sfu[] = {
#define OPS(latency, counter)
#define OPS_SFU(mnemonic, counter) {mnemonic, offsetof(struct stat_sm, counter)},
#include "timing/sm/ops.def"
#undef OPS
    };
    if (st->unit == PTX_UNIT_MEM || st->unit == PTX_UNIT_BARRIER)
        return offsetof(struct stat_sm, ops_memory);
    for (size_t i = 0; st->latency == PTX_LAT_SFU && i < sizeof sfu / sizeof *sfu; i++)
        if (!strcmp(ptx_ops[st->op].mnemonic, sfu[i].mnemonic))
            return sfu[i].counter;
    return by_class[st->latency];
}
