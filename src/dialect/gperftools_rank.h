/* gperftools_rank.h - what a process of a parallel job adds to the name of its profile. Climate: host, no malloc. */
#ifndef VT_DIALECT_GPERFTOOLS_RANK_H
#define VT_DIALECT_GPERFTOOLS_RANK_H

#include "base/text.h"

VT_HIDDEN_BEGIN

/* Puts .rank-N or .slurmid-N, or nothing. True: the process's id belongs into the name, as nothing else tells it from others. */
bool vt__gperftools_put_rank(struct vt_text *t);

VT_HIDDEN_END

#endif
