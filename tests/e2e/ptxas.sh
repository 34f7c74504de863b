#!/bin/sh
# ptxas.sh ALLOT SOURCE: register counts of ptxas, by a stand-in that prints what ptxas -v does.
allot=$1
src=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0
failed=0
ok() { # what it is, command...
    what=$1
    shift
    if "$@" >/dev/null 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
    fi
}
mkdir "$dir/bin" "$dir/none"
cat >"$dir/bin/ptxas" <<'SH'
#!/bin/sh
# Says what ptxas -v says, with $COUNT registers; knows sm_75 and later.
for a; do
    case $a in -arch=sm_*) sm=${a#-arch=sm_} ;; esac
    [ "${last:-}" = --entry ] && entry=$a
    last=$a
done
if [ "$sm" -lt 75 ]; then
    echo "ptxas fatal   : Value 'sm_$sm' is not defined for option 'gpu-name'" >&2
    exit 255
fi
cat >"$SAW"
[ -z "${REFUSE:-}" ] || { echo "ptxas error   : $REFUSE" >&2; exit 1; }
echo "ptxas info    : Compiling entry function 'other' for 'sm_$sm'" >&2
echo "ptxas info    : Used 99 registers, used 0 barriers" >&2
[ -z "${COUNT:-}" ] || echo "ptxas info    : Compiling entry function '$entry' for 'sm_$sm'
ptxas info    : Function properties for $entry
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used $COUNT registers, used 0 barriers, 380 bytes cmem[0]" >&2
SH
chmod +x "$dir/bin/ptxas"
SAW=$dir/saw
export SAW
with() { PATH=$dir/bin:$PATH COUNT=$1 "$allot" run vecadd --quick -m "$2" --registers "$3" --json; }
blocks() { sed -n 's/.*"resident_blocks": \([0-9]*\).*/\1/p' | head -n 1; }

# 64 registers: 4 blocks of 256 threads in 65536 registers; our own count allows 8.
ok "as many blocks as ptxas' count allows" test "$(with 64 a100 ptxas | blocks)" = 4
ok "ours without" test "$(with 64 a100 allocated | blocks)" = 8
ok "a capability that ptxas has given up: its oldest" test "$(with 64 v100 ptxas | blocks)" = 4
ok "ptxas gets the PTX as it came" grep -q '\.visible \.entry vecadd' "$dir/saw"
ok "--regs goes before it" test "$(PATH=$dir/bin:$PATH COUNT=64 "$allot" run vecadd --quick -m a100 --json \
    --registers ptxas --regs 32 | blocks)" = 8
ok "info --ptxas" sh -c "PATH=$dir/bin:\$PATH COUNT=41 '$allot' info '$src/tests/e2e/inputs/saxpy.ptx' --ptxas -m a100 |
    grep -q '41 by ptxas'"
# The occupancy is by ptxas' count where the option or the machine's file says so, and only there.
saxpy=$src/tests/e2e/inputs/saxpy.ptx
printf 'base: a100\ncompiler:\n  registers: ptxas\n' >"$dir/by-ptxas.yaml"
info() { PATH=$dir/bin:$PATH COUNT=64 "$allot" info "$saxpy" "$@"; }
four() { info "$@" | grep -q '^  occupancy *4 blocks of 256 threads'; }
ok "info --registers ptxas: occupancy by its count" four -m a100 --registers ptxas
ok "... and tells the count" sh -c "$(printf 'PATH=%s:$PATH COUNT=64 %s info %s -m a100 --registers ptxas' \
    "$dir/bin" "$allot" "$saxpy") | grep -q '64 by ptxas'"
ok "a machine's file says so" four -m "$dir/by-ptxas.yaml"
ok "... and the option takes it back" sh -c "! $(printf 'PATH=%s:$PATH COUNT=64 %s info %s -m %s --registers allocated' \
    "$dir/bin" "$allot" "$saxpy" "$dir/by-ptxas.yaml") | grep -q '4 blocks\|by ptxas'"
PATH=$dir/none "$allot" info "$saxpy" -m "$dir/by-ptxas.yaml" >"$dir/out" 2>"$dir/err"
ok "info without ptxas: status 1" test $? -eq 1
ok "... says so" grep -q 'no ptxas in the PATH' "$dir/err"
ok "... and no occupancy" test ! -s "$dir/out"
"$allot" info "$saxpy" --registers none >"$dir/out" 2>"$dir/err"
ok "info --registers none: says what there is" grep -q 'allocated.*virtual.*ptxas' "$dir/err"
ok "info --ptxas --json" sh -c "PATH=$dir/bin:\$PATH COUNT=41 '$allot' info '$src/tests/e2e/inputs/saxpy.ptx' --ptxas \
    --json | grep -q '\"ptxas_registers\": 41'"
ok "opt --explain tells ptxas' registers" sh -c "PATH=$dir/bin:\$PATH COUNT=41 '$allot' opt \
    '$src/tests/e2e/inputs/saxpy.ptx' --explain -m a100 -o /dev/null 2>&1 | grep -q 'Registers: [0-9]* ([0-9]* of them reserved by the machine); ptxas: 41'"
ok "... and nothing of it without ptxas" sh -c "PATH=$dir/none '$allot' opt \
    '$src/tests/e2e/inputs/saxpy.ptx' --explain -m a100 -o /dev/null 2>&1 | grep 'Registers: [0-9]* ([0-9]* of them reserved by the machine)\. '"

fails() { # what it is, text of the error, then the environment and command
    what=$1 want=$2
    shift 2
    env "$@" "$allot" run vecadd --quick -m a100 --registers ptxas >"$dir/out" 2>"$dir/err"
    ok "$what: status 1" test $? -eq 1
    ok "$what: says so" grep -q "$want" "$dir/err"
}
fails "no ptxas" "no ptxas in the PATH" PATH="$dir/none"
fails "ptxas refuses" "ptxas refuses the kernel's PTX: ptxas error   : bad things" PATH="$dir/bin:$PATH" REFUSE="bad things"
fails "ptxas is silent" "does not say how many registers 'vecadd' has" PATH="$dir/bin:$PATH"

echo "ptxas: $passed checks passed, $failed failed"
[ "$failed" -eq 0 ]
