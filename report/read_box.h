/* read_box.h - profiles of what a process that is gone had recorded: its box (vitrine-box.h), in a black box or a core file.
 *
 * Climate: cli.
 */
#ifndef REPORT_READ_BOX_H
#define REPORT_READ_BOX_H

#include "report/image.h"
#include "report/profile.h"

enum box_kind { BOX_HEAP, BOX_PEAK, BOX_CPU, BOX_N_KINDS };

/* Is there anything of this kind? Exact mode has no peak. */
bool box_has(const struct vt_box *b, enum box_kind kind);
/* Its notes tell what was lost or damaged; without samples if nothing can be read. NULL: its tables have more than the image's
 * max_bytes; the line says so. */
struct profile *box_profile(const struct image *m, const struct vt_box *b, enum box_kind kind,
                            struct report_error *e);

#endif
