/* impl.h - what the files of this room share. Climate: malloc. */
#ifndef VT_PROBE_IMPL_H
#define VT_PROBE_IMPL_H

#include "base/lock.h"
#include "probe/probe.h"

VT_HIDDEN_BEGIN

/* Everything in this room is under one lock. The heap's slow paths take it as it is; whoever else comes takes it as a slow path
 * would, so that a signal handler that mallocs meanwhile does not wait for itself. False: we are in such a handler. */
extern struct vt_lock vt__probe_lock;
bool vt__probe_enter(void);
void vt__probe_leave(void);

/* sample_sites.c */
struct vt_site *vt__site_of(uint32_t stack, uint32_t thread, uint32_t label, size_t block_bytes,
                            uint32_t *id); /* found or new; NULL: no memory */
struct vt_site *vt__site(uint32_t id);
void vt__sites_take_peak(void);

/* sample.c */
void vt__sample_pull_triggers(double alloc_bytes, double live_bytes); /* a dump, if it is time */

/* exact.c: what it has told the triggers so far, of which it tells again after so many bytes more at most. */
void vt__exact_told(double *alloc_bytes, double *live_bytes);
void vt__exact_tell_after(uint64_t n_bytes);

/* labels.c */
uint32_t vt__label_of_thread(void);

VT_HIDDEN_END

#endif
