#!/bin/sh
# paper.sh ALLOT SOURCE: figures of the papers, on small inputs.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT

check "list" 0 "$allot" paper --list
for f in "$src"/papers/*/*.yaml; do
    n=$(basename "$(dirname "$f")")/$(basename "$f" .yaml)
    has out "$n "
done
if grep -q 'cannot be read' out; then
    echo "FAIL list: a file cannot be read"
    failed=$((failed + 1))
fi

# Every file stands for what there is: machines, settings, workloads, passes, paper's numbers.
for f in "$src"/papers/*/*.yaml; do
    check "$(basename "$f") can be run" 0 "$allot" sweep "$f" --dry-run --db list.db
done

# The calculator's tables agree with the paper's cell by cell.
check "table 2.6" 0 "$allot" paper 001/table2.6 --db p.db --out o
has out "48 values beside the paper's: signs equal in 40 of 40; the same number in 48; rank correlation +1.00"
check "table 2.8" 0 "$allot" paper 001/table2.8 --db p.db
has out "42 values beside the paper's: signs equal in 35 of 35; the same number in 42"

# A simulated figure: values, verdict, chart, CSV; the values by another way.
check "figure 2.13" 0 "$allot" paper 001/fig2.13 --quick --db p.db --out o
has out "signs equal in"
has err "10 runs: 0 stored before, 10 done now"
has o/001-fig2.13.svg "</svg>"
has o/001-fig2.13.csv "lavaMD,shared-owf,001-table2.3-scratchpad,shared-owf,gain,%,"
check "again" 0 "$allot" paper 001/fig2.13 --quick --db p.db
has err "10 stored before, 0 done now"
for v in "baseline lrr" "scratchpad-sharing owf"; do
    # shellcheck disable=SC2086 # two words
    set -- $v
    "$allot" run srad_v2 --quick -m 001-table2.3-scratchpad --regs 20 -r "$1" -s "$2" -t 0.1 --json >"$2.json"
done
python3 - <<'END' || failed=$((failed + 1))
import csv, json, sys
def ipc(f, kernel):
    k = [k for k in json.load(open(f))["kernels"] if k["name"] == kernel]
    return sum(x["thread_instructions"] for x in k) / sum(x["cycles"] for x in k)
ours = {r["workload"]: float(r["ours"]) for r in csv.DictReader(open("o/001-fig2.13.csv"))}
for row, kernel in ("SRAD1", "srad_cuda_1"), ("SRAD2", "srad_cuda_2"):
    want = 100 * (ipc("owf.json", kernel) / ipc("lrr.json", kernel) - 1)
    if abs(ours[row] - want) > 1e-6:
        sys.exit(f"FAIL figure 2.13: {row} {ours[row]}, by allot run {want}")
END
# Runs are shared with other figures: 2.14 has all it needs.
check "figure 2.14" 0 "$allot" paper 001/fig2.14 --quick --db p.db --markdown
has err "10 stored before, 0 done now"
has out "| lavaMD |"
has out "holds"
# 000 Table VI: relssp costs each thread of DCT1 one instruction, half of DCT3's
# another one: 49152 for 32768 threads.
cat >added.yaml <<'END'
title: Instructions that relssp adds
machine: 000-table2
workloads: [{name: dct1}, {name: dct3}]
variants:
  - {name: plain, settings: [residency.policy=baseline]}
  - {name: released, settings: [residency.policy=scratchpad-sharing], passes: relssp}
baseline: plain
metrics:
  - {name: threads}
  - {name: added, stat: thread_instructions, as: difference}
  - {name: each, stat: instructions_per_thread, as: difference}
checks:
  - {says: one each, that: "[dct1, released, added] = [dct1, plain, threads] and [dct1, released, each] = 1"}
  - {says: three halves, that: "[dct3, released, each] = 1.5"}
END
check "instructions added" 0 "$allot" sweep added.yaml --quick --db p.db
is "both checks hold" "$(grep -c holds out)" 2

check "no such figure" 2 "$allot" paper 001/fig99 --db p.db
check "nothing named" 2 "$allot" paper --db p.db
finish paper
