/* mesh.c: jittered body-centred lattices with the counts of the meshes foil and auto, and
 * face-centred lattices with those of mol1 and mol2. Integers only, so that every machine
 * makes the same; tests/unit/workloads/mesh.c has their digests. */
#include "mesh.h"

#include "reorder.h"

#include <stdlib.h>
#include <string.h>

static uint64_t
mix(uint64_t z)
{
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static int
rising(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* From edges i << 32 | j, which it sorts. */
static bool
from_edges(struct mesh *m, uint64_t *edge)
{
    m->first = calloc(m->nodes + 1, sizeof *m->first);
    m->to = malloc(m->edges * sizeof *m->to);
    if (!m->first || !m->to)
        return false;
    qsort(edge, m->edges, sizeof *edge, rising);
    for (uint32_t e = 0; e < m->edges; e++) {
        m->first[(edge[e] >> 32) + 1]++;
        m->to[e] = (uint32_t)edge[e];
    }
    for (uint32_t i = 0; i < m->nodes; i++)
        m->first[i + 1] += m->first[i];
    return true;
}

/* -- body-centred, jittered -- */

struct shape {
    uint32_t n, nodes, edges;
    uint64_t seed;
};

static void
point(const struct shape *s, uint32_t p, int32_t at[3])
{
    uint32_t b = p % 2, q = p / 2;
    const uint32_t cell[3] = {q % s->n, q / s->n % s->n, q / (s->n * s->n)};
    for (uint32_t k = 0; k < 3; k++)
        at[k] = (int32_t)(1024 * cell[k] + 512 * b) +
                (int32_t)(mix(s->seed + 3 * (uint64_t)p + k) % 401) - 200;
}

/* Squared distance << 40 | p << 20 | r of all pairs p < r no further apart than any that
 * is wanted; how many. */
static size_t
pairs(const struct shape *s, const int32_t (*at)[3], uint64_t *out)
{
    const int64_t most =
        1300 * 1300; /* a little under 1.27 * 1024, squared, is the longest */
    const int n = (int)s->n;
    size_t found = 0;
    for (uint32_t p = 0; p < s->nodes; p++) {
        const int q = (int)(p / 2), x = q % n, y = q / n % n, z = q / (n * n);
        for (int c = 0; c < 3 * 25; c++) { /* cells behind are done from there */
            const int dz = c / 25, dy = c / 5 % 5 - 2, dx = c % 5 - 2;
            if (x + dx < 0 || x + dx >= n || y + dy < 0 || y + dy >= n)
                continue;
            const uint32_t cell = (uint32_t)((z + dz) * n * n + (y + dy) * n + x + dx);
            for (uint32_t r = 2 * cell; r < 2 * cell + 2 && r < s->nodes; r++) {
                if (r <= p)
                    continue;
                int64_t d = 0;
                for (int k = 0; k < 3; k++)
                    d += (int64_t)(at[p][k] - at[r][k]) * (at[p][k] - at[r][k]);
                if (d <= most && out)
                    out[found] = (uint64_t)d << 40 | (uint64_t)p << 20 | r;
                found += d <= most;
            }
        }
    }
    return found;
}

/* Number of each point: the "low" ones in order, the others shuffled behind them. */
static bool
number(const struct shape *s, bool local, uint32_t *id)
{
    uint32_t *rest = malloc(s->nodes * sizeof *rest), low = 0, m = 0;
    if (!rest)
        return false;
    for (uint32_t p = 0; p < s->nodes; p++) {
        uint32_t z = p / 2 / (s->n * s->n) % 7;
        if (local || z < 3 || (z == 3 && p % 2 == 0))
            id[p] = low++;
        else
            rest[m++] = p;
    }
    uint32_t *pm = malloc((m + 1) * sizeof *pm);
    if (pm) {
        uint64_t seed = s->seed ^ 0x5DEECE66Du;
        for (uint32_t i = 0; i < m; i++)
            pm[i] = i;
        for (uint32_t k = m; k-- > 1; seed += 0x9E3779B97F4A7C15u) {
            uint32_t r = (uint32_t)(mix(seed) % (k + 1)), t = pm[k];
            pm[k] = pm[r];
            pm[r] = t;
        }
        for (uint32_t i = 0; i < m; i++)
            id[rest[i]] = low + pm[i];
    }
    free(rest);
    free(pm);
    return pm != NULL;
}

static bool
jittered(struct mesh *m, const struct shape *s, bool local)
{
    int32_t(*at)[3] = malloc(s->nodes * sizeof *at);
    uint32_t *id = malloc(s->nodes * sizeof *id);
    uint64_t *edge = NULL;
    bool ok = at && id && number(s, local, id);
    m->nodes = s->nodes;
    m->edges = s->edges;
    m->at = malloc(3 * sizeof *m->at * s->nodes);
    for (uint32_t p = 0; ok && p < s->nodes; p++)
        point(s, p, at[p]);
    size_t n = ok ? pairs(s, at, NULL) : 0;
    ok = ok && m->at && n >= s->edges && (edge = malloc(n * sizeof *edge));
    if (ok) {
        pairs(s, at, edge);
        qsort(edge, n, sizeof *edge, rising);
        for (uint32_t e = 0; e < s->edges; e++) {
            uint64_t i = id[edge[e] >> 20 & 0xFFFFF], j = id[edge[e] & 0xFFFFF];
            edge[e] = i < j ? i << 32 | j : j << 32 | i;
        }
        for (uint32_t p = 0; p < s->nodes; p++)
            for (uint32_t k = 0; k < 3; k++)
                m->at[k * s->nodes + id[p]] = (float)at[p][k] / 1024;
        ok = from_edges(m, edge);
    }
    free(at);
    free(id);
    free(edge);
    return ok;
}

/* -- face-centred, periodic -- */

static bool
face_centred(struct mesh *m, int cells)
{
    static const int offset[4][3] = {{0, 0, 0}, {1, 1, 0}, {1, 0, 1}, {0, 1, 1}};
    const int n = cells, all = n * n * n;
    m->nodes = 4 * (uint32_t)all;
    m->edges = 9 * m->nodes;
    m->period = (float)n;
    m->at = malloc(3 * sizeof *m->at * m->nodes);
    uint64_t *edge = malloc(m->edges * sizeof *edge);
    uint32_t e = 0;
    for (int a = 0; m->at && edge && a < 4 * all; a++) {
        const int s = a / all, q = a % all;
        const int at[3] = {2 * (q / (n * n)) + offset[s][0],
                           2 * (q / n % n) + offset[s][1], 2 * (q % n) + offset[s][2]};
        for (int k = 0; k < 3; k++)
            m->at[k * 4 * all + a] = (float)at[k] / 2;
        for (int c = 0; c < 125; c++) {
            const int d[3] = {c / 25 - 2, c / 5 % 5 - 2, c % 5 - 2};
            const int far = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if (far != 2 && far != 4)
                continue;
            int b[3];
            for (int k = 0; k < 3; k++)
                b[k] = (at[k] + d[k] + 2 * n) % (2 * n);
            int t = 0; /* the sublattice: which coordinates are odd */
            while (t < 4 && ((b[0] ^ offset[t][0]) & 1 || (b[1] ^ offset[t][1]) & 1 ||
                             (b[2] ^ offset[t][2]) & 1))
                t++;
            const int other = t * all + (b[0] / 2 * n + b[1] / 2) * n + b[2] / 2;
            if (a < other)
                edge[e++] = (uint64_t)a << 32 | (uint32_t)other;
        }
    }
    bool ok = e == m->edges && from_edges(m, edge);
    free(edge);
    return ok;
}

bool
mesh_make(struct mesh *m, enum mesh_name name, bool local)
{
    static const struct shape shape[] = {
        [MESH_FOIL] = {42, 144649, 1074393, 1},
        [MESH_AUTO] = {61, 448695, 3314611, 2},
        [MESH_QUICK] = {8, 1000, 6200, 3},
    };
    *m = (struct mesh){0};
    bool ok = name == MESH_MOL1   ? face_centred(m, 32)
              : name == MESH_MOL2 ? face_centred(m, 48)
                                  : jittered(m, &shape[name], local);
    if (!ok)
        mesh_free(m);
    return ok;
}

void
mesh_free(struct mesh *m)
{
    free(m->first);
    free(m->to);
    free(m->at);
    free(m->thread);
    *m = (struct mesh){0};
}

/* Node i becomes node place[i] and keeps its list, in its order: 004 groups threads, and what a
 * thread does is the program's. Else blocks of low numbers would have most edges. */
static bool
renumber(struct mesh *m, const uint32_t *place)
{
    struct mesh old = *m;
    struct thread_lists l = {0};
    m->at = malloc(3 * sizeof *m->at * m->nodes);
    bool ok = m->at && lists_by_thread(&l, m->nodes, old.first, old.to, place);
    for (uint32_t i = 0; ok && i < m->nodes; i++)
        for (uint32_t k = 0; k < 3; k++)
            m->at[k * m->nodes + place[i]] = old.at[k * m->nodes + i];
    for (uint32_t e = 0; ok && e < m->edges; e++)
        l.to[e] = place[l.to[e]];
    m->first = l.first;
    m->to = l.to;
    free(l.item);
    mesh_free(&old);
    return ok;
}

bool
mesh_order(struct mesh *m, enum item_order how, uint32_t block, uint32_t window)
{
    if (how == ORDER_GIVEN)
        return true;
    uint32_t *place = malloc(m->nodes * sizeof *place);
    bool ok = place && order_items(how, m->nodes, m->first, m->to, block, window, place);
    if (ok && how == ORDER_THREADS) {
        m->thread = place;
        return true;
    }
    ok = ok && renumber(m, place);
    free(place);
    return ok;
}

bool
mesh_of(struct allot_run *r, struct mesh *m, enum mesh_name otherwise, uint32_t block)
{
    enum item_order how = order_of(r);
    enum mesh_name name =
        (enum mesh_name)wl_param(r, "mesh", otherwise, MESH_FOIL, MESH_MOL2);
    bool local = wl_param(r, "local", 0, 0, 1);
    uint32_t window = window_of(r);
    *m = (struct mesh){0};
    if (r->ok && mesh_make(m, r->quick ? MESH_QUICK : name, local) &&
        mesh_order(m, how, block, window))
        return true;
    mesh_free(m);
    return r->ok && wl_fail(r, "out of memory");
}
