/* static_waits.c - a static program has no contention profile: the call says so. */
#include <errno.h>
#include <stdio.h>
#include <vitrine.h>

int main(void) {
    int seen = vt_contention_start("/nowhere");
    if (seen != -ENOTSUP) printf("expected %d, seen %d\n", -ENOTSUP, seen);
    return seen != -ENOTSUP;
}
