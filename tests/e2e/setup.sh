#!/bin/sh
# setup.sh ALLOT SOURCE: what ./x would install on each distribution, by tools/packages.txt. Nothing is installed:
# the package managers are stand-ins that have nothing, and nobody is root.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
mkdir -p tree/tools fake
cp "$src/x" tree
cp "$src/tools/packages.txt" tree/tools
on() { # ID VERSION_ID COMMAND...
    printf 'NAME=x\nID=%s\nVERSION_ID="%s"\nPRETTY_NAME="System %s"\n' "$1" "$2" "$1 $2" >os-release
    shift 2
    ALLOT_OS_RELEASE=$dir/os-release PATH=$dir/fake:/usr/bin:/bin "$@"
}
for f in dpkg-query rpm cmake; do
    printf '#!/bin/sh\nexit 1\n' >fake/$f
done
printf '#!/bin/sh\necho 1000\n' >fake/id
for f in sed awk cat mkdir dirname; do # and nothing else: no sudo
    ln -s "$(command -v $f)" fake/$f
done
chmod +x fake/*

# Each system has a name for what each command needs.
for system in "debian 12" "debian 13" "ubuntu 22.04" "ubuntu 24.04" "fedora 42"; do
    for purpose in build test full docs lint fuzz; do
        check "$system: $purpose" 0 on ${system} tree/x packages $purpose
        is "$system: $purpose: no name twice" "$(sort out | uniq -d)" ""
        is "$system: $purpose: more than building needs" \
            "$(on ${system} tree/x packages | wc -l | awk -v n="$(wc -l <out)" -v p=$purpose '{ print (p == "build" ? n == $1 : n > $1) }')" 1
        lacks out " "
    done
done
check "of Debian 12" 0 on debian 12 tree/x packages test
has out "llvm-14-tools"
lacks out "llvm-19-tools"
check "of Ubuntu 24.04" 0 on ubuntu 24.04 tree/x packages test
has out "llvm-18-tools"
check "of a Debian that is not out" 0 on debian 99 tree/x packages test
has out "llvm-19-tools"
check "of all Ubuntus" 0 on ubuntu 25.10 tree/x packages full
lacks out chromium
check "of Fedora" 0 on fedora 42 tree/x packages test
has out "libcyaml-devel"
is "no name of Debian's" "$(grep -c -e '-dev$' out)" 0
# An exception is of a system that ./x knows.
is "systems in the table" "$(sed 's/#.*//' "$src/tools/packages.txt" | grep -o '[^ ]*=' |
    grep -cv '^\(debian\|ubuntu\|fedora\)[-=]')" 0

# What is missing is named with the command that installs it.
alone() { on "$1" "$2" env PATH="$dir/fake" "$(command -v sh)" tree/x build; }
check "without root, Debian" 1 alone debian 13
has err "apt-get install gcc libc6-dev"
check "without root, Fedora" 1 alone fedora 42
has err "dnf install gcc glibc-devel"
check "another system: one line, then the build tells" 1 alone arch ""
is "lines" "$(grep -c . err)" 3
has err "x: nothing is installed on System arch : tools/packages.txt lists what is needed"
has err "x: cmake failed"
check "another system: no names" 1 on arch "" tree/x packages
has err "tools/packages.txt has those of Debian, Ubuntu and Fedora"

# ./x test runs the tests of the build that it names. Stand-ins say how they are called.
for f in cmake ctest; do
    printf '#!/bin/sh\necho "%s $*" >>calls\n' $f >fake/$f
done
printf '#!/bin/sh\necho 1.11.1\n' >fake/ninja
chmod +x fake/ninja fake/ctest
for f in printf grep rm tail; do
    [ -e fake/$f ] || ln -s "$(command -v $f)" fake/$f
done
runs() { rm -f tree/calls && on arch "" env PATH="$dir/fake" "$(command -v sh)" tree/x "$@"; }
check "test" 0 runs test -R one
is "tests of" "$(sed -n 's/^ctest --test-dir \([^ ]*\) .*/\1/p' tree/calls)" build/release
check "test asan" 0 runs test asan -R one
is "tests under sanitizers of" "$(sed -n 's/^ctest --test-dir \([^ ]*\) .*/\1/p' tree/calls)" build/asan
is "built for them" "$(grep -c '^cmake --build --preset asan --target all all-tests -- --quiet' tree/calls)" 1
printf '#!/bin/sh\necho 1.10.1\n' >fake/ninja
check "an older ninja" 0 runs test
is "is not told to be quiet" "$(grep -c -e --quiet tree/calls)" 0

# What other package managers are given has this version.
version=$(sed -n 's/^#define ALLOT_VERSION "\(.*\)"/\1/p' "$src/include/allot/allot.h")
is "the recipe's version" "$(sed -n 's/^  version: "\(.*\)"/\1/p' "$src/recipe/recipe.yaml")" "$version"
is "the flake's line of the header" "$(grep -c '^#define ALLOT_VERSION "[^"]*"$' "$src/include/allot/allot.h")" 1
finish setup
