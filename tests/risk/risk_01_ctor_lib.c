/* risk_01_ctor_lib.c - preloaded before or after the library: allocates as it is loaded, frees as
 * it goes. */
#include <stdlib.h>
#include <string.h>

static char *kept[100];

__attribute__((constructor)) static void start(void) {
    for (int i = 0; i < 100; i++) {
        kept[i] = malloc((size_t)i * 37 + 1);
        if (kept[i]) memset(kept[i], i, (size_t)i * 37 + 1);
    }
}

__attribute__((destructor)) static void stop(void) {
    for (int i = 0; i < 100; i++) {
        if (!kept[i] || kept[i][i * 37] != (char)i) abort();
        free(kept[i]);
    }
}
