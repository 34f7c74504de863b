#!/bin/sh
# commit-msg.sh: tools/commit-msg takes subjects of the form `area: verb ...`, and refuses others, each for
# its reason. usage: commit-msg.sh ALLOT SOURCE_DIR
allot=$(realpath "$1")
src=$2
. "$src/tests/e2e/inputs/lib.sh"
command -v python3 >/dev/null || { echo "SKIP: no python3"; exit 77; }

takes() { # SUBJECT
    printf '%s\n\nWhy.\n' "$1" >m
    check "$1" 0 python3 "$src/tools/commit-msg" m
}
refuses() { # REASON SUBJECT
    printf '# a comment\n%s\n' "$2" >m
    check "$2" 1 python3 "$src/tools/commit-msg" m
    is "$2: its reason" "$(grep -cF -- "$1" err)" 1
}
takes 'passes/relssp: split critical edges first'
takes 'docs, tests: leave out three mutations'
takes 'CMakeLists.txt: need bison'
takes 'exec/{step,lanes}: pass the mask'
refuses 'two changes' 'sched: count reads once; set the cost'
refuses 'no verb' 'docs: what a pass is'
refuses 'no verb' 'docs: Figures of today'
refuses 'no imperative' 'docs: figures of today'
refuses 'no imperative' 'sched: counted reads once'
refuses 'no imperative' 'sched: counting reads once'
refuses 'no `area: verb' 'count reads once'
refuses '73 columns' 'sched: count the reads of each register once, whatever number it has in i'
refuses 'full stop' 'sched: count reads once.'
cd / && rm -rf "$dir"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
