/* units.c: all unit tests in one program: `units NAME [ARGUMENTS]` is the main of NAME.c (CMakeLists.txt
 * compiles it as unit_NAME). */
#include <stdio.h>
#include <string.h>

#define MAIN(n) int unit_##n(); /* some take no arguments */
#include "mains.def"
#undef MAIN

int
main(int argc, char **argv)
{
#define MAIN(n)                                                                          \
    if (argc > 1 && !strcmp(argv[1], #n))                                                \
        return unit_##n(argc - 1, argv + 1);
#include "mains.def"
#undef MAIN
    fprintf(stderr, "usage: %s NAME [ARGUMENTS]: no test is called '%s'\n", argv[0],
            argc > 1 ? argv[1] : "");
    return 2;
}
