/* heap_total.c - see heap_total.h. Climate: host, no malloc.   Owns: a bit for each stack, for the time of the call. */
#include "dump/heap_total.h"

#include "os/os.h"
#include "probe/probe.h"
#include "stack/stack.h"

/* True when it was not set. */
static bool set_bit(uint8_t *bits, size_t i) {
    uint8_t bit = (uint8_t)(1u << (i % 8));
    bool was_set = (bits[i / 8] & bit) != 0;
    bits[i / 8] |= bit;
    return !was_set;
}

void vt__heap_total(struct vt_heap_total *out) {
    double bytes = 0, objects = 0;
    size_t n_ids = (size_t)vt__depot_count() + 1; /* stacks that come later are not counted */
    size_t n_bytes = vt_round_up(n_ids / 8 + 1, VT_OS_PAGE);
    void *bits = NULL;
    struct vt_site site;
    *out = (struct vt_heap_total){0};
    if (vt__os_map(n_bytes, &bits) != 0) bits = NULL;
    for (uint32_t cursor = 0; vt__sample_next_site(&cursor, &site);) {
        if (site.alloc.n_seen == site.freed.n_seen) continue;
        bytes += site.alloc.bytes - site.freed.bytes;
        objects += site.alloc.objects - site.freed.objects;
        if (bits != NULL && site.stack < n_ids) out->n_stacks += set_bit(bits, site.stack);
    }
    if (bits != NULL) (void)vt__os_unmap(bits, n_bytes);
    out->bytes = (uint64_t)(bytes + 0.5);
    out->objects = (uint64_t)(objects + 0.5);
}
