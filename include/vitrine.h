/* vitrine.h - the malloc you can see through: what a program may ask of the library.
 *
 * Link with -lvitrine, or preload libvitrine.so.1 and find these functions by dlsym. malloc, free and operator new are
 * replaced in either case. All functions may be called from any thread, but not from a signal handler.
 */
#ifndef VITRINE_H
#define VITRINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VITRINE_VERSION "0.1.0"

/* The library's version, "0.1.0"; compare with VITRINE_VERSION, which is the header's. */
const char *vt_version(void);

/* Give all free memory back to the system now. Returns the bytes given back. Blocks in use stay where they are. */
size_t vt_release_free_memory(void);

enum vt_format { VT_TEXT_FORMAT = 0, VT_JSON_FORMAT = 1 };

/* Write statistics to a file descriptor, as a table for people or as one JSON object. Returns 0, or a negative errno. */
int vt_stats_print(int fd, enum vt_format format);

/* What the heap holds, in bytes unless the name says otherwise. Taken without stopping other threads, so figures of a busy
 * program belong to slightly different moments.
 *
 *   resident = allocated + cached + fragmented + retained + metadata
 */
struct vt_stats {
    size_t size; /* set to sizeof(struct vt_stats) by the caller; fields beyond it are left alone */
    uint64_t allocated; /* in blocks the program holds, rounded up to their size class */
    uint64_t cached; /* in blocks that wait in thread lists or on their way back to their owner */
    uint64_t fragmented; /* free or unusable parts of memory that also holds live blocks */
    uint64_t retained;   /* wholly free, kept resident for reuse */
    uint64_t metadata;   /* the library's own tables */
    uint64_t resident;   /* the sum of the above: what the library keeps in memory */
    uint64_t
        active; /* in slabs and large blocks: allocated + cached + fragmented, and pages not touched yet */
    uint64_t mapped;    /* address space made accessible */
    uint64_t purged;    /* given back to the system, sum since the start */
    uint64_t n_purges;  /* calls that did so */
    uint64_t n_heaps;   /* thread heaps, of living threads and waiting for new ones */
    uint64_t n_threads; /* thread heaps in use */
    uint64_t n_remote;  /* blocks freed by another thread than their owner, sum since the start */
    uint64_t n_large;   /* large blocks (above 64 KiB) in use */
    uint64_t large;     /* their bytes; part of allocated */
};

/* Fill *stats, whose `size` field the caller has set. Returns 0, or -EINVAL when size is smaller than the first version
 * of the structure. */
int vt_stats_get(struct vt_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
