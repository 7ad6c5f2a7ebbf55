/* impl.h - what the writers of profiles share: output, rows, modules. Climate: host, no malloc. */
#ifndef VT_DUMP_IMPL_H
#define VT_DUMP_IMPL_H

#include "base/text.h"
#include "dump/profile.h"
#include "stack/stack.h"

VT_HIDDEN_BEGIN

/* ---- out.c: a buffer in front of a descriptor. The first error stays; what comes after it is dropped. ---- */

struct vt_out {
    struct vt_text text; /* write here */
    int fd;
    int err; /* 0 or -errno; a writer looks from time to time and gives up */
};

void vt__out_begin(struct vt_out *o, int fd, void *buf, size_t n_bytes);
int vt__out_end(struct vt_out *o); /* flushes; 0 or the first error */

/* ---- file.c: where a profile goes, whatever is in it ---- */

typedef int vt_writer(struct vt_out *o, const void *src); /* 0, or -errno beside o->err */
int vt__write_fd(int fd, vt_writer *writer, const void *src);
int vt__write_file(const char *path, vt_writer *writer, const void *src); /* see profile.h */
int vt__write_file_quietly(const char *path, vt_writer *writer, const void *src);
int vt__write_sink(void (*sink)(void *arg, const char *data, size_t n_bytes), void *arg,
                   vt_writer *writer, const void *src);

/* At least `n_digits` hexadecimal digits, without 0x. */
void vt__put_hex(struct vt_text *t, uint64_t n, unsigned n_digits);
/* Bytes below ' ' and any of `others` become '?': a name cannot end a line or a field. */
void vt__put_tame(struct vt_text *t, const char *s, size_t n_bytes, const char *others);

/* ---- rows ---- */

/* The next row that has something in it. */
bool vt__row_next(const struct vt_heap_source *src, struct vt_heap_row *row);

struct vt_heap_sum { /* of seen_* */
    uint64_t inuse_objects, inuse_bytes, alloc_objects, alloc_bytes;
};
void vt__sum_add(struct vt_heap_sum *sum, const struct vt_heap_row *row);

/* Are there estimates in it? */
static inline bool vt__is_sampled(const struct vt_heap_source *src) {
    return src->period_bytes > 1 && src->kind != VT_HEAP_EXACT && src->kind != VT_HEAP_GROWTH &&
           src->kind != VT_HEAP_MMAP;
}

/* Does the reader of a text format have to scale what was seen? */
static inline bool vt__is_to_scale(const struct vt_heap_source *src) {
    return vt__is_sampled(src) && !src->has_maps;
}

/* Inside the call instruction that returns to pc. */
static inline uintptr_t vt__call_of(uintptr_t pc) { return pc == 0 ? 0 : pc - 1; }

/* ---- modules.c: which file each address belongs to ---- */

struct vt_module { /* an executable mapping */
    uintptr_t start, end;
    uint64_t file_offset;
    uint64_t elf_delta; /* ELF address minus offset in the file; 0 where it could not be read */
    const char *path;   /* not terminated; without " (deleted)"; empty: no file */
    unsigned n_path;
    bool is_gone;        /* unloaded: struct vt_gone */
    unsigned n_build_id; /* 0: none, or not to be read */
    uint8_t build_id[32];
};

static inline void vt__module_of_gone(const struct vt_gone *gone, struct vt_module *out) {
    *out = (struct vt_module){.start = gone->start,
                              .end = gone->end,
                              .file_offset = gone->file_offset,
                              .elf_delta = gone->elf_delta,
                              .path = gone->path,
                              .n_path = (unsigned)vt__str_len(gone->path),
                              .is_gone = true,
                              .n_build_id = gone->n_build_id};
    __builtin_memcpy(out->build_id, gone->build_id, gone->n_build_id);
}

struct vt_modules {
    const struct vt_module *module; /* by address */
    size_t n;
    size_t main;   /* the program itself */
    size_t n_gone; /* of them, see vt_module.is_gone */
    /* as /proc/self/maps has it, or made from the list of the dynamic linker */
    const char *maps;
    size_t n_maps_bytes;
    /* owned */
    void *text, *table;
    size_t text_bytes, table_bytes;
};

static inline void vt__put_build_id(struct vt_text *t, const struct vt_module *m) {
    for (unsigned i = 0; i < m->n_build_id; i++) vt__put_hex(t, m->build_id[i], 2);
}

/* Never fails: what cannot be found out stays empty. */
void vt__modules_read(struct vt_modules *m);
void vt__modules_free(struct vt_modules *m);
const struct vt_module *vt__modules_find(const struct vt_modules *m,
                                         uintptr_t address); /* or NULL */
void vt__put_maps(
    struct vt_out *o); /* as they are now, and "# build-id START HEX" for each that has one */
/* "\nMAPPED_LIBRARIES:\n" and the maps as they are now: the end of both text formats. */
void vt__put_mapped_libraries(struct vt_out *o);

/* ---- one per format: everything between the first byte and the last. 0, or -errno beside o->err ---- */

int vt__heap_proto(struct vt_out *o, const struct vt_heap_source *src);
int vt__heap_gperftools(struct vt_out *o, const struct vt_heap_source *src);
int vt__heap_jemalloc(struct vt_out *o, const struct vt_heap_source *src);
int vt__heap_collapsed(struct vt_out *o, const struct vt_heap_source *src);

VT_HIDDEN_END

#endif
