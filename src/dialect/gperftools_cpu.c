/* gperftools_cpu.c - the CPU profiler by gperftools' names: its functions (gperftools/profiler.h) and its variables.
 *
 *   CPUPROFILE=FILE                  cpu_profile=FILE, in gperftools' format and with its closing line
 *   CPUPROFILESIGNAL=N               cpu_switch=N
 *   CPUPROFILE_FREQUENCY=N           cpu_frequency=N; more than 4000 is 4000, what is no number is 100
 *   CPUPROFILE_REALTIME              cpu_clock=real; with one of the next two, wall
 *   CPUPROFILE_PER_THREAD_TIMERS     cpu_clock=thread, which it is by default
 *   CPUPROFILE_TIMER_SIGNAL=N        the same, and cpu_signal=N
 *   CPUPROFILE_USE_PID               FILE_PID from the first process on
 *   PMIX_RANK and others             FILE.rank-N, see gperftools_rank.c
 *
 * Those of the clock hold for ProfilerStart, too. An option that was set by our own name counts more. Translation, no logic. Climate: host.
 */
#include <stdatomic.h>

#include "conf/options.h"
#include "dialect/gperftools_rank.h"
#include "dialect/profiler.h"
#include "heap/upcalls.h"
#include "life/cpu.h"
#include "os/os.h"
#include "probe/cpu.h"
#include "stack/stack.h"

#define NSEC_PER_SEC UINT64_C(1000000000)
#define MAX_SIGNAL 64

/* ---- variables ---- */

/* Digits alone; or 0, which none of these variables may be. MANY is more than any of them can mean. */
#define MANY UINT64_C(1000000)
static uint64_t number_of(const char *text, unsigned base) {
    uint64_t n = 0;
    for (; vt__digit_of(*text) < base; text++) n = vt_min(n * base + vt__digit_of(*text), MANY);
    return *text == '\0' ? n : 0;
}

/* The same as C has it: 0x28, 050, 40. */
static uint64_t number_of_any_base(const char *text) {
    if (text[0] != '0') return number_of(text, 10);
    return text[1] == 'x' || text[1] == 'X' ? number_of(text + 2, 16) : number_of(text, 8);
}

/* 0: there is no such signal */
static uint64_t signal_of(uint64_t number) { return number <= MAX_SIGNAL ? number : 0; }

static void set_clock(void) {
    bool is_real = vt__os_getenv("CPUPROFILE_REALTIME") != NULL;
    bool is_per_thread = vt__os_getenv("CPUPROFILE_PER_THREAD_TIMERS") != NULL ||
                         vt__os_getenv("CPUPROFILE_TIMER_SIGNAL") != NULL;
    if (vt_opt_text(cpu_clock) != NULL || !is_real) return;
    vt_opt(cpu_clock) = (uintptr_t)(is_per_thread ? "wall" : "real");
}

/* As gperftools reads a switch: t, y, 1 or nothing at all. */
static bool is_on(const char *variable) {
    const char *v = vt__os_getenv(variable);
    return v != NULL &&
           (*v == '\0' || *v == 't' || *v == 'T' || *v == 'y' || *v == 'Y' || *v == '1');
}

static uint64_t frequency_of(const char *text) {
    uint64_t n = number_of(text, 10);
    return n == 0 ? 100 : vt_min(n, VT_CPU_MAX_FREQUENCY);
}

/* Those of the clock, which also hold for profiles by call. */
static void read_clock_variables(void) {
    static _Atomic bool is_read;
    const char *frequency = vt__os_getenv("CPUPROFILE_FREQUENCY");
    const char *timer = vt__os_getenv("CPUPROFILE_TIMER_SIGNAL");
    if (atomic_exchange_explicit(&is_read, true, memory_order_relaxed)) return;
    if (frequency != NULL && vt_opt(cpu_frequency) == vt__option_rows[VT_OPT_cpu_frequency].dflt)
        vt_opt(cpu_frequency) = frequency_of(frequency);
    if (timer != NULL && vt_opt(cpu_signal) == 0)
        vt_opt(cpu_signal) = signal_of(number_of_any_base(timer));
    set_clock();
}

static void read_variables(const char *file) {
    const char *number = vt__os_getenv("CPUPROFILESIGNAL");
    vt_opt(cpu_profile) = (uintptr_t)file;
    read_clock_variables();
    if (number != NULL && vt_opt(cpu_switch) == 0)
        vt_opt(cpu_switch) = signal_of(number_of(number, 10));
    if (number != NULL && vt_opt(cpu_switch) == 0)
        vt__warn("no signal has the number", number, " of CPUPROFILESIGNAL");
}

__attribute__((constructor)) static void begin_if_asked(void) {
    const char *file = vt__os_getenv("CPUPROFILE");
    if (file != NULL && *file == '\0') file = NULL;
    if (file == NULL && vt__os_getenv("VITRINE") == NULL &&
        vt__os_getenv("VITRINE_CPU_PROFILE") == NULL)
        return; /* most programs do not ask, and their library starts with their first malloc */
    if (vt__profiler_elsewhere() != NULL || vt__life_start() != 0) return;
    bool is_gperftools = file != NULL && vt_opt_text(cpu_profile) == NULL;
    char rank[64] = "";
    struct vt_text t = {rank, sizeof(rank) - 1, 0, false, NULL, NULL};
    bool wants_pid = is_gperftools && vt__gperftools_put_rank(&t);
    rank[t.len] = '\0';
    if (is_gperftools) read_variables(file);
    vt__life_cpu_begin(is_gperftools, wants_pid || (is_gperftools && is_on("CPUPROFILE_USE_PID")),
                       rank);
}

/* ---- functions ---- */

VT_EXPORT int ProfilerStartWithOptions(const char *fname, const struct ProfilerOptions *options) {
    const struct vt_profiler_functions *f = vt__profiler_elsewhere();
    struct vt_cpu_wish wish = {.path = fname, .is_gperftools = true};
    if (f != NULL) return f->start(fname, options);
    if (fname == NULL || vt__life_start() != 0) return 0;
    read_clock_variables();
    if (options != NULL) {
        wish.filter = options->filter_in_thread;
        wish.filter_arg = options->filter_in_thread_arg;
    }
    return vt__life_cpu_start(&wish) == 0;
}

VT_EXPORT int ProfilerStart(const char *fname) { return ProfilerStartWithOptions(fname, NULL); }

VT_EXPORT void ProfilerStop(void) {
    const struct vt_profiler_functions *f = vt__profiler_elsewhere();
    if (f != NULL)
        f->stop();
    else
        (void)vt__life_cpu_stop();
}

VT_EXPORT void ProfilerFlush(void) {
    const struct vt_profiler_functions *f = vt__profiler_elsewhere();
    if (f != NULL)
        f->flush();
    else
        (void)vt__life_cpu_dump(NULL);
}

VT_EXPORT void ProfilerEnable(void) {}

VT_EXPORT void ProfilerDisable(void) {}

VT_EXPORT int ProfilingIsEnabledForAllThreads(void) {
    const struct vt_profiler_functions *f = vt__profiler_elsewhere();
    return f != NULL ? f->is_enabled() : vt__cpu_is_on();
}

VT_EXPORT void ProfilerRegisterThread(void) {
    const struct vt_profiler_functions *f = vt__profiler_elsewhere();
    if (f != NULL)
        f->register_thread();
    else
        vt__life_make_known(0);
}

VT_EXPORT void ProfilerGetCurrentState(struct ProfilerState *state) {
    const struct vt_profiler_functions *f = vt__profiler_elsewhere();
    struct vt_cpu_state_now now;
    if (f != NULL) {
        f->state(state);
        return;
    }
    vt__life_cpu_state(&now);
    *state = (struct ProfilerState){.enabled = now.is_on,
                                    .start_time = (time_t)(now.since_ns / NSEC_PER_SEC),
                                    .samples_gathered = (int)now.n_periods};
    _Static_assert(sizeof(state->profile_name) == sizeof(now.path), "as long as ours");
    __builtin_memcpy(state->profile_name, now.path, sizeof(now.path));
}

VT_EXPORT int ProfilerGetStackTrace(void **result, int max_depth, int skip_count,
                                    const void *ucontext) {
    return (int)vt__stack_copy(ucontext, skip_count > 0 ? (unsigned)skip_count : 0, result,
                               max_depth > 0 ? (unsigned)max_depth : 0);
}
