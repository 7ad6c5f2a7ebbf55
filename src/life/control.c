/* control.c - answers what another process of the same user asks for through `vt_control` (vitrine-control.h).
 *
 *   the client writes a request, then its id into `wanted`, then sends a signal
 *     -> a slow path of any thread finds `wanted`                    vt__poll, heap/alloc.c
 *     -> or the signal's handler does, also in an idle program       on_signal()
 *   whoever is first works, alone; the answer's id is written last
 *
 * The signal is SIGURG, unless the option says otherwise: where nobody handles it, it is ignored, so one that comes too late or
 * to another program does nothing. docs/decisions/control.md has the reasons. The handler is installed by the library's
 * constructor, and only where the program has none; one that the program installs later replaces ours.
 *
 * Climate: host, no malloc; from a slow path that holds no lock, or from a signal handler that interrupted none.
 * Owns: vt_control, the buffer of statistics.   Locks: none; `is_working` keeps a second thread out.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "conf/options.h"
#include "dump/stats.h"
#include "heap/heap.h"
#include "heap/upcalls.h"
#include "life/contention.h"
#include "life/cpu.h"
#include "life/forks.h"
#include "life/life.h"
#include "life/since.h"
#include "os/os.h"
#include "probe/cpu.h"
#include "probe/exact.h"
#include "probe/probe.h"
#include "vitrine-control.h"

#define STATS_BYTES KiB(64) /* 112 classes of some 130 bytes, and the counters */

VT_EXPORT struct vt_control vt_control = {
    .magic = VT_CONTROL_MAGIC, .version = VT_CONTROL_VERSION, .n_bytes = sizeof(vt_control)};

_Atomic int vt__life_ended_pid;

static struct {
    _Atomic bool is_working;
    struct vt_control_request request; /* a copy: the client may be writing the next one */
    char *stats;
    size_t n_stats_bytes;
} control;

static void put_text(const char *s) {
    struct vt_text t = {vt_control.answer.text, VT_CONTROL_TEXT_BYTES - 1, 0, false, NULL, NULL};
    vt__text_put(&t, s);
    vt_control.answer.text[t.len] = '\0';
}

static int refuse(int err, const char *why) {
    put_text(why);
    return err;
}

/* ---- the commands: a function for each row of VT_CONTROL_COMMANDS. 0 or -errno ---- */

static int do_dump(const struct vt_control_request *r) {
    char name[VT_PATH_BYTES];
    if (r->format > VT_COLLAPSED + 1) return refuse(-EINVAL, "unknown format");
    if (r->text[0] == '\0' && !vt__life_heap_is_on())
        return refuse(-ENOENT, "no prefix was set: give a path, or start one");
    int format = r->format == 0 ? VT_FORMAT_OF_OPTIONS : (int)r->format - 1;
    int err = vt__life_heap_dump_to(r->text[0] != '\0' ? r->text : NULL, format, name);
    if (err == 0) put_text(name);
    return err;
}

static int do_rate(const struct vt_control_request *r) {
    if (r->number > vt__option_rows[VT_OPT_sample].high) return refuse(-ERANGE, "rate too large");
    vt__sample_set_period(r->number);
    return 0;
}

static int do_exact(const struct vt_control_request *r) {
    return r->number > 1 ? -EINVAL : vt__exact_set(r->number == 1);
}

static void to_buffer(void *unused, const char *data, size_t n_bytes) {
    (void)unused;
    size_t n = vt_min(n_bytes, STATS_BYTES - control.n_stats_bytes);
    __builtin_memcpy(control.stats + control.n_stats_bytes, data, n);
    control.n_stats_bytes += n;
}

static int do_stats(const struct vt_control_request *r) {
    if (r->format > VT_JSON_FORMAT) return refuse(-EINVAL, "unknown format");
    if (control.stats == NULL) {
        void *at = NULL;
        int err = vt__os_map(STATS_BYTES, &at);
        if (err != 0) return err;
        control.stats = at;
    }
    control.n_stats_bytes = 0;
    vt__stats_write(to_buffer, NULL, (enum vt_format)r->format);
    vt_control.answer.data = (uintptr_t)control.stats;
    vt_control.answer.n_bytes = control.n_stats_bytes;
    return control.n_stats_bytes < STATS_BYTES ? 0 : -EOVERFLOW;
}

static int do_purge(const struct vt_control_request *r) {
    (void)r;
    vt_control.answer.number = vt__heap_release_shared();
    return 0;
}

static int do_start(const struct vt_control_request *r) {
    return r->text[0] == '\0' ? refuse(-EINVAL, "no prefix") : vt__life_heap_start(r->text);
}

static int do_stop(const struct vt_control_request *r) {
    (void)r;
    vt__life_heap_stop();
    return 0;
}

static int do_cpu_start(const struct vt_control_request *r) {
    struct vt_cpu_wish wish = {.path = r->text, .is_unprepared = true};
    if (r->text[0] == '\0') return refuse(-EINVAL, "no file");
    int err = vt__life_cpu_start(&wish);
    return err == -EBUSY ? refuse(err, "a CPU profile is being made already") : err;
}

/* A profile that lasts from its start to its stop. */
struct lasting {
    const char *none;
    bool (*is_on)(void);
    void (*own_file)(char name[VT_PROFILE_NAME_BYTES]);
};
static const struct lasting cpu = {"no CPU profile is being made", vt__cpu_is_on,
                                   vt__life_cpu_file};
static const struct lasting contention = {"no contention profile is being made",
                                          vt__life_contention_is_on, vt__life_contention_file};

/* What was written, if it was: the path that was asked for, or the profile's own. */
static int tell_file(const struct lasting *p, int err, const char *path) {
    char name[VT_PROFILE_NAME_BYTES];
    if (err == -ENOENT && !p->is_on()) return refuse(err, p->none);
    if (err != 0) return err;
    if (path == NULL) p->own_file(name);
    put_text(path != NULL ? path : name);
    return 0;
}

static const char *path_of(const struct vt_control_request *r) {
    return r->text[0] != '\0' ? r->text : NULL;
}

static int do_cpu_dump(const struct vt_control_request *r) {
    return tell_file(&cpu, vt__life_cpu_dump(path_of(r)), path_of(r));
}

static int do_cpu_stop(const struct vt_control_request *r) {
    (void)r;
    return tell_file(&cpu, vt__life_cpu_stop(), NULL);
}

static int do_contention_start(const struct vt_control_request *r) {
    if (r->text[0] == '\0') return refuse(-EINVAL, "no file");
    int err = vt__life_contention_start(r->text, /* is_unprepared */ true);
    if (err == -EBUSY) return refuse(err, "a contention profile is being made already");
    if (err == -ENOTSUP)
        return refuse(err, "the program is linked statically: its locks are libc's");
    return err;
}

static int do_contention_dump(const struct vt_control_request *r) {
    return tell_file(&contention, vt__life_contention_dump(path_of(r)), path_of(r));
}

static int do_contention_stop(const struct vt_control_request *r) {
    (void)r;
    return tell_file(&contention, vt__life_contention_stop(), NULL);
}

static int (*const commands[])(const struct vt_control_request *r) = {
#define ROW(number, name, takes, word, help) [number] = do_##name,
    VT_CONTROL_COMMANDS(ROW)
#undef ROW
};

/* ---- a request ---- */

static int carry_out(uint32_t id) {
    const struct vt_control_request *r = &control.request;
    if (r->sum != vt_control_sum(r) || r->id != id)
        return refuse(-EBADMSG, "the request is damaged");
    if (r->text[VT_CONTROL_TEXT_BYTES - 1] != '\0') return refuse(-EBADMSG, "the text has no end");
    if (r->pid != (uint32_t)vt__os_pid()) return refuse(-ESRCH, "meant for another process");
    if (vt__os_wall_ns() > r->until_ns) return refuse(-ETIME, "the request came too late");
    if (vt__os_is_secure()) return refuse(-EPERM, "a set-user-ID program takes no requests");
    if (atomic_load_explicit(&vt__life_ended_pid, memory_order_relaxed) == vt__os_pid())
        return refuse(-ESRCH, "the program is ending");
    if (r->command >= vt_countof(commands) || commands[r->command] == NULL)
        return refuse(-ENOSYS, "unknown command");
    int err = vt__life_prepare();
    return err != 0 ? err : commands[r->command](r);
}

static void answer(uint32_t id) {
    struct vt_control_answer *a = &vt_control.answer;
    control.request = vt_control.request;
    a->number = a->data = a->n_bytes = 0;
    a->text[0] = '\0';
    a->error = carry_out(id);
    if (a->error != 0 && a->text[0] == '\0') {
        const char *words = vt__os_error_words(a->error);
        put_text(words != NULL ? words : "");
    }
    /* release: the client that reads the id reads the rest of the answer */
    __atomic_store_n(&a->id, id, __ATOMIC_RELEASE);
}

void vt__life_control_wanted(void) {
    while (__atomic_load_n(&vt_control.wanted, __ATOMIC_RELAXED) != 0 &&
           !vt__life_is_forking() && /* this thread has the profilers' locks */
           !atomic_exchange_explicit(&control.is_working, true, memory_order_acquire)) {
        /* acquire: the client wrote the request before; the sum tells if we are wrong */
        uint32_t id = __atomic_exchange_n(&vt_control.wanted, 0, __ATOMIC_ACQUIRE);
        if (id != 0) answer(id);
        atomic_store_explicit(&control.is_working, false, memory_order_release);
    }
}

static void on_signal(int number) {
    int saved = errno;
    (void)number;
    /* a slow path of ours or a fork was interrupted: locks may be held. The next slow path works, or the client's next signal */
    if (!vt__lock_has_all && vt__enter()) {
        vt__leave();
        vt__life_control_wanted();
    }
    errno = saved;
}

void vt__life_control_forget(void) {
    __atomic_store_n(&vt_control.wanted, 0, __ATOMIC_RELAXED);
    atomic_store_explicit(&control.is_working, false, memory_order_relaxed);
}

/* ---- start ---- */

/* In shared libraries sigaction is ours (dialect/sigaction.c), which looks for libc's in its first call: not what every program shall do
 * when it begins. */
#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
extern __typeof__(sigaction) libc_sigaction __asm__("__sigaction");
#else
#define libc_sigaction sigaction
#endif

static void handle_signal(int number) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigaction now;
    sigfillset(
        &action
             .sa_mask); /* a handler of the program's that jumps away would leave us working for ever */
    if (libc_sigaction(number, NULL, &now) != 0) return;
    if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
    if (libc_sigaction(number, &action, NULL) == 0) vt_control.signal = (uint32_t)number;
}

__attribute__((constructor)) static void begin(void) {
    vt_control.period = (const void *)vt__sample_period_word();
    vt_control.is_exact = (const void *)&vt__exact_word;
    vt_control.used_slices = (const void *)vt__heap_used_slices(&vt_control.slice_bytes);
    if (vt__os_is_secure()) return;
    /* options are read at the first malloc, which may not have come yet; most programs have none */
    bool has_options =
        vt__os_getenv("VITRINE") != NULL || vt__os_getenv("VITRINE_CONTROL_SIGNAL") != NULL;
    if (has_options && vt__life_start() != 0) return;
    if (vt_opt(control_signal) != 0) handle_signal((int)vt_opt(control_signal));
}
