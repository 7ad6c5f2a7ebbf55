/* label_filter.h - which samples, by their labels; written as Go's pprof takes it.
 *
 *   4kb          a number that is 4096 bytes          key=...       only labels of that key
 *   4kb:         at least                             user=^ann$    a text that matches
 *   :4kb         at most                              ann,bob       without a key: each regexp matches some "key:text";
 *   1kb:4kb      between, both included                             with one: any of them matches
 *
 * Climate: cli.
 */
#ifndef REPORT_LABEL_FILTER_H
#define REPORT_LABEL_FILTER_H

#include "report/error.h"
#include "report/profile.h"

struct label_filter;

/* NULL: the line says what is wrong; `option` is what the user wrote it after. */
struct label_filter *label_filter_new(const char *text, const char *option, struct report_error *e);
void label_filter_free(struct label_filter *f);
bool label_filter_matches(const struct label_filter *f, const struct profile *p, uint32_t sample);
/* By string: keys of labels that `show` matches and `hide` does not, each a regexp or NULL. Malloc'ed; NULL: see the line. */
bool *label_keys_wanted(const struct profile *p, const char *show, const char *hide,
                        struct report_error *e);

#endif
