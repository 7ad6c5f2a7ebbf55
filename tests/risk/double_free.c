/* double_free.c - one block is freed twice, in every order of three living threads.
 *
 * A owns the block, B and C are others; each acts when it is told to, so that every run has the same order. A case is a first free,
 * what happens in between, a second free, and what happens then:
 *
 *     a b c    that thread frees the block; A frees some others after it
 *     S        B and C send home what they keep of A's
 *     l        A collects what others sent, while it refills another class
 *     f        A frees another block
 *     r        A refills the class of the block, but takes no more of it than needed for that
 *
 * In the end all threads allocate until every free block must have been handed out. The case runs in a child. It ends by an abort
 * with one line that names the block, and it is told at which step; or it goes on, and then no block may be live twice. Where the
 * block was handed out again before the second free, nobody can know that this one is wrong: such a case is moot.
 *
 *     double_free [exact]     exact: each is to be found at the second free. The table says when they were found.
 */
#include "risk.h"

#include <semaphore.h>

enum { N_FILLERS = 40, N_FILL_TURNS = 4, N_KNOWN = 4, N_LIVE = 1 << 16 };
enum { LIVE_TWICE = 3, MOOT = 4 };

static struct shared {
    void *p;
    int step; /* how many frees were made, and 3 at the end */
} * shared;

static size_t n_bytes;
static bool
    is_written; /* the program writes into its blocks; else a link that was there stays there */

/* ---- what is live, as the program has it */
static void *live[N_LIVE];
static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t live_slot(const void *p) {
    size_t i = ((uintptr_t)p >> 4) * 0x9E3779B97F4A7C15u >> 48;
    while (live[i] != NULL && live[i] != p) i = (i + 1) % N_LIVE;
    return i;
}
static bool is_live(const void *p) { return live[live_slot(p)] == p; }

static void *take(size_t n) {
    void *p = malloc(n);
    MUST(p != NULL);
    pthread_mutex_lock(&live_lock);
    size_t i = live_slot(p);
    if (live[i] != NULL) _exit(LIVE_TWICE);
    live[i] = p;
    pthread_mutex_unlock(&live_lock);
    if (is_written) memset(p, 0x5a, n < 32 ? n : 32);
    return p;
}

static void forget(const void *p) {
    size_t i = live_slot(p);
    if (live[i] == NULL) return;
    live[i] = NULL;
    for (size_t j = (i + 1) % N_LIVE; live[j] != NULL; j = (j + 1) % N_LIVE) {
        void *moved = live[j]; /* it may belong where the gap is now */
        live[j] = NULL;
        live[live_slot(moved)] = moved;
    }
}

/* Blocks that were freed once, the one this is about not among them. */
static void *freed[N_LIVE];
static int n_freed;

static void give(void *p) {
    forget(p);
    freed[n_freed++] = p;
    free(p);
}
static bool was_freed(const void *p) {
    for (int i = 0; i < n_freed; i++)
        if (freed[i] == p) return true;
    return false;
}

/* ---- the threads */
struct agent {
    pthread_t id;
    sem_t go, done;
    void (*job)(struct agent *me);
    void *fillers[N_FILL_TURNS][N_FILLERS];
    int n_fills;
};
static struct agent agents[3];
static struct agent *const A = &agents[0], *const B = &agents[1], *const C = &agents[2];
static void *known[N_KNOWN]; /* freed by A after the block */
static void *another;

static void *act(void *arg) {
    struct agent *me = arg;
    for (;;) {
        sem_wait(&me->go);
        if (me->job == NULL) return NULL;
        me->job(me);
        sem_post(&me->done);
    }
}
static void tell(struct agent *who, void (*job)(struct agent *me)) {
    who->job = job;
    if (who == A && who->id == 0) {
        job(who); /* the first thread of the process */
        return;
    }
    sem_post(&who->go);
    sem_wait(&who->done);
}
static void begin(struct agent *who) {
    sem_init(&who->go, 0, 0);
    sem_init(&who->done, 0, 0);
    MUST(pthread_create(&who->id, NULL, act, who) == 0);
}
static void end(struct agent *who) {
    if (who->id == 0) return;
    who->job = NULL;
    sem_post(&who->go);
    pthread_join(who->id, NULL);
}

/* ---- what they do */
static int n_many(void) { return n_bytes > 100000 ? 8 : n_bytes > 4000 ? 40 : 1500; }

static void make_blocks(struct agent *me) {
    (void)me;
    take(n_bytes); /* its neighbour */
    shared->p = take(n_bytes);
    for (int i = 0; i < N_KNOWN; i++) known[i] = take(n_bytes);
    another = take(n_bytes);
    for (int i = 0; i < N_FILL_TURNS && n_bytes <= 65536; i++)
        for (int k = 0; k < N_FILLERS; k++) {
            B->fillers[i][k] = take(n_bytes);
            C->fillers[i][k] = take(n_bytes);
        }
}
static void get_a_heap(struct agent *me) {
    (void)me;
    give(take(40));
}
static void free_it(struct agent *me) {
    forget(shared->p);
    free(shared->p);
    for (int i = 0; i < N_KNOWN && me == A; i++) {
        if (known[i] != NULL) give(known[i]);
        known[i] = NULL;
    }
}
static void send_home(struct agent *me) {
    int turn = me->n_fills++;
    for (int k = 0; k < N_FILLERS && n_bytes <= 65536; k++) give(me->fillers[turn][k]);
}
static void free_another(struct agent *me) {
    (void)me;
    if (another != NULL) give(another);
    another = NULL;
}
static void refill_another(struct agent *me) {
    (void)me;
    for (int i = 0; i < n_many(); i++) take(n_bytes + n_bytes / 2 + 16);
}
/* Until the first block comes that was freed before: then the others that were are at hand. */
static void refill(struct agent *me) {
    (void)me;
    for (int i = 0; i < n_many(); i++)
        if (was_freed(take(n_bytes))) return;
}
static void take_all(struct agent *me) {
    (void)me;
    for (int i = 0; i < n_many(); i++) take(n_bytes);
}

static void step(char what) {
    switch (what) {
    case 'a': tell(A, free_it); break;
    case 'b': tell(B, free_it); break;
    case 'c': tell(C, free_it); break;
    case 'f': tell(A, free_another); break;
    case 'l': tell(A, refill_another); break;
    case 'r': tell(A, refill); break;
    case 'S':
        tell(B, send_home);
        tell(C, send_home);
        break;
    }
}

static void settle(void) {
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 3; i++) tell(&agents[i], take_all);
        step('S');
        step('l');
        tell(A, take_all);
    }
    end(B);
    end(C);
    tell(A, take_all);
    end(A);
}

/* In the child. */
static int commit(const char *before, const char *after, bool owner_is_first) {
    if (!owner_is_first) begin(A);
    begin(B);
    begin(C);
    for (int i = 0; i < 3; i++) tell(&agents[i], get_a_heap);
    tell(A, make_blocks);
    step(before[0]);
    shared->step = 1;
    for (before++; before[1] != '\0'; before++) step(before[0]);
    if (is_live(shared->p)) return MOOT;
    shared->step = 2;
    step(before[0]);
    shared->step = 3;
    for (; *after != '\0'; after++) step(*after);
    shared->step = 4;
    settle();
    return 0;
}

/* ---- all of them */
static struct {
    int n, moot, at_once, later, in_the_end, unnamed, never, live_twice, strange;
} seen[8];

#define NEAR "vitrine: error: double free near 0x"

/* What the child said: one line about the block? */
static bool is_about_it(const char *said) {
    char twice[64], damaged[64];
    snprintf(twice, sizeof twice, "vitrine: error: double free of %p: ", shared->p);
    snprintf(damaged, sizeof damaged, "vitrine: error: free list corrupted at %p: ", shared->p);
    const char *line_end = strchr(said, '\n');
    return line_end != NULL && line_end[1] == '\0' &&
           (strncmp(said, twice, strlen(twice)) == 0 ||
            strncmp(said, damaged, strlen(damaged)) == 0);
}

static void run(int row, const char *before, const char *after, bool owner_is_first) {
    char said[1024];
    int fds[2], status;
    ssize_t got, n = 0;
    MUST(pipe(fds) == 0);
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        dup2(fds[1], 2);
        close(fds[0]);
        close(fds[1]);
        alarm(60);
        _exit(commit(before, after, owner_is_first));
    }
    close(fds[1]);
    while (n < (ssize_t)sizeof said - 1 && (got = read(fds[0], said + n, sizeof said - 1 - n)) > 0)
        n += got;
    said[n] = '\0';
    close(fds[0]);
    MUST(waitpid(child, &status, 0) == child);
    seen[row].n++;
    if (strncmp(said, NEAR, strlen(NEAR)) == 0 && strchr(said, '\n')[1] == '\0') {
        seen[row].unnamed++; /* it is not known which block of the slab it was */
        return;
    }
    bool is_found = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && is_about_it(said);
    if (is_found && shared->step >= 2) {
        if (shared->step == 2) seen[row].at_once++;
        if (shared->step == 3) seen[row].later++;
        if (shared->step == 4) seen[row].in_the_end++;
        return;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == MOOT) {
        seen[row].moot++;
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        seen[row].never++;
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == LIVE_TWICE) {
        seen[row].live_twice++;
        if (seen[row].live_twice <= 3)
            check_say("%zu bytes, %s then '%s': a block is live twice", n_bytes, before, after);
    } else {
        seen[row].strange++;
        if (seen[row].strange <= 3)
            check_say("%zu bytes, %s then '%s': expected one line about %p, saw %s, step %d: %s",
                      n_bytes, before, after, shared->p, how_ended(status), shared->step, said);
    }
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {16, 64, 1000, 1024, 5000, 60000, 200000};
    static const char *const between[] = {"", "S", "Sl", "r", "Sr", "lSr", "rf"};
    static const char *const then[] = {"", "Sl", "r", "rS"};
    bool is_exact = argc > 1 && strcmp(argv[1], "exact") == 0;
    char before[8];
    require_preloaded();
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(shared != MAP_FAILED);
    printf("%8s %6s %6s %8s %8s %8s %8s %8s %8s %8s\n", "bytes", "cases", "moot", "at once",
           "later", "at last", "unnamed", "never", "strange", "twice");
    for (int row = 0; row < 7; row++) {
        n_bytes = sizes[row];
        for (unsigned i = 0; i < 9 * 7 * 4 * 2; i++) {
            unsigned order = i / 2 / 4 / 7;
            snprintf(before, sizeof before, "%c%s%c", "abc"[order % 3], between[i / 8 % 7],
                     "abc"[order / 3]);
            is_written = (i + i / 8) % 2 == 0;
            run(row, before, then[i / 2 % 4], /* owner_is_first */ i % 2 == 0);
        }
        printf("%8zu %6d %6d %8d %8d %8d %8d %8d %8d %8d\n", n_bytes, seen[row].n, seen[row].moot,
               seen[row].at_once, seen[row].later, seen[row].in_the_end, seen[row].unnamed,
               seen[row].never, seen[row].strange, seen[row].live_twice);
        fflush(stdout);
        CHECK_EQ(seen[row].live_twice, 0);
        CHECK_EQ(seen[row].strange, 0);
        if (is_exact) CHECK_EQ(seen[row].at_once + seen[row].moot, seen[row].n);
    }
    return CHECK_DONE();
}
