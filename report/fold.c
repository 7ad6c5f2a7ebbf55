/* fold.c - see fold.h. Climate: cli. */
#include "report/fold.h"

#include <stdlib.h>
#include <string.h>

#include "report/names.h"

#define MAX_PERIOD 8 /* functions that call each other in turns */
#define MAX_NAME 4096

/* ---- whose a frame is */

static const char *const library_files[] = {"libc",
                                            "libm",
                                            "libpthread",
                                            "librt",
                                            "libdl",
                                            "libstdc++",
                                            "libc++",
                                            "libc++abi",
                                            "libgcc_s",
                                            "libanl",
                                            "libresolv",
                                            "ld-linux",
                                            "ld-linux-x86-64",
                                            "ld-linux-aarch64",
                                            "ld-musl-x86_64",
                                            "ld",
                                            NULL};
static const char *const library_scopes[] = {
    "std::", "__gnu_cxx::", "__cxxabiv1::",
    "__gthr", /* libgcc's threads, inline in libstdc++'s headers */
    NULL};
/* What is between the kernel and the program, wherever it is linked in. */
static const char *const starters[] = {"_start",
                                       "__libc_start_main",
                                       "__libc_start_main_impl",
                                       "clone",
                                       "clone3",
                                       "__libc_start_call_main",
                                       "__clone",
                                       "__clone3",
                                       "start_thread",
                                       "_dl_start_user",
                                       NULL};

/* "libc.so.6", "libc-2.31.so": the name up to the version. */
static bool is_library_file(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (unsigned i = 0; library_files[i]; i++) {
        size_t n = strlen(library_files[i]);
        if (strncmp(name, library_files[i], n) != 0) continue;
        if (strncmp(name + n, ".so", 3) == 0) return true;
        if (name[n] == '-' && name[n + 1] >= '0' && name[n + 1] <= '9') return true;
    }
    return false;
}

static bool starts_with_any(const char *name, const char *const *words) {
    for (unsigned i = 0; words[i]; i++)
        if (strncmp(name, words[i], strlen(words[i])) == 0) return true;
    return false;
}

static bool is_one_of(const char *name, const char *const *words) {
    for (unsigned i = 0; words[i]; i++)
        if (strcmp(name, words[i]) == 0) return true;
    return false;
}

/* The function of a node without parameters and return type, in `out`; "" when nothing is known. */
static const char *function_of(const struct view *v, uint32_t node, char *out, size_t n_bytes) {
    uint32_t function = v->nodes[node].function;
    out[0] = '\0';
    if (function == PROFILE_NONE) return out;
    return name_shorten(profile_text(v->p, v->p->functions[function].name), out, n_bytes);
}

/* "void std::f<...>": a name that could not be shortened may have its return type in front. */
static const char *behind_type(const char *name) {
    const char *start = name;
    for (const char *s = name; *s && *s != '<' && *s != '('; s++)
        if (*s == ' ') start = s + 1;
    return start;
}

/* What calls it is _start, also in a program without names. */
static bool is_called_first(const struct view *v, uint32_t node) {
    char name[MAX_NAME];
    return strncmp(function_of(v, node, name, sizeof name), "__libc_start_main", 17) == 0;
}

static bool is_library(const struct view *v, uint32_t node) {
    const struct profile *p = v->p;
    const struct profile_location *l = &p->locations[v->nodes[node].location];
    char name[MAX_NAME];
    if (l->mapping != PROFILE_NONE &&
        is_library_file(profile_text(p, p->mappings[l->mapping].file)))
        return true;
    (void)function_of(v, node, name, sizeof name);
    return starts_with_any(behind_type(name), library_scopes) || is_one_of(name, starters);
}

/* ---- what a library did */

static const struct {
    const char *scope, *function, *words;
} deeds[] = {
    {"std::vector::", "_M_realloc", "std::vector growth"},
    {"std::vector::", "_M_default_append", "std::vector growth"},
    {"std::vector::", "_M_fill_insert", "std::vector growth"},
    {"std::vector::", "_M_range_insert", "std::vector growth"},
    {"std::vector::", "reserve", "std::vector growth"},
    {"std::__1::vector::", "__push_back_slow_path", "std::vector growth"},
    {"std::__1::vector::", "__emplace_back_slow_path", "std::vector growth"},
    {"std::__1::vector::", "__append", "std::vector growth"},
    {"std::__1::vector::", "reserve", "std::vector growth"},
    {"std::__cxx11::basic_string::", "_M_mutate", "std::string growth"},
    {"std::__cxx11::basic_string::", "_M_append", "std::string growth"},
    {"std::__cxx11::basic_string::", "_M_replace", "std::string growth"},
    {"std::__cxx11::basic_string::", "reserve", "std::string growth"},
    {"std::deque::", "_M_reallocate_map", "std::deque growth"},
    {"std::deque::", "_M_push_back_aux", "std::deque growth"},
    {"std::deque::", "_M_push_front_aux", "std::deque growth"},
    {"std::_Hashtable::", "_M_rehash", "hash table growth"},
};

static const char *deed_of(const char *name) {
    for (unsigned i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        size_t n = strlen(deeds[i].scope);
        if (strncmp(name, deeds[i].scope, n) == 0 &&
            strncmp(name + n, deeds[i].function, strlen(deeds[i].function)) == 0)
            return deeds[i].words;
    }
    return NULL;
}

static uint32_t node_of_words(struct fold *f, const char *words) {
    struct view *v = &f->view;
    uint32_t name = profile_string(v->p, words);
    for (uint32_t i = v->n_nodes; i > 0 && v->nodes[i - 1].function == PROFILE_NONE; i--)
        if (v->nodes[i - 1].name == name) return i - 1;
    *REPORT_PUSH(v->nodes, v->n_nodes, v->cap_nodes) =
        (struct view_node){.name = name, .function = PROFILE_NONE};
    return v->n_nodes - 1;
}

/* Looks at each node once. */
static void judge_nodes(struct fold *f, const struct view *v) {
    f->is_library = report_alloc(v->n_nodes * sizeof *f->is_library);
    f->words = report_alloc(v->n_nodes * sizeof *f->words);
    for (uint32_t i = 0; i < v->n_nodes; i++) {
        char name[MAX_NAME];
        f->is_library[i] = is_library(v, i);
        const char *deed = f->is_library[i] ? deed_of(function_of(v, i, name, sizeof name)) : NULL;
        f->words[i] = deed ? node_of_words(f, deed) : PROFILE_NONE;
    }
}

/* The node that stands for n frames of libraries, leaf first: what they did, or the function that was called. */
static uint32_t node_of_library(const struct fold *f, const uint32_t *frames, uint32_t n) {
    for (uint32_t i = n; i > 0; i--)
        if (f->words[frames[i - 1]] != PROFILE_NONE) return f->words[frames[i - 1]];
    return frames[n - 1];
}

/* ---- stacks */

static void add_frame(struct fold *f, uint32_t node, uint32_t times, uint32_t group) {
    struct view *v = &f->view;
    uint32_t n = v->n_frames;
    REPORT_ROOM(f->marks, n, f->cap_marks, 1);
    f->marks[n] = (struct fold_frame){times, group};
    *REPORT_PUSH(v->frames, v->n_frames, v->cap_frames) = node;
}

/* How often the first `period` of n frames are there in a row. */
static uint32_t count_turns(const uint32_t *frames, uint32_t n, uint32_t period) {
    uint32_t turns = 1;
    while ((turns + 1) * period <= n &&
           memcmp(frames, frames + turns * period, period * sizeof *frames) == 0)
        turns++;
    return turns;
}

static void add_folded(struct fold *f, const uint32_t *frames, uint32_t n) {
    for (uint32_t i = 0; i < n;) {
        uint32_t period = 1, turns = count_turns(frames + i, n - i, 1);
        for (uint32_t p = 2; turns == 1 && p <= MAX_PERIOD && 2 * p <= n - i; p++) {
            turns = count_turns(frames + i, n - i, p);
            if (turns > 1) period = p;
        }
        for (uint32_t k = 0; k < period; k++)
            add_frame(f, frames[i + k], turns, k == 0 ? period : 0);
        i += turns * period;
    }
}

static void fold_stack(struct fold *f, const struct view *v, uint32_t stack) {
    const struct view_stack *s = &v->stacks[stack];
    const uint32_t *frames = view_nodes(v, s);
    uint32_t begin = 0, end = s->n, first = f->view.n_frames;
    if (end > 1 && is_called_first(v, frames[end - 2])) end--;
    while (end > 0 && f->is_library[frames[end - 1]]) end--;
    while (begin < end && f->is_library[frames[begin]]) begin++;
    if (begin == end) begin = 0, end = s->n; /* nothing of the program's own */
    f->has_library[stack] = begin > 0;
    if (begin > 0) add_frame(f, node_of_library(f, frames, begin), 1, 1);
    add_folded(f, frames + begin, end - begin);
    struct view_stack folded = *s;
    folded.first = first;
    folded.n = f->view.n_frames - first;
    *REPORT_PUSH(f->view.stacks, f->view.n_stacks, f->view.cap_stacks) = folded;
}

static void keep_stack(struct fold *f, const struct view *v, uint32_t stack) {
    const struct view_stack *s = &v->stacks[stack];
    struct view_stack same = *s;
    same.first = f->view.n_frames;
    for (uint32_t i = 0; i < s->n; i++) add_frame(f, v->frames[s->first + i], 1, 1);
    *REPORT_PUSH(f->view.stacks, f->view.n_stacks, f->view.cap_stacks) = same;
}

void fold_new(struct fold *f, const struct view *v) {
    *f = (struct fold){.view = *v};
    struct view *folded = &f->view;
    folded->nodes = NULL, folded->n_nodes = folded->cap_nodes = 0;
    folded->stacks = NULL, folded->n_stacks = folded->cap_stacks = 0;
    folded->frames = NULL, folded->n_frames = folded->cap_frames = 0;
    folded->order = NULL;
    folded->has_sample = NULL;
    for (uint32_t i = 0; i < v->n_nodes; i++)
        *REPORT_PUSH(folded->nodes, folded->n_nodes, folded->cap_nodes) = v->nodes[i];
    judge_nodes(f, v);
    f->has_library = report_alloc(v->n_stacks * sizeof *f->has_library);
    for (uint32_t i = 0; i < v->n_stacks; i++)
        if (v->options.all_frames)
            keep_stack(f, v, i);
        else
            fold_stack(f, v, i);
}

void fold_free(struct fold *f) {
    free(f->view.nodes);
    free(f->view.stacks);
    free(f->view.frames);
    free(f->marks);
    free(f->has_library);
    free(f->is_library);
    free(f->words);
}
