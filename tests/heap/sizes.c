/* sizes.c - one place that keeps large blocks of many sizes, another where one block grows through many; and what is in use, in
 * each format: `sizes FOLDER` prints how many bytes that is. */
#include "check.h"

#include <fcntl.h>
#include <malloc.h>

#include "vitrine.h"

#define N_KEPT 500
#define MOST_BYTES (64 << 20)
#define PAUSE_US                                                                                   \
    200 /* a thread that samples much faster than a few times in a millisecond samples less */

static void write_one(const char *folder, const char *name, enum vt_heap_format format) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    CHECK_GE(fd, 0);
    CHECK_EQ(vt_heap_profile_fd(fd, format), 0);
    close(fd);
}

int main(int argc, char **argv) {
    static void *kept[N_KEPT];
    size_t n_bytes = 0;
    if (argc != 2) return 2;
    for (size_t i = 0; i < N_KEPT; i++) {
        kept[i] = malloc(70000 + i * 3000);
        n_bytes += malloc_usable_size(kept[i]);
        usleep(PAUSE_US);
    }
    char *volatile growing = NULL;
    for (size_t n = 100000; n <= MOST_BYTES; n += 65536) {
        growing = realloc(growing, n);
        usleep(PAUSE_US);
    }
    n_bytes += malloc_usable_size(growing);
    write_one(argv[1], "gperftools", VT_GPERFTOOLS_HEAP);
    write_one(argv[1], "jemalloc", VT_JEMALLOC_HEAP);
    write_one(argv[1], "collapsed", VT_COLLAPSED);
    printf("%zu\n", n_bytes);
    return CHECK_DONE();
}
