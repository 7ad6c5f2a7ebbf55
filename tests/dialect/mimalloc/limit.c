/* limit.c - disallow_os_alloc: memory comes from what was reserved, and then there is none. The same from 2.0, where the option is limit_os_alloc
 * and the first 2 MiB are not there.
 *
 * usage: limit [first]     first: it reserves before it allocates anything */
#include <errno.h>
#include <mimalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

static void *keep[3000];

static void expect(bool is_so, const char *what) {
    if (is_so) return;
    fprintf(stderr, "not so: %s\n", what);
    exit(1);
}

/* How many blocks of 1 MiB there are. */
static size_t take_all(void) {
    size_t n = 0;
    errno = 0;
    while (n < 3000 && (keep[n] = mi_malloc(MIB)) != NULL) *(char *)keep[n++] = 1;
    return n;
}

static void reserve_first(void) {
    expect(mi_reserve_os_memory(64 * MIB, true, false) == 0, "64 MiB are reserved at first");
    size_t n = take_all();
    expect(n > 56 && n <= 66, "so much there is from the start");
    exit(0);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "first") == 0) reserve_first();
    expect(take_all() <= 2, "nothing was reserved, so there is nothing");
    expect(errno == ENOMEM, "a refusal is ENOMEM");
    expect(mi_reserve_os_memory(64 * MIB, true, false) == 0, "64 MiB are reserved");
    size_t n = take_all();
    expect(n > 56 && n <= 66, "so much there is then");
    for (size_t i = 0; i < n; i++) mi_free(keep[i]);
    expect(take_all() > 56, "and again");
#if MI_MALLOC_VERSION > 20000
    mi_option_disable(mi_option_disallow_os_alloc);
    expect(take_all() == 3000, "without the option there is more");
#endif
    return 0;
}
