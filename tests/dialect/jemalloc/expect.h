/* expect.h - EXPECT for programs that run with any libjemalloc: what is not so is printed, and is the end. */
#ifndef VT_TESTS_DIALECT_JEMALLOC_EXPECT_H
#define VT_TESTS_DIALECT_JEMALLOC_EXPECT_H

#include <stdio.h>
#include <stdlib.h>

#define EXPECT(x)                                                                                  \
    do                                                                                             \
        if (!(x)) {                                                                                \
            printf("%s:%d: expected %s\n", __FILE__, __LINE__, #x);                                \
            exit(1);                                                                               \
        }                                                                                          \
    while (0)

#endif
