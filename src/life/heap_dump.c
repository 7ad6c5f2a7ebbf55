/* heap_dump.c - when heap profiles are written, and under which names.
 *
 *   at exit, on a signal, by bytes allocated or in use (the probes ask), every so many seconds (the helper thread), by call
 *
 * Files are PREFIX.NNNN.heap, and PREFIX.PID.NNNN.heap in the child of a fork, which counts anew, and in a program that one with
 * the option heap_profile starts (mark.h); %p in the prefix is the process. PREFIX.peak.heap is what was in use when most was. A
 * dialect may have another manner: names, format, words on stderr.
 *
 * Climate: host, no malloc: also from inside malloc when no lock is held, and from a signal handler that interrupted no slow
 * path of ours.   Owns: the state below.   Locks: none; two dumps at once take two numbers.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "conf/options.h"
#include "dump/heap_source.h"
#include "dump/names.h"
#include "heap/heap.h"
#include "heap/upcalls.h"
#include "life/box.h"
#include "life/life.h"
#include "life/mark.h"
#include "life/oom.h"
#include "life/upcalls.h"
#include "os/box.h"
#include "os/os.h"
#include "probe/exact.h"
#include "probe/maps.h"
#include "stack/stack.h"
#include "vitrine-box.h"

static struct {
    _Atomic bool is_on;
    _Atomic uint32_t n_dumps;
    _Atomic uint32_t n_because[VT_DUMP_PEAK + 1]; /* of these, by reason: for names that have it */
    _Atomic int pid;                              /* of who began */
    _Atomic int said_err;                         /* why the last could not be written; 0: it was */
    enum vt_dump_process process;
    const struct vt_heap_manner *manner; /* NULL: ours */
    char prefix[VT_PATH_BYTES];
} dumps;

/* gcc -static does not ask the linker for them. Said once, about the first: the name of a file, a prefix, or how it was asked for. */
VT_COLD static void say_if_no_stacks(const char *what, const char *name) {
    static _Atomic bool was_said;
    if (vt__stack_has_tables() || atomic_exchange(&was_said, true)) return;
    vt__warn(what, name,
             ": the program was linked without -Wl,--eh-frame-hdr (see pkg-config --static --libs "
             "vitrine)");
}

static const char no_stacks[] = "no stacks in heap profiles", by_call[] = "by call";

static enum vt_heap_format format_of_options(void) {
    static const struct vt_choice formats = {
        VT_OPT_heap_format,
        "unknown format",
        " in option heap_format: it takes proto, gperftools, jemalloc or collapsed",
        {[VT_PROFILE_PROTO] = "proto",
         [VT_GPERFTOOLS_HEAP] = "gperftools",
         [VT_JEMALLOC_HEAP] = "jemalloc",
         [VT_COLLAPSED] = "collapsed"}};
    return (enum vt_heap_format)vt__option_choice(
        &formats, dumps.manner != NULL ? dumps.manner->format : VT_PROFILE_PROTO);
}

static enum vt_heap_kind kind_of_options(void) {
    static const struct vt_choice kinds = {
        VT_OPT_heap_kind,
        "unknown kind",
        " in option heap_kind: it takes growth, peak, mmap or lifetimes",
        {[VT_HEAP_GROWTH] = "growth",
         [VT_HEAP_PEAK] = "peak",
         [VT_HEAP_MMAP] = "mmap",
         [VT_HEAP_LIFETIMES] = "lifetimes"}};
    return (enum vt_heap_kind)vt__option_choice(&kinds, vt__exact_is_set() ? VT_HEAP_EXACT
                                                                           : VT_HEAP_SAMPLED);
}

static int next_name(char *path, enum vt_dump_reason reason) {
    static const struct vt_heap_manner ours = {.style = VT_NAMES_VITRINE};
    const struct vt_heap_manner *m = dumps.manner != NULL ? dumps.manner : &ours;
    int pid = vt__os_pid();
    if (atomic_exchange_explicit(&dumps.pid, pid, memory_order_relaxed) != pid) {
        dumps.process = VT_PROCESS_FORKED;
        if (!m->child_counts_on) atomic_store_explicit(&dumps.n_dumps, 0, memory_order_relaxed);
    }
    struct vt_dump_name name = {.style = m->style,
                                .process = dumps.process,
                                .reason = reason,
                                .prefix = dumps.prefix,
                                .pid = pid,
                                .pid_namespace = m->pid_namespace};
    if (reason != VT_DUMP_PEAK)
        name.number = atomic_fetch_add_explicit(&dumps.n_dumps, 1, memory_order_relaxed) +
                      (m->counts_from_0 ? 0 : 1);
    name.reason_number =
        atomic_fetch_add_explicit(&dumps.n_because[reason], 1, memory_order_relaxed);
    return vt__dump_name(path, VT_PATH_BYTES, &name);
}

void vt__life_heap_set_manner(const struct vt_heap_manner *manner) {
    dumps.manner = manner;
    vt__exact_ask_requested(manner != NULL && manner->is_due_by_requested);
}

void vt__life_heap_set_process(enum vt_dump_process process) { dumps.process = process; }

int vt__life_heap_start(const char *prefix) {
    struct vt_text t = {dumps.prefix, VT_PATH_BYTES - 1, 0, false, NULL, NULL};
    if (vt__os_is_secure()) return -EPERM; /* a set-uid program writes no files for others */
    vt__sample_want_names();
    vt__text_put(&t, prefix);
    dumps.prefix[t.len] = '\0';
    if (t.is_cut) return -ENAMETOOLONG;
    if (dumps.manner == NULL || !dumps.manner->counts_on)
        atomic_store_explicit(&dumps.n_dumps, 0, memory_order_relaxed);
    atomic_store_explicit(&dumps.pid, vt__os_pid(), memory_order_relaxed);
    dumps.process = VT_PROCESS_FIRST;
    struct vt_triggers triggers = {vt_opt(heap_interval), vt_opt(heap_growth),
                                   (unsigned)vt_opt(heap_peak), vt_opt(heap_freed),
                                   dumps.manner != NULL && dumps.manner->one_interval_for_all};
    vt__sample_set_triggers(&triggers);
    say_if_no_stacks(no_stacks, prefix);
    atomic_store_explicit(&dumps.is_on, true, memory_order_release);
    return 0;
}

/* A dump that is due, and for which no malloc came. */
static void dump_if_due(void) {
    if (atomic_exchange_explicit(&vt__dump_is_wanted, false, memory_order_relaxed))
        vt__life_dump_wanted(atomic_load_explicit(&vt__dump_cause, memory_order_relaxed));
}

void vt__life_heap_stop(void) {
    dump_if_due();
    atomic_store_explicit(&dumps.is_on, false, memory_order_relaxed);
    vt__sample_set_triggers(&(struct vt_triggers){0});
}

bool vt__life_heap_is_on(void) { return atomic_load_explicit(&dumps.is_on, memory_order_acquire); }

static struct vt_heap_source source_of(struct vt_heap_rows *rows, enum vt_heap_kind kind) {
    struct vt_heap_source source = vt__heap_source(rows, kind);
    rows->has_inuse_only = dumps.manner != NULL && dumps.manner->has_inuse_only;
    return source;
}

int vt__life_heap_write_kind_fd(int fd, enum vt_heap_format format, enum vt_heap_kind kind) {
    struct vt_heap_rows rows;
    if ((unsigned)kind > VT_HEAP_LIFETIMES) return -EINVAL;
    say_if_no_stacks(no_stacks, by_call);
    struct vt_heap_source source = source_of(&rows, kind);
    return vt__heap_write_fd(fd, format, &source);
}

int vt__life_heap_write_fd(int fd, enum vt_heap_format format) {
    return vt__life_heap_write_kind_fd(fd, format, kind_of_options());
}

int vt__life_heap_write(enum vt_heap_format format, enum vt_heap_kind kind,
                        void (*sink)(void *arg, const char *data, size_t n_bytes), void *arg) {
    struct vt_heap_rows rows;
    struct vt_heap_source source = source_of(&rows, kind);
    say_if_no_stacks(no_stacks, by_call);
    return vt__heap_write_sink(sink, arg, format, &source);
}

static bool is_path(const char *s) {
    while (*s != '\0' && *s != '/') s++;
    return *s == '/';
}

int vt__life_heap_dump_to(const char *path, int format, char name[VT_PATH_BYTES]) {
    struct vt_heap_rows rows;
    if (path == NULL || !is_path(path)) {
        if (!vt__life_heap_is_on()) return -ENOENT;
        int err = next_name(name, VT_DUMP_ASKED);
        if (err != 0) return err;
    } else {
        struct vt_text t = {name, VT_PATH_BYTES - 1, 0, false, NULL, NULL};
        vt__text_put(&t, path);
        name[t.len] = '\0';
        if (t.is_cut) return -ENAMETOOLONG;
    }
    say_if_no_stacks(no_stacks, name);
    struct vt_heap_source source = source_of(&rows, kind_of_options());
    if (format == VT_FORMAT_OF_OPTIONS) format = (int)format_of_options();
    return vt__heap_write_file(name, (enum vt_heap_format)format, &source);
}

int vt__life_heap_dump(const char *path) {
    char name[VT_PATH_BYTES];
    return vt__life_heap_dump_to(path, VT_FORMAT_OF_OPTIONS, name);
}

static const enum vt_dump_reason reasons[] = {
    [VT_CAUSE_ASKED] = VT_DUMP_ASKED,     [VT_CAUSE_SIGNAL] = VT_DUMP_SIGNAL,
    [VT_CAUSE_ALLOCATED] = VT_DUMP_BYTES, [VT_CAUSE_FREED] = VT_DUMP_BYTES,
    [VT_CAUSE_INUSE] = VT_DUMP_HIGH,      [VT_CAUSE_PEAK] = VT_DUMP_HIGH,
    [VT_CAUSE_TIME] = VT_DUMP_TIME,       [VT_CAUSE_EXIT] = VT_DUMP_EXIT};

/* A disk stays full for a while, and dumps go on: the same reason is told again only after one that was written. */
static void say_once(const char *name, int err) {
    /* relaxed: two threads that fail at once may both tell, or one for both */
    if (atomic_exchange_explicit(&dumps.said_err, err, memory_order_relaxed) != err && err != 0)
        vt__say_not_written(name, err);
}

int vt__life_heap_dump_because(enum vt_dump_cause cause, const char *words) {
    const struct vt_heap_manner *m = dumps.manner;
    char name[VT_PATH_BYTES];
    struct vt_heap_rows rows;
    if (!vt__life_heap_is_on()) return -ENOENT;
    int err = next_name(name, reasons[cause]);
    if (err != 0) return err;
    struct vt_heap_source source = source_of(&rows, kind_of_options());
    if (cause == VT_CAUSE_TIME) vt__sample_restart_triggers();
    if (m != NULL) m->writing(name, cause, words);
    err = vt__heap_write_file_quietly(name, format_of_options(), &source);
    if (m == NULL || vt__os_is_refusal(err)) {
        say_once(name, err);
        return err;
    }
    if (err != 0) m->failed(name, err);
    if (err == 0 && m->written != NULL) m->written(name);
    return err;
}

int vt__life_heap_dump_file(const char *path) {
    struct vt_heap_rows rows;
    struct vt_heap_source source = source_of(&rows, kind_of_options());
    say_if_no_stacks(no_stacks, path);
    int err = vt__heap_write_file_quietly(path, format_of_options(), &source);
    if (vt__os_is_refusal(err)) vt__say_not_written(path, err);
    return err;
}

void vt__life_dump_wanted(int cause) {
    if (cause == VT_CAUSE_MEMORY)
        vt__life_oom_look();
    else
        (void)vt__life_heap_dump_because((enum vt_dump_cause)cause, NULL);
}

static void on_signal(int number) {
    int saved = errno;
    (void)number;
    if (vt__enter()) { /* no slow path of ours was interrupted: no lock is held by this thread */
        vt__leave();
        vt__life_dump_wanted(VT_CAUSE_SIGNAL);
    } else {
        atomic_store_explicit(&vt__dump_cause, VT_CAUSE_SIGNAL, memory_order_relaxed);
        atomic_store_explicit(&vt__dump_is_wanted, true, memory_order_relaxed);
    }
    errno = saved;
}

int vt__life_heap_on_signal(int number) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    return sigaction(number, &action, NULL) == 0 ? 0 : -EINVAL;
}

/* The prefix of the options, for this process; false: there is none, or it cannot be used. */
static bool start_by_options(void) {
    static const char *const names[] = {"VITRINE=", "VITRINE_HEAP_PROFILE="};
    char prefix[VT_PATH_BYTES];
    struct vt_text t = {prefix, sizeof(prefix) - 1, 0, false, NULL, NULL};
    if (vt_opt_text(heap_profile) == NULL) return false;
    vt__text_put(&t, vt_opt_text(heap_profile));
    prefix[t.len] = '\0';
    uint64_t first_pid = vt__life_cut_mark(prefix);
    if (t.is_cut || vt__life_heap_start(prefix) != 0) return false;
    if (first_pid == 0)
        vt__life_mark(names, vt_countof(names), prefix);
    else if (first_pid != (uint64_t)vt__os_pid())
        dumps.process = VT_PROCESS_EXECED;
    return true;
}

void vt__life_record_maps(const char *asked) {
    static _Atomic bool was_said;
    vt__maps_set(true);
    if (!vt__sees_maps && !atomic_exchange(&was_said, true))
        vt__warn("no effect of", asked, ": the library is linked statically");
}

void vt__life_heap_begin(void) {
    enum vt_heap_kind kind = kind_of_options();
    /* it is off at the start; the call alone would make 64 KiB more of our code resident in every program */
    if (kind == VT_HEAP_LIFETIMES) vt__exact_ask_ages(true);
    if (vt_opt(exact) && vt__exact_set(true) != 0)
        vt__warn("no memory for option", "exact", ": profiles are sampled");
    if (vt_opt(heap_oom) != 0) vt__sample_look_at_memory();
    bool is_rate_asked = vt_opt(sample) != vt__option_rows[VT_OPT_sample].dflt;
    if (is_rate_asked || vt_opt(heap_oom) != 0) vt__sample_want_names();
    if (vt_opt(heap_mmap)) vt__life_record_maps("heap_mmap");
    if (kind == VT_HEAP_MMAP) vt__life_record_maps("heap_kind=mmap");
    if (vt__box_has_file()) say_if_no_stacks("no stacks in black box", vt_opt_text(black_box));
    if (!start_by_options() || vt_opt(heap_signal) == 0) return;
    if (vt__life_heap_on_signal((int)vt_opt(heap_signal)) != 0)
        vt__warn("cannot handle the signal of option", "heap_signal", "");
}

static VT_COLD void dump_peak(void) {
    char name[VT_PATH_BYTES];
    struct vt_heap_rows rows;
    if (next_name(name, VT_DUMP_PEAK) != 0) return;
    struct vt_heap_source source = vt__heap_source(&rows, VT_HEAP_PEAK);
    (void)vt__heap_write_file(name, format_of_options(), &source);
}

void vt__life_heap_end(void) {
    /* asked here as well: box.c lies outside of the code that every program has in memory */
    if (vt__box_has_file()) vt__life_box_begin_end();
    if (vt__life_heap_is_on() && vt_opt(heap_exit_peak)) dump_peak();
    bool is_written = vt_opt(heap_exit) && vt__life_heap_dump_because(VT_CAUSE_EXIT, NULL) == 0;
    if (vt__box_has_file()) vt__life_box_end(is_written ? VT_BOX_WROTE_HEAP : 0);
}
