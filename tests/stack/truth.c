/* truth.c - the comparing half of truth.cpp. */
#include <stdlib.h>

#include "compare.h"
#include "truth.h"

#define N_TICKS 400

static struct compare here = {.what = "calls"};
static struct compare raised = {.what = "raised signals"};
static struct compare ticks = {.what = "timer signals"};
static bool has_failed, is_quiet;
static __thread bool is_inside;

void truth_here(void) {
    if (is_quiet) return;
    is_inside = true;
    COMPARE_HERE(&here, /* is_below */ false);
    is_inside = false;
}

void truth_context(const void *uc) { compare_context(&raised, uc); }

/* libunwind is not to be interrupted by itself. */
void truth_tick(const void *uc) {
    if (is_inside) return;
    is_inside = true;
    compare_context(&ticks, uc);
    is_inside = false;
}

int truth_has_ticks(void) {
    is_quiet = true;
    return ticks.n >= N_TICKS;
}

void truth_loader(int is_at_work) { is_inside = is_at_work != 0; }

void truth_unloaded(void) {
    is_inside = true;
    vt__stack_modules_changed();
    unw_flush_cache(unw_local_addr_space, 0, 0);
    is_inside = false;
}

void truth_thread_ends(void) { vt__stack_thread_ends(); }

void truth_failed(const char *why) {
    fprintf(stderr, "truth: %s\n", why);
    has_failed = true;
}

int truth_report(void) {
    bool is_good = compare_report(&here, 0.999);
    is_good &= compare_report(&raised, 0.999);
    is_good &= compare_report(&ticks, 0.99); /* of 400 four may differ */
    compare_ends();
    if (here.n < 50000 || raised.n < 100 || ticks.n < 50) {
        fprintf(stderr, "expected more stacks to compare\n");
        is_good = false;
    }
    return is_good && !has_failed ? 0 : 1;
}
