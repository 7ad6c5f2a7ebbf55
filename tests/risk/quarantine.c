/* quarantine.c - the secure library keeps a freed block aside for a while, cleared, and notices when it is written to
 * meanwhile. Run with the secure library preloaded; `write` makes the mistake and must end in an abort. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

int main(int argc, char **argv) {
    char *volatile p = malloc(200);
    CHECK_NOT_NULL(p);
    memset(p, 0x55, 200);
    free(p);
    for (int i = 8; i < 200; i++) CHECK_EQ(p[i], 0); /* cleared, and not yet given to anybody */
    char *volatile q = malloc(200);
    CHECK_TRUE(p != q); /* not handed out again at once */
    free(q);
    if (argc > 1 && strcmp(argv[1], "write") == 0) p[100] = 1;
    for (int i = 0; i < 4000; i++) free(malloc(200)); /* more than the quarantine holds */
    return CHECK_DONE();
}
