/* machine_check.c: what must hold between settings. Bounds of single settings are in
 * settings.def; here stand the powers of two that index functions rely on, sizes that
 * must divide one another, and the address map. */
#include "machine/occupancy.h"
#include "machine/setting.h"

#include <stdarg.h>
#include <string.h>

struct check {
    const struct machine *m;
    struct diag_sink *diag;
    bool ok;
};

static void __attribute__((format(printf, 3, 4)))
need(struct check *c, bool holds, const char *fmt, ...)
{
    if (holds)
        return;
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    diag_add(c->diag, DIAG_ERROR,
             c->m->file ? &(struct diag_loc){.file = c->m->file} : NULL, "%s", text);
    c->ok = false;
}

static bool
power2(uint32_t v)
{
    return v && !(v & (v - 1));
}

static unsigned
log2_of(uint32_t v)
{
    return 31u - (unsigned)__builtin_clz(v);
}

/* The groups made by CACHE() have the same fields but different types. */
#define CHECK_CACHE(c, g)                                                                \
    do {                                                                                 \
        need(c, power2((c)->m->g.line), #g ".line = %u must be a power of two",          \
             (c)->m->g.line);                                                            \
        need(c,                                                                          \
             !(c)->m->g.sector || (power2((c)->m->g.sector) && (c)->m->g.sector >= 32 && \
                                   (c)->m->g.sector <= (c)->m->g.line),                  \
             #g ".sector = %u must be 0 or a power of two from 32 to " #g ".line = %u",  \
             (c)->m->g.sector, (c)->m->g.line);                                          \
        need(c, (c)->m->g.hash == CACHE_LINEAR || power2((c)->m->g.sets),                \
             #g ".sets = %u must be a power of two for " #g ".hash = %s",                \
             (c)->m->g.sets, machine_words_cache_hash[(c)->m->g.hash]);                  \
        need(c,                                                                          \
             (c)->m->g.hash != CACHE_FERMI || (c)->m->g.sets == 32 ||                    \
                 (c)->m->g.sets == 64,                                                   \
             #g ".sets = %u: the fermi hash is defined for 32 and 64 sets",              \
             (c)->m->g.sets);                                                            \
    } while (0)

static void
check_scratchpad_sizes(struct check *c)
{
    const struct machine *m = c->m;
    const char *p = m->sm.scratchpad_sizes;
    uint64_t last = 0, size;
    for (bool first = true; occ_next_size(&p, &size); first = false) {
        need(c, first || size > last, "sm.scratchpad_sizes = '%s' must rise",
             m->sm.scratchpad_sizes);
        last = size;
    }
    need(c, !*p,
         "sm.scratchpad_sizes = '%s' must be whole numbers of KiB, blank-separated",
         m->sm.scratchpad_sizes);
    need(c, !m->sm.scratchpad_sizes[0] || last == m->sm.scratchpad,
         "sm.scratchpad_sizes = '%s': the last must be sm.scratchpad = %u bytes",
         m->sm.scratchpad_sizes, m->sm.scratchpad);
}

static void
check_gpcs(struct check *c)
{
    const struct machine *m = c->m;
    const char *p = m->sm.gpcs;
    uint32_t sms;
    bool some = true;
    while (occ_next_gpc(&p, &sms))
        some &= sms > 0;
    need(c, !*p && some, "sm.gpcs = '%s' must be numbers of SMs, blank-separated",
         m->sm.gpcs);
}

static void
check_sm(struct check *c)
{
    const struct machine *m = c->m;
    need(c, m->sm.count % m->sm.per_cluster == 0,
         "sm.count = %u must be a multiple of sm.per_cluster = %u", m->sm.count,
         m->sm.per_cluster);
    need(c, m->sm.max_threads % 32 == 0, "sm.max_threads = %u must be a multiple of 32",
         m->sm.max_threads);
    need(c, m->sm.max_block_threads <= m->sm.max_threads,
         "sm.max_block_threads = %u is more than sm.max_threads = %u",
         m->sm.max_block_threads, m->sm.max_threads);
    check_scratchpad_sizes(c);
    check_gpcs(c);
    uint64_t l1 = (uint64_t)m->l1d.sets * m->l1d.line * m->l1d.ways;
    need(c,
         !m->sm.scratchpad_from_l1 ||
             m->sm.scratchpad + (uint64_t)m->l1d.sets * m->l1d.line <= l1,
         "sm.scratchpad_from_l1: sm.scratchpad = %u leaves no way of the %llu bytes that "
         "l1d's sets, lines and ways make",
         m->sm.scratchpad, (unsigned long long)l1);
    need(c, m->sm.count % m->partition.halves == 0,
         "sm.count = %u must be a multiple of partition.halves = %u", m->sm.count,
         m->partition.halves);
    need(c, m->dram.channels % m->partition.halves == 0,
         "dram.channels = %u must be a multiple of partition.halves = %u",
         m->dram.channels, m->partition.halves);
    need(c, !m->partition.near_copies || m->partition.halves == 2,
         "partition.near_copies needs partition.halves = 2, not %u", m->partition.halves);
    need(c, m->sm.max_block_registers <= m->sm.registers,
         "sm.max_block_registers = %u is more than sm.registers = %u",
         m->sm.max_block_registers, m->sm.registers);
    need(c, m->sm.registers % m->sm.register_partitions == 0,
         "sm.registers = %u must be a multiple of sm.register_partitions = %u",
         m->sm.registers, m->sm.register_partitions);
    uint32_t warps = m->sm.max_threads / 32;
    need(c, (warps + m->sm.schedulers - 1) / m->sm.schedulers <= 64,
         "sm.max_threads = %u gives each of %u schedulers more than 64 warps",
         m->sm.max_threads, m->sm.schedulers);
    need(c, m->residency.threshold > 0, "residency.threshold must be above 0");
    need(c, power2(m->scratchpad.banks), "scratchpad.banks = %u must be a power of two",
         m->scratchpad.banks);
    need(c, power2(m->scratchpad.bank_bytes),
         "scratchpad.bank_bytes = %u must be a power of two", m->scratchpad.bank_bytes);
}

/* Every kind of pipeline needs a way through issue slots and collectors. */
static void
check_pipelines(struct check *c)
{
    const struct machine *m = c->m;
    const struct {
        const char *kind;
        uint32_t pipes, slots, collectors, ports;
    } kinds[] = {
        {"sp", m->unit.sp, m->unit.slots_sp, m->collector.units_sp,
         m->collector.ports_sp},
        {"sfu", m->unit.sfu, m->unit.slots_sfu, m->collector.units_sfu,
         m->collector.ports_sfu},
        {"dp", m->unit.dp, m->unit.slots_dp, m->collector.units_dp,
         m->collector.ports_dp},
        {"tensor", m->unit.tensor, m->unit.slots_tensor, m->collector.units_tensor,
         m->collector.ports_tensor},
        {"integer", m->unit.integer, m->unit.slots_integer, m->collector.units_integer,
         m->collector.ports_integer},
        {"mem", m->unit.mem, m->unit.slots_mem, m->collector.units_mem,
         m->collector.ports_mem},
    };
    bool general = m->collector.units_general && m->collector.ports_general;
    need(c, !m->collector.units_general == !m->collector.ports_general,
         "collector.units_general = %u needs collector.ports_general, now %u (and the "
         "reverse)",
         m->collector.units_general, m->collector.ports_general);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!kinds[i].pipes)
            continue;
        need(c, kinds[i].slots, "unit.%s = %u needs unit.slots_%s of at least 1",
             kinds[i].kind, kinds[i].pipes, kinds[i].kind);
        need(c, general || (kinds[i].collectors && kinds[i].ports),
             "unit.%s = %u needs collector.units_%s and collector.ports_%s, or general "
             "collectors",
             kinds[i].kind, kinds[i].pipes, kinds[i].kind, kinds[i].kind);
    }
}

static void
check_address_map(struct check *c)
{
    const struct machine *m = c->m;
    unsigned row = 0, bank = 0, column = 0, burst = 0;
    for (const char *p = m->dram.address_map; *p; p++)
        switch (*p) {
        case 'R':
            row++;
            break;
        case 'B':
            bank++;
            break;
        case 'C':
            column++;
            break;
        case 'S':
            burst++;
            break;
        default:
            need(c, strchr(" .;_", *p) != NULL,
                 "dram.address_map has a '%c'; its letters are R row, B bank, C column "
                 "and S "
                 "within a burst",
                 *p);
        }
    const char *last_other = NULL, *first_s = strchr(m->dram.address_map, 'S');
    for (const char *p = m->dram.address_map; *p; p++)
        if (*p == 'R' || *p == 'B' || *p == 'C')
            last_other = p;
    need(c, !first_s || !last_other || last_other < first_s,
         "dram.address_map: the S bits come last (lowest)");
    bool sizes = power2(m->dram.banks) && power2(m->dram.burst) && power2(m->dram.row);
    need(c, power2(m->dram.banks), "dram.banks = %u must be a power of two",
         m->dram.banks);
    need(c, power2(m->dram.burst), "dram.burst = %u must be a power of two",
         m->dram.burst);
    need(c, power2(m->dram.row), "dram.row = %u must be a power of two", m->dram.row);
    if (!sizes)
        return;
    need(c, row > 0 && row <= 32,
         "dram.address_map has %u row bits (R); 1 to 32 make sense", row);
    need(c, bank == log2_of(m->dram.banks),
         "dram.address_map has %u bank bits (B), but dram.banks = %u needs %u", bank,
         m->dram.banks, log2_of(m->dram.banks));
    need(c, burst == log2_of(m->dram.burst),
         "dram.address_map has %u burst bits (S), but dram.burst = %u needs %u", burst,
         m->dram.burst, log2_of(m->dram.burst));
    need(c, column + burst == log2_of(m->dram.row),
         "dram.address_map has %u column and burst bits (C, S), but dram.row = %u needs "
         "%u",
         column + burst, m->dram.row, log2_of(m->dram.row));
}

static void
check_memory(struct check *c)
{
    const struct machine *m = c->m;
    CHECK_CACHE(c, l1d);
    CHECK_CACHE(c, l1i);
    CHECK_CACHE(c, l1c);
    need(c, power2(m->l1t.line), "l1t.line = %u must be a power of two", m->l1t.line);
    CHECK_CACHE(c, l2);
    need(c, power2(m->memory.segment), "memory.segment = %u must be a power of two",
         m->memory.segment);
    need(c, power2(m->memory.atomic_segment),
         "memory.atomic_segment = %u must be a power of two", m->memory.atomic_segment);
    need(c, m->l2.line == m->l1d.line,
         "l2.line = %u and l1d.line = %u must be equal: a miss of the one is an access "
         "of the "
         "other",
         m->l2.line, m->l1d.line);
    need(c, power2(m->partition.interleave) && m->partition.interleave >= m->l2.line,
         "partition.interleave = %u must be a power of two, at least l2.line = %u",
         m->partition.interleave, m->l2.line);
    uint32_t packet = m->icnt.header + m->l2.line;
    need(c, (uint64_t)m->icnt.input_buffer * m->icnt.flit >= packet,
         "icnt.input_buffer = %u flits of %u bytes cannot hold a packet of %u bytes",
         m->icnt.input_buffer, m->icnt.flit, packet);
    need(c, (uint64_t)m->icnt.output_buffer * m->icnt.flit >= packet,
         "icnt.output_buffer = %u flits of %u bytes cannot hold a packet of %u bytes",
         m->icnt.output_buffer, m->icnt.flit, packet);
}

static void
check_dram(struct check *c)
{
    const struct machine *m = c->m;
    check_address_map(c);
    need(c, m->dram.burst % m->dram.bus == 0,
         "dram.burst = %u must be a multiple of dram.bus = %u", m->dram.burst,
         m->dram.bus);
    need(c, m->dram.groups <= m->dram.banks && m->dram.banks % m->dram.groups == 0,
         "dram.banks = %u must be a multiple of dram.groups = %u", m->dram.banks,
         m->dram.groups);
    need(c, m->dram.tRC >= m->dram.tRAS, "dram.tRC = %u is less than dram.tRAS = %u",
         m->dram.tRC, m->dram.tRAS);
    need(c, m->dram.tRAS >= m->dram.tRCD, "dram.tRAS = %u is less than dram.tRCD = %u",
         m->dram.tRAS, m->dram.tRCD);
    need(c, !m->dram.tREFI || m->dram.tREFI > m->dram.tRFC,
         "dram.tREFI = %u must be more than dram.tRFC = %u (or 0: no refresh)",
         m->dram.tREFI, m->dram.tRFC);
    need(c, !m->dram.tREFI || m->dram.tRFC, "dram.tREFI = %u needs dram.tRFC",
         m->dram.tREFI);
}

/* Every cache has the same rows; where the model has no such mechanism for one of them, a
 * value that asks for it is refused rather than passed over. */
static void
check_not_modelled(struct check *c)
{
    const struct machine *m = c->m;
    const struct {
        const char *path;
        uint32_t value, only;
    } rows[] = {{"l1i.latency", m->l1i.latency, 1}, {"l1i.port", m->l1i.port, 0},
                {"l1i.banks", m->l1i.banks, 1},     {"l1c.latency", m->l1c.latency, 1},
                {"l1c.port", m->l1c.port, 0},       {"l1c.banks", m->l1c.banks, 1},
                {"l2.banks", m->l2.banks, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        need(c, rows[i].value == rows[i].only,
             "%s = %u is not modelled: hits of this cache answer at once, one a cycle; "
             "leave it at %u",
             rows[i].path, rows[i].value, rows[i].only);
}

bool
machine_check(const struct machine *m, struct diag_sink *diag)
{
    struct check c = {m, diag, true};
    check_sm(&c);
    check_pipelines(&c);
    check_memory(&c);
    check_dram(&c);
    check_not_modelled(&c);
    return c.ok;
}
