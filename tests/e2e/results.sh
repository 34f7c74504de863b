#!/bin/sh
# results.sh ALLOT SOURCE: experiments, the store and the runner. Kills a sweep at random five
# times; 50 times with ALLOT_LONG_TESTS=1.
allot=$1
. "$2/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
kills=5 runs=60 step=0.0025
[ -z "$sanitized" ] || { runs=30 step=0.005; }
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
is "the whole machine" "$(grep -c '^  dram.tRCD  *12$' out)" 1
has out "warp_instructions"
"$allot" results show 1 --json show.json --db s.db
grep -q '"launches"' show.json || { echo "show --json FILE wrote no run"; exit 1; }
check "show as JSON" 0 "$allot" results show 1 --json - --db s.db
python3 - <<'END' || failed=$((failed + 1))
import csv, json
run = json.load(open("out"))
assert run["launches"][0]["cycles"] > 0
machine = run["machine_settings"]
assert machine["sm.count"] == 15 and machine["partition.prefill"] is True and machine["clock.core"] == 700, machine
# The export has every setting as a column, with the run's own value.
rows = list(csv.DictReader(open("all.csv")))
assert {r["sm.scheduler"] for r in rows} == {"lrr", "gto"}, rows[0]
assert all(r["sm.scheduler"] in r["settings"] and r["dram.tRCD"] == "12" for r in rows)
END
lrr=$("$allot" results list --db s.db | awk '/matmul/ && /=lrr/ { print $1 }')
gto=$("$allot" results list --db s.db | awk '/matmul/ && /=gto/ { print $1 }')
check "diff" 0 "$allot" results diff "$lrr" "$gto" --db s.db
has out "sm.scheduler=gto"
is "differing settings" "$(grep -Ec '^sm.scheduler +lrr +gto' out)" 1
lacks out "dram.tRCD"
has out "idle_cycles"
has out "B takes "
has out " cycles than A; of the issue slots, '"
is "by effect" "$(awk '/^counter/ { on = 1; getline; next } on && $5 ~ /^[+-][0-9.]+$/ { v = $5 < 0 ? -$5 / 100 : $5 / (100 + $5)
    if (n++ && v > last + 0.001) print; last = v }' out)" ""
check "list" 0 "$allot" results list --db s.db
is "list within 100 columns" "$(awk 'length($0) > 100' out)" ""
has out "all of them: quick"
check "no such run" 1 "$allot" results show 999 --db s.db
check "no such command" 2 "$allot" results shoe

# Parameters of a workload.
sed 's/^baseline/ranges: [{set: params.n, values: [1000, 2000]}]\n&/; /matmul/d' small.yaml >params.yaml
check "parameters" 0 "$allot" sweep params.yaml --db p.db
has out "lrr, params.n=2000"
is "both sizes ran" "$("$allot" results export --db p.db | cut -d, -f9 | sort -u | grep -c '^n=')" 2
sed -i 's/params.n/params.m/' params.yaml
check "no such parameter" 1 "$allot" sweep params.yaml --db p.db
has err "no parameter 'm'; it takes n"
check "options are settings" 0 "$allot" run vecadd --quick --registers virtual --regs 20 --db o.db
check "stored" 0 "$allot" results show 1 --db o.db
has out "residency.regs_per_thread=20 compiler.registers=virtual"
check "run with a parameter" 0 "$allot" run vecadd --param n=1000 --db p.db
check "bad parameter" 2 "$allot" run vecadd --param n=many
has err "a number from 1 to"
check "unknown parameter" 2 "$allot" run vecadd --param m=1
has err "no parameter 'm'; it takes n"

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
cat >many.yaml <<END
title: Many
machine: gtx480
workloads: [{name: vecadd}]
variants: [{name: v}]
ranges:
  - {set: residency.threshold, from: 0.001, to: 0.15, step: $step}
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
has err "$runs runs: $before stored before"

# -- stores that are damaged, missing, or write-protected --
# Page 2, the root of the first table made; the schema, in page 1, stays.
cp s.db damaged.db
head -c 4096 /dev/zero | tr '\0' '\245' | dd of=damaged.db bs=4096 seek=1 conv=notrunc 2>/dev/null
for what in list "show 1" "diff 1 2" "export --csv bad.csv"; do
    # shellcheck disable=SC2086 # words
    check "damaged, $what" 1 "$allot" results $what --db damaged.db
    has err "results damaged.db: cannot be read"
done
check "damaged, no half export" 1 test -e bad.csv
check "damaged, report" 1 "$allot" report --html page --db damaged.db
check "damaged, sweep" 1 "$allot" sweep small.yaml --quick --db damaged.db
has err "damaged.db"
check "not there" 1 "$allot" results list --db typo.db
has err "typo.db: No such file"
check "is not made" 1 test -e typo.db
check "a store with a bad name, before the run" 1 "$allot" run vecadd --quick --db "$dir/none/x.db"
has err "cannot be made"
lacks out "vecadd"
echo "no store at all, but long enough for a header of one" >text.db
for command in "run --db text.db vecadd" "compare --db text.db vecadd" "exec --db text.db /bin/true"; do
    # shellcheck disable=SC2086 # words
    check "no store, $command" 1 "$allot" $command
    has err "text.db"
    lacks out "vecadd"
done
# Root may write everywhere, but not without its capabilities.
mkdir ro && cp s.db ro/s.db && chmod 555 ro && chmod 444 ro/s.db
as_user=
[ "$(id -u)" -ne 0 ] ||
    as_user="setpriv --inh-caps=-dac_override,-dac_read_search --bounding-set=-dac_override,-dac_read_search"
# shellcheck disable=SC2086 # words
if $as_user test -r ro/s.db && ! $as_user touch ro/other 2>/dev/null; then
    check "write-protected store" 0 $as_user "$allot" results list --db "$dir/ro/s.db"
    is "all its runs" "$(grep -c ' done ' out)" 4
    check "write-protected, export" 0 $as_user "$allot" results export --db "$dir/ro/s.db"
else
    skip "root may write everywhere here"
fi
chmod 755 ro

# Killed at any moment, with everything it started: what it said was stored is stored.
random() { awk -v s="$1" 'BEGIN { srand(s); printf "%.3f", 0.02 + 0.25 * rand() }'; }
: >said
sed "s/^metrics/  - {set: sm.max_blocks, from: 1, to: $((kills * 2 / 5))}\n&/" many.yaml >kill.yaml
total=$((kills * 2 / 5 * runs))
for i in $(seq $kills); do
    setsid "$allot" sweep kill.yaml --quick --db k.db -j2 -v >>said 2>/dev/null &
    pid=$!
    sleep "$(random "$i")"
    kill -s KILL -- -$pid # (dash's kill takes no group after -KILL)
    wait $pid 2>/dev/null
    is "killed" $? 137
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
is "nothing is left over" "$(ls -d k.db.spool k.db.claims 2>/dev/null)" ""

# What a killed writer left half-written goes; what is still being written stays.
mkdir s.db.spool
echo '{"token": "half' >s.db.spool/left.json.tmp
exec 9>s.db.spool/busy.json.tmp
flock 9
check "half-written records" 0 "$allot" results list --db s.db
is "half-written records" "$(ls s.db.spool)" busy.json.tmp
exec 9>&-
check "half-written records" 0 "$allot" results list --db s.db
is "half-written records" "$(ls s.db.spool 2>/dev/null)" ""

# Two sweeps on one store share the work: each run once, and each waits for the other's.
: >first
"$allot" sweep many.yaml --quick --db two.db -j1 -v >first 2>first.err &
first=$!
until grep -q stored first || ! kill -0 $first; do sleep 0.02; done
check "beside another sweep" 0 "$allot" sweep many.yaml --quick --db two.db -j1
cp err second.err
wait $first
is "... the other" $? 0
"$allot" results list --all --db two.db >out
is "two sweeps: each once" "$(grep -c ' done ' out)" $runs
is "two sweeps: done by one or the other" \
    "$(cat second.err first.err | sed -n 's/.* \([0-9]*\) done now.*/\1/p' | awk '{ n += $1 } END { print n }')" $runs
check "the second waited for the first" 0 grep -q "another sweep did" second.err
check "the first waited for the second" 0 grep -q "another sweep did" first.err

# One is killed: the other does its runs too.
: >first
setsid "$allot" sweep many.yaml --quick --db three.db -j2 -v >first 2>/dev/null &
first=$!
until grep -q stored first || ! kill -0 $first; do sleep 0.02; done
"$allot" sweep many.yaml --quick --db three.db -j1 >out 2>err &
other=$!
sleep 0.1
kill -s KILL -- -$first
wait $other
is "the other sweep was killed" $? 0
is "all are there" "$(stored three.db)" $runs
check "no claims are left over" 1 test -e three.db.claims
finish results
