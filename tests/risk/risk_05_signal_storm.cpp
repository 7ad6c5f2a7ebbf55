/* risk_05_signal_storm.cpp - profiling signals at 4 kHz and more, while the program is in all the
 * wrong places.
 *
 *     risk_05_signal_storm PLUGIN.so
 *
 * Each thread has its own timer as a CPU profiler would set it, and one thread fires tgkill on top.
 * The threads allocate, load and unload a library, throw exceptions, fork. The handler itself does
 * nothing that is not allowed in one. What may go wrong is ours: a system call that a signal cuts
 * short, a lock spun on by the wrong side, the unwinder meeting a frame of the allocator.
 */
#include "risk.h"

#include <atomic>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <sys/syscall.h>
#include <vector>

namespace {

enum { N_THREADS = 4 };
const char *plugin;
std::atomic<long> n_signals, n_thrown, n_loaded, n_forked, n_done;
pid_t tids[N_THREADS];

extern "C" void on_signal(int) {
    int saved = errno;
    volatile char frame[512]; /* as deep as an unwinder's state */
    for (size_t i = 0; i < sizeof frame; i += 64) frame[i] = 1;
    n_signals.fetch_add(1, std::memory_order_relaxed);
    errno = saved;
}

timer_t start_timer() {
    timer_t timer;
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    itimerspec every = {{0, 250000}, {0, 250000}};
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    MUST(timer_settime(timer, 0, &every, nullptr) == 0);
    return timer;
}

void allocate(uint64_t *rng) {
    std::vector<std::vector<unsigned char>> kept;
    for (int i = 0; i < 200; i++) {
        uint64_t r = next_random(rng);
        kept.emplace_back(8 + (r >> 8) % (r % 32 ? 700 : 300000), static_cast<unsigned char>(r));
        if (kept.back().front() != static_cast<unsigned char>(r))
            CHECK_EQ(kept.back().front(), (unsigned char)r);
    }
}

[[noreturn]] void throw_deep(int depth, const std::string &text) {
    std::string longer = text + std::to_string(depth) + "........................";
    if (depth == 0) throw std::runtime_error(longer);
    throw_deep(depth - 1, longer);
}

void exceptions() {
    for (int i = 0; i < 50; i++) try {
            throw_deep(10, "x");
        } catch (const std::runtime_error &e) {
            CHECK_EQ(e.what()[0], 'x');
            n_thrown++;
        }
}

void load_library() {
    void *lib = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    if (!CHECK_NOT_NULL(lib)) return;
    auto take = reinterpret_cast<void *(*)(size_t)>(dlsym(lib, "plugin_take"));
    void *p = take(5000);
    CHECK_EQ(dlclose(lib), 0);
    free(p);
    n_loaded++;
}

void fork_child(uint64_t *rng) {
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        alarm(60);
        allocate(rng);
        _exit(0);
    }
    if (pid < 0 && errno == EAGAIN)
        return; /* the kernel gave up on a fork that was cut short too often */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (!CHECK_EQ(status, 0)) check_say("child of fork: %s", how_ended(status));
    n_forked++;
}

extern "C" void *work(void *arg) {
    long self = reinterpret_cast<intptr_t>(arg), turns = soak(60, 3000);
    uint64_t rng = 1 + static_cast<uint64_t>(self);
    tids[self] = static_cast<pid_t>(syscall(SYS_gettid));
    timer_t timer = start_timer();
    for (long i = 0; i < turns; i++) {
        allocate(&rng);
        exceptions();
        load_library();
        if (i % 4 == 0) fork_child(&rng);
    }
    timer_delete(timer);
    n_done++;
    return nullptr;
}

extern "C" void *shoot(void *) {
    const timespec pause = {0, 100000};
    while (n_done.load() < N_THREADS) {
        for (pid_t tid : tids)
            if (tid) syscall(SYS_tgkill, getpid(), tid, SIGPROF);
        nanosleep(&pause, nullptr);
    }
    return nullptr;
}

} // namespace

int main(int argc, char **argv) {
    pthread_t id[N_THREADS], shooter;
    struct sigaction act = {};
    require_preloaded();
    MUST(argc == 2);
    plugin = argv[1];
    act.sa_handler = on_signal;
    act.sa_flags = SA_RESTART;
    MUST(sigaction(SIGPROF, &act, nullptr) == 0);
    for (long i = 0; i < N_THREADS; i++)
        MUST(pthread_create(&id[i], nullptr, work, reinterpret_cast<void *>(i)) == 0);
    MUST(pthread_create(&shooter, nullptr, shoot, nullptr) == 0);
    for (pthread_t t : id) CHECK_EQ(pthread_join(t, nullptr), 0);
    CHECK_EQ(pthread_join(shooter, nullptr), 0);
    check_say("%ld signals, %ld exceptions, %ld loads, %ld forks", n_signals.load(),
              n_thrown.load(), n_loaded.load(), n_forked.load());
    CHECK_TRUE(n_signals.load() > 1000);
    CHECK_TRUE(n_loaded.load() == N_THREADS * soak(60, 3000));
    CHECK_TRUE(n_forked.load() > 0);
    return CHECK_DONE();
}
