/* probe.h - what the probes know about the program's memory, as other rooms see it.
 *
 * Sampled: each malloc is drawn with a chance that grows with its size, one per `period` bytes on average (heap/draw.c). What
 * was drawn is kept until it is freed, and counts for as many as it stands for: 1 / its chance. Sums of that are unbiased.
 *
 * Climate: malloc; the readers host.   Callers: heap/ by heap/upcalls.h, dump/ reads, life/ and dialect/ set.
 */
#ifndef VT_PROBE_PROBE_H
#define VT_PROBE_PROBE_H

#include <stdatomic.h>

#include "base/base.h"
#include "vitrine-box.h"
#include "vitrine.h"

VT_HIDDEN_BEGIN

/* Mean bytes between samples; 0: none. The calling thread notices at once, others at their next refill. */
void vt__sample_set_period(uint64_t n_bytes);
uint64_t vt__sample_period(void);
/* Paused, nothing is sampled, and the period stays what it is. Threads are sampled or not as they have it themselves
 * (vt__heap_sampling); this is how those begin that said nothing. */
void vt__sample_pause(bool on);
bool vt__sample_is_paused(void);
void vt__sample_threads(bool on);
bool vt__sample_has_threads(void);
/* Threads have the names that the system has for them; on, unless a dialect knows better. */
void vt__sample_name_threads(bool on);
/* Somebody is going to look: names are read from here on, not only when a profile is written. Exact mode and a black box say so, too. */
void vt__sample_want_names(void);
/* Names by number (vt__heap_thread_number): what is known, empty: nothing; brought up to date before a profile; told by the thread
 * itself, cut if it must be; and read when it ends. */
const char *vt__thread_name(uint32_t number);
void vt__threads_refresh(void);
void vt__thread_set_name(const char *name);
void vt__probe_thread_ends(void);
/* All samples so far are as if they had never been. */
void vt__sample_forget(void);
const _Atomic uint64_t *vt__sample_period_word(void); /* where it is, for other processes */
uint64_t vt__sample_since_ns(void);                   /* wall clock of the first call above */

/* When to ask for a dump (vt__dump_is_wanted), by estimate; 0: never. */
struct vt_triggers {
    uint64_t alloc_bytes;  /* whenever so many more were allocated */
    uint64_t growth_bytes; /* whenever so many more than ever are in use */
    unsigned peak_percent; /* whenever so many per cent more are in use than the last time */
    uint64_t freed_bytes;  /* whenever so many more were freed */
    /* gperftools' manner: a dump for one of them counts for the others, all begin anew; growth is due beyond its step, not at it */
    bool one_for_all;
};
/* Ask for VT_CAUSE_MEMORY a few times in a second; and again when so much more is in use. */
void vt__sample_look_at_memory(void);
void vt__sample_look_after(uint64_t n_bytes);
void vt__sample_set_triggers(const struct vt_triggers *wanted);
/* There was a dump for another reason: with one_for_all, those above begin anew. */
void vt__sample_restart_triggers(void);

/* Copies of the sites, one after another: *cursor begins at 0. False at the end. Nobody is stopped. */
bool vt__sample_next_site(uint32_t *cursor, struct vt_site *out);

/* The peak is taken in steps; if what is in use now is more than the last, it is the peak from here on. */
void vt__sample_settle_peak(void);

/* What is in use, by object: *cursor begins at 0. False at the end. */
bool vt__sample_next_object(uint32_t *cursor, struct vt_heap_object *out);

/* Who is told of each sample, as malloc and free come to it. With the probe lock: what is called may take stacks, and must not
 * allocate. NULL members are not called. */
struct vt_frames;
struct vt_sampled {
    const void *at;
    size_t requested_bytes, block_bytes;
    uint32_t stack, thread; /* who allocated it */
};
struct vt_sample_watcher {
    uint32_t (*stack)(struct vt_frames *scratch); /* takes the caller's stack in our place */
    void (*allocated)(const struct vt_sampled *s);
    void (*freed)(const struct vt_sampled *s);
};
void vt__sample_set_watcher(const struct vt_sample_watcher *w); /* must stay valid for good */

struct vt_sample_totals {
    uint64_t n_samples, n_live, n_lost;         /* lost: no memory to remember it */
    double alloc_bytes, live_bytes, peak_bytes; /* estimates */
};
void vt__sample_totals(struct vt_sample_totals *out);

/* Where the heap took address space from the system; never decreases. */
struct vt_growth {
    uint32_t stack;
    uint64_t n, n_bytes;
};
void vt__growth_asks_for_dumps(bool on); /* one whenever it does */
bool vt__growth_next(uint32_t *cursor, struct vt_growth *out);
uint64_t vt__growth_count(void); /* how often, in all */

/* Labels: what the calling thread is doing, as (key, value) pairs, kept with each sample. A label is its parent and one pair
 * more; 0 is none. The strings are copied. */
int vt__label_push(const char *key, const char *value); /* 0 or -errno */
void vt__label_pop(void);
struct vt_label {
    uint32_t parent;
    const char *key, *value;
};
bool vt__label_get(uint32_t label, struct vt_label *out);
/* A label and those it is in, from the innermost; how many there are, `max` at most. */
unsigned vt__label_pairs(uint32_t label, const char **keys, const char **values, unsigned max);

VT_HIDDEN_END

#endif
