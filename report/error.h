/* error.h - why something could not be done: one line for the user, without the program's name.
 *
 *   'app.heap': line 17: expected a number of bytes, found 'x'
 *
 * Functions that can fail take a struct report_error last and give 0 or a negative errno; the line is
 * set exactly when the result is not 0.   Climate: cli.
 */
#ifndef REPORT_ERROR_H
#define REPORT_ERROR_H

struct report_error {
    int code; /* as errno has them */
    char line[512];
};

/* Fills both and gives -code. What a terminal would obey is spelled, see text.h. */
__attribute__((format(printf, 3, 4))) int report_fail(struct report_error *e, int code,
                                                      const char *format, ...);

#endif
