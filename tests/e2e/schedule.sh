#!/bin/sh
# Schedules of blocks: run and compare follow a file, what is wrong is told with its line.
set -eu
allot=$1
cd "$2"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "schedule.sh: $*" >&2
    exit 1
}
saxpy() {
    "$allot" run tests/e2e/inputs/saxpy.ptx --grid "$1" --block 256 --arg 2.5 \
        --arg buf:4096xf32,init=iota --arg buf:4096xf32,init=1,show=4 --arg 4096 --schedule "$dir/s"
}
printf 'allot-schedule 1\nkernel saxpy\nblocks 16\nstep 4: 8-15\nstep 8: 0-7\n' >"$dir/s"
saxpy 16 | grep -q '1 3.5 6 8.5' || fail "another result with a schedule"
saxpy 12 2>"$dir/err" && fail "a schedule for 16 blocks was followed by 12"
grep -q "launched with 12 blocks, but its schedule is for 16" "$dir/err" || fail "$(cat "$dir/err")"
sed -i 's/8-15/8-14/' "$dir/s"
saxpy 16 2>"$dir/err" && fail "a schedule without block 15 was followed"
grep -q "s:5:1: .*1 of 16 blocks are missing, block 15" "$dir/err" || fail "$(cat "$dir/err")"

# One block at once takes longer than all.
printf 'allot-schedule 1\nblocks 12\nstep 1: 0-11\n' >"$dir/s"
"$allot" compare hotspot -q --schedule "$dir/s" --json >"$dir/json"
python3 - "$dir/json" <<'END' || fail "compare: a TLP of 1 is not slower"
import json, sys
rows = json.load(open(sys.argv[1]))["results"]
assert [r["variant"] for r in rows] == ["round-robin", "schedule"]
assert all(r["check"] == "passed" for r in rows)
assert rows[1]["cycles"] > 3 * rows[0]["cycles"]
END
"$allot" run hotspot -q -f --schedule "$dir/s" 2>/dev/null && fail "--functional takes a schedule"

# Working sets: 512 x 512 floats of three arrays are 2048 lines each, whatever the blocks share.
"$allot" workingset hotspot --json >"$dir/json"
python3 - "$dir/json" <<'END' || fail "workingset: wrong figures"
import json, sys
k = json.load(open(sys.argv[1]))["kernels"][0]
assert [a["distinct"] for a in k["arrays"]] == [2048] * 3 and k["distinct"] == 6144
assert len(k["lines"]) == k["blocks"] and sum(k["lines"]) == k["sum"]
assert k["capacity_lines"] == 768 * 1024 // 128
END
# A schedule made from them is one that run takes; a small cache lowers its TLP.
for method in awss static relax awss,packer=lmf round-robin,tlp=3 random,seed=7; do
    "$allot" workingset hotspot -q --schedule $method -o "$dir/s" --set l2.sets=4
    "$allot" run hotspot -q --schedule "$dir/s" --set l2.sets=4 | grep -q "check passed" || fail "$method"
done
rc=0
"$allot" workingset hotspot -q --schedule awsss 2>"$dir/err" || rc=$?
[ $rc -eq 2 ] || fail "a method that there is not"
grep -q "did you mean 'awss'" "$dir/err" || fail "$(cat "$dir/err")"
rc=0
"$allot" run hotspot -q --schedule awsss 2>"$dir/err" || rc=$?
[ $rc -eq 2 ] || fail "neither a method nor a file"
grep -q "did you mean 'awss'" "$dir/err" || fail "$(cat "$dir/err")"
"$allot" workingset hotspot -q --set l2.sets=4 --schedule awss -o "$dir/s"
"$allot" workingset hotspot -q --set l2.sets=4 --schedule awss --json >"$dir/json"
python3 - "$dir/json" "$dir/s" <<'END' || fail "workingset --schedule --json: another schedule than -o writes"
import json, sys
k = json.load(open(sys.argv[1]))["kernels"][0]
assert k["schedule"] == open(sys.argv[2]).read() and "\nbarriers suspend\n" in k["schedule"]
assert 0 <= k["schedule_seconds"] < 10
END
"$allot" workingset hotspot -q --set l2.sets=4 --schedule awss,barriers=change | grep -q "^barriers change" ||
    fail "barriers=change"
"$allot" workingset hotspot -q --schedule static,barriers=change 2>"$dir/err" && fail "static has no barriers"

# By method: the same as by way of a file, in run, compare, exec and a sweep; kept in the store.
"$allot" workingset hotspot -q --set l2.sets=4 --schedule awss -o "$dir/s"
"$allot" run hotspot -q --set l2.sets=4 --schedule "$dir/s" --json >"$dir/file"
"$allot" run hotspot -q --set l2.sets=4 --schedule awss --json --db "$dir/db" >"$dir/method"
"$allot" compare hotspot -q --set l2.sets=4 --schedule awss --schedule round-robin,tlp=3 --opt-tlp \
    --json >"$dir/json"
cat >"$dir/e.yaml" <<'END'
title: t
source: s
machine: gtx480
settings: [l2.sets=4]
workloads: [{name: hotspot}]
variants:
  - {name: awss, settings: [cta.order=schedule, cta.schedule=awss]}
  - {name: given}
metrics: [{name: cycles}]
END
"$allot" sweep "$dir/e.yaml" -q --db "$dir/db" 2>"$dir/err" >"$dir/out" || fail "sweep: $(cat "$dir/err")"
python3 - "$dir" <<'END' || fail "a schedule by method is another than by file"
import json, sqlite3, sys
d = sys.argv[1]
cycles = [[k["counters"]["cycles"] if "counters" in k else k["cycles"]
           for k in json.load(open(d + "/" + f))["kernels"]] for f in ("file", "method")]
assert cycles[0] == cycles[1], cycles
rows = {r["variant"]: r for r in json.load(open(d + "/json"))["results"]}
assert rows["awss"]["cycles"] == sum(cycles[0])
assert rows["awss"]["cycles"] != rows["round-robin"]["cycles"]
assert rows["tlp=120"]["cycles"] == rows["round-robin"]["cycles"]
assert rows["round-robin,tlp=3"]["cycles"] > rows["tlp=15"]["cycles"]
assert all(r["check"] == "passed" for r in rows.values())
db = sqlite3.connect(d + "/db")
runs = db.execute("select id, settings from runs").fetchall()
assert len(runs) == 2, runs # the sweep's awss is the run that `run --db` stored
stored = db.execute("select sum(cycles) from launches where run = ?", (runs[0][0],)).fetchone()[0]
assert stored == sum(cycles[0])
END
"$allot" compare hotspot -q --opt-tlp | grep -q "hotspot: best with tlp=" || fail "--opt-tlp names no best"
"$allot" run hotspot -q --schedule awss --schedule static 2>"$dir/err" && fail "two methods for one run"
grep -q "one method only" "$dir/err" || fail "$(cat "$dir/err")"
"$allot" run hotspot -q --schedule awss,packer=mxf 2>"$dir/err" && fail "a packer of another method"
grep -q "no 'packer=mxf'" "$dir/err" || fail "$(cat "$dir/err")"

# Round robin with all blocks that the GPU holds is what runs without a schedule.
"$allot" workingset hotspot -q --schedule round-robin -o "$dir/s"
"$allot" compare hotspot -q --schedule "$dir/s" --json >"$dir/json"
python3 - "$dir/json" <<'END' || fail "round-robin: not the order of the hardware"
import json, sys
a, b = json.load(open(sys.argv[1]))["results"]
assert a["cycles"] == b["cycles"]
END
exit 0
