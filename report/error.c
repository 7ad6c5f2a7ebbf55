/* error.c - see error.h. Climate: cli. */
#include "report/error.h"

#include <stdarg.h>
#include <stdio.h>

int report_fail(struct report_error *e, int code, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(e->line, sizeof e->line, format, ap);
    va_end(ap);
    /* one line, and nothing that a terminal would obey: the text may quote a damaged file */
    for (char *c = e->line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    return -code;
}
