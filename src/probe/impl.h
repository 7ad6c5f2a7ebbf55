/* impl.h - what the files of this room share. Climate: malloc. */
#ifndef VT_PROBE_IMPL_H
#define VT_PROBE_IMPL_H

#include <stdatomic.h>

#include "base/lock.h"
#include "probe/probe.h"

VT_HIDDEN_BEGIN

/* The lock of this room. The heap's slow paths take it as it is; whoever else comes takes it as a slow path would, so that a
 * signal handler that mallocs meanwhile does not wait for itself. False: we are in such a handler. */
extern struct vt_lock vt__probe_lock;
bool vt__probe_enter(void);
void vt__probe_leave(void);

/* sample_records.c: one for each sampled block. */
struct vt_record {
    uintptr_t at; /* its block; 0: not in use */
    _Atomic uint32_t
        site; /* 0: the block is at rest. Written last, by the thread that has the block */
    uint32_t next_free;
    size_t requested_bytes, block_bytes;
    double objects; /* how many it stands for */
    uint64_t born_ms;
};
struct vt_record *vt__record(uint32_t id);        /* 1 <= id <= vt__records_count() */
uint32_t vt__record_find(const void *p);          /* with the lock; 0: there is none */
uint32_t vt__record_find_unlocked(const void *p); /* 0: there is none, or it cannot be told */
/* With the lock: a record at rest, 0: no memory; and one that ends. */
uint32_t vt__record_add(const void *p);
void vt__record_drop(uint32_t id);
uint32_t vt__records_count(void); /* those not in use included */

/* sample_sites.c */
struct vt_site_key {
    uint32_t stack, thread, label;
    size_t block_bytes;
};
/* With the lock: found or new; 0: no memory. */
uint32_t vt__site_of(const struct vt_site_key *key);
size_t vt__site_bytes(size_t block_bytes); /* what a key has for it */
/* Without: is site `id` this one, and the calling thread's own? */
bool vt__site_is(uint32_t id, const struct vt_site_key *key);
/* What a block of this site stands for that was drawn with `period`; `block_bytes` decides for large ones. */
double vt__site_weight(uint32_t id, uint64_t period, size_t block_bytes);
/* What a sample counts for. */
struct vt_share {
    struct vt_site_counts counts;
    double variance; /* of its bytes: what it adds to the error of their sum, squared */
};
struct vt_share vt__share_of(double objects, size_t block_bytes, size_t requested_bytes);
/* A sample of the site is born, or dies after `age_ms`. Without the lock only by the site's own thread. is_peak: just before it
 * was the peak, and the block itself, not what it stands for, belongs to it. */
void vt__site_add(uint32_t id, const struct vt_record *r, const struct vt_share *share,
                  bool is_peak);
void vt__site_end(uint32_t id, const struct vt_share *share, uint64_t age_ms);
bool vt__site_is_mine(uint32_t id);
/* The same where the row is known, and its thread is the calling one. */
struct vt_box_site *vt__site_row(uint32_t id);
void vt__site_add_mine(struct vt_box_site *s, const struct vt_share *share);
void vt__site_end_mine(struct vt_box_site *s, const struct vt_share *share, uint64_t age_ms);
/* What a live sample counts for has other requested bytes now. Without the lock only by the site's own thread. */
void vt__site_ask_again(uint32_t id, double requested_bytes_more);
void vt__site_thread(uint32_t id, uint32_t *stack, uint32_t *thread);
void vt__sites_new_peak(void); /* what is in use now is the peak, until the next call */
void vt__sites_forget(void);

/* sample_totals.c: sums over all sites, and what hangs on them. */
struct vt_frames;
struct vt_sample_slot; /* a thread's part of the sums, and its sites of late */
struct vt_sample_slot *vt__slot_of_thread(void); /* without the lock; NULL: no heap, or no memory */
struct vt_frames *vt__slot_frames(struct vt_sample_slot *s); /* for its thread's walks */
/* One of the sites it had of late; 0: this is none of them. */
uint32_t vt__slot_site(const struct vt_sample_slot *s, const struct vt_site_key *key);
/* Where it keeps the record of such a block. */
uint32_t *vt__slot_record(struct vt_sample_slot *s, const void *p);
/* A sample that may come again: who takes and gives in turns meets the same block, with the same stack and of the same size. */
struct vt_again {
    const void *at; /* NULL: none */
    size_t requested_bytes, block_bytes;
    struct vt_site_key key;
    unsigned n_drawn;
    uint32_t site;
    uint64_t period;
    struct vt_record *record;
    struct vt_box_site *row;
    struct vt_share share;
};
/* Where it keeps the sample of such a block. */
struct vt_again *vt__slot_again(struct vt_sample_slot *s, const void *p);
void vt__slot_note_site(struct vt_sample_slot *s, const struct vt_site_key *key, uint32_t site);
/* At each birth, before the lock: what all threads have in use, as far as it is known, this block included. 0: it is not the time to
 * look. */
uint64_t vt__totals_in_use(struct vt_sample_slot *slot, size_t block_bytes);
/* Before a birth of a block of so many bytes: is this the peak? */
bool vt__totals_look(uint64_t in_use_bytes, size_t block_bytes, bool has_lock);
/* One more sample, or one less. `slot` NULL or with the lock: it counts for all at once. */
void vt__totals_add(struct vt_sample_slot *slot, const struct vt_share *share, bool has_lock);
void vt__totals_subtract(struct vt_sample_slot *slot, const struct vt_share *share, bool has_lock);
void vt__totals_lost(void); /* with the lock */
void vt__totals_forget(void);
void vt__totals_pull(double alloc_bytes, double live_bytes); /* a dump, if it is time */

/* exact.c: what it has told the triggers so far, of which it tells again after so many bytes more at most. */
void vt__exact_told(double *alloc_bytes, double *live_bytes);
void vt__exact_tell_after(uint64_t n_bytes);

/* threads.c. vt__thread_look() when the calling thread is about to be recorded and vt__thread_is_due() says so: it reads the
 * thread's name, and may give it another number, and so another table. */
#define VT_FIRST_LOOK 64 /* of the first thread */
#define VT_LOOK_EVERY 4096
extern __thread uint32_t vt__thread_n_recorded __attribute__((tls_model("initial-exec")));
extern _Atomic bool vt__thread_first_ended; /* number 1 is another's, or nobody's */
bool vt__thread_should_look(void);
VT_INLINE bool vt__thread_is_due(void) {
    uint32_t n = ++vt__thread_n_recorded;
    return vt_unlikely((n & (n - 1)) == 0 || n % VT_LOOK_EVERY == 0) && vt__thread_should_look();
}
void vt__thread_look(void);
void vt__threads_forked(void);
bool vt__sample_names_threads(void);

/* labels.c */
uint32_t vt__label_of_thread(void);

VT_HIDDEN_END

#endif
