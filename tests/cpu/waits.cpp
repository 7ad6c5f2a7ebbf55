/* waits.cpp - waits of every kind, each in a function of its own, with their true length.
 *
 *     waits kinds          every function of libc and C++ that waits, contended once or more; prints "function ns ns" for each: it
 *                          waited no less than the one and no more than the other
 *     waits once           one wait
 *     waits answers        what they return and leave alone, where it is not just 0
 *     waits fight          threads that fight for a lock, forks in between whose children wait too, and a signal handler that locks
 *     waits calls FILE     vt_contention_start, dump and stop
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vitrine.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "../asleep.h"

static const int HELD_MS = 30, ROUNDS = 3;

static int64_t now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static timespec in_a_while(clockid_t clock, int ms) {
    timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += (t.tv_nsec + ms * 1000000LL) / 1000000000;
    t.tv_nsec = (t.tv_nsec + ms * 1000000LL) % 1000000000;
    return t;
}

static void sleep_ms(int ms) {
    timespec t = {0, ms * 1000000L};
    while (nanosleep(&t, &t) != 0) {}
}

/* How long a wait was is known between bounds: on a busy machine either thread may be stopped at any point, but it waits at least from
 * when it was seen asleep until the other is about to end that, and at most from before the call until after it. */
struct Waited {
    int64_t least_ns, most_ns;
    void tell(const char *name) const {
        printf("%s %lld %lld\n", name, (long long)least_ns, (long long)most_ns);
    }
};

/* In another thread: the waiter is made to wait for a while; gives how long it did, at least. */
static int64_t let_wait(pid_t waiter) {
    until_it_sleeps(waiter);
    int64_t since = now_ns();
    sleep_ms(HELD_MS);
    return now_ns() - since;
}

/* Somebody holds `take` for a while, and meanwhile `wait` is called and timed. */
template <class Take, class Give, class Wait>
static void contended(const char *name, Take take, Give give, Wait wait) {
    Waited waited = {0, 0};
    pid_t waiter = gettid();
    for (int i = 0; i < ROUNDS; i++) {
        std::atomic<bool> is_held{false};
        std::thread holder([&] {
            take();
            is_held = true;
            waited.least_ns += let_wait(waiter);
            give();
        });
        while (!is_held) std::this_thread::yield();
        int64_t since = now_ns();
        wait();
        waited.most_ns += now_ns() - since;
        give();
        holder.join();
    }
    waited.tell(name);
}

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t robust, inheriting;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static std::mutex cxx_mutex;
static std::timed_mutex cxx_timed;
static std::shared_mutex cxx_shared;

static void make_mutexes() {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &a);
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&inheriting, &a);
}

/* Functions of their own, which the profile is to name. */
#define WAITER(name, ...)                                                                          \
    __attribute__((noinline)) static void name() {                                                 \
        __VA_ARGS__;                                                                               \
        __asm__ volatile("");                                                                      \
    }
WAITER(wait_plain, pthread_mutex_lock(&plain))
WAITER(wait_recursive, pthread_mutex_lock(&recursive))
WAITER(wait_adaptive, pthread_mutex_lock(&adaptive))
WAITER(wait_checking, pthread_mutex_lock(&checking))
WAITER(wait_robust, pthread_mutex_lock(&robust))
WAITER(wait_inheriting, pthread_mutex_lock(&inheriting))
WAITER(wait_timed, timespec t = in_a_while(CLOCK_REALTIME, 9000);
       pthread_mutex_timedlock(&plain, &t))
WAITER(wait_clock, timespec t = in_a_while(CLOCK_MONOTONIC, 9000);
       pthread_mutex_clocklock(&plain, CLOCK_MONOTONIC, &t))
WAITER(wait_read, pthread_rwlock_rdlock(&rwlock))
WAITER(wait_write, pthread_rwlock_wrlock(&rwlock))
WAITER(wait_timed_read, timespec t = in_a_while(CLOCK_REALTIME, 9000);
       pthread_rwlock_timedrdlock(&rwlock, &t))
WAITER(wait_timed_write, timespec t = in_a_while(CLOCK_REALTIME, 9000);
       pthread_rwlock_timedwrlock(&rwlock, &t))
WAITER(wait_clock_read, timespec t = in_a_while(CLOCK_MONOTONIC, 9000);
       pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &t))
WAITER(wait_clock_write, timespec t = in_a_while(CLOCK_MONOTONIC, 9000);
       pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &t))
WAITER(wait_std_mutex, cxx_mutex.lock())
WAITER(wait_std_timed, (void)cxx_timed.try_lock_for(std::chrono::seconds(9)))
WAITER(wait_std_shared, cxx_shared.lock_shared())
WAITER(wait_std_unique, cxx_shared.lock())

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static std::condition_variable cxx_condition;
static bool is_told;

template <class Wait> static void told(const char *name, Wait wait) {
    Waited waited = {0, 0};
    pid_t waiter = gettid();
    is_told = false;
    std::thread teller([&] {
        waited.least_ns = let_wait(waiter);
        std::lock_guard<std::mutex> guard(cxx_mutex);
        pthread_mutex_lock(&plain);
        is_told = true;
        pthread_mutex_unlock(&plain);
        pthread_cond_broadcast(&condition);
        cxx_condition.notify_all();
    });
    int64_t since = now_ns();
    wait();
    waited.most_ns = now_ns() - since;
    teller.join();
    waited.tell(name);
}

#define CONDITION(name, call)                                                                      \
    WAITER(name, timespec t = in_a_while(CLOCK_REALTIME, 9000);                                    \
           timespec m = in_a_while(CLOCK_MONOTONIC, 9000); (void)t; (void)m;                       \
           pthread_mutex_lock(&plain); while (!is_told) call; pthread_mutex_unlock(&plain))
CONDITION(wait_cond, pthread_cond_wait(&condition, &plain))
CONDITION(wait_timed_cond, pthread_cond_timedwait(&condition, &plain, &t))
CONDITION(wait_clock_cond, pthread_cond_clockwait(&condition, &plain, CLOCK_MONOTONIC, &m))
WAITER(wait_std_cond, std::unique_lock<std::mutex> l(cxx_mutex);
       cxx_condition.wait(l, [] { return is_told; }))
WAITER(wait_std_cond_for, std::unique_lock<std::mutex> l(cxx_mutex);
       cxx_condition.wait_for(l, std::chrono::seconds(9), [] { return is_told; }))

#define MUTEX(m, waiter)                                                                           \
    contended(                                                                                     \
        #waiter, [] { pthread_mutex_lock(&m); }, [] { pthread_mutex_unlock(&m); }, waiter)
#define RWLOCK(take, waiter)                                                                       \
    contended(                                                                                     \
        #waiter, [] { take(&rwlock); }, [] { pthread_rwlock_unlock(&rwlock); }, waiter)
#define STD(m, waiter)                                                                             \
    contended(                                                                                     \
        #waiter, [] { m.lock(); }, [] { m.unlock(); }, waiter)

static void kinds() {
    MUTEX(plain, wait_plain);
    MUTEX(recursive, wait_recursive);
    MUTEX(adaptive, wait_adaptive);
    MUTEX(checking, wait_checking);
    MUTEX(robust, wait_robust);
    MUTEX(inheriting, wait_inheriting);
    MUTEX(plain, wait_timed);
    MUTEX(plain, wait_clock);
    RWLOCK(pthread_rwlock_wrlock, wait_read);
    RWLOCK(pthread_rwlock_rdlock, wait_write);
    RWLOCK(pthread_rwlock_wrlock, wait_timed_read);
    RWLOCK(pthread_rwlock_rdlock, wait_timed_write);
    RWLOCK(pthread_rwlock_wrlock, wait_clock_read);
    RWLOCK(pthread_rwlock_rdlock, wait_clock_write);
    STD(cxx_mutex, wait_std_mutex);
    STD(cxx_timed, wait_std_timed);
    contended(
        "wait_std_unique", [] { cxx_shared.lock(); }, [] { cxx_shared.unlock(); }, wait_std_unique);
    RWLOCK(pthread_rwlock_wrlock, wait_read);
    contended(
        "wait_std_shared", [] { cxx_shared.lock(); }, [] { cxx_shared.unlock(); },
        wait_std_shared); /* unlock does for both */
    told("wait_cond", wait_cond);
    told("wait_timed_cond", wait_timed_cond);
    told("wait_clock_cond", wait_clock_cond);
    told("wait_std_cond", wait_std_cond);
    told("wait_std_cond_for", wait_std_cond_for);
}

/* ---- answers */

static int n_bad;
#define EXPECT(x, wanted)                                                                          \
    do {                                                                                           \
        errno = 1234;                                                                              \
        long seen_ = (long)(x);                                                                    \
        if (seen_ != (long)(wanted))                                                               \
            n_bad++, printf("%s: expected %ld, seen %ld\n", #x, (long)(wanted), seen_);            \
        if (errno != 1234) n_bad++, printf("%s: errno is %d now\n", #x, errno);                    \
    } while (0)

static void give_back(void *m) { pthread_mutex_unlock((pthread_mutex_t *)m); }

static void *wait_for_ever(void *unused) {
    pthread_mutex_lock(&plain);
    pthread_cleanup_push(give_back, &plain);
    for (;;) pthread_cond_wait(&condition, &plain);
    pthread_cleanup_pop(1);
    return unused;
}

static void answers() {
    timespec past = {0, 0};
    std::thread owner([] { pthread_mutex_lock(&robust); }); /* and dies */
    owner.join();
    EXPECT(pthread_mutex_lock(&robust), EOWNERDEAD);
    EXPECT(pthread_mutex_unlock(&robust), 0); /* not made consistent */
    EXPECT(pthread_mutex_lock(&robust), ENOTRECOVERABLE);
    pthread_mutex_lock(&checking);
    EXPECT(pthread_mutex_lock(&checking), EDEADLK);
    pthread_mutex_unlock(&checking);
    EXPECT(pthread_mutex_lock(&recursive), 0);
    EXPECT(pthread_mutex_lock(&recursive), 0);
    std::thread other([&] {
        EXPECT(pthread_mutex_timedlock(&recursive, &past), ETIMEDOUT);
        EXPECT(pthread_mutex_clocklock(&recursive, CLOCK_MONOTONIC, &past), ETIMEDOUT);
    });
    other.join();
    pthread_rwlock_rdlock(&rwlock);
    EXPECT(pthread_rwlock_rdlock(&rwlock), 0);
    std::thread writer([&] {
        EXPECT(pthread_rwlock_timedwrlock(&rwlock, &past), ETIMEDOUT);
        EXPECT(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &past), ETIMEDOUT);
    });
    writer.join();
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_wrlock(&rwlock);
    EXPECT(pthread_rwlock_wrlock(&rwlock), EDEADLK);
    EXPECT(pthread_rwlock_rdlock(&rwlock), EDEADLK);
    pthread_rwlock_unlock(&rwlock);
    pthread_mutex_lock(&plain);
    EXPECT(pthread_cond_timedwait(&condition, &plain, &past), ETIMEDOUT);
    EXPECT(pthread_cond_clockwait(&condition, &plain, CLOCK_MONOTONIC, &past), ETIMEDOUT);
    EXPECT(pthread_mutex_trylock(&plain), EBUSY); /* it is ours again */
    pthread_mutex_unlock(&plain);
    pthread_t id;
    void *result;
    pthread_create(&id, NULL, wait_for_ever, NULL);
    sleep_ms(HELD_MS);
    pthread_cancel(id);
    pthread_join(id, &result);
    EXPECT(result == PTHREAD_CANCELED, 1);
    EXPECT(pthread_mutex_lock(&plain), 0);
}

/* ---- a fight */

static pthread_mutex_t of_handlers = PTHREAD_MUTEX_INITIALIZER;
static std::atomic<bool> is_over;
static __thread volatile bool is_in_handler_lock;

/* No program should, many do. The thread's own use of the lock is not interrupted by it. */
static void on_alarm(int) {
    int saved = errno;
    if (!is_in_handler_lock) {
        pthread_mutex_lock(&of_handlers);
        pthread_mutex_unlock(&of_handlers);
    }
    errno = saved;
}

static void fight_once() {
    for (volatile int i = 0; i < 500; i = i + 1) {}
    pthread_mutex_lock(&plain);
    for (volatile int i = 0; i < 2000; i = i + 1) {}
    pthread_mutex_unlock(&plain);
    is_in_handler_lock = true;
    pthread_mutex_lock(&of_handlers);
    pthread_mutex_unlock(&of_handlers);
    is_in_handler_lock = false;
}

__attribute__((noinline)) static void wait_once() {
    std::atomic<pid_t> waiter{0};
    pthread_mutex_lock(&adaptive);
    std::thread t([&] {
        waiter = gettid();
        pthread_mutex_lock(&adaptive);
        pthread_mutex_unlock(&adaptive);
    });
    while (waiter == 0) sleep_ms(1);
    until_it_sleeps(waiter);
    sleep_ms(1); /* longer than any that is left out */
    pthread_mutex_unlock(&adaptive);
    t.join();
}

static void fight() {
    struct sigaction a = {};
    a.sa_handler = on_alarm;
    a.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &a, NULL);
    itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, NULL);
    std::thread fighters[4];
    for (auto &f : fighters)
        f = std::thread([] {
            while (!is_over) fight_once();
        });
    for (int i = 0; i < 10; i++) {
        sleep_ms(30);
        pid_t pid = fork();
        if (pid == 0) {
            wait_once();
            exit(0);
        }
        int status = 1;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
        if (status != 0) n_bad++, printf("a child ended with %x\n", status);
    }
    is_over = true;
    for (auto &f : fighters) f.join();
}

static void calls(const char *file) {
    char part[1024];
    snprintf(part, sizeof part, "%s.part", file);
    EXPECT(vt_contention_stop(), -ENOENT);
    EXPECT(vt_contention_dump(part), -ENOENT);
    MUTEX(plain, wait_plain);
    EXPECT(vt_contention_start("/nowhere/at/all"), -ENOENT);
    EXPECT(vt_contention_start(file), 0);
    EXPECT(vt_contention_start(file), -EBUSY);
    EXPECT(vt_label_push("request", "slow one"), 0);
    MUTEX(plain, wait_timed);
    vt_label_pop();
    EXPECT(vt_contention_dump(part), 0);
    MUTEX(plain, wait_clock);
    EXPECT(vt_contention_stop(), 0);
    MUTEX(plain, wait_plain);
}

int main(int argc, char **argv) {
    make_mutexes();
    if (argc == 2 && strcmp(argv[1], "kinds") == 0) kinds();
    if (argc == 2 && strcmp(argv[1], "once") == 0) wait_once();
    if (argc == 2 && strcmp(argv[1], "answers") == 0) answers();
    if (argc == 2 && strcmp(argv[1], "fight") == 0) fight();
    if (argc == 3 && strcmp(argv[1], "calls") == 0) calls(argv[2]);
    return n_bad != 0;
}
