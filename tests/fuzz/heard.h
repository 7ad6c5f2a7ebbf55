/* heard.h - what the fuzzed readers say comes here instead of stderr, and is looked at: one call is one printable line. */
#ifndef VT_TEST_HEARD_H
#define VT_TEST_HEARD_H

struct heard {
    unsigned n_lines;
    char last[1024];
};
extern struct heard said;

#endif
