/* grow.c - one block is doubled to 64 MiB and back, beside neighbours that stop it from growing in
 * place; then a large calloc is looked through.
 *
 *     grow [lenient]       lenient: a refusal is a legal answer when it says ENOMEM
 *
 * For rows 21 and 22: this is the way to the calls that move pages.
 */
#include "risk.h"

static int lenient;

static int is_refused(const void *p) {
    if (p) return 0;
    CHECK_EQ(errno, ENOMEM);
    if (!lenient) CHECK_NOT_NULL(p);
    return 1;
}

static unsigned char *resize(unsigned char *p, size_t n) {
    errno = 0;
    unsigned char *q = realloc(p, n);
    if (is_refused(q)) return p; /* the old block is still ours */
    q[n - 1] = 1;
    return q;
}

int main(int argc, char **argv) {
    unsigned char *wall[40], *p = malloc(100);
    int n = 0;
    lenient = argc > 1 && strcmp(argv[1], "lenient") == 0;
    if (is_refused(p)) return CHECK_DONE();
    fill(p, 90, 3);
    for (size_t size = 100; size < MiB(64); size *= 2) {
        errno = 0;
        wall[n] = malloc(size);
        if (!is_refused(wall[n])) n++;
        p = resize(p, size * 2);
        CHECK_EQ(intact(p, 90, 3), 90);
    }
    for (size_t size = MiB(64); size > 100; size /= 2) p = resize(p, size);
    CHECK_EQ(intact(p, 90, 3), 90);
    while (n > 0) free(wall[--n]);
    errno = 0;
    unsigned char *zero = calloc(1, MiB(32));
    if (!is_refused(zero)) CHECK_EQ(first_nonzero(zero, MiB(32)), MiB(32));
    free(zero);
    free(p);
    return CHECK_DONE();
}
