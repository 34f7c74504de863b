#!/bin/sh
# lines.sh ALLOT SOURCE: counters by line: the table, the files in each format, of run and of exec.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT

cat >k.ptx <<'END'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %a;
    .reg .b32 %n;
    .loc 1 3 0
    ld.param.u64 %a, [p];
    .loc 1 4 0
    ld.global.u32	%n, [%a];
    add.u32 %n, %n, 1;
    .loc 1 5 0
    st.global.u32 [%a], %n;
    ret;
}
.file 1 "k.cu"
END
printf 'one\ntwo\nthree\n    int n = *p;\n' >k.cu
set -- k.ptx -m a100 --grid 2 --block 32 --arg buf:1xu32

check "table" 0 "$allot" run "$@" --by-line
has out "issue slots of schedulers with a warp, by line"
has out "k.cu:4  int n = *p;"
has out "k.ptx:11  ld.global.u32 %n, [%a];"
check "all formats" 0 sh -c '
    for f in csv json callgrind speedscope.json; do "$0" run "$@" --lines l.$f || exit 1; done' "$allot" "$@"
cat >look.py <<'END'
import csv, json, subprocess, sys
counters = json.loads(subprocess.run([sys.argv[1], "run", *sys.argv[2:], "--json"], capture_output=True, check=True).stdout)
counters = counters["kernels"][0]
rows = list(csv.DictReader(open("l.csv")))
ids = [c for c in rows[0] if c in counters]
assert len(ids) > 15
for c in ids:
    assert sum(int(r[c]) for r in rows) == counters[c], c
    assert sum(r.get(c, 0) for r in json.load(open("l.json"))["k"]) == counters[c], c
at = {r["ptx_line"]: r for r in rows}
assert at["11"]["file"] == "k.cu" and at["11"]["line"] == "4" and at["11"]["ptx_text"] == "ld.global.u32 %n, [%a];"
slots = counters["issue_slots"]
events, total = [], {}
for line in open("l.callgrind"):
    if line.startswith("events:"):
        events = line.split()[1:]
    elif line[0].isdigit():
        for e, n in zip(events, line.split()[1:], strict=True):
            total[e] = total.get(e, 0) + int(n)
for c in ids:
    assert total[c] == counters[c], c
scope = json.load(open("l.speedscope.json"))
profile, frames = scope["profiles"][0], scope["shared"]["frames"]
assert sum(profile["weights"]) == profile["endValue"] == slots
assert all(0 <= i < len(frames) for s in profile["samples"] for i in s)
assert ["k", "k.cu:4", "11: ld.global.u32 %n, [%a];"] in [[frames[i]["name"] for i in s] for s in profile["samples"]]
END
check "sums are the launch's" 0 python3 look.py "$allot" "$@"
if command -v callgrind_annotate >/dev/null; then
    check "callgrind_annotate" 0 callgrind_annotate --show=issue_memory l.callgrind
    has out "k.cu:k"
fi

# Of several launches of a kernel the lines are added up.
check "launches" 0 "$allot" run bfs --quick --lines bfs.json
"$allot" run bfs --quick --json >all.json
check "... added up" 0 python3 -c '
import json
lines, all = json.load(open("bfs.json")), json.load(open("all.json"))["kernels"]
assert list(lines) == ["Kernel"] and len(all) > 1, list(lines)
assert len({(r.get("ptx_file"), r.get("ptx_line")) for r in lines["Kernel"]}) == len(lines["Kernel"])
for c in ("warp_instructions", "issue_memory", "issue_empty"):
    assert sum(r.get(c, 0) for r in lines["Kernel"]) == sum(k[c] for k in all), c'

check "functional" 2 "$allot" run vecadd --quick --functional --by-line
has err "need the cycle model"
check "unknown format" 2 "$allot" run vecadd --quick --lines x.txt
has err "ends in none of .csv, .json, .callgrind, .speedscope.json"
check "a table beside JSON" 0 "$allot" run vecadd --quick --by-line --json
has err "issue slots of schedulers with a warp, by line"
check "no room" 1 "$allot" run vecadd --quick --lines /nowhere/x.csv

finish lines
