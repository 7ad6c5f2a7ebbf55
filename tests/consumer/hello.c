/* hello.c - a program that was written for the library: it asks for version and statistics. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vitrine.h>

int main(void) {
    struct vt_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    if (strcmp(vt_version(), VITRINE_VERSION) != 0) {
        printf("expected version %s, seen %s\n", VITRINE_VERSION, vt_version());
        return 1;
    }
    if (vt_stats_get(&before) != 0) return 2;
    char *volatile p = malloc(1 << 20); /* volatile: or the compiler leaves it out */
    if (!p) return 3;
    memset(p, 1, 1 << 20);
    if (vt_stats_get(&after) != 0) return 4;
    if (after.allocated <
        before.allocated + (1 << 20)) { /* somebody else's malloc gave the block */
        printf("expected %llu bytes or more in use, seen %llu\n",
               (unsigned long long)before.allocated + (1 << 20),
               (unsigned long long)after.allocated);
        return 5;
    }
    free(p);
    vt_release_free_memory();
    printf("hello from vitrine %s\n", vt_version());
    return 0;
}
