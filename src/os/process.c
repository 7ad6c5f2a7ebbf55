/* process.c - what surrounds us: environment, limits, memory, NUMA nodes, time, and saying things.
 *
 * Climate: malloc.   Owns: nothing.   Callers: every room.
 * Everything here may be missing (a container without /proc or /sys, a strict seccomp filter); then a harmless
 * default is the answer.
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "os/impl.h"

#define FUTEX_WAIT_PRIVATE 128 /* linux/futex.h, which a musl tree lacks */
#define FUTEX_WAKE_PRIVATE 129
#define UNLIKELY_WORD 0x1d2c5681 /* one that hardly any memory holds */

/* glibc: where the kernel put argc, argv and the environment. We may be called before libc set `environ`. */
extern void *__libc_stack_end __attribute__((weak));
/* glibc 2.32 and newer. */
extern char __libc_single_threaded __attribute__((weak));

void vt__os_wait(void *word, uint32_t while_value) {
    vt__syscall(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, while_value, 0, 0, 0);
}

void vt__os_wait_ms(void *word, uint32_t while_value, uint64_t ms) {
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    vt__syscall(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, while_value, (long)&t, 0, 0);
}

void vt__os_wake(void *word, int n) {
    vt__syscall(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, n, 0, 0, 0);
}

bool vt__os_is_readable(const void *at) {
    /* A wait that does not wait: the kernel looks at the word and tells us if it could. Filters that let malloc live allow it.
     * Only if the word is what we ask for, the thread goes to sleep and wakes at once: so not 0, which most are. */
    struct timespec none = {0, 0};
    return vt__syscall(SYS_futex, (long)at, FUTEX_WAIT_PRIVATE, UNLIKELY_WORD, (long)&none, 0, 0) !=
           -EFAULT;
}

uint64_t vt__os_now_ms(void) {
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint64_t ns_of(struct timespec t) {
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

uint64_t vt__os_now_ns(void) {
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ns_of(t);
}

/* At the start of every process, and hardly ever again: not by libc, of which that would make 64 KiB resident. */
uint64_t vt__os_wall_ns(void) {
    struct timespec t = {0, 0};
    vt__syscall(SYS_clock_gettime, CLOCK_REALTIME, (long)&t, 0, 0, 0, 0);
    return ns_of(t);
}

int vt__os_pid(void) { return (int)vt__syscall(SYS_getpid, 0, 0, 0, 0, 0, 0); }

int vt__os_tid(void) { return (int)vt__syscall(SYS_gettid, 0, 0, 0, 0, 0, 0); }

unsigned vt__os_node(void) {
    unsigned cpu = 0;
    unsigned node = 0;
    vt__syscall(SYS_getcpu, (long)&cpu, (long)&node, 0, 0, 0, 0);
    return node;
}

uint64_t vt__os_random(void) {
    uint64_t r = 0;
    if (vt__os_forced_failure(VT_CALL_RANDOM) == 0 &&
        vt__syscall(SYS_getrandom, (long)&r, sizeof(r), 1 /* GRND_NONBLOCK */, 0, 0, 0) ==
            (long)sizeof(r))
        return r;
    /* The kernel gave every process 16 random bytes at exec; mix in what differs between forks, and between calls. */
    static _Atomic uint64_t n_calls;
    const unsigned char *seed = (const unsigned char *)getauxval(AT_RANDOM);
    for (unsigned i = 0; seed != NULL && i < 8; i++) r = r << 8 | seed[i];
    r += atomic_fetch_add_explicit(&n_calls, 0x9e3779b97f4a7c15u, memory_order_relaxed);
    r = (r ^ vt__os_now_ms() ^ (uint64_t)vt__os_pid() << 32) * 0x9e3779b97f4a7c15u;
    return r ^ r >> 32;
}

uintptr_t vt__os_entry(void) { return getauxval(AT_ENTRY); }

bool vt__os_is_secure(void) { return getauxval(AT_SECURE) != 0; }

static const char *const *all_variables(void) {
    if (environ != NULL) return (const char *const *)environ;
    if (&__libc_stack_end == NULL || __libc_stack_end == NULL) return NULL;
    const long *stack = __libc_stack_end;
    return (const char *const *)(stack + 1 /* argc */ + stack[0] + 1 /* NULL */);
}

const char *const *vt__os_environment(void) { return vt__os_is_secure() ? NULL : all_variables(); }

static const char *value_of(const char *const *e, const char *name) {
    size_t len = vt__str_len(name);
    for (; e != NULL && *e != NULL; e++)
        if (vt__str_starts(*e, name) && (*e)[len] == '=') return *e + len + 1;
    return NULL;
}

const char *vt__os_getenv(const char *name) { return value_of(vt__os_environment(), name); }

bool vt__os_is_ignored(const char *name) {
    return vt__os_is_secure() && value_of(all_variables(), name) != NULL;
}

static uint64_t ms_of(struct timeval t) {
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_usec / 1000;
}

void vt__os_usage(struct vt_usage *out) {
    struct rusage u = {0};
    (void)vt__syscall(SYS_getrusage, RUSAGE_SELF, (long)&u, 0, 0, 0, 0);
    *out = (struct vt_usage){.user_ms = ms_of(u.ru_utime),
                             .system_ms = ms_of(u.ru_stime),
                             .peak_resident_bytes = (uint64_t)u.ru_maxrss * 1024,
                             .n_major_faults = (uint64_t)u.ru_majflt};
}

/* Asked once, at the start: later a filter may forbid it. 0: not yet. */
static struct { _Atomic size_t addresses, data; } limits;

static size_t limit_of(int resource) {
    struct rlimit l = {RLIM_INFINITY, RLIM_INFINITY};
    bool is_told = vt__os_program_prlimit(0, resource, NULL, &l) == 0;
    return !is_told || l.rlim_cur == RLIM_INFINITY ? SIZE_MAX : vt_max(l.rlim_cur, 1);
}

size_t vt__os_address_limit_now(void) { return limit_of(RLIMIT_AS); }

size_t vt__os_address_limit(void) {
    size_t limit = atomic_load_explicit(&limits.addresses, memory_order_relaxed);
    if (limit != 0) return limit;
    limit = limit_of(RLIMIT_AS);
    vt__os_tell_address_limit(limit);
    vt__os_tell_data_limit(limit_of(RLIMIT_DATA));
    return limit;
}

size_t vt__os_data_limit(void) {
    size_t limit = atomic_load_explicit(&limits.data, memory_order_relaxed);
    return limit != 0 ? limit : SIZE_MAX;
}

void vt__os_tell_address_limit(size_t n_bytes) {
    /* relaxed: who reads the old one reserves more or less than it should, which does no harm */
    atomic_store_explicit(&limits.addresses, n_bytes, memory_order_relaxed);
}

void vt__os_tell_data_limit(size_t n_bytes) {
    atomic_store_explicit(&limits.data, n_bytes, memory_order_relaxed); /* as above */
}

int vt__os_program_prlimit(int pid, int resource, const void *now, void *before) {
    return (int)vt__syscall(SYS_prlimit64, pid, resource, (long)now, (long)before, 0, 0);
}

size_t vt__os_read_file(const char *path, char *buf, size_t cap) {
    buf[0] = '\0';
    if (vt__os_forced_failure(VT_CALL_SYSFS) != 0) return 0;
    long fd = vt__syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (fd < 0) return 0;
    size_t len = 0;
    while (len + 1 < cap) {
        long n = vt__syscall(SYS_read, fd, (long)(buf + len), (long)(cap - 1 - len), 0, 0, 0);
        if (n == -EINTR) continue;
        if (n <= 0) break;
        len += (size_t)n;
    }
    vt__syscall(SYS_close, fd, 0, 0, 0, 0, 0);
    buf[len] = '\0';
    return len;
}

/* The number at the start of s; SIZE_MAX for anything else ("max"). */
static size_t number_in(const char *s) {
    if (*s < '0' || *s > '9') return SIZE_MAX;
    size_t n = 0;
    for (; *s >= '0' && *s <= '9'; s++) {
        if (n > (SIZE_MAX - 9) / 10) return SIZE_MAX;
        n = n * 10 + (size_t)(*s - '0');
    }
    return n;
}

size_t vt__os_ram_bytes(void) {
    struct {
        long uptime;
        unsigned long loads[3], totalram, freeram, sharedram, bufferram, totalswap, freeswap;
        unsigned short procs, pad;
        unsigned long totalhigh, freehigh;
        unsigned int mem_unit;
        char spare[64];
    } info = {0};
    if (vt__syscall(SYS_sysinfo, (long)&info, 0, 0, 0, 0, 0) != 0) return GiB(4);
    return info.totalram * (info.mem_unit != 0 ? info.mem_unit : 1);
}

/* The limit in FOLDER PATH FILE; `path` ends with its line. SIZE_MAX: none. */
static size_t limit_in(const char *folder, const char *path, const char *file) {
    char text[64];
    char name[640];
    struct vt_text t = VT_TEXT(name);
    vt__text_put(&t, folder);
    for (; *path != '\0' && *path != '\n'; path++) vt__text_char(&t, *path);
    vt__text_put(&t, file);
    vt__text_char(&t, '\0');
    if (t.is_cut || vt__os_read_file(name, text, sizeof(text)) == 0) return SIZE_MAX;
    return number_in(text);
}

/* /proc/self/cgroup has a line "0::PATH" for version 2, and one for each controller of version 1: "4:memory:PATH". */
size_t vt__os_cgroup_limit(void) {
    char lines[2048];
    size_t limit = SIZE_MAX;
    vt__os_read_file("/proc/self/cgroup", lines, sizeof(lines));
    for (const char *s = lines; *s != '\0';) {
        const char *rest = s;
        while (*rest >= '0' && *rest <= '9') rest++;
        if (vt__str_starts(rest, "::/"))
            limit = vt_min(limit, limit_in("/sys/fs/cgroup", rest + 2, "/memory.max"));
        else if (vt__str_starts(rest, ":memory:/"))
            limit = vt_min(limit,
                           limit_in("/sys/fs/cgroup/memory", rest + 8, "/memory.limit_in_bytes"));
        while (*s != '\0' && *s++ != '\n') {}
    }
    return limit;
}

unsigned vt__os_n_nodes(void) {
    char text[64];
    /* "0", "0-1", "0,2-3": the last number is the highest node */
    size_t len = vt__os_read_file("/sys/devices/system/node/online", text, sizeof(text));
    while (len > 0 && (text[len - 1] < '0' || text[len - 1] > '9')) len--;
    size_t start = len;
    while (start > 0 && text[start - 1] >= '0' && text[start - 1] <= '9') start--;
    if (start == len) return 1;
    text[len] = '\0';
    return (unsigned)vt_min(number_in(text + start), 1023) + 1;
}

bool vt__os_hugepages_are_always(void) {
    char text[128];
    vt__os_read_file("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof(text));
    return vt__str_starts(text, "[always]");
}

/* The 47th field of /proc/self/stat, counted from behind the program's name, which may hold anything. */
bool vt__os_brk_start(uintptr_t *out) {
    char text[1024];
    size_t len = vt__os_read_file("/proc/self/stat", text, sizeof(text));
    while (len > 0 && text[len - 1] != ')') len--;
    const char *s = text + len;
    for (unsigned field = 2; len > 0 && field < 47; field++) {
        while (*s != '\0' && *s != ' ') s++;
        while (*s == ' ') s++;
    }
    if (len == 0 || *s == '\0') return false;
    *out = number_in(s);
    return *out != 0;
}

bool vt__os_is_single_threaded(void) {
    return &__libc_single_threaded != NULL && __libc_single_threaded != 0;
}

int vt__os_write(int fd, const char *data, size_t n_bytes) {
    while (n_bytes > 0) {
        long n = vt__syscall(SYS_write, fd, (long)data, (long)n_bytes, 0, 0, 0);
        if (n == -EINTR) continue;
        if (n <= 0) return n < 0 ? (int)n : -EIO; /* nothing taken, and no reason given */
        data += n;
        n_bytes -= (size_t)n;
    }
    return 0;
}

void vt__os_exit(int status) {
    for (;;) vt__syscall(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

static void raise_abort(void) {
    vt__syscall(SYS_tgkill, vt__os_pid(), vt__os_tid(), SIGABRT, 0, 0, 0);
}

/* As abort does, but without its lock: a signal handler that comes between and finds a mistake, too, would wait for it for ever. */
void vt__os_abort(void) {
    static const char by_default[64]; /* all zero: no handler */
    uint64_t set = SIGNAL_BIT(SIGABRT);
    vt__syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&set, 0, KERNEL_SIGSET_BYTES, 0, 0);
    raise_abort(); /* the program may have a handler */
    vt__syscall(SYS_rt_sigaction, SIGABRT, (long)by_default, 0, KERNEL_SIGSET_BYTES, 0, 0);
    raise_abort();
    vt__os_exit(127);
}
