/* static_user.c - uses enough of libc to pull in everything that a static link can collide over.
 *
 * Threads, stdio, getline, qsort, iconv-free locale calls, fork, the odd members of the malloc
 * family. Says "static user: ok". For row 10 and the consumer project, so it needs no header of
 * ours.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static void *thread(void *arg) {
    for (size_t i = 1; i < 3000; i++) {
        char *p = malloc(i), *q = calloc(i, 2);
        if (!p || !q || q[i]) return NULL;
        p = realloc(p, i * 3);
        memset(p, 1, i * 3);
        free(q);
        free(p);
    }
    return arg;
}

static int family(void) {
    void *p = NULL, *q = memalign(64, 100), *r = valloc(10), *s = aligned_alloc(128, 256);
    if (posix_memalign(&p, 4096, 10) || !q || !r || !s) return 1;
    if ((uintptr_t)p % 4096 || (uintptr_t)q % 64 || (uintptr_t)s % 128) return 2;
    if (malloc_usable_size(q) < 100) return 3;
    free(p), free(q), free(r), free(s);
    p = reallocarray(NULL, 10, 10);
    free(p);
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    malloc_trim(0);
    return 0;
}

int main(void) {
    pthread_t id[3];
    char mark[3];
    char *line = NULL, text[64];
    size_t room = 0;
    int *numbers = malloc(100000 * sizeof *numbers), status = 0;
    setlocale(LC_ALL, "");
    if (!numbers || family()) return 1;
    for (int i = 0; i < 100000; i++) numbers[i] = (i * 7919) % 100003;
    qsort(numbers, 100000, sizeof *numbers, compare);
    for (int i = 1; i < 100000; i++)
        if (numbers[i] < numbers[i - 1]) return 2;
    free(numbers);
    for (int i = 0; i < 3; i++)
        if (pthread_create(&id[i], NULL, thread, &mark[i])) return 3;
    for (int i = 0; i < 3; i++) {
        void *answer = NULL;
        pthread_join(id[i], &answer);
        if (answer != &mark[i]) return 4;
    }
    FILE *f = tmpfile();
    if (!f || fputs("one line\nanother\n", f) < 0) return 5;
    rewind(f);
    while (getline(&line, &room, f) > 0) snprintf(text, sizeof text, "%s", line);
    free(line);
    fclose(f);
    if (strcmp(text, "another\n")) return 6;
    pid_t pid = fork();
    if (pid == 0) _exit(thread(text) == text ? 0 : 1);
    if (waitpid(pid, &status, 0) != pid || status) return 7;
    puts("static user: ok");
    return 0;
}
