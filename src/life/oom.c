/* oom.c - the option heap_oom: a heap profile before the system kills somebody for memory, not after.
 *
 * Looked at in two ways. Where samples are added up (probe/sample_totals.c), by a program that allocates, that is: ten times in a second, and
 * again when the heap has grown by a quarter of what was left. And by the thread of purger.c, because memory may be filled long after its
 * malloc: the sooner the less is left. One profile for each rise above the share; the next when it has been below it by a few per cent. The
 * last N_KEPT stay, under names that are used in turn.
 *
 * Climate: host, no malloc; no lock is held.   Owns: the state below.   Locks: none; one thread at a time looks.
 */
#include "life/oom.h"

#include <stdatomic.h>

#include "conf/options.h"
#include "dump/names.h"
#include "life/life.h"
#include "life/mark.h"
#include "os/os.h"
#include "probe/probe.h"

#define N_KEPT 4
#define BELOW_PERCENT 5     /* so much less, and the next rise counts */
#define BYTES_PER_MS MiB(4) /* no program fills memory faster than that for long */
#define LEAST_MS 25
#define MOST_MS 100

static struct {
    _Atomic bool is_looking;
    _Atomic size_t left; /* below the share, when last looked */
    bool is_above;
    unsigned n_dumps;
} oom;

/* PREFIX.PID.oomN.heap, or without the process where PREFIX has it. */
static int name_next(char name[VT_PATH_BYTES]) {
    const char *wish = vt_opt_text(heap_profile);
    bool has_process;
    int err =
        vt__process_path(name, VT_PATH_BYTES, wish != NULL ? wish : "vitrine.%p", &has_process);
    if (err != 0) return err;
    (void)vt__life_cut_mark(name); /* of the program that started this one */
    struct vt_text t = {name, VT_PATH_BYTES, vt__str_len(name), false, NULL, NULL};
    if (!has_process) {
        vt__text_char(&t, '.');
        vt__text_uint(&t, (uint64_t)vt__os_pid());
    }
    vt__text_put(&t, ".oom");
    vt__text_uint(&t, oom.n_dumps++ % N_KEPT + 1);
    vt__text_put(&t, ".heap");
    vt__text_char(&t, '\0');
    return t.is_cut ? -1 : 0;
}

static void say_written(const char *name, unsigned percent) {
    char line[VT_PATH_BYTES + 100];
    struct vt_text t = VT_TEXT(line);
    vt__text_put(&t, "vitrine: warning: ");
    vt__text_uint(&t, percent);
    vt__text_put(&t, " % of the memory is used: wrote '");
    vt__text_shown(&t, name, vt__str_len(name));
    vt__text_put(&t, "'\n");
    vt__os_write(2, line, t.len);
}

static void look(void) {
    char name[VT_PATH_BYTES];
    size_t left;
    unsigned percent = vt__os_memory_percent((unsigned)vt_opt(heap_oom), &left);
    vt__sample_look_after(left / 4);
    atomic_store_explicit(&oom.left, left, memory_order_relaxed);
    if (percent < vt_opt(heap_oom)) {
        if (percent + BELOW_PERCENT < vt_opt(heap_oom)) oom.is_above = false;
        return;
    }
    if (oom.is_above || vt__os_is_secure()) return;
    oom.is_above = true;
    if (name_next(name) != 0) return;
    int err = vt__life_heap_dump_file(name);
    if (err == 0)
        say_written(name, percent);
    else if (!vt__os_is_refusal(err))
        vt__warn_because("cannot write profile", name, err);
}

void vt__life_oom_look(void) {
    if (atomic_exchange(&oom.is_looking, true)) return;
    look();
    atomic_store(&oom.is_looking, false);
}

/* It is filled at the rate that makes half of what is left in the time until then. Above the share nothing is left, and nothing urgent. */
uint64_t vt__life_oom_watch(void) {
    vt__life_oom_look();
    size_t left = atomic_load_explicit(&oom.left, memory_order_relaxed);
    if (left == 0) return MOST_MS;
    return vt_min(vt_max(left / 2 / BYTES_PER_MS, LEAST_MS), MOST_MS);
}
