/* trivial.c - the resident memory of a program that calls malloc once. */
#include "common.h"

int main(void) {
    void *p = touched(malloc(64), 1);
    uint64_t kib = rss_kib();
    say(STDOUT_FILENO, "{\"check\": 1, \"rss_kib\": %" PRIu64 "}\n", kib);
    free(p);
    return 0;
}
