/* door_jemalloc.c - the door of libjemalloc. */
#include "dialect/jemalloc.h"
#include "life/upcalls.h"

const struct vt_door vt__door = {vt__jemalloc_read_environment, vt__jemalloc_begin,
                                 vt__jemalloc_end, NULL, vt__jemalloc_realloc_0};
