/* remote.h - a process that serves its own profiles: host:port/pprof/heap, and names from /pprof/symbol beside it.
 *
 *   [http://]host[:port][prefix]/pprof/heap     what /pprof/profile, growth, contention, ... answer
 *   [http://]host[:port]                        the same as /pprof/profile
 *   http://host/any/page                        what that page answers; no names from there
 *
 * Climate: cli.
 */
#ifndef REPORT_REMOTE_H
#define REPORT_REMOTE_H

#include "report/fetch.h"
#include "report/profile.h"

#define REMOTE_URL 2048 /* longest URL */

struct remote {
    char url[REMOTE_URL];  /* of the profile, with ?seconds= where it takes time */
    char base[REMOTE_URL]; /* up to and without /pprof/...; "" when there are no pages beside it */
    char host[256];        /* with the port */
    char service[256];     /* "/pprof/heap" */
    unsigned n_seconds;    /* the profile takes so long; 0: no time */
    /* for the caller to set, after remote_parse() */
    /* when all answers must be there, by remote_now_ms(); 0: a minute for each, and a profile its own time besides */
    uint64_t deadline_ms;
    uint64_t max_bytes; /* of the profile and of its names: intake.h */
    struct fetch_tls tls;
};

/* Does this look like one? A caller asks first whether there is a file of that name. */
bool remote_is_url(const char *name);
/* `n_seconds`: how long a CPU profile shall take. -EINVAL with the line set: too long, no host. */
int remote_parse(const char *name, unsigned n_seconds, struct remote *r, struct report_error *e);
/* The server's program, from /pprof/cmdline; "" when it does not say. -ETIMEDOUT with the line set: it says nothing at
 * all, so there is no use in asking more. */
int remote_program(const struct remote *r, char *out, size_t n_bytes, struct report_error *e);
/* The profile, into an intake that the caller has begun. */
int remote_fetch(const struct remote *r, struct intake *out, struct report_error *e);
uint64_t remote_now_ms(void);
/* Names of the locations that have none. `query` ("?retain=x" or "") goes to the server as it is. A server that has no
 * names is no error, and a note. */
int remote_symbolize(const struct remote *r, const char *query, struct profile *p,
                     struct report_error *e);

#endif
