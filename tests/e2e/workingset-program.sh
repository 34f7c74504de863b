#!/bin/sh
# workingset-program.sh ALLOT SOURCE: `allot workingset PROGRAM`: the working sets of each kernel of a CUDA program,
# held against counts by hand and against the same kernel as PTX of one's own; schedules that `exec` then follows.
allot=$1
build=$(dirname "$allot")
. "$2/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
runs_programs
memory=$build/programs/clang/memory
samples=$build/programs/clang/samples
needs_programs "$memory" "$samples"

# -- by hand: scale's first launch has two blocks of 32 words, a line each, and reads one variable --
check "json" 0 "$allot" workingset --json -m gtx480 "$memory"
python3 - out <<'PY' || fail "other figures" out
import json, sys
by = {k["kernel"]: k for k in json.load(open(sys.argv[1]))["kernels"]}
assert by["_Z4walkP4nodePi"]["lines"] == [51] # fifty nodes, each an allocation, and the sum
k = by["_Z5scalePiii"]
assert k["blocks"] == 2 and k["lines"] == [2, 2] and k["sum"] == 4 and k["distinct"] == 3
assert sorted((a["lines"], a["distinct"]) for a in k["arrays"]) == [(2, 1), (2, 2)]
assert [(o["distance"], o["common"]) for o in k["overlap"]] == [(1, 0.5)]
c = k["contention"][0]
assert c["tlp"] == 15 and abs(c["contention"] - 4 / 6144) < 1e-9
assert abs(c["contention_distinct"] - 3 / 6144) < 1e-9
PY
lacks out "ok" # what the program prints is left out

# -- which launch, which kernel, by each of its names --
for kernel in scale _Z5scalePiii 'scale(int*, int, int)'; do
    check "csv of $kernel" 0 "$allot" workingset --csv --only "$kernel" "$memory"
    is "lines of $kernel" "$(tr '\n' ' ' <out)" "kernel,block,lines _Z5scalePiii,0,2 _Z5scalePiii,1,2 "
done
# The third launch is on memory of the host, which the cache does not hold: the variable alone.
check "third launch" 0 "$allot" workingset --csv --nth 3 --only scale "$memory"
is "its blocks" "$(grep -c ',1$' out)" 8
check "text" 0 "$allot" workingset --only scale "$memory"
has out "scale(int*, int, int): 2 blocks, 2.0 lines of 128 bytes each (2 to 2), 3 different ones"
check "chart" 0 "$allot" workingset --only scale -c c.svg "$memory"
has c.svg "scale(int*, int, int): contention ratio over TLP"

# -- a schedule, which exec follows --
check "schedule" 0 "$allot" workingset --only _Z5scalePiii --nth 1 --schedule random,seed=3 -o s "$memory"
has s "kernel _Z5scalePiii"
has s "blocks 2"
check "for launches of 8 blocks" 1 "$allot" exec --schedule s "$memory"
has err "launched with 8 blocks, but its schedule is for 2"
check "schedule of add_number" 0 "$allot" workingset --only add_number --schedule awss -o s "$samples"
check "followed" 0 "$allot" exec --schedule s "$samples"

# -- what is wrong --
check "several kernels" 1 "$allot" workingset --schedule awss "$memory"
has err "there are several kernels; choose one"
check "no such kernel" 1 "$allot" workingset --only none "$memory"
has err "there is no launch 1 of kernel none"
check "no such launch" 1 "$allot" workingset --nth 999 "$memory"
check "no such method" 2 "$allot" workingset --schedule greedy "$memory"
check "a workload's parameter" 2 "$allot" workingset -P block=32 "$memory"
check "an own kernel's option" 2 "$allot" workingset --grid 4 "$memory"
printf '#!/bin/sh\nexit 3\n' >fails
chmod +x fails
check "a program that fails" 1 "$allot" workingset ./fails
finish workingset-program
