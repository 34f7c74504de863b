#!/bin/sh
# python.sh ALLOT SOURCE: kernels of Python packages of today under `allot exec`, as they install from
# PyPI: numba-cuda, CuPy, Triton, PyCUDA; and programs built by the newest nvcc. The packages are in
# build/python (./x test full makes it); ALLOT_PYTHON names another interpreter.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
python=${ALLOT_PYTHON:-$src/build/python/bin/python}
if [ ! -x "$python" ]; then
    skip "there is no $python: ./x test full makes it"
    finish python
    exit
fi
if nm -D "$(dirname "$allot")/cuda/liballot-cuda.so" | grep -q __asan_init; then
    skip "Python does not run with libraries built with ASan"
    finish python
    exit
fi
cuda=$("$python" -c 'import nvidia, os; print(os.path.join(list(nvidia.__path__)[0], "cu13"))' 2>/dev/null)
[ -x "$cuda/bin/nvcc" ] && PATH=$cuda/bin:$PATH
export PATH
# Nothing is taken from, or left in, the user's caches of compiled kernels.
export HOME="$dir" XDG_CACHE_HOME="$dir/cache" TRITON_CACHE_DIR="$dir/triton" CUPY_CACHE_DIR="$dir/cupy" \
    NUMBA_CACHE_DIR="$dir/numba" TRITON_DEFAULT_FP_FUSION=1

for p in numba:numba.cuda cupy:cupy triton:triton pycuda:pycuda; do
    package=${p%%:*}
    if ! "$python" -c "import importlib.util, sys; sys.exit(not importlib.util.find_spec('$package'))"; then
        skip "$package is not installed"
        continue
    fi
    for mode in "" "--functional"; do
        # shellcheck disable=SC2086 # one word or none
        check "$package $mode" 0 timeout 300 "$allot" exec $mode --json "$package.json" --machine a100 \
            "$python" "$src/tests/programs/${package}_kernels.py"
        has out "all right"
        lacks err "error"
        is "$package $mode: checked" "$("$python" -c \
            "import json; r = json.load(open('$package.json')); print(r['check'], len(r['kernels']) > 3)")" \
            "passed True"
    done
done

# Programs and PTX of the newest nvcc.
if command -v nvcc >nvcc && [ -x "$cuda/bin/nvcc" ]; then
    for n in memory streams templates textures partial_warps; do
        check "$n, nvcc" 0 nvcc -std=c++17 -arch=sm_80 -cudart shared -L"$cuda/lib" -o "$n" "$src/tests/programs/$n.cu"
        check "$n" 0 timeout 300 "$allot" exec --functional "./$n"
        check "$n, -G" 0 nvcc -G -std=c++17 -arch=sm_80 -ptx -o "$n.ptx" "$src/tests/programs/$n.cu"
        check "$n, allocated" 0 "$allot" opt -p register-allocate "$n.ptx" -o "$n-out.ptx"
    done
else
    skip "no nvcc of PyPI beside $python"
fi
finish python
