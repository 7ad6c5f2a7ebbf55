/* test_unwind.c - walks with the memo and without are the same; broken stacks end, and nothing faults. */
#include "unit.h"

#include <sys/time.h>
#include <ucontext.h>

#include "base/base.h"

#include "stack/unwind.c"

#define KEEP_FRAME(x) __asm__ volatile("" ::"r"(x) : "memory") /* no tail call, no merging */

static struct vt_frames with_memo, without;

/* Both from one place: a walker that is busy is left alone. */
__attribute__((noinline)) static void walk_twice(void) {
    for (volatile int i = 0; i < 2; i++) { /* one call site, so that the frames are equal */
        if (i == 1) {
            atomic_store(&mine->is_busy, true);
            with_memo = without;
        }
        vt__stack_here(&without);
        if (i == 1) atomic_store(&mine->is_busy, false);
    }
    KEEP_FRAME(&without);
}

/* The id by a walk, of the same stack once more, and without the memo. */
static vt_stack_id last_id;
__attribute__((noinline)) static void ids_are_equal(void) {
    vt_stack_id id[3];
    for (volatile int i = 0; i < 3; i++) {
        if (i == 2) atomic_store(&mine->is_busy, true);
        id[i] = vt__stack_id_here(&without, NULL);
    }
    atomic_store(&mine->is_busy, false);
    assert_int_equal(id[0], id[2]);
    assert_int_equal(id[1], id[2]);
    last_id = id[2];
}

static void both_are_equal(void) {
    walk_twice();
    assert_int_equal(with_memo.n, without.n);
    assert_memory_equal(with_memo.pc, without.pc, without.n * sizeof(without.pc[0]));
    assert_true(with_memo.hash == without.hash);
    assert_true(without.hash == vt__frames_hash(without.pc, without.n));
}

/* ---- random call trees ---- */

static uint64_t rng = 12345;
typedef void tree_function(unsigned depth);
static tree_function small, large, with_alloca, many_registers;
static tree_function *const tree[] = {small, large, with_alloca, many_registers};
static unsigned long n_leaves;

__attribute__((noinline)) static void go_on(unsigned depth) {
    uint64_t r = unit_random(&rng);
    if (depth == 0 || r % 16 == 0) {
        both_are_equal();
        if (++n_leaves % 8 == 0) ids_are_equal();
        return;
    }
    for (uint64_t i = 0; i <= (r >> 8) % 2; i++) tree[unit_random(&rng) % 4](depth - 1);
    KEEP_FRAME(&r);
}
__attribute__((noinline)) static void small(unsigned depth) {
    go_on(depth);
    KEEP_FRAME(depth);
}
__attribute__((noinline)) static void large(unsigned depth) {
    volatile char room[3000];
    room[depth] = 1;
    go_on(depth);
    KEEP_FRAME(room);
}
__attribute__((noinline)) static void with_alloca(unsigned depth) {
    volatile char *room = __builtin_alloca(16 + unit_random(&rng) % 500);
    room[0] = 1;
    go_on(depth);
    KEEP_FRAME(room);
}
__attribute__((noinline)) static void many_registers(unsigned depth) {
    unsigned long a = depth, b = a * 3, c = a * 5, d = a * 7, e = a * 11, f = a * 13;
    go_on(depth);
    KEEP_FRAME(a + b);
    KEEP_FRAME(c + d);
    KEEP_FRAME(e + f);
}

TEST(unwind, walks_with_the_memo_are_those_without_it) {
    struct vt_stack_stats s;
    for (int i = 0; i < (UNIT_HAS_SHADOW ? 200 : 3000); i++)
        small((unsigned)(unit_random(&rng) % 25));
    vt__stack_stats(&s);
    assert_true(n_leaves > 200);
    assert_int_equal(s.n_walks, 2 * n_leaves + n_leaves / 8 * 3);
    assert_true_msg(s.n_memo_hits > n_leaves * 9 / 10, "expected mostly memo hits, seen %lu of %lu",
                    (unsigned long)s.n_memo_hits, n_leaves);
    assert_int_equal(s.ended[VT_END_OUTERMOST], s.n_walks);
}

/* ---- stacks like the one before ---- */

static unsigned long n_changed; /* memos that got other pcs, and were not made anew */

static void ids_are_equal_here(void) {
    ids_are_equal();
    n_changed += mine->frames_are == mine->n_memos;
}

__attribute__((noinline)) static void three_ways(unsigned depth, uint64_t path) {
    if (depth == 0) {
        ids_are_equal_here();
        return;
    }
    /* what is kept after each keeps them apart */
    if (path % 3 == 0) {
        three_ways(depth - 1, path / 3);
        KEEP_FRAME(depth);
    } else if (path % 3 == 1) {
        three_ways(depth - 1, path / 3);
        KEEP_FRAME(depth + 1);
    } else {
        three_ways(depth - 1, path / 3);
        KEEP_FRAME(depth + 2);
    }
}

TEST(unwind, other_calls_in_the_same_functions_have_ids_of_their_own) {
    enum { N_PATHS = 6561 };
    struct vt_stack_stats s;
    for (int i = 0; i < (UNIT_HAS_SHADOW ? 500 : 20000); i++)
        three_ways(8, unit_random(&rng) % N_PATHS);
    vt__stack_stats(&s);
    /* each path is a stack for each of the three calls */
    assert_true(s.n_stacks > 400 && s.n_stacks <= 3 * N_PATHS);
    assert_int_equal(s.ended[VT_END_OUTERMOST], s.n_walks);
#if !UNIT_HAS_SHADOW /* a sanitizer's code differs from call to call */
    assert_true(n_changed > 15000);
#endif
}

/* Two frames of different sizes, in this order or the other: the innermost sp is the same, and nothing in between. */
static void (*next_way[2])(unsigned);
__attribute__((noinline)) static void way_in(unsigned i) {
    if (i == 2)
        ids_are_equal_here();
    else
        next_way[i](i);
    KEEP_FRAME(i);
}
__attribute__((noinline)) static void way_of_16(unsigned i) {
    way_in(i + 1);
    KEEP_FRAME(i);
}
__attribute__((noinline)) static void way_of_1000(unsigned i) {
    volatile char room[1000];
    room[i] = 1;
    way_in(i + 1);
    KEEP_FRAME(room);
}

TEST(unwind, frames_of_other_sizes_are_no_likeness) {
    for (int i = 0; i < 200; i++) {
        uint64_t r = unit_random(&rng);
        next_way[0] = r % 2 == 0 ? way_of_16 : way_of_1000;
        next_way[1] = r % 2 != 0 ? way_of_16 : way_of_1000;
        way_in(0);
    }
}

/* The same with frames whose size only the frame pointer knows. The room is full of what looks like a call that led here. */
static uintptr_t looks_like;
static unsigned n_words[2];
__attribute__((noinline)) static void with_words(unsigned i, bool other) {
    if (i == 2) {
        ids_are_equal_here();
        return;
    }
    volatile uintptr_t *room = __builtin_alloca(8 * n_words[i]);
    for (unsigned k = 0; k < n_words[i]; k++) room[k] = looks_like;
    if (other) {
        with_words(i + 1, other);
        KEEP_FRAME(room);
    } else {
        with_words(i + 1, other);
        KEEP_FRAME(room + 1);
    }
}

/* ---- call paths that take turns ---- */

static vt_stack_id id_by_turns;

#define PATH(name, bytes)                                                                          \
    __attribute__((noinline)) static void name(unsigned path, unsigned level) {                    \
        char room[bytes];                                                                          \
        KEEP_FRAME(room);                                                                          \
        if (level == 0)                                                                            \
            id_by_turns = vt__stack_id_here(&without, NULL);                                       \
        else if (path % 2 == 0)                                                                    \
            wide_path(path / 2, level - 1);                                                        \
        else                                                                                       \
            narrow_path(path / 2, level - 1);                                                      \
        KEEP_FRAME(room);                                                                          \
    }
static void wide_path(unsigned path, unsigned level);
static void narrow_path(unsigned path, unsigned level);
PATH(wide_path, 200)
PATH(narrow_path, 24)

/* Once they are known, no frame of theirs is walked again. */
TEST(unwind, call_paths_that_take_turns_are_recalled) {
    enum { N = 64, LEVELS = 6 };
    vt_stack_id id[N];
    struct vt_stack_stats before, after;
    for (int turn = 0; turn < 10; turn++) {
        bool is_forgotten = turn == 9;
        if (is_forgotten) vt__stack_modules_changed(); /* what was known of code */
        vt__stack_stats(&before);
        for (unsigned i = 0; i < N; i++) {
            wide_path(i, LEVELS);
            if (turn == 0) id[i] = id_by_turns;
            assert_int_equal(id_by_turns, id[i]);
        }
        vt__stack_stats(&after);
        if (turn > 2 && !is_forgotten) assert_int_equal(after.n_frames, before.n_frames);
        if (is_forgotten) assert_true(after.n_frames > before.n_frames);
        assert_int_equal(after.n_walks, before.n_walks + N);
    }
    for (unsigned i = 0; i < N; i++)
        for (unsigned k = 0; k < i; k++) assert_true(id[i] != id[k]);
}

TEST(unwind, words_that_look_like_return_addresses_are_not_taken_for_them) {
    const uintptr_t *pc;
    for (unsigned depth = 0; depth < 5; depth++) { /* whichever frame's it is */
        for (int i = 0; i < 20; i++) {
            n_words[0] = i % 2 == 0 ? 8 : 40;
            n_words[1] = i % 2 != 0 ? 8 : 40;
            with_words(0, i % 2 != 0);
            assert_true(vt__depot_get(last_id, &pc) > depth);
            if (i % 2 == 0) looks_like = pc[depth];
        }
    }
}

__attribute__((noinline)) static void recurse(unsigned depth) {
    if (depth == 0)
        both_are_equal();
    else
        recurse(depth - 1);
    KEEP_FRAME(depth);
}

TEST(unwind, stacks_deeper_than_the_limit_are_cut_at_it) {
    struct vt_stack_stats s;
    recurse(30);
    unsigned n_others = without.n - 31;
    assert_true(n_others < 40);
    for (unsigned depth = 200; depth < 300; depth++) {
        unsigned n = depth + 1 + n_others;
        recurse(depth);
        assert_int_equal(without.n, n < VT_STACK_MAX_FRAMES ? n : VT_STACK_MAX_FRAMES);
    }
    recurse(5);
    assert_int_equal(without.n, 6 + n_others);
    vt__stack_stats(&s);
    assert_true(s.ended[VT_END_LIMIT] > 0);
}

TEST(unwind, after_a_generation_the_memo_is_not_used) {
    struct vt_stack_stats before, after;
    recurse(3);
    vt__stack_stats(&before);
    vt__stack_modules_changed();
    recurse(3);
    vt__stack_stats(&after);
    assert_int_equal(after.n_memo_hits, before.n_memo_hits);
    assert_true(after.n_rule_misses > before.n_rule_misses);
}

/* ---- signals ---- */

#if !UNIT_HAS_SHADOW /* sanitizers wrap handlers, and put off signals */
static struct vt_frames of_context, in_handler;
static uintptr_t interrupted_pc;

static void on_signal(int sig, siginfo_t *info, void *uc) {
    (void)sig;
    (void)info;
    interrupted_pc = (uintptr_t)((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP];
    vt__stack_of_context(uc, &of_context);
    vt__stack_here(&in_handler);
    KEEP_FRAME(&in_handler);
}

static void through_a_signal(int flags) {
    struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};
    sigaction(SIGUSR1, &act, NULL);
    raise(SIGUSR1);
    assert_true(of_context.n > 3);
    assert_true(of_context.pc[0] == interrupted_pc);
    /* the handler and its restorer, and then the same */
    unsigned skip = in_handler.n - of_context.n;
    assert_true_msg(skip >= 2 && skip <= 4,
                    "expected 2 to 4 frames more in the handler, seen %u and %u", in_handler.n,
                    of_context.n);
    assert_memory_equal(in_handler.pc + skip, of_context.pc, of_context.n * sizeof(uintptr_t));
}

TEST(unwind, a_handler_s_stack_goes_on_with_what_it_interrupted) { through_a_signal(0); }

TEST(unwind, so_does_that_of_a_handler_on_its_own_stack) {
    static char room[65536] __attribute__((aligned(16)));
    stack_t alt = {.ss_sp = room, .ss_size = sizeof(room)};
    assert_int_equal(sigaltstack(&alt, NULL), 0);
    through_a_signal(SA_ONSTACK);
    through_a_signal(SA_ONSTACK);
}

/* ---- one instruction at a time ---- */

static volatile bool is_stepping;
static struct vt_frames outer;
static unsigned n_steps, n_wrong;
static uintptr_t wrong_at;

/* Whatever was called meanwhile, what is outside of step_through is as it was. */
static void on_step(int sig, siginfo_t *info, void *uc) {
    (void)sig;
    (void)info;
    if (!is_stepping) return;
    vt__stack_of_context(uc, &of_context);
    unsigned n = outer.n - 1;
    n_steps++;
    if (of_context.n > n &&
        memcmp(&of_context.pc[of_context.n - n], &outer.pc[1], n * sizeof(uintptr_t)) == 0)
        return;
    if (n_wrong++ == 0) wrong_at = of_context.pc[0];
}

/* The processor traps after each instruction while its trap flag is set. */
__attribute__((noinline)) static void step_through(void (*act)(void)) {
    struct sigaction on = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &on, NULL);
    vt__stack_here(&outer);
    is_stepping = true;
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    act();
    is_stepping = false;
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* The first call goes through the PLT to ld.so, which looks the function up: it keeps its frame in a register that rules do
 * not follow, so that full.c must. */
static void call_libc(void) {
    int numbers[] = {3, 1, 2};
    KEEP_FRAME(getpgid(0) + getsid(0));
    qsort(numbers, 3, sizeof(numbers[0]), by_value);
    KEEP_FRAME(numbers);
}

TEST(unwind, every_instruction_of_a_call_has_its_callers) {
    for (int i = 0; i < 2; i++) {
        n_steps = 0;
        step_through(call_libc);
        assert_true_msg(n_steps > 200, "expected some hundred instructions, seen %u", n_steps);
        assert_true_msg(n_wrong == 0, "expected 0 wrong of %u, seen %u; the first at %#lx", n_steps,
                        n_wrong, (unsigned long)wrong_at);
    }
}

static _Atomic unsigned n_ticks;
static void on_tick(int sig, siginfo_t *info, void *uc) {
    (void)sig;
    (void)info;
    int saved = errno;
    errno = 4711;
    vt__stack_of_context(uc, &of_context);
    vt__stack_here(&in_handler);
    n_ticks += errno == 4711 && of_context.n > 2 && in_handler.n > of_context.n;
    errno = saved;
}

TEST(unwind, signals_that_interrupt_walks_leave_them_right) {
    struct sigaction act = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct itimerval t = {{0, 200}, {0, 200}};
    struct vt_frames first;
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &t, NULL);
    for (unsigned i = 0; n_ticks < 1000; i++) {
        struct vt_frames f;
        vt__stack_here(&f);
        if (i == 0) first = f;
        assert_int_equal(f.n, first.n);
        assert_true(f.hash == first.hash);
    }
    t = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &t, NULL);
}
#endif

/* ---- broken stacks ---- */

static void walk_from(uintptr_t pc, uintptr_t sp, uintptr_t fp) {
    ucontext_t uc = {0};
    static struct vt_frames f;
    uc.uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
    uc.uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
    uc.uc_mcontext.gregs[REG_RBP] = (greg_t)fp;
    vt__stack_of_context(&uc, &f);
    assert_true(f.n >= 1 && f.n <= VT_STACK_MAX_FRAMES);
}

TEST(unwind, stacks_of_garbage_end_and_are_counted) {
    struct vt_stack_stats s;
    static uintptr_t room[4096];
    void *guarded =
        mmap(NULL, 3 * VT_OS_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(guarded != MAP_FAILED);
    mprotect((char *)guarded + VT_OS_PAGE, VT_OS_PAGE, PROT_NONE);
    both_are_equal();
    const uintptr_t code[] = {(uintptr_t)walk_from, (uintptr_t)recurse, (uintptr_t)raise,
                              (uintptr_t)qsort,     (uintptr_t)printf,  (uintptr_t)go_on};
    for (int round = 0; round < (UNIT_HAS_SHADOW ? 2000 : 30000); round++) {
        for (size_t i = 0; i < vt_countof(room); i += 1 + unit_random(&rng) % 50) {
            uint64_t r = unit_random(&rng);
            room[i] = r % 3 == 0   ? code[r / 8 % vt_countof(code)] + r / 64 % 300
                      : r % 3 == 1 ? (uintptr_t)&room[r / 8 % vt_countof(room)]
                                   : r;
        }
        const uintptr_t places[] = {(uintptr_t)&room[unit_random(&rng) % vt_countof(room)],
                                    (uintptr_t)guarded + VT_OS_PAGE - 64,
                                    (uintptr_t)guarded + VT_OS_PAGE + 64,
                                    unit_random(&rng),
                                    0,
                                    (uintptr_t)&room[7] + 3,
                                    UINTPTR_MAX - 7};
        uint64_t r = unit_random(&rng);
        walk_from(r % 8 == 0 ? r : code[r % vt_countof(code)] + r / 64 % 300,
                  places[r / 8 % vt_countof(places)], places[r / 128 % vt_countof(places)]);
    }
    both_are_equal();
    vt__stack_stats(&s);
    assert_true(s.ended[VT_END_UNREADABLE] > 100);
    assert_true(s.ended[VT_END_NO_MODULE] > 100);
}

__attribute__((noinline)) static uintptr_t pc_of_caller(void) {
    return (uintptr_t)__builtin_return_address(0);
}
__attribute__((noinline)) static uintptr_t pc_with_frame_pointer(size_t n_bytes) {
    volatile char *room = __builtin_alloca(n_bytes);
    room[0] = 1;
    uintptr_t pc = pc_of_caller();
    KEEP_FRAME(room);
    return pc;
}

TEST(unwind, a_frame_that_leads_to_itself_is_the_last) {
    static uintptr_t room[16];
    struct vt_stack_stats s;
    room[8] = (uintptr_t)&room[8];
    room[9] = pc_with_frame_pointer(40);
    walk_from(room[9], (uintptr_t)room, room[8]);
    vt__stack_stats(&s);
    assert_int_equal(s.ended[VT_END_LOOP], 1);
    assert_int_equal(s.n_frames, 2);
}

/* ---- other stacks, threads ---- */

/* sub $8, %rsp; call *%rdi; add $8, %rsp; ret: as a compiler makes it while the program runs, with no tables. */
static const unsigned char generated[] = {0x48, 0x83, 0xec, 8, 0xff, 0xd7,
                                          0x48, 0x83, 0xc4, 8, 0xc3};
#define BEHIND_THE_CALL 6

TEST(unwind, generated_code_is_the_last_that_is_told) {
    struct vt_stack_stats s;
    void (*run)(void (*)(void));
    char *at = mmap(NULL, VT_OS_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    memcpy(at, generated, sizeof(generated));
    assert_int_equal(mprotect(at, VT_OS_PAGE, PROT_READ | PROT_EXEC), 0);
    *(void **)&run = at;
    recurse(3);
    unsigned n = without.n;
    for (int i = 0; i < 3; i++) {
        run(both_are_equal);
        assert_in_range(without.n, 2, 3); /* walk_twice may be part of its caller */
        assert_int_equal(without.pc[without.n - 1], (uintptr_t)at + BEHIND_THE_CALL);
    }
    vt__stack_stats(&s);
    assert_int_equal(s.ended[VT_END_NO_MODULE], 6);
    munmap(at, VT_OS_PAGE);
    recurse(3);
    assert_int_equal(without.n, n);
}

static ucontext_t main_context, coroutine;
static void run_coroutine(void) {
    for (int i = 0; i < 100; i++) {
        both_are_equal();
        swapcontext(&coroutine, &main_context);
    }
}

TEST(unwind, coroutines_are_walked_to_their_first_function) {
    static char room[262144] __attribute__((aligned(16)));
#if UNIT_HAS_SHADOW
    skip(); /* a sanitizer wants to be told of other stacks */
#endif
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = room;
    coroutine.uc_stack.ss_size = sizeof(room);
    coroutine.uc_link = &main_context;
    makecontext(&coroutine, run_coroutine, 0);
    for (int i = 0; i < 100; i++) {
        struct vt_stack_stats s;
        recurse(3);
        unsigned n = without.n;
        swapcontext(&main_context, &coroutine);
        assert_true(without.n >= 3 && without.n < n);
        vt__stack_stats(&s);
        /* makecontext's first function has tables, but not for the byte before it, where a call would be */
        assert_int_equal(s.ended[VT_END_OUTERMOST] + s.ended[VT_END_NO_RULE], s.n_walks);
    }
}

static void *walk_in_thread(void *arg) {
    recurse(10);
    vt__stack_thread_ends();
    struct vt_frames f; /* a destructor that mallocs later */
    vt__stack_here(&f);
    assert_true(f.n >= 2 && f.hash == vt__frames_hash(f.pc, f.n));
    return arg;
}

/* A context of our own: what a handler would be given. */
static void *walk_by_context(void *is_told) {
    ucontext_t here;
    struct vt_frames f;
    getcontext(&here);
    vt__stack_of_context(&here, &f);
    assert_null(mine); /* nobody would hear of our end */
    if (is_told != NULL) vt__stack_thread_is_watched();
    for (int i = 0; i < 20;
         i++) /* a sanitizer's thread has more above its stack than one extends to */
        vt__stack_of_context(&here, &f);
    assert_int_equal(mine != NULL, is_told != NULL);
    if (is_told == NULL) return NULL;
    assert_true(mine->base_lo <= (uintptr_t)&f && (uintptr_t)&f < mine->base_hi);
    vt__stack_thread_ends();
    vt__stack_of_context(&here, &f);
    assert_true(mine == NO_MORE);
    return NULL;
}

TEST(unwind, handlers_take_walkers_only_where_the_thread_s_end_will_be_told) {
    for (int i = 0; i < 50; i++) unit_in_thread(walk_by_context, i % 2 == 0 ? "told" : NULL);
    assert_true(atomic_load(&pool.n) <= 2);
}

TEST(unwind, threads_that_end_leave_their_walkers_to_others) {
    for (int i = 0; i < 50; i++) unit_in_thread(walk_in_thread, NULL);
    assert_true(atomic_load(&pool.n) <= 2);
}

TEST_WITH(unwind, without_memory_for_walkers_walks_are_right_all_the_same,
          "VITRINE_FAIL_ALWAYS=reserve") {
    struct vt_frames f;
    vt__stack_here(&f);
    assert_null(mine);
    assert_true(f.n >= 3 && f.hash == vt__frames_hash(f.pc, f.n));
}

UNIT_MAIN()
