# lib.sh: what the newer scripts share. Sourced after `allot` is set; makes and enters $dir.
set -u
dir=$(mktemp -d)
cd "$dir" || exit 1
failed=0
passed=0
name=

# Not empty where allot is built with ASan: long tests then take a sample of their cases, the release build all.
sanitized=
if nm -D "$allot" | grep -q __asan_init; then
    sanitized=1
fi
cases=0
in_sample() { # every case, under ASan every sixth
    cases=$((cases + 1))
    [ -z "$sanitized" ] || [ $((cases % 6)) -eq 1 ]
}

under= # words in front of each command that is checked
# Commands run CUDA programs: within a time, and where allot's libraries are built with ASan with
# its own library, whose leaks in such programs are not our concern.
runs_programs() {
    under="timeout 100"
    nm -D "$(dirname "$allot")/cuda/liballot-cuda.so" | grep -q __asan_init || return 0
    under="$under env LD_PRELOAD=$(${CC:-cc} -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0"
}
needs_programs() { # FILE...: the test is skipped where one was not built
    for p in "$@"; do
        [ -x "$p" ] && continue
        echo "SKIP: there is no $p"
        exit 77
    done
}
fail() { # WHAT FILE...: it is not so; the files' first lines show why
    echo "FAIL $1"
    shift
    [ $# -eq 0 ] || sed 's/^/    /' "$@" | head -20
    failed=$((failed + 1))
}
check() { # NAME STATUS COMMAND...: exit status; output is kept in out and err
    name=$1 want=$2
    shift 2
    # shellcheck disable=SC2086 # words
    $under "$@" >out 2>err </dev/null
    got=$?
    if [ $got -ne "$want" ]; then
        fail "$name: exit status $got, not $want" out err
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
