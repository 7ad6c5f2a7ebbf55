/* sigaction.c - sigaction and signal: libc's, but for the signals that the CPU profiler has its handler on.
 *
 * A program that runs with CPUPROFILE sets its handlers after ours. One for SIGPROF, as php and python have, would get our ticks: php takes
 * the first for the end of its time, and stops. So ours stays; what the program sets is kept (probe/cpu_tick.c), told when it asks, and
 * called for the signals that are no ticks of ours.
 *
 * Shared libraries only: in a static program whoever sets a handler later has the ticks.
 *
 * Climate: host, and handlers, where both may be called. Libc's are looked for in the first call; no handler was set before it.
 * Owns: nothing.   Locks: none.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "probe/cpu.h"

typedef int action_function(int, const struct sigaction *, struct sigaction *);
typedef __typeof__(signal) signal_function;

/* Both at once: in a handler one may be called that never was. */
static _Atomic(action_function *) real_action;
static _Atomic(signal_function *) real_signal;

static void find_real(void) {
    /* acquire, and release below: who finds the second has the first */
    if (atomic_load_explicit(&real_signal, memory_order_acquire) != NULL) return;
    atomic_store_explicit(&real_action, (action_function *)dlsym(RTLD_NEXT, "sigaction"),
                          memory_order_relaxed);
    atomic_store_explicit(&real_signal, (signal_function *)dlsym(RTLD_NEXT, "signal"),
                          memory_order_release);
}

/* Those of before, though they may be in the same place. */
static void swap_action(int number, const struct sigaction *now, struct sigaction *before) {
    struct sigaction was;
    vt__cpu_passes_on_to(number, &was);
    if (now != NULL) vt__cpu_pass_on_to(number, now);
    if (before != NULL) *before = was;
}

VT_EXPORT int sigaction(int number, const struct sigaction *restrict now,
                        struct sigaction *restrict before) {
    find_real();
    if (!vt__cpu_has_signal(number) || (now != NULL && vt__cpu_is_own(now)))
        return atomic_load_explicit(&real_action, memory_order_relaxed)(number, now, before);
    swap_action(number, now, before);
    return 0;
}

VT_EXPORT void (*signal(int number, void (*handler)(int)))(int) {
    struct sigaction now = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
    find_real();
    if (!vt__cpu_has_signal(number))
        return atomic_load_explicit(&real_signal, memory_order_relaxed)(number, handler);
    if (handler == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    sigaddset(&now.sa_mask, number);
    swap_action(number, &now, &before);
    return before.sa_handler;
}
