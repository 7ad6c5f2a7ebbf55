/* history.c - samples in the order they were allocated, see history.h.
 *
 *   row     one sample. In a list of all rows in use by age, while it is among the last N or in the log; found by address while
 *           it lives.
 *
 * Climate: malloc; the readers host.   Owns: the rows.   Locks: probe.
 */
#include "heap/heap.h"
#include "os/os.h"
#include "probe/history.h"
#include "probe/impl.h"
#include "probe/table.h"
#include "stack/stack.h"

struct row {
    struct vt_past past;
    uintptr_t at;          /* 0: freed, or not in use */
    uint32_t older, newer; /* 0: none. Not in use: newer is the next free one */
    bool is_recent, is_logged;
};

static struct {
    struct vt_rows rows;
    uint32_t unused, oldest, newest;
    uint32_t oldest_recent; /* no row before it is recent; 0: none is */
    uint64_t n_recent, most_recent;
    bool is_logging;
    struct vt_frames frames;
} history = {.rows = {.row_bytes = sizeof(struct row)}};

static struct row *row(uint32_t id) { return vt__row(&history.rows, id); }
static uint64_t hash_of(uint32_t id) { return vt__mix(row(id)->at); }
static bool is_at(uint32_t id, const void *at) { return row(id)->at == (uintptr_t)at; }
static struct vt_index by_address = {.hash_of = hash_of};

static uint32_t take_row(void) {
    uint32_t id = history.unused;
    if (id == 0) return vt__row_add(&history.rows);
    history.unused = row(id)->newer;
    return id;
}

static void forget_address(uint32_t id) {
    if (row(id)->at != 0) vt__index_remove(&by_address, id);
    row(id)->at = 0;
}

static void drop_if_unwanted(uint32_t id) {
    struct row *r = row(id);
    if (r->is_recent || r->is_logged) return;
    forget_address(id);
    if (r->older != 0)
        row(r->older)->newer = r->newer;
    else
        history.oldest = r->newer;
    if (r->newer != 0)
        row(r->newer)->older = r->older;
    else
        history.newest = r->older;
    *r = (struct row){.newer = history.unused};
    history.unused = id;
}

static void keep_no_more_than(uint64_t most) {
    uint32_t id = history.oldest_recent;
    while (id != 0 && history.n_recent > most) {
        uint32_t next = row(id)->newer;
        if (row(id)->is_recent) history.n_recent--;
        row(id)->is_recent = false;
        drop_if_unwanted(id);
        id = next;
    }
    while (id != 0 && !row(id)->is_recent) id = row(id)->newer;
    history.oldest_recent = id;
}

void vt__history_allocated(const struct vt_sampled *s) {
    if (history.most_recent == 0 && !history.is_logging) return;
    uint32_t id = take_row();
    if (id == 0) return;
    struct row *r = row(id);
    *r = (struct row){.past = {.requested_bytes = s->requested_bytes,
                               .block_bytes = s->block_bytes,
                               .born = {vt__os_now_ns(), s->stack, s->thread}},
                      .at = (uintptr_t)s->at,
                      .older = history.newest,
                      .is_recent = history.most_recent != 0,
                      .is_logged = history.is_logging};
    if (history.newest != 0)
        row(history.newest)->newer = id;
    else
        history.oldest = id;
    history.newest = id;
    history.n_recent += r->is_recent;
    if (r->is_recent && history.oldest_recent == 0) history.oldest_recent = id;
    if (!vt__index_add(&by_address, id)) r->at = 0; /* its end will not be known */
    keep_no_more_than(history.most_recent);
}

void vt__history_freed(const struct vt_sampled *s) {
    if (by_address.n == 0) return;
    uint32_t id = vt__index_find(&by_address, vt__mix((uintptr_t)s->at), is_at, s->at);
    if (id == 0) return;
    forget_address(id);
    row(id)->past.died = (struct vt_past_end){
        vt__os_now_ns(), vt__stack_id_here(&history.frames, NULL), vt__heap_thread_number()};
}

void vt__history_keep(uint64_t n_last) {
    if (!vt__probe_enter()) return;
    history.most_recent = n_last;
    keep_no_more_than(n_last);
    vt__probe_leave();
}

void vt__history_log(bool on) {
    if (!vt__probe_enter()) return;
    for (uint32_t id = history.oldest, next; id != 0; id = next) {
        next = row(id)->newer;
        row(id)->is_logged = false;
        drop_if_unwanted(id);
    }
    history.is_logging = on;
    vt__probe_leave();
}

/* The cursor is the row before; if that went meanwhile, the rest is left out. */
static bool next_of(uint32_t *cursor, bool of_log, struct vt_past *out) {
    bool is_found = false;
    if (!vt__probe_enter()) return false;
    uint32_t id = *cursor == 0 ? history.oldest : row(*cursor)->newer;
    for (; id != 0 && !is_found; id = row(id)->newer) {
        const struct row *r = row(id);
        if (!r->is_recent && !r->is_logged) break;
        *cursor = id;
        is_found = of_log ? r->is_logged && r->past.died.at_ns != 0 : r->is_recent;
        *out = r->past;
    }
    vt__probe_leave();
    return is_found;
}

bool vt__history_next_recent(uint32_t *cursor, struct vt_past *out) {
    return next_of(cursor, /* of_log */ false, out);
}
bool vt__history_next_logged(uint32_t *cursor, struct vt_past *out) {
    return next_of(cursor, /* of_log */ true, out);
}
