/* mmap.c - a program that maps memory by itself, at known places, splits and replaces it at random, and says what is left.
 *
 *     mmap SEED      prints "FUNCTION BYTES" for each place, and ends by exit
 *
 * An arena of addresses is kept by system calls that nobody sees, so that nobody else is given what is unmapped in it.
 */
#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PAGE 4096u
enum { PAGES = 400, NOTHING = 0, OF_ONE, OF_TWO };

static char *arena;
static unsigned char owner[PAGES];
static uint64_t rng;

static unsigned random_below(unsigned n) {
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(rng >> 33) % n;
}

static void keep_addresses(void *at, size_t n_bytes) {
    syscall(SYS_mmap, at, n_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L);
}

#define NOT_INLINED __attribute__((noinline, noclone))
#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")

NOT_INLINED static void *map_one(void *at, size_t n_bytes) {
    void *p =
        mmap(at, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    NO_TAIL_CALL;
    return p;
}

void *mmap64(void *at, size_t n_bytes, int prot, int flags, int fd, off_t offset);

NOT_INLINED static void *map_two(void *at, size_t n_bytes) {
    void *p = mmap64(at, n_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    NO_TAIL_CALL;
    return p;
}

NOT_INLINED static void *move(void *at, size_t old_bytes, size_t new_bytes) {
    void *p = mremap(at, old_bytes, new_bytes, MREMAP_MAYMOVE);
    NO_TAIL_CALL;
    return p;
}

NOT_INLINED static void *raise_break(intptr_t n_bytes) {
    void *p = sbrk(n_bytes);
    NO_TAIL_CALL;
    return p;
}

NOT_INLINED static void *map_file(int fd, size_t n_bytes) {
    void *p = mmap(NULL, n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    NO_TAIL_CALL;
    return p;
}

static void set(unsigned page, unsigned n, unsigned char to) { memset(owner + page, to, n); }

/* The mapping at this page grows, and goes elsewhere; its old place is free. Gives the bytes it has now. */
static size_t move_away(unsigned page) {
    unsigned n = 1;
    while (page + n < PAGES && owner[page + n] == owner[page] && n < 3) n++;
    void *p = move(arena + page * PAGE, n * PAGE, (n + 400) * PAGE);
    if (p == MAP_FAILED) return 0; /* it was more than one mapping to the kernel */
    keep_addresses(arena + page * PAGE, n * PAGE);
    set(page, n, NOTHING);
    return (n + 400) * PAGE;
}

static size_t play(int n_steps) {
    size_t moved_bytes = 0;
    for (int i = 0; i < n_steps; i++) {
        unsigned page = random_below(PAGES - 30), n = 1 + random_below(30);
        char *at = arena + page * PAGE;
        switch (random_below(6)) {
        case 0:
        case 1:
            CHECK_EQ((uintptr_t)map_one(at, n * PAGE - 100), (uintptr_t)at);
            set(page, n, OF_ONE);
            break;
        case 2:
            CHECK_EQ((uintptr_t)map_two(at, n * PAGE), (uintptr_t)at);
            set(page, n, OF_TWO);
            break;
        case 3:
        case 4:
            CHECK_EQ(munmap(at, n * PAGE), 0);
            keep_addresses(at, n * PAGE);
            set(page, n, NOTHING);
            break;
        default:
            if (i % 10 == 0 && owner[page] != NOTHING) moved_bytes += move_away(page);
        }
    }
    return moved_bytes;
}

static void check_errors(void) {
    errno = 0;
    CHECK_EQ((intptr_t)mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), -1);
    CHECK_EQ(errno, EINVAL);
    CHECK_EQ((intptr_t)mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0), -1);
    CHECK_EQ(errno, EBADF);
    CHECK_EQ(munmap(arena, 0), -1);
    CHECK_EQ(errno, EINVAL);
    CHECK_EQ(munmap(arena + 1, PAGE), -1);
    CHECK_EQ(errno, EINVAL);
    CHECK_EQ((intptr_t)mremap(arena, PAGE, 0, 0), -1);
    CHECK_EQ(errno, EINVAL);
    errno = 123;
    void *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK_EQ(munmap(p, PAGE), 0);
    CHECK_EQ(errno, 123);
}

static void on_tick(int number) {
    (void)number;
    void *p = mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) munmap(p, 3 * PAGE);
}

static size_t pages_of(unsigned char who) {
    size_t n = 0;
    for (unsigned i = 0; i < PAGES; i++) n += owner[i] == who;
    return n;
}

int main(int argc, char **argv) {
    rng = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    arena = (char *)syscall(SYS_mmap, NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                            -1, 0L);
    check_errors();
    size_t moved_bytes = play(3000);
    int fd = open("/proc/self/exe", O_RDONLY);
    void *file = map_file(fd, 5 * PAGE);
    CHECK_TRUE(file != MAP_FAILED);
    char *before = sbrk(0);
    CHECK_EQ((uintptr_t)raise_break(100000), (uintptr_t)before);
    CHECK_EQ((uintptr_t)sbrk(-30000), (uintptr_t)before + 100000);
    CHECK_EQ(brk(before + 60000), 0);
    CHECK_EQ((uintptr_t)sbrk(0), (uintptr_t)before + 60000);
    /* a handler that maps may come in the middle of a call that is being recorded */
    signal(SIGALRM, on_tick);
    ualarm(200, 200);
    moved_bytes += play(3000);
    ualarm(0, 0);
    pid_t child = fork();
    if (child == 0) _exit(munmap(arena, PAGES * PAGE) == 0 ? 0 : 1);
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    printf("map_one %zu\nmap_two %zu\nmove %zu\nmap_file %u\nraise_break 60000\n",
           pages_of(OF_ONE) * PAGE, pages_of(OF_TWO) * PAGE, moved_bytes, 5 * PAGE);
    return CHECK_DONE();
}
