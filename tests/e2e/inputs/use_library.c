/* use_library.c: a program of a user's own over liballot: saxpy on a preset. For install.sh. */
#include <allot/allot.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("gtx480", d);
    struct allot_module *k = allot_module_load(argv[argc - 1], d);
    struct allot_device *dev = m && k ? allot_device_new(m, NULL, d) : NULL;
    float a = 2.5f, v[2][256];
    for (int i = 0; i < 256; i++)
        v[0][i] = (float)i, v[1][i] = 1;
    uint64_t x = dev ? allot_alloc(dev, sizeof v, d) : 0, y = x + sizeof *v;
    const void *args[] = {&a, &x, &y, &(uint32_t){256}};
    struct allot_launch l = {.module = k, .kernel = "saxpy", .grid = {1, 1, 1}, .block = {256, 1, 1}, .args = args, .nargs = 4};
    bool ok = x && allot_write(dev, x, v, sizeof v, d) && allot_launch(dev, &l, d) && allot_read(dev, x, v, sizeof v, d);
    printf("%s%.1f %.1f\n", allot_diag_text(d), v[1][0], v[1][255]);
    allot_device_free(dev);
    allot_module_free(k);
    allot_machine_free(m);
    allot_diag_free(d);
    return !(ok && v[1][255] == 638.5f);
}
