/* compare.h - our stack against libunwind's, taken in the same place.
 *
 * COMPARE_HERE(c) in a function compares the two from this function's caller on; compare_context in a handler compares from
 * the interrupted pc on. `c` counts what was equal, and why the rest was not.
 */
#ifndef VT_TESTS_STACK_COMPARE_H
#define VT_TESTS_STACK_COMPARE_H

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "stack/stack.h"

struct compare {
    const char *what;
    _Atomic long n, n_equal;
    _Atomic long n_ours_shorter;   /* the same as far as ours goes */
    _Atomic long n_theirs_shorter; /* the same as far as libunwind's goes */
    _Atomic long n_different;
    _Atomic int n_shown;
};

static const char *const end_names[VT_END_COUNT] = {
    "outermost", "limit", "no module", "no rule", "unsupported", "unreadable", "loop"};

/* Ours have no more bits: above is a pointer's signature, or, where both were led astray, anything. */
#define COMPARE_PC_MASK ((UINT64_C(1) << 48) - 1)

/* `theirs` may begin with frames that are not wanted: those up to the first that is ours[0]. has_end: it goes as far as the stack does;
 * else ours may go on. */
__attribute__((unused)) static void compare_frames(struct compare *c, const struct vt_frames *ours,
                                                   void *const *theirs, unsigned n_theirs,
                                                   bool has_end) {
    unsigned skip = 0;
    while (skip < n_theirs && skip < 8 && (uintptr_t)theirs[skip] != ours->pc[0]) skip++;
    if (skip == 8 || skip == n_theirs) skip = 0;
    theirs += skip;
    n_theirs -= skip;
    /* libunwind tells of a last frame at address 0 where a thread's first one says nothing */
    while (n_theirs > 0 && theirs[n_theirs - 1] == NULL) n_theirs--;
    unsigned n_same = 0;
    while (n_same < ours->n && n_same < n_theirs &&
           ours->pc[n_same] == ((uintptr_t)theirs[n_same] & COMPARE_PC_MASK))
        n_same++;
    atomic_fetch_add(&c->n, 1);
    bool is_all_of_ours =
        n_same == ours->n && (n_same == n_theirs || n_same == VT_STACK_MAX_FRAMES);
    if (is_all_of_ours || (n_same == n_theirs && !has_end))
        atomic_fetch_add(&c->n_equal, 1);
    else {
        if (n_same == ours->n)
            atomic_fetch_add(&c->n_ours_shorter, 1);
        else if (n_same == n_theirs)
            atomic_fetch_add(&c->n_theirs_shorter, 1);
        else
            atomic_fetch_add(&c->n_different, 1);
        if (getenv("VT_SHOW") != NULL && atomic_fetch_add(&c->n_shown, 1) < 8) {
            fprintf(stderr, "%s: ours %u frames, libunwind %u, same %u\n", c->what, ours->n,
                    n_theirs, n_same);
            for (unsigned i = n_same > 2 ? n_same - 2 : 0; i < ours->n || i < n_theirs; i++)
                fprintf(stderr, "  %2u %12lx %12lx\n", i,
                        i < ours->n ? (unsigned long)ours->pc[i] : 0,
                        i < n_theirs ? (unsigned long)(uintptr_t)theirs[i] : 0);
        }
    }
}

#define COMPARE_THEIRS 300

/* Stacks are taken by walks and as ids, by turns: the next of a kind is to find the memo of that kind. */
__attribute__((unused)) static bool compare_by_id(const struct compare *c) {
    return c->n / 16 % 2 != 0;
}
__attribute__((unused)) static void compare_get(vt_stack_id id, struct vt_frames *out) {
    const uintptr_t *pc;
    out->n = vt__depot_get(id, &pc);
    for (unsigned i = 0; i < out->n; i++) out->pc[i] = pc[i];
}

/* is_below: frames of ours come first in libunwind's stack and are left out of ours; else both begin in this function. */
#define COMPARE_HERE(c, is_below)                                                                  \
    do {                                                                                           \
        static __thread struct vt_frames compare_ours;                                             \
        static __thread void *compare_theirs[COMPARE_THEIRS];                                      \
        if (compare_by_id(c))                                                                      \
            compare_get(vt__stack_id_here(&compare_ours, NULL), &compare_ours);                    \
        else                                                                                       \
            vt__stack_here(&compare_ours);                                                         \
        int compare_n = unw_backtrace(compare_theirs, COMPARE_THEIRS);                             \
        /* the first frame is this very function, at two places */                                 \
        if (compare_n > 0 && !(is_below)) compare_theirs[0] = (void *)compare_ours.pc[0];          \
        compare_frames((c), &compare_ours, compare_theirs,                                         \
                       (unsigned)(compare_n > 0 ? compare_n : 0), compare_n != COMPARE_THEIRS);    \
    } while (0)

/* Are there tables for where it is? Else libunwind goes on by guesses. In no module, or, in one, in a function of one byte, which it makes
 * up. */
__attribute__((unused)) static bool compare_has_tables(unw_cursor_t *cursor, void *pc) {
    struct dl_find_object object;
    unw_proc_info_t f;
    if (_dl_find_object(pc, &object) != 0 || unw_get_proc_info(cursor, &f) != 0) return false;
    return f.end_ip - f.start_ip > 1;
}

/* In a handler: our walk of the context, and libunwind's stepping from the same registers. */
__attribute__((unused)) static void compare_context(struct compare *c, const void *ucontext) {
    struct vt_frames ours;
    void *theirs[COMPARE_THEIRS];
    unsigned n = 0;
    bool has_end = false;
    unw_cursor_t cursor;
    unw_context_t *uc = (unw_context_t *)(uintptr_t)ucontext;
    vt__stack_of_context(ucontext, &ours);
    if (unw_init_local2(&cursor, uc, UNW_INIT_SIGNAL_FRAME) != 0) return;
    while (!has_end && n < COMPARE_THEIRS) {
        unw_word_t pc = 0;
        if (unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0) break;
        theirs[n++] = (void *)pc;
        if (!compare_has_tables(&cursor, theirs[n - 1])) break;
        has_end = unw_step(&cursor) <= 0;
    }
    compare_frames(c, &ours, theirs, n, has_end);
}

/* The line that tells, and whether at least this share was equal. */
__attribute__((unused)) static bool compare_report(struct compare *c, double least) {
    double share = c->n > 0 ? (double)c->n_equal / (double)c->n : 0;
    fprintf(
        stderr,
        "%s: %ld stacks, %.4f %% equal; ours shorter %ld, libunwind's shorter %ld, different %ld\n",
        c->what, (long)c->n, share * 100, (long)c->n_ours_shorter, (long)c->n_theirs_shorter,
        (long)c->n_different);
    if (share < least)
        fprintf(stderr, "%s: expected at least %.1f %% equal, seen %.4f %%\n", c->what, least * 100,
                share * 100);
    return share >= least;
}

__attribute__((unused)) static void compare_ends(void) {
    struct vt_stack_stats s;
    vt__stack_stats(&s);
    fprintf(stderr, "%lu walks, %lu frames, %lu rules decoded, %lu memo hits; ended:",
            (unsigned long)s.n_walks, (unsigned long)s.n_frames, (unsigned long)s.n_rule_misses,
            (unsigned long)s.n_memo_hits);
    for (int i = 0; i < VT_END_COUNT; i++)
        if (s.ended[i] != 0) fprintf(stderr, " %s %lu", end_names[i], (unsigned long)s.ended[i]);
    fprintf(stderr, "\n");
}

#endif
