/* reload.c - two libraries in turn at the same address, while other threads walk: no rule of the first may be used for the
 * second.
 *
 *     reload LIBRARY.so LIBRARY2.so told|asked
 *
 * told: by the call that follows dlclose. asked: nobody tells, as when libc unloads a library of its own, and libc is asked how
 * many it unloaded.
 *
 * The libraries are the same code with other frame sizes, so a stale rule gives a wrong stack. The stack is known: the
 * callback, DEPTH + 1 times one return address of the library, one of plugin_run's, then main.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stack/stack.h"

#define DEPTH 6
#define ROUNDS 300

static struct vt_frames f;
static _Atomic bool is_over;
static int n_bad;

static void take(void *unused) {
    (void)unused;
    vt__stack_here(&f);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

static void *walk_on(void *unused) {
    struct vt_frames mine;
    while (!is_over) vt__stack_here(&mine);
    vt__stack_thread_ends();
    return unused;
}

static void is_right(unsigned n_main, int round) {
    unsigned n_lib = DEPTH + 2; /* the callback's caller, DEPTH recursions, plugin_run */
    bool is_good = f.n == 1 + n_lib + n_main;
    for (unsigned i = 3; i < 1 + DEPTH && is_good; i++) is_good = f.pc[i] == f.pc[2];
    if (is_good) return;
    if (n_bad++ < 3)
        printf("round %d: expected %u frames, seen %u (or a wrong one)\n", round,
               1 + n_lib + n_main, f.n);
}

int main(int argc, char **argv) {
    pthread_t walker[2];
    void *before = NULL;
    int n_same = 0;
    if (argc != 4) return 2;
    bool is_told = strcmp(argv[3], "told") == 0;
    for (int i = 0; i < 2; i++) pthread_create(&walker[i], NULL, walk_on, NULL);
    vt__stack_here(&f);
    unsigned n_main = f.n;
    for (int round = 0; round < ROUNDS; round++) {
        void *lib = dlopen(argv[1 + round % 2], RTLD_NOW | RTLD_LOCAL);
        if (lib == NULL) {
            printf("%s\n", dlerror());
            return 1;
        }
        void (*run)(int, void (*)(void *), void *);
        *(void **)&run = dlsym(lib, "plugin_run");
        n_same += *(void **)&run == before;
        before = *(void **)&run;
        if (!is_told) vt__stack_poll_modules(/* always */ true);
        for (int i = 0; i < 3; i++) { /* by rules, then by the memo */
            run(DEPTH, take, NULL);
            is_right(n_main, round);
        }
        dlclose(lib);
        if (is_told) vt__stack_modules_changed();
    }
    is_over = true;
    for (int i = 0; i < 2; i++) pthread_join(walker[i], NULL);
    printf("%d rounds, %d at the same address, expected 0 wrong stacks, seen %d\n", ROUNDS, n_same,
           n_bad);
    if (n_same == 0) {
        printf("skipped: the libraries never came to the same address\n");
        return n_bad != 0 ? 1 : 77;
    }
    return n_bad != 0;
}
