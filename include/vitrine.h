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
    /* of heap profiles */
    uint64_t n_samples;      /* allocations sampled, sum since the start */
    uint64_t n_samples_live; /* of these in use */
    uint64_t n_samples_lost; /* of these not remembered, for want of memory */
    uint64_t sampled;        /* in use, as estimated from the samples */
    uint64_t sampled_peak;   /* as much of it as there was when the heap was largest */
    uint64_t n_stacks;       /* distinct call stacks kept */
    uint64_t n_stacks_lost;  /* stacks not kept, for want of room */
    uint64_t stacks;         /* bytes of the table that keeps them; not part of metadata */
    uint64_t n_walks;        /* call stacks taken, sum since the start */
    uint64_t n_walks_cut;    /* of these that could not be followed to their outermost frame */
};

/* Fill *stats, whose `size` field the caller has set. Returns 0, or -EINVAL when size is smaller than the first version
 * of the structure. */
int vt_stats_get(struct vt_stats *stats);

/* ---- heap profiles ----
 *
 * Another process of the same user may ask for most of what follows, too: vitrine-control.h, vitrine ctl.
 *
 * The heap is always sampled: one allocation for every 512 KiB on average is remembered with its stack until it is freed.
 * Change the rate with VITRINE=sample=BYTES or vt_heap_set_rate; 0 is off. What a profile says are estimates, unbiased. */

enum vt_heap_format {
    VT_PROFILE_PROTO,   /* profile.proto, for pprof and most other tools; not compressed */
    VT_GPERFTOOLS_HEAP, /* what gperftools writes, for its pprof */
    VT_JEMALLOC_HEAP,   /* what jemalloc writes, for jeprof */
    VT_COLLAPSED        /* a line per stack, for flame graphs; bytes in use */
};

enum vt_heap_kind {
    VT_HEAP_SAMPLED,  /* in use now, and allocated since the start: estimates */
    VT_HEAP_EXACT,    /* the same of what was allocated while vt_heap_set_exact was on: the truth */
    VT_HEAP_GROWTH,   /* where the heap took address space from the system; never decreases */
    VT_HEAP_PEAK,     /* in use when most was: estimates */
    VT_HEAP_MMAP,     /* what the program mapped by itself; needs the option heap_mmap */
    VT_HEAP_LIFETIMES /* as VT_HEAP_SAMPLED, with what was freed told apart by its age */
};

/* Write profiles to PREFIX.0001.heap, PREFIX.0002.heap and so on: at exit, when vt_heap_dump is called, and when the options
 * heap_interval, heap_growth, heap_peak, heap_seconds and heap_signal say so. The child of a fork writes PREFIX.PID.NNNN.heap, and
 * so does a program that one with the option heap_profile starts. Their format and kind are those of the options heap_format and
 * heap_kind. Returns 0, or a negative errno. */
int vt_heap_start(const char *prefix);

/* Write one now: with a '/' in it, `path` is the file's name; else it is the next of vt_heap_start's (NULL, or a word on why).
 * The file is complete or absent. Returns 0 or a negative errno, and says what went wrong on stderr; -ENOENT when there is
 * no prefix. */
int vt_heap_dump(const char *path);

/* Write no more of them. */
void vt_heap_stop(void);

/* Write a profile to a file descriptor: of the kind that files have, or of any kind. Returns 0, or a negative errno. */
int vt_heap_profile_fd(int fd, enum vt_heap_format format);
int vt_heap_profile_kind_fd(int fd, enum vt_heap_format format, enum vt_heap_kind kind);

/* From now on remember one allocation for every so many bytes; 0: none. Those already remembered stay. */
void vt_heap_set_rate(size_t mean_bytes);

/* Remember every allocation from now on (1), or samples again (0). Slow while it is on, and free of cost while it is off; what
 * was allocated before is not counted. Profiles are exact while it is on. Returns 0, or a negative errno. */
int vt_heap_set_exact(int on);

/* What is remembered and in use. */
struct vt_heap_object {
    size_t size; /* of this structure */
    const void *at;
    size_t requested_bytes; /* what the program asked for */
    size_t block_bytes;     /* what it got */
    double stands_for;      /* so many like it, by estimate */
    uint64_t age_ms;
    uint32_t
        thread; /* of who allocated it: threads are numbered as they come, and a number is used again */
    const uintptr_t *pcs; /* return addresses, innermost first; valid for good */
    unsigned n_pcs;
};

/* Calls visit for each of them until it returns something other than 0, and returns that. visit may allocate. */
int vt_heap_visit(int (*visit)(const struct vt_heap_object *object, void *arg), void *arg);

/* ---- CPU profiles ----
 *
 * Every thread is interrupted a hundred times for each second of CPU time it uses (the option cpu_frequency), and its stack is
 * counted. Threads that wait are left alone. The options cpu_clock and cpu_signal say what is measured and by which signal. */

enum vt_cpu_format {
    VT_CPU_PROTO_FORMAT,      /* profile.proto, for pprof and most other tools; not compressed */
    VT_CPU_GPERFTOOLS_FORMAT, /* what gperftools writes, for its pprof */
    VT_CONTENTION_FORMAT      /* of contention profiles: the text that gperftools and brpc write */
};

/* Begin a profile, to be written to this file, in the format of the option cpu_format: when it is stopped, or at exit. The child
 * of a fork goes on with a profile of its own, in FILE_PID. A pipe, a device or a descriptor (/dev/stdout) is written once, when the
 * profile ends. Returns 0, or a negative errno: -EBUSY when there is one already. */
int vt_cpu_start(const char *file);

/* Write what has been counted so far, and go on: to `path`, or to the profile's own file if it is NULL. The file is complete or
 * absent. With NULL nothing is written to a pipe, a device or a descriptor, which gets the whole profile later. Returns 0, or a negative
 * errno: -ENOENT when no profile was begun. */
int vt_cpu_dump(const char *path);

/* End the profile and write it. Returns 0, or a negative errno. */
int vt_cpu_stop(void);

/* ---- contention profiles ----
 *
 * Where threads wait for each other: in pthread_mutex_lock, pthread_rwlock_rdlock and wrlock, pthread_cond_wait and the timed forms of
 * these, which C++'s mutexes and condition variables are made of. A wait is counted when it is over, with its length and its stack.
 * Waits of the option contention_period, 10 microseconds, and longer are all counted; shorter ones are sampled, and what is counted stands
 * for them. While no profile is being made such a call costs two instructions more; while one is, a lock that is free costs one
 * attempt to take it, and a wait two readings of the clock, and about a microsecond if it is sampled. In a program that is linked statically
 * there are none: -ENOTSUP. */

/* As vt_cpu_start, vt_cpu_dump and vt_cpu_stop; the option contention_format chooses the format. */
int vt_contention_start(const char *file);
int vt_contention_dump(const char *path);
int vt_contention_stop(void);

/* Labels: what the calling thread is doing. Each allocation that is remembered, each CPU sample and each wait keeps the labels of its
 * thread, and profiles show them, of many the innermost 16. They nest: pop takes the last one off. The texts are copied, up to 255 bytes of
 * each, and kept for good: label with what has few values. While a CPU profile is made each call reads the clock, and CPU time that the system
 * has not told of in time counts for the label under which it was used. push returns 0, or a negative errno. */
int vt_label_push(const char *key, const char *value);
void vt_label_pop(void);

#ifdef __cplusplus
}
#endif

#endif
