#!/bin/sh
# registers.sh ALLOT SOURCE: workloads run right on every machine file with allocated and with
# virtual registers. Three workloads a machine, others on each; ALLOT_WORKLOADS=all runs all.
# Those that were stuck or crashed where a late pass made registers run on its machine.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
under="timeout 300"

try() { # MACHINE WORKLOAD
    for r in allocated virtual; do
        in_sample || continue
        # shellcheck disable=SC2086
        $under "$allot" run "$2" -m "$1" --quick --registers $r >out 2>err
        got=$?
        # A machine of those days may be too small for a block: that is said in one line.
        if [ $got -eq 1 ] && [ "$(grep -c 'error:' err)" -eq 1 ] &&
            grep -q 'not even one block fits' err; then
            got=0
        fi
        is "$1, $2, $r registers: exit status" $got 0
    done
}

for w in blackscholes srad_v2 gaussian_fan2; do
    try 000-table2 $w
done
"$allot" list workloads | sed 's/ .*//' >workloads
n=0
for m in "$src"/machines/*.yaml; do
    at=0
    while read -r w; do
        at=$((at + 1))
        [ -z "${ALLOT_WORKLOADS-}" ] && [ $((at % 25)) -ne $((n % 25)) ] && continue
        try "$(basename "$m" .yaml)" "$w" </dev/null
    done <workloads
    n=$((n + 1))
done
finish registers
