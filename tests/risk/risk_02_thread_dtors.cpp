/* risk_02_thread_dtors.cpp - threads whose last acts, in every order, allocate and free.
 *
 * A thread ends in stages: C++ thread_local destructors, then the pthread keys, up to four rounds
 * while they keep being set. The allocator's own key is one of them, so malloc and free also come
 * after it let go of the thread. Some keys here are made in preinit_array, before the allocator can
 * have made its own, some after it. Each thread uses another permutation of the stages. Checked:
 * contents of every block, that all destructors ran, and that memory does not grow with the number
 * of threads (a heap that is attached again after its end must be given up again).
 */
#include "risk.h"

#include <atomic>

namespace {

enum { N_KEYS = 6, ROUNDS = 3, N_PASSED = 16 };

pthread_key_t keys[N_KEYS]; /* 0..2 older than the allocator's key, 3..5 younger */
std::atomic<unsigned char *> passed[N_PASSED]; /* blocks that outlive their thread */
std::atomic<long> n_key_calls, n_object_ends;

struct note { /* what a key holds; the destructor frees it */
    unsigned key, round, seed;
    unsigned char body[200];
};

void exchange_block(unsigned seed) {
    unsigned char *fresh = static_cast<unsigned char *>(malloc(64 + seed % 900)), *old;
    if (!CHECK_NOT_NULL(fresh)) return;
    fill(fresh, 64, seed);
    memcpy(fresh + 48, &seed, sizeof seed);
    old = passed[seed % N_PASSED].exchange(fresh);
    if (!old) return;
    memcpy(&seed, old + 48, sizeof seed);
    CHECK_EQ(intact(old, 48, seed), 48);
    free(old);
}

void set_note(unsigned key, unsigned round, unsigned seed) {
    note *n = static_cast<note *>(seed % 2 ? malloc(sizeof(note)) : calloc(1, sizeof(note)));
    if (!CHECK_NOT_NULL(n)) return;
    n->key = key, n->round = round, n->seed = seed;
    fill(n->body, sizeof n->body, seed);
    free(pthread_getspecific(keys[key])); /* a note that is replaced is nobody's any more */
    CHECK_EQ(pthread_setspecific(keys[key], n), 0);
}

extern "C" void end_note(void *arg) {
    note *n = static_cast<note *>(arg);
    unsigned key = n->key, round = n->round, seed = n->seed;
    CHECK_EQ(intact(n->body, sizeof n->body, seed), sizeof n->body);
    exchange_block(seed + key);
    if (seed % 3 == 0) { /* every third thread reallocates on its way out */
        n = static_cast<note *>(realloc(n, 3000));
        if (CHECK_NOT_NULL(n)) CHECK_EQ(intact(n->body, sizeof n->body, seed), sizeof n->body);
    }
    free(n);
    n_key_calls++;
    if (round < ROUNDS) set_note(key, round + 1, seed);
}

struct object { /* a C++ thread_local with a destructor */
    unsigned char *block = nullptr;
    unsigned seed = 0;
    void begin(unsigned s) {
        seed = s;
        block = new unsigned char[300 + s % 700];
        fill(block, 300, s);
    }
    ~object() {
        if (!block) return;
        CHECK_EQ(intact(block, 300, seed), 300);
        delete[] block;
        exchange_block(seed * 5);
        set_note(seed % N_KEYS, ROUNDS, seed);
        n_object_ends++;
    }
};
thread_local object first, second;

extern "C" void *live(void *arg) {
    unsigned seed = static_cast<unsigned>(reinterpret_cast<uintptr_t>(arg)), order = seed % 720;
    unsigned rest[N_KEYS] = {0, 1, 2, 3, 4, 5};
    void *p = seed % 7 ? malloc(100) : nullptr; /* some threads first allocate in a destructor */
    if (seed % 2) first.begin(seed);
    for (unsigned n = N_KEYS; n > 0; order /= n, n--) { /* the order-th permutation of the keys */
        unsigned at = order % n, key = rest[at];
        rest[at] = rest[n - 1];
        if ((seed >> key) % 5 < 3) set_note(key, seed % (ROUNDS + 1), seed);
    }
    if (seed % 3) second.begin(seed);
    free(p);
    return nullptr;
}

void make_keys(unsigned from, unsigned to) {
    for (unsigned k = from; k < to; k++)
        if (pthread_key_create(&keys[k], end_note)) abort();
}

void preinit(int, char **, char **) { make_keys(0, 3); }
__attribute__((section(".preinit_array"), used)) void (*preinit_entry)(int, char **,
                                                                       char **) = preinit;

void run(unsigned n_threads, unsigned *seed) {
    enum { AT_ONCE = 8 };
    for (unsigned done = 0; done < n_threads; done += AT_ONCE) {
        pthread_t id[AT_ONCE];
        for (pthread_t &t : id)
            MUST(pthread_create(&t, nullptr, live,
                                reinterpret_cast<void *>(static_cast<uintptr_t>((*seed)++))) == 0);
        for (pthread_t &t : id) CHECK_EQ(pthread_join(t, nullptr), 0);
    }
}

} // namespace

int main() {
    unsigned n = static_cast<unsigned>(soak(1000, 50000)), seed = 1;
    require_preloaded();
    make_keys(3, N_KEYS);
    run(n / 4, &seed); /* warm-up: everything that grows once has grown */
    long before = rss_kib();
    run(n, &seed);
    long grown = rss_kib() - before;
    check_say("%ld key destructors, %ld thread_local ends, RSS %ld KiB, grown by %ld KiB",
              n_key_calls.load(), n_object_ends.load(), before, grown);
    CHECK_TRUE(n_key_calls.load() > (long)n);
    CHECK_TRUE(n_object_ends.load() > (long)n / 2);
    CHECK_TRUE(grown < 2048); /* a lost page per thread would be 4000 KiB and more */
    return CHECK_DONE();
}
