/* test_names.c - the names of dumps: ours, gperftools' and jemalloc's. */
#include "unit.h"

#include "base/base.h"
#include "dump/names.h"

/* clang-format off: one name per line */
static const struct {
    struct vt_dump_name name;
    const char *expected;
} rows[] = {
    /* style                process            reason           prefix  pid   ns  n      reason's n */
    {{VT_NAMES_VITRINE, VT_PROCESS_FIRST, VT_DUMP_EXIT, "app", 42, 0, 1, 0}, "app.0001.heap"},
    {{VT_NAMES_VITRINE, VT_PROCESS_FIRST, VT_DUMP_BYTES, "app", 42, 0, 9999, 5}, "app.9999.heap"},
    {{VT_NAMES_VITRINE, VT_PROCESS_FIRST, VT_DUMP_BYTES, "app", 42, 0, 10000, 5}, "app.10000.heap"},
    {{VT_NAMES_VITRINE, VT_PROCESS_FIRST, VT_DUMP_BYTES, "app", 42, 0, 0, 0}, "app.0000.heap"},
    {{VT_NAMES_VITRINE, VT_PROCESS_FIRST, VT_DUMP_BYTES, "app", 42, 0, 10, 0}, "app.0010.heap"},
    {{VT_NAMES_VITRINE, VT_PROCESS_FIRST, VT_DUMP_BYTES, "app", 42, 0, 1000, 0}, "app.1000.heap"},
    {{VT_NAMES_VITRINE, VT_PROCESS_FORKED, VT_DUMP_EXIT, "app", 42, 0, 12, 0}, "app.42.0012.heap"},
    {{VT_NAMES_VITRINE, VT_PROCESS_EXECED, VT_DUMP_EXIT, "app", 42, 0, 123, 0}, "app.42.0123.heap"},
    {{VT_NAMES_VITRINE, VT_PROCESS_FIRST, VT_DUMP_ASKED, "/a b/%x.d/p", 42, 0, 1, 0},
     "/a b/%x.d/p.0001.heap"},
    {{VT_NAMES_VITRINE, VT_PROCESS_FIRST, VT_DUMP_EXIT, "d/%p.a", 42, 0, 1, 0}, "d/42.a.0001.heap"},
    {{VT_NAMES_VITRINE, VT_PROCESS_FORKED, VT_DUMP_EXIT, "a.%p", 42, 0, 1, 0}, "a.42.0001.heap"},
    {{VT_NAMES_VITRINE, VT_PROCESS_FORKED, VT_DUMP_EXIT, "a%%p%", 42, 0, 1, 0},
     "a%p%.42.0001.heap"},
    {{VT_NAMES_VITRINE, VT_PROCESS_FIRST, VT_DUMP_PEAK, "app", 42, 0, 1, 0}, "app.peak.heap"},
    {{VT_NAMES_VITRINE, VT_PROCESS_FORKED, VT_DUMP_PEAK, "app", 42, 0, 1, 0}, "app.42.peak.heap"},
    {{VT_NAMES_GPERFTOOLS, VT_PROCESS_FORKED, VT_DUMP_EXIT, "hp%p", 42, 0, 1, 0},
     "hp%p_42.0001.heap"},
    {{VT_NAMES_GPERFTOOLS, VT_PROCESS_FIRST, VT_DUMP_SIGNAL, "hp", 42, 0, 1, 0}, "hp.0001.heap"},
    {{VT_NAMES_GPERFTOOLS, VT_PROCESS_EXECED, VT_DUMP_EXIT, "hp", 42, 0, 1, 0}, "hp_42.0001.heap"},
    {{VT_NAMES_GPERFTOOLS, VT_PROCESS_FORKED, VT_DUMP_EXIT, "hp", 42, 0, 1, 0}, "hp_42.0001.heap"},
    {{VT_NAMES_JEMALLOC, VT_PROCESS_FIRST, VT_DUMP_EXIT, "jeprof", 5517, 0, 0, 0},
     "jeprof.5517.0.f.heap"},
    {{VT_NAMES_JEMALLOC, VT_PROCESS_FIRST, VT_DUMP_BYTES, "jeprof", 12355, 0, 5, 5},
     "jeprof.12355.5.i5.heap"},
    {{VT_NAMES_JEMALLOC, VT_PROCESS_FIRST, VT_DUMP_TIME, "jeprof", 12355, 0, 5, 4},
     "jeprof.12355.5.i4.heap"},
    {{VT_NAMES_JEMALLOC, VT_PROCESS_FIRST, VT_DUMP_HIGH, "jeprof", 12727, 0, 141, 141},
     "jeprof.12727.141.u141.heap"},
    {{VT_NAMES_JEMALLOC, VT_PROCESS_FIRST, VT_DUMP_ASKED, "jeprof.out", 12729, 0, 1, 1},
     "jeprof.out.12729.1.m1.heap"},
    {{VT_NAMES_JEMALLOC, VT_PROCESS_FORKED, VT_DUMP_SIGNAL, "j", 7, 0, 3, 2}, "j.7.3.m2.heap"},
    {{VT_NAMES_JEMALLOC, VT_PROCESS_FIRST, VT_DUMP_EXIT, "jeprof", 13695, 4026531836, 0, 0},
     "jeprof.4026531836.13695.0.f.heap"},
    {{VT_NAMES_VITRINE, VT_PROCESS_FIRST, VT_DUMP_EXIT, "x", INT32_MAX, 0, UINT64_MAX, 0},
     "x.18446744073709551615.heap"},
};
/* clang-format on */

TEST(names, each_style_process_and_reason) {
    for (size_t i = 0; i < vt_countof(rows); i++) {
        char buf[128];
        assert_int_equal(vt__dump_name(buf, sizeof(buf), &rows[i].name), 0);
        assert_string_equal(buf, rows[i].expected);
    }
}

TEST(names, a_name_is_whole_or_empty) {
    for (size_t i = 0; i < vt_countof(rows); i++)
        for (size_t n = 0; n <= strlen(rows[i].expected) + 1; n++) {
            char buf[128];
            memset(buf, 'z', sizeof(buf));
            int err = vt__dump_name(buf, n, &rows[i].name);
            assert_int_equal(err, n > strlen(rows[i].expected) ? 0 : -ENAMETOOLONG);
            if (n > 0) assert_string_equal(buf, err == 0 ? rows[i].expected : "");
            assert_int_equal(buf[n], 'z');
        }
}

UNIT_MAIN()
