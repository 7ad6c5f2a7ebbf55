/* storm_preloaded.c - the other half of storm.cpp in a program whose malloc is ours: the library is preloaded, with
 * VITRINE=sample=4K,heap_mmap, and everything C++ and libc allocate comes to it as well. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "storm.h"
#include "storm_blocks.h"
#include "vitrine.h"

static _Atomic long n_ticks, n_profiles, n_wrong;
static struct {
    int (*profile_fd)(int, enum vt_heap_format);
    int (*set_exact)(int);
    int (*visit)(int (*)(const struct vt_heap_object *, void *), void *);
} library;

void storm_begin(void) {
    library.profile_fd =
        (int (*)(int, enum vt_heap_format))dlsym(RTLD_DEFAULT, "vt_heap_profile_fd");
    library.set_exact = (int (*)(int))dlsym(RTLD_DEFAULT, "vt_heap_set_exact");
    library.visit = (int (*)(int (*)(const struct vt_heap_object *, void *), void *))dlsym(
        RTLD_DEFAULT, "vt_heap_visit");
    if (library.profile_fd == NULL || library.set_exact == NULL || library.visit == NULL) {
        puts("expected the library to be preloaded");
        exit(2);
    }
}

/* A handler may map, not malloc. */
void storm_tick(const void *uc) {
    (void)uc;
    int saved = errno;
    if (++n_ticks % 64 == 0) {
        void *p = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p != MAP_FAILED) munmap(p, 4096), munmap((char *)p + 4096, 4096);
    }
    errno = saved;
}

void storm_here(void) {
    void *p = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return;
    /* not all of it at the end: another thread's mapping may be in the hole by then */
    munmap((char *)p + 8192, 4096);
    munmap(p, 8192);
    munmap((char *)p + 12288, 65536 - 12288);
}

void storm_allocate(void) { use_blocks(malloc, realloc, free); }

void storm_profile(int i) {
    int fd = open("/dev/null", O_WRONLY);
    if (library.profile_fd(fd, (enum vt_heap_format)(i % 4)) != 0) storm_failed("a profile");
    close(fd);
    n_profiles++;
    if (i % 20 == 10) library.set_exact(1);
    if (i % 20 == 15) library.set_exact(0);
}

void storm_unloading(void) {} /* dlclose is ours */
void storm_unloaded(void) {}
void storm_thread_ends(void) {}

void storm_failed(const char *what) {
    printf("failed: %s\n", what);
    n_wrong++;
}

int storm_is_good(void) { return n_wrong == 0; }
int storm_has_enough(void) { return n_ticks >= 1000 && n_profiles > 10; }

static int is_of_shared_block(const struct vt_heap_object *o, void *wanted) {
    return o->at == wanted;
}

int storm_report(void) {
    library.set_exact(0);
    for (int i = 0; i < N_SHARED; i++) {
        void *p = atomic_exchange(&shared_blocks[i], NULL);
        free(p);
        if (p != NULL && library.visit(is_of_shared_block, p) != 0)
            storm_failed("a sample outlived its block");
    }
    printf("%ld signals, %ld profiles; expected 0 failures, seen %ld\n", n_ticks, n_profiles,
           n_wrong);
    return storm_is_good() && storm_has_enough() ? 0 : 1;
}
