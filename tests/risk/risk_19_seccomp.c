/* risk_19_seccomp.c - locks itself in after its first malloc, as sshd and Chromium do.
 *
 *     risk_19_seccomp strict|remap|deny
 *
 * strict  anything but mmap mprotect madvise munmap futex clock_gettime read write exit and the
 *         rt_sig calls ends the process, with the number of the call
 * remap   the same, and mremap, which glibc's realloc needs too: large blocks grow
 * deny    from some point on every call for memory answers EPERM: malloc must answer NULL and
 *         ENOMEM, no more
 * Four threads exist before the filter and are bound by it. Waiting is done in a futex, long enough
 * that memory which goes back by itself does so inside the filter.
 */
#include "risk.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "name the architecture for seccomp"
#endif

enum { N_THREADS = 4 };
static atomic_int go, n_started, n_done;
static atomic_long n_given, n_refused;
static int may_refuse, may_remap;

static void wait_ms(atomic_int *word, int while_value, long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, while_value, &t, NULL, 0);
}

static void on_forbidden(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    check_say("expected no other system call, seen number %d", info->si_syscall);
    _exit(1);
}

static void lock_in(const char *mode) {
    static const unsigned memory[] = {SYS_mmap, SYS_mprotect, SYS_madvise, SYS_munmap};
    static const unsigned always[] = {SYS_futex,        SYS_clock_gettime,  SYS_read,
                                      SYS_write,        SYS_exit,           SYS_exit_group,
                                      SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn};
    struct sock_filter code[64];
    unsigned n = 0, deny = strcmp(mode, "deny") == 0;
    unsigned memory_answer = deny ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_ALLOW;
#define EMIT(...) code[n++] = (struct sock_filter)__VA_ARGS__
#define ANSWER(number, what)                                                                       \
    do {                                                                                           \
        EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1));                                 \
        EMIT(BPF_STMT(BPF_RET | BPF_K, (what)));                                                   \
    } while (0)
    EMIT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
    EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
    EMIT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    EMIT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        ANSWER(always[i], SECCOMP_RET_ALLOW);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) ANSWER(memory[i], memory_answer);
    if (strcmp(mode, "strict") != 0) ANSWER(SYS_mremap, memory_answer);
    EMIT(BPF_STMT(BPF_RET | BPF_K, deny ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_TRAP));
    struct sigaction act = {.sa_sigaction = on_forbidden, .sa_flags = SA_SIGINFO};
    MUST(sigaction(SIGSYS, &act, NULL) == 0);
    struct sock_fprog program = {(unsigned short)n, code};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        CHECK_SKIP("no seccomp filter here");
}

static unsigned char *take(size_t n, unsigned seed) {
    errno = 0;
    unsigned char *p = malloc(n);
    if (!p) {
        CHECK_EQ(errno, ENOMEM);
        atomic_fetch_add(&n_refused, 1);
        if (!may_refuse) CHECK_NOT_NULL(p);
        return NULL;
    }
    atomic_fetch_add(&n_given, 1);
    fill(p, n < 64 ? n : 64, seed);
    return p;
}

static void churn(unsigned seed) {
    enum { KEPT = 300 };
    unsigned char *kept[KEPT] = {NULL};
    size_t marked[KEPT] = {0};
    uint64_t rng = seed + 1;
    for (int i = 0; i < 20000; i++) {
        uint64_t r = next_random(&rng);
        size_t at = r % KEPT, n = 1 + (r >> 16) % (i % 100 ? 2000 : 3000000);
        if (kept[at]) CHECK_EQ(intact(kept[at], marked[at], (unsigned)at), marked[at]);
        free(kept[at]);
        kept[at] = take(n, (unsigned)at);
        marked[at] = n < 64 ? n : 64;
    }
    for (int i = 0; i < KEPT; i++) free(kept[i]);
    for (size_t n = 100; may_remap && n < MiB(40); n *= 3) {
        unsigned char *small = take(n, 9), *p = small ? realloc(small, n * 3) : NULL;
        if (!p) {
            free(small); /* refused: the old block is still ours */
            continue;
        }
        CHECK_EQ(intact(p, 64, 9), 64);
        free(p);
    }
}

static void *thread(void *arg) {
    atomic_fetch_add(&n_started, 1); /* libc's own calls for a new thread are behind us */
    while (!atomic_load(&go)) wait_ms(&go, 0, 1000);
    churn((unsigned)(uintptr_t)arg);
    atomic_fetch_add(&n_done, 1);
    for (;;) wait_ms(&go, 1, 100000); /* its end would need calls that belong to libc */
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t id[N_THREADS];
    MUST(argc == 2);
    require_preloaded();
    may_refuse = strcmp(argv[1], "deny") == 0;
    may_remap = strcmp(argv[1], "strict") != 0;
    free(malloc(10));
    for (uintptr_t i = 0; i < N_THREADS; i++)
        MUST(pthread_create(&id[i], NULL, thread, (void *)i) == 0);
    for (int seen; (seen = atomic_load(&n_started)) < N_THREADS;) wait_ms(&n_started, seen, 10);
    lock_in(argv[1]);
    atomic_store(&go, 1);
    churn(77);
    for (int seen, left = 600; (seen = atomic_load(&n_done)) < N_THREADS && left > 0; left--)
        wait_ms(&n_done, seen, 100);
    CHECK_EQ(atomic_load(&n_done), N_THREADS);
    unsigned char *block[64];
    for (int i = 0; i < 64; i++) block[i] = take(MiB(1), 1);
    for (int i = 0; i < 64; i++) free(block[i]);
    wait_ms(&go, 1, 2500); /* idle: free memory goes back meanwhile, or waits */
    churn(78);
    check_say("%s: %ld given, %ld refused", argv[1], atomic_load(&n_given),
              atomic_load(&n_refused));
    CHECK_TRUE(atomic_load(&n_given) > 1000 || may_refuse);
    if (may_refuse)
        CHECK_TRUE(atomic_load(&n_refused) > 0); /* 3 MB blocks cannot all have been there */
    _exit(CHECK_DONE());
}
