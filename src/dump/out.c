/* out.c - a buffer in front of a descriptor, and the few forms of text that profiles need. See impl.h.
 *
 * Climate: host, no malloc.   Owns: nothing; the caller gives the buffer.
 */
#include "dump/impl.h"
#include "os/os.h"

static void to_fd(void *arg, const char *data, size_t n_bytes) {
    struct vt_out *o = arg;
    if (o->err == 0) o->err = vt__os_write_all(o->fd, data, n_bytes);
}

void vt__out_begin(struct vt_out *o, int fd, void *buf, size_t n_bytes) {
    *o = (struct vt_out){{buf, n_bytes, 0, false, to_fd, o}, fd, 0};
}

int vt__out_end(struct vt_out *o) {
    vt__text_flush(&o->text);
    return o->err;
}

void vt__put_hex(struct vt_text *t, uint64_t n, unsigned n_digits) {
    unsigned n_needed = n == 0 ? 1 : vt_log2(n) / 4 + 1;
    for (unsigned i = n_needed > n_digits ? n_needed : n_digits; i-- > 0;)
        vt__text_char(t, i < 16 ? "0123456789abcdef"[n >> (4 * i) & 15] : '0');
}

static bool has(const char *set, char c) {
    while (*set != '\0' && *set != c) set++;
    return *set != '\0';
}

void vt__put_tame(struct vt_text *t, const char *s, size_t n_bytes, const char *others) {
    for (size_t i = 0; i < n_bytes; i++) {
        bool is_wild = (unsigned char)s[i] < ' ' || s[i] == 0x7f || has(others, s[i]);
        vt__text_char(t, is_wild ? '?' : s[i]);
    }
}

bool vt__row_next(const struct vt_heap_source *src, struct vt_heap_row *row) {
    do {
        *row = (struct vt_heap_row){0};
        if (!src->next(src->state, row)) return false;
    } while ((row->seen_inuse_objects | row->seen_inuse_bytes | row->seen_alloc_objects |
              row->seen_alloc_bytes | row->inuse_objects | row->inuse_bytes | row->alloc_objects |
              row->alloc_bytes) == 0);
    return true;
}

void vt__sum_add(struct vt_heap_sum *sum, const struct vt_heap_row *row) {
    sum->inuse_objects += row->seen_inuse_objects;
    sum->inuse_bytes += row->seen_inuse_bytes;
    sum->alloc_objects += row->seen_alloc_objects;
    sum->alloc_bytes += row->seen_alloc_bytes;
}
