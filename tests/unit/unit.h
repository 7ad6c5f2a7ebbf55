/* unit.h - a unit test: cmocka's checks, one process per test, names that are sentences.
 *
 *   TEST(lock, wakes_a_thread_that_sleeps) { assert_int_equal(...); }
 *   TEST_WITH(window, ..., "VITRINE_FAIL_NTH=1:reserve") { ... }      environment of this test, "NAME=value NAME=value"
 *   UNIT_MAIN()
 *
 * Every test runs in a process of its own, so each starts with a heap that was never used and may set limits, fill
 * the window or leave threads behind. The program runs all tests, or those whose name contains its argument.
 */
#ifndef VT_TESTS_UNIT_H
#define VT_TESTS_UNIT_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define UNIT_SKIPPED 77
#define UNIT_SECONDS 100 /* a test that hangs is ended by its own alarm */

struct unit_test {
    const char *subject, *sentence, *environment;
    CMUnitTestFunction run;
    struct unit_test *next;
};

static struct unit_test *unit_first, **unit_end = &unit_first;

#define TEST(subject, sentence) TEST_WITH(subject, sentence, "")
#define TEST_WITH(subject, sentence, environment)                                                  \
    static void sentence(void **state);                                                            \
    __attribute__((constructor)) static void unit_add_##sentence(void) {                           \
        static struct unit_test row = {#subject, #sentence, environment, sentence, NULL};          \
        *unit_end = &row;                                                                          \
        unit_end = &row.next;                                                                      \
    }                                                                                              \
    static void sentence(__attribute__((unused)) void **state)

#define UNIT_MAIN()                                                                                \
    int main(int argc, char **argv) { return unit_run_all(argc, argv); }

/* ---- running ---- */

extern char **environ;
static const char *unit_program; /* argv[0] */

/* Adds "NAME=value NAME=value" to the environment. */
__attribute__((unused)) static void unit_set_environment(const char *list) {
    while (*list != '\0') {
        size_t n = strcspn(list, " ");
        putenv(strndup(list, n));
        list += n + (list[n] == ' ');
    }
}

/* This program again, for one test. The library reads its environment before main, so that must be there already. */
__attribute__((noreturn)) static void unit_exec(const char *sentence) {
    char *argv[] = {(char *)(uintptr_t)unit_program, (char *)(uintptr_t) "--only",
                    (char *)(uintptr_t)sentence, NULL};
    execv("/proc/self/exe", argv);
    execv(unit_program, argv); /* no /proc here */
    perror(unit_program);
    _exit(126);
}

/* Runs one test in a process of its own with this environment; gives its status, as waitpid does. */
static int unit_spawn(const char *sentence, const char *environment) {
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("VITRINE_SAMPLE", "0", 1); /* slabs are counted; tests of sampling ask for it */
        unit_set_environment(environment);
        unit_exec(sentence);
    }
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int unit_run_here(const char *sentence) {
    for (const struct unit_test *t = unit_first; t != NULL; t = t->next) {
        struct CMUnitTest row = {t->sentence, t->run, NULL, NULL, NULL};
        if (strcmp(t->sentence, sentence) != 0) continue;
        alarm(UNIT_SECONDS);
        return _cmocka_run_group_tests(t->subject, &row, 1, NULL, NULL) == 0 ? 0 : 1;
    }
    return 2;
}

static void unit_say_how(const struct unit_test *t, int status) {
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s: %s: expected exit status 0, seen signal %d (%s)\n", t->subject,
                t->sentence, WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        fprintf(stderr, "%s: %s: expected exit status 0, seen %d\n", t->subject, t->sentence,
                WEXITSTATUS(status));
}

static int unit_run_all(int argc, char **argv) {
    unsigned n_run = 0, n_failed = 0;
    const char *wanted = argc > 1 ? argv[1] : "";
    unit_program = argv[0];
    if (argc == 3 && strcmp(argv[1], "--only") == 0) return unit_run_here(argv[2]);
    for (const struct unit_test *t = unit_first; t != NULL; t = t->next) {
        if (strstr(t->sentence, wanted) == NULL) continue;
        n_run++;
        int status = unit_spawn(t->sentence, t->environment);
        if (status == 0) continue;
        unit_say_how(t, status);
        n_failed++;
    }
    printf("%u tests, %u failed\n", n_run, n_failed);
    if (n_run == 0) fprintf(stderr, "expected at least one test named *%s*, seen none\n", wanted);
    return n_failed > 0 || n_run == 0;
}

/* ---- helpers of several tests ---- */

#if defined(VT_FLAVOUR_asan) || defined(VT_FLAVOUR_tsan)
#define UNIT_HAS_SHADOW                                                                            \
    1 /* a sanitizer's shadow: address limits and odd places are not to be had */
#else
#define UNIT_HAS_SHADOW 0
#endif

/* Runs `act` in a child and gives what it wrote to stderr; its status through *status. */
__attribute__((unused)) static const char *unit_stderr_of(void (*act)(void *), void *arg,
                                                          int *status) {
    static char text[8192];
    int fd[2];
    size_t n = 0;
    assert_int_equal(pipe(fd), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fd[1], 2);
        signal(SIGABRT, SIG_DFL); /* cmocka catches what a test must be able to die of */
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        act(arg);
        _exit(0);
    }
    close(fd[1]);
    for (ssize_t got;
         n + 1 < sizeof(text) && (got = read(fd[0], text + n, sizeof(text) - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = '\0';
    close(fd[0]);
    assert_int_equal(waitpid(pid, status, 0), pid);
    return text;
}

/* `act` must end the process by abort(), after one line that contains `words`. */
__attribute__((unused)) static void unit_dies_saying(void (*act)(void *), void *arg,
                                                     const char *words) {
    int status;
    const char *seen = unit_stderr_of(act, arg, &status);
    if (strstr(seen, words) == NULL) fail_msg("expected stderr with '%s', seen '%s'", words, seen);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
        fail_msg("expected SIGABRT, seen status 0x%x", (unsigned)status);
    size_t n_lines = 0;
    for (const char *s = seen; *s != '\0'; s++) n_lines += *s == '\n';
#if !UNIT_HAS_SHADOW /* a sanitizer adds its own words about SIGABRT */
    if (n_lines != 1) fail_msg("expected one line, seen %zu: '%s'", n_lines, seen);
#endif
}

/* Runs f(arg) in a thread of its own, to its end. */
__attribute__((unused)) static void unit_in_thread(void *(*f)(void *), void *arg) {
    pthread_t id;
    assert_int_equal(pthread_create(&id, NULL, f, arg), 0);
    assert_int_equal(pthread_join(id, NULL), 0);
}

__attribute__((unused)) static uint64_t unit_random(uint64_t *state) { /* xorshift64* */
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

#define assert_true_msg(x, ...)                                                                    \
    do                                                                                             \
        if (!(x)) fail_msg(__VA_ARGS__);                                                           \
    while (0)

#endif
