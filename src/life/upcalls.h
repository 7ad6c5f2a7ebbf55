/* upcalls.h - what life needs from the names others know us by: the front door, which is what a library's names decide (one of
 * dialect/door_*.c in each), and the watch over locks and mappings (dialect/locks.c and mmap.c or, in a static library, no_locks.c). */
#ifndef VT_LIFE_UPCALLS_H
#define VT_LIFE_UPCALLS_H

#include "base/base.h"

VT_HIDDEN_BEGIN

struct vt_door {
    bool (*is_asked)(
        void); /* do the old variables ask for something that cannot wait for the first malloc? NULL: they do not */
    void (*read_environment)(
        void); /* at start, after our own variables and before the heap: the old ones set options too; NULL: none */
    void (*begin)(void); /* once the heap works and may be called; NULL: nothing */
    void (*end)(void);   /* at exit, after our own; NULL: nothing */
    void (*write_stats)(int fd, int level); /* malloc_stats, level 1; NULL: ours */
    void *(*realloc_0)(void *p);       /* realloc(p, 0); NULL: p is freed, the answer is NULL */
    void (*no_memory)(size_t n_bytes); /* so much was refused; inside malloc. NULL: nothing */
    /* So much was refused to operator new. True: it answers NULL, whatever its form; NULL: it does as C++ says. */
    bool (*new_fails)(size_t n_bytes);
    /* free of an address below this that is nobody's block is no mistake, and does nothing; 0: it ends the process */
    uintptr_t ignored_below;
};

extern const struct vt_door vt__door;

/* Waits for libc's locks and conditions are told to probe/waits.c, or no more. 0, or -ENOTSUP. Also in a signal handler. */
int vt__watch_locks(bool on);

/* The program's mmap and its sisters come to us (dialect/mmap.c), or in a static program do not (no_locks.c). */
extern const bool vt__sees_maps;

VT_HIDDEN_END

/* dialect/profiler_own.c: the CPU profiler, by option and by gperftools' names. NULL in a static program that does not have it. */
struct vt_profiler_functions;
VT_EXPORT extern const struct vt_profiler_functions vt_profiler_functions __attribute__((weak));

#endif
