/* user.c - a user of gperftools/profiler.h, as C and as C++.
 *
 *   user calls FILE     every function once, and a filter
 *   user ticks FILE     says how often its filter was asked in 200 ms of CPU time, and the periods of the process's two timers in us
 */
#include <google/profiler.h>
#include <gperftools/profiler.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static volatile unsigned long sink;

static void burn(int n) {
    int i;
    for (i = 0; i < n * 1000000; i++) sink = sink * 31 + 7;
}

static volatile int is_wanted, n_asked;
static int filter(void *arg) {
    n_asked++;
    return arg == &is_wanted && is_wanted;
}

static int ticks(const char *file, const struct ProfilerOptions *options) {
    struct itimerval prof, real;
    struct timespec t;
    if (ProfilerStartWithOptions(file, options) != 1) return 3;
    do burn(1), clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    while (t.tv_sec == 0 && t.tv_nsec < 200000000);
    getitimer(ITIMER_PROF, &prof);
    getitimer(ITIMER_REAL, &real);
    ProfilerStop();
    printf("%d %ld %ld\n", n_asked, (long)prof.it_interval.tv_usec, (long)real.it_interval.tv_usec);
    return 0;
}

#define EXPECT(x) ((x) ? (void)0 : (void)(printf("line %d: expected %s\n", __LINE__, #x), n_bad++))

int main(int argc, char **argv) {
    int n_bad = 0;
    struct ProfilerState state;
    struct ProfilerOptions options;
    int with, i;
    void *pcs[32];
    time_t began;
    if (argc < 3) return 2;
    began = time(NULL);
    memset(&options, 0, sizeof options);
    options.filter_in_thread = filter;
    options.filter_in_thread_arg = (void *)&is_wanted;
    if (strcmp(argv[1], "ticks") == 0) return ticks(argv[2], &options);
    ProfilerGetCurrentState(&state);
    EXPECT(!state.enabled && state.profile_name[0] == '\0' && state.samples_gathered == 0);
    EXPECT(!ProfilingIsEnabledForAllThreads());
    ProfilerStop(); /* nothing is on: nothing happens */
    EXPECT(ProfilerStartWithOptions(argv[2], &options) == 1);
    EXPECT(ProfilerStart(argv[2]) == 0);
    ProfilerRegisterThread();
    ProfilerEnable();
    ProfilerDisable();
    for (i = 0; i < 200 && n_asked < 3; i++) burn(10);
    ProfilerGetCurrentState(&state);
    EXPECT(state.enabled == 1 && strcmp(state.profile_name, argv[2]) == 0);
    EXPECT(state.start_time >= began && state.start_time <= time(NULL));
    EXPECT(n_asked > 0 && state.samples_gathered == 0); /* all were dropped */
    is_wanted = 1;
    for (i = 0; i < 200 && (ProfilerGetCurrentState(&state), state.samples_gathered < 8); i++)
        burn(10);
    with = state.samples_gathered;
    EXPECT(with >= 8);
    EXPECT(ProfilingIsEnabledForAllThreads() == 1);
    ProfilerFlush();
    EXPECT(ProfilerGetStackTrace(pcs, 32, 0, NULL) > 1);
    EXPECT(ProfilerGetStackTrace(pcs, 1, 0, NULL) == 1);
    ProfilerStop();
    ProfilerGetCurrentState(&state);
    EXPECT(!state.enabled && !ProfilingIsEnabledForAllThreads());
    return n_bad != 0;
}
