/* error.c - see error.h. Climate: cli. */
#include "report/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "report/text.h"

int report_fail(struct report_error *e, int code, const char *format, ...) {
    char line[sizeof e->line];
    e->code = code;
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    text_shown_to(line, e->line, sizeof e->line); /* the text may quote a damaged file */
    return -code;
}
