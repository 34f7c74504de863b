#!/bin/sh
# paper.sh ALLOT SOURCE: figures of the papers, on small inputs.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT

check "list" 0 "$allot" paper --list
for f in "$src"/papers/*/*.yaml; do
    n=$(basename "$(dirname "$f")")/$(basename "$f" .yaml)
    has out "$n "
done
if grep -q 'cannot be read' out; then
    echo "FAIL list: a file cannot be read"
    failed=$((failed + 1))
fi

# Every file stands for what there is: machines, settings, workloads, passes, paper's numbers.
for f in "$src"/papers/*/*.yaml; do
    in_sample || continue
    check "$(basename "$f") can be run" 0 "$allot" sweep "$f" --dry-run --db list.db
done

# The documents' machines and experiments name every pass, so that what a pipeline's word stands for may
# change without their figures.
"$allot" opt --list-passes >passes
named() { # what, pipeline
    for step in $(echo "$2" | tr ',' ' '); do
        grep -q "^ *${step%%:*} " passes || { echo "FAIL $1 uses '$step', which is no pass by its own name"; failed=$((failed + 1)); }
    done
}
for f in "$src"/machines/0*.yaml; do
    m=$(basename "$f" .yaml)
    "$allot" list machine "$m" >settings
    is "$m says what its passes are" "$(grep -c '^compiler.cleanup  *[a-z]' settings)" 1
    for key in passes cleanup late_passes; do
        named "$m" "$(sed -n "s/^compiler.$key  *\([a-z0-9:=,-]*\)  .*/\1/p" settings)"
    done
done
for f in "$src"/papers/00*/*.yaml; do
    for p in $(grep -ohE '(passes: *|passes=|cleanup=)"?[a-z][a-z0-9:=,-]*' "$f" |
        sed -E 's/^[a-z]*(: *|=)"?//'; grep -ohE '"[a-z-]+,[a-z0-9:=,-]+"' "$f" | grep -E 'peel|allocate|cleanup' | tr -d '"'); do
        named "$f" "$p"
    done
done

# The calculator's tables agree with the paper's cell by cell.
check "table 2.6" 0 "$allot" paper 001/table2.6 --db p.db --out o
has out "48 values beside the paper's: signs equal in 40 of 40; the same number in 48; rank correlation +1.00"
check "table 2.8" 0 "$allot" paper 001/table2.8 --db p.db
has out "42 values beside the paper's: signs equal in 35 of 35; the same number in 42"

# Tables of machines and kernels: ours are the documents'.
same() { # figure, values, how often: "N values ...: the same number in N"
    check "$1" 0 "$allot" paper "$1" --quick --db p.db
    is "$1: the document's numbers" "$(grep -c "^$2 values beside.* the same number in $2;" out)" "$3"
}
same 000/table1 14 3
same 000/table2 1 11
same 000/table3 8 12
same 000/table7 13 3
same 000/table8 2 3
same 000/table12 5 2
same 000/fig1 14 1
same 000/fig2 14 1
check "000 table 4" 0 "$allot" paper 000/table4 --quick --db p.db
has out "6 of 6 statements hold"
check "000 table 5" 0 "$allot" paper 000/table5 --quick --db p.db
has out "8 of 9 statements hold" # all but the blocks of heartwall, of which quick has fewer

# What relssp adds to each thread, and Set-3, where sharing changes nothing.
check "000 table 6" 0 "$allot" paper 000/table6 --quick --db p.db
has out "holds   Sharing alone changes no instruction"
is "table 6: relssp adds one or two instructions a thread of each kernel" "$(awk '
    /^Instructions more of a thread/ { on = 1 } / beside the paper/ { on = 0 }
    on && $3 + 0 > 0 { n++; bad += $3 < 0.9999 || $3 > 2 } END { print n, bad + 0 }' out)" "14 0"
for k in DCT1 DCT2 NW1 NW2; do
    has out "holds   $k: one instruction a thread"
done
for k in backprop DCT3 DCT4 NQU; do
    has out "holds   $k: some threads one, some two"
done
check "000 figure 23" 0 "$allot" paper 000/fig23 --quick --db p.db
has out "4 of 4 statements hold"

# A mean that the text states stands beside ours.
check "000 figure 15" 0 "$allot" paper 000/fig15 --quick --db p.db
has out "geometric mean of all rows: shared-owf-opt"
has out "the paper's +15.42 %"

# A simulated figure: values, verdict, chart, CSV; the values by another way.
check "figure 2.13" 0 "$allot" paper 001/fig2.13 --quick --db p.db --out o
has out "signs equal in"
has err "10 runs: 0 stored before, 10 done now"
has o/001-fig2.13.svg "</svg>"
has o/001-fig2.13.csv "lavaMD,shared-owf,001-table2.3-scratchpad,shared-owf,gain,%,"
check "again" 0 "$allot" paper 001/fig2.13 --quick --db p.db
has err "10 stored before, 0 done now"
for v in "baseline lrr" "scratchpad-sharing owf"; do
    # shellcheck disable=SC2086 # two words
    set -- $v
    "$allot" run srad_v2 --quick -m 001-table2.3-scratchpad --regs 20 -r "$1" -s "$2" -t 0.1 --json >"$2.json"
done
python3 - <<'END' || failed=$((failed + 1))
import csv, json, sys
def ipc(f, kernel):
    k = [k for k in json.load(open(f))["kernels"] if k["name"] == kernel]
    return sum(x["thread_instructions"] for x in k) / sum(x["cycles"] for x in k)
ours = {r["workload"]: float(r["ours"]) for r in csv.DictReader(open("o/001-fig2.13.csv"))}
for row, kernel in ("SRAD1", "srad_cuda_1"), ("SRAD2", "srad_cuda_2"):
    want = 100 * (ipc("owf.json", kernel) / ipc("lrr.json", kernel) - 1)
    if abs(ours[row] - want) > 1e-6:
        sys.exit(f"FAIL figure 2.13: {row} {ours[row]}, by allot run {want}")
END
# Runs are shared with other figures: 2.14 has all it needs.
check "figure 2.14" 0 "$allot" paper 001/fig2.14 --quick --db p.db --markdown
has err "10 stored before, 0 done now"
has out "| lavaMD |"
has out "holds"
# 000 Table VI: relssp costs each thread of DCT1 one instruction, half of DCT3's
# another one: 49152 for 32768 threads.
cat >added.yaml <<'END'
title: Instructions that relssp adds
machine: 000-table2
workloads: [{name: dct1}, {name: dct3}]
variants:
  - {name: plain, settings: [residency.policy=baseline]}
  - {name: released, settings: [residency.policy=scratchpad-sharing], passes: relssp}
baseline: plain
metrics:
  - {name: threads}
  - {name: added, stat: thread_instructions, as: difference}
  - {name: each, stat: instructions_per_thread, as: difference}
checks:
  - {says: one each, that: "[dct1, released, added] = [dct1, plain, threads] and [dct1, released, each] = 1"}
  - {says: three halves, that: "[dct3, released, each] = 1.5"}
END
check "instructions added" 0 "$allot" sweep added.yaml --quick --db p.db
is "both checks hold" "$(grep -c holds out)" 2

# 001: the machine, and what kernels ask for; but for registers, which are our allocator's.
same 001/table2.1 8 1
same 001/table2.2 7 2
same 001/table2.3 2 16
same 001/table4.2 1 7
same 003/table1 10 3
check "table 2.4" 0 "$allot" paper 001/table2.4 --quick --db p.db
has out "4 of 4 statements hold"
# docs/fidelity.md and docs/results-*.md say what the kept results say, byte by byte.
check "the pages of results" 0 sh -c "cd '$src' && '$allot' paper --check-docs"
has "$src/docs/results-001.md" '<!-- paper 001/fig2.13a -->'

# The whole path in a copy: measured, kept, filled in, found stale, filled again.
cp -r "$src/papers" papers
ALLOT_PAPERS=$dir/papers
export ALLOT_PAPERS
rm -rf papers/*/results
block() { printf 'Before.\n\n<!-- paper %s -->\nold\n<!-- end -->\n\nBehind.\n' "$1"; }
block 001/table2.6 >page.md
check "not measured yet" 1 "$allot" paper --write-docs --page page.md
has err "page.md:3:1: error: no results are kept for 001/table2.6"
has err "hint: allot paper 001/table2.6 --write-docs"
block 001/table2.6 | cmp - page.md || { echo "FAIL the page changed"; failed=$((failed + 1)); }
check "measured and filled" 0 "$allot" paper 001/table2.6 --write-docs --page page.md --db w.db
has page.md "| b+tree | 2 | 2 | 2 | 2 | 2 | 2 | 3 | 3 | 3 | 3 | 3 | 3 |"
has page.md "48 values beside the paper's: signs equal in 40 of 40; the same number in 48"
is "text around it" "$(sed -n '1,3p;$p' page.md)" "$(block 001/table2.6 | sed -n '1,3p;$p')"
has papers/001/results/table2.6.csv "b+tree,50 %,resident_blocks,3"
check "not stale" 0 "$allot" paper --check-docs --page page.md
sed -i 's/^\(b+tree,50 %,resident_blocks\),3/\1,2.5/' papers/001/results/table2.6.csv
check "stale" 1 "$allot" paper --check-docs --page page.md
has err "page.md:3:1: error: the block of 001/table2.6 is not what its results give"
check "filled again" 0 "$allot" paper --write-docs --page page.md
has page.md "| b+tree | 2 | 2 | 2 | 2 | 2 | 2 | 2.5000 | 3 |"
echo 'b+tree,51 %,resident_blocks,3' >>papers/001/results/table2.6.csv
check "a bad line of results" 1 "$allot" paper --check-docs --page page.md
has err "the experiment has no series '51 %'"

# Figures whose runs failed keep what they had.
cat >papers/001/tiny.yaml <<'END'
title: Tiny
machine: gtx480
workloads: [{name: vecadd, params: [n=4096]}]
variants: [{name: plain, settings: [sm.max_block_threads=32]}]
baseline: plain
metrics: [{name: cycles}]
checks: [{says: it takes time, that: "[vecadd, plain] > 1e9"}]
END
block 001/tiny >page.md
check "ended early" 1 "$allot" paper 001/tiny --write-docs --page page.md --db w.db
has err "the results of 001/tiny stay as they were"
sed -i 's/, settings: .*]/}]/; s/}]}]/}]/' papers/001/tiny.yaml
check "run" 0 "$allot" paper 001/tiny --write-docs --page page.md --db w.db
has page.md "- Does not hold: it takes time"

block 001/nosuch >page.md
check "an unknown name in the page" 1 "$allot" paper --check-docs --page page.md
has err "page.md:3:1: error: there is no experiment '001/nosuch'"
printf '<!-- paper a -->\n<!-- paper b -->\n<!-- end -->\n' >page.md
check "a block in a block" 1 "$allot" paper --write-docs --page page.md
has err "page.md:2:1: error: the block of b begins before that of a ends"
printf '\n<!-- paper a -->\n' >page.md
check "no end" 1 "$allot" paper --write-docs --page page.md
has err "page.md:2:1: error: the block of a has no '<!-- end -->'"
check "no page" 1 "$allot" paper --write-docs --page nosuch.md
has err "cannot read the page nosuch.md"
check "quick results are not kept" 2 "$allot" paper 001/table2.6 --quick --write-docs
unset ALLOT_PAPERS

check "no such figure" 2 "$allot" paper 001/fig99 --db p.db
check "nothing named" 2 "$allot" paper --db p.db
finish paper
