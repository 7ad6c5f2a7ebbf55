/* forks.c - forks while threads allocate, and everything at once.
 *
 *   forks   children check and free what they inherited, allocate, start threads and fork again; the parent goes on
 *   mix     random operations, handovers, ending threads and forks, all in the same process at the same time
 */
#include "stress.h"

#include <sys/wait.h>

/* a sanitizer's own locks may be held at the fork, and it has no handler for that */
#if defined(VT_FLAVOUR_tsan) || defined(VT_FLAVOUR_asan)
#define CHILD_MAY_HAVE_THREADS 0
#else
#define CHILD_MAY_HAVE_THREADS 1
#endif

#define CHILD_SECONDS 60

static _Atomic bool is_enough;

static void *churn(void *i) {
    uint64_t rng = seed_of((uintptr_t)i);
    while (!atomic_load(&is_enough)) {
        uint64_t r = next_random(&rng);
        drop_block(swap_slot(r, new_block(some_size(r >> 16))));
    }
    return NULL;
}

static void *little(void *i) {
    uint64_t rng = seed_of((uintptr_t)i + 100);
    for (int k = 0; k < 200; k++) drop_block(new_block(some_size(next_random(&rng))));
    return NULL;
}

/* Frees of blocks whose threads exist only in the parent, then life goes on. */
static void be_child(uint64_t turn) {
    alarm(CHILD_SECONDS);
    empty_slots();
    little((void *)(uintptr_t)turn);
    if (CHILD_MAY_HAVE_THREADS && turn % 3 == 0) in_threads(2, little);
    if (turn % 5 == 0) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            alarm(CHILD_SECONDS);
            little(NULL);
            _exit(0);
        }
        if (waitpid(pid, &status, 0) != pid || status != 0)
            die("grandchild: expected status 0, seen 0x%x", (unsigned)status);
    }
    s_audit();
    _exit(0);
}

static void fork_once(uint64_t turn) {
    int status = -1;
    pid_t pid = fork();
    if (pid < 0) die("fork: expected a process");
    if (pid == 0) be_child(turn);
    if (waitpid(pid, &status, 0) != pid || status != 0)
        die("child: expected status 0, seen 0x%x", (unsigned)status);
}

static void *churn_or_fork(void *i) {
    if ((uintptr_t)i != 0) return churn(i);
    for (uint64_t turn = 0; turn < 40 && (turn < 3 || !atomic_load(&run.is_over)); turn++)
        fork_once(turn);
    atomic_store(&is_enough, true);
    return NULL;
}

static void run_forks(void) {
    atomic_store(&is_enough, false);
    in_threads(run.n_threads + 1, churn_or_fork);
    empty_slots();
}

const struct scenario forks_scenario = {"forks", run_forks, "fork while threads allocate"};

/* ---- mix ---- */

static void *run_of(void *scenario) {
    ((const struct scenario *)scenario)->run();
    return NULL;
}

static void run_mix(void) {
    static const struct scenario *const parts[] = {
        &random_scenario, &handover_scenario, &orphans_scenario, &late_scenario, &forks_scenario};
    pthread_t id[5];
    for (int i = 0; i < 5; i++)
        if (pthread_create(&id[i], NULL, run_of, (void *)(uintptr_t)parts[i]) != 0)
            die("pthread_create: expected 0");
    for (int i = 0; i < 5; i++) pthread_join(id[i], NULL);
    empty_slots();
}

const struct scenario mix_scenario = {"mix", run_mix, "all of the above at once"};
