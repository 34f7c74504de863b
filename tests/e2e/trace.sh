#!/bin/sh
# allot run --trace: usage: trace.sh ALLOT SOURCE_DIR
set -u
allot=$1
export ALLOT_MACHINES=$2/machines
command -v python3 >/dev/null || { echo "SKIP: needs python3"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAILED: $*"; cat "$dir/err" "$dir/why"; exit 1; }
: >"$dir/why"
run() { "$allot" run "$@" --json >"$dir/result.json" 2>"$dir/err"; }
look() { python3 "$2/tests/e2e/trace.py" "$dir/t.json" "$dir/result.json" $1 >"$dir/why"; }

for w in nw "srad_v2_24 -m 000-table2 -r scratchpad-sharing" "vecadd -m titan -s lrr"; do
    # shellcheck disable=SC2086 # words
    run $w --quick --trace "$dir/t.json" || fail "$w"
    look "" "$2" || fail "trace of $w"
done
# The same with everything stepped; counters are not changed by tracing.
run vecadd --quick --trace "$dir/t.json" || fail vecadd
cp "$dir/t.json" "$dir/skipped.json"
sed '/"seconds"/d' "$dir/result.json" >"$dir/with"
run vecadd --quick || fail vecadd
sed '/"seconds"/d' "$dir/result.json" | cmp -s - "$dir/with" || fail "tracing changes counters"
run vecadd --quick --no-skip --trace "$dir/t.json" || fail "no-skip"
python3 - "$dir" <<'EOF' || fail "skipping changes the trace"
import json, sys
a, b = ([e for e in json.load(open(f"{sys.argv[1]}/{f}.json"))["traceEvents"]
         if e["ph"] in "XC"] for f in ("skipped", "t"))
a, b = (sorted(json.dumps(e, sort_keys=True) for e in events) for events in (a, b))
sys.exit(a != b)
EOF
# A window; a bound.
run vecadd --quick --trace "$dir/t.json" --trace-from 200 --trace-to 500 || fail window
look "200 500" "$2" || fail "the window"
python3 - "$dir" <<'EOF' >"$dir/why" || fail "a window changes what is seen in it"
import collections, json, sys
def seen(f): # in the cycles [200, 500) of SMs: track, cycle -> what
    out, levels = {}, collections.defaultdict(list)
    for e in json.load(open(f"{sys.argv[1]}/{f}.json"))["traceEvents"]:
        if e["pid"] >= 1000 and e["ph"] == "X":
            for t in range(max(e["ts"], 200), min(e["ts"] + e["dur"], 500)):
                out[e["pid"], e["tid"], t] = e["name"]
        elif e["pid"] >= 1000 and e["ph"] == "C":
            (key, value), = e["args"].items()
            levels[e["pid"], key].append((e["ts"], value))
    for track, samples in levels.items():
        for (t, value), (end, _) in zip(samples, samples[1:]):
            for cycle in range(max(t, 200), min(end, 500)):
                if value:
                    out[*track, cycle] = value
    return out
a, b = seen("skipped"), seen("t")
odd = [k for k in a.keys() | b.keys() if a.get(k) != b.get(k)]
print(len(a), len(odd), sorted(map(str, odd))[:3])
sys.exit(bool(odd) or len(a) < 10000)
EOF
# The limit holds for all parts of the GPU together: three SMs of 15 work here.
run bfs --quick --trace "$dir/whole.json" --trace-limit 100000000 || fail "no limit"
run bfs --quick --trace "$dir/t.json" --trace-limit 65000 || fail "a high limit"
[ -s "$dir/err" ] && fail "is full below its limit"
cmp -s "$dir/whole.json" "$dir/t.json" || fail "a limit above the events leaves some out"
# Beyond it there is nothing, before it all, whatever the order in which things are simulated.
for n in 300 3000 20000; do
    run bfs --quick --trace "$dir/t.json" --trace-limit $n || fail limit
    grep -q 'is full from cycle [0-9]* of launch [0-9] on: later events are left out' "$dir/err" ||
        fail "does not say from when on it is full"
    cp "$dir/err" "$dir/said"
    [ "$(grep -c '"ph":"[XC]"' "$dir/t.json")" -le $((n + n / 10)) ] ||
        fail "more events than the limit"
    python3 "$2/tests/e2e/trace-cut.py" "$dir/whole.json" "$dir/t.json" "$dir/said" >"$dir/why" ||
        fail "a limit of $n changes what is before the cut"
    cp "$dir/t.json" "$dir/one.json"
    run bfs --quick --trace "$dir/t.json" --trace-limit $n --threads 2 || fail threads
    cmp -s "$dir/one.json" "$dir/t.json" || fail "two threads make another trace"
    run bfs --quick --trace "$dir/t.json" --trace-limit $n --no-skip || fail "no-skip"
    sort "$dir/one.json" >"$dir/a"
    sort "$dir/t.json" | cmp -s "$dir/a" - || fail "a cut trace without skipping"
done
# The cycle it tells is where a window would end, also inside a piece of levels.
run vecadd --quick --trace "$dir/t.json" --trace-limit 4800 || fail limit
cycle=$(sed -n 's/.*full from cycle \([0-9]*\) of launch 0 on.*/\1/p' "$dir/err")
sms() { grep '"pid":1...,' "$dir/t.json" | sort; }
sms >"$dir/a"
run vecadd --quick --trace "$dir/t.json" --trace-to "$cycle" || fail "a window up to the cut"
sms | cmp -s "$dir/a" - || fail "a window that ends at the cut"
"$allot" run vecadd --quick --functional --trace "$dir/t.json" 2>"$dir/err"
[ $? -eq 2 ] || fail "a trace without time"
echo passed
