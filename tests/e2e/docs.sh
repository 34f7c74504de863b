#!/bin/sh
# docs.sh ALLOT SOURCE: follows docs/tutorial.md, add-a-policy.md, add-an-l2-policy.md and add-a-pass.md to the
# letter. Those that change sources are followed in an overlay of the source tree that only this script sees.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
export ALLOT_SOURCE="$src"
mkdir bin tutorial upper work
ln -s "$allot" bin/allot

# The page's numbers are those of the kernel as clang 14 compiles it.
if command -v clang >/dev/null; then
    figures=
    if clang --version | grep -q 'version 14\.'; then
        figures=--figures
    else
        skip "the tutorial's figures are those of clang 14"
    fi
    check "tutorial" 0 sh -c "cd tutorial && PATH='$dir/bin':\$PATH python3 '$src/tests/e2e/inputs/follow.py' $figures '$src/docs/tutorial.md'"
else
    skip "needs clang"
fi

why=
[ "$allot" = "$src/build/release/allot" ] || why="this is not build/release"
[ -n "$why" ] || unshare -m sh -c "mount -t overlay overlay -o lowerdir='$src',upperdir='$dir/upper',workdir='$dir/work' '$src'" 2>/dev/null ||
    why="no overlay of the source tree can be mounted here (needs root)"
if [ -n "$why" ]; then
    skip "adding a policy and a pass: $why"
    finish docs
    exit
fi
rm -rf upper work # what the trial left
for page in add-a-policy add-an-l2-policy add-a-pass; do
    mkdir upper work
    check "$page" 0 timeout 300 unshare -m sh -c "mount -t overlay overlay -o lowerdir='$src',upperdir='$dir/upper',workdir='$dir/work' '$src' &&
        cd '$src' && python3 tests/e2e/inputs/follow.py docs/$page.md"
    rm -rf upper work
done
# Nothing of it is left in the tree.
is "no trace" "$(ls "$src"/src/passes/cleanup/self_moves.c "$src"/src/timing/policy/schedulers/youngest.c \
    "$src"/src/timing/policy/replacement/bip.c 2>/dev/null)" ""

# Manual pages say what --help says.
for c in "" $(sed -n 's/^CMD(\([a-z]*\),.*/\1/p' "$src/src/cli/commands.def"); do
    # shellcheck disable=SC2086 # no word, or one
    check "man $c" 0 "$allot" $c --man
    has out ".SH NAME"
done
check "run --man" 0 "$allot" run --man
has out '\fB\-\-param\fR \fINAME=VALUE\fR'
has out 'a parameter of the workload'
# The generated references are those of this build.
for r in settings counters; do
    check "docs/$r.md" 0 "$allot" list $r --markdown
    cp out reference
    check "docs/$r.md is current" 0 diff reference "$src/docs/$r.md"
done
finish docs
