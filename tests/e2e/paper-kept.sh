#!/bin/sh
# paper-kept.sh ALLOT SOURCE: what is kept of the papers' figures says what made it, and is held against
# today's: every input of a figure that changes makes it old, and nothing else does.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT

mkdir tree
cp -r "$src/papers" tree/papers
cp -r "$src/machines" machines
ALLOT_PAPERS=$dir/tree/papers ALLOT_MACHINES=$dir/machines
export ALLOT_PAPERS ALLOT_MACHINES
rm -rf tree/papers/*/results
tiny=tree/papers/001/tiny
cat >$tiny.yaml <<'END'
title: Tiny
note: "One kernel # of a workload."
machine: gtx480
workloads: [{name: vecadd, params: [n=4096]}]
variants:
  - {name: plain}
  - {name: lrr, settings: [sm.scheduler=lrr]}
baseline: plain
metrics: [{name: cycles}]
checks:
  - {says: it takes time, that: "[vecadd, plain] > 1"}
END
cp $tiny.yaml tiny.was
echo page >page.md
keep() { check "kept" 0 "$allot" paper 001/tiny --write-docs --page page.md --db p.db; }
kept=tree/papers/001/results/tiny.csv
stale() { # WHAT LINE COUNTS: the line of the figure, words of the sum
    check "$1" 0 "$allot" paper --stale 001/tiny
    is "$1: the figure" "$(sed -n '/^[a-z]* *001/s/  */ /gp' out)" "$2"
    has out "1 figures have kept results: $3"
}
same="1 are of today's code" code="0 are of today's code, of 1 only code has changed"
old="0 are of today's code, of 0 only code has changed, 1 are old"

# Each kind of line.
keep
for line in '# experiment tiny ' '# machine gtx480 ' '# workload vecadd,clang ' '# code base ' '# code timing '; do
    has $kept "$line"
done
stale "just kept" "" "$same"

# What only says something changes nothing.
sed -i -e 's/Tiny/Small/' -e 's/one kernel/a kernel/I' -e 's/takes time/is slow/' -e 's/> 1"/> 2"/' \
    -e 's/^baseline.*/& # a word/' $tiny.yaml
stale "other words" "" "$same"

# Everything that values depend on does.
change() { # WHAT SED LINE
    cp tiny.was $tiny.yaml
    sed -i "$2" $tiny.yaml
    stale "$1" "old 001/tiny $3" "$old"
    cp tiny.was $tiny.yaml
}
change "a setting" 's/=lrr/=gto/' "experiment tiny"
change "a parameter" 's/4096/8192/' "experiment tiny"
change "a metric" 's/name: cycles/name: ipc/' "experiment tiny"
change "a comment sign within quotes" 's/params: .n=4096./label: "a #b"/' "experiment tiny"
change "another workload" 's/vecadd, params: .n=4096./matmul/' "experiment tiny, workload matmul,clang, workload vecadd,clang"
change "another compiler" 's/^machine/compiler: nvcc\n&/' "experiment tiny, workload vecadd,nvcc, workload vecadd,clang"
change "another machine" 's/gtx480/titan/' "experiment tiny, machine titan, machine gtx480"
cp machines/gtx480.yaml machine.was
sed -i 's/^  core: .*/  core: 701/' machines/gtx480.yaml
stale "the machine's file" "old 001/tiny machine gtx480" "$old"
# What a machine says as every machine has it by default is as if it said nothing: a setting that is added later.
sed "/^  gpcs:/d; s/^sm:.*/&\n  gpcs: ''/" machine.was >machines/gtx480.yaml
stale "a default that is stated" "" "$same"
sed "/^  gpcs:/d; s/^sm:.*/&\n  gpcs: '7 8'/" machine.was >machines/gtx480.yaml
stale "another value of it" "old 001/tiny machine gtx480" "$old"
cp machine.was machines/gtx480.yaml
cp $kept kept.was
sed -i 's/^\(# workload [^ ]*\) ./\1 x/' $kept
stale "other PTX or inputs" "old 001/tiny workload vecadd,clang" "$old"
cp kept.was $kept
sed -i 's/^\(# code timing\) ./\1 x/' $kept
stale "other code" "code 001/tiny code timing" "$code"
sed -i '/^# code timing/d' $kept
stale "code that was not there" "code 001/tiny code timing" "$code"
sed -i '/^# [a-z]* [^ ]* [0-9a-z]*$/d' $kept
stale "results that say nothing" "unknown 001/tiny does not say what made it (allot $(sed -n '1s/.*allot //p' $kept))" \
    "0 are of today's code, of 0 only code has changed, 0 are old, 1 do not say what made them"

# The small version: kept, the same, not the same, kept again; other values of it make the figure old.
check "no small version" 1 "$allot" paper 001/tiny --quick --check --db q.db
has err "no small version is kept"
has err "hint: allot paper 001/tiny --quick --keep"
check "kept" 0 "$allot" paper 001/tiny --quick --keep --db q.db
check "the same" 0 "$allot" paper 001/tiny --quick --check --db q.db
keep
has $kept "# small tiny "
stale "with a small version" "" "$same"
small=tree/papers/001/quick/tiny.csv
sed -i 's/^\(vecadd,lrr,cycles\),.*/\1,1/' $small
check "not the same" 1 "$allot" paper 001/tiny --quick --check --db q.db
has err "001/tiny: [vecadd, lrr, cycles] is "
has err ", kept is 1"
has err "1 values of its small version have changed"
stale "another small version" "old 001/tiny small tiny" "$old"
sed -i '/^vecadd,lrr/d' $small
check "a value is missing" 1 "$allot" paper 001/tiny --quick --check --db q.db
check "kept again" 0 "$allot" paper 001/tiny --quick --keep --db q.db
check "the same again" 0 "$allot" paper 001/tiny --quick --check --db q.db
stale "the small version of before" "" "$same"

# Of the passes only the folders of those that the machine and the experiment name.
rooms() { # WHAT SED FOLDERS
    sed "$2" tiny.was >$tiny.yaml
    keep
    is "$1" "$(sed -n 's/^# code passes\/\([a-z]*\) .*/\1/p' $kept | tr '\n' ' ')" "$3"
    cp tiny.was $tiny.yaml
}
rooms "a document's machine" 's/gtx480/001-table2.3-registers/' "cleanup regalloc "
rooms "virtual registers" 's/gtx480/001-table2.3-registers/; s/=lrr/=lrr, compiler.registers=virtual/; s/{name: plain}/{name: plain, registers: virtual}/' ""
rooms "a pass of the experiment" 's/gtx480/001-table2.3-registers/; s/=lrr/=lrr, compiler.passes=relssp/' "cleanup regalloc sharing "
rooms "a pass behind the others" 's/gtx480/001-table2.3-registers/; s/=lrr/=lrr, "compiler.late_passes=reorder-registers,sink"/' "card cleanup regalloc sharing "

# The commit, by a branch, a packed one, a worktree's, and none.
commit() { # WHAT WANTED
    keep
    is "commit: $1" "$(sed -n 's/^# commit //p' $kept)" "$2"
}
commit "no tree of git" ""
mkdir -p tree/.git/refs/heads
echo 'ref: refs/heads/main' >tree/.git/HEAD
echo 0123456789abcdef0123456789abcdef01234567 >tree/.git/refs/heads/main
commit "a branch" 0123456789ab
echo 'fedcba9876543210fedcba9876543210fedcba98 refs/heads/main' >tree/.git/packed-refs
rm tree/.git/refs/heads/main
commit "a packed branch" fedcba987654
echo 00112233445566778899aabbccddeeff00112233 >tree/.git/HEAD
commit "no branch" 001122334455
mv tree/.git main
mkdir -p main/worktrees/w
echo 'ref: refs/heads/other' >main/worktrees/w/HEAD
echo ../.. >main/worktrees/w/commondir
echo aa112233445566778899aabbccddeeff00112233 >main/refs/heads/other
echo "gitdir: $dir/main/worktrees/w" >tree/.git
commit "a worktree" aa1122334455

check "keep without --quick" 2 "$allot" paper 001/tiny --keep
check "check without --quick" 2 "$allot" paper 001/tiny --check
check "both" 2 "$allot" paper 001/tiny --quick --keep --check
finish paper-kept
