/* regex.h - PCRE2 with a message for the user. Climate: cli. */
#ifndef REPORT_REGEX_H
#define REPORT_REGEX_H

#include <stdbool.h>

#include "report/error.h"

struct regex;

/* NULL: the line says what is wrong and where; `option` is what the user wrote it after. */
struct regex *regex_new(const char *pattern, const char *option, struct report_error *e);
void regex_free(struct regex *r);
bool regex_matches(const struct regex *r, const char *text); /* anywhere in it */
/* 0, or -EINVAL when a match was given up, so that "no" was not known. r may be NULL. */
int regex_ended(const struct regex *r, const char *option, struct report_error *e);

#endif
