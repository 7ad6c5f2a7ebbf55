/* threads.c - the names of threads, by number.
 *
 * The system has them; a thread is named some time after its start, and may be named again. So a name is read when its thread has
 * something recorded for the 1st, 2nd, 4th, 8th ... time, and then every LOOK_EVERYth; when the thread ends; and, of those that
 * live, before a profile is written. They outlive the process (VT_BOX_THREADS). While nobody has asked for a profile, a rate, exact mode
 * or a black box, none is read.
 *
 * A number is a heap's, and threads that follow one another have the same heap. A thread that finds its number under the name of one
 * that has ended takes another: one that was left with this name, or a new one. So a row is of one name, and there are
 * not more numbers than heaps and names.
 *
 * Climate: malloc, inside a slow path of the heap; the refresh host.   Owns: the names.   Locks: probe.
 * Limit: past MAX_NEW such numbers, what both threads did stands under the later one's name.
 */
#include "base/text.h"
#include "heap/heap.h"
#include "heap/upcalls.h"
#include "os/box.h"
#include "probe/impl.h"
#include "probe/table.h"
#include "probe/upcalls.h"

#define MAX_NEW 256

_Static_assert(sizeof(((struct vt_box_thread *)0)->name) == VT_TASK_NAME_BYTES, "as the system's");

static struct {
    struct vt_rows rows;
    uint32_t n_new;
} threads = {.rows = {.row_bytes = sizeof(struct vt_box_thread), .box = VT_BOX_THREADS}};

__thread uint32_t vt__thread_n_recorded __attribute__((tls_model("initial-exec")));

/* ---- rows, with the lock ---- */

/* NULL: no memory. */
static struct vt_box_thread *row_of(uint32_t number) {
    while (threads.rows.n < number)
        if (vt__row_add(&threads.rows) == 0) return NULL;
    return vt__row(&threads.rows, number);
}

static bool has_name(const struct vt_box_thread *t, const char *name) {
    return vt__str_equal(t->name, name);
}

/* Others may be reading it: they take what is there. */
static void set_name(struct vt_box_thread *t, const char *name) {
    bool is_end = false;
    for (unsigned i = 0; i < sizeof(t->name); i++) {
        is_end = is_end || name[i] == '\0' || i + 1 == sizeof(t->name);
        __atomic_store_n(&t->name[i], is_end ? '\0' : name[i], __ATOMIC_RELAXED);
    }
}

/* Of those that no thread has; 0: none. */
static uint32_t find_left(const char *name) {
    for (uint32_t i = 1; i <= threads.rows.n; i++) {
        const struct vt_box_thread *t = vt__row(&threads.rows, i);
        if (t->is_left && has_name(t, name)) return i;
    }
    return 0;
}

static void set_first_ended(void) {
    atomic_store_explicit(&vt__thread_first_ended, true, memory_order_relaxed);
}

static bool has_first_ended(void) {
    return atomic_load_explicit(&vt__thread_first_ended, memory_order_relaxed);
}

/* ---- the calling thread ---- */

/* From here on it counts apart from the thread that had this number before. NULL: no memory. */
static struct vt_box_thread *change_number(struct vt_box_thread *mine, uint32_t to) {
    mine->is_left = 1;
    mine->n_ended++;
    mine->tid = 0;
    if (to == 0) threads.n_new++;
    *vt__heap_probe_slot(VT_SLOT_EXACT) = NULL; /* its table has the number */
    struct vt_box_thread *t = row_of(vt__heap_renumber_thread(to));
    if (t != NULL) t->is_left = 0;
    return t;
}

static struct vt_box_thread *row_for(struct vt_box_thread *mine, const char *name) {
    if (has_name(mine, name)) return mine;
    if (mine->name[0] == '\0' && mine->n_ended == 0) return mine;
    uint32_t left = find_left(name);
    bool has_reason = left != 0 || (mine->n_ended > 0 && threads.n_new < MAX_NEW);
    return has_reason ? change_number(mine, left) : mine;
}

VT_COLD void vt__thread_look(void) {
    char name[VT_TASK_NAME_BYTES] = "";
    uint32_t number = vt__heap_thread_number();
    if (number == 0) return;
    if (!vt__box_is_mine()) vt__life_box_attend();
    vt__os_my_name(name);
    vt_lock(&vt__probe_lock);
    struct vt_box_thread *t = row_of(number);
    if (t != NULL) t = row_for(t, name);
    if (t != NULL) set_name(t, name);
    if (t != NULL && t->tid == 0) t->tid = (uint32_t)vt__os_tid();
    vt_unlock(&vt__probe_lock);
}

/* What is recorded under its number keeps its name. */
void vt__probe_thread_ends(void) {
    char name[VT_TASK_NAME_BYTES] = "";
    uint32_t number = vt__heap_thread_number();
    if (number == 1) set_first_ended();
    if (number == 0 || !vt__box_is_mine()) return;
    bool has_slot = *vt__heap_probe_slot(VT_SLOT_EXACT) != NULL;
    if (!has_slot && *vt__heap_probe_slot(VT_SLOT_SAMPLES) == NULL) return; /* nothing of it */
    bool is_asked = vt__sample_names_threads();
    if (is_asked) vt__os_my_name(name);
    if (!vt__probe_enter()) return;
    struct vt_box_thread *t = row_of(number);
    if (t != NULL && t->n_ended++ == 0 && is_asked) set_name(t, name);
    if (t != NULL) t->tid = 0;
    vt__probe_leave();
}

void vt__thread_set_name(const char *name) {
    if (vt__heap_label() == NULL || !vt__probe_enter()) return; /* it has a heap from here on */
    struct vt_box_thread *t = row_of(vt__heap_thread_number());
    if (t != NULL) set_name(t, name);
    vt__probe_leave();
}

/* ---- all of them ---- */

const char *vt__thread_name(uint32_t number) {
    const char *name = "";
    if (!vt__probe_enter()) return name;
    if (number != 0 && number <= threads.rows.n)
        name = ((const struct vt_box_thread *)vt__row(&threads.rows, number))->name;
    vt__probe_leave();
    return name;
}

/* With the lock: the kernel's id of who alone has had this number; 0: nobody. */
static uint32_t tid_of(uint32_t number) {
    struct vt_box_thread *t = row_of(number);
    if (t == NULL || t->n_ended > 0) return 0;
    return number == 1 && !has_first_ended() ? (uint32_t)vt__os_pid() : t->tid;
}

/* False: there are no more. */
static bool next_tid(uint32_t number, uint32_t *tid) {
    if (!vt__probe_enter()) return false;
    bool is_there = number == 1 || number <= threads.rows.n;
    *tid = is_there ? tid_of(number) : 0;
    vt__probe_leave();
    return is_there;
}

static void rename_row(uint32_t number, uint32_t tid, const char *name) {
    if (!vt__probe_enter()) return;
    if (tid_of(number) == tid) set_name(row_of(number), name);
    vt__probe_leave();
}

/* Files are read without the lock. */
void vt__threads_refresh(void) {
    uint32_t tid;
    vt__sample_want_names();
    if (!vt__sample_names_threads() || !vt__box_is_mine()) return;
    for (uint32_t i = 1; next_tid(i, &tid); i++) {
        char name[VT_TASK_NAME_BYTES] = "";
        if (tid != 0) vt__os_task_name((int)tid, name);
        if (name[0] != '\0') rename_row(i, tid, name);
    }
}

/* With the lock, in the child of a fork: it has one thread. */
void vt__threads_forked(void) {
    uint32_t mine = vt__heap_thread_number();
    for (uint32_t i = 1; i <= threads.rows.n; i++) {
        struct vt_box_thread *t = vt__row(&threads.rows, i);
        t->tid = i == mine ? (uint32_t)vt__os_pid() : 0;
    }
    if (mine != 1) set_first_ended();
}
