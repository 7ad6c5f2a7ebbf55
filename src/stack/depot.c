/* depot.c - the table of distinct call stacks.
 *
 * A sample names its stack by a 32-bit id; this file owns the mapping id <-> frames. Entries are never freed, so an id stays
 * valid until the process ends, and readers need no lock.
 *
 *   table[]    tag of the hash, id                  open addressing, a table per level; see below
 *   entry[id]  first word of the frames, how many   0: not there (yet)
 *   words[]    frames, one stack behind the other
 *
 * The first entries are where the table has no level yet, so that a small program's are in the OS page of its first slots.
 *
 * The table doubles without being moved: there is a table of 2^k slots for each level k, and the latest is at most 3/4 full. A
 * stack that is not in its window there is looked for in the older ones; if it is found, it gets a slot in the latest too, and
 * next time one look suffices. All together they are twice the latest.
 *
 * Climate: signal.   Owns: the three regions.   Callers: probe/ puts, dump/ gets.   Locks: none. A put takes room for the
 * frames, writes them, and publishes the id with one compare-and-swap; who loses it to the same stack gives the room back.
 * Limit:   2^20 stacks, 2^26 frames. Past it, put() answers 0 and counts what is lost.
 */
#include "os/box.h"
#include "stack/impl.h"

#define MAX_STACKS VT_STACK_MAX_ID
#define MAX_WORDS (UINT64_C(1) << 26)
#define FIRST_LEVEL 8
#define N_FIRST (1u << FIRST_LEVEL) /* entries in front of the table */
#define LAST_LEVEL 22
#define WINDOW 32 /* slots to look at */
#define CODE_BITS 12
#define N_CODE_BITS (1u << CODE_BITS)
#define CODE_SHIFT 16

#define ID_BITS 22 /* of `taken`: ids below, words above */
_Static_assert(MAX_STACKS < 1u << ID_BITS, "a full depot must not carry into the words");
_Static_assert(VT_STACK_MAX_FRAMES < 256, "the number of frames has 8 bits of an entry");
_Static_assert(N_FIRST == VT_BOX_FIRST_IDS, "vitrine-box.h");
enum { BOX_MAX_ID = VT_BOX_MAX_ID };
_Static_assert(MAX_STACKS == BOX_MAX_ID, "vitrine-box.h");

static struct {
    struct vt_region table, entries, words;
    _Atomic uint64_t
        taken; /* words << ID_BITS | ids, handed out together so that both can be given back */
    _Atomic uint32_t level; /* 0: FIRST_LEVEL */
    _Atomic uint64_t n_lost;
    /* which code there are frames of, by 64 KiB of it; see may_have_code() */
    _Atomic uint64_t code[N_CODE_BITS / 64];
} depot = {.table = VT_BOXED_REGION(VT_BOX_FIRST_ENTRIES, (size_t)16 << LAST_LEVEL, KiB(8)),
           .entries = VT_BOXED_REGION(VT_BOX_ENTRIES, (size_t)8 * (MAX_STACKS + 1), KiB(16)),
           .words = VT_BOXED_REGION(VT_BOX_WORDS, (size_t)8 * MAX_WORDS, KiB(64))};

typedef _Atomic uint64_t word;

static unsigned level_now(void) {
    return FIRST_LEVEL + atomic_load_explicit(&depot.level, memory_order_relaxed);
}

/* `number` decides the place, `tag` what is compared before the frames are: both mixed, as sums of products have weak bits. */
static uint32_t number_of(uint64_t hash) {
    hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(hash >> 32);
}
static uint64_t tag_of(uint64_t hash) { return hash >> 32 << 32; }

/* Of a level; as many before them are the older levels'. */
static word *slots_of(unsigned level) {
    return (word *)vt__region_base(&depot.table) + ((size_t)1 << level);
}

/* ---- entries ---- */

static word *entry_of(vt_stack_id id) {
    return (word *)vt__region_base(id < N_FIRST ? &depot.table : &depot.entries) + id;
}

static unsigned frames_of(vt_stack_id id, const uintptr_t **pc) {
    /* acquire: the frames that the entry speaks of; pairs with the release in fill */
    uint64_t e = atomic_load_explicit(entry_of(id), memory_order_acquire);
    *pc = (const uintptr_t *)vt__region_base(&depot.words) + (e >> 8);
    return (unsigned)(e & 0xff);
}

static bool has_frames(vt_stack_id id, const struct vt_frames *f) {
    const uintptr_t *pc;
    unsigned n = frames_of(id, &pc);
    if (n != f->n) return false;
    /* Mostly equal, so without a branch for each; four at a time, so that the processor sees further ahead while it waits for
     * memory. */
    const uintptr_t *other = f->pc, *end = pc + n;
    uintptr_t differ = 0;
    for (; end - pc >= 4; pc += 4, other += 4)
        differ |= (pc[0] ^ other[0]) | (pc[1] ^ other[1]) | (pc[2] ^ other[2]) | (pc[3] ^ other[3]);
    while (pc < end) differ |= *pc++ ^ *other++;
    return differ == 0;
}

/* Room for n frames and an id: the state before is in *before. 0: there is none. */
static vt_stack_id take_room(unsigned n, uint64_t *before) {
    uint64_t now = atomic_load_explicit(&depot.taken, memory_order_relaxed);
    uint64_t n_words;
    uint64_t id;
    do {
        n_words = now >> ID_BITS;
        id = (now & ((1u << ID_BITS) - 1)) + 1;
        if (id > MAX_STACKS || n_words + n > MAX_WORDS) return 0;
        if (!vt__region_ready(&depot.words, (n_words + n) * 8)) return 0;
        if (id >= N_FIRST && !vt__region_ready(&depot.entries, (id + 1) * 8)) return 0;
        /* acquire: an entry that was given back is empty before it is filled again; pairs with give_room */
    } while (!atomic_compare_exchange_weak_explicit(&depot.taken, &now,
                                                    now + ((uint64_t)n << ID_BITS) + 1,
                                                    memory_order_acquire, memory_order_relaxed));
    *before = now;
    return (vt_stack_id)id;
}

/* ---- code that frames lead to ---- */

static uint32_t code_bit(uintptr_t pc) {
    return (uint32_t)((pc >> CODE_SHIFT) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CODE_BITS));
}

static void note_code(uintptr_t pc) {
    uint32_t bit = code_bit(pc);
    uint64_t mask = UINT64_C(1) << (bit & 63);
    /* relaxed: vt__depot_mark finds it by the entry that comes after it */
    if ((atomic_load_explicit(&depot.code[bit / 64], memory_order_relaxed) & mask) == 0)
        atomic_fetch_or_explicit(&depot.code[bit / 64], mask, memory_order_relaxed);
}

/* False: no stack has an address there. True: one may have. */
static bool may_have_code(uintptr_t start, uintptr_t end) {
    uintptr_t step = (uintptr_t)1 << CODE_SHIFT;
    if (end - start > N_CODE_BITS * step) return true;
    for (uintptr_t at = vt_round_down(start, step); at <= end; at += step) {
        uint32_t bit = code_bit(at);
        if (atomic_load_explicit(&depot.code[bit / 64], memory_order_relaxed) >> (bit & 63) & 1)
            return true;
    }
    return false;
}

/* Readers that are at the same stack see some addresses with the mark and some without; words are whole, and either is right. */
__attribute__((no_sanitize("thread"))) VT_COLD bool vt__depot_mark(uintptr_t start, uintptr_t end,
                                                                   uintptr_t mark) {
    bool is_marked = false;
    uint32_t n_stacks = may_have_code(start, end) ? vt__depot_count() : 0;
    for (vt_stack_id id = 1; id <= n_stacks; id++) {
        const uintptr_t *pc;
        unsigned n = frames_of(id, &pc);
        for (unsigned i = 0; i < n; i++) {
            if (pc[i] - start > end - start) continue; /* a return address may be `end` */
            atomic_store_explicit((_Atomic uintptr_t *)&pc[i], pc[i] | mark, memory_order_relaxed);
            is_marked = true;
        }
    }
    return is_marked;
}

static void fill(vt_stack_id id, uint64_t before, const struct vt_frames *f) {
    uint64_t first = before >> ID_BITS;
    uintptr_t *to = (uintptr_t *)vt__region_base(&depot.words) + first;
    for (unsigned i = 0; i < f->n; i++) {
        to[i] = f->pc[i];
        note_code(f->pc[i]);
    }
    /* release: frames before the entry; pairs with the acquire in frames_of */
    atomic_store_explicit(entry_of(id), first << 8 | f->n, memory_order_release);
}

/* If nobody took room after us; else it stays a hole: an id without frames that nobody will ask for. */
static void give_room(vt_stack_id id, uint64_t before, unsigned n) {
    uint64_t now = before + ((uint64_t)n << ID_BITS) + 1;
    atomic_store_explicit(entry_of(id), 0, memory_order_relaxed);
    /* release: pairs with the acquire in take_room */
    atomic_compare_exchange_strong_explicit(&depot.taken, &now, before, memory_order_release,
                                            memory_order_relaxed);
}

/* ---- the table ---- */

void vt__depot_expect(uint64_t hash) {
    char *base = atomic_load_explicit(&depot.table.base, memory_order_relaxed);
    unsigned level = level_now();
    if (base != NULL)
        __builtin_prefetch(slots_of(level) + (number_of(hash) & (((size_t)1 << level) - 1)));
}

/* The id in the window of this level; 0: not there, and *empty is the first free slot (NULL: none). */
static vt_stack_id look(unsigned level, const struct vt_frames *f, const struct vt_stack_rows *rows,
                        word **empty) {
    uint32_t number = number_of(f->hash);
    word *slots = slots_of(level);
    *empty = NULL;
    for (unsigned i = 0; i < WINDOW; i++) {
        word *slot = &slots[(number + i) & (((size_t)1 << level) - 1)];
        /* acquire: the entry of the id; pairs with the release in publish */
        uint64_t w = atomic_load_explicit(slot, memory_order_acquire);
        if (w == 0) {
            *empty = slot;
            return 0;
        }
        if (((w ^ f->hash) >> 32) != 0) continue;
        vt__fetch_row(rows, (vt_stack_id)w);
        if (has_frames((vt_stack_id)w, f)) return (vt_stack_id)w;
    }
    return 0;
}

static vt_stack_id look_in_older(unsigned level, const struct vt_frames *f) {
    word *unused;
    while (level > FIRST_LEVEL) {
        vt_stack_id id = look(--level, f, NULL, &unused);
        if (id != 0) return id;
    }
    return 0;
}

/* One level more; false: it is the last. */
static bool raise_level(unsigned from) {
    uint32_t now = from - FIRST_LEVEL;
    if (from == LAST_LEVEL || !vt__region_ready(&depot.table, (size_t)16 << (from + 1)))
        return false;
    /* relaxed: the slots are there before it, and empty; on failure somebody else did it */
    atomic_compare_exchange_strong_explicit(&depot.level, &now, now + 1, memory_order_relaxed,
                                            memory_order_relaxed);
    return true;
}

/* Puts the id into the first free slot of the window; false: somebody was faster, or the window is full. */
static bool publish(word *slot, const struct vt_frames *f, vt_stack_id id) {
    uint64_t none = 0;
    /* release: entry and frames before the id can be found; pairs with the acquire in look */
    return slot != NULL &&
           atomic_compare_exchange_strong_explicit(slot, &none, tag_of(f->hash) | id,
                                                   memory_order_release, memory_order_relaxed);
}

static vt_stack_id lose(void) {
    atomic_fetch_add_explicit(&depot.n_lost, 1, memory_order_relaxed);
    return 0;
}

/* Not where it belongs: in an older window, or new. `id` has our frames already, or is 0. */
static VT_COLD vt_stack_id put_slow(const struct vt_frames *f) {
    uint64_t before = 0;
    vt_stack_id id = 0;
    vt_stack_id found;
    for (;;) {
        word *empty;
        unsigned level = level_now();
        found = look(level, f, NULL, &empty);
        if (found != 0) break;
        if (empty == NULL) { /* a crowded window: a larger table has room */
            if (raise_level(level)) continue;
            break;
        }
        found = look_in_older(level, f);
        if (found != 0) {
            publish(empty, f, found); /* if not, next time */
            break;
        }
        if (id == 0) {
            id = take_room(f->n, &before);
            if (id == 0) break;
            fill(id, before, f);
            if (id > (uint32_t)3 << level >> 2) raise_level(level);
        }
        if (publish(empty, f, id)) return id;
    }
    if (id != 0) give_room(id, before, f->n);
    return found != 0 ? found : lose();
}

vt_stack_id vt__depot_put_with(const struct vt_frames *f, const struct vt_stack_rows *rows) {
    word *empty;
    if (f->n == 0) return 0;
    if (!vt__region_ready(&depot.table, (size_t)16 << FIRST_LEVEL)) return lose();
    vt_stack_id id = look(level_now(), f, rows, &empty);
    return vt_likely(id != 0) ? id : put_slow(f);
}

vt_stack_id vt__depot_put(const struct vt_frames *f) { return vt__depot_put_with(f, NULL); }

uint32_t vt__depot_count(void) {
    return (uint32_t)(atomic_load_explicit(&depot.taken, memory_order_relaxed) &
                      ((1u << ID_BITS) - 1));
}

unsigned vt__depot_get(vt_stack_id id, const uintptr_t **pc) {
    *pc = NULL;
    if (id == 0 || id > vt__depot_count()) return 0;
    return frames_of(id, pc);
}

void vt__depot_stats(struct vt_stack_stats *out) {
    out->n_stacks = vt__depot_count();
    out->n_lost = atomic_load_explicit(&depot.n_lost, memory_order_relaxed);
    out->depot_bytes = atomic_load_explicit(&depot.table.n_ready, memory_order_relaxed) +
                       atomic_load_explicit(&depot.entries.n_ready, memory_order_relaxed) +
                       atomic_load_explicit(&depot.words.n_ready, memory_order_relaxed);
}
