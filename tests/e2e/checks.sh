#!/bin/sh
# checks.sh ALLOT SOURCE: --check of run and exec: every workload is clean but bfs, whose
# algorithm races; kernels with the errors that the checks are for are told of.
set -u
allot=$1
build=$(dirname "$allot")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
failed=0
passed=0
skipped=0
asan=
nm -D "$build/cuda/liballot-cuda.so" | grep -q __asan_init &&
    asan="LD_PRELOAD=$(${CC:-cc} -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0"

fail() {
    echo "FAIL $1"
    shift
    [ $# -eq 0 ] || sed 's/^/    /' "$@" | head -20
    failed=$((failed + 1))
}
check() { # NAME STATUS COMMAND...
    name=$1
    want=$2
    shift 2
    # shellcheck disable=SC2086 # words
    timeout 100 env $asan "$@" >out 2>err </dev/null
    got=$?
    if [ $got -ne "$want" ]; then
        fail "$name: exit status $got, not $want" out err
        return
    fi
    passed=$((passed + 1))
}
has() {
    grep -qF -- "$1" err && passed=$((passed + 1)) || fail "$name: '$1' is not in its err:" err
}

# -- workloads: before and from Volta on --
"$allot" list workloads | awk '{ print $1 }' >names
[ "$(wc -l <names)" -gt 60 ] || fail "a list of workloads" names
for machine in gtx480 a100; do
    while read -r w; do
        if [ "$w" = bfs ]; then
            check "$w on $machine" 1 "$allot" run bfs -q -m $machine --check all
            has "race in kernel"
            check "$w on $machine, the others" 0 "$allot" run bfs -q -m $machine --check init,sync
        else
            check "$w on $machine" 0 "$allot" run "$w" -q -m $machine --check all
        fi
        has "allot: --check"
    done <names
done

# -- usage --
check "an unknown check" 2 "$allot" run vecadd --check rac
has "did you mean 'race'?"
check "no timing to store" 2 "$allot" run vecadd --check race --db x.db

# -- the errors of samples.cu, in a program --
for p in "$build/programs/clang/samples" "$build/programs/nvcc/samples"; do
    if [ ! -x "$p" ]; then
        echo "SKIP: there is no $p"
        skipped=1
        continue
    fi
    check "$p" 0 "$allot" exec --check all "$p"
    has "nothing found"
    check "$p without checks" 0 "$allot" exec -f "$p" "block race"
    check "block race" 1 "$allot" exec --check race "$p" "block race"
    has "race in kernel 'sum_block(int const*, int*, bool)'"
    has "(sum_block(int const*, int*, bool)::part)"
    has "put __syncthreads()"
    has "--check race: 1 finding"
    check "warp race" 1 "$allot" exec --check race "$p" "warp race"
    has "put __syncwarp()"
    check "warp race, lock step" 0 "$allot" exec -m gtx480 --check race "$p" "warp race"
    check "short fill" 1 "$allot" exec --check init "$p" "short fill"
    has "thread (64,0,0) reads 4 bytes of global memory"
    has "which nobody has written (192 times)"
    check "divergent barrier" 1 "$allot" exec --check sync "$p" "divergent barrier"
    has "thread (32,0,0) executes it without 16 threads of its warp"
    check "wrong mask" 1 "$allot" exec --check sync "$p" "wrong mask"
    has "thread (16,0,0) executes it, but its own mask 0x0000ffff does not name it"
done

echo "$passed checks passed, $failed failed"
[ $failed -eq 0 ] || exit 1
[ $skipped -eq 0 ] || exit 77
