/* risk_04_signal_malloc.c - a signal handler that allocates, which POSIX forbids and programs do.
 *
 * No malloc is safe here: a handler that comes between two instructions of malloc can be given the
 * block that malloc is about to return. What we promise is less: never a deadlock, never a crash
 * inside the allocator. So a child allocates while a timer signals it every few microseconds; the
 * handler allocates and frees. The parent watches that the counts go up. A block given out twice is
 * counted, as is a child that the allocator stopped with its message; a hang or another signal is a
 * failure.
 */
#include "risk.h"

#include <signal.h>
#include <stdatomic.h>

enum { LIVE = 64, HELD = 8, STALL_SECONDS = 20 };

struct shared { /* survives the child */
    atomic_long n_signals, n_blocks, n_twice;
};
static struct shared *count;
static timer_t timer;
static long goal;

struct block {
    uint64_t stamp; /* differs for every block ever given */
    char rest[];
};

static uint64_t stamp(struct block *b) {
    b->stamp = (uint64_t)atomic_fetch_add_explicit(&count->n_blocks, 1, memory_order_relaxed) + 1;
    return b->stamp;
}

struct slot {
    struct block *block;
    uint64_t stamp;
};

static void replace(struct slot *s, uint64_t *rng) {
    if (s->block && s->block->stamp != s->stamp) {
        atomic_fetch_add(&count->n_twice, 1); /* someone else was given it too; theirs to free */
        s->block = NULL;
    }
    if (s->block) s->block->stamp = 0;
    free(s->block);
    s->block = malloc(8 + next_random(rng) % (next_random(rng) % 16 ? 500 : 100000));
    if (s->block) s->stamp = stamp(s->block);
}

/* One shot, armed again by each handler: the next signal comes 2 to 10 us after the last was
 * handled, at a random instruction, and the child gets on however slow the handler is. */
static void arm(uint64_t *rng) {
    struct itimerspec when = {.it_value = {0, 2000 + (long)(next_random(rng) % 8000)}};
    timer_settime(timer, 0, &when, NULL);
}

static void on_signal(int number) {
    static struct slot held[HELD];
    static uint64_t rng = 99;
    int saved = errno;
    (void)number;
    atomic_fetch_add_explicit(&count->n_signals, 1, memory_order_relaxed);
    replace(&held[next_random(&rng) % HELD], &rng);
    arm(&rng);
    errno = saved;
}

static void be_child(void) {
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct slot live[LIVE] = {{NULL, 0}};
    uint64_t rng = (uint64_t)getpid();
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    sigaction(SIGALRM, &act, NULL);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer)) _exit(3);
    arm(&rng);
    while (atomic_load_explicit(&count->n_signals, memory_order_relaxed) < goal)
        replace(&live[next_random(&rng) % LIVE], &rng);
    _exit(0);
}

/* Answers the child's wait status, or -1 when it made no progress for too long. */
static int watch(pid_t pid) {
    long seen = -1, stalled = 0;
    for (;;) {
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid) return status;
        usleep(20000);
        long now = atomic_load(&count->n_signals) + atomic_load(&count->n_blocks);
        stalled = now == seen ? stalled + 1 : 0;
        seen = now;
        if (stalled < STALL_SECONDS * 50) continue;
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return -1;
    }
}

int main(void) {
    long n_stopped = 0;
    require_preloaded();
    count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(count != MAP_FAILED);
    goal = soak(300000, 5000000);
    while (atomic_load(&count->n_signals) < goal) {
        pid_t pid = fork();
        if (pid == 0) be_child();
        MUST(pid > 0);
        int status = watch(pid);
        if (status == -1) {
            check_say("a child hung after %ld signals", atomic_load(&count->n_signals));
            CHECK_TRUE(status != -1);
            break;
        }
        if (status == 0) continue;
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) {
            n_stopped++;
            continue;
        }
        CHECK_EQ(status, 0);
        check_say("a child ended by %s after %ld signals", how_ended(status),
                  atomic_load(&count->n_signals));
        break;
    }
    check_say(
        "%ld signals, %ld blocks, %ld given twice, %ld children stopped by the allocator's message",
        atomic_load(&count->n_signals), atomic_load(&count->n_blocks), atomic_load(&count->n_twice),
        n_stopped);
    CHECK_GE(count->n_signals, goal);
    return CHECK_DONE();
}
