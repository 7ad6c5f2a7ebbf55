/* sites.c - a program with known places of allocation; how much of each is in use at its end is known to the byte.
 *
 *     sites [STEP...]    by default: grow exit
 *
 *   grow     keep_this: 3000 blocks of 10000 bytes; drop_this: as many, all freed
 *   small    keep_small: 500000 blocks of 48 bytes
 *   fork     a child that grows and exits too, and a wait for it
 *   exec     starts itself again with what follows
 *   spawn    the same in a child, and a wait for it; then exits
 *   wait     sleeps until a line comes on stdin
 *   exit, _exit
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *kept[600000];
static size_t n_kept;

__attribute__((noinline)) static void keep_this(void) {
    kept[n_kept] = malloc(10000);
    memset(kept[n_kept++], 1, 10000);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void drop_this(void) {
    void *p = malloc(10000);
    __asm__ volatile("" ::"r"(p) : "memory");
    free(p);
}

__attribute__((noinline)) static void keep_small(void) {
    kept[n_kept++] = malloc(48);
    __asm__ volatile("" ::: "memory");
}

static void grow(void) {
    for (int i = 0; i < 3000; i++) {
        keep_this();
        drop_this();
    }
}

int main(int argc, char **argv) {
    static char *dflt[] = {"sites", "grow", "exit", NULL};
    char line[16];
    if (argc < 2) argv = dflt;
    for (char **step = argv + 1; *step != NULL; step++) {
        if (strcmp(*step, "grow") == 0) grow();
        if (strcmp(*step, "small") == 0)
            for (int i = 0; i < 500000; i++) keep_small();
        if (strcmp(*step, "fork") == 0) {
            pid_t pid = fork();
            if (pid == 0) {
                grow();
                exit(0);
            }
            int status;
            if (waitpid(pid, &status, 0) != pid || status != 0) return 3;
        }
        if (strcmp(*step, "exec") == 0) {
            execv("/proc/self/exe", step);
            return 4;
        }
        if (strcmp(*step, "spawn") == 0) {
            pid_t pid = fork();
            if (pid == 0) {
                execv("/proc/self/exe", step);
                _exit(4);
            }
            int status;
            if (waitpid(pid, &status, 0) != pid || status != 0) return 3;
            exit(0);
        }
        if (strcmp(*step, "wait") == 0) {
            puts("waiting");
            fflush(stdout);
            if (fgets(line, sizeof line, stdin) == NULL) return 5;
        }
        if (strcmp(*step, "exit") == 0) exit(0);
        if (strcmp(*step, "_exit") == 0) _exit(0);
    }
    return 0;
}
