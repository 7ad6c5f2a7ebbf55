/* test_remote.c - which words are URLs, and what is asked of the server. tests/report/remote.py asks one. */
#include "unit.h"

#include "report/remote.h"
#include "report/read_symbols.h"

TEST(remote, only_hosts_are_urls) {
    const struct {
        const char *name;
        bool is_url;
    } rows[] = {
        {"localhost:9002", true},
        {"localhost:9002/", true},
        {"localhost:9002/pprof/heap", true},
        {"10.0.0.1:80/pprof/growth", true},
        {"[::1]:80/pprof/heap", true},
        {"http://host", true},
        {"https://host/x", true},
        {"host/pprof/heap", true},
        {"missing.heap", false},
        {"dir/missing.heap", false},
        {"./host:80", false},
        {"/abs:80/x", false},
        {"host:port", false},
        {"host:123456", false},
        {"a:", false},
        {":80", false},
        {"http://", false},
        {"", false},
        {"-", false},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (remote_is_url(rows[i].name) != rows[i].is_url)
            fail_msg("'%s': expected %d", rows[i].name, rows[i].is_url);
}

TEST(remote, parts_of_a_url) {
    const struct {
        const char *name, *url, *base, *service;
        unsigned n_seconds;
    } rows[] = {
        {"h:1", "http://h:1/pprof/profile?seconds=7", "http://h:1", "/pprof/profile", 7},
        {"h:1/", "http://h:1/pprof/profile?seconds=7", "http://h:1", "/pprof/profile", 7},
        {"h:1/pprof/heap", "http://h:1/pprof/heap", "http://h:1", "/pprof/heap", 0},
        {"https://h/a/pprof/growth", "https://h/a/pprof/growth", "https://h/a", "/pprof/growth", 0},
        {"h:1/pprof/profile?seconds=3", "http://h:1/pprof/profile?seconds=3", "http://h:1",
         "/pprof/profile", 3},
        {"h:1/pprof/pmuprofile?event=x", "http://h:1/pprof/pmuprofile?event=x&seconds=7",
         "http://h:1", "/pprof/pmuprofile", 7},
        {"h:1/pprof/contention?seconds=2", "http://h:1/pprof/contention?seconds=2", "http://h:1",
         "/pprof/contention", 0},
        {"h:1/debug/pprof/heap", "http://h:1/debug/pprof/heap", "http://h:1/debug", "/pprof/heap",
         0},
        {"h:1/files/x.pb.gz", "http://h:1/files/x.pb.gz", "", "", 0},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct remote r;
        struct report_error e;
        assert_int_equal(remote_parse(rows[i].name, 7, &r, &e), 0);
        assert_string_equal(r.url, rows[i].url);
        assert_string_equal(r.base, rows[i].base);
        assert_string_equal(r.service, rows[i].service);
        assert_int_equal(r.n_seconds, rows[i].n_seconds);
    }
}

TEST(remote, a_url_that_is_too_long_is_refused) {
    char name[5000] = "h:1/";
    struct remote r;
    struct report_error e = {.line = ""};
    memset(name + 4, 'x', sizeof name - 5);
    assert_true(remote_parse(name, 1, &r, &e) < 0);
    assert_non_null(strstr(e.line, "is no URL"));
}

/* What a server answers: by tab or blank, mangled or not, with inlined calls, echoed when unknown. */
TEST(remote, names_of_an_answer) {
    struct profile *p = profile_new();
    for (uint64_t a = 0x10; a <= 0x15; a++) (void)profile_add_location(p, PROFILE_NONE, a);
    static const char answer[] =
        "0x10\tmain\r\n0x0000000000000011 _ZN1a1bEv\n0x12 outer--inner\n0x13\t0x13\n0x14 ??\nnoise\n";
    symbol_lines_apply(p, answer, sizeof answer - 1);
    const char *expected[] = {"main", "a::b()", "inner", NULL, NULL, NULL};
    for (unsigned i = 0; i < 6; i++) {
        const struct profile_location *l = &p->locations[i];
        assert_int_equal(l->n_lines > 0, expected[i] != NULL);
        if (expected[i] == NULL) continue;
        uint32_t f = p->lines[l->first_line].function;
        assert_string_equal(profile_text(p, p->functions[f].name), expected[i]);
    }
    assert_int_equal(p->locations[2].n_lines, 2);
    profile_free(p);
}

UNIT_MAIN()
