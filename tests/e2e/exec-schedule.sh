#!/bin/sh
# exec-schedule.sh ALLOT SOURCE: `allot exec --schedule`: programs whose kernels follow schedules by method and by
# file. The programs check their own results.
allot=$1
build=$(dirname "$allot")
. "$2/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
runs_programs
memory=$build/programs/clang/memory
samples=$build/programs/clang/samples
needs_programs "$memory" "$samples"

cycles() { # FILE KERNEL: of its launches, a line each, behind their blocks
    python3 - "$1" "$2" <<'PY'
import json, sys
for k in json.load(open(sys.argv[1]))["kernels"]:
    if k["name"] == sys.argv[2]:
        print(k["blocks"], k["cycles"])
PY
}

# -- by method: one block at once takes longer than eight --
check "without" 0 "$allot" exec --json plain.json "$memory"
check "one block at once" 0 "$allot" exec --schedule round-robin,tlp=1 --json one.json "$memory"
has one.json '"cta.schedule": "round-robin,tlp=1"'
cycles plain.json _Z5scalePiii >plain
cycles one.json _Z5scalePiii >one
[ "$(grep -c '^8 ' plain)" = 2 ] || fail "two launches of 8 blocks" plain
paste -d' ' plain one | awk '$1 != $3 || ($1 == 8 && $4 < 2 * $2) || $4 < $2 { exit 1 }' ||
    fail "one block at once is not slower" plain one
check "by working sets" 0 "$allot" exec --schedule awss "$memory"
check "by those of the launch before" 0 "$allot" exec --schedule awss --set cta.working_sets=previous \
    --set cta.update=1 "$memory"
check "persistent blocks" 0 "$allot" exec -p persistent-blocks:tlp=2 --schedule random,seed=3 "$memory"
check "no such method" 2 "$allot" exec --schedule awss,packer=none "$memory"
has err "takes no 'packer=none'"

# -- by file: of the kernel that it names alone --
printf 'allot-schedule 1\nkernel _Z10add_numberPi\nblocks 2\nstep 1: 1 0\n' >s
check "without a file" 0 "$allot" exec --json plain.json "$samples"
check "file" 0 "$allot" exec --schedule s --json file.json "$samples"
a=$(cycles plain.json _Z10add_numberPi) b=$(cycles file.json _Z10add_numberPi)
[ "${b#2 }" -gt "${a#2 }" ] || fail "add_number: $b with one block at once, $a with two"
[ "$(cycles plain.json _Z9sum_blockPKiPib)" = "$(cycles file.json _Z9sum_blockPKiPib)" ] ||
    fail "another kernel follows the schedule"
sed -i 's/: 1 0/: 1 1/' s
check "wrong file" 1 "$allot" exec --schedule s "$samples"
grep -q 's:4:[0-9]*: ' err && passed=$((passed + 1)) || fail "$name: it names no line 4" err
printf 'allot-schedule 1\nkernel _Z5scalePiii\nblocks 8\nstep 8: 0-7\n' >s
check "for other launches" 1 "$allot" exec --schedule s "$memory"
has err "launched with 2 blocks, but its schedule is for 8"
check "without timing" 2 "$allot" exec -f --schedule s "$memory"
finish exec-schedule
