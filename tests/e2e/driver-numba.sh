# driver-numba.sh: a numba script on the simulated GPU. Skipped where numba (with its CUDA part and
# the compiler NVVM) is not installed; PYTHON names another interpreter that has it.
set -eu
allot=$1
source=$2
cuda=$(dirname "$allot")/cuda
python=${PYTHON:-python3}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

if nm -D "$cuda/liballot-cuda.so" | grep -q __asan_init; then
    echo "SKIP: Python does not run with libraries built with ASan"
    exit 77
fi
export LD_LIBRARY_PATH="$cuda" ALLOT_REPORT=kernel ALLOT_RECORD="$tmp/record"
export ALLOT_MACHINE=titan ALLOT_SETTINGS=gpu.compute_capability=80
if ! "$python" -c 'from numba import cuda; from numba.cuda.cudadrv.nvvm import NVVM; NVVM()' \
    >"$tmp/out" 2>&1; then
    echo "SKIP: no numba with NVVM here ($(tail -n 1 "$tmp/out"))"
    exit 77
fi
timeout 120 "$python" "$source/tests/programs/numba_kernels.py" >"$tmp/out" 2>"$tmp/err" || {
    echo "driver-numba.sh: numba_kernels.py: $(tail -n 20 "$tmp/out" "$tmp/err")" >&2
    exit 1
}
grep -q 'all right' "$tmp/out"
[ "$(wc -l <"$tmp/record")" = 5 ] || {
    echo "driver-numba.sh: five launches, recorded are $(wc -l <"$tmp/record")" >&2
    exit 1
}
cat "$tmp/out"
