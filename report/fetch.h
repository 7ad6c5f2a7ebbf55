/* fetch.h - one request over HTTP, by libcurl. Climate: cli. */
#ifndef REPORT_FETCH_H
#define REPORT_FETCH_H

#include "report/intake.h"

/* Of https: files in PEM, or NULL. */
struct fetch_tls {
    const char *certificate, *key; /* ours, where the server asks who we are */
    const char *authority;         /* who may vouch for the server; NULL: those of the system */
};

struct fetch {
    const char *url;
    const char *post;   /* the body of a POST; NULL: GET */
    uint64_t within_ms; /* the whole may take so long, with redirections; connecting 10 s at most */
    struct fetch_tls tls;
};

/* 0 with the answer in *out, which the caller has begun, or a negative errno with a line that names the URL: -EFBIG when the
 * answer has no end. Redirections are followed. An answer above 399 is an error, its first line is told. */
int fetch(const struct fetch *f, struct intake *out, struct report_error *e);

#endif
