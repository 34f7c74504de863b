#!/bin/sh
# kernel-ptx.sh ALLOT SOURCE: the kept PTX is taken while it is of the kernel's sources, and never otherwise.
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
cp -r "$src/workloads/matmul" "$src/workloads/matmul_2084" "$src/workloads/include" .
kept=$dir/matmul_2084/kernel.nvcc.ptx
take() { "$src/tools/kernel-ptx" take "$kept" out.ptx "$@"; }

check "kept" 0 take false
sed '$d' "$kept" | cmp - out.ptx || { echo "FAIL it is not the kept text"; failed=$((failed + 1)); }
has out.ptx.d "matmul_2084/../matmul/kernel.cu"
check "kept, without a compiler" 0 take
# A compiler that says how it was called: the last argument but two is the source.
cat >compiler <<'END'
#!/bin/sh
while [ $# -gt 3 ]; do shift; done
echo "compiled $1" >"$3"
END
chmod +x compiler
echo >>matmul/kernel.cu # a file that kernel.cu includes
check "changed" 0 take ./compiler
has out.ptx "compiled $dir/matmul_2084/kernel.cu"
rm out.ptx
check "changed, without a compiler" 1 take
has err "kernel.nvcc.ptx is not of the kernel's sources as they are, and there is no nvcc"
is "nothing made" "$(ls out.ptx 2>/dev/null)" ""
sed -i '$d' matmul/kernel.cu
check "taken back" 0 take
rm matmul/kernel.cu
check "a source is missing" 1 take
cp "$src/workloads/matmul/kernel.cu" matmul/
sed -i '$d' "$kept"
check "no last line" 1 take

# The comparison fails where the compiler makes something else.
mkdir made
cp -r "$src/workloads/matmul_2084" .
sed '$d' "$kept" >made/matmul_2084.nvcc.ptx
echo "x: $dir/matmul_2084/kernel.cu $dir/matmul_2084/../matmul/kernel.cu" >made/matmul_2084.nvcc.ptx.d
by=$(tail -n 1 "$kept" | cut -d ' ' -f 3)
check "the same" 0 "$src/tools/kernel-ptx" check made "$by" "$dir"
echo "// more" >>made/matmul_2084.nvcc.ptx
check "another text" 1 "$src/tools/kernel-ptx" check made "$by" "$dir"
has out "matmul_2084/kernel.nvcc.ptx is not what $by makes"
finish kernel-ptx
