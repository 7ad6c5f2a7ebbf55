/* old_names.cc - the programs of users' notes about gperftools, in one.
 *
 *     old_names leak          2 Mi blocks that are never freed: 2 and 4 bytes, 6 MiB together
 *     old_names fork          the child leaks 400,000 bytes, the parent 4,000
 *     old_names open DIR      opens libprofiler.so and libtcmalloc.so of DIR, and profiles some work by the functions it finds
 *     old_names fork_open DIR the same in the child of a fork
 *     old_names fork_work     the same work in the child of a fork and then in its parent
 *     old_names notes         100 blocks of 200 bytes stay, 10 of 100 are freed
 *     old_names manual        the same between two dumps by call (needs the library at link time or preloaded)
 *     old_names until FILE    allocates a little, every 10 ms, until the file is there
 *     old_names limits        prints the thread caches' limit
 */
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

static void *volatile kept;

__attribute__((noinline)) static void two_bytes() {
    for (int i = 0; i < 1 << 20; i++) kept = malloc(2);
}

__attribute__((noinline)) static void four_bytes() {
    for (int i = 0; i < 1 << 20; i++) kept = new int(i);
}

__attribute__((noinline)) static void leak_20000() {
    for (int i = 0; i < 100; i++) kept = malloc(200);
}

__attribute__((noinline)) static void no_leak_1000() {
    for (int i = 0; i < 10; i++) {
        kept = malloc(100);
        free(kept);
    }
}

template <class F> static F named(void *library, const char *name) {
    void *f = dlsym(library, name);
    if (f == nullptr) fprintf(stderr, "no %s\n", name), exit(3);
    return reinterpret_cast<F>(f);
}

static void *opened(const char *dir, const char *name) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    void *library = dlopen(path, RTLD_NOW);
    if (library == nullptr) fprintf(stderr, "%s\n", dlerror()), exit(4);
    return library;
}

static volatile unsigned long sum;

static void work() {
    for (unsigned long i = 0; i < 300000000; i++) sum += i * i;
    leak_20000();
}

static void profile(const char *dir) {
    void *cpu = opened(dir, "libprofiler.so"), *heap = opened(dir, "libtcmalloc.so");
    named<int (*)(const char *)>(cpu, "ProfilerStart")("cpu.prof");
    named<void (*)(const char *)>(heap, "HeapProfilerStart")("heap.prof");
    work();
    named<void (*)()>(cpu, "ProfilerStop")();
    named<void (*)(const char *)>(heap, "HeapProfilerDump")("over");
    named<void (*)()>(heap, "HeapProfilerStop")();
    dlclose(heap);
    dlclose(cpu);
}

static int forked(const char *dir) {
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        if (dir != nullptr)
            profile(dir);
        else
            for (int i = 0; i < 100; i++) kept = malloc(4000);
        return 0;
    }
    kept = malloc(4000);
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 5;
}

static int work_in_both() {
    pid_t child = fork();
    int status = 0;
    if (child != 0 && (waitpid(child, &status, 0) != child || status != 0)) return 5;
    work();
    return 0;
}

static void manual() {
    auto start = named<void (*)(const char *)>(RTLD_DEFAULT, "HeapProfilerStart");
    auto dump = named<void (*)(const char *)>(RTLD_DEFAULT, "HeapProfilerDump");
    auto stop = named<void (*)()>(RTLD_DEFAULT, "HeapProfilerStop");
    auto is_on = named<int (*)()>(RTLD_DEFAULT, "IsHeapProfilerRunning");
    auto text = named<char *(*)()>(RTLD_DEFAULT, "GetHeapProfile");
    printf("running %d\n", is_on());
    start("heapfile");
    leak_20000();
    dump("DumpOutReason1");
    no_leak_1000();
    dump("DumpOutReason2");
    char *profile = text();
    printf("running %d, %.13s\n", is_on(), profile);
    free(profile);
    stop();
    profile = text();
    printf("running %d, %zu bytes\n", is_on(), strlen(profile));
    free(profile);
}

static void limits() {
    size_t n = 0;
    auto get =
        named<int (*)(const char *, size_t *)>(RTLD_DEFAULT, "MallocExtension_GetNumericProperty");
    int known = get("tcmalloc.max_total_thread_cache_bytes", &n);
    printf("%d %zu\n", known, n);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    const char *arg = argc > 2 ? argv[2] : nullptr;
    if (strcmp(what, "leak") == 0)
        two_bytes(), four_bytes();
    else if (strcmp(what, "fork") == 0 || strcmp(what, "fork_open") == 0)
        return forked(arg);
    else if (strcmp(what, "fork_work") == 0)
        return work_in_both();
    else if (strcmp(what, "open") == 0)
        profile(arg);
    else if (strcmp(what, "notes") == 0)
        leak_20000(), no_leak_1000();
    else if (strcmp(what, "manual") == 0)
        manual();
    else if (strcmp(what, "map") == 0)
        kept = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else if (strcmp(what, "until") == 0) /* that file is there */
        for (int i = 0; access(arg, F_OK) != 0; i++) {
            if (i == 6000) return 6;
            kept = malloc(16);
            usleep(10000);
        }
    else if (strcmp(what, "limits") == 0)
        limits();
    else
        return 2;
    return 0;
}
