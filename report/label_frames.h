/* label_frames.h - the labels of samples as frames, so that a graph or a table is by user, by size, by request.
 *
 *   main > fill          user=ann, shard=3        roots "user,shard":  ann > 3 > main > fill
 *                                                 leaves "user,shard": main > fill > ann > 3
 *
 * The frame's function is the label's value and its file the key, as Go's pprof has it.
 *
 * Climate: cli.
 */
#ifndef REPORT_LABEL_FRAMES_H
#define REPORT_LABEL_FRAMES_H

#include "report/profile.h"

/* Keys with commas between, or NULL. A sample without such a label gets "(no KEY)" there. To be called once, before any
 * view is made. A note says when no sample has a key. */
void profile_add_label_frames(struct profile *p, const char *roots, const char *leaves);

/* A label's value for people: "ann", "4.00kB", "17 requests"; a text of the profile, or in `out`. */
const char *label_text(const struct profile *p, const struct profile_label *l, char *out,
                       size_t n_bytes);

#endif
