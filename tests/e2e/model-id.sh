#!/bin/sh
# model-id.sh ALLOT SOURCE: which hashes of src/experiments/model_id.cmake change with a source: the
# simulator's and its folder's with its own alone, a workload's with all that makes its inputs and launches.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
command -v cmake >/dev/null || { echo "SKIP: needs cmake"; exit 77; }

mkdir -p src/base src/passes/one src/passes/two src/passes/three src/timing/mem src/experiments workloads/plain workloads/mesh_one workloads/mesh_two workloads/gates workloads/circuits
echo 'int a;' >src/base/a.c
echo 'int p;' >src/passes/pass.c
printf 'const struct pass pass_one_thing = {0};\n' >src/passes/one/one_thing.c
printf '#include "passes/one/one.h"\n' >src/passes/two/two.c
printf '#include "passes/two/two.h"\n' >src/passes/three/three.c
echo 'int b;' >src/timing/mem/b.c
echo 'int c;' >src/experiments/figure.c
echo 'int d;' >src/experiments/store.c
echo 'int support;' >workloads/support.c
echo 'int order;' >workloads/reorder.c
echo 'void order(void);' >workloads/reorder.h
echo '#include "reorder.h"' >workloads/mesh.h
echo 'int mesh;' >workloads/mesh.c
echo '#include "circuit.h"' >workloads/circuit.c
echo 'int n;' >workloads/circuit.h
echo data >workloads/circuits/b17.ckt.zst
echo 'int shared;' >workloads/mesh_one/own.h
echo '#include <stdio.h>' >workloads/plain/workload.c
printf '#include "mesh.h"\n#include "own.h"\n' >workloads/mesh_one/workload.c
printf '#include "mesh.h"\n  # include "../mesh_one/own.h"\n' >workloads/mesh_two/workload.c
echo '#include "circuit.h"' >workloads/gates/workload.c

ids() {
    check "hashes" 0 cmake -DOUT="$dir/out.h" -DSOURCE="$dir" -P "$src/src/experiments/model_id.cmake"
    sed -n -e 's/^#define RUN_MODEL "\(.*\)"/simulator \1/p' \
        -e '/PASS_ROOM/d' -e 's/.*ROOM_ID("\(.*\)", "\(.*\)").*/of_\1 \2/p' \
        -e 's/.*WORKLOAD_ID("\(.*\)", "\(.*\)").*/\1 \2/p' out.h >"$1"
}
# change FILE NAME...: after a change of FILE these hashes, and no others, are new.
change() {
    file=$1
    shift
    ids before
    echo '/**/' >>"$file"
    ids after
    is "a change of $file" "$(diff before after | sed -n 's/^> \([a-z_/]*\) .*/\1/p' | tr '\n' ' ')" "${*:+$* }"
}

ids first
is "hashes" "$(sed 's/ .*//' first | tr '\n' ' ')" "simulator of_base of_passes/one of_passes of_passes/three of_passes/two of_timing of_experiments gates mesh_one mesh_two plain "
change src/base/a.c simulator of_base
change src/timing/mem/b.c simulator of_timing
change src/experiments/figure.c of_experiments # values of figures; a run's counters do not depend on it
change src/experiments/store.c
change src/passes/pass.c simulator of_passes
change src/passes/one/one_thing.c simulator of_passes/one of_passes/three of_passes/two # two includes one, three two
change src/passes/two/two.c simulator of_passes/three of_passes/two
has out.h 'PASS_ROOM("one-thing", "passes/one")'
change workloads/plain/workload.c plain
change workloads/support.c gates mesh_one mesh_two plain
change workloads/mesh.h mesh_one mesh_two
change workloads/mesh.c mesh_one mesh_two
change workloads/reorder.c mesh_one mesh_two # by way of mesh.h
change workloads/mesh_one/own.h mesh_one mesh_two
change workloads/circuit.c gates
change workloads/circuits/b17.ckt.zst gates
change workloads/plain/README.md

# A file that the build does not watch would be noticed too late.
echo 'int x;' >far.h
echo '#include "../../far.h"' >>workloads/plain/workload.c
check "a file that is not watched" 1 cmake -DOUT="$dir/out.h" -DSOURCE="$dir" \
    -P "$src/src/experiments/model_id.cmake"
has err "plain depends on far.h, which is not in model_sources.cmake"

# Every pass has a folder.
check "the sources' own" 0 cmake -DOUT="$dir/own.h" -DSOURCE="$src" -P "$src/src/experiments/model_id.cmake"
is "passes" "$(sed -n 's/.*PASS_ROOM("\(.*\)", .*/\1/p' own.h | sort | tr '\n' ' ')" \
    "$(sed -n 's/^PASS(pass_\(.*\))/\1/p' "$src/src/passes/passes.def" | tr _ - | sort | tr '\n' ' ')"

finish model-id
