#!/bin/sh
# allot paper micro: usage: micro.sh ALLOT SOURCE_DIR
# The quick subset (every kernel on both machines) executes the reference's instruction
# counts and keeps the goals of docs/fidelity.md; the command fails if not.
set -u
allot=$1
export ALLOT_DATA=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAILED: $*"; cat "$dir/out" "$dir/err"; exit 1; }

"$allot" paper micro --quick --csv >"$dir/out" 2>"$dir/err" || fail "paper micro --quick"
# Every kernel once a machine, and the warm-ups of those that have one.
n=$(tail -n +2 "$dir/out" | cut -d, -f1,2 | sort -u | wc -l)
kernels=$(ls "$2"/workloads/micro/*.ptx | grep -vc '/touch') # those only warm up
[ "$n" -eq $((2 * kernels)) ] || fail "$n cases for $kernels kernels on two machines"
grep -q '^both ' "$dir/err" || fail "no summary"

# An independent look at the table: each ratio is the quotient beside it.
awk -F, 'NR > 1 { d = $5 / $6 - $7; if (d < -1e-4 || d > 1e-4) exit 1 }' "$dir/out" ||
    fail "a ratio is not ours / theirs"

# A reference that is 20 % off everywhere must fail, as must a wrong instruction count.
mkdir -p "$dir/data/papers/micro" "$dir/data/workloads"
cp -r "$2/workloads/micro" "$dir/data/workloads/"
ref=$2/papers/micro/gpgpusim.csv
spoilt=$dir/data/papers/micro/gpgpusim.csv
awk -F, -v OFS=, 'NR > 1 { $9 = int($9 * 1.2) } 1' "$ref" >"$spoilt"
ALLOT_DATA=$dir/data "$allot" paper micro --quick --machine gtx480 >"$dir/out" 2>"$dir/err" &&
    fail "20 % off passes"
awk -F, -v OFS=, 'NR == 2 { $11++ } 1' "$ref" >"$spoilt"
ALLOT_DATA=$dir/data "$allot" paper micro launch-1x32 >"$dir/out" 2>"$dir/err" &&
    fail "a wrong instruction count passes"
grep -q 'warp and' "$dir/err" || fail "... and is not named"
awk -F, -v OFS=, 'NR == 3 { $8 = "many" } 1' "$ref" >"$spoilt"
ALLOT_DATA=$dir/data "$allot" paper micro launch-1x32 >"$dir/out" 2>"$dir/err" &&
    fail "a bad row passes"
grep -q 'gpgpusim.csv:3:1: error: regs' "$dir/err" || fail "the bad row is not named"
echo passed
