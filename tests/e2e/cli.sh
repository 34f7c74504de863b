#!/bin/sh
# cli.sh ALLOT SOURCE: the command as a person uses it: statuses, messages, formats.
set -u
allot=$1
src=$2
in=$src/tests/e2e/inputs
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
failed=0
passed=0

# check NAME STATUS COMMAND...: exit status, output kept in out and err
check() {
    name=$1
    want=$2
    shift 2
    "$@" >out 2>err </dev/null
    got=$?
    if [ $got -ne "$want" ]; then
        echo "FAIL $name: exit status $got, not $want"
        sed 's/^/    /' out err | head -20
        failed=$((failed + 1))
        return 1
    fi
    passed=$((passed + 1))
}
# has FILE TEXT: the last command's output holds the text
has() {
    if ! grep -qF -- "$2" "$1"; then
        echo "FAIL $name: '$2' is not in its $1:"
        sed 's/^/    /' "$1" | head -20
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}

lacks() { # FILE TEXT: it does not
    ! grep -qF -- "$2" "$1" || { echo "FAIL $name: '$2' is in its $1"; failed=$((failed + 1)); return; }
    passed=$((passed + 1))
}

# -- help and usage --
check "no command" 2 "$allot"
has err "usage: allot COMMAND"
check "help" 0 "$allot" --help
for c in info occupancy run compare opt list bench; do
    has out "  $c "
done
for c in info occupancy run compare opt list bench; do
    check "$c --help" 0 "$allot" $c --help
    has out "usage: allot $c"
done
check "version" 0 "$allot" --version
# wrong usage is 2 in every command
commands=$("$allot" --help | awk '/^commands:/ { on = 1; next } on && /^  / { print $1 } /^$/ { on = 0 }')
check "commands" 0 test "$(echo "$commands" | wc -l)" -ge 16
for c in $commands; do
    check "$c --help" 0 "$allot" "$c" --help
    check "$c --help: lines below 101 columns" 0 test "$(wc -L <out)" -le 100
    check "$c, wrong option" 2 "$allot" "$c" --nosuch
    has err "unknown option '--nosuch'"
    case $c in
    cost | bench | measure) ;; # need no argument
    *) check "$c, no argument" 2 "$allot" "$c" ;;
    esac
done
"$allot" run --help >help
check "residency policies in the help" 0 sh -c "tr -s ' \\n' ' ' <help | grep -q 'scratchpad-sharing, register-sharing, .*multiplexing'"
check "parameter that there is not, run" 2 "$allot" run matmul -P nosuch=1
check "parameter that there is not, workingset" 2 "$allot" workingset matmul -P nosuch=1
check "parameter that there is not, compare" 2 "$allot" compare matmul -P nosuch=1
has err "it has no parameter 'nosuch'; it takes n"
check "said once" 0 test "$(grep -c nosuch err)" -le 1
check "... that the second has not" 2 "$allot" compare mum matmul -P queries=100 --quick --db second.db
has err "matmul: it has no parameter 'queries'"
check "... before the first runs" 1 test -e second.db
# as PTXPlus has them, fetches are of two texels of a texture, and no walk gets anywhere
check "fetches of PTXPlus" 0 "$allot" run mum --quick -m 001-table2.3-registers -P ptxplus=1 --stats
cp out plus
check "are of few lines" 0 awk '/ l1t_accesses / { n = $2 } / l1t_misses / { m = $2 } END { exit !(n > 100 && m < 20) }' plus
check "settings of cleanup" 2 "$allot" opt vecadd -p cleanup:a=1
has err "stands for several passes"
check "format of charts" 2 "$allot" paper 000/table1 --format gif --db p.db
check "second name of paper" 2 "$allot" paper 000/table1 000/tabel1 --db p.db
has err "did you mean '000/table1'"
check "nothing was run" 1 test -e p.db
check "misspelt experiment, report" 2 "$allot" report 000/tabel1 --html h --db p.db
has err "did you mean '000/table1'"
check "state of runs" 2 "$allot" results export --state dnoe --db p.db
check "case to measure" 2 "$allot" measure nosuch
has err "no case begins with 'nosuch'"
check "case of paper micro" 2 "$allot" paper micro nosuch
has err "no case begins with 'nosuch'"
check "from where of no trace" 2 "$allot" run vecadd -q --trace-from 100
check "cycles of no timeline" 2 "$allot" run vecadd -q --timeline-cycles 100
check "variant without a value" 2 "$allot" compare vecadd -v baseline,b:l1d.ways
has err "variant b: 'l1d.ways' is not PATH=VALUE"
lacks out "speed-up"
check "two things to list" 2 "$allot" list machines workloads
lacks err "did you mean"
check "unknown command" 2 "$allot" ocupancy
has err "did you mean"
check "unknown option" 2 "$allot" run --machina gtx480 vecadd
check "misspelt option" 2 "$allot" run --shceduler lrr vecadd
has err "did you mean '--scheduler'"
check "missing value" 2 "$allot" run vecadd --machine
check "misspelt option of few letters" 2 "$allot" run --jsn vecadd
has err "did you mean '--json'"
check "nothing like it" 2 "$allot" xyzzyx
lacks err "did you mean"
for c in run compare bench; do
    check "misspelt workload, $c" 2 "$allot" $c hotspt
    has err "did you mean 'hotspot'"
done
check "misspelt experiment" 2 "$allot" paper 000/tabel1
has err "did you mean '000/table1'"
check "no workload" 2 "$allot" run
check "unknown workload" 2 "$allot" run vecsub
check "help of a command" 0 "$allot" help run
has out "usage: allot run"
check "bad seed" 2 "$allot" compare vecadd --quick --seed abc
has err "--seed abc"
check "bad seed, bench" 2 "$allot" bench vecadd --seed -1
check "unknown workload, bench" 2 "$allot" bench vecadd vecsub
# names that are nearly right
for c in "run vecad" "advise vecad" "compare vecad" "bench vecad" "opt vecad" "workingset vecad"; do
    # shellcheck disable=SC2086 # words
    check "$c" 2 "$allot" $c
    has err "did you mean 'vecadd'?"
done
check "near variant" 2 "$allot" compare vecadd -v shared-lr
has err "did you mean 'shared-lrr'?"
check "near list" 2 "$allot" list countrs
has err "did you mean 'counters'?"
check "near results" 2 "$allot" results lst
has err "did you mean 'list'?"
check "near command" 2 "$allot" comapre vecadd
has err "did you mean 'compare'?"
check "near paper" 2 "$allot" paper 001/fg2.13
has err "did you mean '001/fig2.13'?"
check "near pass" 2 "$allot" run vecadd -p literal-move
has err "did you mean 'literal-moves'?"
check "variant's setting" 2 "$allot" compare vecadd -v a:sm.cont=3
has err "did you mean sm.count"
# compare: one's own kernel, a mean over workloads
check "compare own" 0 "$allot" compare "$in/saxpy.ptx" --grid 4 --block 256 --arg 2.5 --arg buf:1024xf32 \
    --arg buf:1024xf32 --arg 1024 -v baseline,gto:sm.scheduler=gto
has out "speed-up over baseline"
check "compare own, no launch" 2 "$allot" compare "$in/saxpy.ptx"
check "compare, launch of a workload" 2 "$allot" compare vecadd --grid 4
check "compare two" 0 "$allot" compare vecadd backprop -q -v baseline,gto:sm.scheduler=gto --json
has out '"speedup": 1.0'
check "values without chart" 2 "$allot" compare vecadd -q --values
check "occupancy chart over what" 2 "$allot" occupancy --threads 64 --chart o.svg --over reg
check "occupancy chart" 0 "$allot" occupancy --threads 64 --regs 20 --chart o.svg --over regs
has o.svg "registers of a thread"
check "chart of another kind" 2 "$allot" compare vecadd --quick --chart c.gif
has err ".svg, .pdf, .png or .txt"
check "chart in no folder" 1 "$allot" compare vecadd --quick --chart nowhere/c.svg
has err "nowhere/c.svg"
check "block of 2^32 threads" 2 "$allot" info "$in/saxpy.ptx" --block 65536,65536
check "JSON or CSV" 2 "$allot" run vecadd --quick --json --csv
check "unknown machine" 2 "$allot" run vecadd --quick --machine gtx4800
has err "gtx480"
check "unknown setting" 2 "$allot" run vecadd --quick --set sm.cuont=3
has err "sm.count"
check "setting out of range" 2 "$allot" run vecadd --quick --set sm.count=0
check "not a number" 2 "$allot" run vecadd --quick --set sm.count=many
check "unknown scheduler" 2 "$allot" run vecadd --quick --scheduler fifo
has err "lrr"
check "unknown residency" 2 "$allot" run vecadd --quick --residency all
has err "scratchpad-sharing"

# -- list --
for k in machines workloads policies passes settings counters; do
    check "list $k" 0 "$allot" list $k
done
check "list machine" 0 "$allot" list machine h200
has out "NVIDIA H200-SXM5-141GB"
check "list machine, none" 2 "$allot" list machine nosuch
check "list machines" 0 "$allot" list machines
for m in gtx480 titan 001-table2.3-registers 001-table2.3-scratchpad 000-table2 \
    000-table8-48k 000-table8-64k; do
    has out "$m"
done

# -- occupancy: lavaMD in 001 Table 2.8, DCT3 in 000 section 8.1.1 --
check "occupancy lavaMD" 0 "$allot" occupancy -m 001-table2.3-scratchpad --threads 128 \
    --smem 7200 --share scratchpad --threshold 0.1 --json
has out '"resident_blocks": 4'
has out '"baseline_blocks": 2'
has out '"shared_pairs": 2'
"$allot" occupancy -m 000-table2 --threads 128 --smem 6400 >bytes
check "bytes with a unit" 0 "$allot" occupancy -m 000-table2 --threads 128 --smem 6K
is_other=$(cmp -s bytes out && echo same || echo other)
"$allot" occupancy -m 000-table2 --threads 128 --smem 6144 >bytes
[ "$is_other" = other ] && cmp -s bytes out && passed=$((passed + 1)) || {
    echo "FAIL --smem 6K is not --smem 6144"
    failed=$((failed + 1))
}
check "setting with a unit" 0 "$allot" occupancy -m gtx480 --threads 128 --smem 12K --set sm.scratchpad=24K
has out "resident blocks    2 "
check "buffer and guard with units" 0 "$allot" run "$in/saxpy.ptx" -f --grid 4 --block 256 --arg 2 \
    --arg buf:4K,init=zero --arg buf:1024xf32,init=1,show=2 --arg 1024 --guard 4K --smem 1K
has out ": 1 1"
check "no such unit" 2 "$allot" occupancy -m 000-table2 --threads 128 --smem 6X
has err "48K is 49152"
check "occupancy DCT3" 0 "$allot" occupancy -m 000-table2 --threads 128 --smem 2176 \
    --share scratchpad --json
has out '"resident_blocks": 12'
has out '"shared_pairs": 5'
check "threshold 1 shares nothing" 0 "$allot" occupancy -m 001-table2.3-scratchpad \
    --threads 128 --smem 7200 --share scratchpad --threshold 1 --json
has out '"resident_blocks": 2'
check "block that never fits" 1 "$allot" occupancy -m 001-table2.3-scratchpad --threads 128 \
    --smem 20000
has err "scratchpad"
check "bad threshold" 2 "$allot" occupancy --threads 128 --share scratchpad --threshold 2

# -- opt and info --
check "opt" 0 "$allot" opt "$in/saxpy.ptx" -o once.ptx
check "opt again" 0 "$allot" opt once.ptx -o twice.ptx
check "printing is a fixed point" 0 cmp once.ptx twice.ptx
check "opt of nothing" 1 "$allot" opt nowhere.ptx
has err "nowhere.ptx"
check "opt with an unknown pass" 2 "$allot" opt -p nosuchpass "$in/saxpy.ptx"
has err "nosuchpass"
printf '.version 4.2\n.target sm_35\n.address_size 64\n.visible .entry k()\n{\n    .reg .b32 %%r<2>;\n    ad.s32 %%r1, %%r0, 1;\n    add.s32 %%r1, %%r9, 1;\n    ret;\n}\n' >bad.ptx
check "every error with its place" 1 "$allot" opt bad.ptx -o bad-out.ptx
has err "bad.ptx:7:5"
has err "bad.ptx:8:"
check "no output after an error" 1 test -e bad-out.ptx
check "info" 0 "$allot" info "$in/saxpy.ptx"
has out "kernel saxpy"
auto="$src/tests/golden/passes/unified-alloc-auto.ptx"
check "info of occupancy steps" 0 "$allot" info "$auto" -m gtx480 --steps
has out "43 registers wanted; with fewer an SM holds more blocks of 256"
has out "predicted best"
check "info where there is one step" 0 "$allot" info "$in/saxpy.ptx" -m gtx480 --steps
has out "with fewer an SM holds no more blocks of 256 threads"
check "info of occupancy steps as JSON" 0 "$allot" info "$auto" -m gtx480 --steps --json
has out '"predicted": true'
check "info of loads in the order of the PTX" 0 "$allot" info "$in/loads.ptx" -m a100 --loads --no-schedule
has out "3 from memory"
has out "2 start later than they could, by the order of the PTX"
has out "a barrier, fence, atomic or volatile access (line 16)"
check "info of loads that are scheduled" 0 "$allot" info "$in/loads.ptx" -m a100 --loads
has out "0 start later than they could"
check "info of loads as JSON" 0 "$allot" info "$in/loads.ptx" -m a100 --json
has out '"ordered": true'
check "loads in a report" 0 "$allot" opt "$in/loads.ptx" -m a100 -p schedule --explain -o /dev/null
has err "loads: 3 loads, 0 start later than they could"
has err "Loads: 3; a warp alone waits"
check "info as JSON" 0 "$allot" info "$in/saxpy.ptx" --json
has out '"name": "saxpy"'

# -- names as in the source: accumulate<float, 64>(float*) and its variable --
cat >mangled.ptx <<'END'
.version 7.0
.target sm_70
.address_size 64
.visible .entry _Z10accumulateIfLi64EEvPT_(.param .u64 _Z10accumulateIfLi64EEvPT__param_0)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b8 _ZZ10accumulateIfLi64EEvPT_E6buffer[256];
    ld.param.u64 %rd1, [_Z10accumulateIfLi64EEvPT__param_0];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    mov.u32 %r2, _ZZ10accumulateIfLi64EEvPT_E6buffer;
    st.shared.u32 [%r2], %r1;
    st.global.u32 [%rd3], %r1;
    ret;
}
END
for c in "run mangled.ptx --grid 1 --block 64 --arg buf:256" "info mangled.ptx" \
    "workingset mangled.ptx --grid 1 --block 64 --arg buf:256"; do
    # shellcheck disable=SC2086 # words
    check "names, $c" 0 "$allot" $c
    has out "accumulate<float, 64>(float*)"
done
check "variables, info" 0 "$allot" info mangled.ptx
has out "accumulate<float, 64>(float*)::buffer"
check "kernel by its bare name" 0 "$allot" run mangled.ptx -k accumulate --grid 1 --block 64 --arg buf:256
check "kernel by its name in the source" 0 "$allot" info mangled.ptx -k "accumulate<float, 64>(float*)"
has out "accumulate<float, 64>(float*)::buffer"
check "kernel by its bare name, opt" 0 "$allot" opt mangled.ptx -k accumulate --explain -o names.ptx
check "another kernel" 1 "$allot" run mangled.ptx -k accumulat --grid 1 --block 64 --arg buf:256
has err "it has _Z10accumulateIfLi64EEvPT_ (accumulate<float, 64>(float*))"
check "names of a fault" 1 "$allot" run mangled.ptx --grid 1 --block 64 --arg buf:252
has err "kernel 'accumulate<float, 64>(float*)', block"
check "names, opt" 0 "$allot" opt mangled.ptx --explain -p scratchpad-layout,relssp -o names.ptx
has err "kernel accumulate<float, 64>(float*): "
has err "accumulate<float, 64>(float*)::buffer "
has err "accumulate<float, 64>(float*): relssp"

# -- a kernel of one's own --
check "own kernel" 0 "$allot" run "$in/saxpy.ptx" --grid 4 --block 256 --arg 2.5 \
    --arg buf:1024xf32,init=iota --arg buf:1024xf32,init=1,show=4,out=y.bin --arg 1024
has out "1 3.5 6 8.5"
check "its output file" 0 test "$(wc -c <y.bin)" -eq 4096
check "own kernel, functional" 0 "$allot" run "$in/saxpy.ptx" -f --grid 4 --block 256 \
    --arg 2.5 --arg buf:1024xf32,init=iota --arg buf:1024xf32,init=1,show=4 --arg 1024
has out "1 3.5 6 8.5"
cat >launch.yaml <<'EOF'
kernel: saxpy
grid: "4"
block: "256"
args: ["2.5", "buf:1024xf32,init=iota", "buf:in=y.bin", "1024"]
EOF
check "own kernel from a file" 0 "$allot" run "$in/saxpy.ptx" --launch launch.yaml --json
has out '"cycles"'
check "missing parameter" 1 "$allot" run "$in/saxpy.ptx" --grid 4 --block 256 --arg 2.5
has err "4 parameters"
check "a launch of a workload" 2 "$allot" run vecadd --quick --grid 4
check "no grid" 2 "$allot" run "$in/saxpy.ptx" --arg 2.5
for g in 0 -1 4,0 99999999999 1,1,1,1 4.5 ""; do
    check "grid '$g'" 2 "$allot" run "$in/saxpy.ptx" --grid "$g" --block 256
    has err "--grid $g:"
done
check "grid too large" 1 "$allot" run "$in/saxpy.ptx" -g 4294967295,4294967295 -b 1 -a 1 -a 0 \
    -a 0 -a 0
# bad TEXT MESSAGE: a second argument that must be refused
bad() {
    check "argument $1" 1 "$allot" run "$in/saxpy.ptx" -g 4 -b 256 -a 1 -a "$1" -a buf:4096 -a 9
    has err "$2"
}
: >nothing
bad buf: "needs a size"
bad buf:0 "needs a size"
bad buf:-4 "BYTES or COUNTxTYPE"
bad buf:4xf33 "element type"
bad buf:1099511627776 "gpu.memory"
bad buf:99999999999999999999 "too large"
bad buf:4096,init=some "init=some"
bad buf:4096,show=0 "show=0"
bad buf:4096,what "'what'"
bad buf:in=nowhere "cannot read nowhere"
bad buf:in=. "Is a directory"
bad buf:in=nothing "is empty"
bad buf:4096,out=nowhere/y "cannot write nowhere/y"
bad "" "not a value"
bad " -5" "not a value"
bad 12345678901234567890123 "not a value"
check "too many arguments" 1 "$allot" run "$in/saxpy.ptx" -g 1 -b 1 -a 1 -a 2 -a 3 -a 4 -a 5
has err "5 arguments were given"
check "show goes with JSON" 0 "$allot" run "$in/saxpy.ptx" -g 4 -b 256 -a 1 \
    -a buf:1024xf32,init=2,show=3 -a buf:1024xf32 -a 1024 --json
has err " 2 2 2"
check "JSON alone on standard output" 0 test "$(tail -c 2 out)" = "}"
check "block too large" 1 "$allot" run "$in/saxpy.ptx" --grid 1 --block 4096 --arg 2.5 \
    --arg buf:64 --arg buf:64 --arg 1
check "out of bounds" 1 "$allot" run "$in/saxpy.ptx" --grid 4 --block 256 --arg 2.5 \
    --arg buf:1024xf32 --arg buf:1000xf32 --arg 1024
has err "saxpy.ptx:"
has err "block (3"
check "null pointer" 1 "$allot" run "$in/saxpy.ptx" --grid 1 --block 32 --arg 1 --arg 0 \
    --arg 0 --arg 32
check "instruction limit" 1 "$allot" run "$in/saxpy.ptx" -f --grid 4 --block 256 --arg 1 \
    --arg buf:4096 --arg buf:4096 --arg 1024 --max-instructions 10
check "cycle limit" 1 "$allot" run "$in/saxpy.ptx" --grid 4 --block 256 --arg 1 \
    --arg buf:4096 --arg buf:4096 --arg 1024 --max-cycles 10
has err "saxpy.ptx:"
has err "was here"
check "a guard" 0 "$allot" run "$in/saxpy.ptx" --grid 4 --block 256 --arg 2 --guard 4096 \
    --arg buf:1000xf32,init=1 --arg buf:1024xf32,init=1,show=2 --arg 1024
has err "warning: kernel 'saxpy': 24 reads outside of allocations gave 0"
has out " 3 3"
for mode in "" -f "--threads 2"; do
    # shellcheck disable=SC2086 # words
    check "a guard for stores $mode" 0 "$allot" run "$in/saxpy.ptx" $mode --grid 4 --block 256 --arg 2 \
        --guard 4096 --arg buf:1024xf32,init=1 --arg buf:1000xf32,init=1,show=1000 --arg 1024
    has err "warning: kernel 'saxpy': 24 writes outside of allocations were dropped; the first is of block (3,0,0)"
    has err "(parameter 3, '"
    has out " 3 3"
done
check "no guard for stores" 1 "$allot" run "$in/saxpy.ptx" --grid 4 --block 256 --arg 2 \
    --guard 64 --arg buf:1024xf32 --arg buf:1000xf32 --arg 1024
has err "(parameter 3, '"
for n in 150 200 205 210 230 260; do # awake and asleep when the limit comes
    check "cycle limit $n" 1 "$allot" run vecadd -m a100 --quick --max-cycles $n
    has err "stopped after $n cycles, the limit"
done

# -- files that are not what they should be --
: >empty.ptx
mkdir folder.ptx
cp "$in/saxpy.ptx" saxpy.ptx
head -c 4000 "$allot" >binary.ptx
printf '.version 4.2\n.target sm_35\n.address_size 64\n' >nokernel.ptx
for c in info opt run; do
    for f in nowhere empty folder binary; do
        # shellcheck disable=SC2046 # options only where they are wanted
        check "$c $f.ptx" 1 "$allot" $c $f.ptx $([ $c = run ] && echo -g 1 -b 1)
        has err "$f.ptx"
    done
done
check "no kernel" 1 "$allot" run nokernel.ptx -g 1 -b 1
has err "holds no kernel"
: >empty.yaml
printf 'kernel: [a\n' >list.yaml
printf 'kernel: saxpy\nblocks: 3\n' >key.yaml
printf 'args: 3\n' >args.yaml
printf '"text"\n' >text.yaml
cp binary.ptx binary.yaml
for f in nowhere.yaml folder.ptx empty.yaml list.yaml key.yaml args.yaml text.yaml binary.yaml; do
    check "launch file $f" 1 "$allot" run "$in/saxpy.ptx" --launch $f
    has err "$f"
    check "machine file $f" 1 "$allot" run vecadd --quick --machine ./$f
    has err "$f"
done

# -- output that cannot be written --
if [ -c /dev/full ]; then
    # full ARGUMENTS...: to a disk that is full
    full() {
        "$allot" "$@" >/dev/full
    }
    for c in "list settings" "run --help" "--version" "run vecadd --quick --json" \
        "opt saxpy.ptx" "info saxpy.ptx"; do
        # shellcheck disable=SC2086 # words
        check "full disk: $c" 1 full $c
        has err "cannot write"
    done
    ln -s /dev/full full
    check "file on a full disk" 1 "$allot" opt "$in/saxpy.ptx" -o full
    has err "cannot write full"
    check "the link stays" 0 test -h full
    # The run's own table and its record are not lost with the file.
    for o in --trace --timeline; do
        check "$o on a full disk" 1 "$allot" run vecadd --quick --db $o.db $o full
        has err "cannot write full"
        has out "cycles"
        check "$o on a full disk: stored" 0 "$allot" results show 1 --db $o.db
    done
fi
mkfifo pipe
cat pipe >from-pipe &
check "a pipe is written to" 0 "$allot" opt "$in/saxpy.ptx" -o pipe
wait $!
check "and stays a pipe" 0 test -p pipe
check "what came through" 0 cmp from-pipe once.ptx
check "into a folder" 1 "$allot" opt "$in/saxpy.ptx" -o folder.ptx
has err "folder.ptx"
check "reader that leaves" 0 sh -c "'$allot' list settings | head -n 1"

# -- SIGTERM: status 143 (Ctrl-C: e2e/signals), within seconds, and no output file, whole or half --
cat >long.ptx <<'EOF'
.version 4.2
.target sm_35
.address_size 64
.visible .entry forever(.param .u64 p)
{
    .reg .b32 %r<2>;
    mov.u32 %r1, 0;
L:
    add.u32 %r1, %r1, 1;
    bra L;
}
.visible .entry short(.param .u64 p)
{
    ret;
}
EOF
# interrupted NAME COMMAND...: a signal after the command has got going
interrupted() {
    name=$1
    shift
    "$@" >out 2>err </dev/null &
    pid=$!
    sleep 0.5
    kill -TERM $pid
    (sleep 20 && kill -KILL $pid) >/dev/null 2>&1 &
    guard=$!
    wait $pid
    got=$?
    kill $guard 2>/dev/null
    check "$name, status $got" 0 test $got -eq 143
    check "$name, no file" 0 test ! -e y.out
    check "$name, no half file" 0 test -z "$(ls | grep 'y\.out')"
}
for mode in --functional --no-skip; do
    interrupted "long loop $mode" "$allot" run long.ptx $mode -k forever -g 9 -b 256 \
        -a buf:64,out=y.out
    interrupted "many blocks $mode" "$allot" run long.ptx $mode -k short -g 2000000000 -b 32 \
        -a buf:64,out=y.out
done

# -- SIGTERM in a loop of allot itself that never ends and looks at nothing --
cat >endless.c <<'EOF'
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
/* A launch asks for the time now and then. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    static volatile int calls;
    if (syscall(SYS_gettid) == getpid() && ++calls > 30) {
        close(open("in-the-loop", O_CREAT | O_WRONLY, 0600));
        for (;;)
            ;
    }
    return (int)syscall(SYS_clock_gettime, clock, t);
}
EOF
case $(nm -D "$allot" 2>/dev/null) in
*__asan_init* | *__tsan_init*) ;; # they come first
*)
    ${CC:-cc} -shared -fPIC endless.c -o endless.so
    for mode in --functional --no-skip; do
        rm -f in-the-loop
        LD_PRELOAD=$dir/endless.so "$allot" run long.ptx $mode -k forever -g 9 -b 256 \
            -a buf:64,out=y.out >out 2>err </dev/null &
        pid=$!
        (sleep 60 && kill -KILL $pid) >/dev/null 2>&1 &
        guard=$!
        until [ -e in-the-loop ] || ! kill -0 $pid 2>/dev/null; do sleep 0.1; done
        kill -TERM $pid
        wait $pid
        got=$?
        kill $guard 2>/dev/null
        check "endless loop $mode, status $got" 0 test $got -eq 143 -a -e in-the-loop
        check "endless loop $mode, no file" 0 test ! -e y.out
    done
    ;;
esac

# -- a terminal's progress line stays on terminals --
check "no control characters" 1 sh -c \
    "'$allot' compare vecadd --variants baseline 2>&1 | LC_ALL=C grep -q '[[:cntrl:]]'"

# -- run and compare --
check "run as JSON" 0 "$allot" run vecadd --quick --json
has out '"check": "passed"'
has out '"warp_instructions"'
has out '"resident_blocks"'
check "run twice gives the same" 0 "$allot" run vecadd --quick --csv
cut -d, -f1-3,5- out >first
"$allot" run vecadd --quick --csv | cut -d, -f1-3,5- >second
check "same counters" 0 cmp first second
"$allot" run vecadd --quick --csv --no-skip | cut -d, -f1-3,5- >third
check "same counters without skipping" 0 cmp first third
check "a timeline" 0 "$allot" run nw --quick --timeline t.csv --timeline-cycles 700 --csv
cp out counters.csv
# every counter's pieces add up to the launch's value, and the pieces join; derived values,
# from ipc on, are those of a piece
cat >t.awk <<'EOF'
FNR == 1 { for (i = 1; i <= NF; i++) { name[FILENAME, i] = $i; if ($i == "ipc") ipc = i
        if ($i == "cycles") cycles = i; if ($i == "thread_instructions") ti = i }
    n[FILENAME] = FILENAME == "t.csv" ? ipc : NF; next }
FILENAME == "t.csv" { for (i = 5; i < n[FILENAME]; i++) sum[$2, name[FILENAME, i]] += $i
    d = $ipc - $ti / $cycles; if (d > 1e-6 * $ipc || -d > 1e-6 * $ipc) exit bad = 1
    if ($3 != end[$2] + 0 || $4 <= $3 || $4 - $3 > 700) exit bad = 1
    end[$2] = $4; pieces++; next }
{ launch++; for (i = 5; i <= NF; i++) if ((launch, name[FILENAME, i]) in sum) { seen++
    if (sum[launch, name[FILENAME, i]] != $i) { print launch, name[FILENAME, i]; bad = 1 } } }
END { exit bad || pieces < 3 * launch || seen < 80 * launch }
EOF
check "its pieces add up" 0 awk -F, -f t.awk t.csv counters.csv
check "the same without skipping" 0 "$allot" run nw --quick --timeline t2.csv \
    --timeline-cycles 700 --no-skip --csv
check "piece by piece" 0 cmp t.csv t2.csv
check "a timeline without time" 2 "$allot" run nw --quick --functional --timeline t.csv
check "why" 0 "$allot" run vecadd --quick --why
has out 'issue slots by cause'
# causes of every line add up to 100 %, as far as two decimals can
cp out why.txt
check "why adds up" 0 awk '/^(SM|---) / { next } /^([0-9]+|all) / { s = 0; n++
    for (i = 2; i < NF; i++) s += $i; if (s < 99.95 || s > 100.05) bad = 1 } END { exit bad || n != 16 }' why.txt
check "why as JSON" 0 "$allot" run vecadd --quick --why --json
has out '"issue_memory"'
check "why without slots" 2 "$allot" run vecadd --quick --why --functional
check "compare" 0 "$allot" compare vecadd --quick --variants unshared-lrr,unshared-gto
has out "passed"
check "unknown variant" 2 "$allot" compare vecadd --quick --variants nosuch
check "a variant of one's own" 0 "$allot" compare vecadd --quick \
    --variants baseline,small:sm.count=1 --json
has out '"small"'
check "a chart" 0 "$allot" compare vecadd --quick --variants baseline,unshared-lrr --chart c.svg
check "its file" 0 grep -q "</svg>" c.svg
check "no other file is left" 0 test "$(ls | grep -c '^c.svg')" -eq 1

# -- the generated references are those of the tables --
for k in settings counters; do
    check "docs/$k.md is current" 0 sh -c "'$allot' list $k --markdown | cmp - '$src/docs/$k.md'"
done
check "docs/ptx-coverage.md is current" 0 \
    sh -c "'$allot' list ptx --markdown | cmp - '$src/docs/ptx-coverage.md'"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
