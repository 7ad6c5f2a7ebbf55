/* door_gperftools_minimal.c - the door of libtcmalloc_minimal and libtcmalloc_minimal_debug: no heap profiler, no samples. */
#include "dialect/gperftools.h"
#include "life/upcalls.h"

void vt__gperftools_heap_begin(void) {}

const struct vt_door vt__door = {vt__gperftools_read_environment, vt__gperftools_begin,
                                 vt__gperftools_end, vt__gperftools_write_stats, NULL};
