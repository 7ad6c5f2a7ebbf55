/* risk.h - what the programs of tests/risk share: memory figures, a random sequence.
 *
 * Nothing here calls malloc, so a figure does not disturb what it measures. Header only; every
 * program is one file and is run under LD_PRELOAD by a script. Checks come from tests/check.h.
 */
#ifndef VT_TEST_RISK_H
#define VT_TEST_RISK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define KiB(n) ((size_t)(n) << 10)
#define MiB(n) ((size_t)(n) << 20)
#define GiB(n) ((size_t)(n) << 30)

/* A check without which the rest makes no sense. */
#define MUST(x)                                                                                    \
    do {                                                                                           \
        if (!CHECK_TRUE(x)) exit(check_done(__FILE__));                                            \
    } while (0)

/* How often a loop runs: short in `make test`, long in `make soak`. */
static inline long soak(long normal, long long_run) {
    const char *v = getenv("VT_SOAK");
    return v && *v == '1' ? long_run : normal;
}

/* The program is worth nothing when malloc is not the library's: VT_SO names the file it must come
 * from. */
static inline void require_preloaded(void) {
    const char *so = getenv("VT_SO");
    char want[PATH_MAX], seen[PATH_MAX];
    Dl_info info;
    MUST(so && realpath(so, want));
    MUST(dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) && realpath(info.dli_fname, seen));
    if (!CHECK_STR(seen, want)) exit(check_done(__FILE__));
}

/* xorshift64*: the same sequence in every run for the same seed. */
static inline uint64_t next_random(uint64_t *state) {
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545F4914F6CDD1DULL;
}

/* Tells of each line of a /proc file, which is read piecewise; false: no file. A long line is cut. */
static inline bool proc_lines(const char *path, void (*tell)(const char *line, void *state),
                              void *state) {
    char buf[4096], line[512];
    size_t used = 0;
    ssize_t got;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    while ((got = read(fd, buf, sizeof buf)) > 0)
        for (ssize_t i = 0; i < got; i++) {
            if (buf[i] != '\n') {
                if (used < sizeof line - 1) line[used++] = buf[i];
                continue;
            }
            line[used] = 0;
            tell(line, state);
            used = 0;
        }
    close(fd);
    return true;
}

/* Is this line of maps or smaps the one a mapping begins with, its addresses first? */
static inline bool proc_begins_mapping(const char *line) {
    const char *dash = strchr(line, '-');
    return dash && dash < line + 17 && strchr(line, ' ') > dash;
}

struct proc_sum {
    const char *key;
    long kib;
};

static inline void proc_add_line(const char *line, void *state) {
    struct proc_sum *sum = (struct proc_sum *)state; /* also C++ */
    size_t key_len = strlen(sum->key);
    if (strncmp(line, sum->key, key_len) == 0) sum->kib += strtol(line + key_len, NULL, 10);
}

/* Sums the KiB of every line that starts with `key`. -1: no file. */
static inline long proc_sum_kib(const char *path, const char *key) {
    struct proc_sum sum = {key, 0};
    return proc_lines(path, proc_add_line, &sum) ? sum.kib : -1;
}

/* smaps_rollup is exact; statm may be off by some dozen pages per CPU on new kernels. */
static inline long rss_kib(void) {
    long kib = proc_sum_kib("/proc/self/smaps_rollup", "Rss:");
    return kib >= 0 ? kib : proc_sum_kib("/proc/self/status", "VmRSS:");
}

struct proc_weight {
    const char *key; /* the line that counts of the mapping whose lines these are */
    long kib;
};

static inline void proc_weigh_line(const char *line, void *state) {
    struct proc_weight *weight = (struct proc_weight *)state; /* also C++ */
    if (proc_begins_mapping(line)) {
        const char *file = strchr(line, '/');
        weight->key = file && !strstr(file, "/libvitrine") ? "Anonymous:" : "Rss:";
    } else if (strncmp(line, weight->key, strlen(weight->key)) == 0) {
        weight->kib += strtol(line + strlen(weight->key), NULL, 10);
    }
}

/* What is resident, but of files other than our library only the pages the process has copied: which others the kernel maps
 * around a fault differs by 300 KiB with the place of libc and with how its file came into memory
 * (docs/decisions/footprint.md). -1: no file. */
static inline long weight_kib(void) {
    struct proc_weight weight = {"Rss:", 0};
    return proc_lines("/proc/self/smaps", proc_weigh_line, &weight) ? weight.kib : -1;
}

static inline long map_count(void) {
    char buf[4096];
    ssize_t got;
    long n = 0;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    while ((got = read(fd, buf, sizeof buf)) > 0)
        for (ssize_t i = 0; i < got; i++) n += buf[i] == '\n';
    close(fd);
    return n;
}

/* How a child ended, as text for a message; static, for one thread. */
static inline const char *how_ended(int status) {
    static char text[64];
    if (WIFEXITED(status))
        snprintf(text, sizeof text, "exit status %d", WEXITSTATUS(status));
    else if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, sizeof text, "wait status %#x", (unsigned)status);
    return text;
}

#endif
