/* asleep.h - to know that a thread waits: it sleeps. On a busy machine time alone tells nothing; it may not have come to it yet. */
#ifndef VT_TESTS_ASLEEP_H
#define VT_TESTS_ASLEEP_H

#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* The letter that /proc has for the state of a thread of this process. */
static inline char state_of(pid_t tid) {
    char path[64], text[128] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
    FILE *f = fopen(path, "r");
    if (f == NULL) return '?';
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end != NULL ? name_end[2] : '?';
}

/* A thread that has nothing else to sleep for waits as soon as it sleeps. */
static inline void until_it_sleeps(pid_t tid) {
    struct timespec ms = {0, 1000000};
    for (int i = 0; state_of(tid) != 'S'; i++) {
        nanosleep(&ms, NULL);
        if (i == 20000) fprintf(stderr, "it never waits\n"), _exit(7);
    }
}

#endif
