/* main.c - runs a scenario for a while: rounds, each with a seed of its own, until the time is up.
 *
 *   stress SCENARIO [seconds=2] [threads=4] [seed=N] [rounds=N]
 *
 * A round that fails prints its seed; `stress SCENARIO seed=N rounds=1` runs it again. What one thread does follows from the
 * seed alone; how threads meet does not. VT_SOAK=1 in the environment makes it minutes instead of seconds.
 * At the end nothing may be left: every block was freed, so the library must count as many bytes as before.
 */
#include "stress.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "vitrine.h"

#define SOAK_FACTOR 60
#define EXIT_SKIP 77

static const struct scenario *const scenarios[] = {
    &random_scenario,  &handover_scenario, &orphans_scenario, &rings_scenario,
    &sleeper_scenario, &late_scenario,     &forks_scenario,   &mix_scenario,
};
#define N_SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

struct run run = {.n_threads = 4, .seed = 1};
_Atomic(void *) slots[N_SLOTS];

/* ---- saying things, without malloc: it may be the broken part ---- */

static void write_line(const char *format, va_list ap) {
    char line[512];
    int n = vsnprintf(line, sizeof(line) - 1, format, ap);
    if (n < 0) return;
    if ((size_t)n > sizeof(line) - 2) n = (int)sizeof(line) - 2;
    line[n++] = '\n';
    ssize_t ignored = write(2, line, (size_t)n);
    (void)ignored;
}

void say(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    write_line(format, ap);
    va_end(ap);
}

static void say_how_to_repeat(void) {
    say("stress: failed in scenario '%s', seed %llu; again: stress %s seed=%llu threads=%u rounds=1",
        run.scenario, (unsigned long long)run.seed, run.scenario, (unsigned long long)run.seed,
        run.n_threads);
}

void die(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    write_line(format, ap);
    va_end(ap);
    abort();
}

static void on_death(int sig) {
    say_how_to_repeat();
    signal(sig, SIG_DFL);
    raise(sig);
}

/* ---- helpers of the scenarios ---- */

void in_threads(unsigned n, void *(*f)(void *)) {
    pthread_t id[64];
    if (n > 64) n = 64;
    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&id[i], NULL, f, (void *)(uintptr_t)i) != 0)
            die("pthread_create: expected 0 for thread %u", i);
    for (unsigned i = 0; i < n; i++) pthread_join(id[i], NULL);
}

void empty_slots(void) {
    for (unsigned i = 0; i < N_SLOTS; i++) drop_block(swap_slot(i, NULL));
}

bool ask_stats(uint64_t *allocated, uint64_t *n_threads, uint64_t *n_heaps) {
    struct vt_stats s = {.size = sizeof(s)};
#if defined(VT_STRESS_PLAIN) || defined(VT_STRESS_STATIC)
    int (*get)(struct vt_stats *) = vt_stats_get;
#else
    int (*get)(struct vt_stats *) = (int (*)(struct vt_stats *))dlsym(RTLD_DEFAULT, "vt_stats_get");
#endif
    if (get == NULL || get(&s) != 0) return false;
    *allocated = s.allocated;
    *n_threads = s.n_threads;
    *n_heaps = s.n_heaps;
    return true;
}

/* ---- one run ---- */

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t number_behind(const char *arg, const char *name, uint64_t otherwise) {
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 && arg[n] == '=' ? strtoull(arg + n + 1, NULL, 0) : otherwise;
}

static void *end_in_time(void *seconds) {
    double end = seconds_now() + *(double *)seconds;
    while (!atomic_load(&run.is_over) && seconds_now() < end) usleep(20000);
    atomic_store(&run.is_over, true);
    return NULL;
}

/* What was freed and not counted as free must not grow: the library's own view, after a first round to warm up. */
static void check_nothing_is_left(uint64_t before, uint64_t n_threads_before) {
    uint64_t after, n_threads, n_heaps;
    if (!ask_stats(&after, &n_threads, &n_heaps)) return;
    /* libc keeps a few blocks of its own, and the secure library's quarantine up to 256 KiB a thread */
    if (after > before + (512 << 10))
        die("expected at most %llu bytes allocated after everything was freed, seen %llu",
            (unsigned long long)before, (unsigned long long)after);
    if (n_threads > n_threads_before)
        die("expected %llu heaps with a thread, seen %llu", (unsigned long long)n_threads_before,
            (unsigned long long)n_threads);
}

static int usage(void) {
    say("usage: stress SCENARIO [seconds=2] [threads=4] [seed=N] [rounds=N]");
    for (size_t i = 0; i < N_SCENARIOS; i++)
        say("  %-10s %s", scenarios[i]->name, scenarios[i]->what);
    return 2;
}

int main(int argc, char **argv) {
    const struct scenario *s = NULL;
    uint64_t seconds = 2, rounds = 0, unused, before = 0, n_threads_before = 0;
    for (size_t i = 0; argc > 1 && i < N_SCENARIOS; i++)
        if (strcmp(argv[1], scenarios[i]->name) == 0) s = scenarios[i];
    if (s == NULL) return usage();
    run.scenario = s->name;
    run.seed = (uint64_t)(seconds_now() * 1e6); /* new every time; printed when it matters */
    for (int i = 2; i < argc; i++) {
        seconds = number_behind(argv[i], "seconds", seconds);
        rounds = number_behind(argv[i], "rounds", rounds);
        run.n_threads = (unsigned)number_behind(argv[i], "threads", run.n_threads);
        run.seed = number_behind(argv[i], "seed", run.seed);
    }
    const char *soak = getenv("VT_SOAK");
    run.is_soak = soak != NULL && strcmp(soak, "1") == 0;
    const char *wanted = getenv("VT_EXPECT_VITRINE");
    if (wanted != NULL && !ask_stats(&before, &n_threads_before, &unused))
        die("expected the library in this process, seen none");
    static const int deaths[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) signal(deaths[i], on_death);

    double limit = (double)(run.is_soak ? seconds * SOAK_FACTOR : seconds);
    pthread_t timer;
    s_free(
        s_malloc(1)); /* in plain builds, the library starts here and not in two threads at once */
    if (pthread_create(&timer, NULL, end_in_time, &limit) != 0) die("pthread_create: expected 0");
    uint64_t n = 0;
    do {
        s->run();
        s_audit();
        if (n == 0)
            ask_stats(&before, &n_threads_before,
                      &unused); /* what the first round left is there to stay */
        run.seed++;
        /* two at least: what the first has left is compared with what the others leave */
    } while (++n < rounds || (rounds == 0 && (n < 2 || !atomic_load(&run.is_over))));
    check_nothing_is_left(before, n_threads_before);
    atomic_store(&run.is_over, true);
    pthread_join(timer, NULL);
    say("stress: %s: %llu rounds, fine", s->name, (unsigned long long)n);
    return 0;
}
