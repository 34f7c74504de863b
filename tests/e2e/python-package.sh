#!/bin/sh
# python-package.sh ALLOT SOURCE: the Python package beside this build: its extension module is compiled
# against liballot.so of the build, its own tests and the notebooks run. `pip install .` with all that a
# wheel holds runs where build/python is (./x test full).
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
build=$(dirname "$allot")
python=${ALLOT_PYTHON:-$src/build/python/bin/python}
[ -x "$python" ] || python=$(command -v python3)
missing=$("$python" - <<'EOF'
import importlib.util, pathlib, sysconfig
print(*(m for m in ("cffi", "numpy", "pytest") if not importlib.util.find_spec(m)), end=" ")
if not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists():
    print("Python.h")
EOF
)
if [ -n "$(echo "$missing" | tr -d ' ')" ]; then
    skip "$python has no $missing"
    finish python-package
    exit
fi
if nm -D "$build/liballot.so" | grep -q __asan_init; then
    skip "Python does not run with libraries built with ASan"
    finish python-package
    exit
fi
export HOME="$dir" XDG_CACHE_HOME="$dir/cache" TRITON_CACHE_DIR="$dir/triton" NUMBA_CACHE_DIR="$dir/numba" \
    TRITON_DEFAULT_FP_FUSION=1 PYTHONDONTWRITEBYTECODE=1

# The package as an installation has it: modules, extension, command.
mkdir -p package/allot/bin
cp "$src"/python/allot/*.py package/allot/
ln -s "$(realpath "$allot")" package/allot/bin/allot
check "declarations of the headers" 0 "$python" "$src/python/build_ffi.py" "$PWD/_allot.c" \
    "$src/include/allot/types.h" "$src/include/allot/allot.h" "$src/include/allot/workload.h"
check "extension module" 0 cc -shared -fPIC -O1 -w -DPy_LIMITED_API=0x03090000 -I "$src/include" \
    -I "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')" _allot.c \
    -o package/allot/_allot.abi3.so -L "$build" -lallot -Wl,-rpath,"$(realpath "$build")"
export PYTHONPATH="$PWD/package" PATH="$PWD/package/allot/bin:$PATH"
check "the package's tests" 0 timeout 300 "$python" -m pytest -q -p no:cacheprovider "$src/python/tests"
has out " passed"
lacks out " failed"

has_module() { "$python" -c "import importlib.util, sys; sys.exit(not importlib.util.find_spec('$1'))"; }
if has_module nbmake && has_module pandas && has_module triton; then
    cp -r "$src/docs/notebooks" notebooks
    check "the notebooks" 0 timeout 300 "$python" -m pytest -q -p no:cacheprovider --nbmake notebooks
    has out " passed"
else
    skip "nbmake, pandas or Triton is not installed: the notebooks do not run"
fi
if has_module mypy; then
    check "types" 0 "$python" -m mypy --ignore-missing-imports "$src/python/allot" --cache-dir "$dir/mypy"
fi

# A wheel, installed where nothing of the tree is.
if [ -x "$src/build/python/bin/pip" ]; then
    check "a wheel" 0 timeout 900 "$src/build/python/bin/pip" wheel -q --no-deps -w "$dir/wheels" \
        -C cmake.define.ALLOT_LTO=OFF -C build-dir="$dir/wheel-build" "$src"
    check "a new environment" 0 "$python" -m venv "$dir/env"
    check "its installation" 0 "$dir/env/bin/pip" install -q "$dir"/wheels/allot-*.whl
    unset PYTHONPATH
    check "the wheel's command" 0 "$dir/env/bin/allot" run vecadd --quick
    has out "check passed"
    check "the wheel's module" 0 "$dir/env/bin/python" -c \
        'import allot; print(allot.workload("vecadd").run("h100", quick=True))'
    has out "vecadd"
else
    skip "there is no build/python: no wheel is made (./x test full)"
fi
finish python-package
