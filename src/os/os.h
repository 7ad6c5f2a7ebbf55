/* os.h - everything the library asks of the system; no other room makes a system call.
 *
 * Climate: malloc (no malloc, no stdio, errno untouched: calls are made raw).
 * Failure is a negative errno. Addresses and sizes are multiples of VT_OS_PAGE unless said otherwise.
 */
#ifndef VT_OS_OS_H
#define VT_OS_OS_H

#include <stdatomic.h>

#include "base/base.h"

VT_HIDDEN_BEGIN

/* Address space. The names our mappings have in /proc/PID/maps. */
#define VT_HEAP_NAME "vitrine heap"
#define VT_TABLES_NAME "vitrine tables"
int vt__os_reserve(size_t n_bytes, size_t align,
                   void **out);                              /* no access, not charged to anybody */
int vt__os_commit(void *at, size_t n_bytes);                 /* reserved -> readable and writable */
int vt__os_protect(void *at, size_t n_bytes, bool readable); /* no writing; or no access at all */
int vt__os_map(size_t n_bytes, void **out);                  /* fresh zero pages anywhere */
int vt__os_map_at(void *at, size_t n_bytes);                 /* fresh zero pages here, or -EEXIST */
int vt__os_reserve_at(void *at, size_t n_bytes);             /* the same without access */
/* Where nobody lives and n_bytes from there on are free now, if a few draws find such a place; a multiple of `align`. Nothing is
 * mapped. */
uintptr_t vt__os_draw_place(size_t n_bytes, size_t align);
int vt__os_unmap(void *at, size_t n_bytes);
int vt__os_purge(void *at, size_t n_bytes); /* contents dropped, reads as zero */
/* Pages change address; `from` reads as zero. On failure both are as before, or, with -ENOTRECOVERABLE, `to` is lost. */
int vt__os_move(void *from, size_t n_bytes, void *to);
int vt__os_hugepages(void *at, size_t n_bytes, bool allow);
void vt__os_core(void *at, size_t n_bytes, bool is_wanted); /* in core files or not */
void vt__os_name(void *at, size_t n_bytes,
                 const char *name); /* shown in /proc/PID/maps where supported */

/* What the program itself asked for by these names: passed on as it is. 0 or -errno, the address through *out. */
int vt__os_program_mmap(void *at, size_t n_bytes, int prot, int flags, int fd, long offset,
                        void **out);
int vt__os_program_munmap(void *at, size_t n_bytes);
int vt__os_program_mremap(void *at, size_t old_bytes, size_t new_bytes, int flags, void *to,
                          void **out);
void *vt__os_program_break(void);
int vt__os_program_prlimit(int pid, int resource, const void *now, void *before);

bool vt__os_is_readable(
    const void *at); /* 8 bytes, aligned: asks the kernel, no fault; async-signal-safe */

/* Address space that grows: reserved once, made accessible from the bottom, never given back. Without a lock and
 * async-signal-safe: committing what another thread is committing too does no harm. */
struct vt_region {
    size_t max_bytes; /* wanted; what could be had is in n_bytes */
    size_t step_bytes;
    _Atomic(char *) base; /* NULL: not reserved yet */
    _Atomic size_t n_bytes, n_ready;
    _Atomic unsigned n_growing; /* calls that are about to make more of it accessible */
    struct vt_region *next;     /* all that are reserved */
    unsigned box; /* one more than its number in the box (box.h); 0: it is not in it */
};
#define VT_BOXED_REGION(which, max, step)                                                          \
    { (max), (step), NULL, 0, 0, 0, NULL, (which) + 1 }
#define VT_REGION(max, step)                                                                       \
    { (max), (step), NULL, 0, 0, 0, NULL, 0 }
char *vt__region_base(struct vt_region *r);             /* NULL: no address space */
bool vt__region_ready(struct vt_region *r, size_t end); /* the first `end` bytes may be used */
/* The process has few addresses from now on: regions give back what they reserved and do not use, but for a little. */
void vt__regions_shrink(void);
/* What is accessible of one after the other; *cursor begins as NULL. False at the end. */
bool vt__regions_next(const struct vt_region **cursor, void **at, size_t *n_bytes);

/* Threads and time */
void vt__os_wait(void *word, uint32_t while_value);
void vt__os_wait_ms(void *word, uint32_t while_value, uint64_t ms);
void vt__os_wake(void *word, int n);
uint64_t vt__os_now_ms(void);  /* monotonic, coarse */
uint64_t vt__os_now_ns(void);  /* monotonic */
uint64_t vt__os_wall_ns(void); /* since 1970 */
int vt__os_pid(void);
int vt__os_tid(void); /* the kernel's id of the calling thread */
struct vt_usage {
    uint64_t user_ms, system_ms, peak_resident_bytes, n_major_faults;
};
void vt__os_usage(struct vt_usage *out); /* of the process, so far */
unsigned vt__os_node(void);              /* NUMA node of the calling thread; 0 when unknown */

/* Clocks that send signals; async-signal-safe. A clock is one of libc's CLOCK_..., or that of a thread's CPU time. */
int vt__os_thread_clock(int tid);
uint64_t vt__os_clock_ns(int clock); /* 0: there is no such thread */
uint64_t vt__os_tick_ns(void);       /* between the system's ticks, at which it looks at timers */
void vt__os_sleep_ns(uint64_t ns);   /* or less, if a signal comes */
/* To the thread `tid`, 0: to the process; `value` comes with each signal. */
int vt__os_timer_create(int clock, int signal, int tid, void *value, int *out);
int vt__os_timer_set(int timer, uint64_t first_ns, uint64_t period_ns); /* 0, 0: it stands still */
void vt__os_timer_delete(int timer);
int vt__os_itimer_set(int which, uint64_t period_ns); /* ITIMER_...; 0: it stands still */
/* A descriptor that sends a signal to a thread whenever it used so much CPU time, without the system's ticks; or -errno. */
int vt__os_perf_clock(int tid, int signal, uint64_t period_ns);

/* The process's threads */
#define VT_TASK_NAME_BYTES 16
int vt__os_each_task(void (*visit)(int tid, void *arg), void *arg); /* 0, or -errno without /proc */
bool vt__os_task_is_there(int tid);
void vt__os_task_name(int tid, char name[VT_TASK_NAME_BYTES]); /* left as it is if not to be had */
void vt__os_my_name(char name[VT_TASK_NAME_BYTES]);
/* Signals held back from the calling thread; bit 0 is signal 1. hold answers what was held before, for restore. */
uint64_t vt__os_hold_signals(uint64_t set);
void vt__os_restore_signals(uint64_t mask);

/* The process's surroundings; each answers a harmless default when it cannot be found out */
uint64_t vt__os_random(void);
const char *vt__os_getenv(const char *name); /* NULL in a set-uid program */
const char *const *vt__os_environment(void); /* NULL in a set-uid program */
uintptr_t vt__os_entry(void);                /* where the program begins, _start */
bool vt__os_is_secure(void);
bool vt__os_is_ignored(const char *name); /* it is set, in a set-uid program */
size_t vt__os_ram_bytes(void);
size_t vt__os_address_limit(void); /* RLIMIT_AS in bytes, SIZE_MAX if none; as it was last told */
size_t vt__os_data_limit(void);    /* RLIMIT_DATA, the same */
size_t vt__os_address_limit_now(void);          /* asked anew; a filter may forbid it */
void vt__os_tell_address_limit(size_t n_bytes); /* it was changed */
void vt__os_tell_data_limit(size_t n_bytes);
size_t vt__os_cgroup_limit(void); /* of memory; SIZE_MAX or very much if none */
unsigned vt__os_n_nodes(void);
/* How much is used of the memory that the process, its groups or the machine may have, whichever is nearest to its end. *left: bytes until
 * it is `mark` per cent. */
unsigned vt__os_memory_percent(unsigned mark, size_t *left);
bool vt__os_hugepages_are_always(void);
bool vt__os_is_single_threaded(void);  /* never had a second thread, as far as libc knows */
bool vt__os_brk_start(uintptr_t *out); /* where the brk heap begins; false: not to be found out */
size_t vt__os_read_file(const char *path, char *buf,
                        size_t cap); /* NUL-terminated; 0 if unreadable */
int vt__os_resident_bytes(void *at, size_t n_bytes, size_t *out); /* mincore; slow */

/* Files. A descriptor or -errno; descriptors are closed on exec. draft.h makes files. */
void vt__os_folder(char *buf, size_t n_bytes); /* the current one; empty if it cannot be named */
/* Where a symbolic link leads, NUL-terminated; its length, or -errno. */
long vt__os_read_link(const char *path, char *buf, size_t n_bytes);
int vt__os_open_read(const char *path);
void vt__os_each_name(int folder, void (*visit)(const char *name, void *arg),
                      void *arg); /* of what is in it, from where the descriptor stands */
long vt__os_read(int fd, void *buf, size_t n_bytes); /* bytes, 0 at the end, or -errno */
long vt__os_read_at(int fd, void *buf, size_t n_bytes, uint64_t offset);
int vt__os_seek_start(int fd);
void vt__os_close(int fd);
int vt__os_close_written(
    int fd); /* closed in any case; a network file system may tell only now that it is full */
int vt__os_unlink(int folder, const char *name);
/* Like vt__os_write, but waits only so long for the reader of a pipe, a terminal or a socket: -ETIMEDOUT. It waits for a descriptor
 * that does not block, too. */
int vt__os_write_all(int fd, const char *data, size_t n_bytes);
/* A pipe or a terminal once more, to be closed: writing there does not block, and the program's own descriptor stays as it is.
 * -errno: there is none, vt__os_write_all has to do with what is there. */
int vt__os_open_patient(int fd);
/* "no space left on device"; NULL: one we have no words for. `err` is negative. */
const char *vt__os_error_words(int err);
/* Did we refuse what others could have planted, or give up on a reader? Other libraries have no words for it. */
bool vt__os_is_refusal(int err);

/* A write to a pipe without a reader or past the file size limit also sends a signal, which would end the program. It is
 * held back between the two calls; `err` says whether one of ours is waiting, to be dropped. */
struct vt_held_signals {
    uint64_t mask, pending;
};
void vt__os_hold_write_signals(struct vt_held_signals *held);
void vt__os_release_write_signals(const struct vt_held_signals *held, int err);

/* Talk. One line, one write; `vt__os_write` retries short writes. */
int vt__os_write(int fd, const char *data, size_t n_bytes); /* 0 or -errno */
VT_NORETURN void vt__os_abort(void);
VT_NORETURN void vt__os_exit(int status); /* at once: no handlers run */

/* Memory for our own tables: zeroed, never given back. NULL when the system has none. */
void *vt__arena_take(size_t n_bytes, size_t align);
size_t vt__arena_bytes(void); /* handed out so far */
void vt__arena_fork_prepare(void);
void vt__arena_fork_done(bool is_child);

VT_HIDDEN_END

#endif
