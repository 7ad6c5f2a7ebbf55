/* test_options.c - the option parser, row by row: what is understood, what is refused, and what it says then. */
#include "unit.h"

#include "conf/options.c"

extern char **environ;

/* Reads the options from an environment of one variable; gives what came on stderr. */
static const char *read_from(const char *variable) {
    static char said[8192];
    char *one[] = {(char *)(uintptr_t)variable, NULL};
    char **before = environ;
    int old = dup(2);
    int file = memfd_create("stderr", 0);
    assert_true(old >= 0 && file >= 0);
    for (int i = 0; i < VT_OPT_COUNT; i++) vt__option_values[i] = vt__option_rows[i].dflt;
    dup2(file, 2);
    environ = one;
    vt__options_read();
    environ = before;
    dup2(old, 2);
    ssize_t n = pread(file, said, sizeof(said) - 1, 0);
    said[n > 0 ? n : 0] = '\0';
    close(old);
    close(file);
    return said;
}

static unsigned lines_in(const char *text) {
    unsigned n = 0;
    for (; *text != '\0'; text++) n += *text == '\n';
    return n;
}

/* Every option but `except` (-1: none) has its default. */
static void others_are_default(int except, const char *variable) {
    for (int i = 0; i < VT_OPT_COUNT; i++)
        if (i != except && vt__option_values[i] != vt__option_rows[i].dflt)
            fail_msg("'%s': expected '%s' at its default %llu, seen %llu", variable,
                     vt__option_rows[i].name, (unsigned long long)vt__option_rows[i].dflt,
                     (unsigned long long)vt__option_values[i]);
}

struct good_row {
    const char *variable;
    enum vt_option option;
    uint64_t value;
};

TEST(options, good_values_are_taken_and_change_nothing_else) {
    static const struct good_row rows[] = {
        {"VITRINE=limit=0", VT_OPT_limit, 0},
        {"VITRINE=limit=1", VT_OPT_limit, 1},
        {"VITRINE=limit=4096", VT_OPT_limit, 4096},
        {"VITRINE=limit=4k", VT_OPT_limit, KiB(4)},
        {"VITRINE=limit=4K", VT_OPT_limit, KiB(4)},
        {"VITRINE=limit=4KB", VT_OPT_limit, KiB(4)},
        {"VITRINE=limit=4kib", VT_OPT_limit, KiB(4)},
        {"VITRINE=limit=7M", VT_OPT_limit, MiB(7)},
        {"VITRINE=limit=7MiB", VT_OPT_limit, MiB(7)},
        {"VITRINE=limit=3g", VT_OPT_limit, GiB(3)},
        {"VITRINE=limit=2T", VT_OPT_limit, TiB(2)},
        {"VITRINE=limit=128T", VT_OPT_limit, TiB(128)},
        {"VITRINE=limit=140737488355328", VT_OPT_limit, TiB(128)},
        {"VITRINE=LIMIT=5", VT_OPT_limit, 5},
        {"VITRINE=limit=0005", VT_OPT_limit, 5},
        {"VITRINE_LIMIT=6M", VT_OPT_limit, MiB(6)},
        {"VITRINE_limit=6M", VT_OPT_limit, MiB(6)},
        {"VITRINE_RETAIN=0", VT_OPT_retain, 0},
        {"VITRINE=purge_delay=0", VT_OPT_purge_delay, 0},
        {"VITRINE=purge_delay=250", VT_OPT_purge_delay, 250},
        {"VITRINE=purge_delay=3600000", VT_OPT_purge_delay, 3600000},
        {"VITRINE=numa_nodes=8", VT_OPT_numa_nodes, 8},
        {"VITRINE=stats", VT_OPT_stats, 1},
        {"VITRINE=stats=on", VT_OPT_stats, 1},
        {"VITRINE=stats=1", VT_OPT_stats, 1},
        {"VITRINE=stats=yes", VT_OPT_stats, 1},
        {"VITRINE=stats=TRUE", VT_OPT_stats, 1},
        {"VITRINE=stats=off", VT_OPT_stats, 0},
        {"VITRINE=thp=on", VT_OPT_thp, VT_ON},
        {"VITRINE=thp=off", VT_OPT_thp, VT_OFF},
        {"VITRINE=thp=auto", VT_OPT_thp, VT_AUTO},
        {"VITRINE_PURGE_THREAD=no", VT_OPT_purge_thread, VT_OFF},
        {"VITRINE=,,stats,,", VT_OPT_stats, 1},
        {"VITRINE=stats=on,stats=off", VT_OPT_stats, 0}, /* the last one counts */
    };
    for (size_t i = 0; i < vt_countof(rows); i++) {
        const char *said = read_from(rows[i].variable);
        if (*said != '\0') fail_msg("'%s': expected no warning, seen '%s'", rows[i].variable, said);
        if (vt__option_values[rows[i].option] != rows[i].value)
            fail_msg("'%s': expected %llu, seen %llu", rows[i].variable,
                     (unsigned long long)rows[i].value,
                     (unsigned long long)vt__option_values[rows[i].option]);
        others_are_default(rows[i].option, rows[i].variable);
    }
}

TEST(options, several_in_one_list_are_all_taken) {
    assert_string_equal(read_from("VITRINE=limit=1G,stats,thp=off,purge_delay=5"), "");
    assert_int_equal(vt_opt(limit), GiB(1));
    assert_int_equal(vt_opt(stats), 1);
    assert_int_equal(vt_opt(thp), VT_OFF);
    assert_int_equal(vt_opt(purge_delay), 5);
}

struct bad_row {
    const char *variable;
    const char *words; /* in the warning; NULL: none is given */
};

TEST(options, bad_values_change_nothing_and_give_one_line) {
    static const struct bad_row rows[] = {
        {"VITRINE=limit=", "cannot use '' for option 'limit'"},
        {"VITRINE=limit", "cannot use 'on' for option 'limit'"},
        {"VITRINE=limit=-1", "cannot use '-1'"},
        {"VITRINE=limit=+1", "cannot use '+1'"},
        {"VITRINE=limit= 1", "cannot use ' 1'"},
        {"VITRINE=limit=1 ", "cannot use '1 '"},
        {"VITRINE=limit=1.5M", "cannot use '1.5M'"},
        {"VITRINE=limit=0x10", "cannot use '0x10'"},
        {"VITRINE=limit=M", "cannot use 'M'"},
        {"VITRINE=limit=1P", "cannot use '1P'"},
        {"VITRINE=limit=1MM", "cannot use '1MM'"},
        {"VITRINE=limit=1Mb5", "cannot use '1Mb5'"},
        {"VITRINE=limit=1B", "cannot use '1B'"},
        {"VITRINE=limit=129T", "from 0 to 140737488355328"},
        {"VITRINE=limit=99999999999999999999", "cannot use '99999999999999999999'"},
        {"VITRINE=limit=18446744073709551616", "cannot use '18446744073709551616'"},
        {"VITRINE=limit=18446744073709551615T", "cannot use '18446744073709551615T'"},
        {"VITRINE=limit=16777216T", "cannot use '16777216T'"}, /* 2^64: would be 0 if it wrapped */
        {"VITRINE=purge_delay=1s", "milliseconds"},
        {"VITRINE=purge_delay=3600001", "milliseconds"},
        {"VITRINE=purge_delay=1k", "milliseconds"}, /* a suffix of bytes means nothing in time */
        {"VITRINE=numa_nodes=9", "from 0 to 8"},
        {"VITRINE=stats=2", "on or off"},
        {"VITRINE=stats=", "on or off"},
        {"VITRINE=stats=auto", "on or off"},
        {"VITRINE=thp=always", "on, off or auto"},
        {"VITRINE_LIMIT=lots", "cannot use 'lots' for option 'limit'"},
        {"VITRINE_LIMIT=1,stats", "cannot use '1,stats'"}, /* a variable of its own is no list */
    };
    for (size_t i = 0; i < vt_countof(rows); i++) {
        const char *said = read_from(rows[i].variable);
        if (strstr(said, rows[i].words) == NULL)
            fail_msg("'%s': expected a warning with '%s', seen '%s'", rows[i].variable,
                     rows[i].words, said);
        assert_int_equal(lines_in(said), 1);
        assert_true(vt__str_starts(said, "vitrine: warning: "));
        others_are_default(-1, rows[i].variable);
    }
}

TEST(options, unknown_names_give_one_line_with_the_nearest_name) {
    static const struct bad_row rows[] = {
        {"VITRINE=stat", "unknown option 'stat' in VITRINE; did you mean 'stats'?"},
        {"VITRINE=statts=on", "unknown option 'statts' in VITRINE; did you mean 'stats'?"},
        {"VITRINE=limmit=1G", "did you mean 'limit'?"},
        {"VITRINE=soft-limit=1G", "did you mean 'soft_limit'?"},
        {"VITRINE=purge_dealy=1", "did you mean 'purge_delay'?"},
        {"VITRINE=Purge_Thred", "did you mean 'purge_thread'?"},
        {"VITRINE=rettain=1", "did you mean 'retain'?"},
        {"VITRINE_LIMT=1G",
         "unknown option 'LIMT' in the environment (VITRINE_...); did you mean 'limit'?"},
        {"VITRINE_PURGEDELAY=1", "did you mean 'purge_delay'?"},
    };
    for (size_t i = 0; i < vt_countof(rows); i++) {
        const char *said = read_from(rows[i].variable);
        if (strstr(said, rows[i].words) == NULL)
            fail_msg("'%s': expected a warning with '%s', seen '%s'", rows[i].variable,
                     rows[i].words, said);
        assert_int_equal(lines_in(said), 1);
        others_are_default(-1, rows[i].variable);
    }
}

TEST(options, odd_names_are_told_on_one_line_and_not_at_length) {
    const char *said = read_from("VITRINE=st\nat\x7fs=1");
    assert_non_null(strstr(said, "unknown option 'st\\x0aat\\x7fs' in VITRINE"));
    assert_int_equal(lines_in(said), 1);
    char variable[600] = "VITRINE=";
    memset(variable + 8, 'a', 500);
    said = read_from(variable);
    assert_int_equal(lines_in(said), 1);
    assert_true(strlen(said) < 150);
}

TEST(options, names_far_from_all_of_ours_are_told_without_a_guess) {
    static const char *const rows[] = {"VITRINE=sample_rate_of_my_profiler=1", "VITRINE=xyzzy",
                                       "VITRINE=a", "VITRINE=log=1"};
    for (size_t i = 0; i < vt_countof(rows); i++) {
        const char *said = read_from(rows[i]);
        if (strstr(said, "unknown option '") == NULL || strstr(said, "did you mean") != NULL)
            fail_msg("'%s': expected 'unknown option' and no guess, seen '%s'", rows[i], said);
        assert_int_equal(lines_in(said), 1);
    }
}

TEST(options, variables_that_may_be_anybodys_are_left_alone) {
    static const char *const rows[] = {"VITRINE_HOME=/opt",  "VITRINE_PROFILE_DIRECTORY=/tmp",
                                       "VITRINE_",           "VITRINE_=1",
                                       "VITRINE_LIMIT", /* no value: not a variable */
                                       "VITRINES=stats",     "XVITRINE=stats",
                                       "VITRINE_FAIL_NTH=0", "VITRINE_FAIL_ALWAYS=",
                                       "VITRINE_LOG=/tmp/x", "VITRINE_DIR=x",
                                       "VITRINE_X=1"};
    for (size_t i = 0; i < vt_countof(rows); i++) {
        const char *said = read_from(rows[i]);
        if (*said != '\0') fail_msg("'%s': expected silence, seen '%s'", rows[i], said);
        others_are_default(-1, rows[i]);
    }
}

TEST(options, each_mistake_in_a_list_has_its_own_line_and_the_rest_is_taken) {
    const char *said = read_from("VITRINE=limmit=1,stats,thp=2,retain=5M,purge_delay=x");
    assert_int_equal(lines_in(said), 3);
    assert_int_equal(vt_opt(stats), 1);
    assert_int_equal(vt_opt(retain), MiB(5));
    assert_int_equal(vt_opt(thp), vt__option_rows[VT_OPT_thp].dflt);
}

TEST(options, a_warning_is_one_line_even_when_its_subject_is_not) {
    static const char *const rows[] = {"VITRINE=limit=1\n2", "VITRINE=li\nmits=1",
                                       "VITRINE=stats=\x1b[31m", "VITRINE_LIMIT=\t\r\n"};
    for (size_t i = 0; i < vt_countof(rows); i++) {
        const char *said = read_from(rows[i]);
        assert_int_equal(lines_in(said), 1);
        for (const char *s = said; s[0] != '\0' && s[1] != '\0'; s++)
            if ((unsigned char)*s < 32)
                fail_msg("expected printable text, seen byte %d in '%s'", *s, said);
    }
}

TEST(options, very_long_names_and_values_are_cut_in_the_warning) {
    static char text[70000];
    for (size_t n = 50; n < sizeof(text) - 1; n = n * 3 / 2) {
        memset(text, 'q', sizeof(text));
        memcpy(text, "VITRINE=", 8);
        text[n] = '\0';
        const char *said = read_from(text);
        assert_int_equal(lines_in(said), 1);
        assert_true(strlen(said) < 512);
        memcpy(text, "VITRINE=limit=", 14);
        said = read_from(text);
        assert_int_equal(lines_in(said), 1);
        assert_true(strlen(said) < 512);
    }
}

TEST(options, nothing_is_read_behind_the_end_of_a_variable) {
    static const char *const rows[] = {"VITRINE=",
                                       "VITRINE=l",
                                       "VITRINE=limit",
                                       "VITRINE=limit=",
                                       "VITRINE=limit=1",
                                       "VITRINE=limit=1M",
                                       "VITRINE=limit=1Mi",
                                       "VITRINE=stats,",
                                       "VITRINE=stat",
                                       "VITRINE_LIMIT=",
                                       "VITRINE_LIMIT=1M",
                                       "VITRINE_",
                                       "V",
                                       "VITRINE_LIMI",
                                       ""};
    char *area =
        mmap(NULL, 2 * VT_OS_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(mprotect(area + VT_OS_PAGE, VT_OS_PAGE, PROT_NONE), 0);
    for (size_t i = 0; i < vt_countof(rows); i++) {
        size_t n = strlen(rows[i]) + 1;
        char *at = area + VT_OS_PAGE - n; /* the NUL is the last byte before the guard page */
        memcpy(at, rows[i], n);
        read_from(at);
    }
}

TEST(options, help_names_every_option_with_its_default) {
    static char buf[8192];
    struct vt_text t = {buf, sizeof(buf) - 1, 0, false, NULL, NULL};
    vt__options_help(&t);
    assert_false(t.is_cut);
    assert_int_equal(lines_in(buf), 1 + VT_OPT_COUNT);
    for (int i = 0; i < VT_OPT_COUNT; i++) {
        const char *at = strstr(buf, vt__option_rows[i].help);
        if (at == NULL) fail_msg("expected the help of '%s', seen none", vt__option_rows[i].name);
        assert_non_null(strstr(at, "(default "));
    }
}

TEST(options, every_row_is_in_order) {
    for (int i = 0; i < VT_OPT_COUNT; i++) {
        const struct vt_option_row *r = &vt__option_rows[i];
        assert_true_msg(r->low <= r->high && r->dflt >= r->low && r->dflt <= r->high,
                        "'%s': default %llu outside %llu..%llu", r->name,
                        (unsigned long long)r->dflt, (unsigned long long)r->low,
                        (unsigned long long)r->high);
        assert_true(vt__str_len(r->name) < NAME_MAX_BYTES);
        for (const char *s = r->name; *s != '\0'; s++)
            assert_true(*s == '_' || (*s >= 'a' && *s <= 'z'));
        for (int j = 0; j < i; j++) assert_false(vt__str_equal(r->name, vt__option_rows[j].name));
    }
}

UNIT_MAIN()
