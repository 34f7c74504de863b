#!/bin/sh
# sweep.sh ALLOT SOURCE: sweeps by Slurm job arrays, on a real Slurm of one node that this
# script starts; left out, with a word, where that cannot be.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
. "$src/tests/e2e/inputs/slurm.sh"
trap 'slurm_stop; rm -rf "$dir"' EXIT

cat >few.yaml <<'END'
title: Few
machine: gtx480
workloads: [{name: vecadd}, {name: matmul}]
variants:
  - {name: lrr, settings: [sm.scheduler=lrr]}
  - {name: gto, settings: [sm.scheduler=gto]}
metrics: [{name: cycles}]
END

# Without Slurm it is said what is missing.
PATH=/nonexistent check "no Slurm" 1 "$allot" sweep few.yaml --quick --engine slurm --db n.db
has err "is Slurm installed here"
check "usage" 2 "$allot" sweep few.yaml --no-wait
check "not a job" 2 env -u SLURM_ARRAY_TASK_ID "$allot" sweep --task nowhere

slurm_start || {
    skip "$slurm_why"
    finish sweep
    exit
}

check "by Slurm" 0 timeout 60 "$allot" sweep few.yaml --quick --engine slurm -p test --db s.db \
    --time-limit 60 --memory-limit 1000 --throttle 3 --requeue --csv slurm.csv
has err "4 runs: 0 stored before, 4 done now, 0 failed, 0 with Slurm"
is "nothing is left over" "$(ls -d s.db.slurm 2>/dev/null)" ""
check "by this machine" 0 "$allot" sweep few.yaml --quick --db l.db --csv local.csv
check "the same figures" 0 cmp slurm.csv local.csv
check "stored is not submitted" 0 timeout 20 "$allot" sweep few.yaml --quick --engine slurm --db s.db
has err "4 stored before, 0 done now"

# Submit and leave; go on later. A second call does not submit again.
check "submit" 0 timeout 20 "$allot" sweep few.yaml --engine slurm --quick --db w.db --no-wait
has err "4 with Slurm"
check "collect" 0 timeout 60 "$allot" sweep few.yaml --engine slurm --quick --db w.db
is "each once" "$("$allot" results list --all --db w.db | grep -c ' done ')" 4

# A kill while it waits loses nothing: the jobs are Slurm's.
cat >slow.yaml <<'END'
title: Slow
machine: 001-table2.3-scratchpad
workloads: [{name: srad_v2}]
variants: [{name: v}]
ranges: [{set: residency.threshold, values: [0.1, 0.2, 0.3, 0.4]}]
metrics: [{name: cycles}]
END
timeout -s KILL 2 "$allot" sweep slow.yaml --engine slurm --db k.db >/dev/null 2>&1
check "after a kill" 0 timeout 90 "$allot" sweep slow.yaml --engine slurm --db k.db
is "all, once" "$("$allot" results list --all --db k.db | grep -c ' done ')" 4

# Cancelling: what is queued goes, what was finished stays; the next call submits the rest.
"$allot" sweep slow.yaml --engine slurm --db c.db --no-wait --throttle 1 2>/dev/null >&2
check "cancel" 0 timeout 30 "$allot" sweep --engine slurm --db c.db --cancel
has err "cancelled"
is "no job is left" "$(squeue -h | wc -l)" 0
is "no folder is left" "$(ls -d c.db.slurm 2>/dev/null)" ""
check "after cancelling" 0 timeout 90 "$allot" sweep slow.yaml --engine slurm --db c.db
has err ", 0 failed, 0 with Slurm"

# Failures come back with their message: of our limit, and of a job that Slurm ended.
check "time limit" 1 timeout 60 "$allot" sweep slow.yaml --engine slurm --db t.db --time-limit 0.05
"$allot" results show 1 --db t.db >out
name="time limit"
has out "took longer than 0.05 s"
sed -i 's/srad_v2/lavaMD/; s/, 0.2, 0.3, 0.4//' slow.yaml
"$allot" sweep slow.yaml --engine slurm --db x.db --no-wait >/dev/null 2>&1
scancel -u "$(id -un)"
check "ended by Slurm" 1 timeout 60 "$allot" sweep slow.yaml --engine slurm --db x.db
"$allot" results show 1 --db x.db >out
has out "ended without a result (CANCELLED"
finish sweep
