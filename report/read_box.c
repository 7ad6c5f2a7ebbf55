/* read_box.c - see read_box.h.
 *
 * The process may have died while it wrote, and the file may be anybody's: each number is checked before it leads anywhere. What
 * makes no sense is left out and counted.
 *
 * Climate: cli.
 */
#include "report/read_box.h"

#include <elf.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/intake.h"
#include "report/reader.h"

#define MAX_FRAMES 255
#define MAX_LABELS 16
#define ROWS_AT_ONCE 64
#define NAME_BYTES 16
#define TEXT_BYTES 256
#define PATH_BYTES 4096
#define MAX_VALUE 9e18 /* an int64 has it */

struct taking {
    const struct image *m;
    const struct vt_box *b;
    struct profile *p;
    uint32_t *locations; /* of one stack */
    uint32_t n_locations, cap_locations;
    uint64_t n_torn;            /* rows that were being written */
    uint64_t n_damaged;         /* that lead nowhere */
    uint64_t n_uncounted_bytes; /* allocated, as exact mode told, and in no row */
    uint64_t n_bytes;           /* of tables, so far */
    bool is_full;               /* there would be more than the limit */
    bool is_first_pass;         /* over the mappings: the program's own come first */
};

/* ---- rows */

/* Counts what will be read. The file may be sparse, and a chain of tables may lead in a circle. */
static bool has_room(struct taking *t, uint64_t n_bytes) {
    t->n_bytes += n_bytes;
    if (intake_is_too_much(t->n_bytes, 0, t->m->max_bytes)) t->is_full = true;
    return !t->is_full;
}

/* Calls take(t, row) for each row of a table. */
static void each_row(struct taking *t, enum vt_box_table which, size_t row_bytes,
                     void (*take)(struct taking *t, const void *row)) {
    const struct vt_box_rows *rows = &t->b->table[which];
    uint64_t n_left = rows->n, n_block = VT_BOX_FIRST_ROWS;
    if (n_left == 0) return;
    if (rows->row_bytes != row_bytes || n_left > t->m->n_bytes / row_bytes) {
        t->n_damaged++;
        return;
    }
    if (!has_room(t, n_left * row_bytes)) return;
    unsigned char *some = report_alloc(ROWS_AT_ONCE * row_bytes);
    for (unsigned b = 0; b < VT_BOX_BLOCKS && n_left > 0; b++, n_block *= 2) {
        uint64_t n = n_block < n_left ? n_block : n_left;
        n_left -= n;
        for (uint64_t i = 0, k; i < n; i += k) {
            k = n - i < ROWS_AT_ONCE ? n - i : ROWS_AT_ONCE;
            if (!image_read(t->m, rows->block[b] + i * row_bytes, some, k * row_bytes)) {
                t->n_damaged += n - i;
                break;
            }
            for (uint64_t r = 0; r < k; r++) take(t, some + r * row_bytes);
        }
    }
    free(some);
}

/* False: there is no such row. */
static bool read_row(const struct taking *t, enum vt_box_table which, uint32_t id, void *out,
                     size_t row_bytes) {
    const struct vt_box_rows *rows = &t->b->table[which];
    uint64_t first = 0, n_block = VT_BOX_FIRST_ROWS;
    unsigned b = 0;
    if (id == 0 || id > rows->n || rows->row_bytes != row_bytes) return false;
    for (; id - 1 - first >= n_block && b + 1 < VT_BOX_BLOCKS; b++, n_block *= 2) first += n_block;
    return image_read(t->m, rows->block[b] + (id - 1 - first) * row_bytes, out, row_bytes);
}

/* ---- stacks and labels */

static bool read_entry(const struct taking *t, uint32_t id, uint64_t *out) {
    if (id == 0 || id > VT_BOX_MAX_ID) return false;
    unsigned which = id < VT_BOX_FIRST_IDS ? VT_BOX_FIRST_ENTRIES : VT_BOX_ENTRIES;
    return image_read(t->m, t->b->region[which] + (uint64_t)id * sizeof *out, out, sizeof *out) &&
           *out != 0;
}

static void push_location(struct taking *t, uint64_t address) {
    *REPORT_PUSH(t->locations, t->n_locations, t->cap_locations) =
        profile_add_location(t->p, PROFILE_NONE, address);
}

/* A stack that is not there becomes the address 0, as in profiles that a process writes itself. is_interrupted: its first address is
 * no return address. */
static uint32_t stack_of(struct taking *t, uint32_t id, bool is_interrupted) {
    uint64_t entry, pc[MAX_FRAMES];
    t->n_locations = 0;
    uint64_t n = read_entry(t, id, &entry) ? entry & 0xff : 0;
    if (n > 0 && !image_read(t->m, t->b->region[VT_BOX_WORDS] + (entry >> 8) * 8, pc, n * 8)) n = 0;
    for (uint64_t i = 0; i < n; i++)
        if (pc[i] == 0) n = 0; /* it had no room */
    if (n == 0 && id != 0) t->n_damaged++;
    for (uint64_t i = 0; i < n; i++)
        push_location(t, pc[i] - (pc[i] > 0 && (i > 0 || !is_interrupted) ? 1 : 0));
    if (n == 0) push_location(t, 0);
    return profile_add_stack(t->p, t->locations, t->n_locations);
}

static void add_text_label(struct taking *t, const char *key, const char *text) {
    profile_add_label(t->p, &(struct profile_label){.key = profile_string(t->p, key),
                                                    .text = profile_string(t->p, text)});
}

static void add_thread(struct taking *t, uint32_t number, const char *name) {
    if (name[0] != '\0') add_text_label(t, "thread", name);
    if (number != 0)
        profile_add_label(t->p, &(struct profile_label){.key = profile_string(t->p, "thread_id"),
                                                        .number = (int64_t)number});
}

/* Of samples and exact mode. */
static void add_thread_of_heap(struct taking *t, uint32_t number) {
    struct vt_box_thread row = {.name = ""};
    (void)read_row(t, VT_BOX_THREADS, number, &row, sizeof row);
    row.name[sizeof row.name - 1] = '\0';
    add_thread(t, number, row.name);
}

static void add_labels(struct taking *t, uint32_t label) {
    struct vt_box_label l;
    char key[TEXT_BYTES], value[TEXT_BYTES];
    for (unsigned i = 0; i < MAX_LABELS && read_row(t, VT_BOX_LABELS, label, &l, sizeof l);
         i++, label = l.parent)
        if (image_text(t->m, l.key, key, sizeof key) &&
            image_text(t->m, l.value, value, sizeof value))
            add_text_label(t, key, value);
}

/* ---- samples of the heap */

static bool is_of_all(const struct vt_box *b) { return b->exact_run != 0 && b->exact_tables != 0; }

static double rounded(double x) { return x > 0 && x < MAX_VALUE ? floor(x + 0.5) : 0; }

static void combine(struct vt_site_counts *a, const struct vt_site_counts *b, int sign) {
    a->n_seen += (uint64_t)sign * b->n_seen;
    a->objects += sign * b->objects;
    a->bytes += sign * b->bytes;
    a->requested_bytes += sign * b->requested_bytes;
}

static void add_site(struct taking *t, const struct vt_box_site *s,
                     const struct vt_site_counts *inuse) {
    double values[] = {rounded(s->s.alloc.objects),
                       rounded(s->s.alloc.requested_bytes),
                       rounded(inuse->objects),
                       rounded(inuse->requested_bytes),
                       rounded(s->s.alloc.bytes),
                       rounded(inuse->bytes),
                       rounded((double)(int64_t)s->s.alloc.n_seen),
                       rounded((double)(int64_t)inuse->n_seen)};
    if (values[0] == 0 && values[2] == 0) return; /* forgotten, or it has nothing yet */
    if (s->sequence % 2 != 0) t->n_torn++;
    profile_add_sample(t->p, stack_of(t, s->s.stack, false), values);
    add_thread_of_heap(t, s->s.thread);
    add_labels(t, s->s.label);
}

static struct vt_site_counts live_of(const struct taking *t, const struct vt_box_site *s) {
    struct vt_site_counts live = s->s.alloc;
    struct vt_box_freed f;
    combine(&live, &s->s.freed, -1);
    if (read_row(t, VT_BOX_FREED, s->of_others, &f, sizeof f)) combine(&live, &f.counts, -1);
    return live;
}

static void take_live(struct taking *t, const void *row) {
    const struct vt_box_site *s = row;
    struct vt_site_counts live = live_of(t, s);
    add_site(t, s, &live);
}

static void take_peak(struct taking *t, const void *row) {
    const struct vt_box_site *s = row;
    struct vt_site_counts peak = s->s.peak;
    if (s->peak_number != t->b->peak_number) peak = live_of(t, s);
    add_site(t, s, &peak);
}

/* ---- every allocation */

#define MAX_TABLES (1u << 20) /* a thread has one */

struct exact_counts {
    uint64_t n, bytes, requested_bytes; /* differences wrap: some threads only freed */
};
/* One stack, thread and set of labels. */
struct exact_site {
    uint32_t stack, label, thread;
    struct exact_counts alloc, inuse, peak;
};
struct exact_sums {
    struct exact_site *sites;
    uint32_t n_sites, cap_sites;
    struct index by_key;
    struct exact_counts alloc, inuse; /* of all rows */
    int64_t told_live;                /* what the threads say is in use */
};

static uint64_t hash_site(const void *sites, uint32_t id) {
    const struct exact_site *s = (const struct exact_site *)sites + id;
    return hash_mix(hash_mix(s->label, s->thread), s->stack);
}

/* Found or new. */
static struct exact_site *exact_site(struct exact_sums *sums, const struct exact_site *key) {
    uint32_t *slot = index_first(&sums->by_key, hash_site(key, 0));
    for (; *slot != INDEX_FREE; slot = index_next(&sums->by_key, slot)) {
        struct exact_site *s = &sums->sites[*slot];
        if (s->stack == key->stack && s->label == key->label && s->thread == key->thread) return s;
    }
    uint32_t id = sums->n_sites;
    *slot = id;
    *REPORT_PUSH(sums->sites, sums->n_sites, sums->cap_sites) = *key;
    index_added(&sums->by_key, hash_site, sums->sites);
    return &sums->sites[id];
}

static void add_counts(struct exact_counts *c, uint64_t n, uint64_t bytes, uint64_t requested) {
    c->n += n;
    c->bytes += bytes;
    c->requested_bytes += requested;
}

/* What a row of the table of `thread` is about. False: it leads nowhere. */
static bool read_place(const struct taking *t, uint32_t place, uint32_t thread,
                       struct exact_site *out) {
    struct vt_box_place p = {.stack = place};
    if (place > VT_BOX_MAX_ID && !read_row(t, VT_BOX_PLACES, place - VT_BOX_MAX_ID, &p, sizeof p))
        return false;
    *out = (struct exact_site){
        .stack = p.stack, .label = p.label, .thread = p.thread != 0 ? p.thread : thread};
    return true;
}

static void add_exact_row(struct taking *t, struct exact_sums *sums, const struct exact_site *key,
                          const struct vt_box_exact_row *r, const struct vt_box_exact_peak *peak) {
    struct exact_site *s = exact_site(sums, key);
    uint64_t n = r->n_alloc - r->n_freed, bytes = r->alloc_bytes - r->freed_bytes;
    uint64_t requested = r->alloc_requested_bytes - r->freed_requested_bytes;
    add_counts(&s->alloc, r->n_alloc, r->alloc_bytes, r->alloc_requested_bytes);
    add_counts(&s->inuse, n, bytes, requested);
    if (r->peak_number == (uint32_t)t->b->exact_peak_number)
        add_counts(&s->peak, peak->n, peak->bytes, peak->requested_bytes);
    else
        add_counts(&s->peak, n, bytes, requested);
    add_counts(&sums->alloc, r->n_alloc, r->alloc_bytes, r->alloc_requested_bytes);
    add_counts(&sums->inuse, n, bytes, requested);
}

struct exact_block {
    struct vt_box_exact_row row[VT_BOX_EXACT_ROWS];
    struct vt_box_exact_peak peak[VT_BOX_EXACT_ROWS];
};

static void add_exact_block(struct taking *t, struct exact_sums *sums, const struct exact_block *b,
                            uint32_t first, uint32_t thread) {
    struct exact_site key;
    for (uint32_t i = 0; i < VT_BOX_EXACT_ROWS; i++) {
        const struct vt_box_exact_row *r = &b->row[i];
        if (r->run != (uint32_t)t->b->exact_run || (r->n_alloc == 0 && r->n_freed == 0)) continue;
        if (read_place(t, first + i, thread, &key))
            add_exact_row(t, sums, &key, r, &b->peak[i]);
        else
            t->n_damaged++;
    }
}

static void add_exact_table(struct taking *t, struct exact_sums *sums, uint64_t table,
                            uint32_t thread, uint64_t *blocks, struct exact_block *one) {
    uint64_t n_bytes = VT_BOX_EXACT_BLOCKS * sizeof *blocks;
    if (!has_room(t, n_bytes)) return;
    if (!image_read(t->m, table + t->b->exact_blocks_at, blocks, n_bytes)) {
        t->n_damaged++;
        return;
    }
    for (uint32_t k = 0; k < VT_BOX_EXACT_BLOCKS; k++) {
        if (blocks[k] == 0) continue;
        if (!has_room(t, sizeof *one)) return;
        if (image_read(t->m, blocks[k], one, sizeof *one))
            add_exact_block(t, sums, one, k * VT_BOX_EXACT_ROWS, thread);
        else
            t->n_damaged++;
    }
}

/* As many tables as the file can have at most: a chain may lead in a circle. */
static void add_exact_tables(struct taking *t, struct exact_sums *sums) {
    struct vt_box_exact head;
    uint64_t *blocks = report_alloc(VT_BOX_EXACT_BLOCKS * sizeof *blocks);
    struct exact_block *one = report_alloc(sizeof *one);
    uint64_t n_most = t->m->n_bytes / (VT_BOX_EXACT_BLOCKS * sizeof *blocks);
    uint64_t at = t->b->exact_tables, n = 0;
    uint64_t told_alloc = (uint64_t)t->b->exact_alloc_bytes;
    uint64_t told_live = (uint64_t)t->b->exact_live_bytes;
    for (; at != 0 && n < n_most && n < MAX_TABLES && !t->is_full; at = head.next, n++) {
        if (!image_read(t->m, at, &head, sizeof head)) break;
        told_alloc += (uint64_t)head.untold_alloc;
        told_live += (uint64_t)head.untold_live;
        add_exact_table(t, sums, at, head.thread, blocks, one);
    }
    if (at != 0) t->n_damaged++;
    /* by blocks, or by what was asked for, as gperftools' triggers have it */
    bool is_whole =
        (told_alloc == sums->alloc.bytes && told_live == sums->inuse.bytes) ||
        (told_alloc == sums->alloc.requested_bytes && told_live == sums->inuse.requested_bytes);
    if (t->b->exact_run == 1 && !is_whole && t->b->n_lost_bytes == 0) t->n_torn++;
    if (t->b->exact_run == 1 && t->b->n_lost_bytes > 0 && told_alloc > sums->alloc.bytes)
        t->n_uncounted_bytes = told_alloc - sums->alloc.bytes;
    sums->told_live = (int64_t)told_live;
    free(blocks);
    free(one);
}

static double less(uint64_t a, uint64_t b) { return rounded((double)(int64_t)(a - b)); }

static void take_exact(struct taking *t, enum box_kind kind) {
    struct exact_sums sums = {0};
    index_init(&sums.by_key);
    add_exact_tables(t, &sums);
    /* more than ever, but nobody had told the others yet */
    bool is_peak_now = sums.told_live > t->b->exact_peak_bytes;
    for (uint32_t i = 0; i < sums.n_sites; i++) {
        const struct exact_site *s = &sums.sites[i];
        const struct exact_counts *c = kind == BOX_PEAK && !is_peak_now ? &s->peak : &s->inuse;
        double values[] = {less(s->alloc.n, 0),     less(s->alloc.requested_bytes, 0),
                           less(c->n, 0),           less(c->requested_bytes, 0),
                           less(s->alloc.bytes, 0), less(c->bytes, 0)};
        if (values[0] == 0) continue;
        profile_add_sample(t->p, stack_of(t, s->stack, false), values);
        add_thread_of_heap(t, s->thread != UINT32_MAX ? s->thread : 0);
        add_labels(t, s->label);
    }
    index_free(&sums.by_key);
    free(sums.sites);
}

/* ---- heap profiles of either kind */

static void take_heap(struct taking *t, enum box_kind kind) {
    struct profile *p = t->p;
    bool is_exact = is_of_all(t->b);
    p->kind = PROFILE_HEAP;
    heap_add_types(p);
    (void)profile_add_type(p, "alloc_class_space", "bytes");
    (void)profile_add_type(p, "inuse_class_space", "bytes");
    if (!is_exact) {
        (void)profile_add_type(p, "alloc_samples", "count");
        (void)profile_add_type(p, "inuse_samples", "count");
    }
    p->period_type = (struct profile_type){profile_string(p, "space"), profile_string(p, "bytes")};
    p->period = is_exact ? 1 : (int64_t)t->b->sample_period;
    p->time_ns = (int64_t)t->b->sample_since_ns;
    *REPORT_PUSH(p->comments, p->n_comments, p->cap_comments) =
        profile_string(p, kind == BOX_PEAK ? "vitrine heap profile: peak"
                          : is_exact       ? "vitrine heap profile: exact"
                                           : "vitrine heap profile: sampled");
    if (is_exact)
        take_exact(t, kind);
    else
        each_row(t, VT_BOX_SITES, sizeof(struct vt_box_site),
                 kind == BOX_PEAK ? take_peak : take_live);
}

/* ---- CPU time */

enum { CLOCK_REAL = 3, CLOCK_WALL = 4 }; /* of enum vt_cpu_clock, src/probe/cpu.h */

static bool is_wall(const struct vt_box *b) {
    return b->cpu_clock == CLOCK_REAL || b->cpu_clock == CLOCK_WALL;
}

static void add_task(struct taking *t, uint64_t number) {
    char name[NAME_BYTES + 1] = "";
    int32_t tid = 0;
    uint64_t at = t->b->region[VT_BOX_CPU_TASKS] + number * t->b->cpu_task_bytes;
    if (number == 0 || t->b->cpu_tid_at > t->b->cpu_task_bytes) return;
    (void)image_read(t->m, at, name, NAME_BYTES);
    (void)image_read(t->m, at + t->b->cpu_tid_at, &tid, sizeof tid);
    add_thread(t, tid > 0 ? (uint32_t)tid : 0, name);
}

static void take_count(struct taking *t, const struct vt_box_count *c) {
    uint32_t stack = (uint32_t)(c->key >> (VT_BOX_LABEL_BITS + VT_BOX_TASK_BITS));
    double n = rounded((double)(int64_t)(c->n - c->base_n));
    double on = rounded((double)(int64_t)(c->on_ns - c->base_on_ns));
    double off = rounded((double)(int64_t)(c->off_ns - c->base_off_ns));
    double cpu[] = {n, on}, wall[] = {n, on + off, on, off};
    if (n == 0) return;
    if (on + off == 0) t->n_torn++; /* it was killed between counting and adding the time */
    profile_add_sample(t->p, stack_of(t, stack, true), is_wall(t->b) ? wall : cpu);
    add_task(t, c->key & ((1u << VT_BOX_TASK_BITS) - 1));
    add_labels(t, (uint32_t)(c->key >> VT_BOX_TASK_BITS & ((1u << VT_BOX_LABEL_BITS) - 1)));
}

static void take_cpu(struct taking *t) {
    struct profile *p = t->p;
    struct vt_box_count some[ROWS_AT_ONCE];
    p->kind = PROFILE_CPU;
    (void)profile_add_type(p, "samples", "count");
    p->default_type = profile_add_type(p, is_wall(t->b) ? "wall" : "cpu", "nanoseconds");
    if (is_wall(t->b)) {
        (void)profile_add_type(p, "cpu", "nanoseconds");
        (void)profile_add_type(p, "offcpu", "nanoseconds");
    }
    p->period_type = p->types[p->default_type];
    p->period = (int64_t)t->b->cpu_period_ns;
    p->time_ns = (int64_t)t->b->cpu_since_ns;
    *REPORT_PUSH(p->comments, p->n_comments, p->cap_comments) =
        profile_string(p, is_wall(t->b) ? "vitrine CPU profile: wall time" : "vitrine CPU profile");
    /* a core file has as much of it as there was */
    for (uint64_t i = 0; i < VT_BOX_MAX_COUNTS; i += ROWS_AT_ONCE) {
        uint64_t at = t->b->region[VT_BOX_CPU_COUNTS] + i * sizeof *some;
        if (!image_read(t->m, at, some, sizeof some)) break;
        for (unsigned k = 0; k < ROWS_AT_ONCE; k++)
            if (some[k].key != 0) take_count(t, &some[k]);
    }
}

/* ---- which files the code is from */

static void add_mapping(struct taking *t, uint64_t start, uint64_t end, uint64_t offset,
                        const char *path, const unsigned char *id, uint32_t n_id) {
    char hex[2 * VT_BOX_BUILD_ID + 1] = "";
    for (uint32_t i = 0; i < n_id && i < VT_BOX_BUILD_ID; i++)
        (void)snprintf(hex + 2 * (size_t)i, 3, "%02x", id[i]);
    struct profile_mapping map = {.start = start, .limit = end, .offset = offset};
    mapping_set_name(t->p, &map, profile_string(t->p, path));
    map.build_id = profile_string(t->p, hex);
    (void)profile_add_mapping(t->p, &map);
}

/* Has a stack an address there? The program itself counts always. */
static bool is_wanted(const struct taking *t, uint64_t start, uint64_t end) {
    bool is_program = t->b->entry >= start && t->b->entry < end;
    if (is_program || t->is_first_pass) return is_program && t->is_first_pass;
    for (uint32_t i = 0; i < t->p->n_locations; i++)
        if (t->p->locations[i].address >= start && t->p->locations[i].address < end) return true;
    return false;
}

/* The notes of one segment; gives the length of the build id, 0: it is not among them. */
static uint32_t find_build_id(const unsigned char *note, uint64_t n_bytes, unsigned char *id) {
    while (n_bytes >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr h;
        memcpy(&h, note, sizeof h);
        uint64_t name = ((uint64_t)h.n_namesz + 3) & ~(uint64_t)3;
        uint64_t data = ((uint64_t)h.n_descsz + 3) & ~(uint64_t)3;
        if (sizeof h + name + data > n_bytes) return 0;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && h.n_descsz <= VT_BOX_BUILD_ID &&
            memcmp(note + sizeof h, "GNU", 4) == 0) {
            memcpy(id, note + sizeof h + name, h.n_descsz);
            return h.n_descsz;
        }
        note += sizeof h + name + data;
        n_bytes -= sizeof h + name + data;
    }
    return 0;
}

/* Of the ELF file whose first byte was mapped at `base`, if the core file has its first page. */
static uint32_t read_build_id(const struct image *m, uint64_t base, unsigned char *id) {
    Elf64_Ehdr h;
    Elf64_Phdr p;
    unsigned char note[1024];
    uint64_t bias = base;
    if (!image_read(m, base, &h, sizeof h) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0) return 0;
    for (unsigned i = 0; i < h.e_phnum && i < 64; i++) {
        if (!image_read(m, base + h.e_phoff + i * sizeof p, &p, sizeof p)) return 0;
        if (p.p_type == PT_LOAD && p.p_offset == 0) bias = base - p.p_vaddr;
    }
    for (unsigned i = 0; i < h.e_phnum && i < 64; i++) {
        if (!image_read(m, base + h.e_phoff + i * sizeof p, &p, sizeof p)) return 0;
        uint64_t n = p.p_filesz < sizeof note ? p.p_filesz : sizeof note;
        if (p.p_type != PT_NOTE || !image_read(m, bias + p.p_vaddr, note, n)) continue;
        uint32_t n_id = find_build_id(note, n, id);
        if (n_id > 0) return n_id;
    }
    return 0;
}

static void take_file(struct taking *t, uint32_t i, uint32_t *head) {
    const struct image_file *f = &t->m->files[i];
    unsigned char id[VT_BOX_BUILD_ID];
    uint32_t n_id = 0;
    if (f->offset == 0) *head = i;
    if (!is_wanted(t, f->start, f->end)) return;
    if (*head < t->m->n_files && strcmp(t->m->files[*head].path, f->path) == 0)
        n_id = read_build_id(t->m, t->m->files[*head].start, id);
    add_mapping(t, f->start, f->end, f->offset, f->path, id, n_id);
}

static void take_module(struct taking *t, const void *row) {
    const struct vt_box_module *b = row;
    char path[PATH_BYTES];
    if (b->end <= b->start || !is_wanted(t, b->start, b->end)) return;
    if (!image_text(t->m, b->path, path, sizeof path)) return;
    add_mapping(t, b->start, b->end, b->file_offset, path, b->build_id, b->n_build_id);
}

static void take_mappings(struct taking *t) {
    uint32_t head = t->m->n_files;
    for (unsigned pass = 0; pass < 2; pass++) {
        t->is_first_pass = pass == 0;
        each_row(t, VT_BOX_MODULES, sizeof(struct vt_box_module), take_module);
        for (uint32_t i = 0; i < t->m->n_files; i++) take_file(t, i, &head);
    }
    profile_locate(t->p);
}

/* ---- exported */

bool box_has(const struct vt_box *b, enum box_kind kind) {
    if (kind == BOX_CPU) return b->region[VT_BOX_CPU_COUNTS] != 0 && b->cpu_period_ns != 0;
    if (is_of_all(b)) return kind == BOX_HEAP || kind == BOX_PEAK;
    return b->table[VT_BOX_SITES].n > 0;
}

/* What the profile does not have, to whoever reads it: now, and later in its file. */
static void add_gap(struct taking *t, const char *text) {
    profile_note(t->p, "'%s': %s", t->m->name, text);
    profile_add_gap(t->p, text);
}

static void add_gaps(struct taking *t) {
    char text[256], counted[64] = "";
    unsigned long long n_damaged = t->n_damaged;
    if (t->n_uncounted_bytes > 0)
        (void)snprintf(counted, sizeof counted, ", and with them %.3g MB that were allocated",
                       (double)t->n_uncounted_bytes / 1e6);
    if (t->b->n_lost_bytes > 0)
        (void)snprintf(text, sizeof text,
                       "there was no room for all: %.3g MB of tables and %llu rows or stacks are "
                       "missing%s",
                       (double)t->b->n_lost_bytes / 1e6, n_damaged, counted);
    else
        (void)snprintf(text, sizeof text, "%llu rows or stacks of its process cannot be read",
                       n_damaged);
    if (t->b->n_lost_bytes > 0 || n_damaged > 0) add_gap(t, text);
}

static void note_losses(struct taking *t) {
    if (t->n_torn > 0)
        profile_note(t->p, "'%s': %llu of its rows were being written when the process ended",
                     t->m->name, (unsigned long long)t->n_torn);
    add_gaps(t);
}

struct profile *box_profile(const struct image *m, const struct vt_box *b, enum box_kind kind,
                            struct report_error *e) {
    struct taking t = {.m = m, .b = b, .p = profile_new()};
    if (kind == BOX_CPU)
        take_cpu(&t);
    else
        take_heap(&t, kind);
    take_mappings(&t);
    free(t.locations);
    if (t.is_full) {
        (void)report_fail(
            e, EFBIG, "'%s': its tables have more than %llu MiB; --limit=SIZE reads more", m->name,
            (unsigned long long)(m->max_bytes ? m->max_bytes : INTAKE_MAX_BYTES) >> 20);
        profile_free(t.p);
        return NULL;
    }
    note_losses(&t);
    return t.p;
}
