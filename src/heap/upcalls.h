/* upcalls.h - what the heap needs from rooms above it; life/ defines these. */
#ifndef VT_HEAP_UPCALLS_H
#define VT_HEAP_UPCALLS_H

#include "base/base.h"

VT_HIDDEN_BEGIN

int vt__life_start(void); /* first use in this process: 0 when the heap is ready, or -errno */
bool vt__life_thread_attached(
    void); /* arrange for vt__heap_detach_thread at this thread's end; false: it is ending */
void vt__life_dump_wanted(
    int cause); /* a heap profile is due (enum vt_dump_cause); no lock is held */
void vt__life_control_wanted(void);    /* another process asks for something; no lock is held */
bool vt__life_thread_is_staying(void); /* false: this thread has begun to end */
void vt__life_purge_wanted(
    void); /* memory waits to be given back; nobody may call us for a while */
void vt__life_no_memory(size_t n_bytes); /* so much was refused; no lock is held */
void vt__life_foreign_free(
    void *p); /* p is not ours: another malloc's, or a mistake (does not return then) */
void *vt__life_realloc_0(void *p); /* realloc(p, 0): the front door decides */
void *vt__life_foreign_realloc(void *p, size_t n_bytes);
size_t vt__life_foreign_usable_size(const void *p);

uint64_t vt__probe_period(void); /* mean bytes between samples; 0: none */

/* What the probes want to know. */
/* Draws how many mallocs of this size there are until one is drawn for the n-th time, that one included. `random` is the caller's own
 * state of chance; 0: a new one. */
uint32_t vt__probe_draw_count(size_t n_bytes, unsigned n, uint64_t *random);
/* A sample: what was asked for, what was given, and for how many that were drawn it stands. */
void vt__probe_allocated(const void *p, size_t n_bytes, size_t block_bytes, unsigned n_drawn);
enum vt_probe_known { VT_KNOWN_NOTHING, VT_KNOWN, VT_KNOWN_MINE /* the calling thread's */ };
enum vt_probe_known vt__probe_freed(const void *p);
/* It is freed, and only the calling thread will use it again, for its next sample: see spare.h. */
enum vt_probe_known vt__probe_rests(const void *p);
/* It stays where it is, and its program asked for so much of it now. */
void vt__probe_requested(const void *p, size_t n_bytes);
struct block;
void vt__probe_forgets(struct block *const *p, unsigned n);    /* these rested, and are no more */
void vt__probe_exact_allocated(const void *p, size_t n_bytes); /* in exact mode */
void vt__probe_exact_requested(const void *p, size_t n_bytes); /* so much, not what was said */
void vt__probe_exact_freed(const void *p);
/* A free that may not come. What is known of a block is taken from it; all 0: nothing. Then it counts as freed, with the size it had,
 * or is put back. */
struct vt_exact_known {
    uint64_t word[2];
};
struct vt_exact_known vt__probe_exact_take(const void *p);
void vt__probe_exact_taken_freed(struct vt_exact_known known, size_t block_bytes);
void vt__probe_exact_put_back(const void *p, struct vt_exact_known known);
void vt__probe_grown(size_t n_bytes); /* the heap took address space from the system */
/* Addresses are few: what is reserved for slices from here on goes back. Under the pool lock. */
void vt__probe_few_addresses(size_t n_slices);
void vt__probe_fork_prepare(void);
void vt__probe_fork_done(bool is_child);

VT_HIDDEN_END

#endif
