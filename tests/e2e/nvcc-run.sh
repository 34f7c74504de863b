# nvcc-run.sh ALLOT SOURCE: programs of tests/nvcc that check themselves: cooperative groups
# and libcu++'s atomics, compiled here for three generations, on a machine of each, with timing
# and without. Skipped without nvcc.
allot=$1 source=$2
. "$source/tests/e2e/inputs/lib.sh"
PATH=$PATH:/usr/local/cuda/bin
command -v nvcc >/dev/null || { echo "SKIP: needs nvcc"; exit 77; }
runs_programs
gencode=
for a in 75 80 90; do
    gencode="$gencode -gencode arch=compute_$a,code=compute_$a"
done
for p in groups atomics; do
    # shellcheck disable=SC2086 # words
    nvcc -std=c++17 -cudart shared -Wno-deprecated-gpu-targets $gencode "$source/tests/nvcc/$p.cu" \
        -o $p 2>nvcc.log || { fail "nvcc: $p" nvcc.log; continue; }
    for m in v100 a100 h100; do
        check "$p on $m, functional" 0 "$allot" exec --functional --machine $m ./$p
        is "$p on $m" "$(grep -c "^$p: equal" out)" 1
        in_sample || continue
        check "$p on $m" 0 "$allot" exec --machine $m ./$p
        is "$p on $m" "$(grep -c "^$p: equal" out)" 1
    done
done
# Clusters, bulk and tensor copies: without timing.
if nvcc -std=c++17 -w -cudart shared -arch=compute_90 "$source/tests/nvcc/hopper.cu" -o hopper 2>nvcc.log; then
    for t in 1 3; do
        check "hopper, $t threads" 0 "$allot" exec --functional --threads $t --machine h100 ./hopper
        is "hopper, $t threads" "$(grep -c "^hopper: equal" out)" 1
    done
else
    fail "nvcc: hopper" nvcc.log
fi
echo "nvcc-run: $passed checks passed, $failed failed"
[ $failed -eq 0 ]
