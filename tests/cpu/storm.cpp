/* storm.cpp - everything at once that has hung or crashed CPU profilers: threads that come and go, fork, vfork, dlopen and dlclose,
 * exceptions, setjmp, handlers on alternate stacks, SIGPROF held back, deep recursion, labels that change in all of these, and the
 * profiler itself on and off.
 *
 *     storm SECONDS PLUGIN       exits 0; the main thread ends it if nothing moves, or one thing does not end, for a minute
 *
 * Known cases: a tick inside dl_iterate_phdr while dlopen holds its lock (gperftools issues 1583, 1210), a tick while a thread
 * begins or ends (1306), a late tick while its thread changes its label.
 */
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

extern "C" int ProfilerStart(const char *) __attribute__((weak));
extern "C" void ProfilerStop(void) __attribute__((weak));
extern "C" void ProfilerFlush(void) __attribute__((weak));
extern "C" int vt_label_push(const char *, const char *) __attribute__((weak));
extern "C" void vt_label_pop(void) __attribute__((weak));

static std::atomic<bool> is_over{false};
static std::atomic<int> n_done{0}; /* threads that have seen that it is over */
static std::atomic<pid_t> child{0};
static const char *plugin;
static volatile unsigned long sink;

static void burn() {
    for (int i = 0; i < 3000; i++) sink = sink * 31 + 7;
}

/* Inside a handler the library may be at work below, and then refuses. */
static bool push(const char *key, const char *value) {
    return vt_label_push != nullptr && vt_label_push(key, value) == 0;
}

struct labelled {
    bool is_pushed;
    labelled(const char *key, const char *value) : is_pushed(push(key, value)) {}
    ~labelled() {
        if (is_pushed) vt_label_pop();
    }
};

__attribute__((noinline)) static int deep(int n) {
    volatile char room[64];
    room[0] = static_cast<char>(n);
    if (n == 0) burn();
    return n == 0 ? 0 : deep(n - 1) + room[0];
}

__attribute__((noinline)) static void thrower(int n) {
    std::string held(100, 'x');
    if (n == 0) throw std::runtime_error("as planned");
    if (n % 5 != 0) return thrower(n - 1);
    labelled l("depth", n % 2 == 0 ? "even" : "odd"); /* profiles show 16 at most */
    thrower(n - 1);
}

static void exceptions() {
    try {
        thrower(20);
    } catch (const std::runtime_error &) {}
}

static void libraries() {
    void *l = dlopen(plugin, RTLD_NOW);
    if (l == nullptr) _exit(9);
    auto work = reinterpret_cast<int (*)(int)>(dlsym(l, "storm_plugin"));
    sink = static_cast<unsigned long>(work(200));
    dlclose(l);
}

static void *short_thread(void *) {
    labelled l("thread", "short");
    burn();
    return nullptr;
}

static void *exiting_thread(void *) {
    labelled l("thread", "exiting");
    burn();
    pthread_exit(nullptr);
}

static void births() {
    pthread_t id[3];
    for (int i = 0; i < 3; i++)
        if (pthread_create(&id[i], nullptr, i == 1 ? exiting_thread : short_thread, nullptr) != 0)
            _exit(10);
    for (pthread_t t : id) pthread_join(t, nullptr);
}

static void forks() {
    pid_t pid = fork();
    if (pid == 0) {
        {
            labelled l("process", "child");
            burn();
        }
        if (getppid() % 3 == 0) births();
        _exit(0);
    }
    int status = 0;
    child = pid;
    bool is_awaited = waitpid(pid, &status, 0) == pid;
    child = 0;
    if (is_awaited && status != 0) {
        fprintf(stderr, "a child ended with status %x\n", status);
        _exit(11);
    }
    pid = vfork();
    if (pid == 0) _exit(0);
    waitpid(pid, &status, 0);
}

static void on_usr(int) {
    labelled l("signal", "usr1");
    burn();
}

/* A handler for the profiler's own signal: ticks are not for it. What is sent while one is pending is lost. */
static thread_local unsigned long n_sent, n_seen;
static void on_prof(int) { n_seen++; }

static void jumps() {
    static thread_local sigjmp_buf here;
    static thread_local bool is_pushed;
    if (sigsetjmp(here, 1) == 0) {
        is_pushed = push("jump", "before");
        deep(20);
        siglongjmp(here, 1);
    }
    if (is_pushed) vt_label_pop();
}

static void handlers() {
    alignas(16) static thread_local char room[65536];
    stack_t alternate = {}, none = {};
    alternate.ss_sp = room;
    alternate.ss_size = sizeof room;
    none.ss_flags = SS_DISABLE;
    sigaltstack(&alternate, nullptr);
    for (int i = 0; i < 5; i++) pthread_kill(pthread_self(), SIGUSR1);
    n_sent++;
    pthread_kill(pthread_self(), SIGPROF);
    if (n_seen > n_sent || (n_sent == 1000 && n_seen < 500)) {
        fprintf(stderr, "a handler of our own was called %lu times for %lu signals\n", n_seen,
                n_sent);
        _exit(14);
    }
    burn();
    sigaltstack(&none, nullptr);
}

static void held_back() {
    sigset_t prof, before;
    sigemptyset(&prof);
    sigaddset(&prof, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &prof, &before);
    for (int i = 0; i < 20; i++) burn();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

static void memory() {
    void *p[64];
    for (size_t i = 0; i < 64; i++) p[i] = malloc(i * 97 + 1);
    for (void *q : p) free(q);
    deep(600);
}

/* Each thread's work is labelled with its function: storm.py compares the two. */
#define KIND(function)                                                                             \
    {                                                                                              \
#function, function, { 0 }                                                                 \
    }
static struct {
    const char *name;
    void (*work)();
    std::atomic<unsigned long> n_turns;
} kinds[] = {KIND(exceptions), KIND(libraries), KIND(births),    KIND(forks),
             KIND(jumps),      KIND(handlers),  KIND(held_back), KIND(memory)};
static const int N_KINDS = sizeof kinds / sizeof kinds[0];

static void *turn(void *arg) {
    auto &kind = kinds[reinterpret_cast<size_t>(arg)];
    while (!is_over) {
        labelled l("kind", kind.name);
        kind.work();
        kind.n_turns++;
    }
    n_done++;
    return nullptr;
}

static unsigned long all_turns() {
    unsigned long n = 0;
    for (auto &k : kinds) n += k.n_turns;
    return n;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    time_t end = time(nullptr) + atoi(argv[1]);
    plugin = argv[2];
    struct sigaction a = {};
    a.sa_handler = on_usr;
    a.sa_flags = SA_ONSTACK | SA_RESTART;
    sigaction(SIGUSR1, &a, nullptr);
    signal(SIGPROF, on_prof);
    pthread_t id[N_KINDS];
    for (size_t i = 0; i < N_KINDS; i++)
        pthread_create(&id[i], nullptr, turn, reinterpret_cast<void *>(i));
    unsigned long before = 0;
    time_t moved = time(nullptr);
    bool has_calls = ProfilerStart != nullptr && getenv("STORM_SWITCHES") != nullptr;
    for (int i = 0; time(nullptr) < end; i++) {
        usleep(50000);
        if (has_calls && i % 4 == 0) ProfilerStop();
        if (has_calls && i % 4 == 1) ProfilerStart("storm.prof");
        if (has_calls && i % 4 == 2) ProfilerFlush();
        if (all_turns() != before) before = all_turns(), moved = time(nullptr);
        if (time(nullptr) > moved + 60) {
            fprintf(stderr, "nothing moves any more\n");
            abort();
        }
    }
    is_over = true;
    for (int i = 0; i < 600 && n_done < N_KINDS; i++) usleep(100000);
    if (n_done < N_KINDS) {
        fprintf(stderr, "%d threads never end%s\n", N_KINDS - n_done,
                child > 0 ? ", nor a child" : "");
        if (child > 0) kill(child, SIGKILL);
        _exit(13);
    }
    for (pthread_t t : id) pthread_join(t, nullptr);
    printf("turns:");
    for (auto &k : kinds) printf(" %s %lu", k.name, k.n_turns.load());
    printf("\n");
    for (auto &k : kinds)
        if (k.n_turns == 0) return 12;
    return 0;
}
