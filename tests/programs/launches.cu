// launches.cu [spin | many N]: small launches; one that never ends (for signals); N launches,
// after which neither this process nor the record of launches may have grown.
#include "check.h"
#include <sys/stat.h>

__global__ void
count(int *p)
{
    p[threadIdx.x] += 1;
}

__global__ void
spin(volatile int *p)
{
    while (*p >= 0)
        ;
}

static long
resident_kb()
{
    char line[256];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "VmRSS:", 6))
            kb = atol(line + 6);
    if (f)
        fclose(f);
    return kb;
}

static long
record_bytes()
{
    struct stat st;
    const char *path = getenv("ALLOT_RECORD");
    return path && !stat(path, &st) ? (long)st.st_size : 0;
}

static void
launch(int *p, int n)
{
    for (int i = 0; i < n; i++)
        count<<<1, 32>>>(p);
    OK(cudaDeviceSynchronize());
}

int
main(int argc, char **argv)
{
    int *p, got = 0;
    OK(cudaMalloc(&p, 32 * sizeof *p));
    OK(cudaMemset(p, 0, 32 * sizeof *p));
    launch(p, 100);
    if (argc > 1 && !strcmp(argv[1], "spin")) {
        puts("spinning");
        fflush(stdout);
        spin<<<3, 64>>>(p);
        OK(cudaDeviceSynchronize());
    }
    if (argc > 2 && !strcmp(argv[1], "many")) {
        int n = atoi(argv[2]);
        long kb = resident_kb(), bytes = record_bytes();
        launch(p, n);
        printf("resident memory grew by %ld kB, the record by %ld bytes\n",
               resident_kb() - kb, record_bytes() - bytes);
    }
    OK(cudaMemcpy(&got, p, sizeof got, cudaMemcpyDeviceToHost));
    EQ(got, argc > 2 ? 100 + atoi(argv[2]) : 100);
    return 0;
}
