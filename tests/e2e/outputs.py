"""outputs.py ALLOT SOURCE: every option that names a file to write, where the file cannot be
written: too large for the limit of the process (as on a full disk, a write comes short), and
a device that takes nothing (/dev/full). The command says so, with the file's name, ends with
status 1, and leaves no part of a file. A file that was there stays as it was."""

import os
import resource
import signal
import subprocess
import sys
import tempfile

allot, source = (os.path.abspath(a) for a in sys.argv[1:3])
build = os.path.dirname(allot)
saxpy = os.path.join(source, "tests/e2e/inputs/saxpy.ptx")
failed = passed = 0
skipped = []
os.chdir(tempfile.mkdtemp(prefix="allot-outputs-"))
sanitized = b"__asan_init" in subprocess.run(
    ["nm", "-D", os.path.join(build, "cuda/liballot-cuda.so")], capture_output=True
).stdout
env = dict(os.environ, ALLOT_DB=os.path.abspath("own.db"))
if sanitized:
    # Programs under `exec` are not linked to it: it must come first all the same.
    asan = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    env.update(LD_PRELOAD=asan, ASAN_OPTIONS="detect_leaks=0")


def check(name, ok, detail=""):
    global failed, passed
    if ok:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {name}\n    {str(detail)[:1500]}")


def run(args, limit=None, out=subprocess.PIPE):
    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    p = subprocess.run(args, stdout=out, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                       text=True, env=env, preexec_fn=prepare, timeout=300)
    return p.returncode, p.stdout, p.stderr


own = [saxpy, "--grid", "4", "--block", "256", "--arg", "2"]
buffers = ["--arg", "buf:1024xf32,init=1", "--arg", "1024"]
axpy = ["run", *own, "--arg", "buf:1024xf32,init=1", *buffers]
program = next((p for p in (os.path.join(build, "programs", c, "launches") for c in ("clang", "nvcc"))
                if os.path.exists(p)), None)

# Command, option, the end of the file's name; what comes behind the file.
cases = [
    (["compare", "vecadd", "-q"], "--chart", f".{kind}", []) for kind in ("svg", "pdf", "png", "txt")
] + [
    (["compare", "vecadd", "-q"], "--db", ".db", []),
    (["occupancy", "--threads", "128"], "--chart", ".svg", []),
    (["workingset", "vecadd", "-q", "--schedule", "awss"], "--output", ".txt", []),
    (["workingset", "vecadd", "-q"], "--chart", ".svg", []),
    (["opt", "matmul", "-p", "cleanup"], "-o", ".ptx", []),
    (["opt", "matmul", "-p", "cleanup", "-o", "/dev/null"], "--dot-cfg", ".dot", []),
    (["run", "vecadd", "-q"], "--trace", ".json", []),
    (["run", "vecadd", "-q"], "--timeline", ".csv", []),
    (["run", "vecadd", "-q"], "--db", ".db", []),
    (["run", *own, "--arg", "OUT"], "", ".bin", buffers),
    (["fatbin", saxpy], "-o", ".fatbin", []),
    (["measure", "--dry-run", "--machine", "gtx480", "workload/vecadd"], "--out", ".csv", []),
    (["results", "export"], "--csv", ".csv", []),
    (["results", "export"], "--json", ".json", []),
]
if program:
    cases += [(["exec", "-f"], "--json", ".json", [program, "count"]),
              (["exec", "-f"], "--csv", ".csv", [program, "count"]),
              (["exec"], "--db", ".db", [program, "count"]),
              (["exec"], "--trace", ".json", [program, "count"]),
              (["exec"], "--timeline", ".csv", [program, "count"])]
else:
    skipped.append("tests/programs/launches")

# Something to export.
status, out, err = run([allot, "run", "vecadd", "-q", "--db", "own.db"])
check("a store", status == 0, err)

for args, option, end, behind in cases:
    name = f"allot {' '.join(args[:2])} {option} *{end}"
    file = os.path.abspath("file" + end)

    def command(path):
        if not option:
            return [allot] + [f"buf:1024xf32,init=1,out={path}" if a == "OUT" else a for a in args] + behind
        return [allot] + args + [option, path] + behind

    for f in (file, file + "-journal", file + "-wal", file + "-shm"):
        if os.path.lexists(f):
            os.remove(f)
    status, out, err = run(command(file))
    if status == 2 or (status and "no such" in err):
        check(f"{name}: the command is right", False, err)
        continue
    if "gnuplot, which is not installed" in err:
        skipped.append("gnuplot")
        continue
    check(f"{name}: is written", status == 0 and os.path.getsize(file) > 0, (status, err))
    size = os.path.getsize(file) if os.path.exists(file) else 0
    store = end == ".db"
    if store:
        for f in (file, file + "-journal", file + "-wal", file + "-shm"):
            if os.path.lexists(f):
                os.remove(f)
    # Short of room, by half of what it takes, and at once. Scratch files of gnuplot (script, data) are small.
    for limit in ((4096, 1) if store else (size // 2, 1)):
        old = b"what was there\n"
        if not store:
            with open(file, "wb") as f:
                f.write(old)
        status, out, err = run(command(file), limit)
        said = os.path.basename(file) in err or (args[0] == "results" and "own.db" in err) or (limit == 1 and end in (".svg", ".pdf", ".png", ".txt"))
        check(f"{name}, limit {limit}: status", status == 1, (status, out, err))
        check(f"{name}, limit {limit}: named", said, err)
        if not store:
            now = open(file, "rb").read() if os.path.exists(file) else None
            whole = now == old or (now is None and args[0] == "exec")
            check(f"{name}, limit {limit}: no part of a file", whole, now and now[:100])
        left = [f for f in os.listdir(".") if f.startswith("file" + end + ".")]
        check(f"{name}, limit {limit}: nothing beside it", not left, left)
        for f in left:
            os.remove(f)
    if not store:
        os.remove(file) if os.path.exists(file) else None
        os.symlink("/dev/full", file)
        status, out, err = run(command(file))
        check(f"{name}, /dev/full: status", status == 1, (status, err))
        check(f"{name}, /dev/full: named", os.path.basename(file) in err, err)
        check(f"{name}, /dev/full: stays", os.path.islink(file))
        os.path.lexists(file) and os.remove(file)

# -- standard output --
for args in (["run", "vecadd", "-q"], ["run", "vecadd", "-q", "--json"], ["run", "vecadd", "-q", "--csv"],
             ["compare", "vecadd", "-q"], ["compare", "vecadd", "-q", "--json"], ["info", saxpy],
             ["info", saxpy, "--json"], ["list", "workloads"], ["list", "counters"], ["opt", "matmul"],
             ["opt", "matmul", "--explain", "-p", "cleanup"], ["occupancy", "--threads", "128"],
             ["occupancy", "--threads", "128", "--json"], ["cost"], ["results", "list"],
             ["results", "export"], ["fatbin", saxpy, "-o", "-"], ["paper", "--list"], ["--help"], ["run", "--help"],
             ["--version"], ["run", "--man"], ["--completion", "bash"], ["workingset", "vecadd", "-q"],
             [*axpy]):
    with open("/dev/full", "w") as full:
        status, out, err = run([allot, *args], out=full)
    check(f"allot {' '.join(args[:4])} >/dev/full: status", status == 1, (status, err))
    check(f"allot {' '.join(args[:4])} >/dev/full: said", "cannot write" in err, err)

for why in sorted(set(skipped)):
    print(f"SKIP: needs {why}")
print(f"outputs: {passed} checks passed, {failed} failed")
sys.exit(1 if failed else 77 if skipped else 0)
