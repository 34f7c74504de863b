#!/bin/sh
# sharing.sh ALLOT SOURCE: sharing of registers and scratchpad, seen from outside.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT

# 001 section 2.5.2: kernels that neither resource limits: sharing changes nothing, whatever
# the scheduler. Every counter, launch by launch; and the figure's own statements.
for w in backprop_16 bfs gaussian_fan2 nn; do
    for s in lrr gto; do
        for kind in register scratchpad; do
            in_sample || continue
            for p in baseline $kind-sharing; do
                m=001-table2.3-scratchpad
                [ $kind = register ] && m=001-table2.3-registers
                check "$w, $s, $p" 0 "$allot" run $w --quick -m $m -s $s -r $p \
                    --set residency.dynamic_warps=true --csv
                cut -d, -f1-3,5- out >$p.csv
            done
            check "$w, $s: as without $kind sharing" 0 cmp baseline.csv $kind-sharing.csv
        done
    done
done
for f in fig2.22 fig2.22a; do
    check "$f" 0 "$allot" paper 001/$f --quick --db p.db
    has out "4 of 4 statements hold"
done

# Both resources shared: the passes are told the threshold, so relssp opens locks early. The
# kernel asks for 16 KB of scratchpad in blocks of 6144 and 5120 bytes.
for p in register-sharing scratchpad-sharing register-scratchpad-sharing; do
    check "relssp with $p" 0 "$allot" run srad_v2 --quick -m 001-table2.3-scratchpad -s owf \
        -r $p --set compiler.passes=scratchpad-layout,relssp --json
    python3 - $p <<'END' || failed=$((failed + 1))
import json, sys
releases = [k["share_releases"] for k in json.load(open("out"))["kernels"]]
shares = sys.argv[1] != "register-sharing"
if shares != (sum(releases) > 0):
    sys.exit(f"FAIL relssp with {sys.argv[1]}: locks released {releases}")
END
done

# Dynamic warp execution (001 section 2.3.3) over time, recomputed: the probability of each
# SM moves by 0.1 a period, down if it stalled more than SM 0, up if less. A period of 100
# cycles ends before its 100th cycle, whose stalls count in the next.
check "probability over time" 0 "$allot" run hotspot --quick -m 001-table2.3-registers --regs 36 \
    -s owf -r register-sharing --set residency.dynamic_warps=true \
    --set residency.dynamic_period=100 --set sm.count=3 --timeline t.csv --timeline-cycles 1 \
    --timeline-sms
python3 - <<'END' || failed=$((failed + 1))
import csv, sys
stalls, told, launch = {}, {}, 1
for r in csv.DictReader(open("t.csv")):
    if r["launch"] == "1" and r["sm"] != "all":
        key = int(r["sm"]), int(r["to"])
        stalls[key] = int(r["stall_cycles"])
        if int(r["share_dynamic_ticks"]):
            told[key] = float(r["share_dynamic_probability"])
end = max(c for _, c in stalls)
seen, moves = 0, set()
for sm in 1, 2:
    p, at = 10, 0
    for tick in range(100, end + 1, 100):
        if abs(told.pop((sm, tick), -1) - p / 10) > 1e-6:
            sys.exit(f"FAIL probability of SM {sm} in the period before cycle {tick}: not {p / 10}")
        own, first = (sum(stalls.get((s, c), 0) for c in range(at, tick)) for s in (sm, 0))
        at = tick
        q = max(0, min(10, p + (own < first) - (own > first)))
        moves.add(q - p)
        p, seen = q, seen + 1
if told:
    sys.exit(f"FAIL probability: told out of turn: {sorted(told)[:5]}")
if seen < 20 or not {-1, 1} <= moves:
    sys.exit(f"FAIL probability: {seen} periods, moves {moves}: nothing was tested")
END
check "SMs need a file" 2 "$allot" run hotspot --quick --timeline-sms
has err "--timeline"
# The lines of SMs add up to the line of all, for what is an SM's.
python3 - <<'END' || failed=$((failed + 1))
import csv, sys
f = csv.DictReader(open("t.csv"))
want, got, n = None, {}, 0
def compare():
    global n
    for k, v in got.items():
        n += 1
        if want[k] != str(v):
            sys.exit(f"FAIL SMs of cycle {want['to']}: {k} {v}, of all {want[k]}")
for r in f:
    if r["sm"] == "all":
        if want:
            compare()
        want, got = r, {}
    else:
        if r["l2_reads"] or r["l2_hit_rate"] or r["cycles"]:
            sys.exit("FAIL an SM's line has what is not an SM's")
        for k in "warp_instructions", "stall_cycles", "l1d_accesses", "share_refusals":
            got[k] = got.get(k, 0) + int(r[k])
compare()
if n < 1000:
    sys.exit(f"FAIL SMs: {n} values compared")
END
finish sharing
