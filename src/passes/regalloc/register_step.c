/* register_step.c: how many registers a thread may have before an SM holds fewer warps. */
#include "passes/regalloc/register_step.h"

#include "passes/pass.h"

uint32_t
register_given(uint32_t registers, uint32_t reserved)
{
    return (registers + reserved + 7) / 8 * 8 - reserved;
}

/* Warps of an SM that fit with that many registers a thread. */
static uint32_t
warps_with(uint32_t registers, const struct register_room *room, uint32_t block)
{
    uint32_t rounded = register_given(registers, room->reserved) + room->reserved;
    uint32_t warps = rounded ? room->sm_registers / (32 * rounded) : room->sm_warps;
    warps = warps < room->sm_warps ? warps : room->sm_warps;
    return warps / block * block;
}

uint32_t
register_step(const struct ptx_func *f, uint32_t registers,
              const struct register_room *room)
{
    uint32_t threads = 1;
    for (unsigned d = 0; d < 3; d++) {
        uint32_t given = f->reqntid[d] ? f->reqntid[d] : f->maxntid[d];
        threads *= given ? given : 1;
    }
    uint32_t block = (threads + 31) / 32, step = registers ? registers : 1;
    uint32_t warps = warps_with(step, room, block);
    while (step < room->most && warps_with(step + 1, room, block) == warps)
        step++;
    return step;
}

uint32_t
register_room_for_values(uint32_t registers)
{
    const uint32_t left = registers / 16 + 1;
    return registers > left ? registers - left : 1;
}

bool
register_room_read(const struct pass_args *a, struct register_room *room,
                   struct diag_sink *diag)
{
    double registers, warps, most, reserved;
    if (!pass_arg_number(a, "sm-registers", 1, 1 << 24, &registers, diag) ||
        !pass_arg_number(a, "sm-warps", 1, 1024, &warps, diag) ||
        !pass_arg_number(a, "max-registers", 1, 65535, &most, diag) ||
        !pass_arg_number(a, "reserved", 0, 16, &reserved, diag))
        return false;
    *room = (struct register_room){(uint32_t)registers, (uint32_t)warps, (uint32_t)most,
                                   (uint32_t)reserved};
    return true;
}
