/* limited.h - runs a part of a test program again in a child under a resource limit.
 *
 * The limit must be there before the first malloc: address space that is already reserved is not limited
 * any more. So the child is a fresh exec of the same program with the part's name as its argument.
 */
#ifndef VT_TESTS_ABI_LIMITED_H
#define VT_TESTS_ABI_LIMITED_H

#include "../check.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Gives the exit status of the child, or 128 + its signal. */
static int run_limited(int resource, rlim_t n_bytes, const char *part) {
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limit = {n_bytes, n_bytes};
        setrlimit(resource, &limit);
        execl("/proc/self/exe", "limited", part, (char *)NULL);
        check_say("cannot exec /proc/self/exe: %s", strerror(errno));
        _exit(CHECK_SKIPPED);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return 255;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Blocks that are held by a list in themselves, so no other memory is needed. */
struct held {
    struct held *next;
    size_t n;
};

__attribute__((unused)) static struct held *hold(struct held *list, void *p, size_t n) {
    struct held *h = (struct held *)p;
    h->next = list;
    h->n = n;
    return h;
}

__attribute__((unused)) static void let_go(struct held *list, void (*give)(void *)) {
    while (list) {
        struct held *next = list->next;
        give(list);
        list = next;
    }
}

#endif
