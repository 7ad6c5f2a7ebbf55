/* heap_jemalloc.c - a heap profile in the text form of jemalloc, for jeprof.
 *
 *   heap_v2/PERIOD
 *     t*: objects: bytes [objects: bytes]            in use [allocated], sums of all rows
 *     tN: objects: bytes [objects: bytes] NAME       one per thread; N is its number, 0: all threads together
 *   @ 0x... 0x...                                    one block per row, innermost address first
 *     t*: objects: bytes [objects: bytes]
 *     tN: objects: bytes [objects: bytes]
 *
 *   MAPPED_LIBRARIES:
 *   the text of /proc/self/maps
 *
 * A stack that several threads have in common has a block for each; jeprof adds blocks up, and scales each `t*` line by
 * its own mean size. Numbers are as seen, the reader scales them; PERIOD 1 makes it leave them alone (e^-16, at our smallest
 * class, is 10^-7). The first address is written less one, as jeprof does that for all the others only.
 *
 * Two passes; rows that change between them make the first lines differ from the blocks, which no reader minds.
 *
 * Climate: host, no malloc.   Owns: its table of threads.
 */
#include "dump/impl.h"
#include "os/os.h"

#define NAME_BYTES 32
#define FIRST_THREADS 128

struct thread {
    uint32_t id;
    struct vt_heap_sum sum;
    char name[NAME_BYTES]; /* cut if it must be */
};

struct threads {
    struct thread *slot; /* in the order of their appearance */
    uint32_t *index; /* hash of id -> number in slot, plus 1; 0: empty. Twice as many as slots */
    size_t n, cap;
    void *memory;
    size_t memory_bytes;
};

static uint32_t *find_index(const struct threads *t, uint32_t id) {
    size_t i = id * 2654435761u % (2 * t->cap);
    while (t->index[i] != 0 && t->slot[t->index[i] - 1].id != id) i = (i + 1) % (2 * t->cap);
    return &t->index[i];
}

static int grow(struct threads *t) {
    struct threads larger = {.n = t->n, .cap = t->cap == 0 ? FIRST_THREADS : t->cap * 2};
    size_t slots_bytes = larger.cap * sizeof(struct thread);
    larger.memory_bytes = vt_round_up(slots_bytes + 2 * larger.cap * sizeof(uint32_t), VT_OS_PAGE);
    int err = vt__os_map(larger.memory_bytes, &larger.memory);
    if (err != 0) return err;
    larger.slot = larger.memory;
    larger.index = (uint32_t *)(void *)((char *)larger.memory + slots_bytes);
    for (size_t i = 0; i < t->n; i++) {
        larger.slot[i] = t->slot[i];
        *find_index(&larger, t->slot[i].id) = (uint32_t)i + 1;
    }
    if (t->memory != NULL) vt__os_unmap(t->memory, t->memory_bytes);
    *t = larger;
    return 0;
}

static int thread_of(struct threads *t, const struct vt_heap_row *row, struct thread **out) {
    if (t->n == t->cap) {
        int err = grow(t);
        if (err != 0) return err;
    }
    uint32_t *index = find_index(t, row->thread);
    if (*index == 0) {
        t->slot[t->n++].id = row->thread;
        *index = (uint32_t)t->n;
    }
    *out = &t->slot[*index - 1];
    return 0;
}

static void note_name(struct thread *thread, const char *name) {
    if (name == NULL || thread->name[0] != '\0') return;
    for (size_t i = 0; i + 1 < NAME_BYTES && name[i] != '\0'; i++) thread->name[i] = name[i];
}

static int sum_up(struct threads *t, struct vt_heap_sum *total, const struct vt_heap_source *src) {
    struct vt_heap_row row;
    struct thread *thread;
    src->rewind(src->state, /* by_thread */ true);
    while (vt__row_next(src, &row)) {
        int err = thread_of(t, &row, &thread);
        if (err != 0) return err;
        note_name(thread, row.thread_name);
        vt__sum_add(&thread->sum, &row);
        vt__sum_add(total, &row);
    }
    return 0;
}

static void put_counts(struct vt_text *t, const struct vt_heap_sum *n) {
    vt__text_uint(t, n->inuse_objects);
    vt__text_put(t, ": ");
    vt__text_uint(t, n->inuse_bytes);
    vt__text_put(t, " [");
    vt__text_uint(t, n->alloc_objects);
    vt__text_put(t, ": ");
    vt__text_uint(t, n->alloc_bytes);
    vt__text_char(t, ']');
}

static void put_all_threads(struct vt_text *t, const struct vt_heap_sum *n) {
    vt__text_put(t, "  t*: ");
    put_counts(t, n);
    vt__text_char(t, '\n');
}

static void put_thread(struct vt_text *t, uint32_t id, const struct vt_heap_sum *n) {
    vt__text_put(t, "  t");
    vt__text_uint(t, id);
    vt__text_put(t, ": ");
    put_counts(t, n);
}

static void put_header(struct vt_text *t, const struct vt_heap_source *src,
                       const struct threads *threads, const struct vt_heap_sum *total) {
    vt__text_put(t, "heap_v2/");
    vt__text_uint(t, vt__is_to_scale(src) ? src->period_bytes : 1);
    vt__text_char(t, '\n');
    put_all_threads(t, total);
    for (size_t i = 0; i < threads->n; i++) {
        const struct thread *thread = &threads->slot[i];
        put_thread(t, thread->id, &thread->sum);
        if (thread->name[0] != '\0') vt__text_char(t, ' ');
        vt__put_tame(t, thread->name, vt__str_len(thread->name), "");
        vt__text_char(t, '\n');
    }
}

static void put_block(struct vt_text *t, const struct vt_heap_row *row) {
    struct vt_heap_sum n = {0};
    vt__sum_add(&n, row);
    vt__text_char(t, '@');
    if (row->n_pcs == 0)
        vt__text_put(t,
                     " 0x0"); /* without an address jeprof takes the block before for its stack */
    for (unsigned i = 0; i < row->n_pcs; i++) {
        vt__text_char(t, ' ');
        vt__text_hex(t, i == 0 ? vt__call_of(row->pc[0]) : row->pc[i]);
    }
    vt__text_char(t, '\n');
    put_all_threads(t, &n);
    put_thread(t, row->thread, &n);
    vt__text_char(t, '\n');
}

int vt__heap_jemalloc(struct vt_out *o, const struct vt_heap_source *src) {
    struct threads threads = {0};
    struct vt_heap_sum total = {0};
    struct vt_heap_row row;
    int err = sum_up(&threads, &total, src);
    if (err == 0) {
        put_header(&o->text, src, &threads, &total);
        src->rewind(src->state, /* by_thread */ true);
        while (o->err == 0 && vt__row_next(src, &row)) put_block(&o->text, &row);
        vt__put_mapped_libraries(o);
    }
    if (threads.memory != NULL) vt__os_unmap(threads.memory, threads.memory_bytes);
    return err;
}
