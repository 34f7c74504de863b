#!/bin/sh
# ptxas.sh: in place of ptxas, for programs that make machine code of their PTX before they load
# it (Triton). The result is the PTX itself: that is what the simulated driver runs.
in='' out=''
while [ $# -gt 0 ]; do
    case $1 in
    --version | -V)
        echo "ptxas: PTX is kept for the simulated GPU"
        echo "Cuda compilation tools, release 13.5, allot"
        exit 0
        ;;
    -o | --output-file)
        out=${2:-}
        [ $# -eq 1 ] || shift
        ;;
    *.ptx) in=$1 ;;
    esac
    shift
done
if [ -z "$in" ] || [ -z "$out" ]; then
    echo "ptxas (of allot): usage: ptxas FILE.ptx -o FILE" >&2
    exit 1
fi
exec cp -- "$in" "$out"
