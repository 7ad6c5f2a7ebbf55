/* risk_09_setuid.c - linked against the library and installed set-uid; allocates more than any
 * limit in the environment would allow, and tells whether the kernel marked it as privileged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

int main(void) {
    size_t total = 0;
    for (int i = 0; i < 2000; i++) {
        size_t n = (size_t)i * 64 + 1;
        char *p = malloc(n);
        if (!p) break;
        memset(p, 1, n);
        total += n;
        if (i % 4 == 0) free(p);
    }
    printf("secure %lu total %zu\n", getauxval(AT_SECURE), total);
    return 0;
}
