/* waits.h - where threads wait for each other: mutexes, read-write locks and conditions, by the stack that waited.
 *
 * dialect/locks.c tells of each wait, when it is over. Waits of `period` and longer are all counted; of shorter ones, each with a
 * chance of its length to the period, and what is counted stands for those that were not. So times and numbers are right on
 * average, and a lock that is fought for a million times a second costs a few thousand stacks.
 *
 * Climate: signal where a wait is told; host else.
 */
#ifndef VT_PROBE_WAITS_H
#define VT_PROBE_WAITS_H

#include "probe/counts.h"

VT_HIDDEN_BEGIN

/* One caller at a time (life/contention.c). What was counted before is forgotten. */
void vt__waits_start(uint64_t period_ns,
                     uint64_t since_ns); /* wall clock that the profile tells as its start */
void vt__waits_stop(void);               /* the counts stay until the next start */
void vt__waits_fork_child(void);         /* counts of its own from here on */

/* The calling thread waited in `function`, which is an address in it, since then (vt__os_now_ns). */
void vt__wait_ended(uintptr_t function, uint64_t since_ns);

struct vt_wait_totals {
    uint64_t period_ns;
    uint64_t n_lost;   /* waits without a row: the tables are full */
    uint64_t since_ns; /* wall clock of the start */
};
void vt__waits_totals(struct vt_wait_totals *out);

/* The function that waited, and the thread: 0 and "" when there was no room for it; its name is the one it had when it waited. */
struct vt_waiter {
    uintptr_t function;
    uint32_t tid;
    char thread_name[VT_TASK_NAME_BYTES];
};
/* Copies of what was counted since the start, as vt__counts_next; on_ns is the time. */
bool vt__waits_next(uint32_t *cursor, struct vt_count *out, struct vt_waiter *who);

VT_HIDDEN_END

#endif
