/* upcalls.h - what the heap needs from rooms above it; life/ defines these. */
#ifndef VT_HEAP_UPCALLS_H
#define VT_HEAP_UPCALLS_H

#include "base/base.h"

VT_HIDDEN_BEGIN

int vt__life_start(void); /* first use in this process: 0 when the heap is ready, or -errno */
bool vt__life_thread_attached(
    void); /* arrange for vt__heap_detach_thread at this thread's end; false: it is ending */
bool vt__life_thread_is_staying(void); /* false: this thread has begun to end */
void vt__life_purge_wanted(
    void); /* memory waits to be given back; nobody may call us for a while */
void vt__life_foreign_free(
    void *p); /* p is not ours: another malloc's, or a mistake (does not return then) */
void *vt__life_foreign_realloc(void *p, size_t n_bytes);
size_t vt__life_foreign_usable_size(const void *p);

VT_HIDDEN_END

#endif
