/* source.h - synthetic sources of heap profiles, and the bytes that writers make of them. */
#ifndef VT_TESTS_DUMP_SOURCE_H
#define VT_TESTS_DUMP_SOURCE_H

#include "unit.h"

#include "dump/impl.h"

struct rows {
    const struct vt_heap_row *row;
    size_t n, at;
};

static void rewind_rows(void *state, bool by_thread) {
    (void)by_thread;
    ((struct rows *)state)->at = 0;
}

static bool next_row(void *state, struct vt_heap_row *row) {
    struct rows *r = state;
    if (r->at == r->n) return false;
    *row = r->row[r->at++];
    return true;
}

/* A source of these rows. */
__attribute__((unused)) static struct vt_heap_source source_of(struct rows *rows,
                                                               enum vt_heap_kind kind,
                                                               uint64_t period) {
    return (struct vt_heap_source){.kind = kind,
                                   .period_bytes = period,
                                   .time_ns = 1,
                                   .duration_ns = 2,
                                   .state = rows,
                                   .rewind = rewind_rows,
                                   .next = next_row};
}

/* Everything the writer writes, NUL-terminated; its length through *n. */
__attribute__((unused)) static char *written(enum vt_heap_format format,
                                             const struct vt_heap_source *src, size_t *n) {
    int fd = memfd_create("profile", 0);
    assert_true(fd >= 0);
    assert_int_equal(vt__heap_write_fd(fd, format, src), 0);
    *n = (size_t)lseek(fd, 0, SEEK_CUR);
    char *text = malloc(*n + 1);
    assert_int_equal(pread(fd, text, *n, 0), *n);
    text[*n] = '\0';
    close(fd);
    return text;
}

/* ---- a source that makes up its rows: as many as asked for, each stack another ---- */

struct many {
    unsigned n, depth;
    bool is_labelled;
    unsigned at;
    uintptr_t pc[100000];
    char value[32];
};

static void rewind_many(void *state, bool by_thread) {
    (void)by_thread;
    ((struct many *)state)->at = 0;
}

static bool next_many(void *state, struct vt_heap_row *row) {
    static const char *const keys[] = {"request"};
    static const char *values[1];
    struct many *m = state;
    if (m->at == m->n) return false;
    unsigned i = m->at++;
    for (unsigned k = 0; k < m->depth; k++) m->pc[k] = 0x1000000 + k * 16 + 1;
    m->pc[m->depth - 1] = 0x400000000 + (uintptr_t)i * 32;
    *row = (struct vt_heap_row){.pc = m->pc, .n_pcs = m->depth, .thread = 100 + i % 1000};
    row->seen_inuse_objects = row->inuse_objects = 1;
    row->seen_inuse_bytes = row->inuse_bytes = i + 1;
    row->seen_alloc_objects = row->alloc_objects = 2;
    row->seen_alloc_bytes = row->alloc_bytes = 2 * (uint64_t)(i + 1);
    row->inuse_requested_bytes = row->inuse_bytes;
    row->alloc_requested_bytes = row->alloc_bytes;
    if (m->is_labelled) {
        snprintf(m->value, sizeof(m->value), "number %u", i);
        values[0] = m->value;
        row->n_labels = 1;
        row->label_keys = keys;
        row->label_values = values;
    }
    return true;
}

__attribute__((unused)) static struct vt_heap_source source_of_many(struct many *m, unsigned n,
                                                                    unsigned depth) {
    m->n = n;
    m->depth = depth;
    return (struct vt_heap_source){.kind = VT_HEAP_EXACT,
                                   .period_bytes = 1,
                                   .time_ns = 1,
                                   .duration_ns = 2,
                                   .state = m,
                                   .rewind = rewind_many,
                                   .next = next_many};
}

#endif
