/* mesh.c: the meshes of 004's irregular applications are those that are specified: counts
 * (Table V) and SHA-256 of the edge list as lines "i j". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../../workloads/mesh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
digest(const struct mesh *m, char out[65])
{
    char path[] = "/tmp/mesh-XXXXXX", command[80];
    int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    assert_non_null(f);
    for (uint32_t i = 0; i < m->nodes; i++)
        for (uint32_t e = m->first[i]; e < m->first[i + 1]; e++)
            fprintf(f, "%u %u\n", i, m->to[e]);
    assert_int_equal(fclose(f), 0);
    snprintf(command, sizeof command, "sha256sum <%s", path);
    f = popen(command, "r");
    assert_non_null(f);
    assert_int_equal(fread(out, 1, 64, f), 64);
    out[64] = 0;
    pclose(f);
    unlink(path);
}

static void
edges_are_those_specified(void **state)
{
    static const struct {
        enum mesh_name name;
        uint32_t nodes, edges;
        const char *sha256;
    } want[] = {
        {MESH_FOIL, 144649, 1074393,
         "6168d23e8f159eac85842e6a0ddff756a81f27daca70b54423527bf6674746fe"},
        {MESH_AUTO, 448695, 3314611,
         "741a1ad018fffd72b899e5e6727bce719c811f291fe46c2bff93cad02add3220"},
        {MESH_MOL1, 131072, 1179648,
         "2f2dae29092e40c6d93eb9dde3651bb37d7187cf475b4bb17b70521dc1b18c52"},
        {MESH_MOL2, 442368, 3981312,
         "b33ab7acbe1f1932dddffe3f7c4b1097efe8abffb150665efe6ac115bea1ba03"},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct mesh m;
        char sha256[65];
        assert_true(mesh_make(&m, want[i].name, false));
        assert_int_equal(m.nodes, want[i].nodes);
        assert_int_equal(m.edges, want[i].edges);
        assert_int_equal(m.first[m.nodes], m.edges);
        digest(&m, sha256);
        assert_string_equal(sha256, want[i].sha256);
        mesh_free(&m);
    }
}

/* Coordinates belong to the nodes: an edge's ends are next to each other. */
static void
ends_of_an_edge_are_near(void **state)
{
    static const enum mesh_name names[] = {MESH_FOIL, MESH_MOL1, MESH_QUICK};
    static const float most[] = {1.27F, 1.01F, 1.27F};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct mesh m;
        assert_true(mesh_make(&m, names[i], true));
        for (uint32_t a = 0; a < m.nodes; a++)
            for (uint32_t e = m.first[a]; e < m.first[a + 1]; e++) {
                float far = 0;
                for (uint32_t k = 0; k < 3; k++) {
                    float d = m.at[k * m.nodes + a] - m.at[k * m.nodes + m.to[e]];
                    d = d < 0 ? -d : d;
                    d = m.period > 0 && d > m.period / 2 ? m.period - d : d;
                    far += d * d;
                }
                assert_true(far > 0 && far < most[i] * most[i]);
            }
        mesh_free(&m);
    }
}

/* What a thread does is the program's: the order of threads changes no list but for its numbers. */
static void
a_node_keeps_its_list_in_another_order(void **state)
{
    const uint32_t block = 64;
    struct mesh was, m;
    assert_true(mesh_make(&was, MESH_QUICK, false) && mesh_make(&m, MESH_QUICK, false));
    uint32_t *place = malloc(was.nodes * sizeof *place), turned = 0;
    assert_non_null(place);
    assert_true(
        order_items(ORDER_COALESCED, was.nodes, was.first, was.to, block, 45, place));
    assert_true(mesh_order(&m, ORDER_COALESCED, block, 45));
    for (uint32_t i = 0; i < was.nodes; i++) {
        const uint32_t n = was.first[i + 1] - was.first[i], at = m.first[place[i]];
        assert_int_equal(m.first[place[i] + 1] - at, n);
        assert_true(m.at[place[i]] == was.at[i]);
        for (uint32_t k = 0; k < n; k++) {
            assert_int_equal(m.to[at + k], place[was.to[was.first[i] + k]]);
            turned += m.to[at + k] < place[i];
        }
    }
    assert_true(turned > 0);
    free(place);
    mesh_free(&was);
    mesh_free(&m);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_are_those_specified),
        cmocka_unit_test(ends_of_an_edge_are_near),
        cmocka_unit_test(a_node_keeps_its_list_in_another_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
