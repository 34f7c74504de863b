#!/bin/sh
# checks.sh ALLOT SOURCE: --check of run and exec: every workload is clean; kernels with the
# errors that the checks are for are told of.
allot=$1
build=$(dirname "$allot")
. "$2/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
runs_programs

# -- workloads: before and from Volta on --
"$allot" list workloads | awk '{ print $1 }' >names
[ "$(wc -l <names)" -gt 60 ] || fail "a list of workloads" names
for machine in gtx480 a100; do
    while read -r w; do
        check "$w on $machine" 0 "$allot" run "$w" -q -m $machine --check all
        has err "allot: --check all: nothing found"
    done <names
done

# -- three of four words are written and read: no vector reads the fourth --
check "three of four words" 0 "$allot" run "$2/tests/e2e/inputs/three_words.ptx" --grid 1 --block 64 \
    --arg buf:256 -m a100 --check all
has err "nothing found"

# -- one word beyond, beside more of its kind: every allocator, every space --
${CC:-cc} -O1 -w "$2/tests/programs/bounds.c" -o bounds -ldl || fail "bounds.c"
for where in device async managed host pitch variable virtual; do
    check "the last word, $where" 0 "$allot" exec --check all ./bounds $where 120
    has err "nothing found"
    check "a word beyond, $where" 1 "$allot" exec --check sync ./bounds $where 124
    has err "global store of 4 bytes"
    has err "out of bounds"
    has err "--check sync: a launch failed (above), the rest of it was not checked"
    lacks err "nothing found"
done
for where in shared before; do
    check "the last word, $where" 0 "$allot" exec --check all ./bounds $where 120
    has err "nothing found"
    check "a word beyond, $where" 1 "$allot" exec --check sync ./bounds $where 124
    has err "writes 4 bytes of shared memory, 0 bytes behind the end of '"
    has err "--check sync: 1 finding"
done
check "local memory, written" 0 "$allot" exec --check all ./bounds local 120
has err "nothing found"
check "local memory, not written" 1 "$allot" exec --check init ./bounds local 124
has err "reads 4 bytes of local memory, byte 124, which nobody has written"
check "a word beyond a buffer" 1 "$allot" run "$2/tests/e2e/inputs/beyond.ptx" --grid 1 --block 1 --arg buf:256 --arg buf:256 \
    --arg 64 --check race
has err "global store of 4 bytes"
check "a buffer's last word" 0 "$allot" run "$2/tests/e2e/inputs/beyond.ptx" --grid 1 --block 1 --arg buf:256 --arg buf:256 \
    --arg 63 --check all
has err "nothing found"

# -- usage --
check "an unknown check" 2 "$allot" run vecadd --check rac
has err "did you mean 'race'?"
check "no timing to store" 2 "$allot" run vecadd --check race --db x.db

# -- the errors of samples.cu, in a program --
for p in "$build/programs/clang/samples" "$build/programs/nvcc/samples"; do
    if [ ! -x "$p" ]; then
        skip "there is no $p"
        continue
    fi
    check "$p" 0 "$allot" exec --check all "$p"
    has err "nothing found"
    check "$p without checks" 0 "$allot" exec -f "$p" "block race"
    check "block race" 1 "$allot" exec --check race "$p" "block race"
    has err "race in kernel 'sum_block(int const*, int*, bool)'"
    has err "(sum_block(int const*, int*, bool)::part)"
    has err "put __syncthreads()"
    has err "--check race: 1 finding"
    check "warp race" 1 "$allot" exec --check race "$p" "warp race"
    has err "put __syncwarp()"
    check "warp race, lock step" 0 "$allot" exec -m gtx480 --check race "$p" "warp race"
    check "short fill" 1 "$allot" exec --check init "$p" "short fill"
    has err "thread (64,0,0) reads 4 bytes of global memory"
    has err "which nobody has written (192 times)"
    check "divergent barrier" 1 "$allot" exec --check sync "$p" "divergent barrier"
    has err "thread (32,0,0) executes it without 16 threads of its warp"
    check "wrong mask" 1 "$allot" exec --check sync "$p" "wrong mask"
    has err "thread (16,0,0) executes it, but its own mask 0x0000ffff does not name it"
done

finish checks
