/* cpu.h - the CPU profiler: where the program's time goes, by stack and thread.
 *
 * A clock sends a signal to a thread for each period of time it used; the handler takes the stack of what was interrupted and
 * adds to a count. Nothing is sent to threads that use none, but by the clocks of wall time.
 *
 *   cpu_tick.c     the handler                                signal
 *   counts.c       the counts, by stack, thread and labels    signal
 *   cpu_tasks.c    the threads and their timers               signal; host where it waits for the lock
 *   cpu.c          on and off, fork                           host
 */
#ifndef VT_PROBE_CPU_H
#define VT_PROBE_CPU_H

#include <signal.h>

#include "probe/counts.h"

VT_HIDDEN_BEGIN

enum vt_cpu_clock {
    VT_CPU_THREAD,  /* a timer per thread, on its CPU time; as fine as the system's ticks */
    VT_CPU_PERF,    /* the same by perf_event, finer, where the system allows it */
    VT_CPU_PROCESS, /* ITIMER_PROF: one for all threads */
    VT_CPU_REAL,    /* ITIMER_REAL: the time of day, to any thread */
    VT_CPU_WALL,    /* a timer per thread, on the time of day: also while it waits */
    VT_CPU_N_CLOCKS
};

#define VT_CPU_MAX_FREQUENCY 4000

struct vt_cpu_plan {
    enum vt_cpu_clock clock;
    unsigned frequency; /* per second, 1..VT_CPU_MAX_FREQUENCY */
    int signal; /* 0: SIGPROF. Always that for VT_CPU_PROCESS, and SIGALRM for VT_CPU_REAL */
    int (*filter)(void *); /* NULL, or called in the handler: 0 drops the sample */
    void *filter_arg;
    uint64_t since_ns; /* wall clock that the profile tells as its start; 0: now */
};

/* Counts from now on; counts of before are forgotten. 0 or -errno: -EBUSY if it is on. One caller at a time (life/cpu.c). */
int vt__cpu_start(const struct vt_cpu_plan *plan);
void vt__cpu_stop(void); /* the counts stay until the next start */
bool vt__cpu_is_on(void);

/* Threads that came or went without our noticing. */
void vt__cpu_rescan(void);
/* While a file is written in between: what threads used and no tick has told of yet is counted, and then no more. */
void vt__cpu_lend(void);
void vt__cpu_take_back(void);
/* The calling thread, before its label becomes `next`: what it used and should have been told of counts for the one it has. */
void vt__cpu_label_changes(uint32_t next);
/* The calling thread: when it begins, while the profiler is on, and when it ends. Any number of times. `start` is its first
 * function, 0: not known. */
void vt__cpu_task_begins(uintptr_t start);
void vt__cpu_task_ends(void);

/* The program's own handlers for the signals that ours is on (dialect/sigaction.c). */
extern _Atomic uint64_t vt__cpu_signals; /* bit 0 is signal 1: ours is on them */
VT_INLINE bool vt__cpu_has_signal(int number) {
    return number > 0 && number <= 64 &&
           (atomic_load_explicit(&vt__cpu_signals, memory_order_acquire) >> (number - 1) & 1) != 0;
}
void vt__cpu_take_signal(int number);           /* our handler is on it from now on */
bool vt__cpu_is_own(const struct sigaction *a); /* is it ours that is set? */
void vt__cpu_pass_on_to(int number, const struct sigaction *a); /* the program's, from now on */
void vt__cpu_passes_on_to(int number, struct sigaction *a);     /* the program's as it is */

void vt__cpu_fork_prepare(void);
void vt__cpu_fork_done(bool is_child); /* the child goes on with counts and timers of its own */

/* Copies of what was counted since the start: *cursor begins at 0. False at the end. Nobody is stopped. */
struct vt_cpu_row {
    /* stack 0: lost. The first frame is where it was interrupted, the others are return addresses. n: periods; on: using the
     * CPU; off: waiting (VT_CPU_WALL only) */
    struct vt_count count;
    int tid; /* 0: threads that there was no room for */
    const char *thread_name;
};
bool vt__cpu_next(uint32_t *cursor, struct vt_cpu_row *out);

struct vt_cpu_totals {
    uint64_t period_ns;
    uint64_t n_signals; /* handled since the start */
    uint64_t n_lost;    /* of these without a row: the tables are full, or a thread is not known */
    uint64_t since_ns;  /* wall clock of the start */
    enum vt_cpu_clock clock;
};
void vt__cpu_totals(struct vt_cpu_totals *out);

VT_HIDDEN_END

#endif
