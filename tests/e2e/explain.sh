#!/bin/sh
# explain.sh ALLOT SOURCE: allot opt --explain: its arithmetic against `allot occupancy`, what it
# simulates against `allot run`.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT

# 6464 bytes a block: two blocks in 16 KB. `small` is in use to the end, `big` is not.
cat >k.ptx <<'END'
.version 4.2
.target sm_35
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .reg .b32 %r<8>;
    .reg .b64 %d<8>;
    .reg .pred %p;
    .shared .align 4 .b8 big[6400];
    .shared .align 4 .b8 small[64];
    ld.param.u64 %d1, [in];
    ld.param.u64 %d2, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.s32 %r3, %r2, 128, %r1;
    mul.wide.s32 %d3, %r3, 4;
    add.s64 %d4, %d1, %d3;
    and.b32 %r4, %r1, 15;
    shl.b32 %r4, %r4, 2;
    mov.u32 %r5, small;
    add.s32 %r4, %r4, %r5;
    st.shared.u32 [%r4], %r2;
    ld.global.u32 %r6, [%d4];
    shl.b32 %r7, %r1, 2;
    mov.u32 %r5, big;
    add.s32 %r7, %r7, %r5;
    st.shared.u32 [%r7+5888], %r6;
    bar.sync 0;
    ld.shared.u32 %r6, [%r7+5888];
    mov.u32 %r5, 0;
LOOP:
    mad.lo.s32 %r6, %r6, 3, %r5;
    add.s32 %r5, %r5, 1;
    setp.lt.s32 %p, %r5, 50;
    @%p bra LOOP;
    ld.shared.u32 %r5, [%r4];
    add.s32 %r6, %r6, %r5;
    add.s64 %d5, %d2, %d3;
    st.global.u32 [%d5], %r6;
    ret;
}
END
cat >launch.yaml <<'END'
grid: "448"
block: "128"
args: ["buf:57344xu32,init=iota", "buf:57344xu32"]
END
m="-m 000-table2"
passes=scratchpad-layout,relssp

# shellcheck disable=SC2086 # words
check "explain" 0 "$allot" opt k.ptx -p $passes --explain $m --launch launch.yaml -o better.ptx
cp err words
has err "kernel k: 2 blocks of 128 threads an SM of 000-table2, limited by scratchpad"
has err "One block more would fit with 5461 bytes of scratchpad, or fewer."
has err "Sharing scratchpad: 4 blocks an SM; pairs that share 90 % of theirs: 2."
has err "At threshold 0.1 the first 646 of 6464 scratchpad bytes are a block's own"
has err "k: private to each block: small; shared by a pair: big."
has err "k: relssp (optimal) at 1 place: before line 30 (after the last access, line 29)"
is "small moved to the front" "$(awk '$1 == "small" { print $2, $3, $4, $5, $6 }' words)" "64 6400 shared 0 private"
is "nothing else on standard output" "$(wc -c <out)" 0
# What it counts with is what the calculator says.
"$allot" occupancy $m --threads 128 --regs 8 --smem 5461 >out
name="one block more"
has out "resident blocks    3"
"$allot" occupancy $m --threads 128 --regs 8 --smem 5462 >out
has out "resident blocks    2"
"$allot" occupancy $m --threads 128 --regs 8 --smem 6464 --share scratchpad >out
has out "resident blocks    4"

# shellcheck disable=SC2086
check "JSON" 0 "$allot" opt k.ptx -p $passes --explain --json $m --launch launch.yaml
cp out x.json
# The runs, each by `allot run`; the last one also from the PTX that was written.
# shellcheck disable=SC2086
{
    "$allot" run k.ptx $m --launch launch.yaml --json >0.json
    "$allot" run k.ptx $m --launch launch.yaml -r scratchpad-sharing -s owf --json >1.json
    "$allot" run k.ptx $m --launch launch.yaml -r scratchpad-sharing -s owf \
        --set compiler.passes=$passes --json >2.json
    "$allot" run better.ptx $m --launch launch.yaml -r scratchpad-sharing -s owf --json >3.json
}
cat >runs.py <<'END'
import json, sys
x = json.load(open("x.json"))
k, = x["kernels"]
assert [r["residency"] for r in k["runs"]] == ["baseline"] + 2 * ["scratchpad-sharing"], k["runs"]
assert [r["passes"] for r in k["runs"]] == [False, False, True]
words = open("words").read()
for i, r in enumerate(k["runs"] + k["runs"][2:]):
    one, = json.load(open(f"{i}.json"))["kernels"]
    for id in "cycles", "resident_blocks", "shared_pairs", "share_wait_cycles", "share_releases":
        assert r[id] == one[id], (i, id, r[id], one[id])
    assert abs(r["ipc"] - one["thread_instructions"] / one["cycles"]) < 1e-6
    base = k["runs"][0]["cycles"]
    assert abs(r["faster_percent"] - 100 * (base / one["cycles"] - 1)) < 1e-6
    assert f'{one["cycles"]:,}' in words and f'{one["share_wait_cycles"]:,}' in words
assert [r["resident_blocks"] for r in k["runs"]] == [2, 4, 4]
# relssp is one instruction a thread, executed by each block of a pair that held the lock
assert k["runs"][2]["instructions_per_thread"] == k["runs"][1]["instructions_per_thread"] + 1
assert k["runs"][1]["share_releases"] == 0 < k["runs"][2]["share_releases"]
assert k["runs"][2]["share_wait_cycles"] < k["runs"][1]["share_wait_cycles"]
assert k["blocks_by"]["scratchpad"] == 2 and k["limited_by"] == "scratchpad"
assert k["private_bytes"] == 646
assert [(v["name"], v["at"], v["shared"]) for v in k["variables"]] == [("small", 0, False), ("big", 64, True)]
assert [(v["name"], v["at"]) for v in k["variables_before"]] == [("big", 0), ("small", 6400)]
assert any("relssp (optimal)" in line for line in x["report"])
END
check "its runs are those of allot run" 0 python3 runs.py
check "the PTX without --explain" 0 "$allot" opt k.ptx -p $passes -o plain.ptx
check "is the same" 0 cmp plain.ptx better.ptx

# From standard input; threshold of the passes and of the machine are one.
# shellcheck disable=SC2086
check "threshold" 0 sh -c "'$allot' opt - -p scratchpad-layout:threshold=0.5,relssp:threshold=0.5 --explain $m --launch launch.yaml <k.ptx"
has err "At threshold 0.5 the first 3232 of 6464"
has err "3 blocks an SM; pairs that share 50 % of theirs: 1."
has out "relssp;"
check "two thresholds" 2 "$allot" opt k.ptx -p relssp:threshold=0.5 --explain -t 0.1
has err "told threshold 0.5"

# Without a launch: what can be said, and how to say the rest.
# shellcheck disable=SC2086
check "no launch" 0 "$allot" opt k.ptx -p $passes --explain $m --block 64 -o /dev/null
has err "2 blocks of 64 threads an SM"
has err "Not simulated, for nothing says how it is launched"
has err ".u64 in, .u64 out"
check "no block" 0 "$allot" opt k.ptx --explain -o /dev/null
has err "256 threads (assumed: --block says otherwise)"
has err "No passes were given"
# shellcheck disable=SC2086
check "too large" 0 "$allot" opt k.ptx --explain $m --smem 20000 -o /dev/null
has err "not one block"
check "grid without block" 2 "$allot" opt k.ptx --explain --grid 4
check "arguments without grid" 2 "$allot" opt k.ptx --explain --arg 4
check "too few arguments" 1 "$allot" opt k.ptx --explain -g 4 -b 128 -a buf:4096
has err "2 parameters, 1 arguments"
check "no such kernel" 1 "$allot" opt k.ptx --explain -k kk -o /dev/null
has err "has no kernel 'kk'"
check "a fault" 1 "$allot" opt k.ptx --explain -g 4 -b 128 -a buf:4096 -a buf:512 -o fault.ptx
has err "k.ptx:"
check "JSON of nothing" 2 "$allot" opt k.ptx --json
check "JSON and PTX in one" 2 "$allot" opt k.ptx --explain --json -o -
check "a bad pass" 2 "$allot" opt k.ptx --explain -p nothing -g 4 -b 128 -a buf:4096 -a buf:4096
has err "no pass is called 'nothing'"

# Workloads. 001 Table 2.6: hotspot with 36 registers, three blocks and six.
check "registers" 0 "$allot" opt hotspot --quick --explain -m 001-table2.3-registers --regs 36 -o /dev/null
has err "kernel calculate_temp: 3 blocks of 256 threads an SM of 001-table2.3-registers, limited by registers"
has err "One block more would fit with 32 registers a thread, or fewer."
lacks err "registers wanted"
has err "Sharing registers: 6 blocks an SM; pairs that share 90 % of theirs: 3."
has err "register-sharing, owf"
# What each block more costs in spills, and the best as predicted (002 Figure 5).
check "steps" 0 "$allot" opt particles --quick --explain -m 002-c2075 -o /dev/null
has err "52 registers wanted; with fewer (pass unified-alloc) values are spilled:"
has err "predicted best"
check "steps as JSON" 0 "$allot" opt particles --quick --explain --json -m 002-c2075 -o /dev/null
has out '"to_scratchpad": '
has out '"predicted": true'
check "sharing nothing" 0 "$allot" opt vecadd --quick --explain -o /dev/null
has err "Nothing to compare with"
# Register sharing is for physical registers only, and is left out where there are none.
check "virtual registers" 0 "$allot" opt hotspot --quick --explain -m 000-table2 --regs 60 -o /dev/null
has err "(with --registers allocated)"
has err "Nothing to compare with"
# What fails beside the first run is told, and all else too.
check "asked for all the same" 1 "$allot" opt hotspot --quick --explain -m 000-table2 --regs 60 \
    -r register-sharing -o hotspot.ptx
has err "needs physical registers"
has err "baseline, lrr"
has hotspot.ptx "calculate_temp"
check "few blocks" 0 "$allot" opt lud --quick --explain -m 000-table2 -o /dev/null
has err "No launch has more than"
# Passes that do something without sharing are run without it too.
check "clean-up" 0 "$allot" opt dct1 --quick --explain -p cleanup -m 000-table2 --regs 20 -o /dev/null
has err "baseline, lrr, passes"
has err "The passes without sharing:"
# Passes of the machine's own code change nothing in what is compared: it is told.
check "a pass that a100 has" 0 "$allot" opt dct1 --quick --explain -p schedule -m a100 -o /dev/null
has err "schedule is one of the machine's own passes"
check "and without it" 0 "$allot" opt dct1 --quick --explain -p schedule -m a100 --no-schedule -o /dev/null
lacks err "one of the machine's own passes"
# Passes that look at the launch's shape are told it: without one no loop is peeled, and no gain is
# known.
peel=peel-loops,cleanup,late-stores,vtb:gain=0
check "for a launch" 0 "$allot" opt storegpu --quick --explain -p $peel -m 003-gtx480-16k -o any.ptx
has err "The passes, for 2 x 1 x 1 blocks of 128 x 1 x 1 threads:"
has err "31 iterations are straight code now"
has err "expected: 256 threads an SM instead of 128, 1 turns of blocks instead of 1, 0.89 times as fast"
has err "PTX that is written is made for any launch."
check "the PTX that any launch gets" 0 "$allot" opt storegpu -p $peel -m 003-gtx480-16k -o plain.ptx
check "is written" 0 cmp plain.ptx any.ptx
check "for a launch, JSON" 0 "$allot" opt storegpu --quick --explain --json -p $peel -m 003-gtx480-16k
cp out for.json
check "has it with the kernel" 0 python3 -c 'import json
k, = json.load(open("for.json"))["kernels"]
assert k["grid"] == [2, 1, 1] and k["block"] == [128, 1, 1], k
assert any("31 iterations" in line for line in k["report"]), k["report"]
assert [r["passes"] for r in k["runs"]] == [False, True]'
check "its PTX" 0 "$allot" opt dct1 -o dct1.ptx
has dct1.ptx ".entry CUDAkernel2DCT"
# Registers are those that ptxas counts: with the machine's reserved ones. --regs compiles for none.
check "info" 0 "$allot" info "$src/tests/e2e/inputs/saxpy.ptx" -m a100 --block 256
has out "registers     9 a thread (6 allocated, 3 reserved by the machine)"
check "info, nothing reserved" 0 "$allot" info "$src/tests/e2e/inputs/saxpy.ptx" -m gtx480 --block 256
lacks out "reserved"
check "explain's registers" 0 "$allot" opt "$src/tests/e2e/inputs/saxpy.ptx" -m a100 --block 256 --explain -o /dev/null
has err "Registers: 9 (3 of them reserved by the machine)"
check "fewer than the code has" 0 "$allot" run vecadd --quick -m a100 --regs 4
has err "--regs 4: kernel vecadd is not compiled for so few"
check "said once" 0 "$allot" compare vecadd --quick -m a100 --regs 4 --variants baseline,unshared-gto
is "said once" "$(grep -c "not compiled" err)" 1
check "as many as the code has" 0 "$allot" run vecadd --quick -m a100 --regs 64
lacks err "not compiled"
check "compiled for it" 0 "$allot" run hotspot --quick -m a100 --regs 19 --set compiler.passes=register-allocate:max-registers=16
lacks err "not compiled"
check "not compiled for it" 0 "$allot" run hotspot --quick -m a100 --regs 19
has err "compiler.passes=register-allocate:max-registers=16 compiles it"

finish explain
