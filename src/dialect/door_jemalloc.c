/* door_jemalloc.c - the door of libjemalloc. */
#include "dialect/jemalloc.h"
#include "heap/upcalls.h"
#include "life/life.h"
#include "life/upcalls.h"

const struct vt_door vt__door = {.read_environment = vt__jemalloc_read_environment,
                                 .begin = vt__jemalloc_begin,
                                 .end = vt__jemalloc_end,
                                 .realloc_0 = vt__jemalloc_realloc_0};

/* background_thread: not from inside the first malloc. */
__attribute__((constructor)) static void start_thread_if_asked(void) {
    if (vt__jemalloc_find_sources() && vt__life_start() == 0) vt__life_helper_begin();
}
