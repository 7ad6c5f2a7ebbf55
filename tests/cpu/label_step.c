/* label_step.c - a late tick after every instruction of a change of labels: what both tell of is the same time, and counts once.
 *
 *     label_step FILE       prints the CPU time of the whole, and of what was used with the label
 *
 * The tick is held back while the thread burns, and let in after so many of the processor's single steps through the change; x86-64 only. The
 * profile is made at 4000 Hz (VITRINE_CPU_FREQUENCY), so that 6 ms are late where the system ticks every 4.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <ucontext.h>
#include <vitrine.h>

#include "burn_loop.h"

static volatile long n_steps, let_in_at;
static int late_ms; /* more than a tick of the system and a period */

static void on_step(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    if (++n_steps == let_in_at) sigdelset(&((ucontext_t *)context)->uc_sigmask, SIGPROF);
}

/* Past the red zone, and by instructions that change no other flag. */
#define SET_TRAP(how)                                                                              \
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\t" how                                    \
                     ", (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::                              \
                         : "memory", "cc")

static long used_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* Time with the label. */
__attribute__((noinline)) static long let_in_after(long n) {
    sigset_t prof, before;
    sigemptyset(&prof);
    sigaddset(&prof, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &prof, &before);
    n_steps = 0;
    let_in_at = n;
    long from_ns = used_ns();
    if (vt_label_push("tick", "late") != 0) return -1;
    burn(late_ms);
    long until_ns = used_ns();
    SET_TRAP("orq $0x100");
    vt_label_pop();
    SET_TRAP("andq $~0x100");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return until_ns - from_ns;
}

int main(int argc, char **argv) {
    struct sigaction a = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    long labelled_ns = 0, n = 0;
    struct timespec tick;
    if (argc != 2 || sigaction(SIGTRAP, &a, NULL) != 0) return 2;
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    late_ms = (int)(tick.tv_nsec / 1000000) + 2;
    long from_ns = used_ns();
    if (vt_cpu_start(argv[1]) != 0) return 3;
    do {
        labelled_ns += let_in_after(++n);
    } while (n_steps > n && n < 3000);
    if (vt_cpu_stop() != 0) return 4;
    printf("%ld %ld\n", used_ns() - from_ns, labelled_ns);
    fprintf(stderr, "%ld steps\n", n);
    return n > 100 && n < 3000 ? 0 : 5;
}
