/* mem_idle_giveback.c - frees most of what it has and then does nothing; the memory must go back by
 * itself.
 *
 *     mem_idle_giveback single|threads|remote
 *
 * 512 MiB of 128-byte blocks, the first 90 % are freed, then one second of sleep without a call to
 * the allocator. RSS may be 1.2 times what is kept. `threads`: the program has idle threads.
 * `remote`: another thread frees, and the owner goes on with a little work of its own before it
 * sleeps, which is when it learns of the frees.
 */
#include "risk.h"

#include <sys/syscall.h>

enum { BLOCK = 128 };
static const size_t n_blocks = MiB(512) / BLOCK;
static char **block;

static void *idle(void *arg) {
    (void)arg;
    free(malloc(1000));
    for (;;) pause();
    return NULL;
}

static void *free_most(void *arg) {
    for (size_t i = 0; i < n_blocks / 10 * 9; i++) free(block[i]);
    return arg;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "single";
    size_t table_bytes = n_blocks * sizeof *block;
    pthread_t id;
    require_preloaded();
    block = mmap(NULL, table_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(block != MAP_FAILED);
    if (strcmp(mode, "threads") == 0)
        for (int i = 0; i < 3; i++) MUST(pthread_create(&id, NULL, idle, NULL) == 0);
    for (size_t i = 0; i < n_blocks; i++) {
        block[i] = malloc(BLOCK);
        MUST(block[i] != NULL);
        memset(block[i], 1, BLOCK);
    }
    long full = rss_kib();
    if (strcmp(mode, "remote") == 0) {
        MUST(pthread_create(&id, NULL, free_most, NULL) == 0);
        MUST(pthread_join(id, NULL) == 0);
        for (size_t i = 0; i < 100000; i++) free(malloc(1 + i % 2000));
    } else {
        free_most(NULL);
    }
    munmap(block, table_bytes); /* ours, not the allocator's */
    long at_once = rss_kib();
    struct timespec left = {1, 0};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
    long after = rss_kib(), kept = (long)(n_blocks - n_blocks / 10 * 9) * BLOCK / 1024;
    check_say("%s: full %ld MiB, freed %ld MiB, after 1 s %ld KiB; kept %ld KiB", mode, full >> 10,
              at_once >> 10, after, kept);
    CHECK_LE(after, kept * 12 / 10);
    return CHECK_DONE();
}
