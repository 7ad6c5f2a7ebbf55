/* shelf.c - what a thread has too much of on its shelves goes home. Climate: malloc.   Owns: heap.shelf.   Locks: none here. */
#include "heap/shelf.h"

#include "heap/magazine.h"
#include "heap/spare.h"

#define EMPTY_AFTER (8 * VT_N_SMALL) /* halved eight times, no shelf has anything */

void vt__send_home(unsigned cls, struct block *list, uintptr_t salt) {
    if (cls < VT_N_SMALL)
        vt__remote_send(cls, list, salt);
    else
        vt__medium_give_some(vt__tls.real, cls, &list, 1);
}

/* All but the newest n_kept blocks of a class. A signal handler that interrupted a push or pop may have left the count off by
 * one: the list decides. */
static void trim(struct heap *h, unsigned cls, uint32_t n_kept) {
    struct shelf *f = &h->shelf[cls];
    uintptr_t salt = shelf_salt(h);
    struct block *list = f->top;
    if (f->n <= n_kept) return;
    h->shelf_bytes -= (f->n - n_kept) * (size_t)vt__classes[cls].block_bytes;
    f->n = n_kept;
    if (n_kept == 0) {
        f->top = NULL;
    } else if (list != NULL) {
        struct block *last = list, *next;
        while (--n_kept > 0 && (next = shelf_next(last, cls, salt)) != NULL) last = next;
        list = shelf_next(last, cls, salt);
        last->link = link_salted(NULL, last, salt);
    }
    vt__remote_send(cls, list, salt);
}

void vt__shelf_trim(struct heap *h, unsigned cls) {
    if (h->shelf[cls].n > vt__classes[cls].shelf_max) trim(h, cls, vt__classes[cls].shelf_max / 2u);
    for (unsigned i = 0; h->shelf_bytes > VT_SHELVES_BYTES; i++) {
        unsigned c = h->shelf_hand++ % VT_N_SMALL;
        trim(h, c, h->shelf[c].n / 2);
        if (i == EMPTY_AFTER) h->shelf_bytes = 0; /* off, for the reason above: nothing is left */
    }
}

void vt__shelves_clear(struct heap *h) {
    vt__spares_clear(h);
    vt__magazines_clear(h);
    for (unsigned c = 0; c < VT_N_SMALL && h->shelf_bytes > 0; c++) trim(h, c, 0);
}
