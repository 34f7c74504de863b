#!/bin/sh
# x: build, test, show. `./x help` lists the commands.
set -eu
from=$(pwd)
cd "$(dirname "$0")"

help() {
    cat <<'EOF'
usage: ./x COMMAND [ARGUMENTS]

  demo    build, then a table of a paper again, ours beside the paper's: a table on the
          terminal, a chart and a report page in demo/
  test    build and run every test            (./x test asan: under ASan and UBSan;
          ./x test full: with Slurm, Chromium, and in build/python numba-cuda, CuPy, Triton
          and PyCUDA, installed where missing)
  build   build the library and the command: build/release/allot
  install build, then install into PREFIX: command, library, data, manual pages, completions
          (./x install [PREFIX], default /usr/local)
  bench   speed of the simulator, per workload (./x bench --tsv for a table file)
  gpu-measure
          cycles of the microbenchmarks on a real GPU (--out FILE.csv), where one is
  lint    formatting, clang-tidy, cppcheck, gcc -fanalyzer
  gpu-check  run every test vector on this machine's GPU and compare (says so where there is
          none); --write tests/golden/gpu keeps the card's answers
  fuzz    every fuzz target of tests/fuzz in turn, SECONDS together, or some of them:
          ./x fuzz [SECONDS [TARGET...]]    (default 600; docs/security.md)
  mutate  break the code on purpose, a rule at a time: the rule's test must fail. All of
          tests/mutations.tsv, a sample of N, or some: ./x mutate [N | all | NAME...]
  help    this text

demo, test and build install missing Debian packages (tools/packages.txt) where they may.
EOF
}

die() {
    printf 'x: %s\n' "$*" >&2
    exit 1
}

# Packages of tools/packages.txt without a mark, or with mark $1.
wanted_packages() {
    sed -e 's/#.*//' tools/packages.txt | awk -v mark="[${1:-}]" \
        'NF == 1 { print $1 } NF > 1 && $2 == mark { print $1 }'
}

# Installs what is missing. Says nothing and asks for nothing when all is there.
need_packages() {
    command -v dpkg-query >/dev/null 2>&1 || return 0 # not Debian: the build will tell
    missing=
    for p in $(wanted_packages "${1:-}"); do
        s=$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null || true)
        [ "$s" = installed ] || missing="$missing $p"
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" -eq 0 ]; then
        as_root=
    elif command -v sudo >/dev/null 2>&1; then
        as_root=sudo
    else
        die "these Debian packages are missing and there is neither root nor sudo to install
   them. Ask an administrator for:
   apt-get install$missing"
    fi
    printf 'x: installing%s\n' "$missing" >&2
    mkdir -p build
    # A package list that cannot be renewed (some other source is broken) need not matter.
    # shellcheck disable=SC2086 # a list of words
    { $as_root apt-get -q update || :
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
            -o Dpkg::Use-Pty=0 install $missing; } >build/install.log 2>&1 || {
        tail -n 20 build/install.log >&2
        die "could not install:$missing
   (all that apt-get said is in build/install.log)"
    }
}

configure_and_build() { # preset [ninja targets...]
    preset=$1
    shift
    flags=
    [ "${CI:-}" = true ] && flags=-DALLOT_WERROR=ON
    mkdir -p build
    [ -e "build/$preset/build.ninja" ] ||
        printf 'x: building in build/%s, which takes a minute or two\n' "$preset" >&2
    # shellcheck disable=SC2086 # one word or none
    cmake --preset "$preset" $flags >"build/$preset.log" 2>&1 || {
        cat "build/$preset.log" >&2
        die "cmake failed"
    }
    status=0
    cmake --build --preset "$preset" ${1:+--target "$@"} -- --quiet \
        >"build/$preset.log" 2>&1 || status=$?
    grep -v '^ninja: no work to do' "build/$preset.log" >&2 || : # warnings, errors
    [ $status -eq 0 ] || die "the build failed"
}

cmd=${1:-help}
[ $# -gt 0 ] && shift
case $cmd in
build)
    need_packages
    configure_and_build release
    ;;
demo)
    need_packages
    configure_and_build release
    exec tools/demo "$@"
    ;;
test)
    if [ "${1:-}" = full ]; then
        need_packages full
        tools/python-env
        shift
    fi
    need_packages
    preset=release
    if [ "${1:-}" = asan ]; then
        preset=asan
        shift
    fi
    configure_and_build "$preset" all all-tests
    # Leaks and undefined behaviour fail a test; allocation failure is tested on purpose.
    ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
        ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j2 "$@"
    ;;
install)
    prefix=${1:-/usr/local}
    case $prefix in /*) ;; *) prefix=$from/$prefix ;; esac
    mkdir -p "$prefix" 2>/dev/null || :
    [ -w "$prefix" ] || die "cannot write to $prefix: call it as root, or name a folder of your own: ./x install ~/.local"
    need_packages
    configure_and_build release
    cmake --install build/release --prefix "$(cd "$prefix" && pwd)" >build/install-to.log 2>&1 || {
        tail -n 20 build/install-to.log >&2
        die "the installation failed"
    }
    printf 'installed: %s/bin/allot\n' "$(cd "$prefix" && pwd)"
    ;;
bench)
    need_packages
    configure_and_build release
    exec build/release/allot bench "$@"
    ;;
gpu-measure)
    need_packages
    configure_and_build release
    exec build/release/allot measure "$@"
    ;;
lint)
    need_packages lint
    configure_and_build release
    exec tools/lint "$@"
    ;;
gpu-check)
    need_packages
    configure_and_build release gpu-check
    exec build/release/gpu-check "$@"
    ;;
fuzz)
    need_packages fuzz
    exec tools/fuzz "$@"
    ;;
mutate)
    need_packages
    exec tools/mutate "$@"
    ;;
help | -h | --help) help ;;
*)
    help >&2
    printf 'x: unknown command: %s\n' "$cmd" >&2
    exit 2
    ;;
esac
