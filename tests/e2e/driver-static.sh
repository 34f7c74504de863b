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
    echo "SKIP: foreign programs do not run with libraries built with ASan"
    exit 77
fi

programs=0
for o in "$build"/programs/clang/*.o; do
    [ -e "$o" ] || continue
    n=$(basename "$o" .o)
    [ "$n" = textures ] && continue
    {
        echo 'extern void abort(void);'
        nm -u "$o" | awk '/ _*cuda/ { print "void " $2 "(void) { abort(); }" }'
        # CUDA 13 has it; texture references are CUDA 11's
        [ "$n" = texrefs ] || echo 'void __cudaGetKernel(void) { abort(); }'
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

    # a library with a runtime inside, loaded while the program runs, as extension modules are
    cat >lib.cu <<'EOF'
__device__ int offset = 5;
__global__ void k(int *p) { p[threadIdx.x] = 2 * threadIdx.x + offset; }
extern "C" int run(void)
{
    int *p, h[32] = {0};
    if (cudaMalloc(&p, sizeof h)) return 1;
    k<<<1, 32>>>(p);
    if (cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost)) return 2;
    for (int i = 0; i < 32; i++) if (h[i] != 2 * i + 5) return 3;
    return cudaFree(p) ? 4 : 0;
}
EOF
    nvcc -Xcompiler -fPIC -shared -arch=compute_75 lib.cu -o lib.so 2>nvcc.log || fail "nvcc: $(cat nvcc.log)"
    echo 'import ctypes, sys; sys.exit(ctypes.CDLL("./lib.so").run())' >lib.py
    "$allot" exec python3 lib.py >out 2>err || fail "lib.so: $(tail -n 5 out err)"
    grep -q 'k(int\*)' err || fail "lib.so: no kernel: $(cat err)"
fi
echo "driver-static.sh: $programs programs"
