/* risk_25_exit_race.cpp - the process ends while eight threads are in the middle of malloc and
 * free.
 *
 * The program runs itself a thousand times, each time ending in another way: return from main,
 * exit, exit from a thread, quick_exit, _exit, pthread_exit of main. Static destructors and atexit
 * handlers free and allocate meanwhile. Every run must end with the status it chose; a hang is
 * ended after a minute and counts.
 */
#include "risk.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace {

enum { N_WORKERS = 8, STATUS = 17 };
std::vector<std::unique_ptr<std::string>> at_static_end; /* destroyed while the threads go on */
std::atomic<int> n_running;
std::atomic<void *> passed[64];

extern "C" void *worker(void *arg) {
    uint64_t rng = reinterpret_cast<uintptr_t>(arg) + 1;
    n_running++;
    for (;;) {
        uint64_t r = next_random(&rng);
        size_t n = 1 + (r >> 8) % (r % 100 ? 800 : 200000);
        void *p = r % 4 ? malloc(n) : calloc(1, n);
        if (p) *static_cast<volatile char *>(p) = 1;
        free(passed[r % 64].exchange(p));
        if (r % 50 == 0) free(realloc(malloc(100), 5000));
    }
    return nullptr;
}

void at_end() {
    for (auto &p : passed) free(p.exchange(nullptr));
    free(malloc(100000));
    std::string s(1000, 'x');
    if (s.size() != 1000) abort();
}

extern "C" void *ender(void *) { exit(STATUS); }

int end_somehow(int how, unsigned pause) {
    pthread_t id;
    for (int i = 0; i < 200; i++) at_static_end.push_back(std::make_unique<std::string>(50, 'y'));
    atexit(at_end);
    at_quick_exit(at_end);
    for (long i = 0; i < N_WORKERS; i++)
        if (pthread_create(&id, nullptr, worker, reinterpret_cast<void *>(i))) _exit(1);
    while (n_running.load() < 2) sched_yield();
    for (volatile unsigned i = 0; i < pause; i = i + 1) {}
    switch (how) {
    case 0: return STATUS;
    case 1: exit(STATUS);
    case 2: quick_exit(STATUS);
    case 3: _exit(STATUS);
    case 4:
        pthread_create(&id, nullptr, ender, nullptr);
        pause = 0;
        for (;;) free(malloc(10));
    default: pthread_create(&id, nullptr, ender, nullptr); pthread_exit(nullptr);
    }
}

void run_once(const char *self, int how, unsigned pause) {
    char how_text[12], pause_text[12];
    snprintf(how_text, sizeof how_text, "%d", how);
    snprintf(pause_text, sizeof pause_text, "%u", pause);
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        execl(self, self, how_text, pause_text, static_cast<char *>(nullptr));
        _exit(127);
    }
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
    if (!CHECK_EQ(status, STATUS << 8))
        check_say("way %d out: expected exit status %d, seen %s", how, STATUS, how_ended(status));
}

} // namespace

int main(int argc, char **argv) {
    uint64_t rng = 25;
    if (argc == 3) return end_somehow(atoi(argv[1]), static_cast<unsigned>(atoi(argv[2])));
    require_preloaded();
    char *self = realpath("/proc/self/exe", nullptr);
    long n = soak(1000, 20000);
    for (long i = 0; i < n; i++)
        run_once(self, static_cast<int>(i % 6), static_cast<unsigned>(next_random(&rng) % 300000));
    free(self);
    (void)argv;
    return CHECK_DONE();
}
