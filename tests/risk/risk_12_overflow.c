/* risk_12_overflow.c - one honest mistake, chosen by the argument, that a checking tool must still
 * find. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long raced;
static void *race(void *arg) {
    for (int i = 0; i < 100000; i++) raced++;
    return arg;
}

int main(int argc, char **argv) {
    char *volatile p = malloc(40);
    if (argc < 2 || !p) return 2;
    memset(p, 1, 40);
    if (strcmp(argv[1], "overflow") == 0) p[40 + argc - 2] = 1;
    if (strcmp(argv[1], "after-free") == 0) {
        free(p);
        printf("%d\n", p[1]);
        return 0;
    }
    if (strcmp(argv[1], "leak") == 0) {
        memset(p, 2, 40);
        p = NULL;
        p = malloc(50); /* the only copy of the first pointer is gone */
    }
    if (strcmp(argv[1], "race") == 0) {
        pthread_t a, b;
        pthread_create(&a, NULL, race, NULL);
        pthread_create(&b, NULL, race, NULL);
        pthread_join(a, NULL);
        pthread_join(b, NULL);
    }
    free(p);
    puts("done");
    return 0;
}
