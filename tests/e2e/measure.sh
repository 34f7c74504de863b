#!/bin/sh
# allot measure, allot paper hw-correlation: usage: measure.sh ALLOT SOURCE_DIR
set -u
allot=$1
export ALLOT_DATA=$2 ALLOT_MACHINES=$2/machines
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAILED: $*"; cat "$dir/out" "$dir/err"; exit 1; }
run() { "$allot" "$@" >"$dir/out" 2>"$dir/err"; }

# -- nothing to measure, nothing measured --
run measure --library "$dir/nosuch.so" && fail "measures without a driver"
grep -q 'no CUDA driver here' "$dir/err" || fail "does not say that there is no driver"
mkdir -p "$dir/data/papers/micro" "$dir/data/workloads"
cp -r "$2/workloads/micro" "$dir/data/workloads/"
cp "$2/papers/micro/gpgpusim.csv" "$dir/data/papers/micro/"
if [ ! -d "$2/papers/hw" ]; then
    ALLOT_DATA=$dir/data run paper hw-correlation || fail "no data is no failure"
    grep -q '^no data of any GPU' "$dir/out" || fail "does not say that there is no data"
    [ "$(wc -l <"$dir/out")" -eq 1 ] || fail "says it in more than a line"
fi

# -- a file: what we simulate ourselves has no error, half of it one of 100 % --
head='case,kernel,launch,cycles'
cat >"$dir/a.csv" <<EOF
# card: Tesla V100-SXM2-16GB
# driver: CUDA 12.4
# date: 2026-01-01
$head
chain-add_s32-8,chain_add_s32,1/1,1000
chase-8K-touch-64,touch128,1/2,1000
chase-8K-touch-64,chase,2/2,1000
atom-chain-4,atom_chain,1/1,1000
EOF
run paper hw-correlation --cases "$dir/a.csv" || fail "a file of data"
grep -q '^v100 beside Tesla V100-SXM2-16GB (CUDA 12.4, 2026-01-01)' "$dir/out" || fail "card"
{
    printf '# card: V100\n%s\n' "$head"
    awk '$1 ~ /-/ && $2 ~ /^[12]$/ { print $1 ",k," $2 "/2," $3 }' "$dir/out"
} >"$dir/b.csv"
[ "$(wc -l <"$dir/b.csv")" -eq 6 ] || fail "four launches"
run paper hw-correlation "$dir/b.csv" || fail "our own figures"
grep -q '^4 launches, mean error 0.0 %, correlation of the logarithms 1.0000' "$dir/out" ||
    fail "our own figures have an error"
awk -F, -v OFS=, '/^atom/ { $4 = int($4 / 2) } 1' "$dir/b.csv" >"$dir/c.csv"
run paper hw-correlation "$dir/c.csv" || fail "half"
grep -Eq '^atom_chain +1 +100\.[0-9] %' "$dir/out" || fail "half is not 100 % off"
[ "$(awk '/^---/ { getline; print $1; exit }' "$dir/out")" = atom_chain ] || fail "worst first"

# -- a dry run: every case, no GPU, rows without cycles; what reads the file takes it --
"$allot" list workloads | awk 'NF && $1 != "workload" && $1 !~ /^-/ { print $1 }' >"$dir/names"
[ "$(wc -l <"$dir/names")" -gt 60 ] || fail "few workloads are listed"
cases= micro=105
if nm -D "$allot" | grep -q __asan_init; then # a sample: the release build has all of them
    awk 'NR % 6 == 1' "$dir/names" >"$dir/some" && mv "$dir/some" "$dir/names"
    cases="chain published $(sed 's,.*,workload/&/,' "$dir/names")" micro='[0-9]*'
fi
# shellcheck disable=SC2086 # words
run measure --dry-run --quick -m v100 -o "$dir/dry.csv" $cases || fail "dry run"
grep -q "$micro cases of microbenchmarks, .* 0 cases that could not be measured" "$dir/err" ||
    fail "not every microbenchmark, or one that does not fit"
# every kernel that an experiment of papers/micro has for this capability
sed -n 's/.*ptx: \([a-z]*\).ptx, kernel: \([a-z0-9_]*\),.*/published\/\1\/\2\//p' \
    "$2"/papers/micro/*v100.yaml "$2"/papers/micro/*titanv.yaml | sort -u >"$dir/kernels"
[ "$(wc -l <"$dir/kernels")" -gt 20 ] || fail "few kernels in papers/micro"
while read -r k; do
    grep -q "^$k[0-9]*x[0-9]*-2,[a-z0-9_]*,1/1,,,$" "$dir/dry.csv" || fail "$k is not in the dry run"
done <"$dir/kernels"
while read -r w; do
    grep -q "^workload/$w/quick,[A-Za-z_0-9]*,1/[1-9][0-9]*,,,$" "$dir/dry.csv" || fail "$w is not in the dry run"
done <"$dir/names"
run paper hw-correlation "$dir/dry.csv" || fail "a dry run's file"
grep -q ' rows without cycles$' "$dir/out" && [ ! -s "$dir/err" ] || fail "complains of a dry run's file"
# half filled: what is known is compared
sed 's/^\(chain-add_s32-8,.*,1\/1\),,,/\1,1000,,/' "$dir/dry.csv" >"$dir/half.csv"
run paper hw-correlation "$dir/half.csv" || fail "a file half filled"
grep -q '^1 launches' "$dir/out" || fail "not the one row with cycles"
# full inputs are other cases
run measure --dry-run -m v100 workload/vecadd || fail "dry run of one"
[ "$(grep -c '^workload/vecadd' "$dir/out")" -eq 2 ] || fail "full and quick input"
# what a machine cannot launch is said, and the rest goes on
run measure --dry-run --quick workload/nosuch && fail "an unknown workload"
grep -q "no case begins with 'workload/nosuch'" "$dir/err" || fail "does not name it"
run measure --quick --ptxas && fail "--ptxas alone"
printf 'base: v100\nsm:\n  max_block_threads: 128\n' >"$dir/small.yaml"
run measure --dry-run --quick -m "$dir/small.yaml" workload/vecadd workload/nn/ && fail "blocks too large"
grep -q 'case workload/vecadd/quick could not be measured' "$dir/err" || fail "does not say which"
grep -q '256 threads' "$dir/err" || fail "does not say why"
grep -q '^workload/vecadd' "$dir/out" && fail "writes a row of it"
grep -q '^workload/nn/quick,' "$dir/out" || fail "the rest does not go on"
run measure --dry-run --quick -p nosuch workload/bfs/ && fail "an unknown pass"
grep -q "no pass is called 'nosuch'" "$dir/err" || fail "does not name the pass"
run measure --dry-run --quick -m v100 -p machine || fail "a machine's own passes"
grep -q '^workload/bfs/quick,' "$dir/out" || fail "no workloads"
grep -q '^chain' "$dir/out" && fail "microbenchmarks have no passes"
grep -q ' 74 of workloads' "$dir/err" || fail "all workloads"
if command -v ptxas >/dev/null; then
    run measure --dry-run --quick --ptxas -m v100 workload/vecadd chase || fail "ptxas takes the kernels"
fi

# -- what is wrong is named --
printf '# card: Voodoo\n%s\n' "$head" >"$dir/d.csv"
run paper hw-correlation "$dir/d.csv" && fail "an unknown card"
grep -q "which machine is card 'Voodoo'" "$dir/err" || fail "does not ask for the machine"
printf '# card: V100\n%s\nnosuch,k,1/1,5\n' "$head" >"$dir/d.csv"
run paper hw-correlation "$dir/d.csv" && fail "an unknown case"
grep -q 'd.csv:3' "$dir/err" || fail "its line is not named"

# -- measured on the simulated GPU, through the driver's look-alike --
lib=$(dirname "$allot")/cuda/libcuda.so.1
if [ -e "$lib" ]; then
    ALLOT_MACHINE=v100 ALLOT_SETTINGS=compiler.registers=virtual run measure --library "$lib" --warm --repeat 1 -o "$dir/m.csv" \
        chain-add_s32-8 shared-chain-stride0-4 published/latency/iadd published/latency/lds1 ||
        fail "measure"
    run paper hw-correlation --machine v100 "$dir/m.csv" || fail "what was measured"
    grep -Eq '^6 launches, mean error 0.0 %' "$dir/out" || fail "measured is not simulated"
    # workloads: second and later runs find instruction caches and L2 as the ones before left
    # them, which saves about 450 cycles: launches of 15,000 and more are about the same
    ALLOT_MACHINE=v100 run measure --library "$lib" --warm --repeat 1 --quick -o "$dir/w.csv" \
        workload/gaussian_fan1 workload/mum || fail "measure workloads: $(cat "$dir/err")"
    grep -q 'workload/mum/quick is left out: it needs textures' "$dir/err" || fail "textures"
    [ "$(grep -c '^workload/' "$dir/w.csv")" -eq 2 ] || fail "rows: $(cat "$dir/w.csv")"
    grep -q '^workload/gaussian_fan1/quick,Fan2,2/2,' "$dir/w.csv" || fail "a row for each kernel"
    # as passes leave the kernels: the results are checked
    ALLOT_MACHINE=v100 run measure --library "$lib" --warm --repeat 1 --quick -m v100 -p machine -o "$dir/p.csv" \
        workload/lud/ workload/conv1 || fail "measure passes: $(cat "$dir/err")"
    grep -q '^# passes: machine' "$dir/p.csv" || fail "does not say which passes"
    [ "$(grep -c '^workload/' "$dir/p.csv")" -eq 4 ] || fail "rows of passes: $(cat "$dir/p.csv")"
    ALLOT_MACHINE=v100 run measure --library "$lib" --warm --repeat 3 --quick -o "$dir/w.csv" workload/bfs/ \
        workload/lavaMD workload/kmeans workload/sgemm/ || fail "measure workloads: $(cat "$dir/err")"
    run paper hw-correlation --cases --quick --machine v100 "$dir/w.csv" || fail "what was measured of workloads"
    awk '/^4 launches, mean error/ { sub(/%.*/, ""); ok = $5 < 2 } END { exit !ok }' "$dir/out" ||
        fail "measured is not simulated"
else
    echo "no libcuda.so.1 of ours: the recorder itself is not tried"
fi
echo passed
