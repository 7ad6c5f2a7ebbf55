/* cpu_impl.h - what the files of the CPU profiler share. Climate: signal. */
#ifndef VT_PROBE_CPU_IMPL_H
#define VT_PROBE_CPU_IMPL_H

#include <signal.h>
#include <stdatomic.h>

#include "os/os.h"
#include "probe/counts.h"
#include "probe/cpu.h"
#include "probe/upcalls.h"
#include "stack/stack.h"

VT_HIDDEN_BEGIN

/* A thread that was seen. */
struct VT_ALIGNED(VT_CACHE_LINE) vt_cpu_task {
    /* under the lock; readers find a name that is whole or being written */
    char name[VT_TASK_NAME_BYTES];
    int timer, fd;        /* -1: none */
    int last_tid;         /* of the thread, also when it has ended */
    uint32_t next_free;   /* number; while it is free */
    uintptr_t start;      /* the thread's first function, if we saw it begin; the program's entry */
    struct vt_count lent; /* what it owes, counted while a file is written */
    /* its thread's handler writes */
    _Atomic bool has_samples;
    _Atomic uint32_t last_stack, last_label; /* of the last sample */
    _Atomic uint32_t label;                  /* since then, where it is told of */
    _Atomic uint64_t cpu_ns;                 /* its CPU time up to which it was counted */
    /* VT_CPU_THREAD: up to which its timer has told; behind cpu_ns where a change of labels was before it */
    uint64_t told_ns;
    uint64_t late_from_ns;   /* monotonic: no tick can be late before */
    struct vt_frames frames; /* here, because the stack of a handler may be small */
};

#define VT_CPU_IS_ARMED UINT64_MAX /* of vt_cpu_state.common_until_ns */

struct vt_cpu_state {
    /* written by vt__cpu_start before is_on, read by handlers */
    struct vt_cpu_plan plan;
    uint64_t period_ns;
    /* a timer whose thread is met by the system's ticks tells of a period before so much is owed */
    uint64_t late_ns;
    int signal;
    /* any thread */
    _Atomic bool is_on;
    _Atomic uint64_t n_signals, n_lost;
    _Atomic uint64_t
        common_ns; /* VT_CPU_PROCESS, VT_CPU_REAL: the common clock up to which was counted */
    /* the program may have the process's timer when we have not; monotonic: its signals are ours until */
    _Atomic uint64_t common_until_ns;
    _Atomic bool
        has_perf; /* there was such a clock: a signal of it may come any time after it is closed */
    _Atomic uint32_t last_task; /* that has a sample; 0: none yet */
    /* handlers and changes of labels at work; a start waits for them: they have tasks of the last one */
    _Atomic uint32_t n_inside;
};
extern struct vt_cpu_state vt__cpu;

/* cpu.c: by stack, labels and task */
bool vt__cpu_count(const struct vt_count *more); /* false: no room */

/* Is CPU time of single threads what the clock counts? */
VT_INLINE bool vt__cpu_is_by_thread(void) {
    return vt__cpu.plan.clock == VT_CPU_THREAD || vt__cpu.plan.clock == VT_CPU_PERF;
}

/* Is there one timer for all threads? */
VT_INLINE bool vt__cpu_is_common(void) {
    return vt__cpu.plan.clock == VT_CPU_PROCESS || vt__cpu.plan.clock == VT_CPU_REAL;
}

/* cpu_tasks.c. Numbers begin with 1; 0 is no task. */
struct vt_cpu_task *vt__cpu_task(uint32_t number);
uint32_t vt__cpu_task_at(const void *task); /* the number of this address; 0: it is none */
uint32_t vt__cpu_task_of(int tid);          /* 0: not known */
uint32_t vt__cpu_task_try(int tid); /* the same for the calling thread, made known if possible */
/* Timers for all threads there are; is_alone: for the calling one, there is no other. 0, or -errno if our own got none. */
int vt__cpu_tasks_begin(bool is_alone);
void vt__cpu_tasks_end(void);
void vt__cpu_tasks_fork_prepare(void);
void vt__cpu_tasks_fork_done(bool is_child);
#define VT_CPU_SCOUT ((void *)1) /* what the process's own timer sends: it finds threads */

/* cpu_tick.c */
uint64_t vt__cpu_common_ns(void);   /* the clock that all threads share, now */
uint64_t vt__cpu_take_common(void); /* its periods that nobody has counted yet: the caller does */
void vt__cpu_tick_fork_child(void);
void vt__cpu_on_signal(int number, siginfo_t *info, void *context);

VT_HIDDEN_END

#endif
