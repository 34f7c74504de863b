#!/bin/sh
# exec-look.sh ALLOT SOURCE: what `allot exec` shows of a program's launches: chosen kernels,
# causes, trace, timeline, passes, and what it says when it is interrupted.
allot=$1
build=$(dirname "$allot")
. "$2/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
runs_programs
p=$build/programs/clang/samples
if [ ! -x "$p" ]; then
    echo "SKIP: there is no $p"
    exit 77
fi

has() { # FILE PATTERN
    grep -q -- "$2" "$1" && passed=$((passed + 1)) || fail "$name: '$2' is not in its $1:" "$1"
}
lacks() {
    grep -q -- "$2" "$1" && fail "$name: '$2' is in its $1:" "$1" || passed=$((passed + 1))
}

check "help" 0 "$allot" exec --help
has out "default a100"

# -- by line: the kernels with timing, whose sums are those of --json --
check "by line" 0 "$allot" exec --kernel 'sum_*' --by-line --lines l.json --json k.json "$p"
has err "^sum_warps(int const\*, int\*, bool): .* issue slots of schedulers with a warp, by line"
lacks err "add_number(int\*): .* issue slots"
check "... adds up" 0 python3 -c '
import json
lines, all = json.load(open("l.json")), json.load(open("k.json"))["kernels"]
for name, rows in lines.items():
    for c in ("warp_instructions", "issue_memory", "load_latency"):
        assert sum(r.get(c, 0) for r in rows) == sum(k[c] for k in all if k["name"] == name), (name, c)
assert len(lines) == 3'

# -- chosen kernels: sum_block, sum_warps, add_number, sum_parts, half_warp, one launch each --
check "all" 0 "$allot" exec --json all.json "$p"
check "by name" 0 "$allot" exec --kernel 'sum_*' --json some.json "$p"
has err "^sum_warps(int const\*, int\*, bool) *1  *[0-9]"
has err "^add_number(int\*) *1  *-  *[0-9]"
[ "$(grep -c '"ptx_hash"' some.json)" = 3 ] || fail "three launches with timing" some.json
check "skip, count" 0 "$allot" exec --kernel 'sum_*' --skip 1 --count 1 --json one.json "$p"
[ "$(grep -c '"ptx_hash"' one.json)" = 1 ] || fail "one launch with timing" one.json
has one.json sum_warps
check "by PTX name" 0 "$allot" exec --kernel '_Z10add_numberPi' --json one.json "$p"
has one.json add_number
check "no such kernel" 0 "$allot" exec --kernel nosuch "$p"
has err "no launch had timing"
t=$build/programs/clang/templates
check "without namespaces and parameters" 0 "$allot" exec --kernel transpose --json t.json "$t"
has t.json transpose
lacks t.json '"name": .*reduce'
lacks err "^sum_warps.* 2\.[0-9]"
check "count of nothing" 2 "$allot" exec --count 0 "$p"
check "chosen without timing" 2 "$allot" exec -f --kernel x "$p"

# -- causes, trace, timeline --
check "why" 0 "$allot" exec --why "$p"
has err "issue slots by cause"
has err "^half_warp(int\*, int) .*[0-9]"
check "why without timing" 2 "$allot" exec -f --why "$p"
check "trace" 0 "$allot" exec --trace t.json --kernel sum_block "$p"
has t.json '"traceEvents"'
has t.json _Z9sum_blockPKiPib
lacks t.json _Z9sum_warps
has t.json trace_lost_events
check "timeline" 0 "$allot" exec --timeline t.csv --timeline-cycles 100 "$p"
head -1 t.csv >head
has head "^kernel,launch,from,to,cycles"
[ "$(tail -n +2 t.csv | cut -d, -f2 | sort -u | wc -l)" = 5 ] || fail "five launches in t.csv" t.csv
# cycles of the pieces add up to those of the launches
a=$(awk -F, 'NR > 1 { s += $5 } END { print s }' t.csv)
b=$(sed -n 's/.*"cycles": \([0-9]*\),.*/\1/p' all.json | awk '{ s += $1 } END { print s }')
[ "$a" = "$b" ] || fail "timeline has $a cycles, the launches $b"
check "trace that cannot be written" 1 "$allot" exec --trace /nosuch/t.json "$p"

# -- passes --
check "passes" 0 "$allot" exec -p merge-blocks --json merged.json "$p"
has merged.json '"compiler.passes": "merge-blocks"'
check "an unknown pass" 2 "$allot" exec -p merge-block "$p"
has err "did you mean 'merge-blocks'?"

# -- compared --
check "compare" 0 "$allot" compare -m a100 -v baseline,two:sm.count=2 --json -- "$p"
[ "$(grep -c '"check": "passed"' out)" = 2 ] || fail "two runs of the program" out
has out '"variant": "two"'
lacks out "samples: done"
check "compare a program, options of kernels" 2 "$allot" compare --grid 4 "$p"

# -- interrupted --
interrupt() { # NAME OPTIONS...
    name=$1
    shift
    # shellcheck disable=SC2086 # words
    ${under#timeout 100} "$allot" exec "$@" "$p" endless >out 2>err </dev/null &
    pid=$!
    sleep 3
    kill -TERM $pid # a shell has jobs ignore SIGINT
    wait $pid
    [ $? -eq 143 ] || fail "$name: exit status" err
    has err "kernel endless(int volatile\*) <<<(4,1,1), (64,1,1)>>> was running, its launch 1"
    has err "so far: 0 of 4 blocks had ended, .* thread instructions"
    has err "where: block ([0-3],0,0), warp [01] at .*:[0-9]"
    has err "^half_warp(int\*, int) *1 "
}
interrupt "interrupted"
has err "cycles, IPC"
interrupt "interrupted without timing" -f

finish exec-look
