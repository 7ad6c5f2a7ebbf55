/* text.h - builds short texts without malloc or stdio: messages, statistics, /proc readers' opposite.
 *
 * Climate: any.   Owns: nothing; the caller gives the buffer and, if the text may be longer, a sink.
 * A full buffer goes to the sink; without a sink the text is cut and `is_cut` is set.
 */
#ifndef VT_BASE_TEXT_H
#define VT_BASE_TEXT_H

#include "base/base.h"

VT_HIDDEN_BEGIN

struct vt_text {
    char *buf;
    size_t cap;
    size_t len;
    bool is_cut;
    void (*sink)(void *arg, const char *data, size_t n_bytes); /* NULL: cut instead */
    void *sink_arg;
};

#define VT_TEXT(array)                                                                             \
    { (array), sizeof(array), 0, false, NULL, NULL }

/* What c is worth in base 16, whatever its case; 16: it is no digit. */
VT_INLINE unsigned vt__digit_of(char c) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    unsigned letter = (unsigned)((c | 0x20) - 'a');
    return letter < 6 ? 10 + letter : 16;
}

void vt__text_put(struct vt_text *t, const char *s);
void vt__text_put_n(struct vt_text *t, const char *s, size_t n_bytes);
void vt__text_char(struct vt_text *t, char c);
/* For a line that people read: what a terminal would obey, and what is no UTF-8, is spelled "\x1b". */
void vt__text_shown(struct vt_text *t, const char *s, size_t n_bytes);
void vt__text_uint(struct vt_text *t, uint64_t n);
void vt__text_int(struct vt_text *t, int64_t n);
void vt__text_hex(struct vt_text *t, uint64_t n); /* with 0x */
/* Right-aligned in `width` columns. */
void vt__text_uint_wide(struct vt_text *t, uint64_t n, unsigned width);
/* "12.3 MiB" in `width` columns; plain bytes below 1 KiB. */
void vt__text_bytes(struct vt_text *t, uint64_t n_bytes, unsigned width);
void vt__text_pad(struct vt_text *t, char c, unsigned n);
void vt__text_flush(struct vt_text *t);

/* What string.h has, without its dependence on the C library's ifuncs (we may run before they are resolved). */
size_t vt__str_len(const char *s);
bool vt__str_equal(const char *a, const char *b);
bool vt__str_starts(const char *s, const char *prefix);

VT_HIDDEN_END

#endif
