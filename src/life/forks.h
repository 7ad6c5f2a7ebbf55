/* forks.h - what a profiler wants to do at a fork. Climate: malloc. */
#ifndef VT_LIFE_FORKS_H
#define VT_LIFE_FORKS_H

#include "base/base.h"

VT_HIDDEN_BEGIN

struct vt_fork_hook {
    void (*prepare)(void), (*parent)(void);
    void (*child)(void); /* also if prepare was not called: the hook may be younger than the fork */
};
enum vt_fork_slot { VT_FORK_WAITS, VT_FORK_CPU, VT_FORK_SLOTS }; /* as their locks are ranked */
/* From now on, for good; the caller keeps the struct. Prepared in the order of slots, before the heap. */
void vt__life_at_fork(enum vt_fork_slot slot, const struct vt_fork_hook *hook);
bool vt__life_is_forking(void); /* this thread: it may hold the hooks' locks */

/* For who is told by libc. */
void vt__forks_prepare(void);
void vt__forks_parent(void);
void vt__forks_child(void);

VT_HIDDEN_END

#endif
