/* jemalloc.h - what the files that speak jemalloc's language share: its options, its messages, its tree of names.
 *
 *   jemalloc_environment.c   MALLOC_CONF and the other sources of options; which of ours they set
 *   jemalloc_alloc.c         mallocx and its sisters; names with je_
 *   jemalloc_ctl.c           mallctl: names, numbers, lengths, errors; rows in jemalloc_ctl.def
 *   jemalloc_nodes.c         what these rows read and write
 *   jemalloc_prof.c          heap profiles in its manner, the leak summary
 *   jemalloc_print.c         malloc_stats_print
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

void vt__jemalloc_read_environment(void); /* silent when nobody set anything */
void vt__je_parse(const char *conf); /* one source, into vt__je_values; complains by vt__je_say */

/* ---- messages: "<jemalloc>: " and these, one line ---- */

void vt__je_say(const char *a, const char *b, const char *c);
void vt__je_write(const char *text); /* as it is: to malloc_message, or stderr */

/* ---- heap profiles ---- */

void vt__je_prof_read_options(void); /* inside the first malloc */
void vt__je_prof_begin(void);
void vt__je_prof_end(void);
bool vt__je_prof_is_on(void); /* opt.prof */

/* ---- at start and exit, for the door ---- */

void vt__jemalloc_begin(void);
void vt__jemalloc_end(void);
void *vt__jemalloc_realloc_0(void *p);
uint64_t vt__je_zero_reallocs(void);

VT_HIDDEN_END

#endif
