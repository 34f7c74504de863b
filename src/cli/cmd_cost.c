/* cmd_cost.c: allot cost: the storage that policies add to an SM (001 sections 2.4,
 * 4.2.4). */
#include "cli/cli.h"

static void
line(const char *what, uint32_t bits, uint32_t sms)
{
    printf("%-22s %8u %10llu\n", what, bits, (unsigned long long)bits * sms);
}

int
cmd_cost(int argc, char **argv)
{
    const char *machine = "gtx480";
    bool json = false;
    const struct cli_opt options[] = {
        {"machine", 'm', "NAME|FILE", "machine description (default gtx480)", &machine,
         NULL, NULL},
        {"json", 0, NULL, "one JSON object", NULL, NULL, &json},
        {0}};
    const struct cli_cmd cmd = {
        "cost", "[OPTIONS]",
        "Bits of storage that an SM and the GPU need so that pairs of blocks can share\n"
        "registers, scratchpad, or both: sharing on or off, partner of each block, owner\n"
        "(and for registers: sharing) of each warp, a lock for each pair. T blocks and W\n"
        "warps an SM: registers 1 + T*ceil(log2(T+1)) + 2*W + floor(W/2)*ceil(log2 W),\n"
        "scratchpad 1 + T*ceil(log2(T+1)) + W + floor(T/2)*ceil(log2 T).\n"
        "And for regpower.policy greener its look-up table of decoded instructions:\n"
        "W * regpower.table_entries * (32 + 8*ceil(log2 sm.max_registers)).\n"
        "Multiplexing of scratchpad in U units of sm.scratchpad_unit (003 section 5):\n"
        "1 + 2*T*(1 + ceil(log2 T) + 2*ceil(log2(U+1))) + (1+T)*ceil(log2(T+1)): the table\n"
        "of who holds which part, the number of blocks, and the queue of those that wait.",
        "  allot cost --machine 001-table2.3-registers\n"};
    struct cli_list pos;
    if (!cli_parse(&cmd, (const struct cli_opt *const[]){options, NULL}, argc, argv,
                   &pos))
        return EXIT_USAGE;
    if (pos.n)
        return cli_usage(&cmd, "it takes no files");
    struct allot_diag *d = cli_diag_new();
    struct allot_machine *m = cli_machine(machine, d);
    if (m) {
        struct allot_sharing_cost c;
        allot_sharing_cost(m, &c);
        if (json) {
            json_t *j =
                json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i}", "machine",
                          allot_machine_name(m), "sms", c.sms, "registers", c.registers,
                          "scratchpad", c.scratchpad, "both", c.both, "power_table",
                          c.power_table, "multiplexing", c.multiplexing);
            json_dumpf(j, stdout, JSON_INDENT(2));
            printf("\n");
            json_decref(j);
        } else {
            printf("%-22s %8s %10s\n", "sharing of", "bits/SM", "bits/GPU");
            line("registers", c.registers, c.sms);
            line("scratchpad", c.scratchpad, c.sms);
            line("both", c.both, c.sms);
            printf("%-22s %8s %10s\n", "multiplexing of", "", "");
            line("scratchpad", c.multiplexing, c.sms);
            printf("%-22s %8s %10s\n", "look-up table of", "", "");
            line("greener", c.power_table, c.sms);
        }
    }
    bool ok = m != NULL;
    cli_diag(d);
    allot_machine_free(m);
    allot_diag_free(d);
    return ok ? EXIT_OK : EXIT_FAILED;
}
