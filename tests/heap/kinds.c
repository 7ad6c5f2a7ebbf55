/* kinds.c - memory with a history: every kind of profile tells another part of it. `kinds FOLDER` writes one of each there.
 *
 *   rise     20 MB in use at the peak, all freed later
 *   linger   4 MB, freed after 100 ms
 *   flash    8 MB, freed at once
 *   stay     2 MB, in use at the end
 *
 * Prints how many of the 800 blocks of flash the machine kept alive for 25 ms or more, by not running us.
 */
#include "check.h"

#include <fcntl.h>
#include <time.h>

#include "vitrine.h"

#define NOT_INLINED __attribute__((noinline, noclone))

NOT_INLINED static void *rise(void) {
    void *volatile p = malloc(10000);
    return p;
}
NOT_INLINED static void *linger(void) {
    void *volatile p = malloc(10000);
    return p;
}
NOT_INLINED static void flash(void) {
    void *volatile p = malloc(10000);
    free(p);
}
NOT_INLINED static void *stay(void) {
    void *volatile p = malloc(10000);
    return p;
}

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void write_one(const char *folder, const char *name, enum vt_heap_format format,
                      enum vt_heap_kind kind) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    CHECK_GE(fd, 0);
    CHECK_EQ(vt_heap_profile_kind_fd(fd, format, kind), 0);
    CHECK_EQ(vt_heap_profile_kind_fd(fd, format, (enum vt_heap_kind)99), -EINVAL);
    close(fd);
}

int main(int argc, char **argv) {
    static void *kept[2000];
    int n_late = 0;
    if (argc != 2) return 2;
    for (int i = 0; i < 2000; i++) kept[i] = rise();
    for (int i = 0; i < 2000; i++) free(kept[i]);
    for (int i = 0; i < 400; i++) kept[i] = linger();
    usleep(100000);
    for (int i = 0; i < 400; i++) free(kept[i]);
    for (int i = 0; i < 800; i++) {
        int64_t before = now_ms();
        flash();
        n_late += now_ms() - before >= 25;
    }
    for (int i = 0; i < 200; i++) kept[i] = stay();
    write_one(argv[1], "sampled", VT_COLLAPSED, VT_HEAP_SAMPLED);
    write_one(argv[1], "peak", VT_COLLAPSED, VT_HEAP_PEAK);
    write_one(argv[1], "growth", VT_COLLAPSED, VT_HEAP_GROWTH);
    write_one(argv[1], "mmap", VT_COLLAPSED, VT_HEAP_MMAP);
    write_one(argv[1], "lifetimes", VT_COLLAPSED, VT_HEAP_LIFETIMES);
    write_one(argv[1], "lifetimes.pb", VT_PROFILE_PROTO, VT_HEAP_LIFETIMES);
    write_one(argv[1], "sampled.pb", VT_PROFILE_PROTO, VT_HEAP_SAMPLED);
    dprintf(1, "%d\n", n_late);
    return CHECK_DONE();
}
