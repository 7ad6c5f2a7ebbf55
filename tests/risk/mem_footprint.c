/* mem_footprint.c - the weight of programs that need hardly anything, in KiB.
 *
 *     mem_footprint trivial      a few small allocations
 *     mem_footprint threads      a hundred threads that allocated a little and wait
 *
 * What is resident, but of files other than our library only the pages the process has copied: which
 * others the kernel maps around a fault is up to it, and differs by 300 KiB with the place of libc and
 * with how its file came into memory (docs/decisions/footprint.md).
 */
#include "risk.h"

enum { N = 100 };
static pthread_barrier_t ready;

static void *idle(void *arg) {
    void *p[20];
    for (size_t i = 0; i < 20; i++) {
        p[i] = malloc(16 + i * 40);
        if (p[i]) memset(p[i], 1, 16 + i * 40);
    }
    for (size_t i = 0; i < 20; i += 2) free(p[i]);
    pthread_barrier_wait(&ready);
    for (;;) pause();
    return arg;
}

struct weight {
    const char *key; /* the line that counts of the mapping whose lines these are */
    long kib;
};

static void weigh_line(const char *line, void *state) {
    struct weight *weight = state;
    if (proc_begins_mapping(line)) {
        const char *file = strchr(line, '/');
        weight->key = file && !strstr(file, "/libvitrine") ? "Anonymous:" : "Rss:";
    } else if (strncmp(line, weight->key, strlen(weight->key)) == 0) {
        weight->kib += strtol(line + strlen(weight->key), NULL, 10);
    }
}

int main(int argc, char **argv) {
    pthread_attr_t attr;
    pthread_t id;
    for (size_t i = 0; i < 50; i++) free(malloc(i * 30));
    if (argc > 1 && strcmp(argv[1], "threads") == 0) {
        pthread_barrier_init(&ready, NULL, N + 1);
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, KiB(256));
        for (int i = 0; i < N; i++)
            if (pthread_create(&id, &attr, idle, NULL)) return 3;
        pthread_barrier_wait(&ready);
    }
    struct weight weight = {"Rss:", 0};
    if (!proc_lines("/proc/self/smaps", weigh_line, &weight)) return 3;
    printf("%ld\n", weight.kib);
    return 0;
}
