#!/bin/sh
# results.sh ALLOT SOURCE: experiments, the store and the runner. Kills a sweep at random five
# times; 50 times with ALLOT_LONG_TESTS=1.
allot=$1
. "$2/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
kills=5
[ -n "${ALLOT_LONG_TESTS:-}" ] && kills=50

stored() { # FILE: runs that are done, by their keys
    "$allot" results list --db "$1" --state done 2>/dev/null | grep -c ' done '
}

cat >small.yaml <<'END'
title: Small
machine: gtx480
workloads:
  - {name: vecadd}
  - {name: matmul}
variants:
  - {name: lrr, settings: [sm.scheduler=lrr]}
  - {name: gto, settings: [sm.scheduler=gto]}
baseline: lrr
metrics:
  - {name: cycles}
  - {name: gain, stat: ipc, as: gain}
END

# A sweep runs what is missing, once.
check "sweep" 0 "$allot" sweep small.yaml --quick --db s.db --csv s.csv
has err "4 runs: 0 stored before, 4 done now, 0 failed"
has s.csv "vecadd,gto,gtx480,gto,gain,%,"
check "sweep again" 0 "$allot" sweep small.yaml --quick --db s.db
has err "4 runs: 4 stored before, 0 done now, 0 failed"
check "sweep --again" 0 "$allot" sweep small.yaml --quick --db s.db --again
has err "4 done now"
is "only the newest are listed" "$(stored s.db)" 4
check "all are there" 0 "$allot" results list --all --db s.db
is "all" "$(grep -c ' done ' out)" 8
# The same simulation by `allot run` has the same key and the same counters.
check "run --db" 0 "$allot" run vecadd -s lrr --quick --db s.db
is "no new key" "$(stored s.db)" 4
cycles=$("$allot" run vecadd -s lrr --quick --csv | sed -n 2p)
check "export" 0 "$allot" results export --workload vecadd --db s.db --csv all.csv
want=$(echo "$cycles" | cut -d, -f5-8)
if grep -q ",$want," all.csv; then passed=$((passed + 1)); else
    echo "FAIL export: $want is not in all.csv"
    failed=$((failed + 1))
fi
check "compare --db" 0 "$allot" compare vecadd --quick --variants unshared-lrr,unshared-gto --db s.db
check "show" 0 "$allot" results show 1 --db s.db
has out "machine_hash"
has out "warp_instructions"
check "show as JSON" 0 "$allot" results show 1 --json - --db s.db
python3 -c 'import json,sys; json.load(open("out"))["launches"][0]["cycles"]' || failed=$((failed + 1))
lrr=$("$allot" results list --db s.db | awk '/matmul/ && /=lrr/ { print $1 }')
gto=$("$allot" results list --db s.db | awk '/matmul/ && /=gto/ { print $1 }')
check "diff" 0 "$allot" results diff "$lrr" "$gto" --db s.db
has out "sm.scheduler=gto"
has out "idle_cycles"
check "no such run" 1 "$allot" results show 999 --db s.db
check "no such command" 2 "$allot" results shoe

# Parameters of a workload.
sed 's/^baseline/ranges: [{set: params.n, values: [1000, 2000]}]\n&/; /matmul/d' small.yaml >params.yaml
check "parameters" 0 "$allot" sweep params.yaml --db p.db
has out "lrr, params.n=2000"
is "both sizes ran" "$("$allot" results export --db p.db | cut -d, -f9 | sort -u | grep -c '^n=')" 2
sed -i 's/params.n/params.m/' params.yaml
check "no such parameter" 1 "$allot" sweep params.yaml --db p.db
has err "vecadd has no parameter 'm'"
check "options are settings" 0 "$allot" run vecadd --quick --registers virtual --regs 20 --db o.db
check "stored" 0 "$allot" results show 1 --db o.db
has out "residency.regs_per_thread=20 compiler.registers=virtual"
check "run with a parameter" 0 "$allot" run vecadd --param n=1000 --db p.db
check "bad parameter" 1 "$allot" run vecadd --param n=many
has out "a number from 1 to"

# Limits: the run ends, its failure is kept with its message, and is tried again on demand.
sed 's/^machine:.*/machine: 001-table2.3-scratchpad/; s/vecadd/lavaMD/; /matmul/d; /gto,/d' small.yaml >big.yaml
check "time limit" 1 "$allot" sweep big.yaml --db b.db --time-limit 0.2
has err "took longer than 0.2 s"
check "failure is kept" 1 "$allot" sweep big.yaml --db b.db
has err "0 done now, 1 failed (--retry"
check "its message" 0 "$allot" results show 1 --db b.db
has out "took longer than 0.2 s"
sed -i 's/lavaMD/srad_v2/' big.yaml
check "memory limit" 1 "$allot" sweep big.yaml --db m.db --memory-limit 1
has err "--memory-limit"
check "retry" 0 "$allot" sweep big.yaml --db m.db --retry
has err "1 done now, 0 failed"

# SIGTERM: status 143, what is finished stays, the same command goes on.
cat >many.yaml <<'END'
title: Many
machine: gtx480
workloads: [{name: vecadd}]
variants: [{name: v}]
ranges:
  - {set: residency.threshold, from: 0.001, to: 0.15, step: 0.001}
metrics: [{name: cycles}]
END
"$allot" sweep many.yaml --quick --db c.db -j2 -v >out 2>err &
pid=$!
until grep -q stored out || ! kill -0 $pid; do sleep 0.05; done
kill -TERM $pid # (a shell's background job ignores SIGINT)
wait $pid
is "interrupted" $? 143
name="interrupted"
has err "interrupted: what was finished is stored"
before=$(stored c.db)
check "it goes on" 0 "$allot" sweep many.yaml --quick --db c.db
has err "150 runs: $before stored before"

# Killed at any moment, with everything it started: what it said was stored is stored.
random() { awk -v s="$1" 'BEGIN { srand(s); printf "%.3f", 0.02 + 0.25 * rand() }'; }
: >said
sed "s/^metrics/  - {set: sm.max_blocks, from: 1, to: $((kills * 2 / 5))}\n&/" many.yaml >kill.yaml
total=$((kills * 60))
for i in $(seq $kills); do
    setsid "$allot" sweep kill.yaml --quick --db k.db -j2 -v >>said 2>/dev/null &
    pid=$!
    sleep "$(random "$i")"
    kill -KILL -- -$pid 2>/dev/null
    wait $pid 2>/dev/null
done
sleep 0.2
"$allot" results export --json k.json --db k.db --csv k.csv
python3 - <<'END' || failed=$((failed + 1))
import json, re, sqlite3, sys
said = {w[1] for w in (l.split() for l in open("said")) if len(w) == 3 and len(w[1]) == 32}
db = sqlite3.connect("k.db")
assert db.execute("pragma integrity_check").fetchone() == ("ok",)
have = {k for k, in db.execute("select key from runs where state = 'done'")}
failed = db.execute("select count(*) from runs where state <> 'done'").fetchone()[0]
bare = db.execute("select count(*) from runs where id not in (select run from launches)").fetchone()[0]
if said - have or failed or bare:
    sys.exit(f"FAIL kill: {len(said - have)} lost, {failed} failed, {bare} without launches")
print(f"killed: {len(have)} stored, {len(said)} said to be")
END
check "after the kills" 0 "$allot" sweep kill.yaml --quick --db k.db
is "all are there" "$(stored k.db)" $total
check "each once" 0 "$allot" results list --all --db k.db
is "each once" "$(grep -c ' done ' out)" $total
is "nothing is left over" "$(ls -d k.db.spool 2>/dev/null)" ""

finish results
