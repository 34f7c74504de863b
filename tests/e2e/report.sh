#!/bin/sh
# report.sh ALLOT SOURCE: the report: page, Markdown, CSV. The page is used in headless Chromium;
# left out, with a word, where there is none.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT

check "nothing to write" 2 "$allot" report --db r.db
other=001/fig2.20
[ -z "$sanitized" ] || other=001/table2.4 # nothing to simulate
check "runs" 0 "$allot" paper 001/fig2.13 $other --quick --db r.db
check "report" 0 "$allot" report --quick --html page --markdown r.md --csv r.csv --db r.db \
    001/table2.6 001/fig2.13 $other
has err "wrote page/index.html: 3 figures"
has r.md "| SRAD1 |"
has r.md "- holds "
has r.csv "figure,workload,series,machine,variant,metric,unit,ours,paper"
has r.csv "001/table2.6,sgemm,90 %,001-table2.3-registers,shared,resident_blocks,blocks/SM,8,8"
if [ -z "$sanitized" ]; then # it reads every experiment and prepares all of its runs
    check "of all that is stored" 0 "$allot" report --quick --csv - --db r.db
    has out "001/fig2.14,lavaMD" # its runs are those of 2.13
    if grep -q "001/fig2.17" out; then
        echo "FAIL of all that is stored: figure 2.17 has no runs"
        failed=$((failed + 1))
    fi
fi
# Ranges are lines over the parameter, in files and in the page; the axis is logarithmic where
# values grow by a factor.
cat >sweep.yaml <<'END'
title: "Over the ways of the L1"
workloads: [{name: vecadd}, {name: matmul}]
variants:
  - {name: lrr, settings: [sm.scheduler=lrr]}
  - {name: gto, settings: [sm.scheduler=gto]}
ranges: [{set: l1d.ways, values: ["8", "4", "2"]}]
baseline: lrr
metrics: [{name: ipc}, {name: speedup, stat: cycles, as: speedup}]
END
check "a sweep" 0 "$allot" paper sweep.yaml --quick -o . --db sweep.db
for line in "vecadd, lrr" "vecadd, gto" "matmul, lrr" "matmul, gto" l1d.ways ">2<" ">4<" ">8<"; do
    has sweep-ipc.svg "$line"
done
lacks sweep-ipc.svg ">3<"
has sweep-speedup.svg "matmul, gto"
lacks sweep-speedup.svg "lrr"
check "a sweep's page" 0 "$allot" report sweep.yaml --quick --html sweep --db sweep.db
has sweep/index.html '"line":"gto","axis":"l1d.ways","at":8.0'
check "a sweep beside what is none" 0 sh -c "sed 's/^ranges.*//; s/lrr\]}/&\n  - {name: ways, ranges: [{set: l1d.ways, values: [\"2\", \"4\", \"8\"]}]}/' sweep.yaml >bars.yaml &&
    '$allot' paper bars.yaml --quick -o . --db sweep.db"
has bars-ipc.svg "geometric mean"
# The page stands alone, and names that look like HTML stay text.
cat >odd.yaml <<'END'
title: "Odd </script><b>names</b> & <!-- more"
workloads: [{name: vecadd, label: "<i>v</i>"}]
variants: [{name: "a\"b"}]
metrics: [{name: cycles}]
END
check "odd names" 0 "$allot" sweep odd.yaml --quick --db odd.db
check "odd page" 0 "$allot" report odd.yaml --quick --html odd --db odd.db
is "one data element" "$(grep -c '</script>' odd/index.html)" 3
check "no library" 0 env ALLOT_CHARTJS=/nonexistent "$allot" report --quick --html bare --db r.db
has err "no charts: Chart.js is not installed"
# An experiment that cannot run here is told in one line; the report of the others is made.
cp -r "$src/papers" papers
ALLOT_PAPERS=$dir/papers
export ALLOT_PAPERS
find papers -name '*.yaml' ! -path 'papers/001/fig2.13.yaml' ! -path 'papers/001/table2.6.yaml' -delete
cat >papers/001/other.yaml <<'END'
title: By a compiler that this build does not have
workloads: [{name: mv}]
variants: [{name: plain}, {name: other, compiler: icc}]
metrics: [{name: cycles}]
END
echo 'title: [' >papers/001/broken.yaml
sed 's/compiler: icc/passes: nosuch/' papers/001/other.yaml >papers/001/pass.yaml
sed 's/name: mv/name: nosuch/; s/, {name: other.*}/]/' papers/001/other.yaml >papers/001/workload.yaml
sed 's/^workloads/machine: nosuch\n&/; s/, {name: other.*}/]/' papers/001/other.yaml >papers/001/machine.yaml
check "some cannot run here" 0 "$allot" report --quick --html some --csv some.csv --markdown some.md --db r.db
has err "wrote some/index.html: 2 figures"
has err "warning: 001/other is left out: workload mv has no PTX by 'icc' in this build"
for f in broken pass workload machine; do
    has err "001/$f is left out: "
done
is "a line each" "$(grep -vc '^wrote' err)" 5
for f in some.md some.csv; do
    has $f "lavaMD"
done
# Named, its absence is a failure, but the others are written; nothing at all is not.
check "one of those named" 1 "$allot" report papers/001/other.yaml 001/table2.6 --csv two.csv --db r.db
has err "papers/001/other.yaml is left out: workload mv has no PTX by 'icc'"
has two.csv "001/table2.6,sgemm"
check "all that was named" 1 "$allot" report papers/001/other.yaml --html none --csv none.csv --db r.db
has err "is left out"
is "nothing is written" "$(ls -d none none.csv 2>/dev/null)" ""
unset ALLOT_PAPERS

check "no such figure" 2 "$allot" report 001/fig99 --html x --db r.db

python=/usr/bin/python3 # Debian's has Debian's selenium
[ -x $python ] || python=python3
for page in page odd; do
    timeout 120 $python "$src/tests/e2e/inputs/browser.py" $page/index.html >browser 2>&1
    status=$?
    if [ $status -eq 77 ]; then
        skip "$(cat browser)"
        break
    fi
    is "in the browser: $page: $(cat browser)" $status 0
done
finish report
