/* report.c - any bytes as a profile: reading them ends in a valid profile or in one line, and what was read can be shown,
 * written, subtracted from itself and read again.
 *
 * libFuzzer calls LLVMFuzzerTestOneInput (report.sh, `make soak`); with VT_FUZZ_READER it stays with one of the readers.
 * What `make test` tries of the same is in tests/unit/report/test_read.c: each kind of file cut at every byte and with every
 * bit turned over.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/intake.h"
#include "report/read.h"
#include "report/read_symbols.h"
#include "report/reader.h"
#include "report/views.h"
#include "expect.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* The first byte chooses how it is shown. */
static void show(struct profile *p, unsigned choice, FILE *out) {
    struct report_error e = {.line = ""};
    struct view_options o = {.type = PROFILE_NONE,
                             .by = (enum view_by)(choice & 3),
                             .full_names = choice & 4,
                             .marks_inlined = choice & 8,
                             .no_inlines = choice & 16,
                             .show_from = choice & 64 ? "f" : NULL,
                             .tag_focus = choice & 128 ? "a=1:" : NULL};
    struct view *v = view_new(p, &o, &e);
    if (v == NULL) { /* drop_frames of the file may be a bad regexp */
        EXPECT(e.line[0] != '\0');
        return;
    }
    struct view_print how = {.out = out, .form = (enum table_form)(choice % 3)};
    struct view_dot_options dot = {
        .title = "t", .unit = {1, 0, "x", NULL}, .max_nodes = 80, .max_degree = 8};
    view_top(v, &how);
    view_traces(v, &how);
    view_collapsed(v, &how);
    view_tree(v, &how);
    view_sites(v, &how);
    EXPECT(view_peek(v, &how, &e) == 0);
    EXPECT(view_tags(v, &how, &e) == 0);
    (void)profile_write_top(v, out);
    view_flame(v, out, "t");
    view_flame_page(v, out, "t", NULL);
    static const char *const formats[] = {"svg", "pdf", "png", "gif"};
    if (view_dot(v, &dot, out)) view_graph(v, &dot, formats[choice >> 4 & 3], out);
    view_speedscope((const struct view *[]){v}, 1, 0, "t", out);
    view_firefox(v, "t", out);
    (void)view_trace(v, "t", out);
    view_free(v);
}

/* The views that want one of lines, or of addresses without inlined frames. No file is named that exists. */
static void show_code(struct profile *p, unsigned choice, FILE *out) {
    struct report_error e = {.line = ""};
    struct symbols_options none = {.program = NULL};
    struct view_options o = {.type = PROFILE_NONE, .by = VIEW_LINES, .full_names = choice & 4};
    struct view_list_options list = {.out = out,
                                     .form = (enum table_form)(choice % 3),
                                     .pattern = ".",
                                     .unit = {1, 0, "x", NULL},
                                     .unit_name = "x",
                                     .width = 8};
    struct view *v = view_new(p, &o, &e);
    if (v == NULL) return;
    view_callgrind(v, out);
    (void)view_list(v, &list, &e);
    view_free(v);
    o.by = VIEW_ADDRESSES;
    o.no_inlines = true;
    v = view_new(p, &o, &e);
    EXPECT(v != NULL);
    (void)view_disasm(v, &list, &none, &e);
    view_free(v);
}

static void write_and_read_again(const struct profile *p) {
    char *text = NULL;
    size_t n = 0;
    struct profile *again = NULL;
    struct report_error e = {.line = ""};
    FILE *out = open_memstream(&text, &n);
    EXPECT(out != NULL && profile_write_proto(p, out) == 0);
    (void)fclose(out);
    EXPECT(report_read_bytes("again", text, n, NULL, &again, &e) == 0);
    EXPECT(profile_is_valid(again));
    EXPECT(again->n_samples == p->n_samples);
    profile_free(again);
    free(text);
}

/* What the filters leave is a profile, too. */
static void filter(struct profile *p, unsigned choice) {
    struct report_error e = {.line = ""};
    struct view_options o = {.type = PROFILE_NONE,
                             .no_inlines = choice & 16,
                             .hide = choice & 1 ? "a" : NULL,
                             .show = choice & 2 ? "[a-m]" : NULL,
                             .show_from = choice & 4 ? "f" : NULL,
                             .prune_from = choice & 8 ? "b" : NULL,
                             .tag_hide = choice & 32 ? "a" : NULL,
                             .is_relative = true};
    if (profile_filter(p, &o, &e) != 0) return;
    EXPECT(profile_is_valid(p));
    write_and_read_again(p);
}

static unsigned long n_known; /* inputs that the reader of VT_FUZZ_READER knew */

/* A name that no reader has would leave nothing to do, and find nothing. */
static void expect_some(void) { EXPECT(n_known > 0); }

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    if (getenv("VT_FUZZ_READER")) EXPECT(atexit(expect_some) == 0);
    return 0;
}

/* Whether the reader that VT_FUZZ_READER names would get it; what is packed may be anything. */
static bool is_wanted(const char *bytes, size_t n) {
    const char *only = getenv("VT_FUZZ_READER");
    struct input in = {.name = "fuzz", .at = bytes, .begin = bytes, .end = bytes + n};
    if (only == NULL || intake_is_packed(bytes, n)) return true;
    const struct reader *reader = reader_find(&in);
    bool is_known = reader != NULL && strcmp(reader->kind, only) == 0;
    n_known += is_known;
    return is_known;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes) {
    static FILE *nowhere;
    struct profile *p = NULL, *other = NULL;
    struct report_error e = {.line = ""};
    if (nowhere == NULL) nowhere = fopen("/dev/null", "w");
    if (n_bytes == 0 || nowhere == NULL) return 0;
    if (!is_wanted((const char *)data + 1, n_bytes - 1)) return -1; /* not one to go on from */
    unsigned choice = data[0];
    char *exact = malloc(n_bytes - 1 ? n_bytes - 1 : 1); /* its end is where the sanitizer looks */
    EXPECT(exact != NULL);
    memcpy(exact, data + 1, n_bytes - 1);
    int error = report_read_bytes("fuzz", exact, n_bytes - 1, NULL, &p, &e);
    EXPECT((error == 0) == (p != NULL));
    EXPECT((error != 0) == (e.line[0] != '\0'));
    if (error == 0) {
        EXPECT(profile_is_valid(p));
        EXPECT(report_read_bytes("fuzz", exact, n_bytes - 1, NULL, &other, &e) == 0);
        EXPECT(profile_merge(other, p, -1) == 0);
        EXPECT(profile_is_valid(other));
        symbol_lines_apply(other, exact, n_bytes - 1); /* as if a server had answered it */
        EXPECT(profile_is_valid(other));
        profile_print_raw(p, nowhere);
        profile_write_symbolized(p, nowhere, "x");
        profile_write_json(p, nowhere);
        profile_write_csv(p, nowhere);
        write_and_read_again(p);
        show(other, choice, nowhere);
        show(p, choice, nowhere);
        show_code(p, choice, nowhere);
        filter(p, choice);
    }
    free(exact);
    profile_free(p);
    profile_free(other);
    return 0;
}
