/* risk_01_early.c - allocates before main in every way a program can, then frees it all in main.
 *
 * An ifunc resolver runs while the loader still relocates: thread-local variables have no initial
 * image yet, and it is copied over them later. preinit_array runs before any constructor, also the
 * library's.
 */
#include "risk.h"

enum { N = 64 };
static void *from_ifunc[N], *from_preinit[N], *from_constructor[N];

static void take_all(void **p, unsigned seed) {
    for (unsigned i = 0; i < N; i++) {
        size_t n = (size_t)1 << (i % 18); /* 1 B to 128 KiB */
        p[i] = i % 3 ? malloc(n) : calloc(1, n);
        if (!p[i]) _exit(3);
        fill(p[i], n, seed + i);
    }
}

static void drop_all(void **p, unsigned seed, const char *where) {
    for (unsigned i = 0; i < N; i++) {
        size_t n = (size_t)1 << (i % 18);
        unsigned char *b = p[i];
        if (!CHECK_EQ(intact(b, n, seed + i), n)) check_say("that was block %u from %s", i, where);
        if (i % 2) b = realloc(b, n * 2);
        free(b);
    }
}

static int plain_answer(void) { return 42; }
/* Reached through the PLT, which is already relocated when IRELATIVE entries are resolved. */
__attribute__((no_sanitize("all"))) static int (*choose_answer(void))(void) {
    for (unsigned i = 0; i < N; i++) from_ifunc[i] = malloc((size_t)1 << (i % 18));
    return plain_answer;
}
int answer(void) __attribute__((ifunc("choose_answer")));

static void preinit(int argc, char **argv, char **env) {
    (void)argc, (void)argv, (void)env;
    take_all(from_preinit, 100);
}
__attribute__((section(".preinit_array"), used)) static void (*preinit_entry)(int, char **,
                                                                              char **) = preinit;

__attribute__((constructor(101))) static void construct(void) { take_all(from_constructor, 50); }

static void *in_thread(void *arg) {
    (void)arg;
    drop_all(from_preinit, 100, "preinit_array"); /* a thread that never allocated frees them */
    return NULL;
}

int main(void) {
    pthread_t id;
    require_preloaded();
    CHECK_EQ(answer(), 42);
    for (unsigned i = 0; i < N; i++) {
        MUST(from_ifunc[i] != NULL);
        fill(from_ifunc[i], (size_t)1 << (i % 18), 7 + i);
    }
    drop_all(from_ifunc, 7, "ifunc resolver");
    CHECK_EQ(pthread_create(&id, NULL, in_thread, NULL), 0);
    CHECK_EQ(pthread_join(id, NULL), 0);
    drop_all(from_constructor, 50, "constructor");
    return CHECK_DONE();
}
