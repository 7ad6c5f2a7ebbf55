/* print.c - malloc_stats_print with the letters it is given, by a callback that must be called once. */
#include <jemalloc/jemalloc.h>
#include <stdio.h>

static unsigned n_calls;
void *volatile sink;

static void write_out(void *to, const char *s) {
    fputs(s, to);
    n_calls++;
}

int main(int argc, char **argv) {
    for (size_t i = 0; i < 1000; i++) sink = malloc(i * 200);
    malloc_stats_print(write_out, stdout, argc > 1 ? argv[1] : NULL);
    return n_calls == 1 ? 0 : 3;
}
