/* jemalloc_nodes.h - the nodes of mallctl's tree: what a row of jemalloc_ctl.def names. Climate: host. */
#ifndef VT_DIALECT_JEMALLOC_NODES_H
#define VT_DIALECT_JEMALLOC_NODES_H

#include "dialect/jemalloc.h"
#include "heap/heap.h"

VT_HIDDEN_BEGIN

#define VT_JE_ALL_ARENAS 4096u /* in the place of a number */
#define VT_JE_DESTROYED_ARENAS 4097u
#define VT_JE_MAX_ARENAS 4095u
/* Sizes of large blocks as jemalloc has them, four to a doubling: 80, 96, 112, 128, 160 KiB ... 7 EiB. */
#define VT_JE_LARGE 187u
#define VT_JE_PAGE_CLASSES 199u

/* One call, on its way to a node. */
struct vt_je_call {
    int what;         /* of the row */
    bool is_default;  /* the row is about arenas to come: no number is in its name */
    size_t index[3];  /* the numbers in the name */
    bool has_new;     /* a value is given; else a write-only node was called without one */
    const void *newp; /* these as they came, for SPECIAL rows */
    size_t newlen;
    void *oldp;
    size_t *oldlenp;
};

/* 0 or an error of errno.h. Values of all types travel as 64 bits. */
typedef int vt_je_reader(const struct vt_je_call *c, uint64_t *out);
typedef int vt_je_writer(const struct vt_je_call *c, uint64_t value);

#define NODE(name, type, read, write, what)                                                        \
    vt_je_reader vt__je_read_##read;                                                               \
    vt_je_writer vt__je_write_##write;
#include "dialect/jemalloc_ctl.def"

/* What the tree reports of the heap, as of the last epoch. */
enum vt_je_stat {
    VT_JE_ALLOCATED,
    VT_JE_ACTIVE,
    VT_JE_METADATA,
    VT_JE_RESIDENT,
    VT_JE_MAPPED,
    VT_JE_RETAINED,
    VT_JE_CACHED,
    VT_JE_THREADS,
    VT_JE_ACTIVE_PAGES,
    VT_JE_DIRTY_PAGES,
    VT_JE_PURGES,
    VT_JE_PURGED_PAGES,
    VT_JE_SMALL,
    VT_JE_SMALL_NMALLOC,
    VT_JE_SMALL_NDALLOC,
    VT_JE_LARGE_BYTES,
    VT_JE_LARGE_NMALLOC,
    VT_JE_LARGE_NDALLOC,
    VT_JE_STATS
};
/* Of one size of block. */
enum vt_je_bin_stat {
    VT_JE_BIN_NMALLOC,
    VT_JE_BIN_NDALLOC,
    VT_JE_BIN_CURREGS,
    VT_JE_BIN_CURSLABS,
    VT_JE_BIN_NONFULL,
    VT_JE_BIN_STATS
};
enum { VT_JE_BIN_BYTES, VT_JE_BIN_BLOCKS, VT_JE_BIN_SLAB };

struct vt_je_snapshot {
    uint64_t epoch;
    uint64_t stat[VT_JE_STATS];
    uint64_t bin[VT_N_CLASSES][VT_JE_BIN_STATS];
    uint64_t large[VT_JE_LARGE][VT_JE_BIN_STATS];
};
extern struct vt_je_snapshot vt__je_snapshot; /* words; a reader may meet two epochs */
void vt__je_refresh(void);
/* Of one arena, of all, of those destroyed; never NULL. */
const struct vt_je_snapshot *vt__je_figures(size_t arena);
void vt__je_count_destroyed(struct vt_own *heap); /* what it did goes to VT_JE_DESTROYED_ARENAS */

/* jemalloc_arenas.c */
enum { VT_JE_ARENA_UNUSED, VT_JE_ARENA_COMES, VT_JE_ARENA_IS_THERE };
#define VT_JE_DECAY_BIAS 2 /* so that -1 is not 0, which is: nobody said */
struct vt_je_arena {
    _Atomic uint8_t state;
    uint8_t dss;         /* a word of jemalloc_settings.c, plus 1; 0: nobody said */
    struct vt_own *heap; /* NULL: of the threads */
    struct vt_je_snapshot *figures;
    _Atomic(void *) hooks; /* extent_hooks_t *; NULL: the default ones */
    _Atomic(struct vt_estate *)
        estate; /* what hooks brought; NULL: they were always the default ones */
    _Atomic(const char *) name;
    int64_t decay_ms[2];                            /* dirty, muzzy; plus VT_JE_DECAY_BIAS */
    uint64_t oversize_threshold, retain_grow_limit; /* 0: nobody said */
    uint64_t started_ms;
};
struct vt_je_arena *vt__je_arena(size_t i);               /* below VT_JE_MAX_ARENAS */
int vt__je_set_hooks(struct vt_je_arena *a, void *hooks); /* 0 or an error of errno.h */
int64_t vt__je_dirty_decay_ms(const struct vt_je_arena *a);
unsigned vt__je_n_automatic(void);
unsigned vt__je_narenas(void);
bool vt__je_arena_is_there(size_t i);  /* in use */
bool vt__je_arena_is_all(size_t i);    /* a number that stands for all */
size_t vt__je_arena_threads(size_t i); /* how many allocate from it */
uint64_t vt__je_started_ms(void);

/* A result of so many bytes is asked for, or none: 0; else EINVAL. Then it is put. */
int vt__je_check_result(const struct vt_je_call *c, size_t n_bytes);
void vt__je_put_result(const struct vt_je_call *c, const void *from, size_t n_bytes);

/* What fits in the caller's buffer; EINVAL if that is too short or too long. */
int vt__je_store(const struct vt_je_call *c, const void *from, size_t n_bytes);

size_t vt__je_large_of(size_t n_bytes); /* which of jemalloc's sizes holds so many bytes */

VT_HIDDEN_END

#endif
