/* core_props.c: the machine file as CUDA tells it: device properties and attributes. */
#include "cuda/core/core_int.h"

#include <stdio.h>

/* Without cudaFuncSetAttribute a block may have this much scratchpad (CUDA C++
 * Programming Guide, "Shared memory" of compute capability 7.x: more is opt-in). */
enum { SMEM_DEFAULT = 48 * 1024 };

static int
whole(const char *path)
{
    double v = acu_setting(path);
    return v > INT32_MAX ? INT32_MAX : (int)v;
}

static void
read_machine(struct acu_props *p)
{
    memset(p, 0, sizeof *p);
    char hash[17];
    if (!allot_machine_get(acu.machine, "gpu.name", p->name, sizeof p->name) || !*p->name)
        snprintf(p->name, sizeof p->name, "%s", allot_machine_name(acu.machine));
    allot_machine_hash(acu.machine, hash);
    memcpy(p->uuid, hash, sizeof p->uuid);
    int cc = whole("gpu.compute_capability");
    p->memory = (uint64_t)(acu_setting("gpu.memory") * 1073741824.0);
    p->major = cc / 10;
    p->minor = cc % 10;
    p->warp = 32;
    p->sms = whole("sm.count");
    p->max_threads_block = whole("sm.max_block_threads");
    p->max_threads_sm = whole("sm.max_threads");
    p->max_blocks_sm = whole("sm.max_blocks");
    p->max_block[0] = p->max_block[1] = p->max_threads_block;
    p->max_block[2] = 64;
    p->max_grid[0] = cc >= 30 ? INT32_MAX : 65535;
    p->max_grid[1] = p->max_grid[2] = 65535;
    p->regs_sm = whole("sm.registers");
    p->regs_block = whole("sm.max_block_registers");
    if (!p->regs_block)
        p->regs_block = p->regs_sm;
    p->smem_sm = whole("sm.scratchpad");
    p->smem_block_optin = whole("sm.max_block_scratchpad");
    p->smem_block =
        p->smem_block_optin < SMEM_DEFAULT ? p->smem_block_optin : SMEM_DEFAULT;
    p->smem_reserved = whole("sm.scratchpad_reserved");
    p->const_bytes = 65536;
    p->l2_bytes =
        (int)(acu_setting("l2.sets") * acu_setting("l2.ways") * acu_setting("l2.line") *
              acu_setting("partition.slices") * acu_setting("dram.channels"));
    char l1[8] = "";
    allot_machine_get(acu.machine, "memory.global_in_l1", l1, sizeof l1);
    p->global_l1 = !strcmp(l1, "true");
    p->core_khz = (int)(acu_setting("clock.core") * 1000);
    /* CUDA gives the clock at which two data move; here are `transfers` a command clock.
     */
    p->memory_khz =
        (int)(acu_setting("clock.dram") * acu_setting("dram.transfers") / 2 * 1000);
    p->bus_bits = (int)(acu_setting("dram.channels") * acu_setting("dram.bus") * 8);
    int dp = whole("unit.dp"), sp = whole("unit.sp");
    p->single_to_double = dp ? (sp + dp - 1) / dp : 2;
}

/* Launches ask too: what the machine's texts say is read once. */
void
acu_props(struct acu_props *p)
{
    if (acu_device_count() && !acu.props.warp)
        read_machine(&acu.props);
    *p = acu.props;
}

int
acu_device_attribute(int attr, int *value)
{
    struct acu_props props;
    const struct acu_props *p = &props;
    acu_props(&props);
    switch (attr) {
#define ATTR(number, name, v)                                                            \
    case number:                                                                         \
        *value = (v);                                                                    \
        return 0;
#include "cuda/attributes.def"
#undef ATTR
    }
    return ACU_INVALID_VALUE;
}
