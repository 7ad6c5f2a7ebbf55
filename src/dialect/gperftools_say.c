/* gperftools_say.c - lines on stderr as gperftools has them, and texts of any length. Climate: host, no malloc.   Owns: nothing. */
#include "dialect/gperftools.h"
#include "os/os.h"

void vt__say(enum vt_level level, struct vt_text *line) {
    if (vt__gperftools.verbose < (int)level) return;
    vt__text_char(line, '\n');
    if (line->is_cut) line->buf[line->len - 1] = '\n';
    vt__os_write(2, line->buf, line->len);
    if (level == VT_LEVEL_FATAL) vt__os_abort();
}

static bool grow(struct vt_long_text *t, size_t n_bytes) {
    void *at = NULL;
    size_t cap = vt_max(t->cap * 2, KiB(64));
    while (cap < n_bytes) cap *= 2;
    if (vt__os_map(cap, &at) != 0) return false;
    if (t->at != NULL) {
        __builtin_memcpy(at, t->at, t->len);
        vt__os_unmap(t->at, t->cap);
    }
    t->at = at;
    t->cap = cap;
    return true;
}

void vt__long_text_put(void *text, const char *data, size_t n_bytes) {
    struct vt_long_text *t = text;
    if (t->len + n_bytes > t->cap && !grow(t, t->len + n_bytes)) t->is_lost = true;
    if (t->is_lost) return;
    __builtin_memcpy(t->at + t->len, data, n_bytes);
    t->len += n_bytes;
}

void vt__long_text_drop(struct vt_long_text *t) {
    if (t->at != NULL) vt__os_unmap(t->at, t->cap);
    *t = (struct vt_long_text){0};
}
