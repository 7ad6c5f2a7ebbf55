/* cpu.h - CPU profiles: when they are begun and ended, and under which names they are written. Climate: host. */
#ifndef VT_LIFE_CPU_H
#define VT_LIFE_CPU_H

#include "life/profile_file.h"
#include "vitrine.h"

VT_HIDDEN_BEGIN

struct vt_cpu_wish {
    const char *path;
    bool is_gperftools; /* its format, unless the option cpu_format is set, and its closing line */
    uint64_t since_ns;  /* wall clock of its start, as the file tells it; 0: now */
    bool
        is_unprepared; /* inside malloc or a handler: libc's locks may be held, so libc is not asked */
    int (*filter)(void *);
    void *filter_arg;
};

/* 0 or -errno: -EBUSY when a profile is being made, -EPERM in a set-uid program, or why the file cannot be written. */
int vt__life_cpu_start(const struct vt_cpu_wish *wish);
int vt__life_cpu_stop(void); /* writes the file; -ENOENT when none is being made */
/* Writes what there is so far to `path`, NULL: to its own file, and goes on. */
int vt__life_cpu_dump(const char *path);
void vt__life_cpu_file(char name[VT_PROFILE_NAME_BYTES]); /* the profile's own, or the last one's */

struct vt_cpu_state_now {
    bool is_on;
    uint64_t since_ns, n_periods;
    char path[VT_PROFILE_PATH_BYTES]; /* as it was given */
};
void vt__life_cpu_state(struct vt_cpu_state_now *out);

/* Once, from a constructor: what the options ask for. wants_pid: the process's id in the name in any case. `behind`
 * belongs to the name, too, but not to what the environment has. */
void vt__life_cpu_begin(bool is_gperftools, bool wants_pid, const char *behind);

/* For the stub of pthread_create: what the new thread is to be started with. */
struct vt_birth;
typedef void *vt_thread_main(void *arg);
struct vt_birth *vt__life_birth(vt_thread_main *start, void *arg); /* NULL: start it as it is */
void vt__life_watch_births(void);                                  /* before any; also again */
vt_thread_main vt__life_born;                                      /* with it as its argument */
/* The calling thread to the profiler while it is on, and its end in any case. start: its first function, or 0. */
void vt__life_make_known(uintptr_t start);
void vt__life_stillborn(struct vt_birth *b); /* there was no thread after all */

VT_HIDDEN_END

#endif
