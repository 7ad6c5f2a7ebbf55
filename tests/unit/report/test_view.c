/* test_view.c - flat and cum, filters, granularity, differences, the allocator's own frames; tables. */
#include "unit.h"

#include <math.h>

#include "report/read.h"
#include "report/views.h"

static struct profile *read_text(const char *text) {
    struct profile *p;
    struct report_error e = {.line = ""};
    if (report_read_bytes("f", text, strlen(text), NULL, &p, &e) != 0) fail_msg("%s", e.line);
    return p;
}

static struct view *view_of(struct profile *p, struct view_options o) {
    struct report_error e = {.line = ""};
    o.type = PROFILE_NONE;
    struct view *v = view_new(p, &o, &e);
    if (v == NULL) fail_msg("%s", e.line);
    return v;
}
#define VIEW(p, ...) view_of(p, (struct view_options){.type = 0, __VA_ARGS__})

/* flat and cum of a node; NAN when there is none of that name */
static struct view_node node(const struct view *v, const char *name) {
    for (uint32_t i = 0; i < v->n_nodes; i++)
        if (strcmp(view_name(v, i), name) == 0) return v->nodes[i];
    return (struct view_node){.flat = NAN, .cum = NAN};
}
static void assert_node(const struct view *v, const char *name, double flat, double cum) {
    struct view_node n = node(v, name);
    if (n.flat != flat || n.cum != cum)
        fail_msg("%s: expected flat %g cum %g, seen flat %g cum %g", name, flat, cum, n.flat,
                 n.cum);
}

static char *printed(void (*print)(const struct view *, const struct view_print *),
                     const struct view *v, enum table_form form) {
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    struct view_print how = {.out = out, .form = form};
    print(v, &how);
    (void)fclose(out);
    return text;
}

static const char stacks[] = "main;a;b 10\nmain;a 5\nmain;r;r;r 7\nmain;x<int>(char);b 100\n";

TEST(view, a_function_counts_once_per_stack) {
    struct profile *p = read_text(stacks);
    struct view *v = VIEW(p, .by = VIEW_FUNCTIONS);
    assert_node(v, "main", 0, 122);
    assert_node(v, "a", 5, 15);
    assert_node(v, "b", 110, 110);
    assert_node(v, "r", 7, 7);
    assert_node(v, "x", 0, 100);
    assert_string_equal(view_name(v, v->order[0]), "b");
    assert_true(v->total == 122 && v->shown == 122);
    view_free(v);
    profile_free(p);
}

TEST(view, focus_and_ignore_keep_and_drop_stacks_show_and_hide_frames) {
    struct profile *p = read_text(stacks);
    struct view *v = VIEW(p, .focus = "^a$|^r$");
    assert_true(v->shown == 22 && v->total == 122);
    assert_node(v, "b", 10, 10);
    view_free(v);
    v = VIEW(p, .ignore = "x<int>"); /* the full name */
    assert_true(v->shown == 22);
    view_free(v);
    v = VIEW(p, .hide = "^b$");
    assert_node(v, "a", 15, 15);
    assert_node(v, "x", 100, 100);
    view_free(v);
    v = VIEW(p, .show = "^main$");
    assert_node(v, "main", 122, 122);
    assert_node(v, "a", 0, 0);
    view_free(v);
    profile_free(p);
}

TEST(view, a_bad_regexp_is_named_with_its_place) {
    struct profile *p = read_text(stacks);
    struct report_error e;
    struct view_options o = {.type = PROFILE_NONE, .focus = "a(b"};
    assert_null(view_new(p, &o, &e));
    assert_non_null(
        strstr(e.line, "--focus: bad regexp 'a(b' at character 4: missing closing parenthesis"));
    profile_free(p);
}

TEST(view, a_regexp_that_never_ends_is_given_up) {
    char name[4000];
    memset(name, 'a', sizeof name);
    memcpy(name + sizeof name - 4, "! 1", 4);
    struct profile *p = read_text(name);
    struct report_error e = {.line = ""};
    struct view_options o = {.type = PROFILE_NONE, .focus = "^(a+)+$"};
    assert_null(view_new(p, &o, &e));
    assert_non_null(strstr(e.line, "--focus: the regexp takes too long"));
    profile_free(p);
}

static const char heap[] =
    "--- symbol\nbinary=/x\n0x10 malloc\n0x20 user\n0x30 main\n0x40 operator new(unsigned long)\n---\n"
    "--- heap\nheap profile: 3: 300 [3: 300] @ heapprofile\n"
    "1: 100 [1: 100] @ 0x10 0x20 0x30\n1: 100 [1: 100] @ 0x10 0x40 0x30\n1: 100 [1: 100] @ 0x10\n";

TEST(view, the_allocators_frames_are_cut_off_unless_there_is_nothing_else) {
    struct profile *p = read_text(heap);
    struct view *v = VIEW(p, .by = VIEW_FUNCTIONS);
    assert_node(v, "user", 100, 100);
    assert_node(v, "main", 100, 200);
    assert_node(v, "malloc", 100, 100); /* nobody is known to have called it */
    assert_node(v, "operator new", 0, 0);
    view_free(v);
    v = VIEW(p, .all_frames = true);
    assert_node(v, "malloc", 300, 300);
    view_free(v);
    profile_free(p);
}

TEST(view, frames_that_the_profile_wants_dropped_are_cut_off_with_what_they_call) {
    struct profile *p = read_text("main;user;lib_alloc;lib_step 8\nlib_start;main;lib_keep 4\n");
    p->drop_frames = profile_string(p, "lib_.*");
    p->keep_frames = profile_string(p, "lib_keep");
    struct view *v = VIEW(p, .by = VIEW_FUNCTIONS);
    assert_node(v, "user", 8, 8);
    assert_node(v, "lib_alloc", 0, 0);
    assert_node(v, "lib_keep", 4, 4);
    assert_node(v, "lib_start", 0, 4); /* nobody else is above it */
    view_free(v);
    v = VIEW(p, .all_frames = true);
    assert_node(v, "lib_step", 8, 8);
    view_free(v);
    profile_free(p);
}

TEST(view, a_difference_has_signs_and_percentages_of_all_changes) {
    struct profile *p = read_text("main;a 10\nmain;b 5\n"),
                   *base = read_text("main;a 4\nmain;b 9\nmain;c 5\n");
    assert_int_equal(profile_merge(p, base, -1), 0);
    struct view *v = VIEW(p, .by = VIEW_FUNCTIONS);
    assert_node(v, "a", 6, 6);
    assert_node(v, "b", -4, -4);
    assert_node(v, "c", -5, -5);
    assert_true(v->total == -3);
    assert_true(v->weight == 15);
    view_free(v);
    v = VIEW(p, .drops_negative = true);
    assert_true(v->shown == 6);
    view_free(v);
    profile_free(p);
    profile_free(base);
}

TEST(view, an_unknown_place_is_binary_and_offset) {
    struct profile *p =
        read_text("heap profile: 2: 200 [2: 200] @ heapprofile\n"
                  "1: 100 [1: 100] @ 0x400011\n1: 100 [1: 100] @ 0x99999\nMAPPED_LIBRARIES:\n"
                  "00400000-00500000 r-xp 00002000 08:01 77 /opt/x/app\n");
    struct view *v = VIEW(p, .by = VIEW_FUNCTIONS);
    assert_node(v, "app+0x2010", 100, 100);
    assert_node(v, "0x99998", 100, 100);
    view_free(v);
    profile_free(p);
}

TEST(view, collapsed_reads_back_as_what_it_was) {
    struct profile *p = read_text(stacks);
    struct view *v = VIEW(p, .full_names = true);
    char *text = printed(view_collapsed, v, TABLE_AS_TEXT);
    assert_string_equal(text, "main;x<int>(char);b 100\nmain;a;b 10\nmain;r;r;r 7\nmain;a 5\n");
    free(text);
    view_free(v);
    profile_free(p);
}

/* Found by the fuzzer: what has no frames at all is not looked for behind a null pointer (clang's sanitizer tells). */
TEST(view, a_profile_whose_only_stack_has_no_frames_is_shown) {
    struct profile *p =
        read_text("heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @\n");
    struct view *v = VIEW(p, .full_names = true);
    void (*const prints[])(const struct view *, const struct view_print *) = {
        view_top, view_tree, view_sites, view_collapsed, view_traces};
    for (size_t i = 0; i < sizeof prints / sizeof *prints; i++)
        free(printed(prints[i], v, TABLE_AS_TEXT));
    view_free(v);
    profile_free(p);
}

TEST(view, top_is_the_same_table_in_three_forms) {
    struct profile *p = read_text("main;say \"hi\",now 30\nmain 10\n");
    struct view *v = VIEW(p, .full_names = true);
    char *text = printed(view_top, v, TABLE_AS_TEXT);
    assert_string_equal(text, "      flat   flat%    sum%        cum    cum% name\n"
                              "        30  75.00%  75.00%         30  75.00% say \"hi\",now\n"
                              "        10  25.00% 100.00%         40 100.00% main\n");
    free(text);
    text = printed(view_top, v, TABLE_AS_CSV);
    assert_string_equal(text,
                        "flat,flat%,sum%,cum,cum%,name\n30,75,75,30,75,\"say \"\"hi\"\",now\"\n"
                        "10,25,100,40,100,main\n");
    free(text);
    text = printed(view_top, v, TABLE_AS_JSON);
    assert_string_equal(
        text,
        "{\"type\":\"samples\",\"unit\":\"count\",\"total\":40,\"rows\":[\n"
        "{\"flat\":30,\"flat%\":75,\"sum%\":75,\"cum\":30,\"cum%\":75,\"name\":\"say \\\"hi\\\",now\"},\n"
        "{\"flat\":10,\"flat%\":25,\"sum%\":100,\"cum\":40,\"cum%\":100,\"name\":\"main\"}\n]}\n");
    free(text);
    view_free(v);
    profile_free(p);
}

TEST(view, peek_has_callers_and_callees) {
    struct profile *p = read_text(stacks);
    struct view *v = VIEW(p, .by = VIEW_FUNCTIONS);
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    struct view_print how = {.out = out, .form = TABLE_AS_CSV, .pattern = "^b$"};
    struct report_error e;
    assert_int_equal(view_peek(v, &how, &e), 0);
    (void)fclose(out);
    assert_string_equal(text, "function,relation,flat,cum,cum%,name\nb,caller,0,100,90.9091,x\n"
                              "b,caller,0,10,9.0909,a\nb,self,110,110,90.1639,b\n");
    free(text);
    view_free(v);
    profile_free(p);
}

/* A view as text of the form, with --all-frames or without. */
static char *folded(const char *profile,
                    void (*print)(const struct view *, const struct view_print *),
                    bool all_frames) {
    struct profile *p = read_text(profile);
    struct view *v = VIEW(p, .all_frames = all_frames);
    char *text = printed(print, v, TABLE_AS_CSV);
    view_free(v);
    profile_free(p);
    return text;
}

#define TEN "xxxxxxxxxx"
#define LONG TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

TEST(fold, sites_that_read_the_same_are_one) {
    char *seen =
        folded("main;a;" LONG "1;f 5\nmain;b;" LONG "2;f 6\nc;f;f 8\nc;f 4\n", view_sites, false);
    assert_string_equal(seen, "value,value%,site\n12,52.1739,f x1-2 < c\n11,47.8261,f\n");
    free(seen);
}

TEST(fold, a_site_shows_the_callers_of_libraries_and_recursion_once) {
    const struct {
        const char *stack, *site, *all;
    } rows[] = {
        {"main;parse;std::vector<int>::push_back(int);void std::vector<int>::_M_realloc_insert<int>(int);"
         "__gnu_cxx::new_allocator<int>::allocate(long) 5",
         "std::vector growth < parse < main", NULL},
        {"_start;__libc_start_main;main;f 5", "f < main", "f < main < __libc_start_main < _start"},
        {"clone3;start_thread;std::thread::run();worker;std::sort;std::swap 5",
         "std::sort < worker", NULL},
        {"clone3;start_thread;void std::thread::_Invoker<std::tuple<void (*)()> >::_M_invoke<0ul>(std::_Index_tuple<0ul>);worker 5",
         "worker", NULL},
        /* never cut before the program's own frame, however much is before it */
        {"main;mine;std::a;std::b;std::c;std::d;std::e;std::f 5", "std::a < mine < main", NULL},
        /* nothing of the program's own: as it is */
        {"_start;std::a;std::b 5", "std::b < std::a < _start", NULL},
        {"main;r;r;r;r 5", "r x4 < main", "r < r < r < r"},
        {"main;a;b;a;b;a;b;leaf 5", "leaf < (b < a) x3 < main", NULL},
        {"main;r;r 5\nmain;r;r;r 6\nmain;r;r;r;r 7", "r x2-4 < main", NULL},
        {"main;standing 5", "standing < main", "standing < main"},
        /* a thread, and a task, whose wrappers are the library's too */
        {"clone3;start_thread;std::thread::run();work;std::sort 5\n"
         "clone3;start_thread;std::thread::run();void std::call_once<void (*)()>(void (*)());__gthread_once;std::invoke;work;std::sort 6",
         "std::sort < work", NULL},
        /* a program without names: what calls __libc_start_main is _start */
        {"app+0x24c0;__libc_start_main_impl;__libc_start_call_main;app+0x23cd;app+0x24cd 5",
         "app+0x24cd < app+0x23cd", NULL},
        {"app+0x24c0;__libc_start_main_impl;std::a 5",
         "std::a < __libc_start_main_impl < app+0x24c0", NULL},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *seen = folded(rows[i].stack, view_sites, false),
             *all = folded(rows[i].stack, view_sites, true);
        const char *expected[] = {rows[i].site, rows[i].all}, *texts[] = {seen, all};
        for (unsigned k = 0; k < 2; k++) {
            char line[300];
            (void)snprintf(line, sizeof line, ",100,%s\n", expected[k]);
            if (expected[k] && strstr(texts[k], line) == NULL)
                fail_msg("row %u: expected '%s', seen '%s'", i, line, texts[k]);
        }
        free(seen);
        free(all);
    }
}

TEST(fold, thousands_of_stacks_are_shown_by_the_function_that_decides) {
    char *profile = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&profile, &n);
    for (unsigned i = 0; i < 2000; i++)
        (void)fprintf(out, "main;f%u;%s;std::string::append 1\n", i, i % 4 ? "build" : "parse");
    (void)fclose(out);
    char *seen = folded(profile, view_sites, false);
    assert_string_equal(
        seen, "value,value%,site\n1500,75,\"build, 1500 stacks\"\n500,25,\"parse, 500 stacks\"\n");
    free(seen);
    free(profile);
}

TEST(view, tree_is_from_the_root_on) {
    static const char profile[] =
        "_start;main;r;r;r;leaf 30\nmain;r 10\nmain;other 5\nthread;leaf 2\n";
    char *text = folded(profile, view_tree, false);
    assert_string_equal(text, "depth,times,cum,cum%,flat,name\n1,1,45,95.7447,0,main\n"
                              "2,3,40,85.1064,10,r\n3,1,30,63.8298,30,leaf\n2,1,5,10.6383,5,other\n"
                              "1,1,2,4.2553,0,thread\n2,1,2,4.2553,2,leaf\n");
    free(text);
    struct profile *p = read_text(profile);
    struct view *v = VIEW(p, .by = VIEW_FUNCTIONS);
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    view_tree(v, &(struct view_print){.out = out, .n_max = 2});
    (void)fclose(out);
    assert_string_equal(
        text, "       cum     cum%       flat  call\n        45   95.74%          0  main\n"
              "        40   85.11%         10    r x3\n"
              "4 smaller calls are not shown; --count=N shows N\n");
    free(text);
    view_free(v);
    profile_free(p);
}

TEST(write, a_pprof_file_and_a_container_read_back_as_what_they_were) {
    for (unsigned i = 0; i < 2; i++) {
        struct profile *p = read_text(heap), *again;
        struct report_error e = {.line = ""};
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        if (i == 0)
            assert_int_equal(profile_write_proto(p, out), 0);
        else
            profile_write_symbolized(p, out, "/x");
        (void)fclose(out);
        if (report_read_bytes("f", text, n, NULL, &again, &e) != 0) fail_msg("%s", e.line);
        assert_int_equal(again->kind, PROFILE_HEAP);
        assert_int_equal(again->n_samples, 3);
        struct view *v = VIEW(again, .by = VIEW_FUNCTIONS);
        assert_node(v, "user", 100, 100);
        assert_node(v, "main", 100, 200);
        view_free(v);
        profile_free(p);
        profile_free(again);
        free(text);
    }
}

TEST(write, a_stack_whose_first_address_is_not_known_does_not_end_the_file) {
    struct profile *p = read_text(stacks); /* names alone */
    char *text = NULL;
    size_t n = 0;
    unsigned n_stacks = 0;
    FILE *out = open_memstream(&text, &n);
    profile_write_symbolized(p, out, "/x");
    (void)fclose(out);
    const char *marker = "--- profile\n", *at = memmem(text, n, marker, strlen(marker));
    assert_non_null(at);
    at += strlen(marker) + 5 * sizeof(uint64_t);
    for (uint64_t row[3]; memcpy(row, at, sizeof row), row[0] != 0; n_stacks++) {
        assert_int_not_equal(row[2], 0);
        at += (2 + row[1]) * sizeof(uint64_t);
    }
    assert_int_equal(n_stacks, p->n_samples);
    free(text);
    profile_free(p);
}

TEST(table, units_fit_the_largest_number_or_each) {
    const struct {
        const char *unit;
        double largest, number; /* largest 0: each has its own */
        const char *expected;
    } rows[] = {
        {"bytes", 5e6, 1048576, "1.00MB"},
        {"bytes", 500, 24, "24B"},
        {"bytes", 3e12, 1099511627776, "1.00TB"},
        {"nanoseconds", 3e9, 1e7, "0.01s"},
        {"count", 5e9, 17, "17"},
        {"bytes", 5e6, 0, "0"},
        {"bytes", 5e6, -1, "0.00MB"},
        {"nanoseconds", 20, 5, "5ns"},
        {"bytes", 0, 32715571, "31.2MB"},
        {"bytes", 0, 839680, "820kB"},
        {"bytes", 0, -839680, "-820kB"},
        {"bytes", 0, 1, "1B"},
        {"bytes", 0, 0.4, "0"},
        {"bytes", 0, 1023, "1023B"},
        {"bytes", 0, 1024, "1.00kB"},
        {"bytes", 0, 1048575, "1.00MB"},
        {"bytes", 0, 10235, "10.0kB"},
        {"bytes", 0, 102349, "100kB"},
        {"bytes", 0, 1e15, "909TB"},
        {"nanoseconds", 0, 999600, "1.00ms"},
        {"nanoseconds", 0, 999400, "999us"},
        {"nanoseconds", 0, 9.5e12, "9500s"},
        {"count", 0, 1234567, "1234567"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[64];
        struct table_unit u = rows[i].largest > 0 ? table_unit_for(rows[i].unit, rows[i].largest)
                                                  : table_unit_each(rows[i].unit);
        const char *seen = table_number(u, rows[i].number, out, sizeof out);
        if (strcmp(seen, rows[i].expected) != 0)
            fail_msg("row %u: expected %s, seen %s", i, rows[i].expected, seen);
    }
}

UNIT_MAIN()
