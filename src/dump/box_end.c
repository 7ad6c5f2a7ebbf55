/* box_end.c - what the process has resident when it ends: heap, mappings, stacks, files, and what is ours.
 *
 * `vitrine run` looks at a process now and then; one that lives for a few milliseconds it hardly sees. But it is here that most
 * programs have most: what they free at the end is not given back to the system at once.
 *
 * /proc/self/smaps has the mappings. Neighbours of one kind are one mapping there: of one that is ours in part the pages are
 * counted. cli/residence.c tells the parts from outside by the same rules.
 *
 * Climate: host, no malloc.   Owns: nothing.   Locks: none.
 */
#include "dump/box_end.h"

#include "base/text.h"
#include "heap/heap.h"
#include "os/box_file.h"
#include "probe/exact.h"
#include "vitrine-box.h"

#define BUFFER_BYTES KiB(64) /* a line is shorter: a path has 4 KiB, or 16 when it is spelled */
#define MAX_PLACES 64

struct line {
    const char *at, *end;
};

struct area {
    uintptr_t start, end;
    bool has_access, is_file;
};

struct scan {
    struct vt_box_end *out;
    struct vt_heap_place window;
    struct vt_heap_place own[MAX_PLACES]; /* tables */
    unsigned n_own;
    struct area area, before; /* the one that is read, and the one below it */
    enum vt_box_part part;
};

/* ---- lines of /proc ---- */

typedef void take_line(struct scan *s, struct line l);

/* Those that are whole; gives the rest back. */
static size_t take_lines(struct scan *s, take_line *take, char *buf, size_t n_bytes) {
    size_t from = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        if (buf[i] != '\n') continue;
        take(s, (struct line){buf + from, buf + i});
        from = i + 1;
    }
    __builtin_memmove(buf, buf + from, n_bytes - from);
    return n_bytes - from;
}

static void each_line(const char *path, struct scan *s, take_line *take) {
    void *buf = NULL;
    int fd = vt__os_open_read(path);
    if (fd < 0) return;
    if (vt__os_map(BUFFER_BYTES, &buf) == 0) {
        size_t n_left = 0;
        for (long n; n_left < BUFFER_BYTES &&
                     (n = vt__os_read(fd, (char *)buf + n_left, BUFFER_BYTES - n_left)) > 0;)
            n_left = take_lines(s, take, buf, n_left + (size_t)n);
        vt__os_unmap(buf, BUFFER_BYTES);
    }
    vt__os_close(fd);
}

static bool starts(struct line l, const char *word) {
    while (*word != '\0' && l.at < l.end && *l.at == *word) l.at++, word++;
    return *word == '\0';
}

static uint64_t hex(struct line *l) {
    uint64_t n = 0;
    for (; l->at < l->end && vt__digit_of(*l->at) < 16; l->at++) n = n << 4 | vt__digit_of(*l->at);
    return n;
}

/* "Rss:    1234 kB" */
static uint64_t bytes_in(struct line l) {
    uint64_t n = 0;
    while (l.at < l.end && (*l.at < '0' || *l.at > '9')) l.at++;
    for (; l.at < l.end && *l.at >= '0' && *l.at <= '9'; l.at++)
        n = n * 10 + (uint64_t)(*l.at - '0');
    return n * KiB(1);
}

static void skip_words(struct line *l, unsigned n) {
    for (; n > 0; n--) {
        while (l->at < l->end && *l->at != ' ') l->at++;
        while (l->at < l->end && *l->at == ' ') l->at++;
    }
}

/* ---- whose it is ---- */

static void add_own(struct scan *s, const void *at, size_t n_bytes) {
    if (n_bytes > 0 && s->n_own < MAX_PLACES)
        s->own[s->n_own++] = (struct vt_heap_place){(uintptr_t)at, n_bytes};
}

static void find_own(struct scan *s) {
    struct vt_heap_place heaps[2];
    const struct vt_region *cursor = NULL;
    void *at;
    size_t n_bytes;
    add_own(s, vt__box_span.base, vt__box_span.n_bytes);
    vt__heap_slab_tables(heaps);
    for (unsigned i = 0; i < 2; i++) add_own(s, (const void *)heaps[i].start, heaps[i].n_bytes);
    while (vt__regions_next(&cursor, &at, &n_bytes))
        if (!vt__box_holds(at)) add_own(s, at, n_bytes);
    const void *notes = vt__exact_notes(&n_bytes);
    if (notes != NULL) add_own(s, notes, n_bytes);
}

/* So much of what is resident in the area. */
static uint64_t own_bytes(const struct scan *s, uint64_t resident) {
    const struct area *a = &s->area;
    uint64_t n = 0;
    for (unsigned i = 0; i < s->n_own; i++) {
        uintptr_t start = vt_max(a->start, vt_round_down(s->own[i].start, VT_OS_PAGE));
        uintptr_t end =
            vt_min(a->end, vt_round_up(s->own[i].start + s->own[i].n_bytes, VT_OS_PAGE));
        size_t there = 0;
        if (start >= end) continue;
        if (start == a->start && end == a->end) return resident;
        if (vt__os_resident_bytes((void *)start, end - start, &there) == 0) n += there;
    }
    return vt_min(n, resident);
}

/* A stack of a thread lies upon one OS page without access. */
static bool is_upon_guard(const struct scan *s) {
    const struct area *b = &s->before;
    return b->end == s->area.start && !b->has_access && !b->is_file &&
           b->end - b->start == VT_OS_PAGE;
}

static enum vt_box_part part_of(const struct scan *s, struct line name) {
    uintptr_t in_window = s->area.start - s->window.start;
    if (in_window < s->window.n_bytes) return VT_BOX_HEAP;
    if (s->area.is_file) return VT_BOX_FILES;
    if (starts(name, "[stack") || is_upon_guard(s)) return VT_BOX_STACKS;
    return VT_BOX_MEMORY;
}

/* "7f0000000000-7f0000400000 rw-p 00000000 00:00 0     NAME" */
static void begin_area(struct scan *s, struct line l) {
    s->before = s->area;
    s->area.start = hex(&l);
    if (l.at < l.end) l.at++;
    s->area.end = hex(&l);
    skip_words(&l, 1);
    s->area.has_access = !starts(l, "---");
    skip_words(&l, 4);
    s->area.is_file =
        starts(l, "/") && !starts(l, "/dev/zero") && !starts(l, "/memfd:") && !starts(l, "/SYSV");
    s->part = part_of(s, l);
}

static void take_smaps(struct scan *s, struct line l) {
    if (l.at < l.end && vt__digit_of(*l.at) < 16 && (*l.at < 'A' || *l.at > 'F')) {
        begin_area(s, l);
    } else if (starts(l, "Rss:")) {
        uint64_t resident = bytes_in(l), own = 0;
        if (resident > 0 && s->part != VT_BOX_HEAP) own = own_bytes(s, resident);
        s->out->bytes[VT_BOX_OWN] += own;
        s->out->bytes[s->part] += resident - own;
    }
}

static void take_status(struct scan *s, struct line l) {
    if (starts(l, "VmHWM:")) s->out->peak_bytes = bytes_in(l);
}

static uint64_t peak_before; /* our own writing began */

void vt__box_note_peak(void) {
    struct vt_box_end e = {0};
    struct scan s = {.out = &e};
    each_line("/proc/self/status", &s, take_status);
    peak_before = e.peak_bytes;
}

/* The buffers that profiles were written by are gone again, and were the last of the peak. */
static void add_gone(struct vt_box_end *e) {
    uint64_t now = 0;
    for (unsigned i = 0; i < VT_BOX_N_PARTS; i++) now += e->bytes[i];
    if (now == 0 || peak_before == 0 || e->peak_bytes <= now || e->peak_bytes <= peak_before)
        return;
    e->bytes[VT_BOX_OWN] += e->peak_bytes - vt_max(now, peak_before);
}

bool vt__box_end_is_awaited(void) {
    int fd = vt__box_file_open_beside(VT_BOX_ENDS);
    if (fd >= 0) vt__os_close(fd);
    return fd >= 0;
}

void vt__box_tell_end(void) {
    struct vt_box_end e = {
        .magic = VT_BOX_END_MAGIC, .n_bytes = sizeof(e), .pid = (uint32_t)vt__os_pid()};
    struct scan s = {.out = &e};
    int fd = vt__box_file_open_beside(VT_BOX_ENDS);
    if (fd < 0) return;
    vt__os_task_name((int)e.pid, e.name);
    vt__heap_window(&s.window);
    find_own(&s);
    each_line("/proc/self/smaps", &s, take_smaps);
    each_line("/proc/self/status", &s, take_status);
    add_gone(&e);
    vt__box_file_tell(fd, &e, sizeof(e));
}
