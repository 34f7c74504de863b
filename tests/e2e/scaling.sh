#!/bin/sh
# scaling.sh ALLOT SOURCE [N]: reading, passes, register allocation and decoding take nearly linear
# time. Each kind of large kernel (tools/large-kernel) is made with N/16 and with N/4 parts of a few lines;
# for four times the size at most 5.2 times the instructions are executed (N log N has 4.7 here). They are
# counted by callgrind: the answer is the same on a loaded machine. N is 2000; with 100000
# it takes some minutes, with 1000000 an hour or more.
set -eu
allot=$1 source=$2 n=${3:-2000}
command -v valgrind >/dev/null || { echo "SKIP: needs valgrind"; exit 77; }
if nm -D "$allot" | grep -q __asan_init; then
    echo "SKIP: valgrind runs nothing that is built with ASan"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# instructions COMMAND...
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" >"$dir/out" 2>"$dir/said" ||
        { cat "$dir/said"; exit 1; }
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$dir/said"
}
echo '.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p) { ret; }' >"$dir/empty.ptx"

# grows NAME WHAT COMMAND...: FILE in the command stands for the kernel
failed=0
grows() {
    name=$1 size=$2
    shift 2
    counts=
    for f in empty "$name-small" "$name-large"; do
        known=$dir/empty-$(echo "$*" | tr -c 'a-z\n' _)
        if [ $f = empty ] && [ -r "$known" ]; then
            counts=$(cat "$known")
            continue
        fi
        c=
        for word; do
            [ "$word" = FILE ] && word=$dir/$f.ptx
            c="$c $word"
        done
        counts="$counts $(instructions $c)"
        [ $f != empty ] || echo "$counts" >"$known"
    done
    set -- $counts
    ratio=$((100 * ($3 - $1) / ($2 - $1)))
    echo "$name $size: $(($2 - $1)) and $(($3 - $1)) instructions, $ratio % for four times the size"
    [ "$ratio" -le 520 ] || { echo "scaling.sh: that is too much"; failed=1; }
}

# make KIND SIZE
make() {
    "$source/tools/large-kernel" "$1" $(($2 / 16)) >"$dir/$1-small.ptx"
    "$source/tools/large-kernel" "$1" $(($2 / 4)) >"$dir/$1-large.ptx"
}
for kind in straight diamonds copies literals loops; do
    make $kind "$n"
    grows $kind "read and printed" "$allot" opt FILE -p strip-extensions
    grows $kind "cleaned up" "$allot" opt FILE -p cleanup
    grows $kind "scheduled" "$allot" opt FILE -p schedule
    grows $kind "allocated" "$allot" opt FILE -p register-allocate
done
make live $((6 * n)) # colouring has a constant budget: both must be well above the limit
grows live "allocated with spills" "$allot" opt FILE -p register-allocate
for kind in straight diamonds literals; do
    grows $kind "decoded and run" "$allot" run FILE --functional --registers virtual --grid 1 --block 32 \
        --arg buf:32xu32
done
exit $failed
