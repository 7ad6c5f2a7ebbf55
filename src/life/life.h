/* life.h - start, thread birth and death, fork, exit: what life's files share. Climate: host, but for what malloc calls. */
#ifndef VT_LIFE_LIFE_H
#define VT_LIFE_LIFE_H

#include "base/base.h"
#include "dump/names.h"
#include "heap/heap.h"
#include "vitrine.h"

VT_HIDDEN_BEGIN

#define VT_PLAIN_KEYS 32 /* glibc: PTHREAD_KEY_2NDLEVEL_SIZE; for more keys it allocates */
bool vt__life_watch_threads(
    void); /* once, before the heap is used: the end of a thread is told to us */
int vt__life_prepare(
    void); /* the part of vt__life_start that a signal handler may do: the heap works; 0 or -errno */
void vt__life_no_thread(void);   /* there was no memory for one: says why if that may be a limit */
void vt__life_watch_forks(void); /* once, when the heap works */
void vt__life_watch_exit(void);  /* once, when the heap works */
void vt__life_purger_forget(void);  /* in the child of a fork */
void vt__life_control_forget(void); /* the same */

/* heap_dump.c: heap profiles */
void vt__life_heap_begin(void); /* once, when the heap works: what the options ask for */
void vt__life_heap_end(void);   /* at exit */
void vt__life_record_maps(const char *asked); /* what the program maps, because of this option */
int vt__life_heap_start(const char *prefix);  /* from now on, files of this name; 0 or -errno */
void vt__life_heap_stop(void);
int vt__life_heap_on_signal(int number); /* write one whenever it comes; 0 or -errno */
bool vt__life_heap_is_on(void);
int vt__life_heap_write_fd(int fd, enum vt_heap_format format); /* of the option's kind */
int vt__life_heap_write_kind_fd(int fd, enum vt_heap_format format, enum vt_heap_kind kind);
int vt__life_heap_dump(const char *path); /* NULL: the next of the prefix's; 0 or -errno */
#define VT_PATH_BYTES 1024
#define VT_FORMAT_OF_OPTIONS (-1)
/* The same in another format; `name` is the file's, when it was written. */
int vt__life_heap_dump_to(const char *path, int format, char name[VT_PATH_BYTES]);

/* The manner of another library, for the files that vt__life_heap_start names. To be set while it is off; NULL: ours. */
struct vt_heap_manner {
    enum vt_dump_style style;
    enum vt_heap_format format;
    bool is_due_by_requested; /* in exact mode dumps are due by what was asked for */
    bool counts_on;           /* the next start does not begin with the first number again */
    bool child_counts_on;     /* nor does the child of a fork */
    bool counts_from_0;
    bool one_interval_for_all; /* a dump for one of the intervals counts for the others */
    bool has_inuse_only;       /* what was allocated in all is left out */
    uint64_t pid_namespace;    /* 0: not in the names */
    /* Before one is written, and if that failed; `words`: the caller's of vt__life_heap_dump_because, else NULL. */
    void (*writing)(const char *path, enum vt_dump_cause cause, const char *words);
    void (*failed)(const char *path, int err);
    void (*written)(const char *path); /* NULL: nobody asks */
};
void vt__life_heap_set_manner(const struct vt_heap_manner *manner);
void vt__life_heap_set_process(enum vt_dump_process process); /* after a start: who it is */
int vt__life_heap_dump_because(enum vt_dump_cause cause,
                               const char *words); /* the next of the prefix's */
int vt__life_heap_dump_file(
    const char *path); /* to this one, in that manner; says only what it refuses */
int vt__life_heap_write(enum vt_heap_format format, enum vt_heap_kind kind,
                        void (*sink)(void *arg, const char *data, size_t n_bytes), void *arg);
void vt__life_helper_begin(
    void); /* purger.c: the thread, if the options ask for one; not from inside malloc */

VT_HIDDEN_END

#endif
