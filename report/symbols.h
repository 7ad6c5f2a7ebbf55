/* symbols.h - gives the locations of a profile their functions, files and lines. Climate: cli. */
#ifndef REPORT_SYMBOLS_H
#define REPORT_SYMBOLS_H

#include "report/module.h"
#include "report/profile.h"

struct symbols_options {
    const char *program;      /* where the main program is now; NULL: where the profile says */
    const char *const *moves; /* "old=new" beginnings of paths, ended by NULL; or NULL */
    const char
        *prefixes; /* "/sysroot,/other": tried in front of ever shorter ends of paths; or NULL */
    const char *folders; /* "dir:dir": binaries by name or by build-id; NULL: none */
    const char *extra;   /* a file whose own addresses are those of no mapping; or NULL */
    /* keeps the files open for the next profile, which is often of the same ones; or NULL */
    struct symbols_cache *cache;
};

struct symbols_cache *symbols_cache_new(void);
void symbols_cache_free(struct symbols_cache *c); /* NULL is fine */

/* Each location without lines is looked up once. What cannot be found stays without lines; the notes say
 * which files were missing or were not the ones that ran. */
void symbols_resolve(struct profile *p, const struct symbols_options *o);

/* The file of one mapping as symbols_resolve() finds it, for those who want its code; NULL when it is not there, or is
 * not the one that ran: the notes say so. The caller closes it. */
struct module *symbols_open(struct profile *p, uint32_t mapping, const struct symbols_options *o);

#endif
