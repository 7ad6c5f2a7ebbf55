/* print.c - malloc_stats_print with the letters it is given, by a callback that must be called once. With a second argument there is an
 * arena of its own with 1000 blocks of 100 bytes, and one that was destroyed. */
#include <jemalloc/jemalloc.h>
#include <stdio.h>

static unsigned n_calls;
void *volatile sink;

static void write_out(void *to, const char *s) {
    fputs(s, to);
    n_calls++;
}

static void make_arenas(void) {
    unsigned arena, gone;
    size_t n = sizeof(arena);
    mallctl("arenas.create", &arena, &n, NULL, 0);
    mallctl("arenas.create", &gone, &n, NULL, 0);
    for (size_t i = 0; i < 1000; i++)
        sink = mallocx(100, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
    sink = mallocx(100, MALLOCX_ARENA(gone) | MALLOCX_TCACHE_NONE);
    char name[64];
    snprintf(name, sizeof(name), "arena.%u.destroy", gone);
    mallctl(name, NULL, NULL, NULL, 0);
}

int main(int argc, char **argv) {
    for (size_t i = 0; i < 1000; i++) sink = malloc(i * 200);
    if (argc > 2) make_arenas();
    malloc_stats_print(write_out, stdout, argc > 1 ? argv[1] : NULL);
    return n_calls == 1 ? 0 : 3;
}
