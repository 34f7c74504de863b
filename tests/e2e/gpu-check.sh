#!/bin/sh
# gpu-check against a stand-in for the driver: what it says of a card that agrees, of one that
# does not, and where there is none. $1: the command, $2: the source folder.
set -u
build=$(cd "$(dirname "$1")" && pwd)
check=$build/gpu-check
[ -x "$check" ] || { echo "SKIP: gpu-check is not built"; exit 77; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
LD_LIBRARY_PATH=$build/stand-in
export LD_LIBRARY_PATH
fail=0
expect() { # what, wanted status, text that must stand in the output
    if [ "$status" -ne "$2" ] || ! printf '%s\n' "$out" | grep -q "$3"; then
        printf 'FAIL %s: status %s, said:\n%s\n' "$1" "$status" "$out"
        fail=1
    fi
}
out=$(ALLOT_STAND_IN=none "$check" 2>&1); status=$?
expect "no card" 0 '^gpu-check: no CUDA driver or no GPU here: nothing compared$'
out=$("$check" --only .f16x2 --write "$tmp" 2>&1); status=$?
expect "a card that agrees" 0 ', 0 different; 0 refused'
grep -q '^add.rn.f16x2	[0-9a-f]*$' "$tmp/Stand-in.txt" || { echo "FAIL: answers"; fail=1; }
out=$(ALLOT_STAND_IN=wrong "$check" --only add.sat.s32 2>&1); status=$?
expect "a card that does not" 1 '^add.sat.s32: word 0 is .* here, .* on the card'
exit $fail
