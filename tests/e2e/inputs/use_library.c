/* use_library.c: a program of a user's own over liballot: saxpy on a preset. For install.sh. */
#include <allot/allot.h>
#include <stdio.h>

int
main(int argc, char **argv)
{
    struct allot_diag *d = allot_diag_new();
    struct allot_machine *m = allot_machine_load("gtx480", d);
    struct allot_module *k = allot_module_load(argv[argc - 1], d);
    struct allot_device *dev = m && k ? allot_device_new(m, NULL, d) : NULL;
    float a = 2.5f, x[256], y[256];
    uint32_t n = 256;
    for (uint32_t i = 0; i < n; i++)
        x[i] = (float)i, y[i] = 1;
    uint64_t dx = dev ? allot_alloc(dev, sizeof x, d) : 0, dy = dx ? allot_alloc(dev, sizeof y, d) : 0;
    const void *args[] = {&a, &dx, &dy, &n};
    struct allot_launch l = {
        .module = k, .kernel = "saxpy", .grid = {1, 1, 1}, .block = {256, 1, 1}, .args = args, .nargs = 4};
    bool ok = dy && allot_write(dev, dx, x, sizeof x, d) && allot_write(dev, dy, y, sizeof y, d) &&
              allot_launch(dev, &l, d) && allot_read(dev, dy, y, sizeof y, d);
    printf("%s%.1f %.1f\n", allot_diag_text(d), y[0], y[255]);
    allot_device_free(dev);
    allot_module_free(k);
    allot_machine_free(m);
    allot_diag_free(d);
    return !(ok && y[255] == 638.5f);
}
