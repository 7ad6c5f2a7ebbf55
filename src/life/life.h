/* life.h - start, thread birth and death, fork, exit: what life's files share. Climate: host, but for what malloc calls. */
#ifndef VT_LIFE_LIFE_H
#define VT_LIFE_LIFE_H

#include "base/base.h"
#include "vitrine.h"

VT_HIDDEN_BEGIN

#define VT_PLAIN_KEYS 32 /* glibc: PTHREAD_KEY_2NDLEVEL_SIZE; for more keys it allocates */
bool vt__life_watch_threads(
    void); /* once, before the heap is used: the end of a thread is told to us */
int vt__life_prepare(
    void); /* the part of vt__life_start that a signal handler may do: the heap works; 0 or -errno */
void vt__life_watch_forks(void);    /* once, when the heap works */
void vt__life_watch_exit(void);     /* once, when the heap works */
void vt__life_purger_forget(void);  /* in the child of a fork */
void vt__life_control_forget(void); /* the same */

/* heap_dump.c: heap profiles */
void vt__life_heap_begin(void); /* once, when the heap works: what the options ask for */
void vt__life_heap_end(void);   /* at exit */
int vt__life_heap_start(const char *prefix); /* from now on, files of this name; 0 or -errno */
void vt__life_heap_stop(void);
bool vt__life_heap_is_on(void);
int vt__life_heap_write_fd(int fd, enum vt_heap_format format); /* of the option's kind */
int vt__life_heap_write_kind_fd(int fd, enum vt_heap_format format, enum vt_heap_kind kind);
int vt__life_heap_dump(const char *path); /* NULL: the next of the prefix's; 0 or -errno */
#define VT_PATH_BYTES 1024
#define VT_FORMAT_OF_OPTIONS (-1)
/* The same in another format; `name` is the file's, when it was written. */
int vt__life_heap_dump_to(const char *path, int format, char name[VT_PATH_BYTES]);

VT_HIDDEN_END

#endif
