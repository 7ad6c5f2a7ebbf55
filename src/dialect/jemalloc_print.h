/* jemalloc_print.h - what the files of malloc_stats_print share: one print, as text in jemalloc's columns or as JSON.
 *
 *   jemalloc_print.c         the call, its letters, the settings and the sums of all arenas
 *   jemalloc_print_arena.c   each arena, with its mutexes and its tables by size
 *   jemalloc_print_write.c   keys and brackets, columns
 *
 * Climate: host.
 */
#ifndef VT_DIALECT_JEMALLOC_PRINT_H
#define VT_DIALECT_JEMALLOC_PRINT_H

#include "base/text.h"
#include "dialect/jemalloc_nodes.h"

VT_HIDDEN_BEGIN

struct vt_jp {
    struct vt_text text;
    bool is_json, needs_comma;
    uint32_t left_out; /* bit per letter */
    uint64_t uptime_s;
    void (*write)(void *opaque, const char *s); /* NULL: where messages go */
    void *opaque;
};

/* Is what this letter leaves out wanted? */
VT_INLINE bool jp_has(const struct vt_jp *p, char letter) {
    return (p->left_out >> (letter - 'a') & 1) == 0;
}

/* A node's value, of an arena if it has one. */
uint64_t vt__jp_read(size_t arena, vt_je_reader *read, int what);

/* JSON; a name may be NULL, in an array. */
void vt__jp_key(struct vt_jp *p, const char *name);
void vt__jp_open(struct vt_jp *p, const char *name, char bracket);
void vt__jp_shut(struct vt_jp *p, char bracket);
void vt__jp_number(struct vt_jp *p, const char *name, uint64_t n);

/* Either. */
void vt__jp_put_quoted(struct vt_jp *p, const char *s);
void vt__jp_put_truth(struct vt_jp *p, bool is_so);

/* Text. */
struct jp_column {
    const char *head;
    unsigned width;
};
void vt__jp_say(struct vt_jp *p, const char *s);
void vt__jp_say_number(struct vt_jp *p, const char *before, uint64_t n, const char *after);
void vt__jp_put_right(struct vt_jp *p, const char *s, unsigned width);
void vt__jp_put_left(struct vt_jp *p, const char *s, unsigned width);
/* The first column has the table's title at its left. */
void vt__jp_put_heads(struct vt_jp *p, const char *title, const struct jp_column *columns,
                      size_t n);
void vt__jp_put_cell(struct vt_jp *p, uint64_t n, unsigned width);
void vt__jp_put_rate(struct vt_jp *p, uint64_t n, unsigned width); /* by the second */

/* jemalloc_print_arena.c */
void vt__jp_put_global_mutexes(struct vt_jp *p);
void vt__jp_put_each_arena(struct vt_jp *p); /* as the letters say, the merged ones first */

VT_HIDDEN_END

#endif
