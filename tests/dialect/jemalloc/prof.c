/* prof.c - the program of the notes: it leaks at two places, and does what the steps on its command line say in between.
 *
 *   some, other     80 and 40 blocks of growing size, never freed
 *   on, off         prof.active              dump, dump=FILE     prof.dump
 *   reset[=LG]      prof.reset               prefix=P            prof.prefix
 *   gdump           prof.gdump               stats               three figures, after epoch
 *   threads         two named threads leak 50 blocks each; a third, which is not sampled, too
 *   fork            the rest happens in a child as well, and the parent waits for it
 *   env             setenv of MALLOC_CONF, which comes too late
 */
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void *volatile sink;

__attribute__((noinline)) void do_something(size_t i) {
    sink = malloc(i * 1024);
    __asm__ volatile("" ::: "memory"); /* no tail call: it is to be seen in the stack */
}

__attribute__((noinline)) void do_something_else(size_t i) {
    sink = malloc(i * 4096);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void leak_in_thread(void) {
    sink = malloc(100000);
    __asm__ volatile("" ::: "memory");
}

static void must(int err, const char *what) {
    if (err == 0) return;
    printf("%s: %d\n", what, err);
    exit(1);
}

static pthread_barrier_t all_are_there; /* a thread that ended leaves its number to the next */

static void *work(void *name) {
    const char *mine = name;
    bool no = false;
    pthread_barrier_wait(&all_are_there);
    if (mine[0] == '-')
        must(mallctl("thread.prof.active", NULL, NULL, &no, sizeof(no)), "thread.prof.active");
    else
        must(mallctl("thread.prof.name", NULL, NULL, &mine, sizeof(mine)), "thread.prof.name");
    for (int i = 0; i < 50; i++) leak_in_thread();
    pthread_barrier_wait(&all_are_there);
    return NULL;
}

static void run_threads(void) {
    static char *names[] = {"worker-1", "worker-2", "-"};
    pthread_t t[3];
    pthread_barrier_init(&all_are_there, NULL, 3);
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, work, names[i]);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
}

static void show_stats(void) {
    uint64_t epoch = 1;
    size_t n = sizeof(epoch), allocated, active, mapped;
    mallctl("epoch", &epoch, &n, &epoch, n);
    n = sizeof(size_t);
    mallctl("stats.allocated", &allocated, &n, NULL, 0);
    mallctl("stats.active", &active, &n, NULL, 0);
    mallctl("stats.mapped", &mapped, &n, NULL, 0);
    printf("allocated/active/mapped: %zu/%zu/%zu\n", allocated, active, mapped);
}

static void set(const char *name, bool value) {
    must(mallctl(name, NULL, NULL, &value, sizeof(value)), name);
}

static void write_text(const char *name, const char *text) {
    must(mallctl(name, NULL, NULL, &text, sizeof(text)), name);
}

int main(int argc, char **argv) {
    pid_t child = 0;
    int status = 0;
    for (int i = 1; i < argc; i++) {
        const char *step = argv[i];
        if (strcmp(step, "some") == 0)
            for (size_t k = 0; k < 80; k++) do_something(k);
        else if (strcmp(step, "other") == 0)
            for (size_t k = 0; k < 40; k++) do_something_else(k);
        else if (strcmp(step, "on") == 0 || strcmp(step, "off") == 0)
            set("prof.active", step[1] == 'n');
        else if (strcmp(step, "gdump") == 0)
            set("prof.gdump", true);
        else if (strcmp(step, "dump") == 0)
            must(mallctl("prof.dump", NULL, NULL, NULL, 0), step);
        else if (strncmp(step, "dump=", 5) == 0)
            write_text("prof.dump", step + 5);
        else if (strncmp(step, "prefix=", 7) == 0)
            write_text("prof.prefix", step + 7);
        else if (strcmp(step, "reset") == 0)
            must(mallctl("prof.reset", NULL, NULL, NULL, 0), step);
        else if (strncmp(step, "reset=", 6) == 0) {
            size_t lg = (size_t)atoi(step + 6);
            must(mallctl("prof.reset", NULL, NULL, &lg, sizeof(lg)), step);
        } else if (strcmp(step, "threads") == 0)
            run_threads();
        else if (strcmp(step, "stats") == 0)
            show_stats();
        else if (strcmp(step, "fork") == 0)
            child = fork();
        else if (strcmp(step, "env") == 0)
            setenv("MALLOC_CONF", "prof:true,prof_active:false,prof_prefix:jeprof.out", 1);
        else
            return 2;
        fflush(stdout);
    }
    return child > 0 && (waitpid(child, &status, 0) != child || status != 0) ? 6 : 0;
}
