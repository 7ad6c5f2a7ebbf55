/* overhead.c - what a tick costs: CPU time of the same work without and with the profiler, in turns, at a depth of 20 frames.
 *
 *     overhead ROUNDS MS        prints the least CPU time of each, their ratio, and the ticks there were
 */
#include <dlfcn.h>
#include <gperftools/profiler.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
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

int main(int argc, char **argv) {
    struct ProfilerState state;
    uint64_t least[2] = {UINT64_MAX, UINT64_MAX}, ticks = 0, on_ns = 0;
    if (argc < 3) return 2;
    uint64_t n = 1000000;
    n = n * strtoul(argv[2], NULL, 0) * 1000000 / timed(n);
    for (int i = 0; i < atoi(argv[1]); i++) {
        uint64_t off = timed(n);
        if (!ProfilerStart("overhead.prof")) return 3;
        uint64_t on = timed(n);
        ProfilerGetCurrentState(&state);
        ProfilerStop();
        ticks += (uint64_t)state.samples_gathered;
        on_ns += on;
        if (off < least[0]) least[0] = off;
        if (on < least[1]) least[1] = on;
    }
    printf("off %.3f ms, on %.3f ms: %+.3f %%; %.0f periods/s of CPU time\n",
           (double)least[0] / 1e6, (double)least[1] / 1e6,
           100.0 * ((double)least[1] / (double)least[0] - 1),
           (double)ticks / ((double)on_ns / 1e9));
    return 0;
}
