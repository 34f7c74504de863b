#!/bin/sh
# sweep-program.sh ALLOT SOURCE: CUDA programs as rows of an experiment.
allot=$1
build=$(dirname "$allot")
. "$2/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
runs_programs

app=
for p in "$build/programs/clang/samples" "$build/programs/nvcc/samples"; do
    [ -z "$app" ] && [ -x "$p" ] && app=$p
done
if [ -z "$app" ]; then
    skip "there is no program samples"
    finish sweep-program
    exit
fi
mkdir files
cp "$app" files/app
cat >files/own.yaml <<'END'
title: A program
machine: gtx480
workloads:
  - {name: vecadd}
  - {program: [./app, "block race"], label: race, files: [input.txt]}
  - {program: [./app], kernels: [_Z10add_numberPi], settings: [sm.count=4]}
variants:
  - {name: lrr, settings: [sm.scheduler=lrr]}
  - {name: gto, settings: [sm.scheduler=gto]}
baseline: lrr
metrics:
  - {name: cycles}
  - {name: threads, stat: thread_instructions}
  - {name: speedup, stat: cycles, as: speedup}
END
echo 1 >files/input.txt

# -- it is the user who lets programs start --
check "not without a word" 2 "$allot" sweep files/own.yaml --quick --db o.db
has err "row 'race' starts the program ./app"
has err "give --programs"
check "nor by paper" 2 "$allot" paper files/own.yaml --quick --db o.db
check "nothing was run" 0 "$allot" sweep files/own.yaml --quick --db o.db --dry-run
lacks out stored

# -- the same values as by exec --
check "sweep" 0 "$allot" sweep files/own.yaml --quick --programs --db o.db --csv o.csv
has err "6 runs: 0 stored before, 6 done now"
lacks out "samples: done"
value() { # ROW SERIES METRIC
    awk -F, -v r="$1" -v s="$2" -v m="$3" '$1 == r && $2 == s && $5 == m { print $7 }' o.csv
}
for s in lrr gto; do
    check "exec, $s" 0 "$allot" exec -m gtx480 -s $s --csv run.csv files/app "block race"
    is "cycles, $s" "$(value race $s cycles)" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "cycles") c = i }
        NR > 1 { n += $c } END { print n }' run.csv)"
done
check "exec, one kernel" 0 "$allot" exec -m gtx480 -s lrr --set sm.count=4 --csv run.csv files/app
is "cycles of one kernel" "$(value ./app lrr cycles)" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "cycles") c = i }
    /add_number/ { n += $c } END { print n }' run.csv)"

# -- stored, shown, resumed --
check "again" 0 "$allot" sweep files/own.yaml --quick --programs --db o.db
has err "6 stored before, 0 done now"
check "by paper" 0 "$allot" paper files/own.yaml --quick --programs --db o.db
has err "6 stored before, 0 done now"
run=$("$allot" results list --db o.db | awk '/\.\/app/ { print $1; exit }')
check "show" 0 "$allot" results show "$run" --db o.db
has out "ptx_hash"
check "report" 0 "$allot" report files/own.yaml --quick --html html --db o.db
has html/index.html "A program"

# -- what goes in decides what is run again: the program, its arguments, its files --
echo 2 >files/input.txt
check "another input" 0 "$allot" sweep files/own.yaml --quick --programs --db o.db
has err "6 runs: 4 stored before, 2 done now"
sed -i 's/"block race"/"warp race"/' files/own.yaml
check "other arguments" 0 "$allot" sweep files/own.yaml --quick --programs --db o.db
has err "6 runs: 4 stored before, 2 done now"
printf ' ' >>files/app
check "another program" 0 "$allot" sweep files/own.yaml --quick --programs --db o.db
has err "6 runs: 2 stored before, 4 done now"
cd files || exit 1
check "from its folder" 0 "$allot" sweep own.yaml --quick --programs --db ../o.db
has err "6 stored before, 0 done now"
cd ..

# -- programs that fail --
one() { # PROGRAM...: an experiment of that row alone
    cat >files/one.yaml <<END
title: One
machine: gtx480
workloads:
  - {program: $1${2:+, $2}}
variants: [{name: lrr}${3:+, $3}]
metrics: [{name: cycles}]
END
}
one "[./no-app]"
check "no such program" 1 "$allot" sweep files/one.yaml --programs --db o.db
has err "one.yaml:4:"
has err "the program: cannot run files/./no-app: No such file or directory"
one "[no-such-app]"
check "none in PATH" 1 "$allot" sweep files/one.yaml --programs --db o.db
has err "there is no program 'no-such-app' in PATH"
one "[./app]" "files: [none.txt]"
check "no such file" 1 "$allot" sweep files/one.yaml --programs --db o.db
has err "one.yaml:4:"
has err "the program's file files/none.txt cannot be read"
one "[./app]" "files: [/dev/zero]"
check "a file without end" 1 "$allot" sweep files/one.yaml --programs --db o.db
has err "the program's file /dev/zero cannot be read: it is no regular file"
one "[./app]" "seed: 3"
check "a seed" 1 "$allot" sweep files/one.yaml --programs --db o.db
has err "a program has arguments alone"
one "[./app]" "name: vecadd"
check "two things" 1 "$allot" sweep files/one.yaml --programs --db o.db
has err "or a CUDA program (\`program: [./app, argument]\`)"
one "[./app]" "" "{name: more, params: [n=3]}"
check "a variant's parameters" 1 "$allot" sweep files/one.yaml --programs --db o.db
has err "one.yaml:5:"
has err "a program has no parameters, only arguments: 'n=3'"
one "[sh, -c, 'echo said >&2; exit 3']"
check "its status" 1 "$allot" sweep files/one.yaml --programs --db o.db
has err "exit status 3; the end of its standard error:"
has err "said"
one "[\"true\"]"
check "no kernel" 1 "$allot" sweep files/one.yaml --programs --db o.db
has err "it launched no kernel"
one "[sh, -c, 'kill -9 \$\$']" # one that no sanitizer catches
check "a signal" 1 "$allot" sweep files/one.yaml --programs --db o.db
has err "exit status 137"
one "[./app, endless]"
sed -i 's/^machine/max_cycles: 20000\nmachine/' files/one.yaml
check "too many cycles" 1 "$allot" sweep files/one.yaml --programs --db o.db
has err "stopped after 20000 cycles, the limit"
one "[sh, -c, 'sleep 100.125']"
check "too long" 1 "$allot" sweep files/one.yaml --programs --db o.db --time-limit 1
has err "took longer than 1 s (--time-limit)"
is "nothing is left of it" "$(pgrep -f 'sleep 100\.125')" ""

finish sweep-program
