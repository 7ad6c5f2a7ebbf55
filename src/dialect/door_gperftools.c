/* door_gperftools.c - the door of libtcmalloc, libtcmalloc_debug and libtcmalloc_and_profiler. */
#include "dialect/gperftools.h"
#include "life/upcalls.h"

static void read_environment(void) {
    vt__gperftools.has_heap_profiler = vt__gperftools.has_sampler = true;
    vt__gperftools_read_environment();
}

const struct vt_door vt__door = {.is_asked = vt__gperftools_is_asked,
                                 .read_environment = read_environment,
                                 .begin = vt__gperftools_begin,
                                 .end = vt__gperftools_end,
                                 .write_stats = vt__gperftools_write_stats};
