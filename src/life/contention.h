/* contention.h - contention profiles: when they are begun and ended. Climate: host. */
#ifndef VT_LIFE_CONTENTION_H
#define VT_LIFE_CONTENTION_H

#include "life/profile_file.h"

VT_HIDDEN_BEGIN

/* As the functions of vitrine.h. is_unprepared: inside malloc or a handler, so libc is not asked. */
int vt__life_contention_start(const char *file, bool is_unprepared);
int vt__life_contention_dump(const char *path);
int vt__life_contention_stop(void);
bool vt__life_contention_is_on(void);
void vt__life_contention_file(
    char name[VT_PROFILE_NAME_BYTES]); /* the profile's own, or the last one's */

VT_HIDDEN_END

#endif
