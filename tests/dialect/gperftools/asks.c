/* asks.c - asks [PROPERTY...]: prints properties; each is 0 if it is not known; if FREED is set, after 64 MiB were used and freed. Then
 * 100 x 1000 bytes that stay and 100 that do not, and exec of itself if EXEC is
 * set. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int MallocExtension_GetNumericProperty(const char *name, size_t *value) __attribute__((weak));

static void *volatile kept;

static void use_and_free(void) { /* 64 MiB, all of it touched */
    kept = malloc((size_t)1 << 26);
    memset(kept, 1, (size_t)1 << 26);
    free(kept);
}

int main(int argc, char **argv) {
    if (getenv("FREED") != NULL) use_and_free();
    for (int i = 1; i < argc; i++) {
        size_t n = 0;
        if (MallocExtension_GetNumericProperty != NULL)
            MallocExtension_GetNumericProperty(argv[i], &n);
        printf("%s=%zu\n", argv[i], n);
    }
    fflush(stdout);
    for (int i = 0; i < 100; i++) kept = malloc(1000);
    for (int i = 0; i < 100; i++) free(kept = malloc(1000));
    if (getenv("BIG") != NULL) printf("big %d\n", malloc((size_t)1 << 28) != NULL);
    if (getenv("EXEC") != NULL) {
        unsetenv("EXEC");
        char command[4096];
        snprintf(command, sizeof(command), "'%s'; exit $?", argv[0]);
        return system(command);
    }
    return 0;
}
