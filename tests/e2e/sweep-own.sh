#!/bin/sh
# sweep-own.sh ALLOT SOURCE: kernels of one's own as rows of an experiment.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
mkdir files
cp "$src/tests/e2e/inputs/saxpy.ptx" files/
"$allot" run files/saxpy.ptx -g 4 -b 256 -a 2.5 -a buf:1024xf32,init=iota,out=files/x.bin \
    -a buf:1024xf32 -a 0 >/dev/null
# A buffer of pointers to themselves, and an argument that a variant replaces.
"$allot" run "$src/papers/micro/memory.ptx" -k chase_l1 -g 1 -b 1 -a buf:8192xu64,init=self,show=3 -a 1 >out ||
    fail "a chain of addresses: $(cat out)"
awk '/^[a-z0-9_]*: [0-9]+ [0-9]+ [0-9]+$/ { ok = $4 - $3 == 8 } END { exit !ok }' out || fail "init=self: $(cat out)"

cat >files/launch.yaml <<'END'
kernel: saxpy
grid: "4"
block: "256"
args: ["2.5", "buf:in=x.bin", "buf:1024xf32,init=1,show=4", "1024"]
END
cat >files/own.yaml <<'END'
title: A kernel of one's own
machine: gtx480
workloads:
  - {name: vecadd}
  - {ptx: saxpy.ptx, launch: launch.yaml}
  - ptx: saxpy.ptx
    label: wide
    grid: 16
    block: 64
    args: ["2.5", "buf:in=x.bin", "buf:1024xf32,init=1", "1024"]
    settings: [sm.count=4]
variants:
  - {name: lrr, settings: [sm.scheduler=lrr]}
  - {name: gto, settings: [sm.scheduler=gto]}
  - {name: virtual, registers: virtual}
  - {name: clean, registers: virtual, passes: cleanup}
metrics: [{name: cycles}, {name: thread_instructions}, {name: blocks}, {name: block_threads}, {name: scratchpad_bytes}]
END

# From another folder: everything is beside the experiment.
check "sweep" 0 "$allot" sweep files/own.yaml --quick --db o.db --csv o.csv
has err "12 runs: 0 stored before, 12 done now"
value() { # ROW SERIES METRIC
    awk -F, -v r="$1" -v s="$2" -v m="$3" '$1 == r && $2 == s && $5 == m { print $7 }' o.csv
}
# The same by `allot run`, which is told by options.
column() { # NAME <CSV
    awk -F, -v n="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == n) c = i } NR == 2 { print $c }'
}
for s in lrr gto; do
    "$allot" run files/saxpy.ptx -s $s -g 4 -b 256 -a 2.5 -a buf:in=files/x.bin \
        -a buf:1024xf32,init=1 -a 1024 --csv >run.csv
    is "cycles, $s" "$(value saxpy.ptx $s cycles)" "$(column cycles <run.csv)"
done
"$allot" run files/saxpy.ptx -s lrr --set sm.count=4 -g 16 -b 64 -a 2.5 -a buf:in=files/x.bin \
    -a buf:1024xf32,init=1 -a 1024 --csv >run.csv
is "cycles, wide" "$(value wide lrr cycles)" "$(column cycles <run.csv)"
is "blocks, wide" "$(value wide lrr blocks)" 16
is "block size, wide" "$(value wide lrr block_threads)" 64
is "scratchpad as declared" "$(value wide lrr scratchpad_bytes)" 0
name="cleanup takes instructions out"
check "$name" 0 test "$(value wide clean thread_instructions)" -lt \
    "$(value wide virtual thread_instructions)"

# What `allot run` has stored is known, whatever is shown afterwards.
check "run --db" 0 "$allot" run files/saxpy.ptx -s gto -g 4,1 -b 256 -a 2.5 \
    -a buf:in=files/x.bin -a buf:1024xf32,init=1,show=2 -a 1024 --db r.db
check "sweep after it" 0 "$allot" sweep files/own.yaml --quick --db r.db
has err "12 runs: 1 stored before, 11 done now"
check "show" 0 "$allot" results show 1 --db r.db
has out "kernel=saxpy grid=4 block=256 smem=0 arg=2.5 arg=buf:in=files/x.bin"
has out "ptx_hash"
check "again" 0 "$allot" sweep files/own.yaml --quick --db o.db
has err "12 stored before, 0 done now"

# What goes in decides what is run again: the input file's contents, the PTX.
check "other input" 0 "$allot" run files/saxpy.ptx -g 4 -b 256 -a 1 \
    -a buf:1024xf32,init=3,out=files/x.bin -a buf:1024xf32 -a 0
check "new contents" 0 "$allot" sweep files/own.yaml --quick --db o.db
has err "12 runs: 4 stored before, 8 done now"
sed 's/^\tret;/\tbar.sync 0;\n\tret;/' files/saxpy.ptx >files/other.ptx
check "another PTX" 0 test "$(cmp files/saxpy.ptx files/other.ptx | wc -l)" -eq 1
mv files/other.ptx files/saxpy.ptx
check "new PTX" 0 "$allot" sweep files/own.yaml --quick --db o.db
has err "12 runs: 4 stored before, 8 done now"

# Ranges over the launch.
cat >files/blocks.yaml <<'END'
title: Block sizes
workloads: [{ptx: saxpy.ptx, launch: launch.yaml, label: s}]
variants: [{name: v}]
ranges: [{set: params.grid, values: [8, 16], labels: [eight, sixteen]}]
metrics: [{name: blocks}]
END
check "ranges" 0 "$allot" sweep files/blocks.yaml --db o.db --csv o.csv
is "8 blocks" "$(value s eight blocks)" 8
is "16 blocks" "$(value s sixteen blocks)" 16

# What is wrong is told where it stands.
wrong() { # NAME SED PLACE TEXT
    sed "$2" files/own.yaml >files/bad.yaml
    check "$1" 1 "$allot" sweep files/bad.yaml --quick --db e.db
    has err "$3"
    has err "$4"
}
wrong "no such file" 's/ptx: saxpy.ptx, /ptx: sax.ptx, /' "files/bad.yaml:5:" "files/sax.ptx"
wrong "no launch file" 's/launch.yaml/nothing.yaml/' "files/bad.yaml:5:" "files/nothing.yaml"
wrong "grid" 's/grid: 16/grid: none/' "files/bad.yaml:8:" "grid 'none'"
wrong "no grid" '/grid: 16/d' "files/bad.yaml:6:" "needs a grid"
wrong "argument" 's/"1024"\]/"many"]/' "files/bad.yaml:10:" "argument 'many': not a value of type"
wrong "arguments" 's/, "1024"\]/]/' "files/bad.yaml:10:" "has 4 parameters, 3 arguments were given"
wrong "input" 's/in=x.bin", "buf:1024xf32,init=1"/in=y.bin", "buf:8"/' "files/bad.yaml:10:" "cannot read files/y.bin"
wrong "kernel" 's/block: 64/block: 64\n    kernel: axpy/' "files/bad.yaml:10:" "has no kernel 'axpy'"
wrong "parameter" 's/settings: \[sm.count=4\]/params: [n=3]/' "files/bad.yaml:11:" "has no parameter 'n'"
wrong "two kinds" 's/name: vecadd/name: vecadd, ptx: saxpy.ptx/' "files/bad.yaml:4:" "either a workload"
wrong "no ptx" 's/name: vecadd/name: vecadd, grid: 3/' "files/bad.yaml:4:" "need a \`ptx:\` file"
sed 's/mul/mull/' files/saxpy.ptx >files/bad.ptx
wrong "bad PTX" 's/ptx: saxpy.ptx, /ptx: bad.ptx, /' "files/bad.ptx:" "files/bad.yaml:5:"
printf 'kernel: saxpy\nblocks: 3\n' >files/key.yaml
wrong "bad launch file" 's/launch.yaml/key.yaml/' "files/key.yaml:2:" "no key 'blocks'"
# A run that fails says why and does not stop the others.
sed -i 's/buf:1024xf32/buf:1000xf32/' files/launch.yaml
check "fault" 1 "$allot" sweep files/own.yaml --quick --db f.db
has err "12 runs: 0 stored before, 8 done now, 4 failed"
has err "saxpy.ptx:"
finish sweep-own
