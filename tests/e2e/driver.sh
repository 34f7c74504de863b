# driver.sh: libcuda.so.1: a C program and a Python script of the driver API, names exported.
set -eu
allot=$1
source=$2
cuda=$(dirname "$allot")/cuda
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() {
    echo "driver.sh: $*" >&2
    exit 1
}
# Libraries built with ASan need its own in the process, whose leaks are not our concern.
preload=
if nm -D "$cuda/liballot-cuda.so" | grep -q __asan_init; then
    preload=$(${CC:-cc} -print-file-name=libasan.so)
fi
with() { # the libraries in place of CUDA's, for one command
    env LD_LIBRARY_PATH="$cuda" ALLOT_REPORT=none ${preload:+LD_PRELOAD=$preload} \
        ASAN_OPTIONS=detect_leaks=0 "$@"
}

[ -z "$(nm -D --defined-only "$cuda/libcuda.so.1" | awk '$3 !~ /^cu[A-Z]/ { print $3 }')" ] ||
    fail "libcuda.so.1 exports other names than CUDA's"
${CC:-cc} -O1 "$source/tests/programs/driver_api.c" -o "$tmp/driver_api" -ldl
for machine in gtx480 titan; do
    with env ALLOT_MACHINE=$machine "$tmp/driver_api" >"$tmp/out" 2>"$tmp/err" ||
        fail "driver_api on $machine: $(cat "$tmp/out" "$tmp/err")"
done
with env ALLOT_FUNCTIONAL=1 "$tmp/driver_api" >/dev/null 2>&1 || fail "driver_api without timing"

# Graphs and capture.
${CC:-cc} -O1 "$source/tests/programs/driver_graph.c" -o "$tmp/driver_graph" -ldl
for functional in 0 1; do
    with env ALLOT_FUNCTIONAL=$functional "$tmp/driver_graph" >"$tmp/out" 2>"$tmp/err" ||
        fail "driver_graph: $(cat "$tmp/out" "$tmp/err")"
done

# Every attribute of launches, kernel nodes, streams and kernels, of each library.
${CC:-cc} -O1 -w "$source/tests/programs/attributes.c" -o "$tmp/attributes" -ldl
for library in cuda.so.1 cudart.so.11.0 cudart.so.12 cudart.so.13; do
    with env ALLOT_FUNCTIONAL=1 "$tmp/attributes" $library >"$tmp/out" 2>"$tmp/err" ||
        fail "attributes $library: $(cat "$tmp/out" "$tmp/err")"
    grep -q '^allot: attribute 15 of a stream is refused (cudaErrorInvalidValue)' "$tmp/err" ||
        fail "attributes $library: refused without a word"
done
[ -z "$(sort "$tmp/err" | uniq -d)" ] || fail "attributes: said twice: $(sort "$tmp/err" | uniq -d)"

# Errors that stay and those that do not; outputs that may be NULL.
${CC:-cc} -O1 -w "$source/tests/programs/errors.c" -o "$tmp/errors" -ldl
for functional in 0 1; do
    with env ALLOT_FUNCTIONAL=$functional ALLOT_MAX_INSTRUCTIONS=100000 "$tmp/errors" >"$tmp/out" 2>"$tmp/err" ||
        fail "errors: $(cat "$tmp/out" "$tmp/err")"
done

# Virtual memory management: vectors in pieces, one piece at two addresses.
${CC:-cc} -O1 "$source/tests/programs/driver_virtual.c" -o "$tmp/driver_virtual" -ldl
for functional in 0 1; do
    with env ALLOT_FUNCTIONAL=$functional "$tmp/driver_virtual" >"$tmp/out" 2>"$tmp/err" ||
        fail "driver_virtual: $(cat "$tmp/out" "$tmp/err")"
done

# Every name answers, whether it does something or not.
cat >"$tmp/names.py" <<'EOF'
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
for name in ("cuGraphRetainUserObject", "cuIpcGetMemHandle", "cuTexRefCreate_v9"):
    known = hasattr(cuda, name)
    assert known != name.endswith("_v9"), name
    if known:
        assert getattr(cuda, name)() == 801, name
        assert getattr(cuda, name)() == 801, name
EOF
with python3 "$tmp/names.py" 2>"$tmp/err" || fail "names.py: $(cat "$tmp/err")"
[ "$(grep -c 'cuGraphRetainUserObject is not supported' "$tmp/err")" = 1 ] || fail "said once: $(cat "$tmp/err")"

with python3 "$source/tests/programs/driver_ctypes.py" "$source/tests/e2e/inputs/saxpy.ptx" \
    >"$tmp/out" 2>&1 || fail "driver_ctypes.py: $(cat "$tmp/out")"

# libnvJitLink.so: PTX in, linked PTX out, and what is wrong in the log.
cat >"$tmp/link.py" <<'EOF'
import ctypes, sys
link = ctypes.CDLL("libnvJitLink.so.13")
text = open(sys.argv[1], "rb").read()
handle, size = ctypes.c_void_p(), ctypes.c_size_t()
options = (ctypes.c_char_p * 2)(b"-arch=sm_80", b"-lto")
assert link.nvJitLinkCreate(ctypes.byref(handle), 2, options) == 1
assert link.nvJitLinkCreate(ctypes.byref(handle), 1, options) == 0
assert link.nvJitLinkAddData(handle, 2, text, len(text), b"saxpy") == 0
assert link.nvJitLinkComplete(handle) == 0
assert link.nvJitLinkGetLinkedCubinSize(handle, ctypes.byref(size)) == 0
out = ctypes.create_string_buffer(size.value)
assert link.nvJitLinkGetLinkedCubin(handle, out) == 0
assert b".entry saxpy" in out.value
assert link.nvJitLinkDestroy(ctypes.byref(handle)) == 0 and not handle
assert getattr(link, "__nvJitLinkCreate_13_0")(ctypes.byref(handle), 1, options) == 0
assert link.nvJitLinkAddData(handle, 2, b"nonsense", 8, b"bad") != 0
assert link.nvJitLinkGetErrorLogSize(handle, ctypes.byref(size)) == 0
log = ctypes.create_string_buffer(size.value)
assert link.nvJitLinkGetErrorLog(handle, log) == 0 and b"bad:1" in log.value, log.value
EOF
with python3 "$tmp/link.py" "$source/tests/e2e/inputs/saxpy.ptx" >"$tmp/out" 2>&1 ||
    fail "link.py: $(cat "$tmp/out")"

# Both APIs in one process: the runtime's context is current for the driver, and stays.
cat >"$tmp/both.py" <<'EOF'
import ctypes
rt, cu = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libcuda.so.1")
def ok(status):
    assert status == 0, status
p, q, context, primary = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_void_p()
word = ctypes.c_uint(7)
ok(cu.cuInit(0))
assert cu.cuMemAlloc_v2(ctypes.byref(q), 16) == 201
ok(rt.cudaMalloc(ctypes.byref(p), 4))
ok(cu.cuMemAlloc_v2(ctypes.byref(q), 16))
ok(cu.cuCtxGetCurrent(ctypes.byref(primary)))
ok(cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
ok(cu.cuCtxDestroy_v2(context))
ok(cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
assert context.value == primary.value
ok(cu.cuDevicePrimaryCtxRelease_v2(0))
ok(cu.cuMemsetD32_v2(q, 9, 1))
ok(rt.cudaMemcpy(p, ctypes.c_void_p(q.value), 4, 3))
ok(cu.cuMemcpyDtoH_v2(ctypes.byref(word), ctypes.c_uint64(p.value), 4))
assert word.value == 9, word.value
ok(rt.cudaFree(p))
ok(cu.cuMemFree_v2(q))
EOF
with python3 "$tmp/both.py" >"$tmp/out" 2>&1 || fail "both.py: $(cat "$tmp/out")"

# The runtime's first call initialises the driver, and makes the primary context current.
cat >"$tmp/first.py" <<'EOF'
import ctypes
rt, cu = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libcuda.so.1")
n, q, context = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p()
assert cu.cuDeviceGetCount(ctypes.byref(n)) == 3
assert cu.cuMemAlloc_v2(ctypes.byref(q), 16) == 3
assert rt.cudaGetDeviceCount(ctypes.byref(n)) == 0
assert cu.cuDeviceGetCount(ctypes.byref(n)) == 0 and n.value == 1
assert rt.cudaSetDevice(0) == 0
assert cu.cuCtxGetCurrent(ctypes.byref(context)) == 0 and context
assert cu.cuMemAlloc_v2(ctypes.byref(q), 16) == 0
EOF
with python3 "$tmp/first.py" >"$tmp/out" 2>&1 || fail "first.py: $(cat "$tmp/out")"

# Occupancy is what the residency policy gives a launch, whatever the policy.
cat >"$tmp/occupancy.ptx" <<'EOF'
.version 7.0
.target sm_70
.address_size 64
.visible .entry both(.param .u64 out) {
    .reg .b32 %r<33>; .reg .b64 %rd<3>;
    .shared .align 4 .b8 pad[5000];
    ld.param.u64 %rd1, [out];
    mov.u32 %r0, %tid.x;
    st.shared.u32 [pad+4992], %r0;
    bar.sync 0;
    ld.shared.u32 %r1, [pad+4992];
    st.global.u32 [%rd1], %r1;
    ret;
}
EOF
cat >"$tmp/occupancy.py" <<'EOF'
import ctypes, json, os, sys
cu = ctypes.CDLL("libcuda.so.1")
def ok(status):
    assert status == 0, status
context, module, f = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
p, n = ctypes.c_uint64(), ctypes.c_int()
ok(cu.cuInit(0))
ok(cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
ok(cu.cuModuleLoadData(ctypes.byref(module), open(sys.argv[1], "rb").read() + b"\0"))
ok(cu.cuModuleGetFunction(ctypes.byref(f), module, b"both"))
ok(cu.cuMemAlloc_v2(ctypes.byref(p), 64))
answers = []
for threads, dynamic in ((128, 0), (192, 0), (256, 1000), (64, 3000), (512, 0), (32, 0)):
    ok(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(ctypes.byref(n), f, threads, ctypes.c_size_t(dynamic)))
    args = (ctypes.c_void_p * 1)(ctypes.addressof(p))
    ok(cu.cuLaunchKernel(f, 40, 1, 1, threads, 1, 1, dynamic, None, args, None))
    ran = json.loads(open(os.environ["ALLOT_RECORD"]).readlines()[-1])["resident_blocks"]
    assert n.value == ran, (os.environ["ALLOT_SETTINGS"], threads, dynamic, n.value, ran)
    answers.append(n.value)
print(*answers)
EOF
for policy in $("$allot" list policies | awk '/^[a-z]/ { in_it = $1 == "residency.policy" } in_it && /^  / { print $1 }'); do
    rm -f "$tmp/record"
    with env ALLOT_MACHINE=gtx480 ALLOT_RECORD="$tmp/record" ALLOT_SETTINGS="residency.policy=$policy
residency.threshold=0.1
residency.regs_per_thread=36
compiler.registers=allocated" python3 "$tmp/occupancy.py" "$tmp/occupancy.ptx" >"$tmp/occupancy-$policy" 2>"$tmp/err" ||
        fail "occupancy under $policy: $(cat "$tmp/err")"
done
for policy in scratchpad-sharing register-sharing register-scratchpad-sharing warp-level-divergence; do
    ! cmp -s "$tmp/occupancy-baseline" "$tmp/occupancy-$policy" ||
        fail "occupancy under $policy is the baseline's: $(cat "$tmp/occupancy-baseline")"
done
