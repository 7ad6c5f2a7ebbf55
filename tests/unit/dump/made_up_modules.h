/* made_up_modules.h - takes the place of modules.c, so that a profile is the same bytes on every machine and in every run. */
#ifndef VT_TESTS_DUMP_MADE_UP_MODULES_H
#define VT_TESTS_DUMP_MADE_UP_MODULES_H

#include "source.h"

static const struct vt_module made_up[] = {
    {.start = 0x300000, .end = 0x301000, .path = "/lib/odd;na me.so", .n_path = 17},
    {.start = 0x401000,
     .end = 0x402000,
     .file_offset = 0x1000,
     .elf_delta = 0x700000,
     .path = "/bin/prog",
     .n_path = 9,
     .n_build_id = 2,
     .build_id = {0xab, 0xcd}},
    {.start = 0x600000, .end = 0x601000, .path = "[anon]", .n_path = 0}, /* a JIT's */
};

void vt__modules_read(struct vt_modules *m) {
    *m = (struct vt_modules){.module = made_up, .n = 3, .main = 1};
}

void vt__modules_free(struct vt_modules *m) { (void)m; }

const struct vt_module *vt__modules_find(const struct vt_modules *m, uintptr_t address) {
    for (size_t i = 0; i < m->n; i++)
        if (address >= m->module[i].start && address < m->module[i].end) return &m->module[i];
    return NULL;
}

void vt__put_maps(struct vt_out *o) { vt__text_put(&o->text, "(maps)\n"); }

void vt__put_mapped_libraries(struct vt_out *o) {
    vt__text_put(&o->text, "\nMAPPED_LIBRARIES:\n");
    vt__put_maps(o);
}

/* Two rows: one with everything, one with little. */
static const uintptr_t stack_a[] = {0x401010, 0x401100}, stack_b[] = {0x401010, 0x500000};
static const char *const keys_a[] = {"k"}, *const values_a[] = {"v"};
static const struct vt_heap_row two_rows[] = {
    {.pc = stack_a,
     .n_pcs = 2,
     .thread = 7,
     .thread_name = "main",
     .n_labels = 1,
     .label_keys = keys_a,
     .label_values = values_a,
     .seen_inuse_objects = 1,
     .seen_inuse_bytes = 64,
     .seen_alloc_objects = 2,
     .seen_alloc_bytes = 128,
     .inuse_objects = 10,
     .inuse_bytes = 640,
     .alloc_objects = 20,
     .alloc_bytes = 1280,
     .inuse_requested_bytes = 630,
     .alloc_requested_bytes = 1260,
     .inuse_samples = 1,
     .alloc_samples = 2},
    {.pc = stack_b, .n_pcs = 2}, /* nothing in it: left out */
    {.pc = stack_b,
     .n_pcs = 2,
     .seen_alloc_objects = 1,
     .seen_alloc_bytes = 32,
     .alloc_objects = 1,
     .alloc_bytes = 32,
     .alloc_requested_bytes = 30,
     .alloc_samples = 1},
};

__attribute__((unused)) static char *written_rows(enum vt_heap_format format,
                                                  enum vt_heap_kind kind, uint64_t period,
                                                  const struct vt_heap_row *row, size_t n_rows,
                                                  size_t *n) {
    struct rows rows = {row, n_rows, 0};
    struct vt_heap_source src = source_of(&rows, kind, period);
    return written(format, &src, n);
}

__attribute__((unused)) static char *written_two(enum vt_heap_format format, enum vt_heap_kind kind,
                                                 uint64_t period, size_t *n) {
    return written_rows(format, kind, period, two_rows, 3, n);
}

#endif
