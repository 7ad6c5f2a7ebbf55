/* api.c - heap profiles by call: start, dump, stop, to a descriptor, rate, exact, visit, labels. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "vitrine.h"

static bool is_there(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && st.st_size > 0;
}

static int written(enum vt_heap_format format) {
    int fd = open("out/fd", O_CREAT | O_WRONLY | O_TRUNC, 0644);
    int err = vt_heap_profile_fd(fd, format);
    close(fd);
    return err;
}

static bool begins_with(const char *path, const char *words, size_t n) {
    char seen[128] = "";
    int fd = open(path, O_RDONLY);
    bool is_so = read(fd, seen, n) == (ssize_t)n && memcmp(seen, words, n) == 0;
    close(fd);
    return is_so;
}

static bool first_line_has(const char *path, const char *words) {
    char seen[256] = "";
    int fd = open(path, O_RDONLY);
    CHECK_TRUE(read(fd, seen, sizeof(seen) - 1) > 0);
    close(fd);
    seen[strcspn(seen, "\n")] = '\0';
    return strstr(seen, words) != NULL;
}

static int count_visits(const struct vt_heap_object *o, void *arg) {
    (void)o;
    ++*(int *)arg;
    return 0;
}

static int find_block(const struct vt_heap_object *o, void *wanted) {
    if (o->at != wanted) return 0;
    CHECK_EQ(o->size, sizeof(*o));
    CHECK_EQ(o->requested_bytes, 300000);
    CHECK_GE(o->block_bytes, 300000);
    CHECK_GE(o->n_pcs, 2);
    return o->stands_for >= 1 ? 1 : 2;
}

int main(void) {
    /* before vt_heap_start there is no name to write to */
    CHECK_EQ(vt_heap_dump("no prefix yet"), -ENOENT);
    CHECK_EQ(vt_heap_start("out/api"), 0);
    CHECK_EQ(vt_heap_dump("because"), 0);
    CHECK_EQ(vt_heap_dump(NULL), 0);
    CHECK_TRUE(is_there("out/api.0001.heap"));
    CHECK_TRUE(is_there("out/api.0002.heap"));
    CHECK_EQ(vt_heap_dump("out/by-name.pb"), 0);
    CHECK_TRUE(is_there("out/by-name.pb"));
    CHECK_EQ(vt_heap_dump("out/missing/x.pb"), -ENOENT);

    /* a rate of one byte: everything is seen */
    vt_heap_set_rate(1);
    CHECK_EQ(vt_label_push("request", "upload"), 0);
    void *p = malloc(300000);
    vt_label_pop();
    CHECK_EQ(vt_heap_visit(find_block, p), 1);
    free(p);
    CHECK_EQ(vt_heap_visit(find_block, p), 0);

    /* off: what is remembered stays, nothing is added */
    void *q = malloc(300000);
    vt_heap_set_rate(0);
    int n_before = 0, n_after = 0;
    vt_heap_visit(count_visits, &n_before);
    for (int i = 0; i < 1000; i++) *(volatile char *)malloc(5000) = 1;
    vt_heap_visit(count_visits, &n_after);
    CHECK_EQ(n_after, n_before);
    free(q);

    CHECK_EQ(vt_heap_set_exact(1), 0);
    for (int i = 0; i < 10; i++) *(volatile char *)malloc(100) = 1;
    CHECK_EQ(vt_heap_dump("out/exact.pb"), 0);
    CHECK_EQ(written(VT_GPERFTOOLS_HEAP), 0);
    CHECK_TRUE(first_line_has("out/fd", ":     10:     1000 [    10:     1000] @ heapprofile"));
    CHECK_EQ(vt_heap_set_exact(0), 0);

    /* each format to a descriptor; sampled again, at the rate that is in force */
    vt_heap_set_rate(4321);
    CHECK_EQ(written(VT_GPERFTOOLS_HEAP), 0);
    CHECK_TRUE(begins_with("out/fd", "heap profile: ", 14));
    CHECK_TRUE(first_line_has("out/fd", "@ heap_v2/4321"));
    CHECK_EQ(written(VT_JEMALLOC_HEAP), 0);
    CHECK_TRUE(begins_with("out/fd", "heap_v2/4321\n  t*: ", 19));
    CHECK_EQ(written(VT_PROFILE_PROTO), 0);
    CHECK_TRUE(begins_with("out/fd",
                           "\x32\0\x32\x0d"
                           "alloc_objects",
                           17));
    vt_heap_set_rate(1);
    void *volatile kept = malloc(300000);
    CHECK_EQ(written(VT_COLLAPSED), 0);
    CHECK_TRUE(first_line_has("out/fd", "+0x"));
    CHECK_TRUE(vt_heap_profile_fd(-1, VT_COLLAPSED) < 0);

    free(kept);
    vt_heap_stop();
    CHECK_EQ(vt_heap_dump(NULL), -ENOENT);
    return CHECK_DONE();
}
