/* gperftools/profiler.h - the CPU profiler by the names gperftools gave it. Link with -lprofiler or -lvitrine.
 *
 * Environment: CPUPROFILE=FILE profiles the whole run; see vitrine-options(7) for the other variables.
 */
#ifndef GPERFTOOLS_PROFILER_H_
#define GPERFTOOLS_PROFILER_H_

#include <time.h>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* May be NULL, or zeros. */
struct ProfilerOptions {
    int (*filter_in_thread)(void *arg); /* called in a signal handler; 0: this sample is dropped */
    void *filter_in_thread_arg;
};

/* Begin a profile in this file. 1; 0: one is being made already, or the file cannot be written. */
PERFTOOLS_DLL_DECL int ProfilerStart(const char *fname);
PERFTOOLS_DLL_DECL int ProfilerStartWithOptions(const char *fname,
                                                const struct ProfilerOptions *options);

/* End it: the file is written, and a line on stderr says how many samples there are. */
PERFTOOLS_DLL_DECL void ProfilerStop(void);

/* Write what there is so far, and go on. The file is a complete profile each time. */
PERFTOOLS_DLL_DECL void ProfilerFlush(void);

/* These do nothing and are here for old programs. */
PERFTOOLS_DLL_DECL void ProfilerEnable(void);
PERFTOOLS_DLL_DECL void ProfilerDisable(void);

/* 1 while a profile is being made. */
PERFTOOLS_DLL_DECL int ProfilingIsEnabledForAllThreads(void);

/* Threads are found without it; a thread that was started in an unusual way may make sure. */
PERFTOOLS_DLL_DECL void ProfilerRegisterThread(void);

struct ProfilerState {
    int enabled;             /* 1 while a profile is being made; else all is 0 */
    time_t start_time;       /* as time() has it */
    char profile_name[1024]; /* cut if it is longer */
    int samples_gathered;
};
PERFTOOLS_DLL_DECL void ProfilerGetCurrentState(struct ProfilerState *state);

/* For a handler of SIGPROF: the stack of what it interrupted, `ucontext` being its third argument; NULL: the caller's. The
 * innermost `skip_count` frames are left out. How many there are. */
PERFTOOLS_DLL_DECL int ProfilerGetStackTrace(void **result, int max_depth, int skip_count,
                                             const void *ucontext);

#ifdef __cplusplus
}
#endif

#endif
