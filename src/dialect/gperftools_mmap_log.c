/* gperftools_mmap_log.c - HEAP_PROFILE_MMAP_LOG: while the heap profiler runs, a line on stderr for each call by which the program
 * maps memory or moves its break, in gperftools' form.
 *
 * Translation, no logic.   Climate: malloc: a mapping may be made from anywhere.
 */
#include "dialect/gperftools.h"
#include "probe/maps.h"

static void put_hex(struct vt_text *t, const char *label, uint64_t n) {
    vt__text_put(t, label);
    vt__text_hex(t, n);
}

static void put_size(struct vt_text *t, const char *label, size_t n_bytes) {
    vt__text_put(t, label);
    vt__text_uint(t, n_bytes);
}

static void put_mmap(struct vt_text *t, const struct vt_map_call *c) {
    put_hex(t, "mmap(start=", c->at);
    put_size(t, ", len=", c->n_bytes);
    put_hex(t, ", prot=", (unsigned)c->prot);
    put_hex(t, ", flags=", (unsigned)c->flags);
    vt__text_put(t, ", fd=");
    vt__text_int(t, c->fd);
    put_hex(t, ", offset=", (uint64_t)c->offset);
}

static void put_mremap(struct vt_text *t, const struct vt_map_call *c) {
    put_hex(t, "mremap(old_addr=", c->at);
    put_size(t, ", old_size=", c->n_bytes);
    put_size(t, ", new_size=", c->new_bytes);
    put_hex(t, ", flags=", (unsigned)c->flags);
    put_hex(t, ", new_addr=", c->to);
}

void vt__gperftools_log_mmap(const struct vt_map_call *c) {
    char buf[256];
    struct vt_text t = VT_TEXT(buf);
    switch (c->call) {
    case VT_CALL_MMAP: put_mmap(&t, c); break;
    case VT_CALL_MREMAP: put_mremap(&t, c); break;
    case VT_CALL_MUNMAP:
        put_hex(&t, "munmap(start=", c->at);
        put_size(&t, ", len=", c->n_bytes);
        break;
    case VT_CALL_SBRK:
        vt__text_put(&t, "sbrk(inc=");
        vt__text_int(&t, (int64_t)c->n_bytes);
        break;
    }
    vt__text_char(&t, ')');
    if (c->call != VT_CALL_MUNMAP) put_hex(&t, " = ", c->result);
    vt__say(VT_LEVEL_INFO, &t);
}
