/* common.h - what the bench programs share: random numbers, memory, RSS, the result line.
 *
 * Every program does a fixed amount of work chosen by its arguments, from a fixed seed, so that CPU
 * seconds under two allocators compare. Its last act is one line of JSON on stdout; `ops` and
 * `check` in it depend on the arguments alone, and run.py refuses a comparison in which they
 * differ.
 *
 * Bookkeeping (tables of sizes, of live pointers) comes from mmap, not from the allocator under
 * test, and nothing here uses stdio streams, which would call malloc behind our back.
 */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { OS_PAGE_BYTES = 4096 };
#define KiB(n) ((size_t)(n) << 10)
#define MiB(n) ((size_t)(n) << 20)

/* One line on a file descriptor with one write(2). */
__attribute__((format(printf, 2, 3))) static inline void say(int fd, const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n > (int)sizeof line - 1) n = (int)sizeof line - 1;
    if (n > 0 && write(fd, line, (size_t)n) < 0) _exit(3); /* nobody is there to be told */
}

__attribute__((noreturn)) static inline void die(const char *what) {
    say(STDERR_FILENO, "bench: error: %s: %s\n", what, strerror(errno));
    _exit(3);
}

/* ---- arguments ---- */

static inline uint64_t number(const char *text) {
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno || end == text || *end) {
        say(STDERR_FILENO, "bench: error: not a number: '%s'\n", text);
        _exit(2);
    }
    return value;
}

static inline void need_args(int argc, int wanted, const char *usage) {
    if (argc - 1 >= wanted) return;
    say(STDERR_FILENO, "usage: %s\n", usage);
    _exit(2);
}

/* ---- random numbers: xorshift64*, one state per thread ---- */

struct rng {
    uint64_t state; /* never 0 */
};

static inline struct rng rng_seeded(uint64_t stream) {
    return (struct rng){0x9E3779B97F4A7C15u * (stream + 1)};
}

static inline uint64_t rng_next(struct rng *r) {
    uint64_t x = r->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    r->state = x;
    return x * 0x2545F4914F6CDD1Du;
}

/* 0 <= result < n, from the upper half, so the lower half of the same draw stays usable. */
static inline uint32_t scaled_high(uint64_t draw, uint32_t n) {
    return (uint32_t)(((draw >> 32) * n) >> 32);
}

static inline uint32_t scaled_low(uint64_t draw, uint32_t n) {
    return (uint32_t)(((draw & 0xFFFFFFFFu) * n) >> 32);
}

static inline uint32_t rng_below(struct rng *r, uint32_t n) { return scaled_high(rng_next(r), n); }

/* A size from `least` up to `least << doublings`: each doubling equally likely, uniform inside. */
static inline size_t rng_log_size(struct rng *r, size_t least, unsigned doublings) {
    uint64_t draw = rng_next(r);
    size_t base = least << scaled_high(draw, doublings);
    return base + scaled_low(draw, (uint32_t)base);
}

/* ---- memory ---- */

/* The compiler must believe that `p` is used, or it may drop a malloc/free pair. */
static inline void keep(const void *p) { __asm__ volatile("" : : "r"(p) : "memory"); }

static inline void *must(void *p) {
    if (p == NULL) die("out of memory");
    return p;
}

/* Writes the first word, as the constructor of any object does. Blocks are 8 bytes or more. */
static inline void *touched(void *p, uint64_t stamp) {
    *(uint64_t *)must(p) = stamp;
    keep(p);
    return p;
}

static inline void touch_pages(char *p, size_t from, size_t to) {
    for (size_t at = from; at < to; at += OS_PAGE_BYTES) p[at] = 1;
    keep(p);
}

/* Zeroed memory that the allocator under test knows nothing of. Never returned. */
static inline void *table(size_t n, size_t each) {
    void *p = mmap(NULL, n * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) die("cannot map a table");
    return p;
}

static inline uint64_t number_after(const char *text, const char *key) {
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static inline uint64_t number_in_file(const char *path, const char *key) {
    char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    return number_after(text, key);
}

/* Resident KiB of this process. smaps_rollup walks the page tables and is exact; VmRSS, the
 * fallback, may lag by some tens of pages per processor on kernels that batch the counter. */
static inline uint64_t rss_kib(void) {
    uint64_t kib = number_in_file("/proc/self/smaps_rollup", "\nRss:");
    return kib ? kib : number_in_file("/proc/self/status", "\nVmRSS:");
}

static inline void sleep_ms(unsigned ms) {
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    while (nanosleep(&t, &t) && errno == EINTR) continue;
}

/* ---- threads ---- */

/* Puts the calling thread on the n-th processor that we may use, counting round and round. Without
 * it a busy machine runs producer and consumer on one processor, where nothing is contended, and
 * CPU time falls by half or more. Threads that are started from here inherit it. */
static inline void pin_to_processor(unsigned n) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed)) return; /* then we go without */
    n %= (unsigned)CPU_COUNT(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || n-- > 0) continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

/* ---- the result line ---- */

static inline int finish(uint64_t ops, uint64_t check) {
    say(STDOUT_FILENO, "{\"ops\": %" PRIu64 ", \"check\": %" PRIu64 "}\n", ops, check);
    return 0;
}

#endif
