/* life.h - start, thread birth and death, fork, exit: what life's files share. Climate: host, but for what malloc calls. */
#ifndef VT_LIFE_LIFE_H
#define VT_LIFE_LIFE_H

#include "base/base.h"

VT_HIDDEN_BEGIN

bool vt__life_watch_threads(
    void); /* once, before the heap is used: the end of a thread is told to us */
void vt__life_watch_forks(void);   /* once, when the heap works */
void vt__life_watch_exit(void);    /* once, when the heap works */
void vt__life_purger_forget(void); /* in the child of a fork */

VT_HIDDEN_END

#endif
