/* door_gperftools_minimal.c - the door of libtcmalloc_minimal and libtcmalloc_minimal_debug: no heap profiler, no samples. */
#include "dialect/gperftools.h"
#include "life/upcalls.h"

void vt__gperftools_heap_begin(void) {}

const struct vt_door vt__door = {.is_asked = vt__gperftools_is_asked,
                                 .read_environment = vt__gperftools_read_environment,
                                 .begin = vt__gperftools_begin,
                                 .end = vt__gperftools_end,
                                 .write_stats = vt__gperftools_write_stats};
