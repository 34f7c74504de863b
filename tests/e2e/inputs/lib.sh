# lib.sh: what the newer scripts share. Sourced after `allot` is set; makes and enters $dir.
set -u
dir=$(mktemp -d)
cd "$dir" || exit 1
failed=0
passed=0
name=

check() { # NAME STATUS COMMAND...: exit status; output is kept in out and err
    name=$1 want=$2
    shift 2
    "$@" >out 2>err </dev/null
    got=$?
    if [ $got -ne "$want" ]; then
        echo "FAIL $name: exit status $got, not $want"
        sed 's/^/    /' out err | head -20
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}
is() { # NAME GOT WANTED
    if [ "$2" != "$3" ]; then
        echo "FAIL $1: '$2', not '$3'"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}
lacks() { # FILE TEXT: it does not
    if grep -qF -- "$2" "$1"; then
        echo "FAIL $name: '$2' is in its $1:"
        sed 's/^/    /' "$1" | head -20
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}
has() { # FILE TEXT: the last command's output holds the text
    if ! grep -qF -- "$2" "$1"; then
        echo "FAIL $name: '$2' is not in its $1:"
        sed 's/^/    /' "$1" | head -20
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}
skipped=0
skip() { # WHY: a part is left out; "needs COMMAND" where a command is missing (tools/check-skips)
    echo "SKIP: $1"
    skipped=1
}
finish() { # NAME: the sum; the script's exit status, 77 if a part was skipped and none failed
    echo "$1: $passed passed, $failed failed"
    [ $failed -eq 0 ] || return 1
    [ $skipped -eq 0 ] || return 77
}
