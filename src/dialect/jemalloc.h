/* jemalloc.h - what the files that speak jemalloc's language share: its options, its messages, its tree of names.
 *
 *   jemalloc_environment.c   MALLOC_CONF and the other sources of options; which of ours they set
 *   jemalloc_names.c         malloc and its sisters where an option or an arena wants more than memory
 *   jemalloc_alloc.c         mallocx and its sisters; names with je_
 *   jemalloc_ctl.c           mallctl: names, numbers, lengths, errors; rows in jemalloc_ctl.def
 *   jemalloc_nodes.c         what these rows read and write: options, the calling thread, single blocks
 *   jemalloc_arenas.c        arenas; jemalloc_settings.c what is only kept of them
 *   jemalloc_extents.c       memory that an arena's hooks bring
 *   jemalloc_snapshot.c      statistics
 *   jemalloc_prof.c          heap profiles in its manner, the leak summary
 *   jemalloc_hooks.c         hooks for every allocation
 *   jemalloc_samples.c       hooks for samples, prof.stats; jemalloc_history.c prof_recent and the log
 *   jemalloc_print*.c        malloc_stats_print
 *
 * Climate: host, but for the environment and the functions that allocate (malloc).
 */
#ifndef VT_DIALECT_JEMALLOC_H
#define VT_DIALECT_JEMALLOC_H

#include "base/base.h"
#include "base/text.h"

VT_HIDDEN_BEGIN

/* ---- options ---- */

enum vt_je_kind {
    VT_JE_BOOL,
    VT_JE_SIZE,
    VT_JE_SSIZE,
    VT_JE_UNSIGNED,
    VT_JE_INT64,
    VT_JE_UINT64,
    VT_JE_CHOICE,
    VT_JE_TEXT,
    VT_JE_RATIO,
    VT_JE_RANGES
};

enum vt_je_option {
#define OPTION(key, kind, dflt, low, high, bounds, words) VT_JE_OPT_##key,
#include "dialect/jemalloc_options.def"
    VT_JE_OPT_COUNT
};

struct vt_je_option_row {
    const char *key;
    const char *words; /* of a choice: a|b|c; of a text: the default */
    int64_t dflt, low, high;
    enum vt_je_kind kind;
    bool is_clipped, has_node;
};
extern const struct vt_je_option_row vt__je_option_rows[VT_JE_OPT_COUNT];

#define VT_JE_WORD_BYTES 16 /* the longest of a choice, and its NUL */
struct vt_je_value {
    int64_t n;
    const char *text; /* of a choice, a text or ranges; never NULL then */
};
extern struct vt_je_value vt__je_values[VT_JE_OPT_COUNT];
#define vt_je(key) (vt__je_values[VT_JE_OPT_##key].n)
#define vt_je_text(key) (vt__je_values[VT_JE_OPT_##key].text)

/* The sources of options: their text, or NULL. */
enum vt_je_source {
    VT_JE_GLOBAL_VAR,
    VT_JE_SYMLINK,
    VT_JE_ENV_VAR,
    VT_JE_GLOBAL_VAR_HARDER,
    VT_JE_SOURCES
};
extern const char *vt__je_sources[VT_JE_SOURCES];

bool vt__jemalloc_find_sources(void);     /* true: somebody set something */
void vt__jemalloc_read_environment(void); /* silent when nobody set anything */
void vt__je_parse(const char *conf); /* one source, into vt__je_values; complains by vt__je_say */

/* ---- messages: "<jemalloc>: " and these, one line; `b` and `c` so that a terminal obeys nothing in them ---- */

void vt__je_say(const char *a, const char *b, const char *c);
void vt__je_write(const char *text); /* as it is: to malloc_message, or stderr */

/* ---- malloc and its sisters, as the names of this library have them: cmake/jemalloc.cmake renames the heap's to these ---- */

struct slab;
struct vt_own;
void *vt__je_malloc(size_t n_bytes);
void *vt__je_malloc_slow(size_t n_bytes);
void *vt__je_calloc(size_t n, size_t each_bytes);
void *vt__je_realloc(void *p, size_t n_bytes);
void *vt__je_realloc_for(void *p, size_t n_bytes, const char *where); /* as vt__je_grown has it */
void *vt__je_aligned_alloc(size_t align, size_t n_bytes);
void vt__je_free_other(void *p, struct slab *s);
/* In the heap of an arena; NULL: the threads', and what the options want is not done. */
void *vt__je_alloc_in(struct vt_own *heap, size_t align, size_t n_bytes, bool zero);
void *vt__je_realloc_in(struct vt_own *heap, void *p, size_t align, size_t n_bytes);

void vt__je_names_begin(void);
void vt__je_be_special(void); /* from now on the slow paths do all that follows */
bool vt__je_is_special(void);
/* A new block is filled as the options say, unless it is zero; NULL ends the process if they say so. `where` is for that. */
void *vt__je_given(void *p, bool is_zero, const char *where);
/* The same for what a block has more than `before` bytes. */
void *vt__je_grown(void *p, size_t before, const char *where);

/* As vt_door.new_fails: the end of the process with experimental_infallible_new, unless the program's hook
 * (experimental.hooks.safety_check_abort) returns. */
bool vt__je_new_fails(size_t n_bytes);

/* The heap of an arena, NULL: the threads'. False: there is no such arena. */
bool vt__je_arena_heap(size_t i, struct vt_own **out);
struct vt_own *vt__je_thread_heap(void); /* of the calling thread's arena; the same */
bool vt__je_is_in_hook(void);            /* the calling thread is in one of an arena's */

/* ---- heap profiles ---- */

void vt__je_prof_read_options(void); /* inside the first malloc */
void vt__je_prof_begin(void);
void vt__je_prof_end(void);
bool vt__je_prof_is_on(void); /* opt.prof */

void vt__je_fill_freed(const void *p); /* as junk has it */

/* jemalloc_hooks.c */
void vt__je_watch_blocks(void); /* every malloc and free is told from now on */

/* While the calling thread is in a hook of the program's; to begin is false if it is in one already. */
bool vt__je_is_telling(void);
bool vt__je_begin_telling(void);
void vt__je_end_telling(void);

/* jemalloc_samples.c */
void vt__je_samples_begin(void);
void vt__je_watch_samples(void);         /* from now on; jemalloc_samples.c hears of each */
void vt__je_prof_hook(const char *file); /* experimental.hooks.prof_dump */
void vt__je_forget_counts(void);         /* prof.stats, of what is in use */

/* jemalloc_history.c */
void vt__je_history_begin(void);
void vt__je_history_end(void);
void vt__je_deliver_samples(void); /* to the program's hooks, those of the calling thread */

/* ---- at start and exit, for the door ---- */

void vt__jemalloc_begin(void);
void vt__jemalloc_end(void);
void *vt__jemalloc_realloc_0(void *p);
uint64_t vt__je_zero_reallocs(void);

VT_HIDDEN_END

#endif
