/* Arrays, texture and surface objects, bindings: the public interface. What kernels read
 * through them: exec_texture.c. */
#include "unit/kit/runtime_kit.h"

static uint64_t seed = 1;

static uint64_t
rnd(uint64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

/* Random boxes written and read, host rows with gaps, against a plain copy. */
static void
arrays_keep_what_boxes_wrote(void **state)
{
    static const struct allot_array_info infos[] = {
        {{ALLOT_FLOAT, 32, 1}, 1000, 0, 0, false, false, 0},
        {{ALLOT_UNSIGNED, 8, 4}, 61, 37, 0, false, false, 0},
        {{ALLOT_FLOAT, 32, 4}, 33, 9, 0, false, false, 0},
        {{ALLOT_SIGNED, 16, 1}, 17, 19, 5, false, false, 0},
        {{ALLOT_FLOAT, 16, 2}, 70, 0, 6, true, false, 0},
        {{ALLOT_UNSIGNED, 8, 1}, 130, 11, 3, true, false, 0},
    };
    struct rt_kit k;
    rt_open(&k, NULL, NULL);
    for (size_t i = 0; i < sizeof infos / sizeof *infos; i++) {
        const struct allot_array_info *in = &infos[i];
        uint64_t w = in->width, h = in->height ? in->height : 1,
                 n = in->depth ? in->depth : 1;
        uint64_t texel = in->format.bits / 8 * in->format.channels;
        struct allot_array *a = allot_array_new(k.dev, in, k.d);
        if (!a)
            rt_fail(&k, "array");
        assert_memory_equal(allot_array_describe(a), in, sizeof *in);
        uint8_t *plain = calloc(w * h * n, texel);
        for (int turn = 0; turn < 20; turn++) {
            struct allot_box b = {.x = rnd(w), .y = rnd(h), .z = rnd(n)};
            b.width = 1 + rnd(w - b.x);
            b.height = 1 + rnd(h - b.y);
            b.depth = 1 + rnd(n - b.z);
            uint64_t row = turn % 3 ? b.width * texel + rnd(9) : 0;
            uint64_t rows = row ? row : b.width * texel;
            uint64_t slice = turn % 2 ? rows * b.height + rnd(20) : 0;
            uint64_t slices = slice ? slice : rows * b.height;
            uint8_t *host = malloc(slices * b.depth), *back = malloc(slices * b.depth);
            for (uint64_t j = 0; j < slices * b.depth; j++)
                host[j] = back[j] = (uint8_t)rnd(256);
            assert_true(allot_array_write(k.dev, a, &b, host, row, slice, k.d));
            assert_true(allot_array_read(k.dev, a, &b, back, row, slice, k.d));
            for (uint64_t z = 0; z < b.depth; z++)
                for (uint64_t y = 0; y < b.height; y++) {
                    uint64_t at = z * slices + y * rows;
                    memcpy(plain + (((b.z + z) * h + b.y + y) * w + b.x) * texel,
                           host + at, b.width * texel);
                    assert_memory_equal(host + at, back + at, b.width * texel);
                }
            free(host);
            free(back);
        }
        uint8_t *all = malloc(w * h * n * texel);
        struct allot_box whole = {0, 0, 0, w, h, n};
        assert_true(allot_array_read(k.dev, a, &whole, all, 0, 0, k.d));
        assert_memory_equal(all, plain, w * h * n * texel);
        free(all);
        free(plain);
        if (i % 2)
            assert_true(allot_array_free(k.dev, a, k.d));
    }
    rt_close(&k);
}

static void
bad_arrays_are_refused(void **state)
{
    struct rt_kit k;
    rt_open(&k, NULL, NULL);
    struct allot_array_info i = {{ALLOT_FLOAT, 8, 1}, 4, 4, 0, false, false, 0};
    assert_null(allot_array_new(k.dev, &i, k.d));
    rt_told(&k, "a texel of 1 channels of 8 floating-point bits is not supported");
    i.format = (struct allot_format){ALLOT_UNSIGNED, 8, 3};
    assert_null(allot_array_new(k.dev, &i, k.d));
    rt_told(&k, "3 channels of 8 unsigned bits");
    i.format.channels = 4;
    i.height = 65537;
    assert_null(allot_array_new(k.dev, &i, k.d));
    rt_said(&k, "error: 2-D array of 4 x 65537 x 0: the extents are 1 to 131072 x 65536 "
                "x 0\n");
    i = (struct allot_array_info){{ALLOT_UNSIGNED, 8, 4}, 0, 0, 0, false, false, 0};
    assert_null(allot_array_new(k.dev, &i, k.d));
    rt_told(&k, "1-D array of 0 x 0 x 0");
    i = (struct allot_array_info){{ALLOT_UNSIGNED, 8, 4}, 8, 0, 0, true, false, 0};
    assert_null(allot_array_new(k.dev, &i, k.d));
    rt_told(&k, "layered array of 8 x 0 x 0");
    i = (struct allot_array_info){{ALLOT_UNSIGNED, 8, 4}, 8, 4, 6, false, true, 0};
    assert_null(allot_array_new(k.dev, &i, k.d));
    rt_told(&k, "cube map of 8 x 4 x 6: faces are square");
    i = (struct allot_array_info){{ALLOT_UNSIGNED, 8, 4}, 8, 8, 12, false, true, 0};
    assert_null(allot_array_new(k.dev, &i, k.d));
    rt_told(&k, "cube map of 8 x 8 x 12");
    i = (struct allot_array_info){{ALLOT_UNSIGNED, 8, 4}, 5, 9, 0, false, false, 5};
    assert_null(allot_array_new(k.dev, &i, k.d)); /* 9, 4, 2, 1 */
    rt_told(&k, "whose longest side is 9 cannot have 5 levels");
    i.levels = 4;
    struct allot_array *m = allot_array_new(k.dev, &i, k.d), *two;
    assert_non_null(m);
    two = allot_array_level(m, 2);
    assert_int_equal(allot_array_describe(two)->width, 1);
    assert_int_equal(allot_array_describe(two)->height, 2);
    assert_null(allot_array_level(m, 4));
    assert_false(allot_array_free(k.dev, two, k.d));
    rt_told(&k, "a level is freed with its mipmapped array");
    struct allot_resource r = {.kind = ALLOT_RES_ARRAY, .array = m};
    assert_int_equal(allot_surface_new(k.dev, &r, k.d), 0);
    rt_told(&k, "one level of a mipmapped array");
    assert_int_equal(allot_texture_new(k.dev, &r, NULL, k.d), 0);
    rt_told(&k, "is read with normalised coordinates");
    assert_true(allot_array_free(k.dev, m, k.d));
    assert_false(allot_array_free(k.dev, two, k.d));
    rt_told(&k, "this is no array of this device");
    i = (struct allot_array_info){{ALLOT_UNSIGNED, 8, 4}, 8, 8, 0, false, false, 0};
    struct allot_array *a = allot_array_new(k.dev, &i, k.d);
    assert_non_null(a);
    uint8_t buf[1024];
    assert_false(allot_array_read(k.dev, a, &(struct allot_box){5, 0, 0, 4, 1, 1}, buf, 0,
                                  0, k.d));
    rt_said(&k, "error: the box of 4 x 1 x 1 texels at (5,0,0) is not inside the array "
                "of 8 x 8 x 1\n");
    assert_true(allot_array_free(k.dev, a, k.d));
    assert_false(allot_array_free(k.dev, a, k.d));
    rt_told(&k, "no array of this device");
    rt_close(&k);
}

static void
bad_objects_are_refused(void **state)
{
    struct rt_kit k;
    rt_open(&k, NULL, NULL);
    struct allot_format rgba8 = {ALLOT_UNSIGNED, 8, 4};
    struct allot_array_info i = {rgba8, 8, 8, 0, false, false, 0};
    struct allot_array *a = allot_array_new(k.dev, &i, k.d);
    struct allot_resource r = {.kind = ALLOT_RES_ARRAY, .array = a};
    struct allot_sampler s = {.filter = ALLOT_LINEAR};
    assert_int_equal(allot_texture_new(k.dev, &r, &s, k.d), 0);
    rt_told(&k, "linear filtering needs floating-point texels");
    s.normalized_float = true;
    s.address[1] = 7;
    assert_int_equal(allot_texture_new(k.dev, &r, &s, k.d), 0);
    rt_told(&k, "address mode 7 of dimension 1 does not exist");
    s.address[1] = ALLOT_BORDER;
    uint64_t tex = allot_texture_new(k.dev, &r, &s, k.d);
    uint64_t surf = allot_surface_new(k.dev, &r, k.d);
    assert_true(tex && surf && tex != surf);
    assert_true(allot_object_free(k.dev, tex, k.d));
    assert_false(allot_object_free(k.dev, tex, k.d));
    rt_told(&k, "is no texture or surface object any more: it was freed");
    assert_false(allot_object_free(k.dev, 77, k.d));
    rt_said(&k, "error: 0x4d is no texture or surface object\n");

    uint64_t buf = allot_alloc(k.dev, 4096, k.d);
    r = (struct allot_resource){
        .kind = ALLOT_RES_LINEAR, .addr = buf, .bytes = 4097, .format = rgba8};
    assert_int_not_equal(allot_texture_new(k.dev, &r, NULL, k.d), 0); /* 1024 texels */
    r.bytes = 4100;
    assert_int_equal(allot_texture_new(k.dev, &r, NULL, k.d), 0);
    rt_told(&k, "is not inside one live allocation");
    r.bytes = 2048;
    assert_int_equal(allot_texture_new(k.dev, &r, &s, k.d), 0);
    rt_told(&k, "linear memory has neither filtering nor normalised coordinates");
    assert_int_equal(allot_surface_new(k.dev, &r, k.d), 0);
    rt_told(&k, "a surface is made of an array");
    r.kind = ALLOT_RES_PITCH2D;
    r.width = 16;
    r.height = 4;
    r.pitch = 60;
    assert_int_equal(allot_texture_new(k.dev, &r, NULL, k.d), 0);
    rt_told(&k, "pitched texture memory of 16 x 4 texels of 4 bytes, pitch 60");
    r.pitch = 1024;
    assert_int_not_equal(allot_texture_new(k.dev, &r, NULL, k.d), 0);
    r.height = 5;
    assert_int_equal(allot_texture_new(k.dev, &r, NULL, k.d), 0);
    rt_told(&k, "is not inside one live allocation");
    r.kind = 3;
    assert_int_equal(allot_texture_new(k.dev, &r, NULL, k.d), 0);
    rt_told(&k, "a resource is an array, linear or pitched memory, not kind 3");
    r = (struct allot_resource){.kind = ALLOT_RES_ARRAY, .array = a};
    assert_true(allot_array_free(k.dev, a, k.d));
    assert_int_equal(allot_surface_new(k.dev, &r, k.d), 0);
    rt_told(&k, "none of this device");
    rt_close(&k);
}

static void
references_are_listed_and_bound(void **state)
{
    struct rt_kit k;
    rt_open(&k,
            ".version 4.0\n.target sm_30\n.address_size 64\n"
            ".global .texref tex;\n.global .surfref surf;\n.global .u32 x;\n"
            ".visible .entry k() { ret; }\n",
            NULL);
    const char *name;
    enum allot_ref_kind kind;
    assert_true(allot_module_ref(k.mod, 0, &name, &kind));
    assert_string_equal(name, "tex");
    assert_int_equal(kind, ALLOT_TEXREF);
    assert_true(allot_module_ref(k.mod, 1, &name, &kind));
    assert_string_equal(name, "surf");
    assert_int_equal(kind, ALLOT_SURFREF);
    assert_false(allot_module_ref(k.mod, 2, &name, &kind));

    uint64_t buf = allot_alloc(k.dev, 4096, k.d), addr;
    struct allot_resource r = {.kind = ALLOT_RES_LINEAR,
                               .addr = buf,
                               .bytes = 4096,
                               .format = {ALLOT_FLOAT, 32, 1}};
    uint64_t tex = allot_texture_new(k.dev, &r, NULL, k.d);
    assert_true(allot_bind(k.dev, k.mod, "tex", tex, k.d));
    assert_true(allot_bind(k.dev, k.mod, "tex", 0, k.d));
    assert_false(allot_bind(k.dev, k.mod, "surf", tex, k.d));
    rt_said(&k, "error: 'surf' can only be bound to a surface object\n");
    assert_false(allot_bind(k.dev, k.mod, "x", tex, k.d));
    rt_said(&k, "error: the module has no texture or surface reference 'x'\n");
    assert_false(allot_bind(k.dev, k.mod, "tex", tex + 1, k.d));
    rt_told(&k, "is no texture or surface object");
    assert_false(allot_symbol(k.dev, k.mod, "tex", &addr, NULL, k.d));
    rt_told(&k, "the module has no variable 'tex'");
    rt_close(&k);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_keep_what_boxes_wrote),
        cmocka_unit_test(bad_arrays_are_refused),
        cmocka_unit_test(bad_objects_are_refused),
        cmocka_unit_test(references_are_listed_and_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
