/* test_symbols.c - names, files, lines and inlined frames of this very program, looked up from outside. */
#include "unit.h"

#include <dlfcn.h>

#include "report/read.h"
#include "report/symbols.h"

#define NOINLINE __attribute__((noinline, noclone))

static volatile int sink;
static void *inner_pc, *outer_pc;

static inline __attribute__((always_inline)) void *here(void) {
    void *pc;
    __asm__ volatile("1: lea 1b(%%rip), %0" : "=r"(pc));
    return pc;
}

static inline __attribute__((always_inline)) void inlined_step(void) {
    inner_pc = here(); /* this line */
    sink++;
}
enum { INNER_LINE = __LINE__ - 3 };

NOINLINE static void plain_function(void) {
    outer_pc = here(); /* and this one */
    inlined_step();
    sink++;
}
enum { OUTER_LINE = __LINE__ - 4, CALL_LINE = __LINE__ - 3 };

/* A heap profile with one stack of these addresses, and the map of this process; `grow` falsifies the map. */
static struct profile *profile_of(void *const *pcs, unsigned n, size_t grow) {
    char *text = NULL, line[1000];
    size_t n_bytes = 0;
    struct profile *p;
    struct report_error e = {.line = ""};
    FILE *out = open_memstream(&text, &n_bytes), *maps = fopen("/proc/self/maps", "r");
    fprintf(out, "heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @");
    for (unsigned i = 0; i < n; i++) fprintf(out, " 0x%lx", (unsigned long)pcs[i] + 1);
    fprintf(out, "\nMAPPED_LIBRARIES:\n");
    while (fgets(line, sizeof line, maps)) {
        unsigned long low, high;
        int used;
        assert_int_equal(sscanf(line, "%lx-%lx%n", &low, &high, &used), 2);
        fprintf(out, "%lx-%lx%s", low, high + grow, line + used);
    }
    fclose(maps);
    fclose(out);
    if (report_read_bytes("f", text, n_bytes, NULL, &p, &e) != 0) fail_msg("%s", e.line);
    free(text);
    return p;
}

static const char *name_at(const struct profile *p, uint32_t frame, uint32_t line, uint32_t *number,
                           const char **file) {
    const struct profile_location *l = &p->locations[p->frames[frame]];
    if (line >= l->n_lines) return "";
    const struct profile_line *at = &p->lines[l->first_line + line];
    if (number) *number = at->line;
    if (file) *file = profile_text(p, p->functions[at->function].file);
    return profile_text(p, p->functions[at->function].name);
}

TEST(symbols, functions_files_lines_and_inlined_frames_are_found) {
#ifndef __x86_64__
    skip();
#endif
    uint32_t number;
    const char *file;
    plain_function();
    void *pcs[] = {outer_pc, inner_pc, (void *)0x10};
    struct profile *p = profile_of(pcs, 3, 0);
    struct symbols_options o = {0};
    symbols_resolve(p, &o);
    assert_true(profile_is_valid(p));
    /* here() is inlined into each: innermost first */
    assert_string_equal(name_at(p, 0, 0, NULL, NULL), "here");
    assert_string_equal(name_at(p, 0, 1, &number, &file), "plain_function");
    assert_int_equal(number, OUTER_LINE);
    assert_non_null(strstr(file, "test_symbols.c"));
    assert_string_equal(name_at(p, 1, 0, NULL, NULL), "here");
    assert_string_equal(name_at(p, 1, 1, &number, NULL), "inlined_step");
    assert_int_equal(number, INNER_LINE);
    assert_string_equal(name_at(p, 1, 2, &number, NULL), "plain_function");
    assert_int_equal(number, CALL_LINE);
    assert_int_equal(p->locations[p->frames[2]].n_lines, 0); /* nowhere */
    profile_free(p);
}

TEST(symbols, a_function_of_a_library_is_found_in_its_symbol_table) {
    void *pcs[] = {(char *)dlsym(RTLD_DEFAULT, "printf") + 4};
    struct profile *p = profile_of(pcs, 1, 0);
    struct symbols_options o = {0};
    symbols_resolve(p, &o);
    assert_non_null(strstr(name_at(p, 0, 0, NULL, NULL), "printf"));
    profile_free(p);
}

TEST(symbols, a_file_whose_code_has_another_size_gives_no_names) {
    plain_function();
    void *pcs[] = {outer_pc};
    struct profile *p = profile_of(pcs, 1, 4096);
    struct symbols_options o = {0};
    symbols_resolve(p, &o);
    assert_int_equal(p->locations[0].n_lines, 0);
    assert_int_equal(p->n_notes, 1);
    assert_non_null(strstr(profile_text(p, p->notes[0]), "its code has another size"));
    profile_free(p);
}

TEST(symbols, a_file_with_another_build_id_gives_no_names) {
    plain_function();
    void *pcs[] = {outer_pc};
    struct profile *p = profile_of(pcs, 1, 0);
    for (uint32_t i = 0; i < p->n_mappings; i++)
        p->mappings[i].build_id = profile_string(p, "deadbeef");
    struct symbols_options o = {0};
    symbols_resolve(p, &o);
    assert_int_equal(p->locations[0].n_lines, 0);
    assert_non_null(strstr(profile_text(p, p->notes[0]), "another build-id"));
    profile_free(p);
}

/* The program has moved: the profile names a path where nothing is. */
TEST(symbols, a_program_that_was_moved_is_found_where_it_is_now) {
    char self[4096], move[4200];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    (void)snprintf(move, sizeof move, "/nowhere=%.*s", (int)(slash - self), self);
    const char *moves[] = {"/other=/x", move, NULL};
    plain_function();
    void *pcs[] = {outer_pc};
    for (unsigned round = 0; round < 3; round++) {
        struct profile *p = profile_of(pcs, 1, 0);
        char gone[4200];
        (void)snprintf(gone, sizeof gone, "/nowhere%s", round == 1 ? "/renamed" : slash);
        for (uint32_t i = 0; i < p->n_mappings; i++)
            if (strcmp(profile_text(p, p->mappings[i].file), self) == 0)
                p->mappings[i].file = profile_string(p, gone);
        struct symbols_options o = {.program = round < 2 ? self : NULL,
                                    .moves = round == 2 ? moves : NULL};
        symbols_resolve(p, &o);
        assert_string_equal(name_at(p, 0, 1, NULL, NULL), "plain_function");
        profile_free(p);
    }
}

TEST(symbols, a_missing_file_is_noted) {
    plain_function();
    void *pcs[] = {outer_pc};
    struct profile *p = profile_of(pcs, 1, 0);
    for (uint32_t i = 0; i < p->n_mappings; i++)
        p->mappings[i].file = profile_string(p, "/nowhere/prog");
    struct symbols_options o = {0};
    symbols_resolve(p, &o);
    assert_string_equal(
        profile_text(p, p->notes[0]),
        "no names for '/nowhere/prog': cannot open '/nowhere/prog': No such file or directory");
    profile_free(p);
}

UNIT_MAIN()
