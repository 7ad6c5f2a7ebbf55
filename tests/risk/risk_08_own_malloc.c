/* risk_08_own_malloc.c - programs that bring a malloc of their own, whole or in part, beside a
 * preloaded one.
 *
 * OWN=1  the whole family from an arena of its own; the preloaded library serves nobody and must
 *        not mind.
 * OWN=2  only malloc and free, which count and pass on to the next in line, a common debugging aid.
 * OWN=3  only malloc and free, from an arena of its own; free passes on what it does not know, and
 *        the other functions come from the library.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef OWN
#define OWN 1
#endif

static unsigned long n_malloc, n_free;

#if OWN == 2 || OWN == 3
static void *(*next_malloc)(size_t);
static void (*next_free)(void *);
static __thread int in_lookup;
static void look_up(void) {
    if (next_free || in_lookup) return;
    in_lookup = 1;
    next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    in_lookup = 0;
}
#endif

#if OWN == 1 || OWN == 3
enum { ARENA_BYTES = 64 << 20 };
static char *arena;
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A bump arena with the size in front of each block; nothing is reused. */
static void *arena_take(size_t n, size_t align) {
    char *p = NULL;
    pthread_mutex_lock(&lock);
    if (!arena) {
        arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (arena == MAP_FAILED) _exit(9);
    }
    size_t at = (used + 16 + align - 1) & ~(align - 1);
    if (n < ARENA_BYTES && at + n <= ARENA_BYTES) {
        p = arena + at;
        memcpy(p - 16, &n, sizeof n);
        used = at + n;
    }
    pthread_mutex_unlock(&lock);
    if (!p) errno = ENOMEM;
    return p;
}
static int in_arena(const void *p) {
    return arena && (const char *)p >= arena && (const char *)p < arena + ARENA_BYTES;
}
#endif

void *malloc(size_t n) {
    __atomic_fetch_add(&n_malloc, 1, __ATOMIC_RELAXED);
#if OWN == 2
    look_up();
    return next_malloc ? next_malloc(n) : NULL;
#else
    return arena_take(n, 16);
#endif
}

void free(void *p) {
    if (!p) return;
    __atomic_fetch_add(&n_free, 1, __ATOMIC_RELAXED);
#if OWN == 1
    if (!in_arena(p)) _exit(8); /* nobody else may have served this program */
#elif OWN == 2
    look_up();
    if (next_free) next_free(p);
#else
    if (in_arena(p)) return;
    look_up();
    if (next_free) next_free(p);
#endif
}

#if OWN == 1
void *calloc(size_t n, size_t size) {
    void *p = arena_take(n * size, 16);
    return p ? memset(p, 0, n * size) : NULL;
}
void *realloc(void *old, size_t n) {
    size_t was = 0;
    void *p = arena_take(n, 16);
    if (old) memcpy(&was, (char *)old - 16, sizeof was);
    if (p && old) memcpy(p, old, was < n ? was : n);
    return p;
}
void *memalign(size_t align, size_t n) { return arena_take(n, align < 16 ? 16 : align); }
void *aligned_alloc(size_t align, size_t n) { return memalign(align, n); }
int posix_memalign(void **out, size_t align, size_t n) {
    *out = memalign(align, n);
    return *out ? 0 : ENOMEM;
}
#endif

static void *thread(void *arg) {
    for (size_t i = 0; i < 500; i++) {
        char *p = malloc(i + 1), *s = strdup("text from libc");
        if (!p || !s || strcmp(s, "text from libc")) _exit(7);
        memset(p, 1, i + 1);
        free(p);
        free(s);
        char *z = calloc(3, i + 1);
        if (!z || z[0] || z[3 * i + 2]) _exit(6);
#if OWN != 3 /* there, realloc would see a block of another allocator */
        z = realloc(z, 5 * i + 100);
        if (!z || z[i]) _exit(5);
#endif
        free(z);
    }
    return arg;
}

int main(void) {
    pthread_t id[4];
    char *line = NULL;
    void *aligned = NULL;
    FILE *f = fopen("/dev/null", "w"); /* libc's own allocations */
    if (!f || posix_memalign(&aligned, 256, 1000) || (uintptr_t)aligned % 256) return 4;
    free(aligned);
    for (int i = 0; i < 4; i++)
        if (pthread_create(&id[i], NULL, thread, NULL)) return 3;
    for (int i = 0; i < 4; i++) pthread_join(id[i], NULL);
    if (asprintf(&line, "%s %d", "formatted by libc", OWN) < 0) return 2;
    fprintf(f, "%s\n", line);
    free(line);
    fclose(f);
    printf("own malloc %d: %s malloc, %s free\n", OWN, n_malloc > 2000 ? "many" : "few",
           n_free > 2000 ? "many" : "few");
    return 0;
}
