#!/bin/sh
# hostile.sh ALLOT SOURCE: no text of an input is run or taken for markup. Every command in
# these texts would make the file $mark, or one beside it.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
py=$src/tests/e2e/inputs/hostile.py
mark=$dir/allot-was-here
mkdir plain
cd plain || exit 1

none() { # NAME: no command ran
    is "$1: no command ran" "$(find "$dir" -name 'allot-was-here*')" ""
}

# An experiment: charts, page, Markdown, CSV, terminal.
python3 "$py" write "touch $mark" >e.yaml
check "sweep" 0 "$allot" sweep e.yaml --quick --db e.db --csv e.csv
check "paper" 0 "$allot" paper ./e.yaml --quick --db e.db --out drawn
bytes=$(printf 'b\377\033')
if gnuplot --version >/dev/null 2>&1; then
    is "three charts" "$(find drawn -name '*.svg' | wc -l)" 3
    for f in drawn/*.svg; do
        check "drawing" 0 python3 "$py" svg "$f" "touch $mark"
    done
    # File names: a pipe, a command, an option, bytes that are no UTF-8.
    for name in "|touch allot-was-here;.svg" "\`touch allot-was-here\`.svg" "--chart.svg" "$bytes.png"; do
        check "chart $name" 0 "$allot" compare vecadd --quick --variants baseline --chart "$name"
        is "chart $name is there" "$(find . -maxdepth 1 -name '*.svg' -o -maxdepth 1 -name '*.png' | wc -l)" 1
        rm -f ./*.svg ./*.png
    done
else
    echo "hostile: charts left out: gnuplot is not installed"
fi
check "report" 0 "$allot" report e.yaml --quick --html page --markdown r.md --csv r.csv --db e.db
check "page" 0 python3 "$py" html page/index.html "touch $mark"
is "no HTML in Markdown" "$(grep -c '<' r.md)" 0
is "a line a value" "$(wc -l <r.csv)" "$(wc -l <e.csv)"
none "experiment"
printf 'title: "\\e]0;x\\a"\nworkloads: [{name: vecadd}]\nvariants: [{name: a}]\nmetrics: [{name: cycles}]\n' >c.yaml
check "control characters" 1 "$allot" sweep c.yaml --quick --db e.db
has err "c.yaml:1:8: error: the value has a control character (code 27)"

cp e.yaml "$bytes.yaml"
check "name that is no UTF-8" 0 "$allot" report "$bytes.yaml" --quick --html bytes --db e.db
check "its page" 0 python3 "$py" html bytes/index.html "touch $mark"
cp "$src/tests/e2e/inputs/saxpy.ptx" "$bytes,\"x.ptx"
check "PTX that is no UTF-8" 0 "$allot" run "$bytes,\"x.ptx" -g 1 -b 32 -a 1 -a buf:128 -a buf:128 -a 32 --csv
is "one field" "$(python3 -c 'import csv; print(len({len(r) for r in csv.reader(open("out", errors="replace"))}))')" 1
none "file names"

# A store that someone else wrote.
python3 - e.db <<'END'
import sqlite3
import sys
c = sqlite3.connect(sys.argv[1])
c.execute("update runs set workload = 'w' || char(27) || '[2J', message = char(27) || ']0;x' || char(7), settings = 'a=' || char(155)")
c.execute("update launches set kernel = 'k' || char(27) || '[2J'")
c.execute("update machines set settings = json_set(settings, '$.\"sm.scheduler\"', 'x' || char(27) || '[2J')")
c.commit()
END
for words in "list" "show 1" "diff 1 1"; do
    # shellcheck disable=SC2086 # words
    check "results $words" 0 "$allot" results $words --db e.db
    is "results $words: no control characters" "$(LC_ALL=C tr -d '\n\040-\176' <out | wc -c)" 0
done

# A machine's texts, a launch file's output.
printf 'base: gtx480\ngpu:\n  name: "\\e[2J"\n' >m.yaml
check "machine's name" 1 "$allot" run vecadd --quick -m ./m.yaml
has err "control character"
for out in "$dir/x" ../x .bashrc a/../../x a/.ssh a//b; do
    printf 'grid: 1\nblock: 32\nargs: ["1", "buf:128,init=1,out=%s", "buf:out=%s,in=e.db", "32"]\n' y.bin "$out" >l.yaml
    check "launch file writes $out" 1 "$allot" run "$src/tests/e2e/inputs/saxpy.ptx" -l l.yaml
    has err "l.yaml:3:41: error: a launch file's out= names a file below the current folder"
done
printf 'grid: 1\nblock: 32\nargs: ["1", "buf:128", "buf:128,out=y.bin", "32"]\n' >l.yaml
check "launch file writes here" 0 "$allot" run "$src/tests/e2e/inputs/saxpy.ptx" -l l.yaml
check "is there" 0 test -s y.bin

# Slurm: commands that keep what they get; the job script is then run as Slurm would.
odd="$dir/it's \`touch allot-was-here\` \$(touch allot-was-here) \"%j\" \\ & ;"
mkdir -p "$odd" "$dir/bin"
cat >"$dir/bin/sbatch" <<'END'
#!/bin/sh
for a; do printf '%s\n' "$a" >>"$FAKE/argv"; script=$a; done
cp "$script" "$FAKE/job.sh"
echo 1
END
printf '#!/bin/sh\necho slurm_load_jobs error: Invalid job id specified >&2\nexit 1\n' >"$dir/bin/squeue"
chmod +x "$dir/bin/sbatch" "$dir/bin/squeue"
cat >"$odd/j.yaml" <<'END'
title: x
workloads: [{name: vecadd}]
variants: [{name: "`touch allot-was-here`"}]
metrics: [{name: cycles}]
END
cd "$odd" || exit 1
check "submit" 0 env PATH="$dir/bin:$PATH" FAKE="$dir" "$allot" sweep j.yaml --quick --engine slurm --no-wait \
    --db "s.db" -p '`touch allot-was-here`'
check "the log's folder has no pattern" 0 grep -q '"%%j"' "$dir/argv"
check "the job" 0 env SLURM_ARRAY_TASK_ID=0 sh "$dir/job.sh"
check "collect" 0 env PATH="$dir/bin:$PATH" FAKE="$dir" "$allot" sweep j.yaml --quick --engine slurm --no-wait --db s.db
has out "touch allot-was-here"
none "Slurm"
cd "$dir" || exit 1
finish hostile
