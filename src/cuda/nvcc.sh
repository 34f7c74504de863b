#!/bin/sh
# nvcc.sh: before nvcc on the PATH of what `allot exec` runs, for programs that compile kernels to
# machine code and load that (PyCUDA): --cubin becomes --ptx, under the name that the cubin would have.
# Everything else is nvcc's.
here=$(cd -- "$(dirname -- "$0")" && pwd)
true_nvcc=
IFS=:
for folder in $PATH; do
    if [ "$folder" != "$here" ] && [ -x "$folder/nvcc" ]; then
        true_nvcc=$folder/nvcc
        break
    fi
done
unset IFS
if [ -z "$true_nvcc" ]; then
    echo "nvcc: not found (allot exec looked through PATH)" >&2
    exit 127
fi
cubin= output= input=
for word; do
    case $word in
    --cubin | -cubin) cubin=1 ;;
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
