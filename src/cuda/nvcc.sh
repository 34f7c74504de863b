#!/bin/sh
# nvcc.sh: before nvcc on the PATH of what `allot exec` runs, for programs that compile kernels to
# machine code and load that (PyCUDA): --cubin becomes --ptx, under the name that the cubin would have.
# Everything else is nvcc's.
place() { # FOLDER: its one name, whatever links or .. stand in the one given
    (CDPATH='' cd -P -- "${1:-.}" 2>/dev/null && pwd)
}
# The first nvcc behind this folder in PATH, else the first before it: where two of these
# scripts stand in PATH (one allot exec inside another), the second does not go back to the first.
here=$(place "$(dirname -- "$0")")
before='' behind='' passed=''
set -f
IFS=:
for folder in $PATH; do
    if [ "$(place "$folder")" = "$here" ]; then
        passed=1
    elif [ -f "$folder/nvcc" ] && [ -x "$folder/nvcc" ]; then
        if [ -n "$passed" ]; then
            behind=${behind:-$folder/nvcc}
        else
            before=${before:-$folder/nvcc}
        fi
    fi
done
unset IFS
set +f
true_nvcc=${behind:-$before}
if [ -z "$true_nvcc" ]; then
    echo "nvcc (of allot): there is no nvcc in PATH: install CUDA's compiler, or put its folder into PATH" >&2
    exit 127
fi
cubin='' output='' input=''
for word; do
    case $word in
    --cubin | -cubin) cubin=1 ;;
    -odir | -optf) ;;
    -o | --output-file | -o?* | --output-file=*) output=1 ;;
    *.cu) input=$word ;;
    esac
done
[ -n "$cubin" ] || exec "$true_nvcc" "$@"
n=$#
while [ "$n" -gt 0 ]; do
    word=$1
    shift
    case $word in
    --cubin | -cubin) word=--ptx ;;
    esac
    set -- "$@" "$word"
    n=$((n - 1))
done
if [ -z "$output" ] && [ -n "$input" ]; then
    name=${input##*/}
    set -- "$@" -o "${name%.cu}.cubin"
fi
exec "$true_nvcc" "$@"
