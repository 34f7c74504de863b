#!/bin/sh
# policy-plugin.sh ALLOT SOURCE: policies out of the tree. examples/policy is compiled and run; a scheduler
# whose file is compiled as a plug-in counts what the one in the tree counts; stored results know plug-ins
# apart; what cannot be loaded is refused, each for its reason.
allot=$(realpath "$1")
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
cc=${CC:-cc}
command -v "$cc" >/dev/null || { echo "SKIP: no C compiler"; exit 77; }
[ -z "$sanitized" ] || cc="$cc -fsanitize=address,undefined"
flags="-std=gnu17 -O1 -fPIC -shared -I$src/src -I$src/include"
plugin() { # FILE.c: compiles it to FILE.so
    # shellcheck disable=SC2086 # words
    check "compile $1" 0 $cc $flags -o "${1%.c}.so" "$1"
}

cp "$src"/examples/policy/* .
check "make" 0 make -s ALLOT="$src" CC="$cc"
export ALLOT_POLICIES=$dir/youngest.so
check "list" 0 "$allot" list policies
is "both are listed" "$(grep -cE '^  (youngest|mru) ' out)" 2
check "it runs" 0 "$allot" run matmul --quick -s youngest --json
cp out young
check "another scheduler" 0 "$allot" run matmul --quick -s gto --json
cycles() { sed -n 's/.*"cycles": \([0-9]*\).*/\1/p' "$1" | head -1; }
is "it is another order" "$([ "$(cycles young)" != "$(cycles out)" ] && echo yes)" yes
check "its replacement runs" 0 "$allot" run matmul --quick --set l2.replacement=mru

# A policy of the tree as a plug-in counts the same.
sed 's/^const struct sched_policy sched_lrr = /static const struct sched_policy sched_lrr = /; s/"lrr"/"lrr2"/' \
    "$src/src/timing/policy/schedulers/lrr.c" >lrr2.c
cat >>lrr2.c <<'END'
#include "timing/policy/policy_plugin.h"
static const struct sched_policy *const list[] = {&sched_lrr, NULL};
const struct policy_plugin allot_policies = {POLICY_ABI, .schedulers = list};
END
plugin lrr2.c
counters() { "$allot" run srad_v2 --quick -s "$1" --json | grep -vE '"(seconds|machine_hash)|lrr'; }
export ALLOT_POLICIES=$dir/youngest.so:$dir/lrr2.so
counters lrr >a
counters lrr2 >b
check "lrr as a plug-in" 0 cmp a b
is "they are counters" "$([ "$(wc -l <a)" -gt 20 ] && echo yes)" yes

# A result is reused with the same plug-ins only.
cat >s.yaml <<'END'
title: one run
machine: gtx480
workloads: [{name: vecadd}]
variants: [{name: lrr, settings: [sm.scheduler=lrr]}]
metrics: [{name: cycles}]
END
sweep() { # NAME STORED DONE
    check "$1" 0 "$allot" sweep s.yaml --quick --db r.db
    has err "$2 stored before, $3 done now"
}
sweep "the first sweep" 0 1
sweep "the same plug-ins" 1 0
ALLOT_POLICIES=$dir/youngest.so
sweep "others" 0 1

# Refused.
refuses() { # NAME FILES TEXT
    export ALLOT_POLICIES=$2
    check "$1" 2 "$allot" run matmul --quick
    is "$1: its reason" "$(grep -cF -- "$3" err)" 1
}
refuses "a missing file" "$dir/none.so" "there is no such file"
echo text >text.so
refuses "no shared object" "$dir/text.so" "text.so"
echo 'int x;' >empty.c
plugin empty.c
refuses "no symbol" "$dir/empty.so" "no symbol allot_policies"
sed 's/"youngest"/"gto"/' youngest.c >gto2.c
plugin gto2.c
refuses "a name of the tree" "$dir/gto2.so" "a policy 'gto' already"
refuses "a name of another" "$dir/youngest.so:$dir/youngest.so" "a policy 'youngest' already"
sed 's/POLICY_ABI,/POLICY_ABI, .version = 0,/' youngest.c >old.c
plugin old.c
refuses "other sources" "$dir/old.so" "compiled with other sources"
sed 's/return best;/return allot_nowhere(best);/; s/^static void$/int allot_nowhere(int);\nstatic void/' youngest.c >lost.c
plugin lost.c
refuses "a function that is nowhere" "$dir/lost.so" "allot_nowhere"

export ALLOT_POLICIES=
check "without" 2 "$allot" run matmul --quick -s youngest
is "without: its reason" "$(grep -c "no policy 'youngest'" err)" 1
finish policy-plugin
