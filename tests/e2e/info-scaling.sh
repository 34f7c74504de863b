#!/bin/sh
# info-scaling.sh ALLOT SOURCE [N]: allot info takes nearly linear time, on loops within loops too. Of each
# kind of large kernel (tools/large-kernel) there are two, with N and 2 N parts: twice the size executes at
# most 2.4 times the instructions (N log N has 2.2 here). They are counted by callgrind: the
# answer is the same on a loaded machine. And unified-alloc:registers=auto allocates a large kernel for few
# numbers of registers, whatever number of blocks an SM may hold.
set -eu
allot=$1 source=$2 n=${3:-80}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# limits LINES: how many numbers of registers are tried for a kernel with 3 LINES instructions
limits() {
    "$source/tools/large-kernel" live "$1" >"$dir/live.ptx"
    "$allot" info "$dir/live.ptx" -m a100 --block 64 --steps --json >"$dir/steps"
    grep -o '"limit": [0-9]*' "$dir/steps" | sort -u | wc -l
}
small=$(limits 250) large=$(limits 1100)
echo "registers=auto: $small numbers of registers for a small kernel, $large for a large one"
[ "$small" -ge 9 ] || { echo "info-scaling.sh: a small kernel must be tried with all"; failed=1; }
[ "$large" -le 5 ] || { echo "info-scaling.sh: that is too many"; failed=1; }

if ! command -v valgrind >/dev/null || nm -D "$allot" | grep -q __asan_init; then
    echo "SKIP: time needs valgrind, and a build without ASan"
    [ $failed = 1 ] || exit 77
    exit 1
fi

# instructions FILE
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$allot" info "$1" -m a100 >/dev/null 2>"$dir/said" ||
        { cat "$dir/said"; exit 1; }
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$dir/said"
}
"$source/tools/large-kernel" nest 1 >"$dir/1.ptx"
least=$(instructions "$dir/1.ptx")
for kind in nest branches diamonds loops; do
    "$source/tools/large-kernel" $kind "$n" >"$dir/1.ptx"
    "$source/tools/large-kernel" $kind $((2 * n)) >"$dir/2.ptx"
    a=$(($(instructions "$dir/1.ptx") - least)) b=$(($(instructions "$dir/2.ptx") - least))
    echo "$kind: $a and $b instructions, $((100 * b / a)) % for twice the size"
    [ $((100 * b / a)) -le 240 ] || { echo "info-scaling.sh: that is too much"; failed=1; }
done
exit $failed
