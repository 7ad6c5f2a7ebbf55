/* overhead.c - what a tick costs: CPU time of the same work without and with the profiler, in turns, at a depth of 20 frames.
 *
 *     overhead ROUNDS MS        prints how much more it is, by the least and by the lower quartile of the rounds; the same for a second
 *                               row of rounds without the profiler, which is the noise; and the ticks there were
 *
 * A round is short, so that some are met by nobody else; the order changes from round to round. The clock is the thread's: while a timer
 * runs on the CPU time of a process, the process's own clock stands still from one of the system's ticks to the next.
 */
#include <dlfcn.h>
#include <gperftools/profiler.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum arm { OFF, AGAIN, ON, N_ARMS };
#define MAX_ROUNDS 10000

static volatile uint64_t sink;
static double taken_ns[N_ARMS][MAX_ROUNDS];

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((noinline, noclone)) static uint64_t work(unsigned depth, uint64_t n) {
    uint64_t x = depth;
    if (depth > 0) return work(depth - 1, n) + x;
    for (uint64_t i = 0; i < n; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
    return x;
}

static uint64_t timed(uint64_t n) {
    uint64_t from = cpu_ns();
    work(20, n);
    return cpu_ns() - from;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double more(enum arm arm, int rank) {
    return 100.0 * (taken_ns[arm][rank] / taken_ns[OFF][rank] - 1);
}

int main(int argc, char **argv) {
    struct ProfilerState state;
    double ticks = 0, on_ns = 0;
    int n_rounds = argc > 1 ? atoi(argv[1]) : 0;
    if (argc < 3 || n_rounds < 1 || n_rounds > MAX_ROUNDS) return 2;
    uint64_t n = 1000000;
    n = n * strtoul(argv[2], NULL, 0) * 1000000 / timed(n);
    for (int i = 0; i < n_rounds; i++)
        for (int turn = 0; turn < N_ARMS; turn++) {
            enum arm arm = (enum arm)((i + turn) % N_ARMS);
            if (arm == ON && !ProfilerStart("overhead.prof")) return 3;
            taken_ns[arm][i] = (double)timed(n);
            if (arm != ON) continue;
            ProfilerGetCurrentState(&state);
            ProfilerStop();
            ticks += state.samples_gathered;
            on_ns += taken_ns[arm][i];
        }
    for (int arm = 0; arm < N_ARMS; arm++)
        qsort(taken_ns[arm], (size_t)n_rounds, sizeof(double), by_size);
    printf(
        "least %+.2f %%, quartile %+.2f %%; noise %+.2f %%, %+.2f %%; %.0f periods/s of CPU time\n",
        more(ON, 0), more(ON, n_rounds / 4), more(AGAIN, 0), more(AGAIN, n_rounds / 4),
        ticks / (on_ns / 1e9));
    return 0;
}
