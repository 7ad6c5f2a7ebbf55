/* expect.h - what the fuzzers' programs say before they end. */
#ifndef VT_TESTS_FUZZ_EXPECT_H
#define VT_TESTS_FUZZ_EXPECT_H

#include <stdio.h>
#include <stdlib.h>

#define EXPECT(x)                                                                                  \
    do                                                                                             \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #x);                       \
            abort();                                                                               \
        }                                                                                          \
    while (0)

#endif
