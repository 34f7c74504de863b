#!/bin/sh
# cuda-programs.sh ALLOT SOURCE: CUDA programs as they are, on the simulated GPU: those of
# tests/programs by clang and by nvcc, and what `allot exec` makes of them.
set -u
allot=$1
src=$2
build=$(dirname "$allot")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
failed=0
passed=0
skipped=0

# Libraries built with ASan need its own in the program, whose leaks are not our concern.
asan=
libasan=
if nm -D "$build/cuda/liballot-cuda.so" | grep -q __asan_init; then
    libasan=$(${CC:-cc} -print-file-name=libasan.so)
    asan="LD_PRELOAD=$libasan ASAN_OPTIONS=detect_leaks=0"
fi

fail() {
    echo "FAIL $1"
    shift
    [ $# -eq 0 ] || sed 's/^/    /' "$@" | head -20
    failed=$((failed + 1))
}
# check NAME STATUS COMMAND...: exit status, output kept in out and err
check() {
    name=$1
    want=$2
    shift 2
    # shellcheck disable=SC2086 # words
    timeout 100 env $asan "$@" >out 2>err </dev/null
    got=$?
    if [ $got -ne "$want" ]; then
        fail "$name: exit status $got, not $want" out err
        return 1
    fi
    passed=$((passed + 1))
}
# has FILE TEXT, lacks FILE TEXT
has() {
    grep -qF -- "$2" "$1" && passed=$((passed + 1)) || fail "$name: '$2' is not in its $1:" "$1"
}
lacks() {
    grep -qF -- "$2" "$1" && fail "$name: '$2' is in its $1:" "$1" || passed=$((passed + 1))
}

# -- the programs check themselves --
programs=
second=0
for p in "$build"/programs/clang/* "$build"/programs/nvcc/*; do
    case $p in *.ptx | *.fatbin | *.o | *'*') continue ;; esac
    [ -x "$p" ] || continue
    n=$(basename "$(dirname "$p")")/$(basename "$p")
    programs="$programs $n"
    case $asan,$n in # under ASan some of the second compiler, the release build has all
    ?*,nvcc/*)
        second=$((second + 1))
        [ $((second % 4)) -eq 1 ] || continue
        ;;
    esac
    check "$n" 0 "$allot" exec "$p"
    has err "on a100, scheduler lrr"
    has err "launches"
    case $asan,$n in ?*,nvcc/*) continue ;; esac # under ASan of one compiler only
    check "$n, functional" 0 "$allot" exec --functional --machine gtx480 "$p"
done
for n in memory streams templates cooperative textures texrefs opengl partial_warps careless print quicksort blocksort \
    quadtree bezier rules conditional; do
    case $programs in *clang/$n*) ;; *) fail "there is no program clang/$n" ;; esac
done
case $programs in
*nvcc/*) ;;
*) echo "SKIP: needs nvcc (its builds of the programs)" && skipped=1 ;;
esac

# OpenGL's buffers, with an OpenGL that only keeps them
cat >gl.c <<'EOF'
#include <stdlib.h>
#include <string.h>
static struct { char *p; long n; } buffer[9];
static unsigned made, bound;
void glGenBuffers(int n, unsigned *b) { while (n--) *b++ = ++made; }
void glBindBuffer(unsigned target, unsigned b) { bound = b; }
void glBufferData(unsigned target, long n, const void *p, unsigned use)
{
    buffer[bound].p = realloc(buffer[bound].p, buffer[bound].n = n);
    memcpy(buffer[bound].p, p, n);
}
void glGetIntegerv(unsigned what, int *v) { *v = what == 0x8894 ? (int)bound : 0; }
void glGetBufferParameteriv(unsigned target, unsigned what, int *v)
{
    *v = what == 0x8764 ? (int)buffer[bound].n : 0;
}
void glGetBufferSubData(unsigned target, long at, long n, void *p)
{
    memcpy(p, buffer[bound].p + at, n);
}
void glBufferSubData(unsigned target, long at, long n, const void *p)
{
    memcpy(buffer[bound].p + at, p, n);
}
EOF
${CC:-cc} -shared -fPIC gl.c -o libfakegl.so
for p in "$build"/programs/clang/opengl "$build"/programs/nvcc/opengl; do
    [ -x "$p" ] || continue
    check "$p with OpenGL" 0 env LD_PRELOAD="$libasan $PWD/libfakegl.so" "$allot" exec "$p"
    has err "twice"
    has out "opengl: a buffer"
done

# Kernels that kernels launch are launches of their own, with the parent's name; what is
# refused because too many wait is said.
check "nested launches" 0 "$allot" exec --per-kernel --json s.json "$build/programs/clang/rules"
has err "child(int*, int) <<<(1,1,1), (1,1,1)>>>"
has err "launched by ordered(int*)"
has err "has launched 2048 kernels that wait for it to end"
has err "cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount"
has err "kernel 'bad(int*)' was launched by kernel 'faulty()'"
[ "$(grep -c '"parent": "_Z5againPii"' s.json)" = 2999 ] || fail "2999 launches by again" s.json

# -- what allot exec adds --
p=$build/programs/clang/streams
check "statistics" 0 "$allot" exec --machine titan --scheduler lrr --set sm.count=4 --per-kernel \
    --json s.json --csv s.csv -- "$p"
cp out first
has out "pipeline"
lacks out "allot"
lacks out "launches"
has err "allot: add(int*, int, int) <<<(16,1,1), (256,1,1)>>>"
has s.json '"machine": "titan"'
has s.json '"sm.scheduler": "lrr"'
has s.json '"sm.count": "4"'
has s.json '"exit_status": 0'
has s.json '"name": "_Z3addPiii"'
has s.json '"warp_instructions":'
[ "$(grep -c '"ipc":' s.json)" = 37 ] || fail "37 launches in s.json" s.json
[ "$(wc -l <s.csv)" = 38 ] || fail "38 lines in s.csv" s.csv
head -1 s.csv >header
has header "workload,machine,kernel,seconds,cycles"
fields=$(head -1 s.csv | tr , '\n' | wc -l)
awk -F, -v n="$fields" 'NF != n { exit 1 }' s.csv || fail "each line of s.csv has $fields fields"
check "the same again" 0 "$allot" exec --machine titan --scheduler lrr --set sm.count=4 --no-table -- "$p"
cmp -s out first || fail "simulated time differs from run to run" first out
[ -s err ] && fail "--no-table leaves nothing on stderr" err
# The store: a run a program, a row a launch, with what --json says of it.
check "stored" 0 "$allot" exec --machine titan --scheduler lrr --set sm.count=4 --no-table --json s.json \
    --db s.db -- "$p" --unused argument
check "stored launches" 0 "$allot" results show 1 --json - --db s.db
python3 - out s.json <<'END' && passed=$((passed + 1)) || fail "the store's launches" out
import json, sys
run, said = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
assert run["state"] == "done" and run["workload"].endswith("/streams"), run["workload"]
assert run["params"] == ["arg=--unused", "arg=argument"], run["params"]
assert run["settings"] == ["sm.scheduler=lrr", "sm.count=4"], run["settings"]
assert len(run["machine_hash"]) == 16 and run["seconds"] > 0
assert len(run["launches"]) == len(said["kernels"]) == 37
for stored, told in zip(run["launches"], said["kernels"]):
    assert stored["kernel"] == told["name"] and stored["ptx_hash"] == run["ptx_hash"]
    counters = [k for k, v in stored.items() if isinstance(v, int)]
    assert len(counters) > 60 and all(stored[k] == told[k] for k in counters)
END
check "stored again" 0 "$allot" exec --scheduler gto --no-table --db s.db -- "$p"
check "both" 0 "$allot" results diff 1 2 --db s.db
has out "sm.scheduler=gto"
check "a failed program" 3 "$allot" exec --no-table --db s.db -- sh -c 'exit 3'
check "is stored as such" 0 "$allot" results list --state failed --db s.db
has out " failed "
check "nothing timed to store" 2 "$allot" exec --functional --db s.db -- "$p"
check "another machine" 0 "$allot" exec --machine titan --set sm.count=1 --no-table "$p"
cmp -s out first && fail "simulated time is the same on another machine" out

cat >script <<'END'
#!/bin/sh
"$1" >/dev/null && echo "args: $*"
exit 7
END
chmod +x script
check "a script's own status" 7 "$allot" exec --json s.json ./script "$p" --help -x
has out "--help -x"
has s.json '"exit_status": 7'
has s.json '"check": "failed"'
has s.json '"name": "_Z3addPiii"'
check "killed" 137 "$allot" exec sh -c 'kill -9 $$'
check "interrupted" 130 "$allot" exec sh -c 'kill -2 $$'
has err "no kernel was launched"
name=terminated
"$allot" exec sleep 60 2>err &
sleep 0.3
kill -TERM $!
wait $!
[ $? -eq 143 ] || fail "$name: exit status not 143" err
check "no such program" 1 "$allot" exec ./nothing
has err "cannot run ./nothing"
check "not in PATH" 1 "$allot" exec nothing-of-that-name
has err "no program 'nothing-of-that-name'"
check "no program" 2 "$allot" exec
check "wrong option" 2 "$allot" exec --seed 3 "$p"
check "wrong machine" 2 "$allot" exec --machine gtx4800 "$p"
check "output in no folder" 1 "$allot" exec --json nowhere/s.json "$p"
check "a limit" 1 "$allot" exec --max-cycles 10 "$p"
has err "stopped after 10 cycles"

# -- launches that come to nothing are not overlooked --
p=$build/programs/clang/careless
for mode in "" --functional; do
    store=
    [ "$mode" ] || store="--db fault.db"
    # shellcheck disable=SC2086 # words
    check "a fault $mode" 1 "$allot" exec $mode $store --json s.json "$p" fault
    has out "careless: success"
    has err "the program's PTX:"
    has err "global store of 4 bytes at"
    has err "(parameter 1, 'fill(int*, int, int)_param_0'), which end"
    has err "launch 2, of fill(int*, int, int), failed (cudaErrorIllegalAddress): the program's"
    has err "took no notice and ended with status 0"
    has s.json '"check": "failed"'
    has s.json '"exit_status": 0'
    has s.json '"reason": "launch 2, of fill(int*, int, int), failed (cudaErrorIllegalAddress)'
    has s.json '"outcome": "failed"'
done
check "a fault, stored" 0 "$allot" results list --state failed --db fault.db
has out "careless"
check "reset at the end" 1 "$allot" exec --no-table "$p" "fault, reset at the end"
has err "took no notice"
check "a new start" 0 "$allot" exec --json s.json "$p" "fault, new start"
lacks err "took no notice"
has err "launch 2, of fill(int*, int, int), failed"
has s.json '"check": "passed"'
has s.json '"noticed": true'
check "refused" 1 "$allot" exec --json s.json "$p" refused
has err "a block of (2048,1,1) threads, but a100 allows (1024,1024,64) and 1024 in all"
has err "1048576 bytes of dynamic and 256 of static shared memory, but a block has at most"
has err "a grid of (1,70000,1) blocks, but a100 allows (2147483647,65535,65535)"
[ "$(grep -c '^allot: kernel.*a block of (2048' err)" = 1 ] || fail "$name: explained once" err
has err "launch 2, of fill(int*, int, int), was refused (cudaErrorInvalidConfiguration)"
has err "and 2 more with this error"
has s.json '"check": "failed"'
has s.json '"outcome": "refused"'
check "refused, and the program asked" 0 "$allot" exec --no-table --json s.json "$p" "refused, asked"
has err "(sm.max_block_threads). Launch more and smaller blocks"
lacks err "allot exec:"
has s.json '"check": "passed"'

# -- reads outside an allocation: refused, or 0 and one warning --
check "a row above" 1 "$allot" exec "$p" "row above"
has err "global load of 4 bytes at"
check "a guard that is too small" 1 "$allot" exec --guard 63 "$p" "row above"
for mode in "" --functional "--threads 2"; do
    # shellcheck disable=SC2086 # words
    check "a guard $mode" 0 "$allot" exec $mode --no-table --guard 64 --json s.json "$p" "row above"
    has out "first 5, seventeenth 10"
    has err "16 reads outside of allocations gave 0; the first is of block (0,0,0), thread (0,0,0)"
    has err "ld.global.u32"
    [ "$(grep -c warning err)" = 1 ] || fail "$name: one warning" err
    has s.json '"guard": "64"'
    has s.json '"check": "passed"'
done
check "stores beyond a guard" 1 "$allot" exec --no-table --guard 64 "$p" fault
has err "global store of 4 bytes at"
check "a guard with a unit" 0 "$allot" exec --no-table --guard 1K "$p" "row above"
check "no number" 2 "$allot" exec --guard 1x "$p"
check "a guard too large" 2 "$allot" exec --guard 17m "$p"

# -- programs that cannot run are told so before they start --
if command -v nvcc >/dev/null 2>&1; then
    cat >k.cu <<'END'
#include <cstdio>
__global__ void k() {}
int main() { puts("started"); k<<<1, 1>>>(); return cudaDeviceSynchronize(); }
END
    nvcc -cudart shared -gencode arch=compute_80,code=sm_80 k.cu -o sass >nvcc.log 2>&1 &&
        check "machine code only" 1 "$allot" exec ./sass &&
        has err "no PTX to simulate" && has err "compute_75" && lacks out started
    # A kernel that waits for the host: nothing can tell it from a long one, but it is said.
    cat >waits.cu <<'END'
__global__ void waits(volatile int *flag) { flag[0] = 1; while (!flag[1]); }
int main() {
    volatile int *flag;
    cudaHostAlloc((void **)&flag, 8, cudaHostAllocMapped);
    flag[0] = flag[1] = 0;
    waits<<<1, 1>>>(flag);
    while (!flag[0]);
    flag[1] = 1;
    return cudaDeviceSynchronize();
}
END
    if nvcc -cudart shared -arch=compute_75 waits.cu -o waits >nvcc.log 2>&1; then
        check "a kernel waits for the host" 124 timeout 13 "$allot" exec --functional ./waits
        has err "kernel waits(int volatile*): no block has ended for 10 s (0 of 1 have)"
        check "with a limit" 0 sh -c "\"$allot\" exec --max-cycles 100000 ./waits; [ \$? -ne 0 ]"
        has err "stopped after 100000 cycles"
    fi
    # A program that wants a newer GPU than there is: what to do is said, once it has given up.
    cat >needs.cu <<'END'
#include <cstdio>
__global__ void k() {}
int main() {
    cudaDeviceProp p;
    if (cudaGetDeviceProperties(&p, 0) || p.major < 9) return 2;
    k<<<1, 1>>>();
    return cudaDeviceSynchronize();
}
END
    if nvcc -cudart shared -arch=compute_90 needs.cu -o needs >nvcc.log 2>&1; then
        check "too old a GPU" 2 "$allot" exec ./needs
        has err "for compute capability 9.0 and later, and a100"
        has err "--set gpu.compute_capability=90"
        check "one that says more" 0 "$allot" exec --set gpu.compute_capability=90 ./needs
        lacks err "compute capability"
        check "one of that capability" 0 "$allot" exec --machine h100 ./needs
    fi
    sed 's/libcudart\.so\.13/libcudart.so.10/' <"$p" >old 2>/dev/null
    chmod +x old
    check "CUDA 10" 1 "$allot" exec ./old && has err "libcudart.so.10"
fi

# -- the libraries in place of CUDA's export CUDA's names, and nothing else --
for v in 11 12 13; do
    lib=$build/cuda/libcudart.so.$v
    [ $v = 11 ] && lib=$lib.0
    awk -v v=$v '!/^#/ && ("," $2 ",") ~ ("," v ",") { print $1 }' \
        "$src/src/cuda/cudart/cudart.symbols" | sort >want
    nm -D --defined-only "$lib" | awk '$2 != "A" { print $3 }' >tagged
    sed -n 's/.*@@//p' tagged | sort -u >tags
    sed 's/@.*//' tagged | sort >got
    cmp -s want got || { diff want got >diff; fail "names of $(basename "$lib")" diff; }
    [ "$(cat tags)" = "$(basename "$lib")" ] || fail "version of $(basename "$lib")" tags
    passed=$((passed + 2))
done
nm -D --defined-only "$build/cuda/liballot-cuda.so" | awk '$2 != "A" { print $3 }' |
    grep -v '^acu_' >other && fail "liballot-cuda.so exports more than acu_*" other

echo "cuda-programs: $passed checks passed, $failed failed"
[ $failed -eq 0 ] || exit 1
[ $skipped -eq 0 ] || exit 77
