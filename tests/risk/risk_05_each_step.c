/* risk_05_each_step.c - a signal after every instruction of malloc and free, and a handler that allocates.
 *
 * The processor's own single step sends SIGTRAP, so nothing is left to the luck of a timer: the handler comes while each lock is
 * held and each list is half changed. Its blocks are large: they always take a slow path, and never the few instructions of the
 * fast one in which no allocator can bear a handler. Inside another slow path its malloc has to answer NULL and its free has to be
 * put off; elsewhere both work. The alternative is to wait for the code it interrupted, or to change a list under its hands.
 */
#include "risk.h"

#if !defined(__x86_64__)
int main(void) {
    check_say("skipped: the program steps itself on x86-64 only");
    return CHECK_SKIPPED;
}
#else

#include <signal.h>

#include "step.h"

enum { HELD = 8, HANG_SECONDS = 240 };

/* ---- the handler ---- */

static struct held {
    uint64_t *block;
    uint64_t stamp;
    size_t last; /* word of the block */
} held[HELD];

static struct { long n_steps, n_refused, n_served, n_damaged; } count;

static void let_go(struct held *h) {
    if (h->block == NULL) return;
    if (h->block[0] != h->stamp || h->block[h->last] != ~h->stamp) count.n_damaged++;
    free(h->block);
    h->block = NULL;
}

static void take(struct held *h, size_t n_bytes) {
    h->block = malloc(n_bytes);
    if (h->block == NULL) {
        count.n_refused++;
        return;
    }
    count.n_served++;
    h->stamp = (uint64_t)count.n_steps;
    h->last = n_bytes / sizeof *h->block - 1;
    h->block[0] = h->stamp;
    h->block[h->last] = ~h->stamp;
}

static void on_step(int number) {
    int saved = errno;
    long n = count.n_steps++;
    (void)number;
    let_go(&held[n % HELD]);
    take(&held[n % HELD], KiB(80) + (size_t)(n % 5) * KiB(48));
    errno = saved;
}

static void on_alarm(int number) {
    static const char text[] = "a handler inside malloc or free waits for ever\n";
    (void)number;
    _exit(write(2, text, sizeof text - 1) > 0 ? 1 : 2);
}

/* ---- what it interrupts ---- */

/* No block that is cleared or copied whole: each byte would be a step. */
static const struct {
    size_t n_bytes, align, resized; /* 0: not aligned, not resized */
    bool is_cleared;
} kinds[] = {
    {8, 0, 0, false},        {24, 0, 0, true},           {100, 64, 0, false},
    {1000, 0, 0, true},      {1500, 0, 0, true},         {6000, 4096, 0, false},
    {20000, 0, 0, false},    {60000, 0, 0, false},       {100000, 0, 70000, false},
    {100000, 0, 200, false}, {300000, MiB(1), 0, false}, {900000, 0, 450000, false},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds, PATTERN = 200 };

static unsigned char *blocks[N_KINDS];

static size_t pattern(unsigned i) {
    return kinds[i].n_bytes < PATTERN ? kinds[i].n_bytes : PATTERN;
}

static void check_block(unsigned i) { CHECK_EQ(intact(blocks[i], pattern(i), i), pattern(i)); }

static void allocate_all(void) {
    for (unsigned i = 0; i < N_KINDS; i++) {
        size_t n = kinds[i].n_bytes, align = kinds[i].align;
        if (kinds[i].is_cleared)
            STEPPED(blocks[i] = calloc(1, n));
        else if (align != 0)
            STEPPED(blocks[i] = memalign(align, n));
        else
            STEPPED(blocks[i] = malloc(n));
        MUST(blocks[i] != NULL);
        if (kinds[i].is_cleared) CHECK_EQ(first_nonzero(blocks[i], n), n);
        if (align != 0) CHECK_ALIGNED(blocks[i], align);
        fill(blocks[i], pattern(i), i);
    }
}

static void resize_all(void) {
    for (unsigned i = 0; i < N_KINDS; i++) {
        if (kinds[i].resized == 0) continue;
        STEPPED(blocks[i] = realloc(blocks[i], kinds[i].resized));
        MUST(blocks[i] != NULL);
        check_block(i);
    }
}

static void free_all(void) {
    for (unsigned i = 0; i < N_KINDS; i++) {
        check_block(i);
        STEPPED(free(blocks[i]));
    }
}

/* A thread's first malloc gets it a heap. */
static void *work(void *unused) {
    allocate_all();
    resize_all();
    return unused;
}

/* Blocks of one class until their slabs are full, then free: lists run dry and overflow. */
static void fill_and_empty(void) {
    enum { N = 20 };
    static void *many[N];
    for (unsigned i = 0; i < N; i++) STEPPED(many[i] = malloc(5000));
    for (unsigned i = 0; i < N; i++) STEPPED(free(many[i]));
}

static size_t in_use(void) {
    free(malloc(MiB(1))); /* whatever a handler's free left to do */
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

static void install(int number, void (*handler)(int)) {
    struct sigaction act = {.sa_handler = handler};
    MUST(sigaction(number, &act, NULL) == 0);
}

int main(void) {
    pthread_t id;
    require_preloaded();
    install(SIGALRM, on_alarm);
    alarm(HANG_SECONDS);
    for (int i = 0; i < 100; i++)
        free(malloc(MiB(4))); /* threads of the library's own begin, with signals blocked */
    size_t before = in_use();
    install(SIGTRAP, on_step);
    MUST(pthread_create(&id, NULL, work, NULL) == 0);
    CHECK_EQ(pthread_join(id, NULL), 0);
    free_all(); /* another thread's */
    allocate_all();
    free_all();
    fill_and_empty();
    for (unsigned i = 0; i < HELD; i++) let_go(&held[i]);
    check_say("%ld steps: %ld blocks for the handler, %ld refused", count.n_steps, count.n_served,
              count.n_refused);
    CHECK_TRUE(count.n_refused > 1000);
    CHECK_TRUE(count.n_served > 1000);
    CHECK_EQ(count.n_damaged, 0);
    CHECK_LE(in_use(), before + KiB(64)); /* nothing that was put off is lost */
    return CHECK_DONE();
}
#endif
