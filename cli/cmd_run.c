/* cmd_run.c - a program under the library: preloaded, options set, waited for, reported on.
 *
 * The program has our standard input, output and error, our process group and our terminal. What the terminal sends (^C, ^Z,
 * ^\) reaches it and us alike; we live on to report. What somebody sends to us alone goes on to the program.
 *
 * The exit status is the program's, 128 + N when signal N ended it, 127 when there is no such program, 126 when it cannot be
 * run. Before it was begun: 2 for usage, 3 when it could not be recorded.
 *
 * Options become variables, which count more than VITRINE; what the user has in VITRINE and did not ask for here stays.
 *
 * Climate: cli.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/preload.h"
#include "cli/run.h"
#include "cli/run_boxes.h"

enum { EXIT_NOT_RUNNABLE = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

/* Unless the user says otherwise in VITRINE. A sample takes half a microsecond; one for each 64 KiB is 1 % of a program that
 * does little but allocate, and shows small ones too. */
#define DEFAULTS "heap_exit_peak,sample=64K"
#define OURS_AT_MOST 1.05 /* the counter may have been read a little later than ours */
#define PREFIX_MAX 1000   /* the library's names have 1024 bytes */

const struct probe probes[] = {
    {offsetof(struct settings, heap), "VITRINE_HEAP_PROFILE", ".%p", run_heap_name, "heap",
     "does not use libc's malloc, or ended by _exit() before a sample was due",
     "allocated less than 1MB"},
    {offsetof(struct settings, cpu), "VITRINE_CPU_PROFILE", ".cpu", run_cpu_name, "CPU",
     "ended before it was loaded", "took no time"},
    {offsetof(struct settings, contention), "VITRINE_CONTENTION_PROFILE", ".contention",
     run_contention_name, "contention", "ended before it was loaded", "recorded no wait"},
    {0},
};

/* ---- the environment of the program */

static bool set_variable(const char *name, const char *value) {
    if (setenv(name, value, /* overwrite */ 1) == 0) return true;
    say_error("cannot set %s: %s", name, strerror(errno));
    return false;
}

/* first SEPARATOR what was there */
static bool put_in_front(const char *name, const char *first, char separator) {
    const char *old = getenv(name);
    if (old == NULL || *old == '\0') return set_variable(name, first);
    size_t n_bytes = strlen(first) + strlen(old) + 2;
    char *both = report_alloc(n_bytes);
    (void)snprintf(both, n_bytes, "%s%c%s", first, separator, old);
    bool is_set = set_variable(name, both);
    free(both);
    return is_set;
}

/* A number with a suffix that the library understands, or `s` for seconds; false after a message. */
static bool is_amount(const char *option, const char *value, const char *suffixes) {
    size_t n = strspn(value, "0123456789");
    if (n > 0 && (value[n] == '\0' || (strchr(suffixes, value[n]) && value[n + 1] == '\0')))
        return true;
    say_error("'--%s' wants a number, with K, M or G behind it for bytes%s, not '%s'", option,
              strchr(suffixes, 's') ? " or s for seconds" : "", value);
    return false;
}

#define BYTE_SUFFIXES "KMGTkmgt"

static int set_options(const struct settings *s) {
    if (s->rate && !is_amount("rate", s->rate, BYTE_SUFFIXES)) return EXIT_USAGE;
    if (s->every && !is_amount("every", s->every, BYTE_SUFFIXES "s")) return EXIT_USAGE;
    if (s->rate && s->exact) {
        say_error("'--exact' sees every allocation, so there is no '--rate'");
        return EXIT_USAGE;
    }
    if (s->lifetimes && s->mmap) {
        say_error(
            "a profile tells of lifetimes or of mappings: '--lifetimes' and '--mmap' at once");
        return EXIT_USAGE;
    }
    bool is_set = put_in_front("VITRINE", DEFAULTS, ',');
    if (s->exact) is_set = is_set && set_variable("VITRINE_EXACT", "on");
    if (s->lifetimes) is_set = is_set && set_variable("VITRINE_HEAP_KIND", "lifetimes");
    if (s->mmap) is_set = is_set && set_variable("VITRINE_HEAP_MMAP", "on");
    if (s->wall) is_set = is_set && set_variable("VITRINE_CPU_CLOCK", "wall");
    if (s->rate) is_set = is_set && set_variable("VITRINE_SAMPLE", s->rate);
    if (s->every) {
        char number[32];
        size_t n = strcspn(s->every, "s");
        bool is_time = s->every[n] == 's';
        (void)snprintf(number, sizeof number, "%.*s", (int)n, s->every);
        is_set = is_set &&
                 set_variable(is_time ? "VITRINE_HEAP_SECONDS" : "VITRINE_HEAP_INTERVAL", number);
    }
    return is_set ? EXIT_FINE : EXIT_COULD_NOT;
}

/* What the user himself has in the options; NULL: nothing. */
static const char *own_box(void) {
    static const char name[] = "black_box=";
    const char *own = getenv("VITRINE_BLACK_BOX"), *options = getenv("VITRINE");
    if (own != NULL || options == NULL) return own;
    const char *at = strstr(options, name);
    return at != NULL ? strndup(at + strlen(name), strcspn(at + strlen(name), ",")) : NULL;
}

/* What is recorded is kept where it outlives the program; without a place for it, only who ends in order is reported on. The user's own
 * choice counts. */
static bool set_boxes(struct boxes *b) {
    char path[PATH_MAX + 8];
    *b = (struct boxes){.folder = BOX_FOLDER_NONE, .ends = -1, .of_user = own_box()};
    if (b->of_user != NULL) return true;
    if (!boxes_begin(b)) return true;
    (void)snprintf(path, sizeof path, "%s/%%p", b->folder.path);
    return set_variable("VITRINE_BLACK_BOX", path);
}

/* ---- where the files go */

static bool is_folder(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) return false;
    if (!S_ISDIR(st.st_mode)) errno = ENOTDIR;
    return S_ISDIR(st.st_mode);
}

/* The one that was asked for, or a new one: vitrine.NAME.1, .2 ... */
static bool make_folder(const struct settings *s, const char *name, char folder[PATH_MAX]) {
    bool is_made;
    if (s->output) {
        struct report_error e;
        (void)snprintf(folder, PATH_MAX, "%s", s->output);
        is_made = folder_make(folder, &e);
        if (!is_made) {
            say_error("cannot write in '%s': %s", folder, e.line);
            return false;
        }
    } else {
        unsigned n = 0;
        do {
            (void)snprintf(folder, PATH_MAX, "vitrine.%s.%u", name, ++n);
            is_made = mkdir(folder, 0777) == 0;
        } while (!is_made && errno == EEXIST);
    }
    if (is_made && is_folder(folder) && access(folder, W_OK | X_OK) == 0) return true;
    say_error("cannot write in '%s': %s%s", folder, strerror(errno),
              s->output ? "" : "; -o DIR chooses another place");
    return false;
}

/* At prefix[n], as far as is of use; gives the new length. Where %p is the process, a % of the name is doubled. */
static size_t put_name(char *prefix, size_t n, const char *name, bool doubles_percent) {
    for (; *name && n <= PREFIX_MAX; name++) {
        if (*name == '%' && doubles_percent) prefix[n++] = '%';
        prefix[n++] = *name;
    }
    return n;
}

/* FOLDER/NAME with the probe's own end, for each that was asked for. */
static bool set_prefixes(const struct settings *s, const char *name, const char *folder) {
    char whole[PATH_MAX], prefix[2 * PATH_MAX];
    struct report_error e;
    if (!folder_path(folder, whole, &e)) {
        say_error("cannot write in '%s': %s", folder, e.line);
        return false;
    }
    for (const struct probe *p = probes; p->variable; p++) {
        if (!probe_is_asked(p, s)) continue;
        bool has_percent = strchr(p->prefix, '%') != NULL;
        size_t n = 0;
        n = put_name(prefix, n, whole, has_percent);
        prefix[n++] = '/';
        n = put_name(prefix, n, name, has_percent);
        (void)snprintf(prefix + n, sizeof prefix - n, "%s", p->prefix);
        if (n >= PREFIX_MAX) {
            say_error("'%s': the path is too long for the names of profiles", folder);
            return false;
        }
        if (!set_variable(p->variable, prefix)) return false;
    }
    return true;
}

/* ---- running */

static volatile sig_atomic_t child; /* its pid while it can get signals */

static void forward(int number, siginfo_t *info, void *context) {
    int saved = errno;
    (void)context;
    /* Sent by a process (code 0 and below), so perhaps to us alone; what the kernel sends for the terminal goes to all. */
    if (child > 0 && info->si_code <= 0) (void)kill((pid_t)child, number);
    errno = saved;
}

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
#define N_FORWARDED (sizeof forwarded / sizeof *forwarded)

/* From now on, and which ones: what is ignored (nohup) stays ignored, in the program too. */
static void forward_signals(sigset_t *which) {
    struct sigaction mine = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART}, old;
    (void)sigemptyset(which);
    for (unsigned i = 0; i < N_FORWARDED; i++) {
        if (sigaction(forwarded[i], NULL, &old) != 0 || old.sa_handler == SIG_IGN) continue;
        (void)sigaction(forwarded[i], &mine, NULL);
        (void)sigaddset(which, forwarded[i]);
    }
}

static void stop_forwarding(const sigset_t *which) {
    struct sigaction usual = {.sa_handler = SIG_DFL};
    child = 0;
    for (unsigned i = 0; i < N_FORWARDED; i++)
        if (sigismember(which, forwarded[i]) == 1) (void)sigaction(forwarded[i], &usual, NULL);
}

/* 0, or an errno. No signal is lost: they wait until there is someone to forward them to. */
static int start(const char *path, char **argv) {
    posix_spawnattr_t how;
    sigset_t which, before;
    pid_t pid = 0;
    forward_signals(&which);
    (void)sigprocmask(SIG_BLOCK, &which, &before);
    int status = posix_spawnattr_init(&how);
    if (status == 0) {
        (void)posix_spawnattr_setsigdefault(&how, &which);
        (void)posix_spawnattr_setsigmask(&how, &before);
        (void)posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
        status = posix_spawn(&pid, path, NULL, &how, argv, environ);
        (void)posix_spawnattr_destroy(&how);
    }
    child = status == 0 ? pid : 0;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (status != 0) stop_forwarding(&which);
    return status;
}

/* The kernel's count of a process begins with what its maker had resident: ours. Below that it tells nothing. */
static double peak_of(const struct residence *e, double counted, double ours) {
    double peak = counted;
    if (e->peak_bytes > 0 && counted <= ours * OURS_AT_MOST) peak = e->peak_bytes;
    return e->total > peak ? e->total : peak; /* its counters lag */
}

static void await(struct run *r) {
    siginfo_t info;
    struct rusage used = {0};
    sigset_t all;
    double ours = residence_own_peak();
    residence_watch(r->pid, &r->residence);
    /* It is not reaped before forwarding has stopped: its pid cannot be another's meanwhile. */
    while (waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
    (void)sigfillset(&all);
    stop_forwarding(&all);
    while (wait4(r->pid, &r->ended, 0, &used) < 0 && errno == EINTR) {}
    boxes_read_ends(r->boxes, &r->residence);
    r->peak_resident_bytes = peak_of(&r->residence, (double)used.ru_maxrss * 1024, ours);
}

static int64_t now_ns(clockid_t clock) {
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* After the program. The boxes go before anything is said that nobody may read: `vitrine run ... 2>&1 | head`. */
static int finish(const struct settings *s, struct run *r) {
    (void)signal(SIGPIPE, SIG_IGN);
    boxes_write(r, s);
    boxes_end(r->boxes);
    run_report(r, s);
    return WIFSIGNALED(r->ended) ? EXIT_SIGNAL + WTERMSIG(r->ended) : WEXITSTATUS(r->ended);
}

static int run_program(const char *path, const struct settings *s, struct run *r) {
    char **argv = report_alloc((s->n_files + 1) * sizeof *argv); /* ended by NULL */
    for (uint32_t i = 0; i < s->n_files; i++) argv[i] = (char *)s->files[i];
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &r->began); /* the clock of file systems */
    int64_t began_ns = now_ns(CLOCK_MONOTONIC);
    (void)fflush(NULL);
    int status = start(path, argv);
    free(argv);
    if (status != 0) {
        boxes_end(r->boxes);
        say_error("cannot run '%s': %s", s->files[0], strerror(status));
        return status == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE;
    }
    r->pid = (pid_t)child;
    await(r);
    r->over_ns = now_ns(CLOCK_REALTIME);
    r->seconds = (double)(now_ns(CLOCK_MONOTONIC) - began_ns) / 1e9;
    return finish(s, r);
}

static bool asks_nothing(const struct settings *s) {
    for (const struct probe *p = probes; p->variable; p++)
        if (probe_is_asked(p, s)) return false;
    return true;
}

static int run(struct settings *s) {
    char library[PATH_MAX], program[PATH_MAX], folder[PATH_MAX];
    struct report_error e;
    const char *slash = strrchr(s->files[0], '/');
    struct boxes boxes;
    struct run r = {.name = slash ? slash + 1 : s->files[0], .folder = folder, .boxes = &boxes};
    if (s->wall) s->cpu = true;
    if (s->lifetimes || s->mmap || asks_nothing(s)) s->heap = true;
    int status = preload_program(s->files[0], program, &e);
    if (status != 0) {
        say_error("%s", e.line);
        return status == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE;
    }
    if (preload_library(library, &e) != 0 || !preload_is_possible(program, &e)) {
        say_error("%s", e.line);
        return EXIT_COULD_NOT;
    }
    status = set_options(s);
    if (status != EXIT_FINE) return status;
    if (!put_in_front("LD_PRELOAD", library, ':') || !make_folder(s, r.name, folder) ||
        !set_prefixes(s, r.name, folder))
        return EXIT_COULD_NOT;
    if (!set_boxes(&boxes)) return EXIT_COULD_NOT;
    status = run_program(program, s, &r);
    free(r.cut_off);
    for (uint32_t i = 0; i < r.n_before_exec; i++) free(r.before_exec[i]);
    free(r.before_exec);
    /* if nothing was written, and nobody will */
    if (s->output == NULL && boxes.n_running == 0) (void)rmdir(folder);
    return status;
}

#define AT(field) offsetof(struct settings, field)

static const struct option_row options_run[] = {
    {"heap", 0, OPTION_FLAG, AT(heap), NULL,
     "where memory is held, by call stack (default, if nothing else is asked for)"},
    {"cpu", 0, OPTION_FLAG, AT(cpu), NULL, "where CPU time goes, by call stack"},
    {"wall", 0, OPTION_FLAG, AT(wall), NULL,
     "where time passes, on the CPU or waiting, by call stack: --cpu by the clock on the wall"},
    {"contention", 0, OPTION_FLAG, AT(contention), NULL,
     "where threads wait for mutexes, read-write locks and conditions, by call stack"},
    {"exact", 0, OPTION_FLAG, AT(exact), NULL, "every allocation, not samples; slow"},
    {"lifetimes", 0, OPTION_FLAG, AT(lifetimes), NULL, "how long blocks live, too"},
    {"mmap", 0, OPTION_FLAG, AT(mmap), NULL,
     "what the program maps by itself, too: mmap, mremap, sbrk"},
    {"rate", 0, OPTION_TEXT, AT(rate), "BYTES", "mean bytes between samples (default: 64K)"},
    {"every", 0, OPTION_TEXT, AT(every), "AMOUNT",
     "a profile for each so many bytes (100M) or seconds (10s), and the heap over time"},
    {"all-frames", 0, OPTION_FLAG, AT(all_frames), NULL,
     "show the frames of allocators and libraries, and each turn of a recursion"},
    {"json", 0, OPTION_FLAG, AT(json), NULL, "the whole run as JSON, too: DIR/PROG.run.json"},
    {"output", 'o', OPTION_TEXT, AT(output), "DIR",
     "where the files go (default: vitrine.PROG.N, a new folder)"},
    {0},
};

const struct command cmd_run = {
    .name = "run",
    .usage = "run [OPTION...] [--] PROG [ARG...]",
    .summary = "run a program under Vitrine, and report when it ends",
    .example = "vitrine run -o profiles -- ./app --port=8080",
    .groups = {options_run},
    .min_files = 1,
    .missing = "no program is given",
    .has_arguments = true,
    .run = run,
};
