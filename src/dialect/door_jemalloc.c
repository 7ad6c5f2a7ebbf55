/* door_jemalloc.c - the door of libjemalloc. */
#include "dialect/jemalloc.h"
#include "life/upcalls.h"

const struct vt_door vt__door = {.is_asked = vt__jemalloc_find_sources,
                                 .read_environment = vt__jemalloc_read_environment,
                                 .begin = vt__jemalloc_begin,
                                 .end = vt__jemalloc_end,
                                 .realloc_0 = vt__jemalloc_realloc_0,
                                 .new_fails = vt__je_new_fails};
