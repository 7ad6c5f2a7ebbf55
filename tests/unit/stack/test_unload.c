/* test_unload.c - the gate between walks that read a library's tables and dlclose: either sees the other. */
#include "unit.h"

#include <time.h>

#include "base/base.h"

#include "stack/unload.c"

static _Atomic bool is_through; /* the other thread's dlclose may go on */
static _Atomic int step;

static void wait_for(int n) {
    while (step < n) usleep(1000);
}

static void *begin_unload(void *unused) {
    vt__stack_unload_begins();
    is_through = true;
    wait_for(1);
    assert_true(vt__tables_hold()); /* it is not at it itself while it walks */
    vt__tables_release();
    vt__stack_unload_ends();
    return unused;
}

static uint64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

TEST(unload, dlclose_waits_for_a_walk_that_reads_tables) {
    pthread_t id;
    step = 1;
    assert_true(vt__tables_hold());
    uint64_t before = now_ms();
    assert_int_equal(pthread_create(&id, NULL, begin_unload, NULL), 0);
    usleep(100000);
    bool was_through = is_through;
    /* it waits no longer than WAIT_MS: if we were not run for so long, this has shown nothing */
    if (now_ms() - before < WAIT_MS / 2) assert_false(was_through);
    vt__tables_release();
    assert_int_equal(pthread_join(id, NULL), 0);
    assert_true(is_through);
}

TEST(unload, but_not_for_ever) {
    assert_true(vt__tables_hold()); /* a thread that was stopped there */
    uint64_t before = now_ms();
    vt__stack_unload_begins();
    assert_true(now_ms() - before >= WAIT_MS / 2); /* for ever is as long as unit.h's alarm */
    vt__stack_unload_ends();
}

TEST(unload, walks_do_without_tables_while_another_thread_unloads) {
    pthread_t id;
    assert_int_equal(pthread_create(&id, NULL, begin_unload, NULL), 0);
    while (!is_through) usleep(1000);
    assert_false(vt__tables_hold());
    step = 1;
    assert_int_equal(pthread_join(id, NULL), 0);
    assert_true(vt__tables_hold());
    vt__tables_release();
    assert_int_equal(gate.n_reading, 0);
}

UNIT_MAIN()
