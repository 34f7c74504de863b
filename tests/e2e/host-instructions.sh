#!/bin/sh
# host-instructions.sh ALLOT SOURCE: speed that noise on the host does not hide. Host instructions in the cycle
# model (timing_launch and what it calls) for each warp instruction, counted by callgrind, one host thread, must be
# within 1 % of the figures below. They hold for one compiler. A change that makes the model faster or, for a
# reason, slower, writes the new ones here (the script prints them) and a line in docs/performance-log.md.
allot=$1
src=$2
# shellcheck source=tests/e2e/inputs/lib.sh
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT

compiler="GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
figures="
hotspot 3869
matmul 4604
bfs 6482
vecadd 5521
euler 8123"

if ! command -v valgrind >/dev/null 2>&1; then
    echo "SKIP: needs valgrind"
    exit 77
fi
if [ -n "$sanitized" ] || ! readelf -p .comment "$allot" | grep -qF "$compiler"; then
    echo "SKIP: the figures are for $compiler, without sanitizers"
    exit 77
fi

echo "$figures" | while read -r name want; do
    [ -n "$name" ] || continue
    valgrind --tool=callgrind --toggle-collect=timing_launch --callgrind-out-file=profile \
        "$allot" run "$name" --quick --machine gtx480 --json >out 2>err || { tail -5 err && echo "$name: failed"; continue; }
    host=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' err)
    warps=$(sed -n 's/.*"warp_instructions": \([0-9]*\).*/\1/p' out | awk '{ n += $1 } END { print n }')
    awk -v name="$name" -v host="$host" -v warps="$warps" -v want="$want" 'BEGIN {
        if (host + 0 < 1000000 || warps + 0 < 1) {
            print name ": nothing was counted: " host " host, " warps " warp instructions"
            exit
        }
        got = host / warps
        printf "%s %.1f host instructions a warp instruction (%s)\n", name, got, want
        if (got > want * 1.01 || got < want * 0.99)
            printf "%s: not within 1 %% of %s\n", name, want
    }'
done >told
cat told
! grep -q 'failed\|nothing was counted\|not within' told
