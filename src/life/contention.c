/* contention.c - contention profiles: when they begin and end.
 *
 *   by option (contention_profile) from before main to the end; by call (vt_contention_start) or by another process (control.c)
 *
 * As with CPU profiles (cpu.c), a file is written at the beginning and at the end, the child of a fork goes on with its own, and leaves none
 * if it never waited.
 *
 * Climate: host, no malloc. Who has the lock holds signals back.   Owns: the state below.   Locks: waits.
 */
#include "life/contention.h"

#include <errno.h>

#include "base/lock.h"
#include "conf/options.h"
#include "dump/cpu_profile.h"
#include "heap/upcalls.h"
#include "life/forks.h"
#include "life/since.h"
#include "life/upcalls.h"
#include "os/held.h"
#include "os/os.h"
#include "probe/waits.h"

#define NSEC_PER_USEC 1000

static struct vt_lock lock = VT_LOCK_INIT(VT_LOCK_WAITS);
static struct {
    bool is_on;
    struct vt_profile_file file;
} contention;

static enum vt_cpu_format format_of_options(void) {
    static const struct vt_choice formats = {
        VT_OPT_contention_format,
        "unknown format",
        " in option contention_format: it takes proto or text",
        {[VT_CPU_PROTO_FORMAT] = "proto", [VT_CONTENTION_FORMAT] = "text"}};
    return (enum vt_cpu_format)vt__option_choice(&formats, VT_CPU_PROTO_FORMAT);
}

/* The profile's own file, if `path` is NULL. */
static int write_profile(const char *path, bool is_over, bool says) {
    char own[VT_PROFILE_NAME_BYTES];
    struct vt_wait_rows rows;
    struct vt_cpu_source source = vt__waits_source(&rows);
    bool is_early = path == NULL && !is_over;
    if (path == NULL) {
        if (contention.file.is_child && vt__cpu_n_periods(&source) == 0) return 0;
        int err = vt__profile_file_name(&contention.file, own);
        if (err != 0) return err;
        path = own;
    }
    int err = is_early ? vt__written_in_place(path) : 0;
    if (err > 0) return 0; /* what is written there stays: it gets the last one alone */
    if (err == 0) err = vt__cpu_write_file(path, format_of_options(), &source);
    if (err != 0 && says) vt__say_not_written(path, err);
    return err;
}

/* ---- the lock ---- */

static void fork_prepare(void) { vt_lock(&lock); }

static void fork_parent(void) { vt_unlock(&lock); }

static void fork_child(void) {
    vt__waits_fork_child();
    vt__profile_file_fork_child(&contention.file);
    vt_lock_reset(&lock);
}

static void watch_forks(void) {
    static const struct vt_fork_hook hook = {fork_prepare, fork_parent, fork_child};
    vt__life_at_fork(VT_FORK_WAITS, &hook);
}

/* ---- on and off, under the lock ---- */

static int start_locked(uint64_t since_ns, bool says) {
    int err = vt__watch_locks(true);
    if (err != 0) return err;
    vt__waits_start(vt_opt(contention_period) * NSEC_PER_USEC, since_ns);
    err = write_profile(NULL, /* is_over */ false, says);
    contention.is_on = err == 0;
    if (err == 0) return 0;
    vt__waits_stop();
    (void)vt__watch_locks(false);
    return err;
}

static int stop_locked(void) {
    if (!contention.is_on) return -ENOENT;
    (void)vt__watch_locks(false);
    vt__waits_stop();
    contention.is_on = false;
    return write_profile(NULL, /* is_over */ true, /* says */ true);
}

/* ---- for others ---- */

int vt__life_contention_start(const char *file, bool is_unprepared) {
    if (vt__os_is_secure()) return -EPERM; /* a set-uid program writes no files for others */
    watch_forks();
    if (!is_unprepared) vt__stack_modules_changed(); /* where libc does not tell, we look */
    uint64_t mask = vt__lock_held(&lock);
    int err = contention.is_on ? -EBUSY : vt__profile_file_set(&contention.file, file);
    if (err == 0) err = start_locked(vt__os_wall_ns(), /* says */ true);
    vt__unlock_held(&lock, mask);
    return err;
}

int vt__life_contention_stop(void) {
    uint64_t mask = vt__lock_held(&lock);
    int err = stop_locked();
    vt__unlock_held(&lock, mask);
    return err;
}

int vt__life_contention_dump(const char *path) {
    uint64_t mask = vt__lock_held(&lock);
    int err =
        contention.is_on ? write_profile(path, /* is_over */ false, /* says */ true) : -ENOENT;
    vt__unlock_held(&lock, mask);
    return err;
}

bool vt__life_contention_is_on(void) {
    uint64_t mask = vt__lock_held(&lock);
    bool is_on = contention.is_on;
    vt__unlock_held(&lock, mask);
    return is_on;
}

void vt__life_contention_file(char name[VT_PROFILE_NAME_BYTES]) {
    uint64_t mask = vt__lock_held(&lock);
    (void)vt__profile_file_name(&contention.file, name);
    vt__unlock_held(&lock, mask);
}

/* ---- from the environment ---- */

__attribute__((constructor)) static void begin_if_asked(void) {
    if (vt__os_getenv("VITRINE") == NULL && vt__os_getenv("VITRINE_CONTENTION_PROFILE") == NULL)
        return; /* most programs do not ask, and their library starts with their first malloc */
    if (vt__life_start() != 0) return;
    const char *path = vt_opt_text(contention_profile);
    if (path == NULL || path[0] == '\0') return;
    watch_forks();
    uint64_t mask = vt__lock_held(&lock);
    int err = vt__profile_file_from_environment(&contention.file, path);
    if (err == 0) err = start_locked(vt__life_since_ns(), /* says */ false);
    vt__unlock_held(&lock, mask);
    if (err == -ENOTSUP)
        vt__warn("no contention profile", contention.file.path,
                 ": the program is linked statically");
    else if (err != 0)
        vt__warn_because("no contention profile", contention.file.path, err);
}

/* After everything that the program runs at its end. A process that was made without libc's knowledge is another's copy. */
__attribute__((destructor)) static void end(void) {
    vt__life_control_end();
    if (contention.is_on && contention.file.pid == vt__os_pid()) (void)vt__life_contention_stop();
}
