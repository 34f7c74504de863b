/* core_working.c: what `allot workingset` asks of a program: the working sets of one launch
 * of each kernel (ALLOT_WORKING_SETS), and a schedule made from them (ALLOT_WORKING_METHOD,
 * ALLOT_WORKING_CPS). They are computed here, where the lines are known, and go into the
 * record as JSON. */
#include "cuda/core/core_int.h"

#include <stdlib.h>

bool
acu_working_options(struct allot_options *o)
{
    const char *method = getenv("ALLOT_WORKING_METHOD");
    const char *cps = getenv("ALLOT_WORKING_CPS");
    char *end = NULL;
    acu.working.want =
        (struct working_want){.method = method && *method ? method : NULL, .cps = -1};
    if (!acu_env_number("ALLOT_WORKING_SETS", UINT64_MAX, &acu.working.nth))
        return false;
    if (cps && *cps) {
        acu.working.want.cps = strtod(cps, &end);
        if (*end || !(acu.working.want.cps >= 0)) {
            acu_say("ALLOT_WORKING_CPS=%s: not a number from 0 on", cps);
            return false;
        }
    }
    if (!acu.working.nth)
        return true;
    o->functional = o->working_sets = true; /* without timing alone are they watched */
    o->threads = 1;
    return true;
}

char *
acu_working_line(const struct allot_result *r, uint64_t n)
{
    if (!acu.working.nth || n != acu.working.nth)
        return NULL;
    json_t *o = rt_working_json(r, acu.machine, &acu.working.want, acu.diag);
    char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;
    json_decref(o);
    acu_flush_diag();
    return text;
}
