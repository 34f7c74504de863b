/* What kernel and host share. */
#define MAX_PARTICLES 100 /* of a box */
#define MAX_NEIGHBOURS 27 /* of a box, itself included */

struct particle { /* position x, y, z and v = |position|^2 ... or force and potential */
    double v, x, y, z;
};

struct box {
    int first;     /* index of its first particle */
    int particles; /* how many, <= MAX_PARTICLES */
    int neighbours;
    int neighbour[MAX_NEIGHBOURS]; /* box numbers, itself first */
};
