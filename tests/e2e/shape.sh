#!/bin/sh
# shape.sh ALLOT SOURCE: a pass that doubles the block and halves the grid (merge-blocks), in
# run, compare and opt; results are checked against the workload's CPU reference.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT

# shape FILE: blocks and threads of the only kernel, and the blocks of an SM.
shape() {
    python3 - "$1" <<'END'
import json, sys
k, = json.load(open(sys.argv[1]))["kernels"]
print(k["blocks"], k["threads"], k["resident_blocks"])
END
}
check "as it is" 0 "$allot" run vecadd --quick --json
cp out plain.json
check "merged" 0 "$allot" run vecadd --quick --json --set compiler.passes=merge-blocks
cp out merged.json
is "vecadd as it is" "$(shape plain.json)" "40 10240 6"
is "vecadd merged" "$(shape merged.json)" "20 10240 3"
check "compare" 0 "$allot" compare vecadd --quick \
    --variants baseline,merged:compiler.passes=merge-blocks
is "compare, passed" "$(grep -c passed out)" 2

# The printed PTX launches itself in the new shape.
x="--grid 4 --block 256 --arg 2.5 --arg buf:1024xf32,init=iota --arg buf:1024xf32,init=1,show=8 --arg 1024"
check "print" 0 "$allot" opt "$src/tests/e2e/inputs/saxpy.ptx" -p merge-blocks -o merged.ptx
check "saxpy" 0 "$allot" run "$src/tests/e2e/inputs/saxpy.ptx" $x
grep saxpy_param_2 out >plain.txt
check "saxpy merged" 0 "$allot" run merged.ptx $x
grep saxpy_param_2 out >merged.txt
check "same values" 0 cmp plain.txt merged.txt
check "saxpy merged, shape" 0 "$allot" run merged.ptx $x --json
is "saxpy merged" "$(shape out | cut -d' ' -f1,2)" "2 1024"
check "odd grid" 1 "$allot" run merged.ptx --grid 3 --block 256 --arg 2.5 \
    --arg buf:1024xf32,init=iota --arg buf:1024xf32,init=1 --arg 1024
has err "not a multiple"
finish shape
