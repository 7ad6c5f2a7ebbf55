/* hostile.c - a program that is profiled where another user has planted things: it allocates, computes and waits a little. */
#include <stdlib.h>

int main(void) {
    volatile double sum = 0;
    for (int i = 0; i < 20000; i++) {
        char *p = malloc(1000);
        if (p == NULL) return 1;
        p[0] = (char)i;
        sum += p[0];
        if (i % 2) free(p);
    }
    return 0;
}
