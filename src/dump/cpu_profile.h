/* cpu_profile.h - profiles of time: what the CPU profiler and the waits hand over, and the files that are written from it.
 *
 * Climate: host, no malloc; also at exit and in a forked child. As with heap profiles (profile.h) nothing is stopped.
 */
#ifndef VT_DUMP_CPU_PROFILE_H
#define VT_DUMP_CPU_PROFILE_H

#include "dump/impl.h"
#include "probe/waits.h"
#include "stack/stack.h"
#include "vitrine.h"

VT_HIDDEN_BEGIN

/* One stack of one thread, with its labels. The same stack may come in several rows; readers add them up. */
struct vt_cpu_stack {
    const uintptr_t
        *pc; /* the interrupted address (none in a profile of waits), then return addresses */
    unsigned n_pcs;  /* 0: the stack is not known; written as the one address 0 */
    uint32_t thread; /* kernel thread id */
    const char *thread_name;
    unsigned n_labels;
    const char *const *label_keys, *const *label_values;
    uint64_t n;             /* periods; waits */
    uint64_t on_ns, off_ns; /* using the CPU; waiting. Of waits: on_ns is how long they were */
};

enum vt_cpu_kind {
    VT_CPU_TIME,  /* CPU time used */
    VT_WALL_TIME, /* time passed */
    VT_WAITS      /* time waited for locks and conditions: a contention profile */
};

struct vt_cpu_source {
    enum vt_cpu_kind kind;
    uint64_t period_ns;
    uint64_t time_ns, duration_ns; /* wall clock of the start; since then */
    void *state;
    void (*rewind)(void *state);
    bool (*next)(void *state, struct vt_cpu_stack *row); /* as vt_heap_source.next */
};

#define VT_CPU_ROW_LABELS 16
struct vt_cpu_rows {
    uint32_t cursor;
    const char *keys[VT_CPU_ROW_LABELS], *values[VT_CPU_ROW_LABELS];
};
/* The profiler's own: over `rows`, which must outlive it. */
struct vt_cpu_source vt__cpu_source(struct vt_cpu_rows *rows);

struct vt_wait_rows {
    struct vt_cpu_rows rows;
    struct vt_waiter who;                  /* of the last one */
    uintptr_t pc[1 + VT_STACK_MAX_FRAMES]; /* the function that waited, and its callers */
};
struct vt_cpu_source vt__waits_source(struct vt_wait_rows *rows); /* the same; waits_source.c */

/* What the two share: what was counted as a row; from the beginning again, with a vt_cpu_rows in front. */
void vt__cpu_row_set(struct vt_cpu_stack *row, struct vt_cpu_rows *r, const struct vt_count *c);
void vt__cpu_rows_rewind(void *state);

bool vt__cpu_stack_next(const struct vt_cpu_source *src,
                        struct vt_cpu_stack *row);           /* clears it first */
uint64_t vt__cpu_n_periods(const struct vt_cpu_source *src); /* of all rows */
uint64_t vt__cpu_gperftools_bytes(
    const struct vt_cpu_source *src); /* of the file, without its maps */

int vt__cpu_proto(struct vt_out *o, const struct vt_cpu_source *src);
int vt__cpu_gperftools(struct vt_out *o, const struct vt_cpu_source *src);
int vt__contention_text(struct vt_out *o, const struct vt_cpu_source *src);

/* As vt__heap_write_fd and vt__heap_write_file_quietly, see profile.h. */
int vt__cpu_write_fd(int fd, enum vt_cpu_format format, const struct vt_cpu_source *src);
int vt__cpu_write_file(const char *path, enum vt_cpu_format format,
                       const struct vt_cpu_source *src);

VT_HIDDEN_END

#endif
