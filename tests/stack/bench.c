/* bench.c - what a walk costs, at 30 frames: prints nanoseconds, and relative to libunwind in the same run.
 *
 * Not a test: the figures are in docs/decisions/unwind.md. The recursion is compiled with frame pointers, so that the walk by
 * frame pointers, the least that any can cost, can be had in the same place; our rules for it are those of other code.
 */
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "stack/unwind.c"

#define N_FRAMES 30
#define ROUNDS 9

static struct vt_frames frames;
static const uintptr_t *frame_of_main; /* libc's frames before it have no frame pointers */
static void *addresses[VT_STACK_MAX_FRAMES];

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef void method(void);

__attribute__((noinline)) static void by_frame_pointers(void) {
    const uintptr_t *fp = __builtin_frame_address(0);
    unsigned n = 0;
    for (; fp != frame_of_main; fp = (const uintptr_t *)fp[0]) frames.pc[n++] = fp[1];
    frames.n = n;
}
__attribute__((noinline)) static void by_memo(void) { vt__stack_here(&frames); }
__attribute__((noinline)) static void by_cache(void) {
    mine->top = N_ENTRIES; /* an empty memo */
    vt__stack_here(&frames);
}
__attribute__((noinline)) static void by_tables(void) { /* and the cost of forgetting is in it */
    vt__rules_drop();
    vt__stack_here(&frames);
}
__attribute__((noinline)) static void forget_only(void) { vt__rules_drop(); }
__attribute__((noinline)) static void by_libunwind(void) {
    unw_backtrace(addresses, VT_STACK_MAX_FRAMES);
}
__attribute__((noinline)) static void by_memo_and_depot(void) {
    vt__stack_here(&frames);
    if (vt__depot_put(&frames) == 0) abort();
}

static double measure(method *m, int n) {
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (int i = 0; i < n; i++) m();
        double t = (now_ns() - start) / n;
        if (t < best) best = t;
    }
    return best;
}

static void measure_all(void) {
    static const struct {
        const char *name;
        method *run;
        int n;
    } rows[] = {{"frame pointers", by_frame_pointers, 20000},
                {"ours, memo", by_memo, 20000},
                {"ours, memo and depot", by_memo_and_depot, 20000},
                {"ours, cache", by_cache, 20000},
                {"libunwind unw_backtrace", by_libunwind, 20000}};
    vt__stack_here(&frames);
    printf("%u frames\n", frames.n);
    double unit = measure(by_libunwind, 20000);
    for (size_t i = 0; i < vt_countof(rows); i++) {
        double t = measure(rows[i].run, rows[i].n);
        printf("%-26s %8.1f ns %8.2f of libunwind\n", rows[i].name, t, t / unit);
    }
    double cold = measure(by_tables, 200) - measure(forget_only, 200);
    printf("%-26s %8.1f ns %8.2f of libunwind\n", "ours, all rules decoded", cold, cold / unit);
}

__attribute__((noinline)) static void go_down(unsigned depth) {
    if (depth == 0)
        measure_all();
    else
        go_down(depth - 1);
    __asm__ volatile("" ::"r"(depth) : "memory");
}

int main(void) {
    frame_of_main = __builtin_frame_address(0);
    go_down(N_FRAMES - 5);
    return 0;
}
