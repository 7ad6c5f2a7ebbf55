/* window.c - the one range of addresses that malloc hands out, and the tables beside it.
 *
 *   reserved mode     all of the window is reserved at start (no access, nothing charged) and made accessible from the
 *                     bottom as it is needed; a smaller one where so long a range is not free (a sanitizer's shadow)
 *   constrained mode  for RLIMIT_AS and systems that refuse the reservation: the same arithmetic over a window that is only
 *                     an idea; each chunk is mapped when needed. A chunk somebody else sits in is skipped.
 *
 * The tables are made accessible with the chunks: in reserved mode out of a reservation with gaps of no access, in constrained mode
 * they are an idea as well, each in a place of its own where nobody else lives.
 *
 * A limit that the program sets while it runs leads from the first to the second: what is reserved and not used goes back, and the
 * tables keep a reservation for what the limit may let the heap grow to. There is no way back, but a higher limit is used.
 *
 * Climate: malloc.   Owns: where things are, vt__window.   Locks: growth happens under the pool lock (chunk.c).
 */
#include <errno.h>

#include "conf/options.h"
#include "heap/chunk.h"
#include "heap/link.h"
#include "heap/upcalls.h"
#include "os/os.h"

#define GAP_BYTES MiB(2)     /* no access between tables */
#define GAP_LEFT KiB(64)     /* of it, where addresses are few */
#define TABLE_STEP_CHUNKS 64 /* tables become accessible for this many chunks at a time, */
#define FIRST_STEP_CHUNKS 8  /* those of the first 64 for so many: RLIMIT_DATA counts them */
#define GROW_MAX_CHUNKS 32   /* 64 MiB */
#define RESERVED_MIN GiB(64)
#define WINDOW_MIN GiB(1)
#define CONSTRAINED_BYTES GiB(64)
#define FOREIGN_TRIES 64
#define SMALL_PROGRAM_BYTES MiB(8) /* no huge pages below this */

/* Whoever reads the base before the start may be interrupted by it, in a handler that allocates, and read n_slices after: even then no
 * pointer, nor NULL, lies behind this base. */
#define BASE_BEFORE_START ((uintptr_t)1 << 63)

struct vt_map vt__map = {.base = BASE_BEFORE_START, .key = VT_KEY_BITS, .mark_key = ~VT_KEY_BITS};
struct vt_window vt__window;
const struct block vt__nil = {0};

/* Rows of the tables, counted in chunks. */
static struct {
    size_t n_ready;    /* accessible */
    size_t n_reserved; /* these become accessible by a commit, those behind them by a mapping */
    char *at;          /* the reservation */
    size_t n_bytes;
} tables;

static bool is_huge_always; /* the kernel gives huge pages to whoever does not refuse them */
static _Atomic bool
    is_limited_late; /* a limit came while we were busy: the next growth sees to it */

static size_t wanted_bytes(void) {
    size_t n = vt_opt(window);
    if (n == 0) n = vt_min(vt_max(TiB(1), 4 * vt__os_ram_bytes()), TiB(16));
    return (size_t)1 << vt_log2(vt_max(n, WINDOW_MIN));
}

static int reserve_tables(size_t window_bytes) {
    size_t n_slices = window_bytes >> VT_SLICE_SHIFT;
    size_t n_chunks = window_bytes >> VT_CHUNK_SHIFT;
    size_t slab_bytes = vt_round_up(n_slices * sizeof(struct slab), GAP_BYTES);
    size_t chunk_bytes = vt_round_up(n_chunks * sizeof(struct chunk), GAP_BYTES);
    size_t total = slab_bytes + chunk_bytes + 3 * GAP_BYTES;
    void *at = NULL;
    int err = vt__os_reserve(total, GAP_BYTES, &at);
    if (err != 0) return err;
    if (is_huge_always) vt__os_hugepages(at, total, false);
    vt__os_core(at, total, false); /* until it is accessible: gcore would write all of it */
    vt__os_name(at, total, VT_TABLES_NAME);
    tables.at = at;
    tables.n_bytes = total;
    tables.n_reserved = n_chunks;
    char *next = tables.at + GAP_BYTES;
    vt__map.slabs = (struct slab *)next;
    next += slab_bytes + GAP_BYTES;
    vt__chunks = (struct chunk *)next;
    return 0;
}

static size_t first_huge(void) {
    if (vt_opt(thp) == VT_ON) return 0;
    return vt_opt(thp) == VT_AUTO && is_huge_always ? SMALL_PROGRAM_BYTES >> VT_CHUNK_SHIFT
                                                    : SIZE_MAX;
}

/* No huge pages for those of these chunks that should have none. Where every mapping gets some, a small program would pay
 * 2 MiB for its first page. */
static void keep_small(size_t first, size_t n) {
    if ((vt_opt(thp) != VT_OFF && !is_huge_always) || first >= vt__window.first_huge) return;
    n = vt_min(n, vt__window.first_huge - first);
    vt__os_hugepages(vt__chunk_address(first), n << VT_CHUNK_SHIFT, /* allow */ false);
}

static int open_reserved(size_t n_bytes) {
    void *at = NULL;
    int err = vt__os_reserve(n_bytes, VT_CHUNK, &at);
    if (err != 0) return err;
    err = reserve_tables(n_bytes);
    if (err != 0) {
        vt__os_unmap(at, n_bytes);
        return err;
    }
    vt__os_core(at, n_bytes, false);
    vt__os_name(at, n_bytes, VT_HEAP_NAME);
    vt__map.base = (uintptr_t)at;
    vt__window.n_bytes = n_bytes;
    vt__window.is_reserved = true;
    keep_small(0, n_bytes >> VT_CHUNK_SHIFT);
    return 0;
}

/* Obstacles further on in the window are gone around, see map_chunks. */
VT_COLD static void open_constrained(void) {
    vt__map.base = vt__os_draw_place(VT_CHUNK, VT_CHUNK);
    vt__map.slabs = (struct slab *)vt__os_draw_place(
        FIRST_STEP_CHUNKS * VT_CHUNK_SLICES * sizeof(struct slab), GAP_BYTES);
    vt__chunks = (struct chunk *)vt__os_draw_place(VT_OS_PAGE, GAP_BYTES);
    tables.n_reserved = 0;
    vt__window.n_bytes = CONSTRAINED_BYTES;
    vt__window.is_reserved = false;
}

int vt__window_open(void) {
    vt__map.key = (vt__os_random() & ~(UINT64_C(0xff) << 56)) | VT_KEY_BITS;
    vt__map.mark_key = ~vt__map.key;
    is_huge_always = vt__os_hugepages_are_always();
    vt__window.first_huge = first_huge();
    int err = -ENOMEM;
    if (vt__os_address_limit() == SIZE_MAX) {
        size_t n_bytes = wanted_bytes();
        err = open_reserved(n_bytes);
        while (err != 0 && (n_bytes /= 4) >= RESERVED_MIN) err = open_reserved(n_bytes);
    }
    if (err != 0) open_constrained();
    return 0;
}

static int make_accessible(void *at, size_t n_bytes) {
    int err = vt__os_commit(at, n_bytes);
    if (err == 0) vt__os_core(at, n_bytes, true);
    return err;
}

static uintptr_t slab_rows(size_t chunk) {
    return vt_round_up((uintptr_t)&vt__map.slabs[chunk * VT_CHUNK_SLICES], VT_OS_PAGE);
}
static uintptr_t chunk_rows(size_t chunk) {
    return vt_round_up((uintptr_t)&vt__chunks[chunk], VT_OS_PAGE);
}

/* Rows from..to of one table: those up to `reserved` are there without access, the others are nowhere. */
static int make_rows(uintptr_t from, uintptr_t to, uintptr_t reserved) {
    uintptr_t middle = vt_min(vt_max(from, reserved), to);
    int err = from < middle ? make_accessible((void *)from, middle - from) : 0;
    if (err == 0 && middle < to) err = vt__os_map_at((void *)middle, to - middle);
    return err;
}

/* The tables' rows for all chunks below `end`. */
static int commit_tables(size_t end) {
    if (end <= tables.n_ready) return 0;
    size_t step = end <= TABLE_STEP_CHUNKS ? FIRST_STEP_CHUNKS : TABLE_STEP_CHUNKS;
    size_t from = tables.n_ready;
    size_t to = vt_min(vt_round_up(end, step), vt__window.n_bytes >> VT_CHUNK_SHIFT);
    size_t reserved = tables.n_reserved;
    int err = make_rows(slab_rows(from), slab_rows(to), slab_rows(reserved));
    if (err != 0) return err;
    err = make_rows(chunk_rows(from), chunk_rows(to), chunk_rows(reserved));
    if (err == 0)
        tables.n_ready = to;
    else if (to > reserved) /* or it would be in the way when we come again */
        vt__os_unmap((void *)slab_rows(vt_max(from, reserved)),
                     slab_rows(to) - slab_rows(vt_max(from, reserved)));
    return err;
}

static int make_chunks(void *at, size_t n_bytes) {
    return vt__window.is_reserved ? make_accessible(at, n_bytes) : vt__os_map_at(at, n_bytes);
}

/* Constrained mode: up to n chunks in a row at the top. Somebody else's mapping may be in the way: then as many as fit
 * before it, and a chunk that is taken is skipped for good. */
static int map_chunks(size_t n, size_t *first, size_t *got) {
    unsigned tries = 0;
    while (tries < FOREIGN_TRIES) {
        size_t at = vt__window.n_chunks;
        if (at + n > vt__window.n_bytes >> VT_CHUNK_SHIFT) return -ENOMEM;
        if (commit_tables(at + n) != 0) return -ENOMEM; /* somebody sits where the rows should be */
        int err = make_chunks(vt__chunk_address(at), n << VT_CHUNK_SHIFT);
        if (err == 0) {
            keep_small(at, n);
            *first = at;
            *got = n;
            return 0;
        }
        if (err != -EEXIST) return err;
        if (n > 1) {
            n /= 2;
            continue;
        }
        vt__chunks[at].is_foreign = 1;
        vt__window.n_foreign++;
        vt__window.n_chunks++;
        tries++;
    }
    return -ENOMEM;
}

static int commit_chunks(size_t n, size_t *first) {
    *first = vt__window.n_chunks;
    if (*first + n > vt__window.n_bytes >> VT_CHUNK_SHIFT) return -ENOMEM;
    int err = commit_tables(*first + n);
    if (err != 0) return err;
    return make_chunks(vt__chunk_address(*first), n << VT_CHUNK_SHIFT);
}

/* ---- a limit that comes late ---- */

static void unmap_between(uintptr_t from, uintptr_t to) {
    if (from < to) vt__os_unmap((void *)from, to - from);
}

/* The rows that the limit may let us need, and some more, because there may be holes. */
static size_t rows_for_limit(void) {
    size_t most = vt__window.n_bytes >> VT_CHUNK_SHIFT;
    size_t limit = vt_min(vt__os_address_limit() >> VT_CHUNK_SHIFT, most);
    size_t n = vt_max(vt__window.n_chunks, tables.n_ready) + limit + limit / 4;
    return vt_min(vt_round_up(n, TABLE_STEP_CHUNKS), most);
}

VT_COLD static void shrink_tables(void) {
    uintptr_t end = (uintptr_t)tables.at + tables.n_bytes;
    uintptr_t slabs = (uintptr_t)vt__map.slabs, chunks = (uintptr_t)vt__chunks;
    size_t n = vt_min(rows_for_limit(), tables.n_reserved);
    tables.n_reserved = n;
    unmap_between((uintptr_t)tables.at, slabs - GAP_LEFT);
    unmap_between(slab_rows(n), chunks - GAP_LEFT);
    unmap_between(chunk_rows(n), end);
}

/* A limit was raised: others may have come to where the rows were. Then those behind are mapped one by one, as far as they go. */
VT_COLD static void extend_tables(void) {
    size_t n = rows_for_limit(), before = tables.n_reserved;
    if (n <= before || tables.n_ready > before) return;
    uintptr_t slabs = slab_rows(before), chunks = chunk_rows(before);
    if (vt__os_reserve_at((void *)slabs, slab_rows(n) - slabs) != 0) return;
    if (chunk_rows(n) == chunks || vt__os_reserve_at((void *)chunks, chunk_rows(n) - chunks) == 0)
        tables.n_reserved = n;
    else
        unmap_between(slabs, slab_rows(n));
}

/* True: we had more than we use. What is behind the window from now on is anybody's. Under the pool lock. */
VT_COLD static bool give_addresses_back(void) {
    size_t used = vt__window.n_chunks << VT_CHUNK_SHIFT, n_bytes = vt__window.n_bytes;
    if (vt__window.is_reserved && vt__os_address_limit() / 2 >= n_bytes) return false; /* it fits */
    vt__regions_shrink();
    if (!vt__window.is_reserved) {
        if (tables.at != NULL) extend_tables();
        return false;
    }
    if (vt__os_unmap((void *)(vt__map.base + used), n_bytes - used) != 0) return false;
    /* relaxed: who does not hold the lock reads either as a hint */
    __atomic_store_n(&vt__window.n_bytes, vt_min(n_bytes, used + CONSTRAINED_BYTES),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&vt__window.is_reserved, false, __ATOMIC_RELAXED);
    shrink_tables();
    vt__probe_few_addresses(vt__window.n_chunks * VT_CHUNK_SLICES);
    return true;
}

VT_COLD bool vt__heap_few_addresses(void) {
    if (vt_racy_read(vt__map.n_slices) == 0) return false; /* the start will see the limit */
    if (!vt__enter()) {
        atomic_store_explicit(&is_limited_late, true, memory_order_relaxed);
        return false;
    }
    vt_lock(&vt__pool.lock);
    bool is_done = give_addresses_back();
    if (!vt__window.is_reserved && vt__pool_trim()) is_done = true;
    vt_unlock(&vt__pool.lock);
    vt__leave();
    return is_done;
}

VT_COLD VT_READS_RACILY bool vt__heap_may_give_addresses(void) {
    if (!vt__window_is_reserved())
        return vt_racy_read(vt__pool.n_free) > 0 && vt__heap_few_addresses();
    size_t limit = vt__os_address_limit_now(); /* not if the program asked for far too much */
    if (limit == SIZE_MAX) return false;
    vt__os_tell_address_limit(limit);
    return vt__heap_few_addresses();
}

/* ---- growing ---- */

/* A little more than asked for as the heap grows, so that growing costs few system calls. */
static size_t grow_step(size_t n_chunks) {
    return vt_max(n_chunks, vt_min(vt__window.n_chunks / 8, GROW_MAX_CHUNKS));
}

static void set_end(size_t n_chunks) {
    vt__window.n_chunks = n_chunks;
    /* relaxed: whoever frees a pointer got it from a thread that saw this, or from us */
    __atomic_store_n(&vt__map.n_slices, n_chunks * VT_CHUNK_SLICES, __ATOMIC_RELAXED);
}

int vt__window_grow(size_t n_chunks, size_t *first, size_t *got) {
    if (vt_unlikely(atomic_exchange_explicit(&is_limited_late, false, memory_order_relaxed)))
        (void)give_addresses_back();
    size_t n = grow_step(n_chunks);
    int err = -ENOMEM;
    for (; err != 0 && n >= n_chunks;
         n = n > n_chunks ? n_chunks : 0) { /* if the step is refused, the bare need */
        *got = n;
        err = vt__window.is_reserved ? commit_chunks(n, first) : map_chunks(n, first, got);
        if (n == 0) break;
    }
    if (err == 0) set_end(*first + *got);
    return err;
}

/* By halves, and at last the bare need. */
VT_COLD int vt__window_grow_part(unsigned n, size_t *chunk, unsigned *got) {
    size_t at = vt__window.n_chunks;
    if (at >= vt__window.n_bytes >> VT_CHUNK_SHIFT) return -ENOMEM;
    int err = commit_tables(at + 1);
    if (err != 0) return err;
    *chunk = at;
    for (*got = (unsigned)vt_max(VT_CHUNK_SLICES / 2, n);; *got = (unsigned)vt_max(*got / 2, n)) {
        err = make_chunks(vt__chunk_address(at), (size_t)*got << VT_SLICE_SHIFT);
        if (err == 0) set_end(at + 1);
        if (err == 0 || *got == n) return err;
    }
}

VT_COLD void vt__window_cut(size_t n_chunks) {
    size_t n_bytes = (vt__window.n_chunks - n_chunks) << VT_CHUNK_SHIFT;
    set_end(n_chunks);
    vt__os_unmap(vt__chunk_address(n_chunks), n_bytes);
}

size_t vt__heap_max_slices(void) { return vt_racy_read(vt__window.n_bytes) >> VT_SLICE_SHIFT; }

size_t vt__window_metadata_bytes(void) {
    return vt_racy_read(vt__map.n_slices) / VT_CHUNK_SLICES *
           (VT_CHUNK_SLICES * sizeof(struct slab) + sizeof(struct chunk));
}
