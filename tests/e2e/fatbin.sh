# fatbin.sh: PTX packed and read again; programs of nvcc as kernel files, where it is installed.
set -eu
allot=$1
inputs=$2/tests/e2e/inputs
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() {
    echo "fatbin.sh: $*" >&2
    exit 1
}

for how in none lz4 zstd; do
    "$allot" fatbin -c $how -o "$tmp/saxpy.fatbin" "$inputs/saxpy.ptx"
    "$allot" info --json "$tmp/saxpy.fatbin" | grep -q '"name": "saxpy"' || fail "info, $how"
    "$allot" opt "$tmp/saxpy.fatbin" >"$tmp/a.ptx"
    "$allot" opt "$inputs/saxpy.ptx" >"$tmp/b.ptx"
    cmp "$tmp/a.ptx" "$tmp/b.ptx" || fail "$how changed the PTX"
done
"$allot" run "$tmp/saxpy.fatbin" --grid 4 --block 256 --arg 2.5 --arg buf:1024xf32,init=iota \
    --arg buf:1024xf32,init=1,show=4 --arg 1024 >"$tmp/out" || fail "run"
grep -q '1 3.5 6 8.5' "$tmp/out" || fail "a wrong result: $(cat "$tmp/out")"
head -c 200 "$tmp/saxpy.fatbin" >"$tmp/cut.fatbin"
! "$allot" info "$tmp/cut.fatbin" 2>"$tmp/err" || fail "a cut fatbin was read"
grep -q 'damaged fatbin' "$tmp/err" || fail "a cut fatbin: $(cat "$tmp/err")"
! "$allot" info /bin/ls 2>"$tmp/err" || fail "/bin/ls has device code?"
grep -q 'no device code' "$tmp/err" || fail "/bin/ls: $(cat "$tmp/err")"
"$allot" fatbin "$inputs/saxpy.ptx" 2>/dev/null && fail "fatbin without -o" || [ $? -eq 2 ]

PATH=$PATH:/usr/local/cuda/bin
if ! command -v nvcc >/dev/null; then
    echo "fatbin.sh: without nvcc's programs (nvcc is not installed)"
    exit 0
fi
cat >"$tmp/a.cu" <<'EOF'
extern __device__ int twice(int);
__global__ void ka(int *p) { p[threadIdx.x] = twice(p[threadIdx.x]); }
int main() { ka<<<1, 32>>>((int *)0); return 0; }
EOF
cat >"$tmp/b.cu" <<'EOF'
__device__ int twice(int x) { return x * 2; }
__global__ void kb(int *p) { p[threadIdx.x] += 1; }
EOF
cd "$tmp"
for flags in "" "-cudart shared -no-compress -gencode arch=compute_80,code=compute_80"; do
    # shellcheck disable=SC2086 # a list of flags
    nvcc -rdc=true $flags a.cu b.cu -o prog 2>nvcc.log || fail "nvcc: $(cat nvcc.log)"
    [ "$("$allot" info prog | grep -c ^kernel)" = 2 ] || fail "kernels of prog, flags '$flags'"
    "$allot" run prog -k _Z2kaPi --grid 1 --block 4 --arg buf:4xu32,init=iota,show=4 >out || fail "run prog"
    grep -q '0 2 4 6' out || fail "a wrong result of prog: $(cat out)"
done
nvcc --fatbin -arch=sm_80 b.cu -o b.fatbin
"$allot" info b.fatbin | grep -q '^kernel _Z2kbPi' || fail "nvcc --fatbin"
nvcc --cubin -arch=sm_80 b.cu -o b.cubin
! "$allot" info b.cubin 2>err || fail "a cubin was read"
grep -q 'compute_' err || fail "a cubin: $(cat err)"
