/* profile.h - heap profiles: what a probe hands over, and the files that are written from it.
 *
 * A probe offers a source: rows, one after another, as often as a writer rewinds. Nothing is stopped meanwhile, so a row may
 * have changed when it is seen again; a file is complete as of some moment between its beginning and its end.
 *
 * Climate: host, no malloc; also at exit, in a slow path that a signal began, in a forked child. Working memory (about
 * 2 MiB) is mapped for the time of one call, the stack is used sparingly, and there is no state between calls, so any number
 * of threads may write at once. The caller holds no lock that malloc or the source's rows need.
 */
#ifndef VT_DUMP_PROFILE_H
#define VT_DUMP_PROFILE_H

#include "base/base.h"
#include "vitrine.h"

VT_HIDDEN_BEGIN

/* One stack (and thread, and labels) of a heap profile.
 *
 * The same stack may come in several rows: by thread, by labels, and by size. Readers add them up. The readers that scale
 * `seen_*` take a row's mean size for the size of each of its blocks; a source that gives a row per stack and block size, or
 * computes `seen_*` from the mean, is therefore read back without bias, one that mixes sizes in a row only roughly.
 * A row whose counts are all 0 is left out. */
struct vt_heap_row {
    const uintptr_t *pc;     /* return addresses, innermost first */
    unsigned n_pcs;          /* 0: the stack is not known; written as the one address 0 */
    uint32_t thread;         /* its number, as they came; 0: all threads together */
    const char *thread_name; /* may be NULL */
    unsigned n_labels;
    const char *const *label_keys, *const *label_values;
    /* as sampled: what was seen, with class sizes (gperftools' and jemalloc's readers scale these themselves); in exact mode what
     * the program asked for */
    uint64_t seen_inuse_objects, seen_inuse_bytes, seen_alloc_objects, seen_alloc_bytes;
    /* estimates of the truth, with class sizes */
    uint64_t inuse_objects, inuse_bytes, alloc_objects, alloc_bytes;
    uint64_t inuse_requested_bytes, alloc_requested_bytes; /* what the program asked for */
    /* how many samples the estimates are made of; 0 in exact mode, and of mappings */
    uint64_t inuse_samples, alloc_samples;
    uint64_t lifetime_ms; /* all of it was freed, at an age below this; 0: not told apart */
};

struct vt_heap_source {
    enum vt_heap_kind kind;
    uint64_t period_bytes; /* mean bytes between samples; 1 when exact */
    /* Rows of mappings come, too, and seen_* are estimates: a reader that scales would scale the mappings as well. */
    bool has_maps;
    uint64_t time_ns, duration_ns; /* wall clock of the start of recording; since then */
    void *state;
    /* Called before every pass, the first too. by_thread: the writer tells threads and labels apart, so rows should. */
    void (*rewind)(void *state, bool by_thread);
    /* false at the end; the row's pointers are valid until the next call. Fields not set are 0: the writer clears the row. */
    bool (*next)(void *state, struct vt_heap_row *row);
};

/* To a descriptor, from where it stands; it stays open. A descriptor that does not block is waited for. SIGPIPE and SIGXFSZ
 * are held back. 0 or -errno; after an error some of the profile may be written. -ENOMEM: no working memory. */
int vt__heap_write_fd(int fd, enum vt_heap_format format, const struct vt_heap_source *src);

/* As a draft beside it, `.vitrine.PID.TID.RANDOM.tmp`, then renamed: complete or absent, an older file of that name stays until
 * then (os/draft.h). A device or a pipe is written in place; a link is followed. What another user could have planted is refused. A
 * reader that stops is given up: -ETIMEDOUT.
 * 0 or -errno, and one line on stderr ("vitrine: error: cannot write profile 'PATH': ...") on failure. */
int vt__heap_write_file(const char *path, enum vt_heap_format format,
                        const struct vt_heap_source *src);
/* The same without that line; and the line alone. */
int vt__heap_write_file_quietly(const char *path, enum vt_heap_format format,
                                const struct vt_heap_source *src);
void vt__say_not_written(const char *path, int err);
/* 1: it is a pipe, a device or a descriptor, where what is written stays, and it can be written. 0: a file, or none yet; or -errno. */
int vt__written_in_place(const char *path);
/* To a function, piece by piece. */
int vt__heap_write_sink(void (*sink)(void *arg, const char *data, size_t n_bytes), void *arg,
                        enum vt_heap_format format, const struct vt_heap_source *src);

VT_HIDDEN_END

#endif
