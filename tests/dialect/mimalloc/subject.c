/* subject.c - a program that knows nothing of mimalloc: takes and gives memory, and asks for what cannot be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    static void *at[1000];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 1000; i++)
            at[i] = memset(malloc((size_t)i * 10 + 1), 1, (size_t)i * 10 + 1);
        for (int i = 0; i < 1000; i++) free(at[i]);
    }
    if (argc > 1) {
        volatile size_t n = strtoull(argv[1], NULL, 0);
        void *p = malloc(n);
        printf("%s\n", p == NULL ? "refused" : "given");
        free(p);
    }
    return 0;
}
