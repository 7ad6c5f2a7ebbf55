/* late.h - libraries that are loaded when they are first needed, because few commands need them: libcurl with all it
 * brings is seven times the start of a command.   Climate: cli.
 */
#ifndef REPORT_LATE_H
#define REPORT_LATE_H

#include <stdbool.h>

struct late_function {
    const char *name;
    void *to; /* a pointer to the pointer that shall be set */
};

/* False: no such library here, or one without one of the functions; the list ends in a row without a name. */
bool late_load(const char *library, const struct late_function *functions);

#endif
