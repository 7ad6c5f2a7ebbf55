/* test_cpu.c - the CPU profiler from inside: ticks that are made up, and the threads it knows. */
#include "unit.h"

#include <time.h>
#include <ucontext.h>

#include "probe/cpu_impl.h"

static const struct vt_cpu_plan slow = {.clock = VT_CPU_THREAD,
                                        .frequency = 1}; /* no tick of its own in a test */

static struct vt_cpu_totals totals(void) {
    struct vt_cpu_totals t;
    vt__cpu_totals(&t);
    return t;
}

static uint64_t n_counted(void) {
    struct vt_cpu_row row;
    uint64_t n = 0;
    for (uint32_t cursor = 0; vt__cpu_next(&cursor, &row);) n += row.count.n;
    return n;
}

/* A signal as the kernel would send it. */
static void tick(int code, void *value, int overrun) {
    siginfo_t info;
    ucontext_t context;
    memset(&info, 0, sizeof(info));
    info.si_signo = SIGPROF;
    info.si_code = code;
    info.si_value.sival_ptr = value;
    info.si_overrun = overrun;
    getcontext(&context);
    vt__cpu_on_signal(SIGPROF, &info, &context);
}

static struct vt_cpu_task *me(void) { return vt__cpu_task(vt__cpu_task_of(vt__os_tid())); }

TEST(cpu, a_tick_counts_for_all_periods_that_passed) {
    assert_int_equal(vt__cpu_start(&slow), 0);
    errno = 4711;
    tick(SI_TIMER, me(), 0);
    tick(SI_TIMER, me(), 4);
    assert_int_equal(errno, 4711);
    assert_int_equal(n_counted(), 6);
    assert_int_equal(totals().n_signals, 2);
    assert_int_equal(totals().n_lost, 0);
    vt__cpu_stop();
    assert_true(n_counted() >= 6); /* they stay */
    tick(SI_TIMER, me(), 0);       /* late: was held back */
    assert_int_equal(totals().n_signals, 2);
}

TEST(cpu, a_start_forgets_and_a_second_one_is_refused) {
    assert_int_equal(vt__cpu_start(&slow), 0);
    assert_int_equal(vt__cpu_start(&slow), -EBUSY);
    tick(SI_TIMER, me(), 0);
    vt__cpu_stop();
    assert_int_equal(vt__cpu_start(&slow), 0);
    assert_int_equal(n_counted(), 0);
    vt__cpu_stop();
}

TEST(cpu, a_plan_that_cannot_be_is_refused) {
    struct vt_cpu_plan plan = slow;
    plan.frequency = 0;
    assert_int_equal(vt__cpu_start(&plan), -EINVAL);
    plan.frequency = VT_CPU_MAX_FREQUENCY + 1;
    assert_int_equal(vt__cpu_start(&plan), -EINVAL);
    plan = slow;
    plan.signal = SIGKILL;
    assert_int_equal(vt__cpu_start(&plan), -EINVAL);
    assert_false(vt__cpu_is_on());
}

TEST(cpu, a_handler_lets_no_other_in_and_takes_the_alternate_stack) {
    struct sigaction a;
    assert_int_equal(vt__cpu_start(&slow), 0);
    assert_int_equal(sigaction(SIGPROF, NULL, &a), 0);
    assert_int_equal(a.sa_flags & (SA_ONSTACK | SA_RESTART | SA_SIGINFO),
                     SA_ONSTACK | SA_RESTART | SA_SIGINFO);
    assert_int_equal(sigismember(&a.sa_mask, SIGUSR1), 1);
    vt__cpu_stop();
}

static int n_theirs;
static void theirs(int number) { n_theirs += number == SIGPROF; }

TEST(cpu, signals_of_others_go_to_the_handler_that_was_there) {
    int not_ours;
    signal(SIGPROF, theirs);
    assert_int_equal(vt__cpu_start(&slow), 0);
    tick(SI_USER, NULL, 0);
    tick(SI_TIMER, &not_ours, 0);
    tick(SI_TIMER, me(), 0);
    tick(SI_TIMER, VT_CPU_SCOUT, 0);
    assert_int_equal(n_theirs, 2);
    assert_int_equal(n_counted(), 1);
    vt__cpu_stop();
}

static int answers(void *arg) { return *(int *)arg; }

static void start_filtered(int *answer) {
    struct vt_cpu_plan plan = slow;
    plan.filter = answers;
    plan.filter_arg = answer;
    assert_int_equal(vt__cpu_start(&plan), 0);
}

TEST(cpu, a_filter_drops_samples) {
    int answer = 0;
    start_filtered(&answer);
    tick(SI_TIMER, me(), 0);
    assert_int_equal(n_counted(), 0);
    answer = 1;
    tick(SI_TIMER, me(), 0);
    assert_int_equal(n_counted(), 1);
    vt__cpu_stop();
}

enum { NOT_YET, INSIDE, DONE };
static _Atomic int stage;

static int takes_long(void *unused) {
    (void)unused;
    stage = INSIDE;
    usleep(50000);
    stage = DONE;
    return 1;
}

static void *tick_slowly(void *unused) {
    vt__cpu_task_begins(0);
    tick(SI_TIMER, me(), 0);
    return unused;
}

TEST(cpu, a_start_waits_for_handlers_of_the_last_profile) {
    pthread_t id;
    struct vt_cpu_plan plan = slow;
    plan.filter = takes_long;
    assert_int_equal(vt__cpu_start(&plan), 0);
    assert_int_equal(pthread_create(&id, NULL, tick_slowly, NULL), 0);
    while (stage == NOT_YET) usleep(1000);
    vt__cpu_stop();
    assert_int_equal(vt__cpu_start(&slow), 0);
    assert_int_equal(stage, DONE);
    assert_int_equal(n_counted(), 0); /* it was the last one's */
    pthread_join(id, NULL);
    vt__cpu_stop();
}

/* A tick of perf's clock in a thread that was counted up to so long ago. */
static void perf_tick(int64_t owed_ns) {
    siginfo_t info;
    ucontext_t context;
    memset(&info, 0, sizeof(info));
    info.si_signo = SIGPROF;
    info.si_code = POLL_IN;
    info.si_fd = me()->fd;
    me()->cpu_ns = vt__os_clock_ns(vt__os_thread_clock(vt__os_tid())) - (uint64_t)owed_ns;
    getcontext(&context);
    vt__cpu_on_signal(SIGPROF, &info, &context);
}

TEST(cpu, a_tick_of_perf_counts_for_the_time_in_the_kernel_too) {
    struct vt_cpu_plan plan = {.clock = VT_CPU_PERF, .frequency = 1};
    if (vt__cpu_start(&plan) != 0) return; /* the system refuses perf's clock */
    perf_tick(3700000000);
    assert_int_equal(n_counted(), 3);
    uint64_t now_ns = vt__os_clock_ns(vt__os_thread_clock(vt__os_tid()));
    assert_in_range(now_ns - me()->cpu_ns, 700000000, 999999999); /* the rest is kept */
    vt__cpu_stop();
}

TEST(cpu, a_clock_that_is_behind_counts_for_one_period) {
    struct vt_cpu_plan plan = {.clock = VT_CPU_PERF, .frequency = 1};
    if (vt__cpu_start(&plan) != 0) return; /* the system refuses perf's clock */
    perf_tick(-1000000000);
    assert_int_equal(n_counted(), 1);
    vt__cpu_stop();
}

TEST(cpu, a_tick_of_the_process_counts_for_the_time_that_passed) {
    static const enum vt_cpu_clock clocks[] = {VT_CPU_PROCESS, VT_CPU_REAL};
    for (unsigned i = 0; i < vt_countof(clocks); i++) {
        struct vt_cpu_plan plan = {.clock = clocks[i], .frequency = 1};
        assert_int_equal(vt__cpu_start(&plan), 0);
        vt__cpu.common_ns = vt__cpu_common_ns();
        tick(SI_KERNEL, NULL, 0); /* too early */
        assert_int_equal(n_counted(), 0);
        vt__cpu.common_ns -= 2500000000;
        tick(SI_KERNEL, NULL, 0);
        assert_int_equal(n_counted(), 2);
        tick(SI_KERNEL, NULL, 0);
        assert_int_equal(n_counted(), 2);
        vt__cpu.common_ns -= 600000000; /* with what was left */
        tick(SI_KERNEL, NULL, 0);
        assert_int_equal(n_counted(), 3);
        assert_int_equal(totals().n_lost, 0);
        vt__cpu.common_ns -= 2000000000;
        vt__cpu_stop(); /* CPU time that no tick told of is settled */
        assert_int_equal(n_counted(), clocks[i] == VT_CPU_PROCESS ? 5 : 3);
    }
}

static void check_settled_at_entry(void) {
    struct vt_cpu_row row;
    const uintptr_t *pc;
    uint32_t cursor = 0;
    vt__cpu_stop();
    assert_true(vt__cpu_next(&cursor, &row));
    assert_in_range(row.count.n, 2, 3);
    assert_int_equal(vt__depot_get(row.count.stack, &pc), 1);
    assert_int_equal(pc[0], vt__os_entry());
    assert_false(vt__cpu_next(&cursor, &row));
}

TEST(cpu, time_of_the_first_thread_that_no_tick_met_counts_for_the_programs_entry) {
    assert_int_equal(vt__cpu_start(&slow), 0);
    me()->cpu_ns -= 2500000000;
    check_settled_at_entry();
}

TEST(cpu, time_of_a_process_that_no_tick_met_counts_for_the_programs_entry) {
    struct vt_cpu_plan plan = {.clock = VT_CPU_PROCESS, .frequency = 1};
    assert_int_equal(vt__cpu_start(&plan), 0);
    vt__cpu.common_ns -= 2500000000;
    check_settled_at_entry();
}

/* Owes so much CPU time by its timer. */
static void owe(uint64_t owed_ns) {
    me()->cpu_ns = vt__os_clock_ns(vt__os_thread_clock(vt__os_tid())) - owed_ns;
    me()->told_ns = me()->cpu_ns;
    me()->late_from_ns = 0; /* the time it takes has not really passed */
}

/* A file that is written in between has all the time that was used; the tick that tells of it comes later, and counts once. */
TEST(cpu, what_no_tick_told_of_is_lent_while_a_file_is_written) {
    assert_int_equal(vt__cpu_start(&slow), 0);
    owe(2500000000);
    vt__cpu_lend();
    assert_int_equal(n_counted(), 2);
    vt__cpu_take_back();
    assert_int_equal(n_counted(), 0);
    tick(SI_TIMER, me(), 1);
    assert_int_equal(n_counted(), 2);
    vt__cpu_lend(); /* half a period is left */
    assert_int_equal(n_counted(), 2);
    vt__cpu_take_back();
    vt__cpu_take_back();
    vt__cpu_stop();
    assert_int_equal(n_counted(), 2);
}

TEST(cpu, what_is_late_counts_when_labels_change_and_not_again) {
    struct vt_cpu_row row;
    uint32_t cursor = 0;
    assert_int_equal(vt__cpu_start(&slow), 0);
    owe(2500000000);
    vt__cpu_label_changes(5);
    assert_int_equal(n_counted(), 2);
    tick(SI_TIMER, me(), 0); /* the two that were late */
    tick(SI_TIMER, me(), 0);
    assert_int_equal(n_counted(), 2);
    owe(1000500000); /* the next tick of the system tells of it: that one finds where the thread is */
    vt__cpu_label_changes(0);
    assert_int_equal(n_counted(), 2);
    owe(2500000000);
    vt__cpu_label_changes(5);
    tick(SI_TIMER, me(), 3); /* of four it tells, of which two counted */
    assert_int_equal(n_counted(), 6);
    assert_int_equal(totals().n_lost, 0);
    owe(2500000000);
    vt__cpu_label_changes(5);
    owe(2500000000);
    vt__cpu_stop(); /* what came after, with the label that was told of */
    uint64_t n_by_label = 0;
    while (vt__cpu_next(&cursor, &row))
        if (row.count.label == 5) n_by_label += row.count.n;
    assert_int_equal(n_by_label, 2);
    vt__cpu_label_changes(5); /* off */
    assert_int_equal(n_counted(), 10);
}

TEST(cpu, a_filter_is_asked_by_ticks_alone) {
    int answer = 1;
    start_filtered(&answer);
    owe(2500000000);
    vt__cpu_label_changes(5);
    assert_int_equal(n_counted(), 0);
    vt__cpu_stop();
}

static _Atomic int go;
static _Atomic int tid_of_other;
static void *wait_for_go(void *unused) {
    tid_of_other = vt__os_tid();
    while (go == 0) usleep(1000);
    vt__cpu_task_ends();
    while (go == 1) usleep(1000);
    return unused;
}

TEST(cpu, threads_that_were_there_are_known_and_those_that_ended_are_not) {
    pthread_t id;
    pthread_create(&id, NULL, wait_for_go, NULL);
    while (tid_of_other == 0) usleep(1000);
    assert_int_equal(vt__cpu_start(&slow), 0);
    uint32_t number = vt__cpu_task_of(tid_of_other);
    assert_true(number != 0);
    assert_true(vt__cpu_task(number)->timer >= 0);
    go = 1;
    while (vt__cpu_task_of(tid_of_other) != 0) usleep(1000);
    vt__cpu_rescan(); /* it is still there */
    assert_true(vt__cpu_task_of(tid_of_other) != 0);
    go = 2;
    pthread_join(id, NULL);
    while (vt__os_task_is_there(tid_of_other)) usleep(1000);
    vt__cpu_rescan();
    assert_int_equal(vt__cpu_task_of(tid_of_other), 0);
    vt__cpu_stop();
    assert_int_equal(vt__cpu_task_of(vt__os_tid()), 0);
}

TEST(cpu, the_child_of_a_fork_goes_on_with_counts_of_its_own) {
    assert_int_equal(vt__cpu_start(&slow), 0);
    tick(SI_TIMER, me(), 0);
    vt__cpu.n_inside++; /* another thread, which the child does not have */
    vt__cpu_fork_prepare();
    pid_t pid = fork();
    vt__cpu_fork_done(pid == 0);
    if (pid == 0) {
        bool is_right = vt__cpu_is_on() && n_counted() == 0 && vt__cpu_task_of(vt__os_tid()) != 0 &&
                        vt__cpu.n_inside == 0;
        tick(SI_TIMER, me(), 1);
        _exit(is_right && n_counted() == 2 ? 0 : 1);
    }
    vt__cpu.n_inside--;
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(n_counted(), 1);
    vt__cpu_stop();
}

TEST(cpu, the_cost_of_a_tick) { /* told, not judged */
    struct timespec a, b;
    enum { N = 10000 };
    assert_int_equal(vt__cpu_start(&slow), 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    for (int i = 0; i < N; i++) tick(SI_TIMER, me(), 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    double ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
    printf("%.0f ns of CPU time for a tick, without the signal\n", ns / N);
    vt__cpu_stop();
}

UNIT_MAIN()
