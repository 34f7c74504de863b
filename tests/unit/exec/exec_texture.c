/* Textures and surfaces as kernels see them, against a reference that follows the CUDA
 * C++ Programming Guide's formulas on coordinates (the executor works on texel indices).
 */
#include "unit/kit/runtime_kit.h"

#include <math.h>

#define HEAD ".version 7.0\n.target sm_60\n.address_size 64\n"
enum { N = 96 }; /* threads of a case */

static uint64_t seed = 7;

static uint32_t
rnd(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* -- reference -- */

struct ref {
    struct allot_array_info info;
    struct allot_sampler s;
    double *texel; /* channel c of (x, y, z): [((z h + y) w + x) 4 + c], as read */
    bool is_float; /* what is read is floating point */
};

static uint64_t
extent(uint64_t n)
{
    return n ? n : 1;
}

static double
ref_texel(const struct ref *r, const int64_t i[3], unsigned c)
{
    uint64_t n[3] = {extent(r->info.width), extent(r->info.height),
                     extent(r->info.depth)};
    int64_t at[3];
    for (int d = 0; d < 3; d++) {
        enum allot_address m = r->s.address[d];
        if (!r->s.normalized_coords && m != ALLOT_BORDER)
            m = ALLOT_CLAMP;
        at[d] = i[d];
        if (m == ALLOT_BORDER && (at[d] < 0 || at[d] >= (int64_t)n[d]))
            return r->is_float ? r->s.border[c] : (int)r->s.border[c];
        double x = ((double)i[d] + 0.5) / (double)n[d];
        if (m == ALLOT_WRAP)
            x -= floor(x);
        if (m == ALLOT_MIRROR) {
            double whole = floor(x);
            x = fmod(fabs(whole), 2) == 0 ? x - whole : 1 - (x - whole);
        }
        if (m == ALLOT_CLAMP)
            x = x < 0 ? 0 : x >= 1 ? 1 - 0.5 / (double)n[d] : x;
        at[d] = (int64_t)floor(x * (double)n[d]);
    }
    return r->texel
        [((((uint64_t)at[2] * n[1]) + (uint64_t)at[1]) * n[0] + (uint64_t)at[0]) * 4 + c];
}

/* x: in texels (scaled already). */
static double
ref_fetch(const struct ref *r, unsigned dims, const double x[3], uint32_t layer,
          unsigned c)
{
    int64_t i[3] = {0, 0, 0};
    double a[3] = {0, 0, 0};
    bool linear = r->s.filter == ALLOT_LINEAR;
    for (unsigned d = 0; d < dims; d++) {
        double b = linear ? x[d] - 0.5 : x[d];
        i[d] = (int64_t)floor(b);
        a[d] = linear ? floor((b - floor(b)) * 256 + 0.5) / 256 : 0;
    }
    double sum = 0;
    for (unsigned k = 0; k < 8; k++) {
        double w = 1;
        int64_t at[3];
        for (unsigned d = 0; d < 3; d++) {
            w *= k >> d & 1 ? a[d] : 1 - a[d];
            at[d] = i[d] + (k >> d & 1);
        }
        if (r->info.layered)
            at[2] = layer;
        if (w != 0)
            sum += w * ref_texel(r, at, c);
    }
    return sum;
}

/* -- data -- */

/* Random texels as bytes, and what reading them gives. Few bits, so that sums are exact.
 */
static uint8_t *
make_data(struct ref *r)
{
    const struct allot_format *f = &r->info.format;
    uint64_t n = extent(r->info.width) * extent(r->info.height) * extent(r->info.depth);
    uint8_t *bytes = calloc(n * f->channels, 4), *p = bytes;
    r->texel = calloc(n * 4, sizeof *r->texel);
    r->is_float = f->kind == ALLOT_FLOAT || r->s.normalized_float;
    for (uint64_t k = 0; k < n; k++)
        for (unsigned c = 0; c < 4; c++) {
            double *v = &r->texel[k * 4 + c];
            if (c >= f->channels) {
                *v = c == 3;
                continue;
            }
            if (f->kind == ALLOT_FLOAT && f->bits == 32) {
                float x = (float)((int)rnd(4096) - 2048) / 64;
                memcpy(p, &x, 4);
                *v = x;
            } else if (f->kind == ALLOT_FLOAT) { /* 1.m x 2^e */
                uint32_t m = rnd(1024), e = rnd(8), sign = rnd(2);
                uint16_t h = (uint16_t)(sign << 15 | (e + 12) << 10 | m);
                memcpy(p, &h, 2);
                *v = (sign ? -1 : 1) * ldexp(1 + m / 1024.0, (int)e - 3);
            } else {
                uint32_t x = rnd(1u << (f->bits < 32 ? f->bits : 31));
                memcpy(p, &x, f->bits / 8);
                int64_t s = x;
                if (f->kind == ALLOT_SIGNED && x >> (f->bits - 1))
                    s -= (int64_t)1 << f->bits;
                double most = ldexp(1, (int)f->bits - (f->kind == ALLOT_SIGNED)) - 1;
                *v = !r->s.normalized_float ? (double)s
                     : s < -most            ? -1
                                            : (float)((float)s / (float)most);
            }
            p += f->bits / 8;
        }
    return bytes;
}

/* -- kernels -- */

static const struct geometry {
    const char *name, *coords;
    unsigned dims;
    bool layers;
} geometries[] = {{"1d", "{%x0}", 1, false},
                  {"2d", "{%x0, %x1}", 2, false},
                  {"3d", "{%x0, %x1, %x2, %x2}", 3, false},
                  {"a1d", "{%x3, %x0}", 1, true},
                  {"a2d", "{%x3, %x0, %x1, %x1}", 2, true}};

/* in: four words (x, y, z, layer) a thread; out: four words. `op` uses %x, gives %o. */
static struct allot_module *
kernel(struct rt_kit *k, const char *decls, const char *op)
{
    char b[4096];
    snprintf(b, sizeof b,
             HEAD
             "%s.visible .entry k(.param .u64 tex, .param .u64 in, .param .u64 out)\n"
             "{\n.reg .u64 %%d<6>; .reg .b32 %%x<4>, %%o<4>, %%r<8>; .reg .pred "
             "%%p<2>;\n.reg .b16 %%h<4>;\n"
             "ld.param.u64 %%d0, [tex]; ld.param.u64 %%d1, [in];\n"
             "ld.param.u64 %%d2, [out]; mov.u32 %%r0, %%ctaid.x; mov.u32 %%r1, "
             "%%ntid.x;\nmov.u32 %%r2, %%tid.x; mad.lo.u32 %%r2, %%r0, %%r1, %%r2;\n"
             "mul.wide.u32 %%d3, %%r2, 16; add.u64 %%d1, %%d1, %%d3;\n"
             "add.u64 %%d2, %%d2, %%d3;\n"
             "ld.global.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%d1];\n"
             "mov.u32 %%o0, 0; mov.u32 %%o1, 0; mov.u32 %%o2, 0; mov.u32 %%o3, 0;\n"
             "%s\n"
             "st.global.v4.b32 [%%d2], {%%o0, %%o1, %%o2, %%o3};\nret; }\n",
             decls, op);
    struct allot_module *m = allot_module_parse("k.ptx", b, strlen(b), k->d);
    if (!m)
        rt_fail(k, b);
    return m;
}

static void
launch(struct rt_kit *k, struct allot_module *m, uint64_t tex, const uint32_t in[][4],
       uint32_t out[][4])
{
    uint64_t a = allot_alloc(k->dev, N * 16, k->d), b = allot_alloc(k->dev, N * 16, k->d);
    assert_true(allot_write(k->dev, a, in, N * 16, k->d));
    k->mod = m;
    rt_run(k, 3, 32, 3, (uint64_t[]){tex, a, b});
    k->mod = NULL;
    assert_true(allot_read(k->dev, b, out, N * 16, k->d));
    allot_free(k->dev, a, k->d);
    allot_free(k->dev, b, k->d);
}

static uint32_t
float_bits(double x)
{
    float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

/* Coordinates inside, at edges and outside, exact in float also when normalised. */
static void
make_coords(const struct ref *r, unsigned dims, bool is_float, uint32_t in[][4],
            double x[][3])
{
    const uint64_t n[3] = {extent(r->info.width), extent(r->info.height),
                           extent(r->info.depth)};
    for (int t = 0; t < N; t++) {
        for (unsigned d = 0; d < 3; d++) {
            int64_t span = (int64_t)n[d] * 1024;
            int64_t v = (int64_t)rnd((uint32_t)(4 * span)) - 3 * span / 2;
            if (t % 4 == 0) /* whole and half texels */
                v = v / 512 * 512;
            if (!is_float)
                v = (int64_t)rnd((uint32_t)(3 * n[d])) - (int64_t)n[d];
            double texels = is_float ? (double)v / 1024 : (double)v;
            in[t][d] =
                is_float
                    ? float_bits(r->s.normalized_coords ? texels / (double)n[d] : texels)
                    : (uint32_t)v;
            x[t][d] = d < dims ? texels : 0;
        }
        in[t][3] = rnd((uint32_t)n[2] + 3);
    }
}

static void
fetch_case(struct rt_kit *k, const struct geometry *g, struct allot_module *m,
           const struct allot_format *f, const struct allot_sampler *s, bool is_float)
{
    struct ref r = {.s = *s};
    /* powers of two, so that normalised coordinates are exact */
    r.info = (struct allot_array_info){
        *f,    16, g->dims > 1 ? 8 : 0, g->layers ? 5 : g->dims > 2 ? 4 : 0, g->layers,
        false, 0};
    uint8_t *bytes = make_data(&r);
    struct allot_array *a = allot_array_new(k->dev, &r.info, k->d);
    struct allot_box whole = {0, 0, 0, r.info.width, r.info.height, r.info.depth};
    assert_true(allot_array_write(k->dev, a, &whole, bytes, 0, 0, k->d));
    struct allot_resource res = {.kind = ALLOT_RES_ARRAY, .array = a};
    uint64_t tex = allot_texture_new(k->dev, &res, s, k->d);
    if (!tex)
        rt_fail(k, "texture");
    static uint32_t in[N][4], out[N][4];
    static double x[N][3];
    make_coords(&r, g->dims, is_float, in, x);
    launch(k, m, tex, (const uint32_t(*)[4])in, out);
    for (int t = 0; t < N; t++)
        for (unsigned c = 0; c < 4; c++) {
            uint32_t layer = g->layers && in[t][3] >= r.info.depth
                                 ? (uint32_t)r.info.depth - 1
                                 : in[t][3];
            double want = ref_fetch(&r, g->dims, x[t], layer, c);
            uint32_t bits = r.is_float ? float_bits(want) : (uint32_t)(int64_t)want;
            if (want == 0 && r.is_float && out[t][c] << 1 == 0)
                continue; /* either zero */
            if (out[t][c] != bits)
                fail_msg(
                    "%s %u-bit kind %d x %u, filter %d, address %d %d, normalised %d "
                    "%d, float %d: thread %d channel %u at (%g,%g,%g) layer %u: "
                    "0x%x, expected 0x%x (%g)",
                    g->name, f->bits, f->kind, f->channels, s->filter, s->address[0],
                    s->address[1], s->normalized_coords, s->normalized_float, is_float, t,
                    c, x[t][0], x[t][1], x[t][2], layer, out[t][c], bits, want);
        }
    free(bytes);
    free(r.texel);
    assert_true(allot_object_free(k->dev, tex, k->d));
    assert_true(allot_array_free(k->dev, a, k->d));
}

static void
every_geometry_format_mode(void **state)
{
    static const struct allot_format formats[] = {
        {ALLOT_FLOAT, 32, 1},   {ALLOT_FLOAT, 32, 4},   {ALLOT_FLOAT, 16, 2},
        {ALLOT_UNSIGNED, 8, 4}, {ALLOT_SIGNED, 8, 1},   {ALLOT_SIGNED, 16, 2},
        {ALLOT_SIGNED, 32, 1},  {ALLOT_UNSIGNED, 16, 1}};
    struct rt_kit k;
    rt_open(&k, NULL, NULL);
    for (size_t gi = 0; gi < sizeof geometries / sizeof *geometries; gi++) {
        const struct geometry *g = &geometries[gi];
        struct allot_module *m[2][2]; /* by result type and coordinate type */
        for (int i = 0; i < 4; i++) {
            char op[256];
            snprintf(op, sizeof op,
                     "tex.%s%s.v4.%s.%s {%%o0, %%o1, %%o2, %%o3}, [%%d0, %s];",
                     i % 2 ? "base." : "", g->name, i / 2 ? "u32" : "f32",
                     i % 2 ? "f32" : "s32", g->coords);
            m[i / 2][i % 2] = kernel(&k, "", op);
        }
        for (size_t fi = 0; fi < sizeof formats / sizeof *formats; fi++)
            for (int mode = 0; mode < 32; mode++) {
                const struct allot_format *f = &formats[fi];
                struct allot_sampler s = {.filter = mode & 4 ? ALLOT_LINEAR : ALLOT_POINT,
                                          .normalized_coords = mode & 8,
                                          .normalized_float = mode & 16 &&
                                                              f->kind != ALLOT_FLOAT &&
                                                              f->bits < 32,
                                          .border = {0.5f, 3, -2, 8}};
                for (int d = 0; d < 3; d++)
                    s.address[d] = (enum allot_address)((mode + d) % 4);
                bool flt = f->kind == ALLOT_FLOAT || s.normalized_float;
                if ((mode & 4 && !flt) ||
                    (mode & 16 && !s.normalized_float)) /* cannot be, was already */
                    continue;
                fetch_case(&k, g, m[!flt][1], f, &s, true);
            }
        struct allot_sampler s = {.address = {ALLOT_CLAMP, ALLOT_BORDER, ALLOT_CLAMP}};
        fetch_case(&k, g, m[0][0], &formats[1], &s, false);
        fetch_case(&k, g, m[1][0], &formats[3], &s, false);
        allot_device_free(k.dev); /* the modules go after it */
        for (int i = 0; i < 4; i++)
            allot_module_free(m[i / 2][i % 2]);
        static const struct allot_options o = {.functional = true};
        k.dev = allot_device_new(k.m, &o, k.d);
    }
    rt_close(&k);
}

/* One case by hand: the guide's own example of a linear fetch. */
static void
linear_filtering_by_hand(void **state)
{
    struct rt_kit k;
    rt_open(&k, NULL, NULL);
    struct allot_module *m =
        kernel(&k, "", "tex.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%d0, {%x0}];");
    struct allot_array_info info = {{ALLOT_FLOAT, 32, 1}, 4, 0, 0, false, false, 0};
    struct allot_array *a = allot_array_new(k.dev, &info, k.d);
    float data[4] = {10, 20, 40, 80};
    struct allot_box b = {.width = 4};
    assert_true(allot_array_write(k.dev, a, &b, data, 0, 0, k.d));
    struct allot_resource r = {.kind = ALLOT_RES_ARRAY, .array = a};
    struct allot_sampler s = {.address = {ALLOT_CLAMP}, .filter = ALLOT_LINEAR};
    uint64_t tex = allot_texture_new(k.dev, &r, &s, k.d);
    static uint32_t in[N][4], out[N][4];
    const float x[] = {0.5f,   1.0f, 1.5f, 1.75f, 2.5f, 3.9f, -5, 0.5f + 1 / 512.f,
                       1.4999f};
    const float want[] = {10, 15, 20, 25, 40, 80, 10, 10 + 10 / 256.f, 20};
    for (int i = 0; i < 9; i++)
        in[i][0] = float_bits(x[i]);
    launch(&k, m, tex, (const uint32_t(*)[4])in, out);
    for (int i = 0; i < 9; i++)
        assert_int_equal(out[i][0], float_bits(want[i]));
    allot_device_free(k.dev);
    k.dev = NULL;
    allot_module_free(m);
    rt_close(&k);
}

/* Cube maps, one and in layers: a place on a face is made a direction by the guide's
 * table read backwards, of any length; what comes back is the face's texel there. */
static void
cube_maps(void **state)
{
    enum { SIDE = 8, CUBES = 3 };
    struct rt_kit k;
    rt_open(&k, NULL, NULL);
    struct allot_module *m[2] = {
        kernel(&k, "",
               "tex.cube.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%d0, {%x0, %x1, %x2, %x2}];"),
        kernel(&k, "",
               "tex.acube.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%d0, {%x3, %x0, %x1, "
               "%x2}];")};
    for (int c = 0; c < 4; c++) {
        bool layered = c & 1, linear = c & 2;
        struct ref r = {.s = {.filter = linear ? ALLOT_LINEAR : ALLOT_POINT,
                              .address = {ALLOT_WRAP, ALLOT_WRAP, ALLOT_WRAP},
                              .normalized_coords = true}};
        r.info = (struct allot_array_info){
            {ALLOT_FLOAT, 32, 1}, SIDE, SIDE, layered ? 6 * CUBES : 6, layered, true, 0};
        uint8_t *bytes = make_data(&r);
        struct allot_array *a = allot_array_new(k.dev, &r.info, k.d);
        struct allot_box whole = {0, 0, 0, SIDE, SIDE, r.info.depth};
        assert_true(allot_array_write(k.dev, a, &whole, bytes, 0, 0, k.d));
        struct allot_resource res = {.kind = ALLOT_RES_ARRAY, .array = a};
        uint64_t tex = allot_texture_new(k.dev, &res, &r.s, k.d);
        static uint32_t in[N][4], out[N][4];
        double at[N][3], want[N];
        for (int t = 0; t < N; t++) {
            unsigned face = rnd(6), cube = layered ? rnd(CUBES) : 0;
            double size = (double)(1 << rnd(7)) / 16, u = (rnd(2 * SIDE * 16) + 0.5) / 16;
            at[t][0] = u / 2;
            at[t][1] = (rnd(2 * SIDE * 16) + 0.5) / 32;
            at[t][2] = 0;
            double s = (2 * at[t][0] / SIDE - 1) * size,
                   v = (2 * at[t][1] / SIDE - 1) * size;
            const double directions[6][3] = {{size, -v, -s}, {-size, -v, s},
                                             {s, size, v},   {s, -size, -v},
                                             {s, -v, size},  {-s, -v, -size}};
            for (int d = 0; d < 3; d++)
                in[t][d] = float_bits(directions[face][d]);
            in[t][3] = cube;
            struct ref one = r; /* the guide: no other face is looked at */
            for (int d = 0; d < 3; d++)
                one.s.address[d] = ALLOT_CLAMP;
            one.info.layered = true;
            want[t] = ref_fetch(&one, 2, at[t], 6 * cube + face, 0);
        }
        launch(&k, m[layered], tex, (const uint32_t(*)[4])in, out);
        for (int t = 0; t < N; t++)
            if (out[t][0] != float_bits(want[t]))
                fail_msg("case %d, thread %d: 0x%x, expected 0x%x", c, t, out[t][0],
                         float_bits(want[t]));
        free(bytes);
        free(r.texel);
        assert_true(allot_object_free(k.dev, tex, k.d));
        assert_true(allot_array_free(k.dev, a, k.d));
    }
    allot_device_free(k.dev);
    k.dev = NULL;
    for (int i = 0; i < 2; i++)
        allot_module_free(m[i]);
    rt_close(&k);
}

/* Mipmaps: levels of their own data, read by level and by gradients. */
static void
mipmaps(void **state)
{
    enum { W = 16, H = 8, LEVELS = 5 };
    struct rt_kit k;
    rt_open(&k, NULL, NULL);
    struct allot_module *m[2] = {
        kernel(&k, "",
               "tex.level.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%d0, {%x0, %x1}], %x2;"),
        kernel(&k, "",
               "tex.grad.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%d0, {%x0, %x1}], {%x2, "
               "%o3}, {%o3, %x3};")};
    struct allot_array_info info = {{ALLOT_FLOAT, 32, 1}, W, H, 0, false, false, LEVELS};
    struct allot_array *a = allot_array_new(k.dev, &info, k.d);
    assert_non_null(a);
    struct ref level[LEVELS];
    for (uint32_t l = 0; l < LEVELS; l++) {
        struct allot_array *one = allot_array_level(a, l);
        level[l] = (struct ref){.info = *allot_array_describe(one)};
        assert_int_equal(level[l].info.width, W >> l);
        assert_int_equal(level[l].info.height, H >> l ? H >> l : 1);
        uint8_t *bytes = make_data(&level[l]);
        struct allot_box whole = {0, 0, 0, level[l].info.width, level[l].info.height, 1};
        assert_true(allot_array_write(k.dev, one, &whole, bytes, 0, 0, k.d));
        free(bytes);
    }
    for (int c = 0; c < 16; c++) {
        bool grad = c & 4;
        struct allot_sampler s = {.normalized_coords = true,
                                  .address = {ALLOT_WRAP, ALLOT_CLAMP, ALLOT_CLAMP},
                                  .filter = c & 1 ? ALLOT_LINEAR : ALLOT_POINT,
                                  .mip_filter = c & 2 ? ALLOT_LINEAR : ALLOT_POINT,
                                  .mip_bias = c & 8 ? 0.75f : 0,
                                  .mip_least = c & 8 ? 0.5f : 0,
                                  .mip_most = c & 8 ? 2.75f : 100};
        struct allot_resource res = {.kind = ALLOT_RES_ARRAY, .array = a};
        uint64_t tex = allot_texture_new(k.dev, &res, &s, k.d);
        if (!tex)
            rt_fail(&k, "texture");
        static uint32_t in[N][4], out[N][4];
        double want[N];
        for (int t = 0; t < N; t++) {
            double x = (double)rnd(2048) / 1024, y = (double)rnd(1024) / 1024, lod;
            in[t][0] = float_bits(x);
            in[t][1] = float_bits(y);
            if (grad) { /* lengths in texels, powers of two */
                double dx = ldexp(1, (int)rnd(8) - 2), dy = ldexp(1, (int)rnd(8) - 2);
                in[t][2] = float_bits(dx / W);
                in[t][3] = float_bits(-dy / H);
                lod = log2(dx > dy ? dx : dy);
            } else {
                lod = (double)rnd(8 * 64) / 64 - 1.5;
                in[t][2] = float_bits(lod);
            }
            lod = fmin(fmax(lod + s.mip_bias, s.mip_least), s.mip_most);
            lod = fmin(fmax(lod, 0), LEVELS - 1);
            want[t] = 0;
            for (int l = 0; l < LEVELS; l++) {
                double weight = fmax(0, 1 - fabs(lod - l));
                if (s.mip_filter == ALLOT_POINT) /* the nearest, between two the lower */
                    weight = lod - l <= 0.5 && lod - l > -0.5;
                if (weight == 0)
                    continue;
                struct ref r = level[l];
                r.s = s;
                const double at[3] = {x * (double)r.info.width, y * (double)r.info.height,
                                      0};
                want[t] += weight * ref_fetch(&r, 2, at, 0, 0);
            }
        }
        launch(&k, m[grad], tex, (const uint32_t(*)[4])in, out);
        for (int t = 0; t < N; t++)
            if (out[t][0] != float_bits(want[t]) && (want[t] != 0 || out[t][0] << 1))
                fail_msg("case %d, thread %d: 0x%x, expected 0x%x (%g)", c, t, out[t][0],
                         float_bits(want[t]), want[t]);
        assert_true(allot_object_free(k.dev, tex, k.d));
    }
    struct allot_module *q =
        kernel(&k, "",
               "txq.num_mipmap_levels.b32 %o0, [%d0]; txq.width.b32 %o1, [%d0];\n"
               "txq.level.width.b32 %o2, [%d0], %x0; txq.level.height.b32 %o3, [%d0], "
               "%x0;");
    struct allot_resource res = {.kind = ALLOT_RES_ARRAY, .array = a};
    struct allot_sampler plain = {.normalized_coords = true};
    static uint32_t in[N][4], out[N][4];
    for (uint32_t t = 0; t < N; t++)
        in[t][0] = t % LEVELS;
    launch(&k, q, allot_texture_new(k.dev, &res, &plain, k.d), (const uint32_t(*)[4])in,
           out);
    for (int t = 0; t < N; t++) {
        assert_int_equal(out[t][0], LEVELS);
        assert_int_equal(out[t][1], W);
        assert_int_equal(out[t][2], level[t % LEVELS].info.width);
        assert_int_equal(out[t][3], level[t % LEVELS].info.height);
    }
    for (int l = 0; l < LEVELS; l++)
        free(level[l].texel);
    allot_device_free(k.dev);
    allot_module_free(q);
    k.dev = NULL;
    for (int i = 0; i < 2; i++)
        allot_module_free(m[i]);
    rt_close(&k);
}

/* Linear and pitched memory; an offset behind the coordinates; f16 results; a gather. */
static void
memory_textures_and_forms(void **state)
{
    static const struct {
        const char *op;
        int what;
    } ops[] = {
        {"tex.1d.v4.s32.s32 {%o0, %o1, %o2, %o3}, [%d0, {%x0}];", 0},
        {"tex.2d.v4.f32.f32 {%o0, _, _, %o3}, [%d0, {%x0, %x1}];", 1},
        {"tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%d0, {%x0, %x1}], {1, -2};", 2},
        {"tex.level.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%d0, {%x0, %x1}], 0f40000000;",
         3},
        {"tex.grad.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%d0, {%x0, %x1}], {%x2, %x2}, "
         "{%x2, %x2};",
         3},
        {"tex.2d.v2.f16x2.f32 {%o0, %o1}, [%d0, {%x0, %x1}];", 4},
        {"tex.2d.v4.f16.f32 {%h0, %h1, %h2, %h3}, [%d0, {%x0, %x1}]; mov.b32 %o0, {%h0, "
         "%h1};",
         5},
        {"tld4.r.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%d0, {%x0, %x1}];", 6},
        {"setp.ne.u32 %p0, %o0, 0; tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}|%p0, [%d0, "
         "{%x0, %x1}]; selp.u32 %o1, 77, 78, %p0;",
         7},
    };
    enum { W = 20, H = 12, PITCH = 96 };
    struct rt_kit k;
    rt_open(&k, NULL, NULL);
    uint64_t mem = allot_alloc(k.dev, PITCH * H, k.d);
    float data[H][PITCH / 4];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < PITCH / 4; x++)
            data[y][x] = (float)(y * 100 + x);
    assert_true(allot_write(k.dev, mem, data, sizeof data, k.d));
    struct allot_resource lin = {.kind = ALLOT_RES_LINEAR,
                                 .addr = mem + 16,
                                 .bytes = 400,
                                 .format = {ALLOT_SIGNED, 32, 1}};
    struct allot_resource pitched = {.kind = ALLOT_RES_PITCH2D,
                                     .addr = mem,
                                     .width = W,
                                     .height = H,
                                     .pitch = PITCH,
                                     .format = {ALLOT_FLOAT, 32, 1}};
    struct allot_sampler s = {.address = {ALLOT_CLAMP, ALLOT_CLAMP, ALLOT_CLAMP}};
    uint64_t t_lin = allot_texture_new(k.dev, &lin, NULL, k.d),
             t_pitched = allot_texture_new(k.dev, &pitched, &s, k.d);
    struct allot_module *m[16];
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        static uint32_t in[N][4], out[N][4];
        m[i] = kernel(&k, "", ops[i].op);
        int x[N], y[N];
        for (int t = 0; t < N; t++) {
            x[t] = (int)rnd(W + 6) - 3;
            y[t] = (int)rnd(H + 6) - 3;
            in[t][0] = ops[i].what ? float_bits(x[t] + 0.3) : (uint32_t)x[t] * 5;
            in[t][1] = float_bits(y[t] + 0.2);
        }
        launch(&k, m[i], ops[i].what ? t_pitched : t_lin, (const uint32_t(*)[4])in, out);
#define AT(px, py)                                                                       \
    data[(py) < 0 ? 0 : (py) >= H ? H - 1 : (py)][(px) < 0 ? 0 : (px) >= W ? W - 1 : (px)]
        for (int t = 0; t < N; t++) {
            float v = AT(x[t], y[t]);
            const uint32_t *o = out[t];
            switch (ops[i].what) {
            case 0: {
                uint32_t want = 0;
                if (x[t] * 5 >= 0 && x[t] * 5 < 100)
                    memcpy(&want, &data[0][4] + x[t] * 5, 4);
                assert_int_equal(o[0], want);
                break;
            }
            case 1:
                assert_int_equal(o[0], float_bits(v));
                assert_int_equal(o[1], 0); /* not written */
                assert_int_equal(o[3], float_bits(1));
                break;
            case 2:
                v = AT(x[t] + 1, y[t] - 2);
                assert_int_equal(o[0], float_bits(v));
                break;
            case 3:
                assert_int_equal(o[0], float_bits(v));
                break;
            case 4:
            case 5: { /* whole numbers below 2048 are exact in f16 */
                int e = 0;
                double f = frexp(v, &e);
                uint32_t h =
                    v == 0 ? 0 : (uint32_t)(e + 14) << 10 | ((uint32_t)(f * 2048) & 1023);
                assert_int_equal(o[0], h);
                if (ops[i].what == 4)
                    assert_int_equal(o[1], 0x3c00u << 16);
                break;
            }
            case 6: { /* the four around the point: half a texel back is left and below */
                int x0 = x[t] - 1, y0 = y[t] - 1;
                assert_int_equal(o[0], float_bits(AT(x0, y0 + 1)));
                assert_int_equal(o[1], float_bits(AT(x0 + 1, y0 + 1)));
                assert_int_equal(o[2], float_bits(AT(x0 + 1, y0)));
                assert_int_equal(o[3], float_bits(AT(x0, y0)));
                break;
            }
            case 7:
                assert_int_equal(o[0], float_bits(v));
                assert_int_equal(o[1], 77);
                break;
            }
        }
    }
    allot_device_free(k.dev);
    k.dev = NULL;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        allot_module_free(m[i]);
    rt_close(&k);
}

/* Old references, a sampler of its own, queries. */
static void
references_samplers_queries(void **state)
{
    struct rt_kit k;
    rt_open(&k,
            ".version 4.0\n.target sm_30, texmode_independent\n.address_size 64\n"
            ".global .texref tx;\n.global .surfref su;\n"
            ".global .samplerref sm = { addr_mode_0 = clamp_to_border, filter_mode = "
            "linear };\n"
            ".visible .entry k(.param .u64 out)\n{\n"
            ".reg .u64 %d<4>; .reg .u32 %r<40>; .reg .f32 %f<9>; .reg .pred %p<4>;\n"
            "ld.param.u64 %d0, [out]; mov.f32 %f4, 0f40000000;\n" /* 2.0 */
            "tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [tx, sm, {%f4}];\n"
            "st.global.f32 [%d0], %f0;\n"
            "txq.width.b32 %r0, [tx]; txq.height.b32 %r1, [tx];\n"
            "txq.channel_order.b32 %r2, [tx]; txq.channel_data_type.b32 %r3, [tx];\n"
            "txq.filter_mode.b32 %r4, [sm]; txq.addr_mode_0.b32 %r5, [sm];\n"
            "suq.width.b32 %r6, [su]; suq.height.b32 %r7, [su];\n"
            "mov.u64 %d1, tx; istypep.texref %p0, %d1; selp.u32 %r8, 1, 0, %p0;\n"
            "istypep.surfref %p0, %d1; selp.u32 %r9, 1, 0, %p0;\n"
            "st.global.v4.u32 [%d0+16], {%r0, %r1, %r2, %r3};\n"
            "st.global.v4.u32 [%d0+32], {%r4, %r5, %r6, %r7};\n"
            "st.global.v2.u32 [%d0+48], {%r8, %r9}; ret; }\n",
            NULL);
    struct allot_array_info i1 = {{ALLOT_FLOAT, 32, 1}, 4, 0, 0, false, false, 0},
                            i2 = {{ALLOT_UNSIGNED, 8, 4}, 7, 9, 0, false, false, 0};
    struct allot_array *a1 = allot_array_new(k.dev, &i1, k.d),
                       *a2 = allot_array_new(k.dev, &i2, k.d);
    float data[4] = {1, 2, 4, 8};
    struct allot_box b = {.width = 4};
    assert_true(allot_array_write(k.dev, a1, &b, data, 0, 0, k.d));
    struct allot_resource r1 = {.kind = ALLOT_RES_ARRAY, .array = a1},
                          r2 = {.kind = ALLOT_RES_ARRAY, .array = a2};
    uint64_t out = allot_alloc(k.dev, 64, k.d);
    assert_null(rt_try(&k, 1, 1, 1, &out));
    rt_told(&k, "the texture reference 'tx' is not bound");
    uint64_t tex = allot_texture_new(k.dev, &r1, NULL, k.d),
             surf = allot_surface_new(k.dev, &r2, k.d);
    assert_true(allot_bind(k.dev, k.mod, "tx", tex, k.d));
    assert_true(allot_bind(k.dev, k.mod, "su", surf, k.d));
    rt_run(&k, 1, 1, 1, &out);
    uint32_t got[14];
    assert_true(allot_read(k.dev, out, got, sizeof got, k.d));
    static const uint32_t want[14] = {0x40400000 /* 3: between 2 and 4 */,
                                      0,
                                      0,
                                      0,
                                      4,
                                      0,
                                      0x10b0,
                                      0x10de,
                                      ALLOT_LINEAR,
                                      ALLOT_BORDER,
                                      7,
                                      9,
                                      1,
                                      0};
    assert_memory_equal(got, want, sizeof want);
    rt_close(&k);
}

static void
misuse_is_explained(void **state)
{
    struct rt_kit k;
    rt_open(&k, NULL, NULL);
    struct allot_module *m1 = kernel(
                            &k, "",
                            "tex.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%d0, {%x0}];"),
                        *m2 = kernel(&k, "", "suld.b.1d.b32.trap {%o0}, [%d0, {%x0}];");
    struct allot_array_info info = {{ALLOT_FLOAT, 32, 1}, 8, 8, 0, false, false, 0};
    struct allot_array *a = allot_array_new(k.dev, &info, k.d);
    info.height = 0;
    struct allot_array *flat = allot_array_new(k.dev, &info, k.d);
    struct allot_resource r = {.kind = ALLOT_RES_ARRAY, .array = a},
                          rf = {.kind = ALLOT_RES_ARRAY, .array = flat};
    uint64_t tex = allot_texture_new(k.dev, &r, NULL, k.d),
             one = allot_texture_new(k.dev, &rf, NULL, k.d),
             surf = allot_surface_new(k.dev, &rf, k.d);
    uint64_t io = allot_alloc(k.dev, N * 16, k.d);
    k.mod = m1;
    uint64_t args[] = {5, io, io};
    assert_null(rt_try(&k, 1, 32, 3, args));
    rt_told(&k, "0x5 is no texture object");
    args[0] = tex;
    assert_null(rt_try(&k, 1, 32, 3, args));
    rt_told(&k, "the texture has 2 dimensions, the instruction 1");
    args[0] = surf;
    assert_null(rt_try(&k, 1, 32, 3, args));
    rt_told(&k, "is a surface, not a texture");
    args[0] = one;
    rt_run(&k, 1, 32, 3, args);
    k.mod = m2;
    args[0] = surf;
    uint32_t in[4] = {32};
    assert_true(allot_write(k.dev, io, in, 16, k.d));
    assert_null(rt_try(&k, 1, 1, 3, args));
    rt_told(&k,
            "surface access of 4 bytes at (32,0,0), x in bytes, is outside the surface "
            "of 32 x 1 x 1");
    in[0] = 3;
    assert_true(allot_write(k.dev, io, in, 16, k.d));
    assert_null(rt_try(&k, 1, 1, 3, args));
    rt_told(&k, "at byte 3 of a row is misaligned");
    assert_true(allot_array_free(k.dev, flat, k.d));
    assert_null(rt_try(&k, 1, 1, 3, args));
    rt_told(&k, "the memory under surface object");
    assert_true(allot_object_free(k.dev, surf, k.d));
    assert_null(rt_try(&k, 1, 1, 3, args));
    rt_told(&k, "was freed");
    allot_device_free(k.dev);
    k.dev = NULL;
    allot_module_free(m1);
    k.mod = NULL;
    allot_module_free(m2);
    rt_close(&k);
}

/* Reads, writes and reductions of surfaces in every geometry, clamp mode and form. */
static void
surfaces(void **state)
{
    static const char *const bcoords[] = {"{%x0}", "{%x0, %x1}", "{%x0, %x1, %x2, %x2}",
                                          "{%x3, %x0}", "{%x3, %x0, %x1, %x1}"};
    struct rt_kit k;
    rt_open(&k, NULL, NULL);
    struct allot_module *keep[64];
    size_t kept = 0;
    for (size_t gi = 0; gi < 5; gi++)
        for (int form = 0; form < 4; form++)
            for (int mode = 0; mode < 2; mode++) {
                const struct geometry *g = &geometries[gi];
                struct allot_array_info info = {{ALLOT_UNSIGNED, 16, 4},
                                                6,
                                                g->dims > 1 ? 5 : 0,
                                                g->layers     ? 3
                                                : g->dims > 2 ? 4
                                                              : 0,
                                                g->layers,
                                                false,
                                                0};
                uint64_t w = 6, h = extent(info.height), n = extent(info.depth);
                uint16_t cells[4 * 5 * 6][4], now[4 * 5 * 6][4];
                for (uint64_t i = 0; i < w * h * n; i++)
                    for (int c = 0; c < 4; c++)
                        cells[i][c] = (uint16_t)rnd(65536);
                struct allot_array *a = allot_array_new(k.dev, &info, k.d);
                struct allot_box whole = {0, 0, 0, w, h, n};
                assert_true(allot_array_write(k.dev, a, &whole, cells, 0, 0, k.d));
                struct allot_resource r = {.kind = ALLOT_RES_ARRAY, .array = a};
                uint64_t surf = allot_surface_new(k.dev, &r, k.d);
                char op[300];
                const char *cl = mode ? "clamp" : "zero";
                static const char *const texts[] = {
                    "suld.b.%s.v2.b32.%s {%%o0, %%o1}, [%%d0, %s];",
                    "sust.b.%s.b16.%s [%%d0, %s], {%%r2};",
                    "sured.b.add.%s.u32.%s [%%d0, %s], %%r2;",
                    "sust.p.%s.v4.b32.%s [%%d0, %s], {%%r2, %%x0, %%x1, 9};"};
                char tmp[300];
                snprintf(tmp, sizeof tmp, texts[form], g->name, cl, bcoords[gi]);
                /* sust takes registers with the width of the type: %h0 */
                if (form == 1) {
                    snprintf(op, sizeof op,
                             "cvt.u16.u32 %%h0, %%r2; "
                             "sust.b.%s.b16.%s [%%d0, %s], {%%h0};",
                             g->name, cl, bcoords[gi]);
                } else {
                    strcpy(op, tmp);
                }
                struct allot_module *m = keep[kept++] = kernel(&k, "", op);
                static uint32_t in[N][4], out[N][4];
                unsigned size = form == 0 || form == 3 ? 8 : form == 1 ? 2 : 4;
                /* Different threads write different places, but for reductions. */
                uint32_t order[512], total = (uint32_t)((w + 4) * (h + 2) * (n + 2));
                for (uint32_t i = 0; i < total; i++)
                    order[i] = i;
                for (uint32_t i = total; i-- > 1;) {
                    uint32_t j = rnd(i + 1), t = order[i];
                    order[i] = order[j];
                    order[j] = t;
                }
                for (int t = 0; t < N; t++) {
                    uint32_t p = order[(uint32_t)t % total];
                    int32_t x = (int32_t)(p % (w + 4)) - 2,
                            y = (int32_t)(p / (w + 4) % (h + 2)) - 1,
                            z = (int32_t)(p / (w + 4) / (h + 2)) - 1;
                    in[t][0] = (uint32_t)(form == 3 ? x : x * 8 + (form == 2 ? 4 : 0));
                    in[t][1] = (uint32_t)y;
                    in[t][2] = in[t][3] = (uint32_t)z;
                }
                launch(&k, m, surf, (const uint32_t(*)[4])in, out);
                assert_true(allot_array_read(k.dev, a, &whole, now, 0, 0, k.d));
                for (int t = 0; t < N; t++) {
                    int64_t at[3] = {(int32_t)in[t][0] * (form == 3 ? 8 : 1),
                                     g->dims > 1 ? (int32_t)in[t][1] : 0,
                                     g->layers || g->dims > 2 ? (int32_t)in[t][2] : 0};
                    int64_t most[3] = {(int64_t)w * 8 - size, (int64_t)h - 1,
                                       (int64_t)n - 1};
                    bool outside = false;
                    for (int d = 0; d < 3; d++) {
                        outside |= at[d] < 0 || at[d] > most[d];
                        at[d] = at[d] < 0 ? 0 : at[d] > most[d] ? most[d] : at[d];
                    }
                    uint8_t *cell =
                        (uint8_t *)cells[((uint64_t)at[2] * h + (uint64_t)at[1]) * w] +
                        at[0];
                    bool there = !outside || mode;
                    uint32_t v;
                    uint16_t h16;
                    switch (form) {
                    case 0: {
                        uint32_t two[2] = {0, 0};
                        if (there)
                            memcpy(two, cell, 8);
                        assert_int_equal(out[t][0], two[0]);
                        assert_int_equal(out[t][1], two[1]);
                        break;
                    }
                    case 1:
                        h16 = (uint16_t)t;
                        if (there)
                            memcpy(cell, &h16, 2);
                        break;
                    case 2:
                        memcpy(&v, cell, 4);
                        v += (uint32_t)t;
                        if (there)
                            memcpy(cell, &v, 4);
                        break;
                    default: {
                        uint16_t four[4] = {(uint16_t)t, (uint16_t)in[t][0],
                                            (uint16_t)in[t][1], 9};
                        if (there)
                            memcpy(cell, four, 8);
                    }
                    }
                }
                for (uint64_t i = 0; i < w * h * n; i++)
                    if (memcmp(cells[i], now[i], 8) != 0)
                        fail_msg("surface %s form %d mode %d cell %d differs", g->name,
                                 form, mode, (int)i);
                assert_true(allot_object_free(k.dev, surf, k.d));
                assert_true(allot_array_free(k.dev, a, k.d));
            }
    allot_device_free(k.dev);
    k.dev = NULL;
    while (kept)
        allot_module_free(keep[--kept]);
    rt_close(&k);
}

/* A warp that reads along a row of a 2-D array touches two blocks of 64 bytes, along a
 * column 32 rows in 4 blocks, 8 rows (512 bytes, 4 lines) each. */
/* Accesses of the texture cache when the lanes of a warp read the first row, or column, of
 * 32 x 32 floats. `address`: l1t.address; NULL: the machine's. */
static uint64_t
timed_fetch(const char *address, bool column)
{
    static const char text[] = HEAD
        ".visible .entry k(.param .u64 tex, .param .u64 out, .param .u32 column)\n{\n"
        ".reg .u64 %d<4>; .reg .u32 %r<8>; .reg .f32 %f<4>; .reg .pred %p;\n"
        "ld.param.u64 %d0, [tex]; ld.param.u64 %d1, [out]; ld.param.u32 %r0, "
        "[column];\n"
        "mov.u32 %r1, %tid.x; mov.u32 %r2, 0; setp.ne.u32 %p, %r0, 0;\n"
        "selp.u32 %r3, %r2, %r1, %p; selp.u32 %r4, %r1, %r2, %p;\n"
        "tex.2d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%d0, {%r3, %r4}];\n"
        "mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n"
        "st.global.f32 [%d1], %f0; ret; }\n";
    static const struct allot_options timed = {.max_cycles = 1000000};
    struct rt_kit k;
    rt_open(&k, text, &timed);
    if (address) {
        allot_device_free(k.dev);
        assert_true(allot_machine_set(k.m, "l1t.address", address, k.d));
        k.dev = allot_device_new(k.m, &timed, k.d);
        assert_non_null(k.dev);
    }
    struct allot_array_info i = {{ALLOT_FLOAT, 32, 1}, 32, 32, 0, false, false, 0};
    struct allot_array *a = allot_array_new(k.dev, &i, k.d);
    float data[32][32], got[32];
    for (int y = 0; y < 32; y++)
        for (int x = 0; x < 32; x++)
            data[y][x] = (float)(y * 32 + x);
    struct allot_box b = {0, 0, 0, 32, 32, 0};
    assert_true(allot_array_write(k.dev, a, &b, data, 0, 0, k.d));
    struct allot_resource r = {.kind = ALLOT_RES_ARRAY, .array = a};
    uint64_t args[] = {allot_texture_new(k.dev, &r, NULL, k.d),
                       allot_alloc(k.dev, 128, k.d), column};
    const struct allot_result *res = rt_try(&k, 1, 32, 3, args);
    if (!res)
        rt_fail(&k, "launch");
    assert_true(allot_read(k.dev, args[1], got, sizeof got, k.d));
    for (int t = 0; t < 32; t++)
        assert_true(got[t] == (column ? data[t][0] : data[0][t]));
    uint64_t loads, accesses, cycles;
    assert_true(allot_result_get(res, "texture_loads", &loads, NULL));
    assert_true(allot_result_get(res, "l1t_accesses", &accesses, NULL));
    assert_true(allot_result_get(res, "cycles", &cycles, NULL));
    assert_int_equal(loads, 1);
    assert_true(cycles > 300); /* it waits for the DRAM */
    rt_close(&k);
    return accesses;
}

static void
fetches_are_timed(void **state)
{
    assert_int_equal(timed_fetch(NULL, false), 2);
    assert_int_equal(timed_fetch(NULL, true), 16);
    assert_int_equal(timed_fetch("memory", true), 16);
}

/* Lines of 128 bytes: blocks of 8 x 4 floats. The row is in 4 blocks, 64 bytes apart, so in
 * the first half of each: 2 lines. The column is in 8 blocks, each in a row of blocks of its
 * own, 256 bytes apart: 8 lines. */
static void
blocks_of_texels_overlap(void **state)
{
    assert_int_equal(timed_fetch("gpgpusim", false), 2);
    assert_int_equal(timed_fetch("gpgpusim", true), 8);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_geometry_format_mode),
        cmocka_unit_test(linear_filtering_by_hand),
        cmocka_unit_test(cube_maps),
        cmocka_unit_test(mipmaps),
        cmocka_unit_test(memory_textures_and_forms),
        cmocka_unit_test(references_samplers_queries),
        cmocka_unit_test(misuse_is_explained),
        cmocka_unit_test(surfaces),
        cmocka_unit_test(fetches_are_timed),
        cmocka_unit_test(blocks_of_texels_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
