/* risk_24_core.c - holds 64 MiB and waits, or aborts: its core should be about as large as it is.
 *
 *     risk_24_core abort|wait          prints its RSS in KiB first
 */
#include "risk.h"

int main(int argc, char **argv) {
    for (int i = 0; i < 65536; i++) {
        char *p = malloc(1000);
        if (!p) return 3;
        memset(p, i, 1000);
    }
    printf("%ld\n", rss_kib());
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "abort") == 0) abort();
    alarm(120);
    pause();
    return 0;
}
