#!/bin/sh
# install.sh ALLOT SOURCE: an installation, moved after it was made: its library linked by pkg-config and by
# CMake, shared and static; exported symbols; data, completions and manual pages; all of it in a chroot.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
bad() { # WHAT
    echo "FAIL $1"
    failed=$((failed + 1))
}
build=$(dirname "$allot")
unset ALLOT_DATA ALLOT_MACHINES ALLOT_PAPERS
cc=${CC:-cc} sanitize=
if nm "$allot" | grep -q __asan_init; then
    sanitize=-fsanitize=address,undefined
fi

check "install" 0 cmake --install "$build" --prefix "$dir/made"
mkdir "$dir/else"
mv "$dir/made" "$dir/else/where"
p=$dir/else/where
lib=$(dirname "$(find "$p" -name liballot.so | head -1)")

# -- the library --
PKG_CONFIG_PATH=$lib/pkgconfig
export PKG_CONFIG_PATH
use=$src/tests/e2e/inputs/use_library.c
ptx=$src/tests/e2e/inputs/saxpy.ptx
check "compile with pkg-config" 0 \
    sh -c "$cc $sanitize -Wall -Werror -o shared '$use' \$(pkg-config --cflags --libs allot) -Wl,-rpath,'$lib'"
check "shared library" 0 ./shared "$ptx"
has out "1.0 638.5"
# A system without the -dev packages of the libraries below has none of their .pc files.
check "compile with our .pc file alone" 0 sh -c "PKG_CONFIG_LIBDIR='$lib/pkgconfig' PKG_CONFIG_PATH= &&
    export PKG_CONFIG_LIBDIR PKG_CONFIG_PATH && flags=\$(pkg-config --cflags --libs allot) &&
    $cc $sanitize -Wall -Werror -o alone '$use' \$flags -Wl,-rpath,'$lib'"
check "its program" 0 ./alone "$ptx"
has out "1.0 638.5"
check "our .pc file alone, for the archive" 0 env PKG_CONFIG_LIBDIR="$lib/pkgconfig" PKG_CONFIG_PATH= \
    pkg-config --static --libs allot
for l in -lcyaml -lyaml -ljansson -lelf -llz4 -lzstd; do
    has out "$l"
done
check "compile with the archive" 0 sh -c "$cc $sanitize -Wall -Werror -o static '$use' '$lib/liballot.a' \
    \$(pkg-config --cflags --static --libs allot | sed 's/-lallot//')"
check "static library" 0 ./static "$ptx"
has out "1.0 638.5"
mkdir cm
cat >cm/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(use C)
find_package(allot 0.1 REQUIRED)
foreach(kind allot allot_static)
  add_executable(use_\${kind} $use)
  target_link_libraries(use_\${kind} PRIVATE allot::\${kind})
endforeach()
END
check "find_package" 0 cmake -G Ninja -S cm -B cm/b -DCMAKE_PREFIX_PATH="$p" -DCMAKE_C_FLAGS="$sanitize"
if check "build by find_package" 0 cmake --build cm/b; then
    check "allot::allot" 0 cm/b/use_allot "$ptx"
    check "allot::allot_static" 0 cm/b/use_allot_static "$ptx"
fi

# -- symbols: what the headers declare and nothing else, with a version --
printf '#include <allot/allot.h>\n#include <allot/workload.h>\n' >all.c
$cc -I "$p/include" -aux-info all.X -fsyntax-only all.c
{ sed -n '/allot\//s/.*[ *]\(\(allot\|wl\)_[a-z0-9_]*\) (.*/\1/p' all.X; echo allot_workloads; } | sort -u >declared
nm -D --defined-only "$lib/liballot.so" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort -u >exported
[ "$(wc -l <declared)" -gt 100 ] || bad "gcc -aux-info gave few functions: $(wc -l <declared)"
diff declared exported >diff.txt || { sed 's/^/    /' diff.txt; bad "exported symbols are not those of the headers"; }
nm -g --defined-only "$lib/liballot.a" | awk 'NF == 3 && $3 !~ /^__odr_asan/ { print $3 }' | sort -u >of_archive
diff declared of_archive >diff.txt || { sed 's/^/    /' diff.txt; bad "liballot.a's global names are not the headers'"; }
nm -D --defined-only "$lib/liballot.so" | grep -q "allot_launch@@ALLOT_0" || bad "symbols have no version"
objdump -p "$lib/liballot.so" | grep -q "SONAME *liballot.so.0" || bad "no soname"

# -- the command --
check "its machines" 0 "$p/bin/allot" run vecadd --quick --functional --machine titan
mv "$p/share/allot/machines/gtx480.yaml" gtx480.yaml
sed 's/^  name: .*/  name: changed/' gtx480.yaml >"$p/share/allot/machines/gtx480.yaml"
check "the installation's before the source tree's" 0 "$p/bin/allot" list machines
has out "changed"
mv gtx480.yaml "$p/share/allot/machines/gtx480.yaml"
check "its papers" 0 "$p/bin/allot" paper --list
has out "000/"
[ -s "$p/share/man/man1/allot-run.1.gz" ] || bad "no manual page of allot run"

is "link of libcuda.so" "$(readlink "$p/lib/allot/cuda/libcuda.so")" libcuda.so.1

# -- completions --
complete() { # WORDS...: what bash offers for the last of them
    bash -c 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _allot; printf "%s\n" "${COMPREPLY[@]}"' \
        "$p/share/bash-completion/completions/allot" "$@"
}
if command -v bash >/dev/null; then
    check "a command" 0 complete allot occ
    has out "occupancy"
    check "an option" 0 complete allot run --sched
    has out "--scheduler"
    check "a machine" 0 complete allot run --machine gtx48
    has out "gtx480"
    check "a policy" 0 complete allot run -s ow
    has out "owf"
    check "a workload" 0 complete allot compare backprop_a
    has out "backprop_adjust"
    check "a paper" 0 complete allot paper 000/table1
    has out "000/table13-short"
fi
if command -v zsh >/dev/null; then
    check "zsh's completion" 0 zsh -n "$p/share/zsh/site-functions/_allot"
fi
if command -v fish >/dev/null; then
    check "fish's completion" 0 env HOME="$dir" fish -c \
        "source $p/share/fish/vendor_completions.d/allot.fish; complete -C 'allot run --machine gtx48'"
    has out "gtx480"
fi
check "unknown shell" 2 "$allot" --completion tcsh

# -- a plain build is optimised; where make is not in PATH, links do not ask gcc for it --
mkdir path
for d in $(echo "$PATH" | tr : ' '); do
    ln -s "$d"/* path/ 2>/dev/null
done
rm -f path/make path/gmake
check "configure without make" 0 env PATH="$dir/path" cmake -G Ninja -S "$src" -B "$dir/plain"
check "optimised" 0 grep -q '^CMAKE_BUILD_TYPE:STRING=Release$' plain/CMakeCache.txt
check "flags" 0 grep -q 'FLAGS = .*-O[23]' plain/build.ninja
if grep -q -- '-flto=auto -fuse-linker-plugin' plain/build.ninja; then
    bad "links in parallel without make: gcc warns of each"
fi

# -- a chroot that holds the installation, the program and the libraries below, no source tree --
if [ "$(id -u)" -eq 0 ] && [ -z "$sanitize" ] && chroot / true 2>/dev/null; then
    mkdir -p root/work
    cp -a "$p" root/prefix
    cp shared root/work/program
    cp "$ptx" root/work/saxpy.ptx
    for f in $(ldd shared "$p/bin/allot" | grep -o '/[^ ]*' | grep -v "^$dir\|:$" | sort -u); do
        mkdir -p "root$(dirname "$f")"
        cp -L "$f" "root$f"
    done
    check "a program in a chroot" 0 env LD_LIBRARY_PATH="/prefix${lib#"$p"}" chroot root /work/program /work/saxpy.ptx
    has out "1.0 638.5"
    check "the command in a chroot" 0 chroot root /prefix/bin/allot run hotspot --quick --machine titan
    check "papers in a chroot" 0 chroot root /prefix/bin/allot paper --list
    has out "table13-short"
fi
finish install
