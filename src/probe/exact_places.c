/* exact_places.c - places in exact mode that are more than a stack.
 *
 * A table has a row for each stack, found by the stack's id. Two things need other rows: a thread's labels, and the free of a block
 * that another thread allocated, which counts for that thread. Such a place has a number above all stacks:
 *
 *   stack   label   thread
 *     7       0       0      of the thread itself; no place, row 7. Or it is the first of its stack, which the others hang on
 *     7       3       0      of the thread itself, with labels
 *     7       0       12     freed here, allocated by thread 12
 *
 * Climate: malloc.   Owns: the places; they are never forgotten.   Locks: probe. A thread knows its places of late without it.
 * Limit: VT_EXACT_PLACES. Past it labels are left out, and a free counts for the thread that frees.
 */
#include "os/box.h"
#include "probe/exact_impl.h"
#include "probe/table.h"

static struct vt_rows places = {.row_bytes = sizeof(struct vt_box_place), .box = VT_BOX_PLACES};

static struct vt_box_place *row(uint32_t id) { return vt__row(&places, id); }

static uint64_t hash_key(const struct vt_box_place *k) {
    return vt__mix(vt__mix((uint64_t)k->stack << 32 | k->thread) + k->label);
}

static uint64_t hash_of(uint32_t id) { return hash_key(row(id)); }
static struct vt_index by_key = {.hash_of = hash_of};

static bool is_same(uint32_t id, const void *key) {
    const struct vt_box_place *a = row(id), *b = key;
    return a->stack == b->stack && a->label == b->label && a->thread == b->thread;
}

static uint32_t find(const struct vt_box_place *key) {
    return vt__index_find(&by_key, hash_key(key), is_same, key);
}

static uint32_t add(const struct vt_box_place *key) {
    if (places.n + 1 >= VT_EXACT_PLACES) return 0;
    uint32_t id = vt__row_add(&places);
    if (id == 0) return 0;
    *row(id) = *key;
    if (vt__index_add(&by_key, id)) return id;
    places.n--;
    return 0;
}

/* With the lock; 0: no room. */
static uint32_t find_or_add(uint32_t stack, uint32_t label, uint32_t thread) {
    struct vt_box_place key = {stack, label, thread, 0}, first = {.stack = stack};
    uint32_t id = find(&key);
    if (id != 0) return id;
    uint32_t head = find(&first);
    if (head == 0) head = add(&first);
    if (head == 0) return 0;
    key.next = row(head)->next;
    id = add(&key);
    if (id != 0) row(head)->next = id;
    return id;
}

static uint32_t number_of(uint32_t id) { return id != 0 ? VT_STACK_MAX_ID + id : 0; }
static uint32_t id_of(uint32_t place) { return place - VT_STACK_MAX_ID; }

VT_COLD uint32_t vt__exact_find_place(struct vt_exact_late *late, uint32_t stack, uint32_t label,
                                      uint32_t thread, bool has_lock) {
    if (!has_lock) vt_lock(&vt__probe_lock);
    uint32_t place = number_of(find_or_add(stack, label, thread));
    if (!has_lock) vt_unlock(&vt__probe_lock);
    if (place == 0) return stack;
    *late = (struct vt_exact_late){stack, label, thread, place};
    return place;
}

void vt__exact_place(uint32_t place, uint32_t *stack, uint32_t *label, uint32_t *thread) {
    const struct vt_box_place none = {.stack = place};
    const struct vt_box_place *p = place > VT_STACK_MAX_ID ? row(id_of(place)) : &none;
    *stack = p->stack; /* not `next`, which changes under the lock */
    *label = p->label;
    *thread = p->thread;
}

uint32_t vt__exact_known_place(uint32_t stack, uint32_t label, uint32_t thread) {
    return number_of(find(&(struct vt_box_place){stack, label, thread, 0}));
}

uint32_t vt__exact_places(void) { return places.n; }

uint32_t vt__exact_place_of_stack(uint32_t stack) {
    uint32_t head = find(&(struct vt_box_place){.stack = stack});
    return head != 0 ? number_of(row(head)->next) : 0;
}

uint32_t vt__exact_place_after(uint32_t place) { return number_of(row(id_of(place))->next); }
