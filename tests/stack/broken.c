/* broken.c - stacks that lead into a library which another thread loads and unloads.
 *
 *     broken LIBRARY.so LIBRARY2.so
 *
 * No whole stack does that, as a library in use stays. A broken one may, and so may a ucontext that a handler is given late,
 * which is what the thread sanitizer does. Every walk must come to its end; while the library is there, it finds its rules.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "stack/stack.h"

#define ROUNDS 300
#define NO_CODE 4711 /* the return address on the stack */

static _Atomic uintptr_t code;
static _Atomic bool is_over;
static _Atomic long n_walks;

static void *load(void *paths) {
    for (int i = 0; i < ROUNDS; i++) {
        void *lib = dlopen(((char **)paths)[i % 2], RTLD_NOW | RTLD_LOCAL);
        if (lib == NULL) {
            puts(dlerror());
            break;
        }
        code = (uintptr_t)dlsym(lib, "plugin_run");
        long before = n_walks;
        while (n_walks < before + 4) sched_yield(); /* so that one is whole, and at `code` itself */
        vt__stack_unload_begins();
        dlclose(lib);
        vt__stack_unload_ends();
    }
    is_over = true;
    return NULL;
}

/* At the first instruction, or somewhere behind it that no rule is remembered of. */
static void walk(uintptr_t stack[], struct vt_frames *f) {
    ucontext_t uc;
    memset(&uc, 0, sizeof(uc));
    uc.uc_mcontext.gregs[REG_RIP] = (greg_t)(code + (n_walks % 2 == 0 ? 0 : n_walks % 1024));
    uc.uc_mcontext.gregs[REG_RSP] = (greg_t)stack;
    vt__stack_of_context(&uc, f);
}

int main(int argc, char **argv) {
    pthread_t loader;
    uintptr_t stack[64];
    long n_followed = 0;
    if (argc != 3) return 2;
    for (int i = 0; i < 64; i++) stack[i] = NO_CODE;
    pthread_create(&loader, NULL, load, argv + 1);
    for (; !is_over; n_walks++) {
        struct vt_frames f;
        walk(stack, &f);
        n_followed += f.n == 2 && f.pc[1] == NO_CODE;
    }
    pthread_join(loader, NULL);
    printf("%ld walks; expected at least %d by the library's rules, seen %ld\n", n_walks, ROUNDS,
           n_followed);
    return n_followed < ROUNDS;
}
