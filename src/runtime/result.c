/* result.c: see result.h. */
#include "runtime/result.h"

#include "runtime/runtime.h"

enum { MAX_SAMPLES = 65536 /* of a launch, those of SMs counted too */ };

void
result_sample(struct allot_result *r, const struct timing_gpu *gpu, unsigned nsm,
              uint64_t cycle, const struct launch_stats *so_far)
{
    if (r->samples.n >= MAX_SAMPLES / (gpu ? 1 + nsm : 1))
        return;
    struct sample *s = vec_push(&r->samples);
    *s = (struct sample){.cycle = cycle, .stats = *so_far};
    if (!gpu)
        return;
    r->sampled_sms = nsm;
    s->sm = xcalloc(nsm, sizeof *s->sm);
    for (unsigned i = 0; i < nsm; i++)
        s->sm[i] = *timing_sm_stats(gpu, i);
}

void
result_free(struct allot_result *r)
{
    for (size_t i = 0; i < r->samples.n; i++)
        free(r->samples.v[i].sm);
    vec_free(&r->samples);
    free(r->kernel);
    free(r->parent);
    free(r->sm);
    result_free_lines(&r->lines);
    workset_free(r->workset);
    free(r->arrays);
    free(r);
}

size_t
allot_results(const struct allot_device *dev)
{
    return dev->results.n;
}

const struct allot_result *
allot_result_at(const struct allot_device *dev, size_t i)
{
    return i < dev->results.n ? dev->results.v[i] : NULL;
}

const char *
allot_result_kernel(const struct allot_result *r)
{
    return r->kernel;
}

void
allot_result_shape(const struct allot_result *r, uint32_t grid[3], uint32_t block[3],
                   uint32_t *dynamic_scratchpad)
{
    memcpy(grid, r->grid, sizeof r->grid);
    memcpy(block, r->block, sizeof r->block);
    *dynamic_scratchpad = r->dynamic;
}

const char *
allot_result_parent(const struct allot_result *r)
{
    return r->parent;
}

double
allot_result_seconds(const struct allot_result *r)
{
    return r->seconds;
}

struct allot_occupancy_query
allot_result_demand(const struct allot_result *r)
{
    return (struct allot_occupancy_query){.threads = r->demand.threads,
                                          .registers = r->demand.registers,
                                          .scratchpad = r->demand.scratchpad,
                                          .threshold = 1};
}

bool
allot_result_get(const struct allot_result *r, const char *id, uint64_t *count,
                 double *value)
{
    return stats_get(&r->stats, id, count, value);
}

uint64_t
rt_count(const struct allot_result *r, const char *id)
{
    uint64_t n = 0;
    allot_result_get(r, id, &n, NULL);
    return n;
}

/* Counters so far, of all or of one SM. */
static struct launch_stats
so_far(const struct sample *s, int sm)
{
    if (sm < 0)
        return s->stats;
    struct launch_stats one = {.gpu.cycles = s->cycle};
    stats_add_sm(&one, &s->sm[sm]);
    return one;
}

bool
allot_result_piece(const struct allot_result *r, size_t i, int sm,
                   struct allot_piece *piece, const char *id, int64_t *count,
                   double *value)
{
    if (i >= r->samples.n || (sm >= 0 && (unsigned)sm >= r->sampled_sms))
        return false;
    struct launch_stats grown = so_far(&r->samples.v[i], sm);
    if (i) {
        struct launch_stats before = so_far(&r->samples.v[i - 1], sm);
        stats_subtract(&grown, &before);
    }
    if (piece)
        *piece = (struct allot_piece){i ? r->samples.v[i - 1].cycle : 0,
                                      r->samples.v[i].cycle};
    uint64_t n;
    bool found = stats_get(&grown, id, &n, value);
    if (count)
        *count = (int64_t)n;
    return found;
}

bool
allot_result_sm(const struct allot_result *r, unsigned sm, const char *id,
                uint64_t *count)
{
    struct launch_stats one = {0};
    if (sm >= r->nsm)
        return false;
    stats_add_sm(&one, &r->sm[sm]);
    return stats_get(&one, id, count, NULL);
}
