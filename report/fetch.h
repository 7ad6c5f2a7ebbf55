/* fetch.h - one request over HTTP, by libcurl. Climate: cli. */
#ifndef REPORT_FETCH_H
#define REPORT_FETCH_H

#include "report/buffer.h"

struct fetch {
    const char *url;
    const char *post;   /* the body of a POST; NULL: GET */
    unsigned n_seconds; /* the whole may take so long; connecting 10 at most */
};

/* 0 with the answer behind what *out holds; or a negative errno with a line that names the URL. Redirections are
 * followed. An answer above 399 is an error, its first line is told. */
int fetch(const struct fetch *f, struct buffer *out, struct report_error *e);

#endif
