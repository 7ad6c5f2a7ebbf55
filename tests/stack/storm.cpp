/* storm.cpp - walks from signals at a high rate while the program is in all the wrong places.
 *
 *     storm LIBRARY.so LIBRARY2.so SECONDS
 *
 * Every thread has a timer of 4 kHz whose handler walks the interrupted stack and puts it into the depot. Meanwhile threads
 * load and unload libraries, throw exceptions, fork, walk by themselves, and are born and end all the time. All of them
 * allocate, with one sample for every 4 KiB, and one writes profiles and switches exact mode on and off. Nothing may hang or crash,
 * every stack must be in the depot as it was taken, errno must stay, and when all is freed no sample is left.
 *
 * The other half is storm.c, which calls the library from inside, or storm_preloaded.c, where it is the program's malloc.
 */
#include <atomic>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdexcept>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "storm.h"

namespace {

const char *plugin_path[2];
time_t deadline;
std::atomic<long> n_thrown, n_loaded, n_born, n_forked;

/* After SECONDS, or later on a machine that has not given us the time for what storm_report wants to see. */
constexpr int PATIENCE = 60;
bool is_over() {
    time_t late = time(nullptr) - deadline;
    if (late < 0) return false;
    bool has_all = n_thrown > 0 && n_loaded > 0 && n_born > 0 && storm_has_enough();
    return has_all || late >= PATIENCE;
}

extern "C" void on_tick(int, siginfo_t *, void *uc) { storm_tick(uc); }

struct Timer {
    timer_t id;
    Timer() {
        sigevent event = {};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGPROF;
        event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
        itimerspec every = {{0, 250000}, {0, 250000}};
        timer_create(CLOCK_MONOTONIC, &event, &id);
        timer_settime(id, 0, &every, nullptr);
    }
    ~Timer() { timer_delete(id); }
};

[[noreturn]] void throw_deep(int depth, const std::string &text) {
    std::string longer = text + std::to_string(depth);
    if (depth == 0) throw std::runtime_error(longer);
    throw_deep(depth - 1, longer);
}

void exceptions() {
    for (int i = 0; i < 20; i++) try {
            throw_deep(12, "x");
        } catch (const std::runtime_error &) {
            n_thrown++;
        }
}

extern "C" void called_back(void *) {
    storm_here();
    storm_allocate();
    std::vector<std::string> v(10, std::string(100, 'y'));
    __asm__ volatile("" ::"r"(&v) : "memory");
}

void libraries(int which) {
    void *lib = dlopen(plugin_path[which & 1], RTLD_NOW | RTLD_LOCAL);
    if (lib == nullptr) return;
    auto run = reinterpret_cast<void (*)(int, void (*)(void *), void *)>(dlsym(lib, "plugin_run"));
    run(10, called_back, nullptr);
    storm_unloading();
    dlclose(lib);
    storm_unloaded();
    n_loaded++;
}

void *short_life(void *arg) {
    Timer t;
    exceptions();
    storm_here();
    storm_allocate();
    storm_thread_ends();
    return arg;
}

void fork_child() {
    pid_t pid = fork();
    int status = 0;
    if (pid == 0) {
        alarm(60);
        for (int i = 0; i < 50; i++) storm_here();
        for (int i = 0; i < 20; i++) storm_allocate();
        storm_profile(0);
#ifndef VT_FLAVOUR_asan /* its malloc may have been locked by another thread when we forked */
        exceptions();
#endif
        _exit(storm_is_good() ? 0 : 1);
    }
    if (pid < 0) return; /* interrupted too often */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (status != 0) storm_failed("a child of fork");
    n_forked++;
}

void *load(void *arg) {
    Timer t;
    for (int i = 0; !is_over(); i++) libraries(i);
    return arg;
}
void *throw_on(void *arg) {
    Timer t;
    while (!is_over()) {
        exceptions();
        for (int i = 0; i < 100; i++) storm_here();
        for (int i = 0; i < 10; i++) storm_allocate();
    }
    return arg;
}
void *profile(void *arg) {
    Timer t;
    for (int i = 1; !is_over(); i++) {
        storm_profile(i);
        storm_allocate();
        usleep(5000);
    }
    return arg;
}
void *bear(void *arg) {
    Timer t;
    while (!is_over()) {
        pthread_t id;
        if (pthread_create(&id, nullptr, short_life, nullptr) != 0) continue;
        pthread_join(id, nullptr);
        if (++n_born % 16 == 0) fork_child();
    }
    return arg;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    plugin_path[0] = argv[1];
    plugin_path[1] = argv[2];
    int seconds = atoi(argv[3]);
    deadline = time(nullptr) + seconds;
    alarm(static_cast<unsigned>(seconds) * 4 + 60 + PATIENCE); /* a hang ends by SIGALRM */
    struct sigaction act = {};
    act.sa_sigaction = on_tick;
    act.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGPROF, &act, nullptr);
    storm_begin();
    void *(*const jobs[])(void *) = {load, load, throw_on, bear, profile};
    pthread_t id[5];
    for (int i = 0; i < 5; i++) pthread_create(&id[i], nullptr, jobs[i], nullptr);
    for (pthread_t t : id) pthread_join(t, nullptr);
    printf("%ld exceptions, %ld loads, %ld threads, %ld forks\n", n_thrown.load(), n_loaded.load(),
           n_born.load(), n_forked.load());
    if (n_thrown == 0 || n_loaded == 0 || n_born == 0) storm_failed("nothing was going on");
    return storm_report();
}
