/* regex.c - see regex.h. Climate: cli. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "report/regex.h"

#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "report/memory.h"

#define MAX_STEPS 1000000 /* a pattern that needs more for one name will not end today */

struct regex {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    bool *gave_up; /* apart, since a match changes nothing else */
};

struct regex *regex_new(const char *pattern, const char *option, struct report_error *e) {
    int error;
    PCRE2_SIZE at;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, 0, &error, &at, NULL);
    if (code == NULL) {
        unsigned char why[120] = "";
        (void)pcre2_get_error_message(error, why, sizeof why);
        (void)report_fail(e, EINVAL, "%s: bad regexp '%.80s%s' at character %zu: %s", option,
                          pattern, strlen(pattern) > 80 ? "..." : "", (size_t)at + 1, why);
        return NULL;
    }
    struct regex *r = report_alloc(sizeof *r);
    r->gave_up = report_alloc(sizeof *r->gave_up);
    r->code = code;
    (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* slower without, not wrong */
    r->data = pcre2_match_data_create_from_pattern(code, NULL);
    r->context = pcre2_match_context_create(NULL);
    if (r->data == NULL || r->context == NULL) report_no_memory();
    (void)pcre2_set_match_limit(r->context, MAX_STEPS);
    return r;
}

void regex_free(struct regex *r) {
    if (r == NULL) return;
    pcre2_match_data_free(r->data);
    pcre2_match_context_free(r->context);
    pcre2_code_free(r->code);
    free(r->gave_up);
    free(r);
}

bool regex_matches(const struct regex *r, const char *text) {
    int n = pcre2_match(r->code, (PCRE2_SPTR)text, strlen(text), 0, 0, r->data, r->context);
    if (n < 0 && n != PCRE2_ERROR_NOMATCH) *r->gave_up = true;
    return n >= 0;
}

int regex_ended(const struct regex *r, const char *option, struct report_error *e) {
    if (r == NULL || !*r->gave_up) return 0;
    return report_fail(
        e, EINVAL, "%s: the regexp takes too long: repetitions inside repetitions, as in '(a+)+'?",
        option);
}
