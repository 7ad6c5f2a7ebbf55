/* forking.cpp - a parent and its child, each with work of its own, also before the fork, and a variable that they do not share. */
#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

static int shared_var = 42;
static volatile unsigned long sink;

static void burn(int n) {
    for (int i = 0; i < n * 1000000; i++) sink = sink * 31 + 7;
}

void earlier_work() { burn(60); }

void parent_work() { burn(60); }

void child_work() { burn(60); }

int main() {
    earlier_work();
    pid_t pid = fork();
    if (pid == 0) {
        shared_var = 13;
        child_work();
        printf("Child process (pid: %d): shared_var changed to %d\n", static_cast<int>(getpid()),
               shared_var);
        return 0;
    }
    int status = 0;
    waitpid(pid, &status, 0);
    parent_work();
    printf("Parent process (pid: %d): shared_var = %d\n", static_cast<int>(getpid()), shared_var);
    return status != 0 || shared_var != 42;
}
