/* burn.c - a program that knows where its CPU time goes: each function burns a share that was measured while it did.
 *
 *     burn [STEP...]
 *
 *   mix MS        alpha 50 %, beta 30 %, gamma 20 % of so many milliseconds of CPU time, and until they are met; gamma's is inlined code
 *   plainly       from here on no longer than they are told to
 *   lib MS        a function of a library, if one was linked: burn_lib.c
 *   threads N MS  N threads, "worker-I", that each burn so long in worker_I's place: all the same function
 *   late N MS     the same, but the threads wait for the step `go`
 *   fork MS       a child that burns in `child_burn` and exits, and a wait for it
 *   child         a child that goes on with what follows, and a wait for it
 *   exec          starts itself again with what follows
 *   idle MS       sleeps
 *   cd FOLDER
 *   wait          until a line comes on stdin
 *   start FILE, flush, stop      ProfilerStart, ProfilerFlush, ProfilerStop, found by dlsym
 *   raise N       a signal, to itself
 *   _exit
 *
 * The truth goes to the file that BURN_TRUTH names: a line "FUNCTION NANOSECONDS" for each, added up per process; of the threads to the
 * file that BURN_THREADS names: a line "NAME NANOSECONDS", all CPU time that each had, by its own clock, when it was about to end.
 */
#include <dlfcn.h>
#include <gperftools/profiler.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile uint64_t sink;

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline __attribute__((always_inline)) uint64_t churn(uint64_t x) {
    for (int i = 0; i < 20000; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

/* How many samples the profile has, if one is being made by a library that can be asked; else -1. */
static int n_samples(void) {
    static void (*ask)(struct ProfilerState *);
    struct ProfilerState now = {0};
    if (ask == NULL)
        ask = (void (*)(struct ProfilerState *))dlsym(RTLD_DEFAULT, "ProfilerGetCurrentState");
    if (ask != NULL) ask(&now);
    return now.enabled ? now.samples_gathered : -1;
}

/* On a busy machine a thread may be on no core at the system's ticks for long, and what passed counts where it is met next. So what burns
 * longer than a period goes on until it is met once more: then it is in the profile, and nothing of its time is elsewhere. */
#define LONG_NS 12000000u
#define BETWEEN_LOOKS_NS 1000000u
#define PATIENCE_NS 2000000000u
struct meeting {
    uint64_t ns, next_look_ns;
    int n_before;
};

static bool is_plain;

static bool is_over(struct meeting *m, uint64_t past_ns) {
    if (past_ns < m->ns || past_ns < m->next_look_ns) return false;
    if (is_plain) return true;
    int n = m->ns >= LONG_NS ? n_samples() : -1;
    if (m->next_look_ns == 0) m->n_before = n;
    m->next_look_ns = past_ns + BETWEEN_LOOKS_NS;
    if (past_ns > m->ns + PATIENCE_NS) fprintf(stderr, "no tick in 2 s of CPU time\n"), exit(10);
    return n < 0 || n != m->n_before;
}

/* Looks at the clock every 20,000 turns or so, some 20 us: what of the time is the clock's own is below 2 %. */
#define BURN(name)                                                                                 \
    static uint64_t truth_##name;                                                                  \
    static NOINLINE void name(uint64_t ns) {                                                       \
        struct meeting m = {.ns = ns};                                                             \
        uint64_t from = cpu_ns(), now, x = from;                                                   \
        do x = churn(x), now = cpu_ns();                                                           \
        while (!is_over(&m, now - from));                                                          \
        sink = x;                                                                                  \
        truth_##name += now - from;                                                                \
    }

BURN(alpha)
BURN(beta)
BURN(child_burn)

static uint64_t truth_worker_burn;
/* No longer than it is told to: what a thread owes at its end is to be counted, too. */
static NOINLINE void worker_burn(uint64_t ns) {
    uint64_t from = cpu_ns(), now, x = from;
    do x = churn(x), now = cpu_ns();
    while (now - from < ns);
    sink = x;
    __atomic_fetch_add(&truth_worker_burn, now - from, __ATOMIC_RELAXED);
}

static uint64_t truth_gamma_outer;
/* All of its time is in code that was inlined. */
static inline __attribute__((always_inline)) uint64_t gamma_inner(uint64_t x) { return churn(x); }
static NOINLINE void gamma_outer(uint64_t ns) {
    struct meeting m = {.ns = ns};
    uint64_t from = cpu_ns(), now, x = from;
    do x = gamma_inner(x), now = cpu_ns();
    while (!is_over(&m, now - from));
    sink = x;
    truth_gamma_outer += now - from;
}

static uint64_t truth_lib;
extern uint64_t burn_lib(uint64_t ns) __attribute__((weak));

static void lib(uint64_t ms) {
    struct meeting m = {.ns = ms * 1000000};
    uint64_t past_ns = burn_lib(m.ns);
    while (!is_over(&m, past_ns)) past_ns += burn_lib(BETWEEN_LOOKS_NS);
    truth_lib += past_ns;
}

static void mix(uint64_t ms) {
    alpha(ms * 500000);
    beta(ms * 300000);
    gamma_outer(ms * 200000);
}

struct job {
    uint64_t ns;
    int number;
    pthread_barrier_t *barrier;
    uint64_t had_ns;
};

static void *work(void *arg) {
    struct job *job = arg;
    char name[16];
    snprintf(name, sizeof name, "worker-%d", job->number);
    pthread_setname_np(pthread_self(), name);
    if (job->barrier != NULL) pthread_barrier_wait(job->barrier);
    worker_burn(job->ns);
    job->had_ns = cpu_ns();
    return NULL;
}

static struct job jobs[1024];
static pthread_t ids[1024];
static int n_late;
static pthread_barrier_t late;

static void begin(int n, uint64_t ms, pthread_barrier_t *barrier) {
    for (int i = 0; i < n; i++) {
        jobs[i] = (struct job){ms * 1000000, i, barrier, 0};
        if (pthread_create(&ids[i], NULL, work, &jobs[i]) != 0) exit(6);
    }
}

static void end(int n) {
    const char *path = getenv("BURN_THREADS");
    FILE *f = path != NULL ? fopen(path, "w") : NULL;
    for (int i = 0; i < n; i++) {
        pthread_join(ids[i], NULL);
        if (f != NULL) fprintf(f, "worker-%d %lu\n", i, jobs[i].had_ns);
    }
    if (f != NULL) fclose(f);
}

static void tell(void) {
    const char *path = getenv("BURN_TRUTH");
    static char full[512];
    if (path == NULL) return;
    snprintf(full, sizeof full, "%s.%d", path, (int)getpid());
    FILE *f = fopen(full, "w");
    if (f == NULL) return;
    fprintf(
        f, "alpha %lu\nbeta %lu\ngamma_outer %lu\nworker_burn %lu\nchild_burn %lu\nburn_lib %lu\n",
        truth_alpha, truth_beta, truth_gamma_outer, truth_worker_burn, truth_child_burn, truth_lib);
    fclose(f);
}

static void forget(void) {
    truth_alpha = truth_beta = truth_gamma_outer = truth_worker_burn = truth_child_burn =
        truth_lib = 0;
}

static void *function(const char *name) {
    void *f = dlsym(RTLD_DEFAULT, name);
    if (f == NULL) fprintf(stderr, "no %s\n", name), exit(7);
    return f;
}

int main(int argc, char **argv) {
    char line[16];
    if (argc < 2) return 2;
    for (char **step = argv + 1; *step != NULL; step++) {
        if (strcmp(*step, "plainly") == 0) is_plain = true;
        if (strcmp(*step, "mix") == 0) mix(strtoul(*++step, NULL, 0));
        if (strcmp(*step, "lib") == 0) lib(strtoul(*++step, NULL, 0));
        if (strcmp(*step, "threads") == 0) {
            int n = atoi(*++step);
            begin(n, strtoul(*++step, NULL, 0), NULL);
            end(n);
        }
        if (strcmp(*step, "late") == 0) {
            n_late = atoi(*++step);
            pthread_barrier_init(&late, NULL, (unsigned)n_late + 1);
            begin(n_late, strtoul(*++step, NULL, 0), &late);
        }
        if (strcmp(*step, "go") == 0) {
            pthread_barrier_wait(&late);
            end(n_late);
        }
        if (strcmp(*step, "fork") == 0) {
            uint64_t ms = strtoul(*++step, NULL, 0);
            pid_t pid = fork();
            if (pid == 0) {
                forget();
                child_burn(ms * 1000000);
                tell();
                exit(0);
            }
            int status;
            if (waitpid(pid, &status, 0) != pid || status != 0) return 3;
        }
        if (strcmp(*step, "exec") == 0) {
            pid_t pid = fork();
            if (pid == 0) {
                execv("/proc/self/exe", step);
                _exit(4);
            }
            int status;
            if (waitpid(pid, &status, 0) != pid || status != 0) return 3;
            break;
        }
        if (strcmp(*step, "child") == 0) {
            pid_t pid = fork();
            int status;
            if (pid != 0) return waitpid(pid, &status, 0) != pid || status != 0 ? 3 : 0;
            forget();
        }
        if (strcmp(*step, "raise") == 0) raise(atoi(*++step));
        if (strcmp(*step, "idle") == 0) usleep((useconds_t)strtoul(*++step, NULL, 0) * 1000);
        if (strcmp(*step, "wait") == 0) {
            puts("waiting");
            fflush(stdout);
            if (fgets(line, sizeof line, stdin) == NULL) return 5;
        }
        if (strcmp(*step, "start") == 0 &&
            ((int (*)(const char *))function("ProfilerStart"))(*++step) != 1)
            return 8;
        if (strcmp(*step, "flush") == 0) ((void (*)(void))function("ProfilerFlush"))();
        if (strcmp(*step, "stop") == 0) ((void (*)(void))function("ProfilerStop"))();
        if (strcmp(*step, "cd") == 0 && chdir(*++step) != 0) return 9;
        if (strcmp(*step, "_exit") == 0) _exit(0);
    }
    tell();
    return 0;
}
