/* circuit.c: unpacks and reads a circuit. The format is that of workloads/circuits/README.md. */
#include "circuit.h"

#include "reorder.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define CIRCUIT(n) extern const char allot_circuit_##n[], allot_circuit_##n##_end[];
CIRCUIT(17)
CIRCUIT(18)
CIRCUIT(19)
CIRCUIT(20)
#undef CIRCUIT

/* Text with a NUL behind it; NULL: out of memory. */
static char *
unpack(unsigned number)
{
    static const struct {
        const char *from, *to;
    } packed[] = {{allot_circuit_17, allot_circuit_17_end},
                  {allot_circuit_18, allot_circuit_18_end},
                  {allot_circuit_19, allot_circuit_19_end},
                  {allot_circuit_20, allot_circuit_20_end}};
    const char *from = packed[number - 17].from;
    const size_t bytes = (size_t)(packed[number - 17].to - from);
    const size_t n = (size_t)ZSTD_getFrameContentSize(from, bytes);
    char *text = malloc(n + 1);
    if (text && ZSTD_decompress(text, n, from, bytes) != n) {
        free(text);
        text = NULL;
    }
    if (text)
        text[n] = 0;
    return text;
}

static const char *const names[] = {"PI", "DFF", "NOT", "AND", "NAND", "OR", "NOR"};

/* The first `most` nodes and their edges (those to later nodes are left out; a gate that has
 * none left is an input). The text is this library's own. False: out of memory. */
static bool
parse(struct circuit *c, const char *text, uint32_t most)
{
    const char *p = text;
    while (*p == '#')
        p = strchr(p, '\n') + 1;
    char *end; /* "ckt NAME nodes N edges E ..." */
    c->nodes = (uint32_t)strtoul(strstr(p, " nodes ") + 7, &end, 10);
    c->edges = (uint32_t)strtoul(end + 7, &end, 10);
    c->nodes = c->nodes < most ? c->nodes : most;
    c->type = malloc(c->nodes * sizeof *c->type);
    c->first = malloc((c->nodes + 1) * sizeof *c->first);
    c->from = malloc(c->edges * sizeof *c->from);
    if (!c->type || !c->first || !c->from)
        return false;
    uint32_t edges = 0;
    for (uint32_t i = 0; i < c->nodes; i++) {
        char *at;
        p = strchr(p, '\n') + 1;
        const char *type = strchr(p, ' ') + 1;
        size_t n = strcspn(type, " \n");
        uint32_t k = 0;
        while (k < 6 && (strlen(names[k]) != n || memcmp(names[k], type, n)))
            k++;
        c->type[i] = k;
        c->first[i] = edges;
        for (at = (char *)type + n; *at == ' ';) {
            uint32_t f = (uint32_t)strtoul(at, &at, 10);
            if (f < c->nodes)
                c->from[edges++] = f;
        }
        if (edges == c->first[i])
            c->type[i] = GATE_PI;
    }
    c->edges = c->first[c->nodes] = edges;
    return true;
}

/* Nodes of a quick run: flip-flops stand before the gates, so as many gates as inputs and
 * flip-flops, and 1500 nodes at least. */
static uint32_t
quick_nodes(const char *text)
{
    char *end; /* "ckt NAME ... pi N dff N ..." */
    uint32_t sources = (uint32_t)strtoul(strstr(text, " pi ") + 4, &end, 10);
    sources += (uint32_t)strtoul(end + 5, NULL, 10);
    return 2 * sources > 1500 ? 2 * sources : 1500;
}

static bool
is_source(const struct circuit *c, uint32_t i)
{
    return c->type[i] == GATE_PI || c->type[i] == GATE_DFF;
}

/* Levels by relaxation from fan-ins; a netlist is no deeper than a few hundred gates. */
static bool
sort_levels(struct circuit *c)
{
    uint32_t *depth = calloc(c->nodes, sizeof *depth);
    bool changed = depth != NULL;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < c->nodes; i++)
            for (uint32_t e = c->first[i]; !is_source(c, i) && e < c->first[i + 1]; e++)
                if (depth[i] <= depth[c->from[e]]) {
                    depth[i] = depth[c->from[e]] + 1;
                    changed = true;
                }
    }
    for (uint32_t i = 0; depth && i < c->nodes; i++)
        c->levels = depth[i] >= c->levels ? depth[i] + 1 : c->levels;
    c->order = malloc(c->nodes * sizeof *c->order);
    c->level = calloc(c->levels + 2, sizeof *c->level);
    bool ok = depth && c->order && c->level;
    for (uint32_t i = 0; ok && i < c->nodes; i++)
        c->level[depth[i] + 2]++;
    for (uint32_t k = 2; ok && k < c->levels + 2; k++)
        c->level[k] += c->level[k - 1];
    for (uint32_t i = 0; ok && i < c->nodes; i++)
        c->order[c->level[depth[i] + 1]++] = i;
    free(depth);
    return ok;
}

/* Node i becomes node place[i]; levels are made anew. */
static bool
renumber(struct circuit *c, const uint32_t *place)
{
    struct circuit old = *c;
    *c = (struct circuit){.nodes = old.nodes, .edges = old.edges};
    uint32_t *was = malloc(c->nodes * sizeof *was);
    c->type = malloc(c->nodes * sizeof *c->type);
    c->first = malloc((c->nodes + 1) * sizeof *c->first);
    c->from = malloc(c->edges * sizeof *c->from + 1);
    bool ok = was && c->type && c->first && c->from;
    for (uint32_t i = 0; ok && i < c->nodes; i++)
        was[place[i]] = i;
    uint32_t n = 0;
    for (uint32_t i = 0; ok && i < c->nodes; i++) {
        c->type[i] = old.type[was[i]];
        c->first[i] = n;
        for (uint32_t e = old.first[was[i]]; e < old.first[was[i] + 1]; e++)
            c->from[n++] = place[old.from[e]];
    }
    if (ok)
        c->first[c->nodes] = n;
    ok = ok && sort_levels(c);
    c->was = was;
    circuit_free(&old);
    return ok;
}

/* Numbers of nodes by level, within a level by their numbers so far. */
static bool
level_by_level(const struct circuit *c, uint32_t *place)
{
    uint32_t *at = malloc((c->nodes + (size_t)1) * sizeof *at);
    if (!at)
        return false;
    for (uint32_t i = 0; i < c->nodes; i++)
        at[place[i]] = i;
    uint32_t *depth = malloc((c->nodes + (size_t)1) * sizeof *depth);
    uint32_t *next = malloc((c->levels + (size_t)1) * sizeof *next);
    bool ok = depth && next;
    for (uint32_t k = 0; ok && k < c->levels; k++) {
        next[k] = c->level[k];
        for (uint32_t x = c->level[k]; x < c->level[k + 1]; x++)
            depth[c->order[x]] = k;
    }
    for (uint32_t x = 0; ok && x < c->nodes; x++)
        place[at[x]] = next[depth[at[x]]]++;
    free(depth);
    free(next);
    free(at);
    return ok;
}

static bool
reorder(struct circuit *c, enum item_order how, uint32_t block, uint32_t window,
        bool by_level)
{
    if (how == ORDER_GIVEN)
        return true;
    uint32_t *place = malloc(c->nodes * sizeof *place);
    bool ok = place &&
              order_items(how, c->nodes, c->first, c->from, block, window, place) &&
              (!by_level || level_by_level(c, place));
    if (ok && how == ORDER_THREADS && !by_level) {
        c->thread = place;
        return true;
    }
    if (ok && how == ORDER_THREADS)
        for (uint32_t i = 0; i < c->nodes; i++)
            c->order[place[i]] = i;
    else
        ok = ok && renumber(c, place);
    free(place);
    return ok;
}

bool
circuit_of(struct allot_run *r, struct circuit *c, uint32_t block, bool by_level)
{
    enum item_order how = order_of(r);
    uint32_t window = window_of(r);
    unsigned number = (unsigned)wl_param(r, "circuit", r->quick ? 20 : 18, 17, 20);
    *c = (struct circuit){0};
    if (!r->ok)
        return false;
    char *text = unpack(number);
    bool ok = text && parse(c, text, r->quick ? quick_nodes(text) : UINT32_MAX) &&
              sort_levels(c) && reorder(c, how, block, window, by_level);
    free(text);
    if (!ok)
        circuit_free(c);
    return ok || wl_fail(r, "out of memory");
}

void
circuit_free(struct circuit *c)
{
    free(c->type);
    free(c->first);
    free(c->from);
    free(c->order);
    free(c->level);
    free(c->was);
    free(c->thread);
    *c = (struct circuit){0};
}
