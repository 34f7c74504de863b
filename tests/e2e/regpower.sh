#!/bin/sh
# regpower.sh ALLOT SOURCE: power states of registers together with what shares resources: every
# pair of policies, with their passes, on four kernels. The memory is checked by the workload,
# counters by their identities; here, that registers of warps lie within the file.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT

# One SM, so that a small grid fills it.
run() { # WORKLOAD RESIDENCY POWER ...: into out
    w=$1 r=$2 p=$3 m=001-table2.3-registers passes=
    shift 3
    [ $w = srad_v2 ] && m=001-table2.3-scratchpad passes=scratchpad-layout,relssp
    [ $r = multiplexing ] && passes=late-stores,multiplex-hw # of scratchpad layouts, its own
    case $w in hotspot) regs=36 ;; mriq) regs=40 ;; stencil) regs=28 ;; *) regs=0 ;; esac
    check "$w, $r, $p $*" 0 "$allot" run $w --quick -m $m -r $r -s owf --regs $regs \
        --set sm.count=1 --set residency.dynamic_warps=true --set regpower.policy=$p \
        --set compiler.passes=$passes \
        --set compiler.late_passes=reorder-registers,power-states "$@"
}

kernels="hotspot mriq srad_v2 stencil"
[ -z "$sanitized" ] || kernels="hotspot srad_v2"
for w in $kernels; do
    for r in baseline register-sharing scratchpad-sharing register-scratchpad-sharing \
        warp-level-divergence multiplexing; do
        for p in baseline sleep-reg comp-opt greener; do
            run $w $r $p --json
            cp out $w.$r.$p
        done
        run $w $r sleep-reg --json --set regpower.until=block --set regpower.allotted=true
        cp out $w.$r.allotted
        run $w $r greener --csv --threads 3 # each launch, all counters
        cut -d, -f1-3,5- out >a             # but the host's seconds
        run $w $r greener --csv --no-skip
        cut -d, -f1-3,5- out >b
        check "$w, $r: the same at any number of threads, without skipping" 0 cmp a b
    done
done
# shellcheck disable=SC2086 # words
python3 - $kernels <<'END' || failed=$((failed + 1))
import json, sys
W = sys.argv[1:]
R = ["baseline", "register-sharing", "scratchpad-sharing", "register-scratchpad-sharing",
     "warp-level-divergence", "multiplexing"]
EVENT = {R[4]: "partial_wait_cycles", R[5]: "multiplex_allocations"}
happened, bad = {}, []
for w in W:
    for r in R:
        more = {}
        for p in ["baseline", "sleep-reg", "comp-opt", "greener", "allotted"]:
            for k in json.load(open(f"{w}.{r}.{p}"))["kernels"]:
                on, sleep, off, held = (k[f"regpower_{n}_cycles"]
                                        for n in ("on", "sleep", "off", "held"))
                all = k["register_cycles"]
                if on + sleep + off != all:
                    bad.append(f"{w} {r} {p}: states do not add up")
                if p != "baseline" and not on + sleep <= held <= all:
                    bad.append(f"{w} {r} {p}: {on} + {sleep} of {held} of {all}")
                if p == "baseline" and on != all:
                    bad.append(f"{w} {r}: {on} of {all} on")
                if p != "baseline" and not (k["regpower_wakes_sleep"] and sleep):
                    bad.append(f"{w} {r} {p}: nothing sleeps")
                more[p] = more.get(p, 0) + held
                happened[r] = happened.get(r, 0) + k[EVENT.get(r, "share_locks")]
        if not more["allotted"] >= more["sleep-reg"]:
            bad.append(f"{w} {r}: {more} held, though until the block ends")
bad += [f"{r}: nothing is shared in any kernel" for r in R[1:] if not happened[r]]
sys.exit("\n".join(bad) if bad else 0)
END

# What states save and wake-ups cost, for people and as JSON.
run hotspot baseline greener --why
has out "Registers: warps hold "
has out "Warps waited for nothing else in"
run hotspot baseline baseline --why
lacks out "Wake-ups:"
check "explained" 0 "$allot" opt hotspot --quick -m 001-table4.2-k20x -p power-states --explain \
    --json -o states.ptx
python3 - <<'END' || failed=$((failed + 1))
import json, sys
o = json.load(open("out"))
runs = [r for r in o["kernels"][0]["runs"] if r.get("power") == "greener"]
sum = runs and runs[0]["on_percent"] + runs[0]["sleep_percent"] + runs[0]["off_percent"]
if not runs or abs(sum - 100) > 1e-6 or not runs[0]["wakes_sleep"] > 0:
    sys.exit(f"FAIL explained: {runs}")
if not any("registers over the instructions that run" in l for l in o["report"]):
    sys.exit(f"FAIL explained: {o['report'][:3]}")
END
finish regpower
