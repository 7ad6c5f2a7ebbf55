/* asking_child.c - the program that asking.c steps through: it asks for figures, again and again.
 *
 * usage: asking_child BLOCKS THREADS QUESTION... (only under asking, which traces it). First it takes BLOCKS blocks of 100 bytes,
 * and starts THREADS threads that allocate a little and then wait. A question is a letter, a colon and a name:
 *
 *   p:NAME   MallocExtension_GetNumericProperty     m:NAME   mallctlbymib, of a MIB that is at hand
 *   n:NAME   mallctl                                t:NAME   mallctlnametomib
 *   e:epoch  mallctl, which writes it               f:NAME   a function without arguments that answers a large structure
 *
 * Each is asked N_ASKS times, with some mallocs and frees in between, as a program would that asks for each request. The clock stands
 * still: a long walk, which is taken at a pace (src/heap/pace.h), was taken by the first question. A breakpoint
 * stands before and behind each call; a question that the library does not know is not asked.
 */
#define _GNU_SOURCE
#include "asking.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if !defined(__x86_64__)
int main(void) { return 77; }
#else

#define N_BUSY 6
#define DEPTH 7

static void *volatile busy[N_BUSY];

/* What happens between two questions: blocks of some sizes come and go, and one of each pair stays until the next time. */
static void work(void) {
    for (int i = 0; i < N_BUSY; i++) {
        free(busy[i]);
        busy[i] = malloc(24 + 80 * (size_t)i);
        free(malloc(24 + 80 * (size_t)i));
    }
}

static pthread_barrier_t all_are_ready;

static void *wait_around(void *arg) {
    for (size_t n = 16; n < 2000; n += 64) free(malloc(n));
    void *volatile kept = malloc(500);
    pthread_barrier_wait(&all_are_ready);
    for (;;) pthread_barrier_wait(arg); /* the process ends under it */
    return (void *)kept;
}

static void start_threads(int n) {
    static pthread_barrier_t never;
    pthread_barrier_init(&all_are_ready, NULL, (unsigned)n + 1);
    pthread_barrier_init(&never, NULL, (unsigned)n + 1);
    for (int i = 0; i < n; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, wait_around, &never) != 0) exit(3);
    }
    pthread_barrier_wait(&all_are_ready);
}

static struct {
    int (*property)(const char *name, size_t *value);
    int (*by_name)(const char *name, void *old, size_t *old_len, void *new_value, size_t new_len);
    int (*by_mib)(const size_t *mib, size_t n, void *old, size_t *old_len, void *new_value,
                  size_t new_len);
    int (*to_mib)(const char *name, size_t *mib, size_t *n);
    struct mallinfo2 (*function)(void); /* or another that answers no more bytes */
} call;

static struct {
    const char *name;
    size_t mib[DEPTH], n_mib;
    size_t n_bytes; /* of the answer */
} question;

static uint64_t answer[32];

static int ask_property(void) { return call.property(question.name, (size_t *)answer) == 0; }
static int ask_by_name(void) {
    size_t n = question.n_bytes;
    return call.by_name(question.name, answer, &n, NULL, 0);
}
static int ask_by_mib(void) {
    size_t n = question.n_bytes;
    return call.by_mib(question.mib, question.n_mib, answer, &n, NULL, 0);
}
static int ask_for_mib(void) {
    size_t n = DEPTH;
    return call.to_mib(question.name, question.mib, &n);
}
static int write_epoch(void) {
    uint64_t epoch = 1;
    return call.by_name(question.name, NULL, NULL, &epoch, sizeof epoch);
}
static int ask_function(void) {
    struct mallinfo2 info = call.function();
    memcpy(answer, &info, sizeof info);
    return 0;
}

/* The answer is 8, 4 or 1 bytes long. */
static int find_length(void) {
    static const size_t lengths[] = {8, 4, 1};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        question.n_bytes = lengths[i];
        if (ask_by_name() == 0) return 0;
    }
    return 1;
}

/* NULL: the library does not know it. */
static int (*begin(const char *text))(void) {
    question.name = text + 2;
    question.n_mib = DEPTH;
    switch (text[0]) {
    case 'p': return call.property != NULL ? ask_property : NULL;
    case 'f':
        *(void **)&call.function = dlsym(RTLD_DEFAULT, question.name);
        return call.function != NULL ? ask_function : NULL;
    case 'e': return call.by_name != NULL ? write_epoch : NULL;
    default: break;
    }
    if (call.by_name == NULL || find_length() != 0) return NULL;
    if (call.to_mib(question.name, question.mib, &question.n_mib) != 0) return NULL;
    return text[0] == 'n' ? ask_by_name : text[0] == 'm' ? ask_by_mib : ask_for_mib;
}

/* Stands before libc's: a program that is followed step by step sees the clock run, and a long walk would be due each time. */
int clock_gettime(clockid_t clock, struct timespec *out) {
    (void)clock;
    *out = (struct timespec){1000, 0};
    return 0;
}

static void stop(int what) { __asm__ volatile("int3" : : "D"(what) : "memory"); }

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    *(void **)&call.property = dlsym(RTLD_DEFAULT, "MallocExtension_GetNumericProperty");
    *(void **)&call.by_name = dlsym(RTLD_DEFAULT, "mallctl");
    *(void **)&call.by_mib = dlsym(RTLD_DEFAULT, "mallctlbymib");
    *(void **)&call.to_mib = dlsym(RTLD_DEFAULT, "mallctlnametomib");
    long n_blocks = strtol(argv[1], NULL, 10);
    for (long i = 0; i < n_blocks; i++) *(void *volatile *)malloc(100) = NULL;
    start_threads((int)strtol(argv[2], NULL, 10));
    for (int i = 3; i < argc; i++) {
        int (*ask)(void) = begin(argv[i]);
        stop(ASKING_NEXT);
        if (ask == NULL || ask() != 0) continue;
        for (int k = 0; k < N_WARM; k++) {
            work();
            ask();
        }
        for (int k = 0; k < N_ASKS; k++) {
            work();
            stop(ASKING_BEGINS);
            ask();
            stop(ASKING_ENDS);
        }
    }
    _exit(0);
}
#endif
