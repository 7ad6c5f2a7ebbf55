/* cmd_ps.c - the running programs that have the library: whose they are, what they hold. Nobody is interrupted: the figures are
 * read from the programs' memory. Climate: cli. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "report/control.h"
#include "report/text.h"

struct process {
    int pid;
    uint64_t resident_bytes;
    struct control_figures figures;
    bool is_readable; /* false: no figures */
    char program[64];
};

/* Ours, or anybody's for root. */
static bool is_ours(int pid) {
    char path[64];
    struct stat s;
    (void)snprintf(path, sizeof path, "/proc/%d", pid);
    return stat(path, &s) == 0 && (geteuid() == 0 || s.st_uid == geteuid());
}

static bool read_line(int pid, const char *name, char *line, int n_bytes) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    FILE *f = fopen(path, "re");
    if (f == NULL) return false;
    bool is_read = fgets(line, n_bytes, f) != NULL;
    (void)fclose(f);
    if (is_read) line[strcspn(line, "\n")] = '\0';
    return is_read;
}

static void read_surroundings(struct process *p) {
    char line[256];
    uint64_t n_pages = 0;
    if (!read_line(p->pid, "comm", p->program, sizeof p->program))
        (void)snprintf(p->program, sizeof p->program, "?");
    if (read_line(p->pid, "statm", line, sizeof line) &&
        sscanf(line, "%*u %" SCNu64, &n_pages) == 1)
        p->resident_bytes = n_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Does it have the library, if only one of which we know nothing else? Where we may not read, its maps still tell. */
static bool look_at(struct symbol_cache *cache, struct process *p) {
    struct control *c = NULL;
    struct report_error e;
    uint64_t address;
    int err = control_open(cache, p->pid, CONTROL_LOOK, &c, &e);
    bool has_library =
        err == 0 || err == -EPROTO /* a version that we do not know */ ||
        (err == -EPERM && process_symbol_find(cache, p->pid, "vt_control", &address) == 0);
    if (!has_library) return false;
    if (err == 0) {
        p->is_readable = control_look(c, &p->figures);
        control_close(c);
    }
    read_surroundings(p);
    return true;
}

static void print_text(const struct process *p) {
    char heap[32] = "-", resident[32], period[32] = "-";
    if (p->is_readable) {
        double n = (double)p->figures.heap_bytes, every = (double)p->figures.period_bytes;
        (void)snprintf(heap, sizeof heap, "%s",
                       table_amount("bytes", n, resident, sizeof resident));
        (void)snprintf(period, sizeof period, "%s",
                       every == 0 ? "off"
                                  : table_amount("bytes", every, resident, sizeof resident));
    }
    double rss = (double)p->resident_bytes;
    (void)printf("%8d %10s %10s %9s %5s %s\n", p->pid, heap,
                 table_amount("bytes", rss, resident, sizeof resident), period,
                 !p->is_readable       ? "-"
                 : p->figures.is_exact ? "on"
                                       : "off",
                 text_shown(p->program)); /* a program names itself */
}

static void print_json(const struct process *p, bool is_first) {
    (void)printf("%s{\"pid\":%d,\"program\":", is_first ? "\n" : ",\n", p->pid);
    text_json(stdout, p->program);
    (void)printf(",\"resident\":%" PRIu64, p->resident_bytes);
    if (p->is_readable)
        (void)printf(",\"heap\":%" PRIu64 ",\"rate\":%" PRIu64 ",\"exact\":%s",
                     p->figures.heap_bytes, p->figures.period_bytes,
                     p->figures.is_exact ? "true" : "false");
    (void)putchar('}');
}

static int by_number(const void *a, const void *b) {
    const int *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* All of ours, ascending; malloc'ed. */
static int *list_pids(uint32_t *n) {
    int *pids = NULL;
    uint32_t cap = 0;
    DIR *proc = opendir("/proc");
    *n = 0;
    for (const struct dirent *d; proc != NULL && (d = readdir(proc)) != NULL;) {
        int pid = (int)strtol(d->d_name, NULL, 10);
        if (pid > 0 && pid != getpid() && is_ours(pid)) *REPORT_PUSH(pids, *n, cap) = pid;
    }
    if (proc != NULL) (void)closedir(proc);
    if (*n > 1) qsort(pids, *n, sizeof *pids, by_number);
    return pids;
}

static int ps_run(struct settings *s) {
    struct symbol_cache cache = {0};
    uint32_t n, n_shown = 0;
    if (s->n_files > 0) {
        say_error("'%s': ps takes no arguments", s->files[0]);
        return EXIT_USAGE;
    }
    int *pids = list_pids(&n);
    (void)(s->json ? printf("{\"processes\":[")
                   : printf("%8s %10s %10s %9s %5s program\n", "pid", "heap", "resident", "rate",
                            "exact"));
    for (uint32_t i = 0; i < n; i++) {
        struct process p = {.pid = pids[i]};
        if (!look_at(&cache, &p)) continue;
        if (s->json)
            print_json(&p, n_shown == 0);
        else
            print_text(&p);
        n_shown++;
    }
    if (s->json) (void)puts("\n]}");
    free(pids);
    symbol_cache_free(&cache);
    return output_close(s, stdout);
}

const struct command cmd_ps = {
    .name = "ps",
    .usage = "ps [--json]",
    .summary = "list running programs that have the library, with what their heaps hold",
    .example = "vitrine ps",
    .groups = {options_ps},
    .run = ps_run,
};
