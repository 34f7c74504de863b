#!/bin/sh
# stand-ins.sh ALLOT SOURCE: what `allot exec` puts in place of NVRTC's, nvJitLink's, ptxas' and nvcc's
# machine code, without any of them: libraries of the same names, made here, give "machine code" that
# the test would see. Real packages: python.sh.
allot=$1
src=$2
. "$src/tests/e2e/inputs/lib.sh"
trap 'rm -rf "$dir"' EXIT
cuda=$(dirname "$allot")/cuda
if nm -D "$cuda/liballot-cuda.so" | grep -q __asan_init; then
    LD_PRELOAD=$(${CC:-cc} -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0
    export LD_PRELOAD ASAN_OPTIONS
fi
mkdir wheel

# -- NVRTC: its two functions for cubins answer with the PTX --
cat >nvrtc.c <<'EOF'
#include <stddef.h>
#include <string.h>
static const char ptx[] = ".version 9.5\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
static const char cubin[] = "\177ELF machine code";
#define GIVE(what, text)                                                                  \
    int nvrtcGet##what##Size(void *p, size_t *n) { (void)p; *n = sizeof text; return 0; } \
    int nvrtcGet##what(void *p, char *out) { (void)p; memcpy(out, text, sizeof text); return 0; }
GIVE(PTX, ptx)
GIVE(CUBIN, cubin)
EOF
${CC:-cc} -O0 -falign-functions=16 -shared -fPIC -o wheel/libnvrtc.so.13 nvrtc.c
cat >use-nvrtc.c <<'EOF'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    char text[1000] = "";
    size_t n = 0;
    void *lib = dlopen(argv[argc - 1], RTLD_NOW);
    if (!lib)
        return puts(dlerror()), 1;
    ((int (*)(void *, size_t *))dlsym(lib, "nvrtcGetCUBINSize"))(NULL, &n);
    if (n > sizeof text)
        return 2;
    ((int (*)(void *, char *))dlsym(lib, "nvrtcGetCUBIN"))(NULL, text);
    return !fwrite(text, n - 1, 1, stdout);
}
EOF
${CC:-cc} -O1 -o use-nvrtc use-nvrtc.c -ldl
check "NVRTC without allot" 0 ./use-nvrtc "$dir/wheel/libnvrtc.so.13"
has out "ELF machine code"
check "NVRTC by its path" 0 "$allot" exec ./use-nvrtc "$dir/wheel/libnvrtc.so.13"
has out ".visible .entry k()"
check "NVRTC by its name" 0 env LD_LIBRARY_PATH="$dir/wheel" "$allot" exec ./use-nvrtc libnvrtc.so.13
has out ".visible .entry k()"

# -- nvJitLink: ours, by whatever path; what is to be optimised goes to the other, with -ptx --
cat >nvjitlink.c <<'EOF'
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
static const char ptx[] = ".version 9.5\n.target sm_80\n.address_size 64\n"
                          ".visible .func optimised() { ret; }\n";
static int bad;
int nvJitLinkVersion(unsigned *a, unsigned *b) { return *a = 13, *b = 5, 0; }
int nvJitLinkCreate(void **h, unsigned n, const char **option)
{
    int asked = 0;
    for (unsigned i = 0; i < n; i++)
        asked += !strcmp(option[i], "-ptx");
    *h = &bad;
    return asked == 1 ? 0 : 1; /* -ptx, once, or no PTX comes out */
}
int nvJitLinkDestroy(void **h) { return *h = NULL, 0; }
int nvJitLinkAddData(void *h, int type, const void *data, size_t n, const char *name)
{
    bad = n != 5;
    return type == 3 ? 0 : 9; /* link-time IR only */
}
int nvJitLinkAddFile(void *h, int type, const char *path) { return 9; }
int nvJitLinkComplete(void *h) { return bad ? 4 : 0; }
int nvJitLinkGetLinkedPtxSize(void *h, size_t *n) { return *n = sizeof ptx, 0; }
int nvJitLinkGetLinkedPtx(void *h, char *out) { return strcpy(out, ptx), 0; }
int nvJitLinkGetErrorLogSize(void *h, size_t *n) { return *n = 12, 0; }
int nvJitLinkGetErrorLog(void *h, char *out) { return strcpy(out, "no such IR!"), 0; }
int nvJitLinkGetLinkedCubinSize(void *h, size_t *n) { return *n = 5, 0; }
int nvJitLinkGetLinkedCubin(void *h, void *out) { return memcpy(out, "\177ELF", 5), 0; }
EOF
${CC:-cc} -O1 -w -shared -fPIC -o wheel/libnvJitLink.so.13 nvjitlink.c
cat >use-nvjitlink.c <<'EOF'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *lib;
#define CALL(name, ...) ((int (*)())dlsym(lib, "nvJitLink" #name))(__VA_ARGS__)
int main(int argc, char **argv)
{
    static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                              ".extern .func optimised();\n"
                              ".visible .entry k() { call optimised, (); ret; }\n";
    const char *option[] = {"-arch=sm_80", "-lto", "-ptx"};
    const char *ir = argv[2];
    unsigned major = 0, minor = 0;
    void *h = NULL;
    size_t n = 0;
    int e;
    if (!(lib = dlopen(argv[1], RTLD_NOW)))
        return puts(dlerror()), 1;
    CALL(Version, &major, &minor);
    printf("version %u.%u\n", major, minor);
    if ((e = CALL(Create, &h, argc - 1, option)))
        return printf("create: %d\n", e), 3;
    if ((e = CALL(AddData, h, 2, ptx, sizeof ptx, "kernel")) ||
        (e = CALL(AddData, h, 3, ir, strlen(ir), "ir")) || (e = CALL(Complete, h))) {
        CALL(GetErrorLogSize, h, &n);
        char *log = calloc(n + 1, 1);
        CALL(GetErrorLog, h, log);
        printf("error %d: %s\n", e, log);
        free(log);
        CALL(Destroy, &h);
        return 4;
    }
    CALL(GetLinkedCubinSize, h, &n);
    char *out = calloc(n + 1, 1);
    CALL(GetLinkedCubin, h, out);
    puts(out);
    free(out);
    return CALL(Destroy, &h);
}
EOF
${CC:-cc} -O1 -w -std=gnu11 -o use-nvjitlink use-nvjitlink.c -ldl
lib=$dir/wheel/libnvJitLink.so.13
check "nvJitLink without allot" 3 ./use-nvjitlink "$lib" ir-ir
check "nvJitLink by its path" 0 "$allot" exec ./use-nvjitlink "$lib" ir-ir
has out "version 13.5"
has out ".entry k"
has out ".func optimised"
lacks out "ELF"
check "nvJitLink, asked for PTX itself" 0 "$allot" exec ./use-nvjitlink "$lib" ir-ir more
has out ".func optimised"
check "nvJitLink, what the other refuses" 4 "$allot" exec ./use-nvjitlink "$lib" ir
has out "error 4: no such IR!"
check "nvJitLink, no other" 3 "$allot" exec ./use-nvjitlink "$cuda/libnvJitLink.so.13" ir-ir
has out "version 12.0"
has err "link-time optimisation (-lto) needs CUDA's own library"

# -- ptxas: for Triton --
# shellcheck disable=SC2016 # for the inner shell
check "ptxas" 0 "$allot" exec sh -c '"$TRITON_PTXAS_PATH" --version && "$TRITON_PTXAS_BLACKWELL_PATH" \
    -lineinfo -v --fmad=false --gpu-name=sm_80 "$1" -o k.cubin' sh "$src/tests/e2e/inputs/saxpy.ptx"
has out "release"
is "ptxas keeps the PTX" "$(cmp k.cubin "$src/tests/e2e/inputs/saxpy.ptx" 2>&1)" ""
check "ptxas without a file" 1 "$cuda/ptxas" -o
has err "usage: ptxas"

# -- nvcc: for PyCUDA --
mkdir true "true/with blank"
cat >true/nvcc <<'EOF'
#!/bin/sh
[ $# -eq 0 ] || printf '[%s]' true "$@"
EOF
chmod +x true/nvcc
cp true/nvcc "true/with blank"
PATH=$dir/true:$PATH
export PATH
check "nvcc --cubin" 0 "$allot" exec env nvcc --cubin -arch sm_80 -I "a b" sub/kernel.cu
has out "[true][--ptx][-arch][sm_80][-I][a b][sub/kernel.cu][-o][kernel.cubin]"
check "nvcc -cubin -o" 0 "$allot" exec env nvcc -odir x -cubin -o out.bin kernel.cu
has out "[true][-odir][x][--ptx][-o][out.bin][kernel.cu]"
check "nvcc -cubin -odir" 0 "$allot" exec env nvcc -odir x -cubin kernel.cu
has out "[true][-odir][x][--ptx][kernel.cu][-o][kernel.cubin]"
check "nvcc of other things" 0 "$allot" exec env nvcc -c "a b.cu" -o x.o
has out "[true][-c][a b.cu][-o][x.o]"
# A folder written with .. , as an installation's is, and a link to it.
ln -s "$cuda" link
for folder in "$cuda/../$(basename "$cuda")" "$dir/link"; do
    check "nvcc from $folder" 0 env ALLOT_CUDA_LIBRARIES="$folder" PATH="$dir/true/with blank:$PATH" \
        timeout 20 "$allot" exec env nvcc --cubin k.cu
    has out "[true][--ptx][k.cu][-o][k.cubin]"
done
# allot exec inside allot exec of another installation.
mkdir other
for f in "$cuda"/*; do
    ln -s "$f" other/
done
rm other/bin
cp -R "$cuda/bin" other/bin
check "nvcc, twice allot" 0 env ALLOT_CUDA_LIBRARIES="$dir/other" timeout 20 "$allot" exec \
    env ALLOT_CUDA_LIBRARIES="$cuda" "$allot" exec env nvcc --cubin k.cu
has out "[true][--ptx][k.cu][-o][k.cubin]"
rm true/nvcc
check "nvcc gone" 127 env PATH="$cuda/bin:/bin" nvcc --cubin k.cu
has err "there is no nvcc in PATH"

# -- NVIDIA's libraries without PTX: named in one line, linked or loaded, by path or name --
cat >open.c <<'EOF'
#include <dlfcn.h>
#include <stdio.h>
int main(int n, char **v) {
    for (int i = 1; i < n; i++)
        printf("%d\n", dlopen(v[i], RTLD_NOW) != NULL);
}
EOF
${CC:-cc} -o open open.c -ldl
echo 'int own;' >own.c
for library in libcublas.so.13 libcublasLt.so.13 libcufft.so.12 libcurand.so.10 libcusparse.so.12 libcusolver.so.12 \
    libcudnn.so.9 libnccl.so.2 libcutensor.so.2 libnppc.so.13 libnvjpeg.so.13 libnvinfer.so.10; do
    ${CC:-cc} -shared -fPIC -o wheel/$library -Wl,-soname,$library own.c
    check "$library by path" 0 "$allot" exec ./open "$dir/wheel/$library"
    has out 1
    [ "$(grep -c "^allot: .* ($dir/wheel/$library) has machine code without PTX and cannot be simulated" err)" = 1 ] ||
        fail "$library is not named" err
    check "$library by name" 0 env LD_LIBRARY_PATH="$dir/wheel" "$allot" exec ./open $library
    has err "($dir/wheel/$library) has machine code without PTX"
done
has err "allot: TensorRT ("
check "two of one product" 0 "$allot" exec ./open "$dir/wheel/libcublas.so.13" "$dir/wheel/libcublasLt.so.13"
[ "$(grep -c 'has machine code without PTX' err)" = 1 ] || fail "cuBLAS is named once" err
echo 'int main(void) { extern int own; return own; }' >linked.c
${CC:-cc} -o linked linked.c wheel/libcufft.so.12 -Wl,-rpath,"$dir/wheel"
check "a linked library" 0 "$allot" exec ./linked
has err "allot: cuFFT ($dir/wheel/libcufft.so.12) has machine code without PTX"
check "another library" 0 "$allot" exec ./open "$dir/wheel/libnvrtc.so.13"
lacks err "has machine code without PTX"
finish stand-ins
