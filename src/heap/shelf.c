/* shelf.c - what a thread has too much of on its shelves goes home. Climate: malloc.   Owns: heap.shelf.   Locks: none here. */
#include "heap/shelf.h"

#include "heap/exchange.h"
#include "heap/magazine.h"
#include "heap/spare.h"

void vt__send_home(unsigned cls, struct block *list, uintptr_t salt) {
    if (cls < VT_N_SMALL)
        vt__remote_send(cls, list, salt);
    else
        vt__medium_give_some(vt__tls.real, cls, &list, 1);
}

/* All of them: one heap has blocks of many classes, and gets them in one go. A signal handler that interrupted a push or pop may
 * have left counts off by one: the lists decide. */
void vt__shelves_send(struct heap *h) {
    struct vt_mail mail[VT_N_MAILS] = {{NULL, NULL, NULL, 0}};
    uint64_t used = h->shelf_used;
    h->shelf_used = 0;
    h->shelf_bytes = 0;
    h->shelf_n = 0;
    for (; used != 0; used &= used - 1) {
        unsigned cls = (unsigned)__builtin_ctzll(used);
        struct block *list = h->shelf[cls].top;
        h->shelf[cls] = (struct shelf){NULL, 0};
        vt__mail_add(mail, cls, list, shelf_salt(h));
    }
    vt__mail_send(mail);
}

void vt__shelves_clear(struct heap *h) {
    vt__spares_clear(h);
    vt__magazines_clear(h);
    vt__exchange_flush(h);
    vt__shelves_send(h);
}

VT_COLD bool vt__give_kept(void) {
    struct heap *h = vt__tls.real;
    if (h == NULL) return false;
    size_t n_bytes = vt__magazines_bytes(h) + h->parcel.n_bytes + h->shelf_bytes + h->spare_bytes;
    if (n_bytes + vt__exchange_bytes() == 0) return false;
    vt__shelves_clear(h);
    vt__exchange_clear();
    return true;
}
