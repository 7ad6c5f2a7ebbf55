/* options.h - the options' values, and the words about them.
 *
 * Climate: malloc.   Owns: the values. Read once at start; a program may change one later through its own call.
 */
#ifndef VT_CONF_OPTIONS_H
#define VT_CONF_OPTIONS_H

#include "base/base.h"
#include "base/text.h"

VT_HIDDEN_BEGIN

enum vt_option_kind {
    VT_KIND_BOOL,
    VT_KIND_TRI,
    VT_KIND_BYTES,
    VT_KIND_MSEC,
    VT_KIND_COUNT,
    VT_KIND_TEXT
};

enum vt_tri { VT_OFF, VT_ON, VT_AUTO };

enum vt_option {
#define OPTION(kind, name, dflt, low, high, help) VT_OPT_##name,
#include "conf/options.def"
    VT_OPT_COUNT
};

struct vt_option_row {
    const char *name;
    const char *help;
    uint64_t dflt, low, high;
    enum vt_option_kind kind;
};

extern const struct vt_option_row vt__option_rows[VT_OPT_COUNT];
extern uint64_t vt__option_values[VT_OPT_COUNT];

/* opt(retain) */
#define vt_opt(name) (vt__option_values[VT_OPT_##name])
#define vt_opt_text(name) ((const char *)(uintptr_t)vt_opt(name)) /* NULL: not set */

void vt__options_read(
    void); /* from the environment; warns on stderr about what it does not understand */
void vt__options_help(struct vt_text *t);
void vt__option_show(struct vt_text *t, enum vt_option o, uint64_t value);

/* An option that takes one of some words; a NULL among them is one it does not take. */
struct vt_choice {
    enum vt_option option;
    const char *what, *takes; /* for the warning */
    const char *words[6];
};
/* The number of the word; `dflt` if there is none or, after a warning, another one. */
unsigned vt__option_choice(const struct vt_choice *c, unsigned dflt);

/* "vitrine: warning: <a> '<subject>'<b>", one write. */
void vt__warn(const char *a, const char *subject, const char *b);
/* The same with the words for an error, negative. */
void vt__warn_because(const char *a, const char *subject, int err);

/* Names that somebody may have meant: of options, of another's variables. */
struct vt_known_names {
    const char *(*name)(size_t i); /* NULL: there is none of this number */
    size_t n;
    const char *prefix; /* stands before each of them, and is not in name() */
};
/* "vitrine: warning: <what> '<name>'<where>; did you mean '<known>'?": the last part if one is near. */
void vt__warn_unknown(const char *what, const char *name, size_t n_bytes, const char *where,
                      const struct vt_known_names *known);

VT_HIDDEN_END

#endif
