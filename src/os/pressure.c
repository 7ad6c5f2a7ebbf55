/* pressure.c - how near the system is to killing somebody for memory.
 *
 * The largest share counts: of any group (cgroup) that the process is in, of the machine, of the process's own limit. What the
 * kernel can drop at once, files that nobody used of late, is not counted as used.
 *
 * Climate: malloc.   Owns: nothing.   Callers: life/oom.c, a few times in a second.
 */
#include "base/text.h"
#include "os/os.h"

static size_t number_at(const char *s) {
    size_t n = 0;
    while (*s == ' ' || *s == '\t') s++;
    if (*s < '0' || *s > '9') return SIZE_MAX; /* "max" */
    for (; *s >= '0' && *s <= '9'; s++) n = n * 10 + (size_t)(*s - '0');
    return n;
}

/* The number behind a word at the beginning of a line; 0: there is none. */
static size_t number_behind(const char *text, const char *word) {
    while (*text != '\0') {
        if (vt__str_starts(text, word)) return number_at(text + vt__str_len(word));
        while (*text != '\0' && *text++ != '\n') {}
    }
    return 0;
}

/* What is nearest to its end. */
struct nearest {
    unsigned percent; /* used */
    unsigned mark;    /* per cent that `left` counts to */
    size_t left;
};

static void note(struct nearest *n, size_t used, size_t limit) {
    if (limit == 0 || limit > TiB(64)) return; /* none */
    size_t mark = limit / 100 * n->mark;
    unsigned percent = (unsigned)vt_min(used / (limit / 100 + 1), 100);
    if (percent > n->percent) n->percent = percent;
    n->left = vt_min(n->left, mark - vt_min(used, mark));
}

/* ---- groups ---- */

struct group_files {
    const char *folder, *limit, *usage, *idle; /* idle: a word of memory.stat */
};

static size_t read_text(const struct group_files *g, const char *path, size_t n_path,
                        const char *file, char *out, size_t n_bytes) {
    char name[640];
    struct vt_text t = VT_TEXT(name);
    vt__text_put(&t, g->folder);
    vt__text_put_n(&t, path, n_path);
    vt__text_put(&t, file);
    vt__text_char(&t, '\0');
    out[0] = '\0';
    return t.is_cut ? 0 : vt__os_read_file(name, out, n_bytes);
}

static void note_group(struct nearest *n, const struct group_files *g, const char *path,
                       size_t n_path) {
    char text[2048];
    if (read_text(g, path, n_path, g->limit, text, sizeof(text)) == 0) return;
    size_t limit = number_at(text);
    if (limit > TiB(64) || read_text(g, path, n_path, g->usage, text, sizeof(text)) == 0) return;
    size_t used = number_at(text);
    (void)read_text(g, path, n_path, "/memory.stat", text, sizeof(text));
    size_t idle = number_behind(text, g->idle);
    note(n, used - vt_min(used, idle), limit);
}

/* The group of this path, which ends with its line, and those it is in. */
static void note_groups(struct nearest *out, const struct group_files *g, const char *path) {
    size_t n = 0;
    while (path[n] != '\0' && path[n] != '\n') n++;
    for (;;) {
        while (n > 0 && path[n - 1] == '/') n--;
        note_group(out, g, path, n);
        if (n == 0) return;
        while (n > 0 && path[n - 1] != '/') n--;
    }
}

static void note_all_groups(struct nearest *n) {
    static const struct group_files second = {"/sys/fs/cgroup", "/memory.max", "/memory.current",
                                              "inactive_file "};
    static const struct group_files first = {"/sys/fs/cgroup/memory", "/memory.limit_in_bytes",
                                             "/memory.usage_in_bytes", "total_inactive_file "};
    char lines[2048];
    vt__os_read_file("/proc/self/cgroup", lines, sizeof(lines));
    for (const char *s = lines; *s != '\0';) {
        const char *rest = s;
        while (*rest >= '0' && *rest <= '9') rest++;
        if (vt__str_starts(rest, "::/"))
            note_groups(n, &second, rest + 2);
        else if (vt__str_starts(rest, ":memory:/"))
            note_groups(n, &first, rest + 8);
        while (*s != '\0' && *s++ != '\n') {}
    }
}

/* ---- the machine, the process ---- */

static void note_machine(struct nearest *n) {
    char text[2048];
    vt__os_read_file("/proc/meminfo", text, sizeof(text));
    size_t all = number_behind(text, "MemTotal:"), left = number_behind(text, "MemAvailable:");
    note(n, (all - vt_min(all, left)) * 1024, all * 1024);
}

static void note_process(struct nearest *n) {
    char text[128];
    size_t limit = vt__os_address_limit_now();
    if (limit == SIZE_MAX || vt__os_read_file("/proc/self/statm", text, sizeof(text)) == 0) return;
    note(n, number_at(text) * VT_OS_PAGE, limit);
}

unsigned vt__os_memory_percent(unsigned mark, size_t *left) {
    struct nearest n = {.mark = mark, .left = SIZE_MAX};
    note_all_groups(&n);
    note_machine(&n);
    note_process(&n);
    *left = n.left;
    return n.percent;
}
