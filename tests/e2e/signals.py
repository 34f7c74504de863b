"""signals.py ALLOT SOURCE: interruption of every stage: reading, parsing, passes, decoding and
programs under `allot exec`. A command ends within seconds with 128 + the signal, says so, and
leaves no file behind. Files without an end are refused; nothing grows with launches."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

allot, source = sys.argv[1:3]
build = os.path.dirname(os.path.abspath(allot))
allot = os.path.abspath(allot)
source = os.path.abspath(source)
failed = passed = 0
skipped = False
sanitized = b"__asan_init" in subprocess.run(
    ["nm", "-D", os.path.join(build, "cuda/liballot-cuda.so")], capture_output=True
).stdout
env = dict(os.environ)


def check(name, ok, detail=""):
    global failed, passed
    if ok:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {name}\n    {str(detail)[:2000]}")


def start(args, **more):
    return subprocess.Popen(
        args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler), **more)


def interrupt(name, args, sig, after=0.4, **more):
    """Runs args, sends sig after a while; (status, stderr, seconds it went on for)."""
    p = start(args, **more)
    time.sleep(after)
    still = p.poll() is None
    check(f"{name}: runs long enough to be interrupted", still)
    p.send_signal(sig)
    t = time.monotonic()
    try:
        out, err = p.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
    return p.returncode, out, err, time.monotonic() - t


def large(path, functions, lines):
    """Straight-line kernels whose values stay live, so that every stage has work."""
    with open(path, "w") as f:
        f.write(".version 7.0\n.target sm_70\n.address_size 64\n")
        for k in range(functions):
            f.write(f".visible .entry k{k}(.param .u64 p)\n{{\n.reg .b32 %r<{lines + 9}>;\n"
                    ".reg .b64 %d<2>;\nld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\n"
                    "mov.u32 %r2, %ctaid.x;\n")
            for i in range(3, lines):
                f.write(f"mad.lo.u32 %r{i}, %r{i - 1}, {i}, %r{max(1, i - 40)};\n")
            f.write(f"st.global.u32 [%d1], %r{lines - 1};\nret;\n}}\n")


os.chdir(tempfile.mkdtemp(prefix="allot-signals-"))
slow = 10 if sanitized else 1
large("large.ptx", 40, 12000 // slow)

# -- reading, parsing, passes, decoding --
for sig in (signal.SIGINT, signal.SIGTERM):
    for name, args in (
            ("parsing", [allot, "opt", "large.ptx", "-o", "y.out"]),
            ("passes", [allot, "opt", "large.ptx", "-p", "cleanup,register-allocate",
                        "-o", "y.out"]),
            ("describing", [allot, "info", "large.ptx"])):
        # At a moment within the stage: a third of the time that the whole takes.
        t = time.monotonic()
        p = start(args)
        try:
            p.communicate(timeout=8)
        except subprocess.TimeoutExpired:
            p.kill()
            p.communicate()
        whole = time.monotonic() - t
        if os.path.exists("y.out"):
            os.remove("y.out")
        status, out, err, took = interrupt(name, args, sig, after=whole / 3)
        check(f"{name}, {sig.name}: status", status == 128 + sig, (status, err))
        check(f"{name}, {sig.name}: says so", "interrupted" in err, err)
        check(f"{name}, {sig.name}: no file", not os.path.exists("y.out"))
        check(f"{name}, {sig.name}: soon", took < 5 * slow, took)
    status, out, err, took = interrupt(
        "standard input", [allot, "info", "-"], sig, stdin=subprocess.PIPE)
    check(f"standard input, {sig.name}", status == 128 + sig, (status, err))
    status, out, err, took = interrupt(
        "a run", [allot, "run", "matmul", "--no-skip", "--max-cycles", "99999999"], sig,
        after=0.2)
    check(f"a run, {sig.name}", status == 128 + sig, (status, err))

# -- a loop that never looks: from its N-th allocation on, the command is in one --
SPIN = """
#include <stdlib.h>
#include <unistd.h>
void *__libc_malloc(size_t n);
void *malloc(size_t n)
{
    static long left = -1;
    if (left < 0)
        left = getenv("SPIN") ? atol(getenv("SPIN")) : 1L << 60;
    if (!left--) {
        write(2, "spinning\\n", 9);
        for (;;)
            __asm__ volatile("");
    }
    return __libc_malloc(n);
}
"""
with open("spin.c", "w") as f:
    f.write(SPIN)
spins = not sanitized and subprocess.run(
    ["cc", "-O1", "-shared", "-fPIC", "-o", "spin.so", "spin.c"]).returncode == 0
saxpy = os.path.join(source, "tests/e2e/inputs/saxpy.ptx")
spun = set()
for name, args in (
        ("run", ["run", "vecadd", "-q"]), ("opt", ["opt", "matmul", "-p", "cleanup", "-o", "spin.out"]),
        ("info", ["info", saxpy]), ("compare", ["compare", "vecadd", "-q"]),
        ("paper", ["paper", "--list"]), ("report", ["report", "--csv", "spin.out"]),
        ("measure", ["measure", "--dry-run", "workload/vecadd", "--out", "spin.out"]),
        ("bench", ["bench", "-q", "vecadd"])) if spins else ():
    env.update(LD_PRELOAD=os.path.abspath("spin.so"))
    for count in (400, 1500):
        env.update(SPIN=str(count))
        p = start([allot] + args)
        if p.stderr.readline() != "spinning\n":  # it has ended before
            p.communicate()
            continue
        spun.add(name)
        t = time.monotonic()
        p.send_signal(signal.SIGTERM)
        out, err = p.communicate(timeout=60)
        took = time.monotonic() - t
        # Before it takes signals the system ends it.
        check(f"{name} in a loop: status", p.returncode in (143, -signal.SIGTERM), (p.returncode, err))
        check(f"{name} in a loop: within a second", took < 2, took)
        check(f"{name} in a loop: no file", not [f for f in os.listdir(".") if f.startswith("spin.out")])
    del env["LD_PRELOAD"], env["SPIN"]
check("commands in a loop", not spins or len(spun) >= 6, spun)

p = start([allot, "info", "/dev/zero"])
out, err = p.communicate(timeout=100)
check("a file without an end", p.returncode == 1 and "too large" in err.lower(), err)

# -- programs --
program = os.path.join(build, "programs/clang/launches")
if not os.path.exists(program):
    program = os.path.join(build, "programs/nvcc/launches")
if not os.path.exists(program):
    print("SKIP: neither clang nor nvcc made tests/programs/launches")
    skipped = True
else:
    if sanitized:
        asan = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True,
                              text=True).stdout.strip()
        env.update(LD_PRELOAD=asan, ASAN_OPTIONS="detect_leaks=0")
    env["TMPDIR"] = os.getcwd()
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        p = start([allot, "exec", "--json", "x.json", program, "spin"])
        p.stdout.readline()  # spinning
        time.sleep(0.5)
        p.send_signal(sig)
        try:
            out, err = p.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
        name = f"exec, {sig.name}"
        check(f"{name}: status", p.returncode == 128 + sig, (p.returncode, err))
        check(f"{name}: the signal", f"was ended by {sig.name}" in err, err)
        check(f"{name}: the kernel",
              re.search(r"kernel spin\(.*\) <<<\(3,1,1\), \(64,1,1\)>>> was running", err), err)
        check(f"{name}: what had ended", re.search(r"count\(int\*\) +100 ", err), err)
        text = open("x.json").read() if os.path.exists("x.json") else ""
        check(f"{name}: JSON", '"check": "failed"' in text and '"running": "_Z4spin' in text, text)
        check(f"{name}: no record left",
              not [f for f in os.listdir(".") if f.startswith("allot-record")], os.listdir("."))
    # A program that does not heed SIGTERM, in a kernel without an end.
    with open("deaf.c", "w") as f:
        f.write("#include <signal.h>\n#include <unistd.h>\nint main(int n, char **v) {"
                "signal(SIGTERM, SIG_IGN); return execv(v[1], v + 1); }\n")
    if not sanitized and subprocess.run(["cc", "-o", "deaf", "deaf.c"]).returncode == 0:
        p = start([allot, "exec", os.path.abspath("deaf"), program, "spin"])
        p.stdout.readline()
        time.sleep(0.3)
        t = time.monotonic()
        p.send_signal(signal.SIGTERM)
        out, err = p.communicate(timeout=60)
        check("exec, SIGTERM unheeded: status", p.returncode == 143, (p.returncode, err))
        check("exec, SIGTERM unheeded: within a second", time.monotonic() - t < 2)
        check("exec, SIGTERM unheeded: the kernel", "was running" in err, err)
        check("exec, SIGTERM unheeded: no record left",
              not [f for f in os.listdir(".") if f.startswith("allot-record")], os.listdir("."))
    p = start([allot, "exec", "--functional", program, "many", "3000"])
    out, err = p.communicate(timeout=100)
    grew = re.search(r"grew by (-?\d+) kB, the record by (\d+) bytes", out)
    check("many launches", p.returncode == 0 and grew, (out, err))
    if grew:
        check("the record does not grow", int(grew[2]) == 0, out)
        check("memory does not grow", sanitized or int(grew[1]) < 1000, out)  # 3000 kB before

print(f"signals: {passed} checks passed, {failed} failed")
sys.exit(1 if failed else 77 if skipped else 0)
