#!/bin/sh
# paper-pages.sh ALLOT SOURCE: the numbers of a page of results come out of kept results, or are marked, or
# counted in a list that only shrinks.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
ALLOT_PAPERS=$dir/papers
export ALLOT_PAPERS
mkdir -p papers/001/results
cat >papers/001/f.yaml <<'END'
title: F
machine: gtx480
workloads: [{name: vecadd, label: a}, {name: vecadd, label: b, settings: [sm.count=2]}]
variants: [{name: old}, {name: new, settings: [sm.scheduler=gto]}]
baseline: old
metrics: [{name: gain, stat: ipc, as: gain}, {name: cycles}]
paper: f.csv
checks:
  - {says: a gains, that: "[a, new] > 0"}
  - {says: b gains, that: "[b, new] > 0"}
  - {says: all have cycles, that: "[each, new, cycles] > 0", by: construction}
  - {says: none loses, that: "[worst, new] >= 0", by: ours}
END
printf 'workload,series,value,metric\na,new,20,gain\nb,new,3,gain\n' >papers/001/f.csv
printf '%s\n' workload,series,metric,value a,old,gain,0 a,new,gain,12.3456 b,old,gain,0 b,new,gain,-4.5 \
    a,old,cycles,1234567 a,new,cycles,1000 b,old,cycles,10 b,new,cycles,11 >papers/001/results/f.csv

page() { printf '# Page\n\n## First\n\n%s\n' "$1" >page.md; }
line() { sed -n 5p page.md; }
# NUMBER REFERENCE WANTED: what stands in the page is found wrong and filled in; and is then right.
filled() {
    page "it is $1<!--=001/f $2--> here"
    if [ "$1" != "$3" ]; then
        check "$2 is not $1" 1 "$allot" paper --check-docs --page page.md
        has err "page.md:5:1: error: $1 is $3 by 001/f $2"
    fi
    check "$2: filled" 0 "$allot" paper --write-docs --page page.md
    is "$2 for $1" "$(line)" "it is $3<!--=001/f $2--> here"
    check "$2 is $3" 0 "$allot" paper --check-docs --page page.md
}
filled 12.3 "[a, new]" 12.3
filled 12.4 "[a, new]" 12.3
filled +99 "[a, new]" +12
filled -9.00 "[a, new]" +12.35
filled +1.0 "[b, new, gain]" -4.5
filled 1.0 "[b, new, gain]" -4.5
filled 1,000 "[a, old, cycles]" 1,234,567
filled 1.00 "paper [a, new]" 20.00
filled 9 held 1
filled 9 statements 2
filled 0.0 "100 * (1 - [a, new, cycles] / [a, old, cycles])" 99.9
filled -0.0 "[a, old]" +0.0

wrong() { # REFERENCE MESSAGE
    page "it is 1<!--=$1--> here"
    check "$1" 1 "$allot" paper --check-docs --page page.md
    has err "page.md:5:1: error: $2"
    check "$1 stays" 1 "$allot" paper --write-docs --page page.md
    is "$1 stays" "$(line)" "it is 1<!--=$1--> here"
}
wrong "001/f [c, new]" "001/f [c, new]: no such workload"
wrong "001/f [each, new]" "001/f [each, new]: \`each\` is for statements"
wrong "001/f" "001/f : a value is a number"
wrong "001/g [a, new]" "there is no experiment '001/g'"
wrong "001/f rank cycles" "001/f rank cycles is not known"

# What is no number, and what is one.
: >unreferenced.tsv
open() { # COUNT TEXT
    page "$2"
    if [ "$1" = 0 ]; then
        check "none open: $2" 0 "$allot" paper --check-docs --page page.md
    else
        check "$1 open: $2" 1 "$allot" paper --check-docs --page page.md
        has err "section 'First' has $1 numbers that are neither references nor marked as fixed"
    fi
}
open 1 "gains 5 %"
open 1 "gains +5.25%, it says"
open 2 "from 1,000 to 2"
page "$(printf '<!-- paper 001/f -->\n<!-- end -->')"
check "a block's numbers are its own" 0 "$allot" paper --write-docs --page page.md
has page.md "| a |"
open 0 "gains 5<!--fixed--> %"
open 0 "Figure 2.13, Figures 2.13(b), 2.14 and 2.15 to 2.17; Table 4; section 5; CUDA 13"
open 1 "Figures 2.13 and 2.14 show 7"
open 0 "000, 001, 004 and 2026-11-23"
open 0 "fig14, b17, 16K, 3.x, v1.2.3, sm_80, 002-gtx680"
open 0 "\`-P side=10\` and [a page](page-5.md#4-x)"
open 0 "    allot run x -P side=10"
open 0 "<!-- 12 -->"
open 2 "(12) -3"
open 0 "$(printf '```\n12\n```')"
open 2 "$(printf '| claim | paper | ours: paper | here |\n| --- | --- | --- | --- |\n| 1 | 2 | 3 | 4 and 5 |')"

# The list: a section may have as many as it says, not more, not fewer, and it only shrinks.
page "5 and 6"
printf 'page.md\tFirst\t2\nother.md\tFirst\t1\n' >unreferenced.tsv
check "as the list says" 0 "$allot" paper --check-docs --page page.md
page "5"
check "fewer" 1 "$allot" paper --check-docs --page page.md
has err "hint: allot paper --write-docs shortens the list"
check "shortened" 0 "$allot" paper --write-docs --page page.md
is "the list" "$(tr '\t\n' '  ' <unreferenced.tsv)" "page.md First 1 other.md First 1 "
check "as the list says now" 0 "$allot" paper --check-docs --page page.md
page "5, 6, 7"
check "more" 1 "$allot" paper --write-docs --page page.md
is "the list does not grow" "$(sed -n 1p unreferenced.tsv | tr '\t' ' ')" "page.md First 1"

# Statements by their kind.
rm unreferenced.tsv
page "$(printf '<!-- paper 001/f -->\n<!-- end -->')"
check "a block" 0 "$allot" paper --write-docs --page page.md
has page.md "Statements of the text that hold: 1 of 2; true by construction: 1 of 1; our own: 0 of 1."
has page.md "- Does not hold: b gains"
# Totals of a document: by a table, and by a reference.
printf 'title: G\nmachine: gtx480\nworkloads: [{label: k, threads: 256}]\nvariants: [{name: x}]\nmetrics: [{name: resident_blocks}]\npaper: g.csv\n' >papers/001/g.yaml
printf 'workload,series,value\nk,x,6\n' >papers/001/g.csv
printf 'workload,series,metric,value\nk,x,resident_blocks,6\n' >papers/001/results/g.csv
page "$(printf '<!-- paper totals 001 -->\n<!-- end -->\n\n9<!--=001 held--> of 9<!--=001 statements-->, 9<!--=001 within--> of 9<!--=001 bounded-->')"
check "totals" 0 "$allot" paper --write-docs --page page.md
has page.md "| f | 1 of 2 | 1 of 1 | 0 of 2 | |"
has page.md "| g | | | | 1 of 1 |"
has page.md "| **all** | 1 of 2 | 1 of 1 | 0 of 2 | 1 of 1 |"
has page.md "1<!--=001 held--> of 2<!--=001 statements-->, 0<!--=001 within--> of 2<!--=001 bounded-->"
sed -i 's/new,gain,12.3456/new,gain,24.9/' papers/001/results/f.csv
check "a number within 5 points" 1 "$allot" paper --check-docs --page page.md
has err "0 is 1 by 001 within"
wrong "001 helds" "there is no total 'helds' of '001'"
wrong "007 held" "there is no total 'held' of '007'"
rm papers/001/g.yaml
page "$(printf '<!-- paper 001/f -->\n<!-- end -->')"

sed -i 's/by: ours/by: me/' papers/001/f.yaml
check "by whom" 1 "$allot" paper --check-docs --page page.md
has err "a statement is by \`text\`, \`construction\` or \`ours\`, not 'me'"
finish paper-pages
