#!/bin/sh
# package.sh ALLOT SOURCE: the Debian package that `cpack` makes (./x package): lintian finds nothing; with its
# files alone, and none of the libraries' -dev packages, a program is compiled as README says.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
command -v dpkg-shlibdeps >/dev/null || { echo "SKIP: needs dpkg-shlibdeps"; exit 77; }
[ -z "$sanitized" ] || { echo "SKIP: no package has sanitizers"; exit 77; }
build=$(dirname "$allot")
mkdir packed
check "cpack" 0 sh -c "cd '$build' && cpack -B '$dir/packed'"
deb=$(find packed -maxdepth 1 -name 'allot_*.deb')
check "contents" 0 dpkg-deb -x "$deb" root
check "control" 0 dpkg-deb -e "$deb" control
has control/triggers "activate-noawait ldconfig"
is "libraries of others: none" "$(cut -d '(' -f 1 control/shlibs)" "liballot 0 allot "
lib=$(dirname "$(find root -name liballot.so)")
flags=$(PKG_CONFIG_LIBDIR=$lib/pkgconfig PKG_CONFIG_PATH='' pkg-config --cflags --libs allot)
# shellcheck disable=SC2086 # words
check "compile by README" 0 "${CC:-cc}" -Wall -o use "$src/tests/e2e/inputs/use_library.c" $flags -Wl,-rpath,"$dir/$lib"
check "run" 0 ./use "$src/tests/e2e/inputs/saxpy.ptx"
has out "1.0 638.5"
# ./x package configures for /usr; with another prefix libraries are in lib, not in Debian's folder.
elsewhere=
case $lib in
root/usr/lib) elsewhere="--suppress-tags pkg-config-unavailable-for-cross-compilation" ;;
esac
if command -v lintian >/dev/null; then
    # shellcheck disable=SC2086 # words
    check "lintian" 0 lintian --allow-root --fail-on error,warning $elsewhere "$deb"
    is "lintian says nothing" "$(cat out)" ""
else
    skip "needs lintian"
fi
finish package
