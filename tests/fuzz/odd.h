/* odd.h - inputs for a fuzzed function, a file of them for each: table.c goes through them. */
#ifndef VT_TEST_ODD_H
#define VT_TEST_ODD_H

#include <stddef.h>

extern const char *const odd[];
extern const size_t n_odd;

#endif
