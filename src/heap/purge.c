/* purge.c - giving free memory back to the system: how much, when, and in which order.
 *
 * At once: free memory above a budget goes back in the call that freed it, whole free chunks first (from the top of
 * the window, because allocation fills it from the bottom), then free slices of partly used chunks. So an idle process
 * holds no more than the budget, without anybody having to call us again. docs/decisions/purge.md
 *
 * The budget is `retain`. When memory that was just given back is wanted again, the program oscillates, and the budget
 * doubles and rises by what was missed, but never above one and a half times the recent peak of what was in use; it sinks back by a quarter for each
 * purge_delay that passes. What realloc cuts off a large block goes back whatever the budget: see vt__purge_cut.
 *
 * Climate: malloc.   Owns: the purge fields of the pool.   Locks: shard, pool; never held across a system call: slices
 * being purged look used meanwhile.
 */
#include "conf/options.h"
#include "heap/chunk.h"
#include "heap/exchange.h"
#include "heap/secure.h"
#include "heap/stock.h"
#include "heap/upcalls.h"
#include "os/os.h"

#define REFUSAL_MS MSEC(1000)
#define PERIODS_MAX 128 /* nothing is left of any budget after these */
#define RATION_MS MSEC(1000)
#define TAILS_BYTES MiB(4)  /* in each second the ends of this many bytes are given back */
#define CUTS_BYTES MiB(256) /* and so much that realloc cut off, in pieces from .. to: */
#define CUT_MIN_BYTES KiB(256)
#define CUT_LARGE_BYTES MiB(128)

static size_t dirty_bytes(void) {
    return atomic_load_explicit(&vt__pool.dirty_slices, memory_order_relaxed) << VT_SLICE_SHIFT;
}

static size_t used_bytes(void) {
    return atomic_load_explicit(&vt__pool.used_slices, memory_order_relaxed) << VT_SLICE_SHIFT;
}

void vt__purge_open(void) {
    vt__pool.budget_bytes = vt_opt(retain);
    vt__pool.soft_limit_bytes = vt_opt(soft_limit);
    if (vt__pool.soft_limit_bytes == 0) {
        size_t cgroup = vt__os_cgroup_limit();
        if (cgroup != SIZE_MAX) vt__pool.soft_limit_bytes = cgroup / 10 * 9;
    }
}

/* Memory that the program locked (mlock, mlockall) is not taken back. To try again with every free would cost a system
 * call per chunk each time, so we let some time pass. */
static bool was_refused_lately(uint64_t now_ms) {
    uint64_t refused_ms = atomic_load_explicit(&vt__pool.refused_ms, memory_order_relaxed);
    return refused_ms != 0 && now_ms < refused_ms + REFUSAL_MS;
}

/* Purge the slices of `mask`, run by run. Answers the slices that are clean now. */
static uint64_t purge_slices(size_t chunk, uint64_t mask, uint64_t now_ms) {
    uint64_t done = 0;
    if (mask != 0) vt__hugepages_withdraw(chunk, mask == VT_ALL_SLICES);
    while (mask != 0) {
        unsigned first = (unsigned)__builtin_ctzll(mask);
        uint64_t shifted = ~(mask >> first);
        unsigned n = shifted == 0 ? 64 - first : (unsigned)__builtin_ctzll(shifted);
        uint64_t run = (n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1) << first;
        uintptr_t at = vt__slice_address((slab_id)(chunk * VT_CHUNK_SLICES + first));
        if (vt__os_purge((void *)at, (size_t)n << VT_SLICE_SHIFT) == 0)
            done |= run;
        else /* relaxed: a hint */
            atomic_store_explicit(&vt__pool.refused_ms, now_ms, memory_order_relaxed);
        mask &= ~run;
    }
    return done;
}

/* These slices of a chunk that is ours, by its shard's lock or because it is in no list, are clean now. Under the pool lock. */
static void note_purged(struct chunk *c, uint64_t done, uint64_t now_ms) {
    size_t n = vt_count_bits(done);
    vt__slices_count(&vt__pool.dirty_slices, 0 - n);
    vt__pool.purged_bytes += n << VT_SLICE_SHIFT;
    vt__pool.regret_bytes += (size_t)vt_count_bits(done & ~c->filled_slices) << VT_SLICE_SHIFT;
    vt__pool.n_purges++;
    vt__pool.last_purge_ms = now_ms;
    c->dirty_slices &= ~done;
    c->filled_slices &= ~done;
}

/* The highest dirty free chunk below `*i`, taken out of the pool. */
static bool pick_free_chunk(size_t *i) {
    if (vt__pool.n_free == vt__pool.n_clean) return false;
    size_t end = vt_min(*i, vt__window.n_chunks);
    for (size_t w = vt_div_up(end, 64); w-- > 0;) {
        uint64_t bits = vt__pool.free_map[w] & ~vt__pool.clean_map[w];
        if (end - w * 64 < 64) bits &= (UINT64_C(1) << (end - w * 64)) - 1;
        if (bits == 0) continue;
        *i = w * 64 + vt_log2(bits);
        vt__pool_remove(*i);
        return true;
    }
    return false;
}

/* The next one below `*below`; false when there is none. What the system refuses stays, and is not tried twice. */
static bool purge_a_free_chunk(size_t *below, size_t *sum, uint64_t now_ms) {
    size_t i = *below;
    vt_lock(&vt__pool.lock);
    bool found = pick_free_chunk(&i);
    vt_unlock(&vt__pool.lock);
    if (!found) return false;
    *below = i;
    struct chunk *c = &vt__chunks[i]; /* ours alone while it is in no list */
    uint64_t done = purge_slices(i, c->dirty_slices, now_ms);
    vt_lock(&vt__pool.lock);
    note_purged(c, done, now_ms);
    vt__pool_put(i);
    vt_unlock(&vt__pool.lock);
    *sum += (size_t)vt_count_bits(done) << VT_SLICE_SHIFT;
    return true;
}

/* The free dirty slices of a partly used chunk, if they have been free long enough. */
static size_t purge_partly_used(size_t i, uint64_t now_ms, uint64_t min_age_ms) {
    struct chunk *c = &vt__chunks[i];
    struct vt_shard *sh = vt__shard_of(c);
    vt_lock(&sh->lock);
    /* A chunk joins a shard under the pool lock, and leaves it under both: what we see under both stays true under ours. */
    vt_lock(&vt__pool.lock);
    bool is_ours = sh == vt__shard_of(c) && !c->is_foreign &&
                   (c->free_slices != VT_ALL_SLICES || vt__chunk_is_in_tract(c));
    vt_unlock(&vt__pool.lock);
    uint64_t mask = is_ours ? c->free_slices & c->dirty_slices : 0;
    if (mask == 0 || now_ms - c->dirtied_ms < min_age_ms) {
        vt_unlock(&sh->lock);
        return 0;
    }
    vt__chunk_unbin(c);
    c->free_slices &= ~mask; /* look used, so that nobody takes them now */
    vt__chunk_bin(c);
    vt_unlock(&sh->lock);

    uint64_t done = purge_slices(i, mask, now_ms);

    vt_lock(&sh->lock);
    vt__chunk_unbin(c);
    c->free_slices |= mask;
    bool is_free = c->free_slices == VT_ALL_SLICES &&
                   !vt__chunk_is_in_tract(c); /* the rest came back meanwhile */
    if (!is_free) vt__chunk_bin(c);
    vt_lock(&vt__pool.lock);
    note_purged(c, done, now_ms);
    if (is_free) vt__pool_put(i);
    vt_unlock(&vt__pool.lock);
    vt_unlock(&sh->lock);
    return (size_t)vt_count_bits(done) << VT_SLICE_SHIFT;
}

/* Down to `target` bytes of free resident memory; answers the bytes given back. */
static size_t purge_to(size_t target_bytes, uint64_t now_ms, uint64_t min_age_ms) {
    size_t sum = 0;
    size_t below = SIZE_MAX;
    while (dirty_bytes() > target_bytes && purge_a_free_chunk(&below, &sum, now_ms)) {}
    vt_lock(&vt__pool.lock);
    size_t n_chunks = vt__window.n_chunks;
    size_t cursor = vt__pool.purge_cursor;
    vt_unlock(&vt__pool.lock);
    if (n_chunks == 0) return sum;
    for (size_t looked = 0; looked < n_chunks && dirty_bytes() > target_bytes; looked++, cursor++)
        sum += purge_partly_used(cursor % n_chunks, now_ms, min_age_ms);
    vt_lock(&vt__pool.lock);
    vt__pool.purge_cursor = cursor % n_chunks;
    vt_unlock(&vt__pool.lock);
    return sum;
}

static uint64_t period_ms(void) { return vt_max(vt_opt(purge_delay), 1); }

/* A hint: it is looked at again under the lock. */
VT_READS_RACILY static bool is_tick_due(uint64_t now_ms) {
    uint64_t last_ms = atomic_load_explicit(&vt__pool.last_tick_ms, memory_order_relaxed);
    return now_ms >= last_ms + period_ms() || used_bytes() > vt__pool.peak_used_bytes;
}

/* Time passes: the budget and the remembered peak sink, for each period in which nobody came, too. */
static void tick(uint64_t now_ms) {
    if (!is_tick_due(now_ms)) return;
    vt_lock(&vt__pool.lock);
    /* another thread may have looked at the clock after us, and been here before us */
    uint64_t last_ms = atomic_load_explicit(&vt__pool.last_tick_ms, memory_order_relaxed);
    if (now_ms >= last_ms + period_ms()) {
        uint64_t n_periods = (now_ms - last_ms) / period_ms();
        atomic_store_explicit(&vt__pool.last_tick_ms, now_ms, memory_order_relaxed);
        for (n_periods = vt_min(n_periods, PERIODS_MAX); n_periods > 0; n_periods--) {
            vt__pool.budget_bytes = vt_max(vt_opt(retain), vt__pool.budget_bytes / 4 * 3);
            vt__pool.peak_used_bytes = vt_max(used_bytes(), vt__pool.peak_used_bytes / 4 * 3);
        }
        vt__pool.regret_bytes = 0;
    }
    vt__pool.peak_used_bytes = vt_max(vt__pool.peak_used_bytes, used_bytes());
    vt_unlock(&vt__pool.lock);
}

void vt__purge_after_give(uint64_t now_ms) {
    if (dirty_bytes() <= vt_opt(retain)) return;
    tick(now_ms);
    size_t budget = atomic_load_explicit(&vt__pool.budget_bytes, memory_order_relaxed);
    if (dirty_bytes() > budget && !was_refused_lately(now_ms)) purge_to(budget, now_ms, 0);
    /* relaxed: a hint to vt__poll, which runs when no lock is held */
    if (dirty_bytes() > vt_opt(retain))
        atomic_store_explicit(&vt__purge_wants, VT_PURGE_TOLD | VT_PURGE_KEPT,
                              memory_order_relaxed);
}

void vt__purge_what_is_due(void) {
    uint64_t now_ms = vt__os_now_ms();
    /* relaxed: tick() looks again */
    uint64_t last_ms = atomic_load_explicit(&vt__pool.last_tick_ms, memory_order_relaxed);
    if (now_ms < last_ms + period_ms()) return;
    tick(now_ms);
    if (!was_refused_lately(now_ms)) purge_to(vt__pool.budget_bytes, now_ms, vt_opt(purge_delay));
    if (dirty_bytes() <= vt_opt(retain))
        atomic_store_explicit(&vt__purge_wants, 0, memory_order_relaxed);
}

bool vt__purge_is_pressed(void) {
    size_t soft = vt__pool.soft_limit_bytes;
    return soft != 0 && used_bytes() + dirty_bytes() > soft / 4 * 3;
}

/* So much of something in each second. */
struct ration {
    _Atomic uint64_t since_ms;
    _Atomic size_t n_spent;
};

/* Two threads that come here at once may both pass. */
static bool may_spend(struct ration *r, size_t n, size_t max, uint64_t now_ms) {
    if (now_ms - atomic_load_explicit(&r->since_ms, memory_order_relaxed) >= RATION_MS) {
        atomic_store_explicit(&r->since_ms, now_ms, memory_order_relaxed);
        atomic_store_explicit(&r->n_spent, 0, memory_order_relaxed);
    }
    if (atomic_load_explicit(&r->n_spent, memory_order_relaxed) >= max) return false;
    return atomic_fetch_add_explicit(&r->n_spent, n, memory_order_relaxed) < max;
}

/* Slices that go round quickly would lose and regain their ends for ever. */
static bool may_purge_tail(size_t n_bytes) {
    static struct ration tails;
    return may_spend(&tails, n_bytes, TAILS_BYTES, vt__os_now_ms()) || vt__purge_is_pressed();
}

void vt__purge_tail(slab_id first, size_t n_slices, size_t n_bytes) {
    size_t used = vt_round_up(n_bytes, VT_OS_PAGE);
    size_t tail = n_slices * VT_SLICE - used;
    if (tail >= VT_TAIL_MIN_BYTES && may_purge_tail(tail))
        vt__os_purge((char *)vt__slice_address(first) + used, tail);
}

/* What realloc cuts off is not kept for a program that oscillates, only as part of `retain`. To give back 256 MiB and have them
 * cleared by the system again takes an eighth of a second: a block that swings loses no more than that in each second, then its end
 * waits like any free memory. A large end goes back each time, as glibc's does: its program has said it at some cost. */
static bool may_purge_cut(size_t n_bytes, uint64_t now_ms) {
    static struct ration cuts;
    if (n_bytes < CUT_MIN_BYTES || was_refused_lately(now_ms)) return false;
    if (dirty_bytes() + n_bytes <= vt_opt(retain)) return false;
    return n_bytes >= CUT_LARGE_BYTES || may_spend(&cuts, n_bytes, CUTS_BYTES, now_ms);
}

bool vt__purge_cut(slab_id first, size_t n_slices) {
    uint64_t now_ms = vt__os_now_ms();
    size_t n_bytes = n_slices << VT_SLICE_SHIFT;
    size_t end = first + n_slices;
    if (!may_purge_cut(n_bytes, now_ms)) return false;
    for (size_t i = first / VT_CHUNK_SLICES; i * VT_CHUNK_SLICES < end; i++)
        vt__hugepages_withdraw(i, /* is_whole */ i * VT_CHUNK_SLICES >= first &&
                                      (i + 1) * VT_CHUNK_SLICES <= end);
    if (vt__os_purge((void *)vt__slice_address(first), n_bytes) != 0) {
        atomic_store_explicit(&vt__pool.refused_ms, now_ms, memory_order_relaxed); /* a hint */
        return false;
    }
    vt_lock(&vt__pool.lock);
    vt__pool.purged_bytes += n_bytes; /* no regret: to want it again is another wish */
    vt__pool.n_purges++;
    vt_unlock(&vt__pool.lock);
    return true;
}

void vt__purge_before_take(size_t n_slices) {
    size_t soft = vt__pool.soft_limit_bytes;
    if (vt_unlikely(atomic_load_explicit(&vt__purge_wants, memory_order_relaxed) != 0))
        vt__purge_what_is_due();
    if (soft == 0 || dirty_bytes() == 0 || was_refused_lately(vt__os_now_ms())) return;
    if (used_bytes() + dirty_bytes() + (n_slices << VT_SLICE_SHIFT) > soft) vt__purge_all();
}

void vt__purge_after_take(size_t n_clean_slices) {
    if (n_clean_slices == 0) return;
    if (atomic_load_explicit(&vt__pool.regret_bytes, memory_order_relaxed) == 0) return;
    uint64_t now_ms = vt__os_now_ms();
    vt_lock(&vt__pool.lock);
    size_t missed = vt_min(n_clean_slices << VT_SLICE_SHIFT, vt__pool.regret_bytes);
    vt__pool.peak_used_bytes = vt_max(vt__pool.peak_used_bytes, used_bytes());
    size_t most = vt__pool.peak_used_bytes / 2 * 3 +
                  vt_opt(retain); /* half more than the peak: free runs do not fit perfectly */
    vt__pool.regret_bytes -= missed;
    if (vt_opt(purge_delay) > 0 && now_ms - vt__pool.last_purge_ms < vt_opt(purge_delay))
        vt__pool.budget_bytes = vt_min(vt__pool.budget_bytes * 2 + missed, most);
    vt_unlock(&vt__pool.lock);
}

bool vt__heap_purge_step(void) {
    uint64_t now_ms = vt__os_now_ms();
    tick(now_ms);
    purge_to(vt__pool.budget_bytes, now_ms, vt_opt(purge_delay));
    return dirty_bytes() > vt_opt(retain);
}

void vt__heap_retain_changed(void) {
    if (!vt__enter()) return; /* in a handler: the budget gets there by and by */
    vt_lock(&vt__pool.lock);
    vt__pool.budget_bytes = vt_opt(retain);
    vt_unlock(&vt__pool.lock);
    vt__leave();
}

size_t vt__purge_all(void) { return purge_to(0, vt__os_now_ms(), 0); }

size_t vt__heap_release_shared(void) {
    if (vt_racy_read(vt__map.n_slices) == 0 || !vt__enter()) return 0;
    size_t n_bytes = vt__purge_all();
    vt__leave();
    return n_bytes;
}

size_t vt__heap_release_some(size_t n_bytes) {
    if (vt_racy_read(vt__map.n_slices) == 0 || !vt__enter()) return 0;
    size_t now_free = dirty_bytes();
    n_bytes = purge_to(now_free - vt_min(now_free, n_bytes), vt__os_now_ms(), 0);
    vt__leave();
    return n_bytes;
}

size_t vt__heap_release_all(void) {
    if (vt_racy_read(vt__map.n_slices) == 0) return 0; /* nothing was ever allocated */
    if (!vt__enter()) return 0;
    if (vt__tls.real != NULL) {
        vt__shelves_clear(vt__tls.real);
        vt__exchange_clear();
        vt__secure_flush(vt__tls.real);
        vt__heap_drop_empty(vt__tls.real, /* has_heaps_lock */ false);
    }
    vt__heaps_cool();
    if (vt__tls.real != NULL) (void)vt__stock_clear(vt__tls.real); /* what these gave up, too */
    size_t n_bytes = vt__purge_all();
    vt__leave();
    return n_bytes;
}
