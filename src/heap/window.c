/* window.c - the one range of addresses that malloc hands out, and the tables beside it.
 *
 *   reserved mode     all of the window is reserved at start (no access, nothing charged) and made accessible from the
 *                     bottom as it is needed; a smaller one where so long a range is not free (a sanitizer's shadow)
 *   constrained mode  for RLIMIT_AS and systems that refuse the reservation: the same arithmetic over a window that is only
 *                     an idea; each chunk is mapped when needed. A chunk somebody else sits in is skipped.
 *
 * The tables are reserved in both modes, with a gap of no access around each, and made accessible with the chunks.
 *
 * Climate: malloc.   Owns: where things are, vt__window.   Locks: growth happens under the pool lock (chunk.c).
 */
#include <errno.h>

#include "conf/options.h"
#include "heap/impl.h"
#include "heap/link.h"
#include "os/os.h"

#define GAP_BYTES MiB(2)     /* no access between tables */
#define TABLE_STEP_CHUNKS 64 /* tables become accessible for this many chunks at a time */
#define GROW_MAX_CHUNKS 32   /* 64 MiB */
#define RESERVED_MIN GiB(64)
#define CONSTRAINED_MAX GiB(64)
#define CONSTRAINED_MIN GiB(1)
#define CONSTRAINED_LOW                                                                            \
    TiB(16) /* between a program's own places and the system's, nothing lives there */
#define FOREIGN_TRIES 64
#define PLACE_TRIES 16
#define SMALL_PROGRAM_BYTES MiB(8) /* no huge pages below this */

/* Whoever reads the base before the start may be interrupted by it, in a handler that allocates, and read n_slices after: even then no
 * pointer, nor NULL, lies behind this base. */
#define BASE_BEFORE_START ((uintptr_t)1 << 63)

struct vt_map vt__map = {.base = BASE_BEFORE_START, .key = VT_KEY_BITS};
struct vt_window vt__window;
const struct block vt__nil = {0};

static size_t n_table_chunks; /* chunks whose tables are accessible */
static bool is_huge_always;   /* the kernel gives huge pages to whoever does not refuse them */

static size_t wanted_bytes(void) {
    size_t n = vt_opt(window);
    if (n == 0) n = vt_min(vt_max(TiB(1), 4 * vt__os_ram_bytes()), TiB(16));
    return (size_t)1 << vt_log2(vt_max(n, CONSTRAINED_MIN));
}

/* Under an address limit the tables count too: the window is no larger than can ever be used, with room for holes. */
static size_t constrained_bytes(size_t limit) {
    if (limit >= CONSTRAINED_MAX / 2) return CONSTRAINED_MAX;
    return vt_max((size_t)2 << vt_log2(vt_max(limit, 1)), CONSTRAINED_MIN);
}

static int open_tables(size_t window_bytes) {
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
    char *next = (char *)at + GAP_BYTES;
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
    err = open_tables(n_bytes);
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

static bool is_taken(uintptr_t base) {
    int err = vt__os_map_at((void *)base, VT_CHUNK);
    if (err == 0) vt__os_unmap((void *)base, VT_CHUNK);
    return err == -EEXIST;
}

/* A place whose beginning is free, if a few draws find one: a sanitizer's shadow may be large. Later obstacles are gone
 * around, see map_chunks. */
static uintptr_t draw_place(void) {
    uintptr_t base = 0;
    for (unsigned i = 0; i < PLACE_TRIES; i++) {
        base = CONSTRAINED_LOW + (vt__os_random() % CONSTRAINED_LOW & ~(VT_CHUNK - 1));
        if (!is_taken(base)) break;
    }
    return base;
}

static int open_constrained(size_t limit) {
    size_t n_bytes = constrained_bytes(limit);
    int err = open_tables(n_bytes);
    if (err != 0) return err;
    vt__map.base = draw_place();
    vt__window.n_bytes = n_bytes;
    vt__window.is_reserved = false;
    return 0;
}

int vt__window_open(void) {
    vt__map.key = (vt__os_random() & ~(UINT64_C(0xff) << 56)) | VT_KEY_BITS;
    is_huge_always = vt__os_hugepages_are_always();
    vt__window.first_huge = first_huge();
    size_t limit = vt__os_address_limit();
    if (limit < SIZE_MAX) return open_constrained(limit);
    size_t n_bytes = wanted_bytes();
    int err = open_reserved(n_bytes);
    while (err != 0 && (n_bytes /= 4) >= RESERVED_MIN) err = open_reserved(n_bytes);
    return err != 0 ? open_constrained(limit) : 0;
}

static int make_accessible(void *at, size_t n_bytes) {
    int err = vt__os_commit(at, n_bytes);
    if (err == 0) vt__os_core(at, n_bytes, true);
    return err;
}

static int commit_table(void *table, size_t row_bytes, size_t first, size_t end) {
    uintptr_t from = vt_round_down((uintptr_t)table + first * row_bytes, VT_OS_PAGE);
    uintptr_t to = vt_round_up((uintptr_t)table + end * row_bytes, VT_OS_PAGE);
    return make_accessible((void *)from, to - from);
}

/* The tables' rows for all chunks below `end`. */
static int commit_tables(size_t end) {
    if (end <= n_table_chunks) return 0;
    size_t to = vt_min(vt_round_up(end, TABLE_STEP_CHUNKS), vt__window.n_bytes >> VT_CHUNK_SHIFT);
    int err =
        commit_table(vt__map.slabs, VT_CHUNK_SLICES * sizeof(struct slab), n_table_chunks, to);
    if (err == 0) err = commit_table(vt__chunks, sizeof(struct chunk), n_table_chunks, to);
    if (err == 0) n_table_chunks = to;
    return err;
}

/* Constrained mode: up to n chunks in a row at the top. Somebody else's mapping may be in the way: then as many as fit
 * before it, and a chunk that is taken is skipped for good. */
static int map_chunks(size_t n, size_t *first, size_t *got) {
    unsigned tries = 0;
    while (tries < FOREIGN_TRIES) {
        size_t at = vt__window.n_chunks;
        if (at + n > vt__window.n_bytes >> VT_CHUNK_SHIFT) return -ENOMEM;
        int err = commit_tables(at + n);
        if (err == 0) err = vt__os_map_at(vt__chunk_address(at), n << VT_CHUNK_SHIFT);
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
    return make_accessible(vt__chunk_address(*first), n << VT_CHUNK_SHIFT);
}

/* A little more than asked for as the heap grows, so that growing costs few system calls. */
static size_t grow_step(size_t n_chunks) {
    return vt_max(n_chunks, vt_min(vt__window.n_chunks / 8, GROW_MAX_CHUNKS));
}

int vt__window_grow(size_t n_chunks, size_t *first, size_t *got) {
    size_t n = grow_step(n_chunks);
    int err = -ENOMEM;
    for (; err != 0 && n >= n_chunks;
         n = n > n_chunks ? n_chunks : 0) { /* if the step is refused, the bare need */
        *got = n;
        err = vt__window.is_reserved ? commit_chunks(n, first) : map_chunks(n, first, got);
        if (n == 0) break;
    }
    if (err != 0) return err;
    vt__window.n_chunks = *first + *got;
    /* relaxed: whoever frees a pointer got it from a thread that saw this, or from us */
    __atomic_store_n(&vt__map.n_slices, vt__window.n_chunks * VT_CHUNK_SLICES, __ATOMIC_RELAXED);
    return 0;
}

size_t vt__heap_max_slices(void) { return vt__window.n_bytes >> VT_SLICE_SHIFT; }

size_t vt__window_metadata_bytes(void) {
    return vt_racy_read(vt__map.n_slices) / VT_CHUNK_SLICES *
           (VT_CHUNK_SLICES * sizeof(struct slab) + sizeof(struct chunk));
}
