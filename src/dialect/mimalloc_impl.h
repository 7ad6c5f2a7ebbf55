/* mimalloc_impl.h - what the files of the mimalloc dialect share.
 *
 *   mimalloc_environment.c   MIMALLOC_... variables, and how their values are read
 *   mimalloc_values.c        the options, and what some of them mean here; mimalloc_options.c: mi_option_...
 *   mimalloc_message.c       what is printed, and who else hears of it
 *   mimalloc_alloc.c         mi_malloc and its sisters; mimalloc_names.c: those of other systems and of C++
 *   mimalloc_heap.c          mi_heap_..., mi_theap_...
 *   mimalloc_stats.c         statistics as text, structure and JSON
 *   mimalloc_arena.c         mi_reserve_..., mi_arena_..., mi_subproc_...
 *   mimalloc_v2.c, _v3.c     where the two lines differ: one of them is linked
 *
 * Climate: malloc for what the environment and the allocation functions do; host for the rest.
 */
#ifndef VT_DIALECT_MIMALLOC_IMPL_H
#define VT_DIALECT_MIMALLOC_IMPL_H

#include "base/base.h"
#include "base/text.h"
#include "compat/mimalloc-stats.h"
#include "heap/heap.h"

VT_HIDDEN_BEGIN

/* ---- which of the two lines this library is ---- */

enum { VT_MI_V2, VT_MI_V3, VT_MI_N_LINES };

struct vt_mi_line {
    int line;
    int version; /* what mi_version answers */
    const char *version_text;
    bool options_have_prefix; /* "mimalloc: " before each line of the list of options */
    void (*print_stats)(struct vt_text *t);
};
extern const struct vt_mi_line vt__mi_line;

bool vt__mi_started(void); /* the library is, options are read; false: no memory for it */

/* ---- options ---- */

enum vt_mi_option {
#define ROW(name, v2, v3, unit, dflt2, dflt3, older) VT_MI_##name,
#include "dialect/mimalloc_options.def"
    VT_MI_N_OPTIONS
};

enum vt_mi_unit { VT_MI_PLAIN, VT_MI_PAST /* v3 calls it deprecated */, VT_MI_KIB };

struct vt_mi_option_row {
    const char *name, *older_name; /* NULL: none */
    int number[VT_MI_N_LINES];     /* -1: none */
    long dflt[VT_MI_N_LINES];
    enum vt_mi_unit unit;
};
extern const struct vt_mi_option_row vt__mi_option_rows[VT_MI_N_OPTIONS];

long vt__mi_option(enum vt_mi_option o);
bool vt__mi_option_is_set(enum vt_mi_option o); /* by the environment or by a call */
void vt__mi_option_put(enum vt_mi_option o, long value);
/* So much will be reserved: the limit of disallow_os_alloc, where that is set, makes room for it. 0: it was. */
void vt__mi_limit_more(size_t n_bytes);

/* At start, from the environment; silent when no variable of ours is there. */
void vt__mimalloc_read_environment(void);
/* A value as it stands in a variable, in the option's unit; false: it is none. */
bool vt__mi_parse(const char *value, enum vt_mi_unit unit, long *out);

/* ---- messages ---- */

/* A message that is put together piece by piece: prefix, text, number, text ... */
struct vt_mi_message {
    char line[992];
    struct vt_text text;
};
void vt__mi_begin(struct vt_mi_message *m, const char *prefix); /* "mimalloc: ", and the thread */
void vt__mi_say(struct vt_mi_message *m); /* to stderr or whoever registered, with a line's end */
void vt__mi_verbose(struct vt_mi_message *m); /* only when verbose */
void vt__mi_warn(struct vt_mi_message *m);    /* only when errors are shown, and not too many */
void vt__mi_error(struct vt_mi_message *m, int err); /* the same, and whoever registered is told */
void vt__mi_error_only(int err);
void vt__mi_out(const char *text); /* as it is */
/* Text of any length to `out`, or for NULL to where messages go, in pieces that end with a line. */
struct vt_mi_printer {
    char buf[1024];
    struct vt_text text;
    mi_output_fun *out;
    void *arg;
};
struct vt_text *vt__mi_print_begin(struct vt_mi_printer *p, mi_output_fun *out, void *arg);

void vt__mi_no_memory(size_t n_bytes);                  /* an allocation failed */
void vt__mi_deferred_free(bool force);                  /* the registered function, if any */
extern _Atomic(mi_deferred_free_fun *) vt__mi_deferred; /* which that is */
void vt__mi_begin_process(void);                        /* the heap works */

/* ---- allocation; `o` NULL: from the thread's own heap ---- */

extern __thread struct vt_own *vt__mi_default __attribute__((tls_model("initial-exec")));

/* What libc.c and cxx.c call in this library instead of what they call in libvitrine: cmake/mimalloc.cmake. */
void *vt__mi_malloc_slow(size_t n_bytes);
void *vt__mi_plain_malloc(size_t n_bytes);
void *vt__mi_plain_calloc(size_t n, size_t each_bytes);
void *vt__mi_plain_realloc(void *p, size_t n_bytes);
void *vt__mi_plain_aligned(size_t align, size_t n_bytes);

void *vt__mi_alloc(struct vt_own *o, size_t n_bytes, bool zero);
/* The address `offset` bytes into it is aligned. */
void *vt__mi_alloc_aligned(struct vt_own *o, size_t n_bytes, size_t align, size_t offset,
                           bool zero);
void *vt__mi_realloc(struct vt_own *o, void *p, size_t n_bytes, bool zero);
void *vt__mi_realloc_aligned(struct vt_own *o, void *p, size_t n_bytes, size_t align, size_t offset,
                             bool zero);
char *vt__mi_strndup(struct vt_own *o, const char *s, size_t most);
char *vt__mi_realpath(struct vt_own *o, const char *name, char *resolved);
bool vt__mi_product(size_t n, size_t each_bytes, size_t *out); /* false: too large, and told */
void *vt__mi_new_in(struct vt_own *o, size_t n_bytes);         /* as operator new fails */

/* ---- figures ---- */

enum vt_mi_figure {
#define MI_STAT_COUNT(name) VT_MI_F_##name,
#define MI_STAT_COUNTER(name) VT_MI_F_##name,
    MI_STAT_FIELDS_OF_ALL() MI_STAT_FIELDS_OF_V3() VT_MI_N_FIGURES
#undef MI_STAT_COUNT
#undef MI_STAT_COUNTER
};
#define VT_MI_N_BINS 74

struct vt_mi_count {
    int64_t total, peak, current;
};
struct vt_mi_figures {
    struct vt_mi_count at[VT_MI_N_FIGURES];
    struct vt_mi_count malloc_bins[VT_MI_N_BINS], page_bins[VT_MI_N_BINS];
};
void vt__mi_figures(struct vt_mi_figures *out);
void vt__mi_note_start(void); /* what elapsed is told from here on */

struct vt_mi_process {
    size_t elapsed_ms, user_ms, system_ms, rss, peak_rss, commit, peak_commit, faults;
};
void vt__mi_process(struct vt_mi_process *out);
void vt__mi_put_ms(struct vt_text *t, size_t ms);                          /* 1.234 */
void vt__mi_put_process(struct vt_text *t, const struct vt_mi_process *p); /* times and faults */
void vt__mi_put_peaks(struct vt_text *t, const struct vt_mi_process *p); /* and peaks: v3's line */

/* One field of mi_stats_t, for the structure and for JSON. */
struct vt_mi_field {
    const char *name;
    enum vt_mi_figure figure;
    bool is_counter;
    size_t offset;
};
void vt__mi_fill(void *stats, const struct vt_mi_field *fields, size_t n);
/* f NULL: what is now, the text's own memory included. */
char *vt__mi_json(const struct vt_mi_figures *f, const struct vt_mi_field *fields, size_t n,
                  size_t stat_version, size_t buf_bytes, char *buf);

/* ---- arenas, by number; 0 is none ---- */

struct vt_mi_arena {
    struct vt_tract *tract;   /* reserved, or */
    struct vt_estate *estate; /* brought by the program */
    char *at;
    size_t n_bytes;
};
bool vt__mi_arena(intptr_t id, struct vt_mi_arena *out); /* false: there is none */
bool vt__mi_next_arena(intptr_t *id, struct vt_mi_arena *out);
int vt__mi_reserve(size_t n_bytes, bool is_exclusive, unsigned *number); /* 0 or an errno */
bool vt__mi_manage(void *start, size_t size, bool is_committed, bool is_zero, unsigned *number);

VT_HIDDEN_END

#endif
