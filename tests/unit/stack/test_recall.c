/* test_recall.c - what was learnt is found, and never for another stack; made-up stacks in an array. */
#include "unit.h"

#include "base/base.h"

#include "stack/recall.c"

#define N_WORDS 8192
#define MAX_DEPTH 40
#define N_FUNCTIONS 8
#define N_STACKS 3000

static uintptr_t memory[N_WORDS];
static struct vt_recall *recall;

/* A function has frames of one size, so that equal words lead to equal places. Odd ones have their size from a frame pointer. */
struct made_up {
    unsigned n, sp;
    unsigned char function[MAX_DEPTH], call[MAX_DEPTH];
    unsigned more[MAX_DEPTH]; /* words, of those with a frame pointer */
};

static unsigned frame_words(const struct made_up *m, unsigned i) {
    return 2 + m->function[i] * 3 + (m->function[i] % 2 == 1 ? m->more[i] : 0);
}

static uintptr_t pc_of(const struct made_up *m, unsigned i) {
    return 0x400000u + m->function[i] * 64u + m->call[i];
}

static uint64_t word(size_t step, uintptr_t what) { return (uint64_t)step << VT_STEP_SHIFT | what; }

/* Lays it out over what was there before, and says what is to be learnt of it. The frame pointer of a frame is saved where it
 * begins: below the return address of the next. */
static void lay_out(const struct made_up *m, struct vt_recall_stack *s, uint64_t words[]) {
    unsigned at = m->sp - 1, n_fps = 0;
    uint64_t fps[MAX_DEPTH];
    s->sp = (uintptr_t)&memory[m->sp];
    s->fp = 0;
    s->n_pcs = m->n;
    s->words = words;
    for (unsigned i = 0, step = 0; i < m->n; i++) {
        at += step;
        memory[at] = pc_of(m, i);
        words[i] = word(step, memory[at]);
        step = frame_words(m, i);
        if (m->function[i] % 2 != 1) continue;
        uintptr_t fp = (uintptr_t)&memory[at + step - 1];
        if (i == 0) {
            s->fp = fp;
        } else {
            memory[at - 1] = fp;
            fps[n_fps++] = word(at - 1 - m->sp, fp);
        }
    }
    s->n_fps = n_fps;
    for (unsigned i = 0; i < n_fps; i++) words[m->n + i] = fps[i];
}

static struct made_up random_stack(uint64_t *rng, unsigned n_calls, bool has_fps) {
    struct made_up m = {.n = 4 + (unsigned)(unit_random(rng) % (MAX_DEPTH - 4)),
                        .sp = 16 + (unsigned)(unit_random(rng) % 3) * 8};
    for (unsigned i = 0; i < m.n; i++) {
        m.function[i] = (unsigned char)(unit_random(rng) % N_FUNCTIONS);
        if (!has_fps) m.function[i] &= 0xfe;
        m.call[i] = (unsigned char)(unit_random(rng) % n_calls);
        m.more[i] = (unsigned)(unit_random(rng) % 3);
    }
    m.function[m.n - 1] = 0; /* the outermost is told by its pc alone */
    m.call[m.n - 1] = 63;
    return m;
}

static vt_stack_id find(const struct vt_recall_stack *s) {
    return vt__recall_find(recall, s->sp, s->fp, NULL);
}

/* Learns and asks in random order; what is found is always the stack that is there. */
static unsigned n_found_of(unsigned n_stacks, unsigned n_calls, bool has_fps) {
    static struct made_up all[N_STACKS];
    uint64_t rng = 7, words[2 * MAX_DEPTH];
    unsigned n_found = 0;
    struct vt_recall_stack s;
    if (recall != NULL) vt__recall_empty(recall);
    for (unsigned i = 0; i < n_stacks; i++) {
        all[i] = random_stack(&rng, n_calls, has_fps);
        lay_out(&all[i], &s, words);
        s.id = i + 1;
        vt_stack_id before = recall != NULL ? find(&s) : 0; /* by chance the same as one of these */
        assert_true(before == 0 || memcmp(&all[before - 1], &all[i], sizeof(all[i])) == 0);
        if (before == 0) vt__recall_learn(&recall, &s);
    }
    for (unsigned k = 0; k < 4 * n_stacks; k++) {
        unsigned i = (unsigned)(unit_random(&rng) % n_stacks);
        lay_out(&all[i], &s, words);
        vt_stack_id id = find(&s);
        n_found += id != 0;
        assert_true_msg(id == 0 || memcmp(&all[id - 1], &all[i], sizeof(all[i])) == 0,
                        "stack %u: expected it or nothing, seen %u", i, id - 1);
        s.id = i + 1;
        if (id == 0) vt__recall_learn(&recall, &s);
    }
    return n_found;
}

TEST(recall, what_was_learnt_is_found) {
    assert_int_equal(n_found_of(3, 2, false), 12);
    /* it becomes larger on the way, and learns again what it knew; but the sizes of frames do not depend on anything else */
    assert_true(n_found_of(N_STACKS, 3, false) > 3 * N_STACKS);
    assert_true(n_found_of(N_STACKS, 60, false) > 3 * N_STACKS);
}

TEST(recall, stacks_that_frame_pointers_lead_through_are_not_mixed_up) {
    (void)n_found_of(N_STACKS, 2, true);
    (void)n_found_of(N_STACKS, 60, true);
}

TEST(recall, another_frame_pointer_in_the_same_place_is_another_stack) {
    uint64_t words[2 * MAX_DEPTH];
    struct made_up m = {.n = 3, .sp = 16, .function = {0, 1, 0}};
    struct vt_recall_stack s;
    lay_out(&m, &s, words);
    s.id = 5;
    vt__recall_learn(&recall, &s);
    assert_int_equal(find(&s), 5);
    assert_int_equal(s.n_fps, 1);
    uintptr_t *saved = &memory[16 + (words[3] >> VT_STEP_SHIFT)];
    *saved += 8;
    assert_int_equal(find(&s), 0);
    *saved -= 8;
    assert_int_equal(find(&s), 5);
}

TEST(recall, a_word_that_differs_anywhere_is_another_stack) {
    uint64_t rng = 3, words[2 * MAX_DEPTH];
    struct made_up m = random_stack(&rng, 2, false);
    struct vt_recall_stack s;
    lay_out(&m, &s, words);
    s.id = 9;
    vt__recall_learn(&recall, &s);
    unsigned at = m.sp - 1;
    for (unsigned i = 0; i < m.n; i++) {
        at += (unsigned)(words[i] >> VT_STEP_SHIFT);
        memory[at] ^= 1;
        assert_int_equal(find(&s), 0);
        memory[at] ^= 1;
    }
    assert_int_equal(find(&s), 9);
    s.sp += 8;
    assert_int_equal(find(&s), 0);
}

/* More than it has room for: it gives up for a while, and takes no more memory. */
TEST(recall, more_stacks_than_it_holds_do_no_harm) {
    uint64_t rng = 11, words[2 * MAX_DEPTH];
    struct vt_recall_stack s;
    for (unsigned i = 0; i < 200000; i++) {
        struct made_up m = random_stack(&rng, 60, false);
        lay_out(&m, &s, words);
        s.id = i + 1;
        vt__recall_learn(&recall, &s);
        assert_true(find(&s) == i + 1 || recall->n_idle > 0);
    }
    assert_true(recall->max_words <= LAST_WORDS);
    assert_true(recall->n_idle > 0);
}

UNIT_MAIN()
