/* residence.c - see residence.h.
 *
 *   7f0000000000-7f0000400000 rw-p     the heap, which the library makes accessible from the bottom
 *   7f0000400000-7f8000000000 ---p     the rest of its window: far more than anybody else reserves
 *
 * A stack of a thread lies upon one OS page without access. Climate: cli.
 */
#include "cli/residence.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/run_boxes.h"
#include "report/memory.h"

#define WINDOW_LEAST ((uint64_t)1 << 38) /* of the library's window; it is 2^40 unless refused */
#define STEP 1.005                       /* so much more than before is worth a look into the map */
/* So much more must have been seen than a process told itself, which knows better what is what. */
#define TOLD 1.01
#define PAUSE_LEAST_MS 2
#define PAUSE_MOST_MS 50
#define PAUSE_SHARE 100 /* of the time since the start: short programs are looked at more often */
#define PAUSE_COST 20   /* of the time that a look takes: at most a twentieth of a CPU is ours */
#define MAX_PROCESSES 64
#define OS_PAGE 4096
#define LAG_BYTES (1 << 20)

const char *const residence_words[] = {[RESIDENCE_HEAP] = "heap",
                                       [RESIDENCE_MAPPINGS] = "other mappings",
                                       [RESIDENCE_STACKS] = "stacks",
                                       [RESIDENCE_FILES] = "files",
                                       [RESIDENCE_TABLES] = "profiler's tables"};

/* ---- the map of a process */

struct area {
    uint64_t begin, end;
    double resident;
    bool is_file, is_box, is_stack, has_access;
};

struct map {
    struct area *all;
    uint32_t n, cap;
};

static bool is_file_name(const char *name) {
    return name[0] == '/' && strncmp(name, "/dev/zero", 9) != 0 &&
           strncmp(name, "/memfd:", 7) != 0 && strncmp(name, "/SYSV", 5) != 0;
}

static bool read_area(const char *line, struct area *out) {
    char rights[8] = "", name[512] = "";
    uint64_t begin, end;
    int n =
        sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %511s", &begin, &end, rights, name);
    if (n < 3) return false;
    *out = (struct area){.begin = begin,
                         .end = end,
                         .is_file = is_file_name(name),
                         .is_box = strstr(name, "/" BOX_FOLDER_NAME) != NULL,
                         .is_stack = strncmp(name, "[stack", 6) == 0,
                         .has_access = strncmp(rights, "---", 3) != 0};
    return true;
}

static bool read_map(pid_t pid, struct map *m) {
    char path[64], line[512];
    unsigned long kib;
    (void)snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
    FILE *in = fopen(path, "re");
    if (in == NULL) return false;
    m->n = 0;
    while (fgets(line, sizeof line, in) != NULL) {
        struct area a;
        if (sscanf(line, "Rss: %lu kB", &kib) == 1) {
            if (m->n > 0) m->all[m->n - 1].resident = (double)kib * 1024;
        } else if (line[0] != ' ' && (line[0] < 'A' || line[0] > 'Z') && read_area(line, &a)) {
            *REPORT_PUSH(m->all, m->n, m->cap) = a;
        }
    }
    (void)fclose(in);
    return m->n > 0;
}

static uint32_t find_window(const struct map *m) {
    for (uint32_t i = 0; i < m->n; i++)
        if (!m->all[i].has_access && !m->all[i].is_file &&
            m->all[i].end - m->all[i].begin >= WINDOW_LEAST)
            return i;
    return m->n;
}

static bool is_below(const struct area *a, const struct area *b) { return a->end == b->begin; }

static enum residence_part part_of(const struct map *m, uint32_t i) {
    const struct area *a = &m->all[i];
    if (a->is_box) return RESIDENCE_TABLES;
    if (a->is_file) return RESIDENCE_FILES;
    if (a->is_stack) return RESIDENCE_STACKS;
    const struct area *guard = i > 0 ? &m->all[i - 1] : NULL;
    if (guard && is_below(guard, a) && !guard->has_access && !guard->is_file &&
        guard->end - guard->begin == OS_PAGE)
        return RESIDENCE_STACKS;
    return RESIDENCE_MAPPINGS;
}

static void add_up(const struct map *m, pid_t pid, struct residence *r) {
    uint32_t window = find_window(m), heap = window;
    while (heap > 0 && window < m->n && is_below(&m->all[heap - 1], &m->all[heap]) &&
           m->all[heap - 1].has_access && !m->all[heap - 1].is_file)
        heap--;
    *r = (struct residence){.pid = pid, .has_heap = window < m->n, .peak_bytes = r->peak_bytes};
    for (uint32_t i = 0; i < m->n; i++) {
        enum residence_part part =
            i >= heap && i <= window && r->has_heap ? RESIDENCE_HEAP : part_of(m, i);
        r->bytes[part] += m->all[i].resident;
        r->total += m->all[i].resident;
    }
}

/* ---- the processes */

/* What it has, and the most it ever had. */
static double resident_of(const char *pid, double *peak) {
    char path[64], line[256];
    unsigned long now = 0, most = 0;
    (void)snprintf(path, sizeof path, "/proc/%s/status", pid);
    FILE *in = fopen(path, "re");
    *peak = 0;
    if (in == NULL) return 0;
    while (now == 0 && fgets(line, sizeof line, in) != NULL) {
        (void)sscanf(line, "VmHWM: %lu kB", &most);
        (void)sscanf(line, "VmRSS: %lu kB", &now); /* comes behind it */
    }
    (void)fclose(in);
    *peak = (double)most * 1024;
    return (double)now * 1024;
}

double residence_own_peak(void) {
    double peak;
    (void)resident_of("self", &peak);
    return peak;
}

static void read_name(pid_t pid, char name[16]) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *in = fopen(path, "re");
    if (in == NULL) return;
    if (fgets(name, 16, in) != NULL) name[strcspn(name, "\n")] = '\0';
    (void)fclose(in);
}

/* Appends the children that the first thread of all[i] has. */
static unsigned add_children(pid_t *all, unsigned i, unsigned n) {
    char path[64];
    int child;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)all[i], (int)all[i]);
    FILE *in = fopen(path, "re");
    if (in == NULL) return n;
    while (n < MAX_PROCESSES && fscanf(in, "%d", &child) == 1) all[n++] = child;
    (void)fclose(in);
    return n;
}

static bool is_above(double total, double peak) { return total > peak * TOLD + LAG_BYTES; }

/* The map changed between two reads: the heap is missing, or a mapping that grew is there twice. The kernel's own sum lags behind by some
 * pages a thread. */
static bool is_torn(const struct residence *r) {
    char number[16];
    double peak;
    if (r->has_heap && r->bytes[RESIDENCE_HEAP] == 0) return true;
    (void)snprintf(number, sizeof number, "%d", (int)r->pid);
    (void)resident_of(number, &peak);
    return peak > 0 && is_above(r->total, peak);
}

static void look(pid_t pid, struct map *m, struct residence *r) {
    pid_t all[MAX_PROCESSES] = {pid}, largest = 0;
    double most = r->total * STEP;
    unsigned n = 1;
    for (unsigned i = 0; i < n; i++) {
        char number[16];
        double peak;
        (void)snprintf(number, sizeof number, "%d", (int)all[i]);
        double bytes = resident_of(number, &peak);
        if (peak > r->peak_bytes) r->peak_bytes = peak;
        if (bytes > most) {
            most = bytes;
            largest = all[i];
        }
        n = add_children(all, i, n);
    }
    struct residence now = {.peak_bytes = r->peak_bytes};
    if (largest == 0 || !read_map(largest, m)) return;
    add_up(m, largest, &now);
    if (now.total <= r->total || is_torn(&now)) return;
    read_name(largest, now.name);
    *r = now;
}

static double ms_of(clockid_t clock) {
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

void residence_watch(pid_t pid, struct residence *r) {
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) return;
    struct map m = {0};
    double began = ms_of(CLOCK_MONOTONIC), pause = PAUSE_LEAST_MS;
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    for (;;) {
        int got = poll(&ended, 1, (int)pause);
        if (got > 0 || (got < 0 && errno != EINTR)) break;
        double from = ms_of(CLOCK_PROCESS_CPUTIME_ID);
        look(pid, &m, r);
        double cost = ms_of(CLOCK_PROCESS_CPUTIME_ID) - from;
        /* less often later on, and after a map that took long */
        pause = (ms_of(CLOCK_MONOTONIC) - began) / PAUSE_SHARE;
        if (pause < PAUSE_LEAST_MS) pause = PAUSE_LEAST_MS;
        if (pause > PAUSE_MOST_MS) pause = PAUSE_MOST_MS;
        if (pause < PAUSE_COST * cost) pause = PAUSE_COST * cost;
    }
    free(m.all);
    (void)close(fd);
}

/* ---- the end of a process */

static const enum vt_box_part told[] = {[RESIDENCE_HEAP] = VT_BOX_HEAP,
                                        [RESIDENCE_MAPPINGS] = VT_BOX_MEMORY,
                                        [RESIDENCE_STACKS] = VT_BOX_STACKS,
                                        [RESIDENCE_FILES] = VT_BOX_FILES,
                                        [RESIDENCE_TABLES] = VT_BOX_OWN};

/* Approximate: from outside they look like mappings of the program. They do not become smaller, so it had no more when we looked. */
static void part_tables(struct residence *r, double tables) {
    double more = tables - r->bytes[RESIDENCE_TABLES];
    if (more > r->bytes[RESIDENCE_MAPPINGS]) more = r->bytes[RESIDENCE_MAPPINGS];
    if (more <= 0) return;
    r->bytes[RESIDENCE_TABLES] += more;
    r->bytes[RESIDENCE_MAPPINGS] -= more;
}

void residence_add_end(struct residence *r, const struct vt_box_end *e) {
    struct residence end = {
        .pid = (pid_t)e->pid, .has_heap = true, .is_told = true, .peak_bytes = r->peak_bytes};
    for (unsigned i = 0; i < RESIDENCE_PARTS; i++) {
        end.bytes[i] = (double)e->bytes[told[i]];
        end.total += end.bytes[i];
    }
    if ((double)e->peak_bytes > end.peak_bytes) end.peak_bytes = (double)e->peak_bytes;
    (void)snprintf(end.name, sizeof end.name, "%.15s", e->name);
    r->peak_bytes = end.peak_bytes;
    bool is_less = end.total * (r->is_told ? 1 : TOLD) < r->total;
    if (end.total > 0 && (!is_less || (end.pid == r->pid && is_above(r->total, r->peak_bytes))))
        *r = end;
    else if (end.pid == r->pid)
        part_tables(r, end.bytes[RESIDENCE_TABLES]);
}
