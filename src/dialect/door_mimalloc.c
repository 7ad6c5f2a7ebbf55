/* door_mimalloc.c - the door of libmimalloc. */
#include "dialect/mimalloc_impl.h"
#include "life/upcalls.h"

const struct vt_door vt__door = {.read_environment = vt__mimalloc_read_environment,
                                 .begin = vt__mi_begin_process,
                                 .no_memory = vt__mi_no_memory,
                                 .ignored_below = MiB(64)};
