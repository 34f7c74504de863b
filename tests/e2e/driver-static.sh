# driver-static.sh: programs with CUDA's runtime linked statically. By nvcc where it is installed;
# and the programs that clang made, linked to a "runtime" of the same names whose every function
# ends the program: what runs to its end has reached ours.
set -eu
allot=$1
source=$2
build=$(dirname "$allot")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
fail() {
    echo "driver-static.sh: $*" >&2
    exit 1
}
if nm -D "$build/cuda/liballot-cuda.so" | grep -q __asan_init; then
    echo "driver-static.sh: skipped: foreign programs do not run with libraries built with ASan"
    exit 0
fi

programs=0
for o in "$build"/programs/clang/*.o; do
    [ -e "$o" ] || continue
    n=$(basename "$o" .o)
    [ "$n" = textures ] && continue
    {
        echo 'extern void abort(void);'
        nm -u "$o" | awk '/ _*cuda/ { print "void " $2 "(void) { abort(); }" }'
        echo 'void __cudaGetKernel(void) { abort(); }' # CUDA 13 has it
    } | awk '!seen[$0]++' >runtime.c
    ${CC:-cc} -O0 -falign-functions=16 -fvisibility=hidden -c runtime.c -o runtime.o
    ${CC:-cc} "$o" runtime.o -o "$n" -lstdc++ -lm -pthread
    "$allot" exec "./$n" >out 2>err || fail "$n: $(tail -n 5 out err)"
    grep -q ' launches ' err || fail "$n: no table: $(cat err)"
    programs=$((programs + 1))
    last=$n
    # started by a script, it is found as well
    "$allot" exec sh -c "./$n" >out 2>err || fail "$n by a script: $(tail -n 5 out err)"
done
[ $programs -gt 0 ] || fail "there is no program in $build/programs/clang"
strip "$last"
! "$allot" exec "./$last" >out 2>err || fail "a program without symbols ran"
grep -q 'no symbol' err || fail "a program without symbols: $(cat err)"

PATH=$PATH:/usr/local/cuda/bin
if command -v nvcc >/dev/null; then
    nvcc -std=c++17 -arch=compute_75 -Wno-deprecated-gpu-targets \
        "$source/tests/programs/streams.cu" -o streams 2>nvcc.log || fail "nvcc: $(cat nvcc.log)"
    ldd streams | grep -q libcudart && fail "nvcc did not link statically"
    "$allot" exec ./streams >out 2>err || fail "streams by nvcc: $(tail -n 5 out err)"
    # without what allot exec preloads, the runtime inside is told no, and the user what to do
    ! LD_LIBRARY_PATH=$build/cuda ./streams >out 2>err || fail "the runtime inside took ours"
    grep -q 'cudart shared' err || fail "no word on what to do: $(cat err)"
fi
echo "driver-static.sh: $programs programs"
