/* jemalloc_history.c - the last samples (experimental.prof_recent...) and the log of all (prof.log_start), as JSON.
 *
 * Climate: host.   Owns: the log's name.   Locks: none.
 */
#include <errno.h>
#include <stdatomic.h>

#include "dialect/jemalloc_nodes.h"
#include "dump/history.h"
#include "dump/profile.h"
#include "compat/jemalloc/jemalloc.h"
#include "life/life.h"
#include "os/os.h"
#include "probe/history.h"
#include "probe/probe.h"

/* ---- prof_recent ---- */

static void keep(int64_t most) { vt__history_keep(most < 0 ? VT_HISTORY_ALL : (uint64_t)most); }

int vt__je_read_recent_max(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = (uint64_t)vt_je(prof_recent_alloc_max);
    return 0;
}

int vt__je_write_recent_max(const struct vt_je_call *c, uint64_t value) {
    (void)c;
    if ((int64_t)value < -1) return EINVAL;
    vt_je(prof_recent_alloc_max) = (int64_t)value;
    vt__je_watch_samples();
    keep((int64_t)value);
    return 0;
}

struct receiver {
    void (*write)(void *opaque, const char *s);
    void *opaque;
};

static void receive(void *arg, const char *data, size_t n_bytes) {
    const struct receiver *to = arg;
    char piece[1024];
    for (size_t i = 0; i < n_bytes; i += sizeof(piece) - 1) {
        size_t n = vt_min(n_bytes - i, sizeof(piece) - 1);
        __builtin_memcpy(piece, data + i, n);
        piece[n] = '\0';
        if (to->write != NULL)
            to->write(to->opaque, piece);
        else
            vt__je_write(piece);
    }
}

static struct vt_history_info info(void) {
    return (struct vt_history_info){.version = JEMALLOC_VERSION,
                                    .resolution = vt_je_text(prof_time_resolution),
                                    .period_bytes = vt__sample_period(),
                                    .most_recent = vt_je(prof_recent_alloc_max)};
}

int vt__je_write_recent_dump(const struct vt_je_call *c, uint64_t value) {
    struct receiver to;
    (void)value;
    if (c->oldp != NULL || c->oldlenp != NULL) return EPERM;
    if (c->newp == NULL || c->newlen != sizeof(to)) return EINVAL;
    __builtin_memcpy(&to, c->newp, sizeof(to));
    struct vt_history_info i = info();
    return vt__history_write_recent(receive, &to, &i) == 0 ? 0 : EAGAIN;
}

/* ---- the log ---- */

static struct {
    _Atomic bool is_on;
    uint64_t since_ns;
    unsigned number;
    char path[VT_PATH_BYTES];
} logged;

static bool name_log(const char *given) {
    struct vt_text t = {logged.path, sizeof(logged.path) - 1, 0, false, NULL, NULL};
    if (given != NULL) {
        vt__text_put(&t, given);
    } else {
        vt__text_put(&t, vt_je_text(prof_prefix));
        vt__text_char(&t, '.');
        vt__text_uint(&t, (uint64_t)vt__os_pid());
        vt__text_char(&t, '.');
        vt__text_uint(&t, logged.number++);
        vt__text_put(&t, ".json");
    }
    logged.path[t.len] = '\0';
    return !t.is_cut;
}

static bool begin_log(const char *given) {
    bool was_on = false;
    if (!atomic_compare_exchange_strong(&logged.is_on, &was_on, true)) return false;
    if (!name_log(given)) {
        atomic_store(&logged.is_on, false);
        return false;
    }
    logged.since_ns = vt__os_now_ns();
    vt__je_watch_samples();
    vt__history_log(true);
    return true;
}

static bool end_log(void) {
    struct vt_history_info i = info();
    if (!atomic_load(&logged.is_on)) return false;
    i.duration_ns = vt__os_now_ns() - logged.since_ns;
    int err = vt__history_write_log(logged.path, &i);
    if (vt__os_is_refusal(err)) vt__say_not_written(logged.path, err);
    vt__history_log(false);
    atomic_store(&logged.is_on, false);
    return err == 0;
}

int vt__je_write_log_start(const struct vt_je_call *c, uint64_t value) {
    return begin_log(c->has_new ? (const char *)(uintptr_t)value : NULL) ? 0 : EFAULT;
}

int vt__je_write_log_stop(const struct vt_je_call *c, uint64_t value) {
    (void)c, (void)value;
    return end_log() ? 0 : EFAULT;
}

/* ---- begin and end ---- */

void vt__je_history_begin(void) {
    if (!vt__je_prof_is_on()) return;
    if (vt_je(prof_recent_alloc_max) != 0) {
        vt__je_watch_samples();
        keep(vt_je(prof_recent_alloc_max));
    }
    if (vt_je(prof_log)) (void)begin_log(NULL);
}

void vt__je_history_end(void) { (void)end_log(); }
