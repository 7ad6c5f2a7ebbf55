/* sections.c - two parts that burn CPU time; with `calls A B` each is profiled, into the file A and B, with `wait` a line on stdin is
 * waited for before and after the first. */
#include <google/profiler.h>

#include <stdio.h>
#include <string.h>

static volatile unsigned long sink;

static void burn(int n) {
    for (int i = 0; i < n * 1000000; i++) sink = sink * 31 + 7;
}

void first_part(void) { burn(60); }
void second_part(void) { burn(60); }

static int wait_for_line(void) {
    char line[16];
    puts("waiting");
    fflush(stdout);
    return fgets(line, sizeof line, stdin) != NULL;
}

int main(int argc, char **argv) {
    int has_calls = argc > 3 && strcmp(argv[1], "calls") == 0;
    int waits = argc > 1 && strcmp(argv[1], "wait") == 0;
    if (has_calls && !ProfilerStart(argv[2])) return 2;
    if (waits && !wait_for_line()) return 3;
    first_part();
    if (waits && !wait_for_line()) return 3;
    if (has_calls) ProfilerStop();
    if (has_calls && !ProfilerStart(argv[3])) return 2;
    second_part();
    if (has_calls) ProfilerStop();
    return 0;
}
