/* unwind.c - the walk from frame to frame, and the memo that makes most of it a comparison.
 *
 * A frame is a state (pc, sp, fp). The rule for its pc says where the caller's state is: a few words of the stack. So equal
 * states and equal words have equal callers. Each thread keeps the states of its last walk, the memo, as
 *
 *   memo[top] innermost ... memo[N_ENTRIES - 1] outermost          each with the address its fp was read from, and the hash
 *                                                                  of the frames from the outermost to it
 *
 * A walk steps by rules until it comes to a state that is in the memo; from there it only compares the words that the rules
 * would read with those they gave last time. Where one differs, it goes on by rules. No return address is ever changed.
 *
 *   fresh[]   the part of the walk under way that is not in the memo; becomes its inner part at the end
 *
 * Most walks of a program that allocates in a loop are the same as the one before from end to end. Then the id that the depot
 * gave that one is the answer, and no frame is copied (vt__stack_id_here). Of those that are not, many come through the same
 * functions, but through other calls in them: another pc with the same rule in a frame at the same place. Then everything but
 * the pcs is as it was, and those that differ are written into the memo (is_alike).
 *
 * Where call paths take turns, the stack is none like the last, but one of those before: recall.h has them.
 *
 * Programs use the frame pointer's register for other things; whether it is the same matters for this only in frames where it is
 * live: a rule further out will read it before one restores it.
 *
 * The memo has stacks that lie wholly in the thread's base (reach.c), so comparing needs no look at what can be read.
 *
 * Climate: signal.   Owns: a walker per thread, from a region; ended threads' walkers go to new ones.   Locks: none. A signal
 * that interrupts a walk finds the walker busy and walks without it; so does a thread that gets none.
 */
#include "stack/impl.h"
#include "stack/recall.h"

#define N_ENTRIES (VT_STACK_MAX_FRAMES + 22) /* and some of our own */
#define N_WALKERS 1024
#define SAME_AGAIN                                                                                 \
    2 /* where the comparison broke off once, so many frames must be the same before the next one */
#define MISSES_LEAST 64 /* walks, before stacks are kept beside the memo */
#define HASH_SEED UINT64_C(0x51ab7c0e9d2f4863)

#define IS_EXACT (UINT64_C(1) << 63) /* in entry.pc: interrupted here, not called from */
#define IS_ODD                                                                                     \
    (UINT64_C(1) << 62) /* in entry.pc: more words led here than two: step, do not compare */

struct entry {
    uint64_t pc; /* and the flags above */
    uintptr_t sp, fp;
    const uintptr_t *
        fp_at; /* where fp was read; if it is the callee's, in fresh[] NULL, in memo[] &fp itself */
    union {
        uint64_t hash; /* memo: of this pc and all outer ones */
        uint64_t how;  /* fresh: as in walker.how, of which FP_IS_USED and the code are known */
    };
};

/* What is known of the rule of a frame's pc, and of the frames further out. */
enum {
    FP_IS_USED = 1,   /* by the rule */
    FP_IS_LIVE = 2,   /* by that, or passed on to a frame that has it live */
    FP_IS_BEYOND = 4, /* live here or further out */
    CODE_SHIFT =
        3 /* above: the rule's code, which says all that the step out depends on but sp and fp, or */
};
#define NO_CODE (UINT64_C(1) << VT_CODE_BITS) /* it does not, or the cache has none */

/* The outermost frames of the memo, the counts and the innermost of the walk under way lie side by side: a thread whose stacks
 * are not deep has one OS page of it. */
struct walker {
    char unused[KiB(3)];
    struct entry memo[N_ENTRIES];
    /* owner thread, and its signal handlers while is_busy is clear */
    uintptr_t base_lo, base_hi;
    uint32_t generation; /* of the rules the memo was made by */
    unsigned top;        /* memo[top..N_ENTRIES) */
    enum vt_stack_end end;
    vt_stack_id id;   /* the depot's for the memo; 0: not known */
    uint32_t n_memos; /* made so far */
    unsigned n_own;   /* the innermost of the memo, which are ours */
    bool is_plain;    /* each of its frames was called by the next, and left by two words at most */
    bool is_recalling;        /* the last stack was not the memo's, but was known */
    uint32_t n_missed;        /* stacks that had to be walked, up to MISSES_LEAST */
    struct vt_recall *recall; /* NULL: none yet */
    /* owner thread writes, anybody reads */
    _Atomic bool is_busy;
    _Atomic uint64_t n_walks, n_frames, n_memo_hits, ended[VT_END_COUNT];
    _Atomic uint32_t next_free; /* number of the next free walker; while it is free */
    uint16_t how[N_ENTRIES];    /* of memo[] */
    struct entry fresh[N_ENTRIES];
    uint32_t frames_are; /* of which memo */
    struct vt_frames frames;
};
#define MIDDLE (offsetof(struct walker, memo[N_ENTRIES]) % VT_OS_PAGE)
_Static_assert(MIDDLE > KiB(1) && MIDDLE < KiB(2), "as many of one as of the other");

#define WALKER_BYTES ((sizeof(struct walker) + VT_OS_PAGE - 1) / VT_OS_PAGE * VT_OS_PAGE)

static struct {
    struct vt_region region;
    _Atomic uint32_t n; /* walkers made so far; never more than N_WALKERS */
    _Atomic uint64_t
        free; /* number of the first free one (0: none) and, above 32 bits, a count of changes */
    _Atomic uint64_t n_walks, n_frames, ended[VT_END_COUNT]; /* of walks without a walker */
} pool = {.region = VT_REGION(N_WALKERS * WALKER_BYTES, KiB(64))};

/* In this order, which leaves no gap: thread-local variables are few bytes. */
static __thread bool is_watched __attribute__((tls_model("initial-exec")));
static __thread struct walker *mine __attribute__((tls_model("initial-exec")));
#define NO_MORE ((struct walker *)1) /* this thread has ended once and gets no other */

/* ---- walkers ---- */

/* Numbers begin with 1. */
static struct walker *walker_at(uint32_t number) {
    return (struct walker *)(vt__region_base(&pool.region) + (number - 1) * WALKER_BYTES);
}

static uint32_t number_of(const struct walker *t) {
    return (uint32_t)((size_t)((const char *)t - vt__region_base(&pool.region)) / WALKER_BYTES) + 1;
}

static struct walker *pop_free(void) {
    /* acquire: what its last owner wrote; pairs with the release in push_free */
    uint64_t head = atomic_load_explicit(&pool.free, memory_order_acquire);
    while ((uint32_t)head != 0) {
        /* may be another owner's already: then the count of changes differs and the exchange fails */
        uint64_t next =
            atomic_load_explicit(&walker_at((uint32_t)head)->next_free, memory_order_relaxed);
        uint64_t changed = ((head >> 32) + 1) << 32;
        if (atomic_compare_exchange_weak_explicit(&pool.free, &head, changed | next,
                                                  memory_order_acquire, memory_order_acquire))
            return walker_at((uint32_t)head);
    }
    return NULL;
}

static void push_free(struct walker *t) {
    uint64_t head = atomic_load_explicit(&pool.free, memory_order_relaxed);
    uint64_t desired;
    do {
        atomic_store_explicit(&t->next_free, (uint32_t)head, memory_order_relaxed);
        desired = ((head >> 32) + 1) << 32 | number_of(t);
        /* release: t is whole before it can be found */
    } while (!atomic_compare_exchange_weak_explicit(&pool.free, &head, desired,
                                                    memory_order_release, memory_order_relaxed));
}

static struct walker *make_walker(void) {
    uint32_t n = atomic_load_explicit(&pool.n, memory_order_relaxed);
    do {
        if (n >= N_WALKERS || !vt__region_ready(&pool.region, (n + 1) * WALKER_BYTES)) return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&pool.n, &n, n + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return walker_at(n + 1);
}

static VT_COLD struct walker *claim_walker(uintptr_t sp) {
    struct walker *t = pop_free();
    if (t == NULL) t = make_walker();
    if (t == NULL) return NULL;
    t->top = N_ENTRIES;
    t->is_plain = t->is_recalling = false;
    if (t->recall != NULL) vt__recall_empty(t->recall); /* of another thread's stack */
    struct vt_reach r = {0};
    vt__reach_find_base(&r, sp);
    t->base_lo = r.base_lo;
    t->base_hi = r.base_hi;
    if (mine != NULL) { /* a handler that interrupted us right here was faster */
        push_free(t);
        return mine == NO_MORE ? NULL : mine;
    }
    mine = t;
    return t;
}

void vt__stack_thread_ends(void) {
    struct walker *t = mine;
    mine = NO_MORE;
    if (t != NULL && t != NO_MORE) push_free(t);
}

void vt__stack_thread_is_watched(void) { is_watched = true; }

/* The thread's walker, NULL: it has none. Signals only use what is there, unless the thread's end will be told: one that never
 * mallocs would not be noticed. sp is of its own stack, not of a handler's. */
static struct walker *my_walker(bool may_claim, uintptr_t sp) {
    struct walker *t = mine;
    if (vt_unlikely(t == NULL && (may_claim || is_watched))) t = claim_walker(sp);
    return t == NO_MORE ? NULL : t;
}

/* True: it is ours until give_walker(). */
static bool take_walker(struct walker *t) {
    /* relaxed: only this thread and its handlers use it; a handler leaves it as it found it */
    if (atomic_load_explicit(&t->is_busy, memory_order_relaxed)) return false;
    atomic_store_explicit(&t->is_busy, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* handlers see the mark before anything changes */
    return true;
}

static void give_walker(struct walker *t) {
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&t->is_busy, false, memory_order_relaxed);
}

/* ---- one step ---- */

struct walk {
    struct vt_frames *out;
    struct walker *t; /* NULL: no memo */
    struct vt_reach reach;
    uint32_t generation;
    unsigned n_fresh;
    unsigned n_own; /* frames of ours that were left out */
    bool is_leaving_out;
    const uintptr_t *
        matched_fp_at; /* where fp was read for the frame that was met in the memo; NULL: the callee's */
    uint32_t memo_number; /* of the memo that was made of this walk; 0: none was */
    uintptr_t guess;      /* the caller's sp, if it has the frame that was there last time */
};

VT_INLINE uintptr_t word_at(uintptr_t at) { return *(const volatile uintptr_t *)at; }

/* Where a step leads, and how. */
struct caller {
    struct vt_regs regs;
    const uintptr_t *fp_at; /* where fp was read; NULL: it is the callee's */
    uint64_t flags;         /* of entry.pc */
    uint64_t how;           /* the callee's */
};

/* The caller's state, with its CFA known and its fp at `fp_at`, 0: the callee's. VT_END_COUNT: there is one. */
VT_READS_STACKS VT_INLINE enum vt_stack_end step_to(struct walk *w, uintptr_t cfa, uintptr_t fp_at,
                                                    struct caller *c) {
    if (vt_unlikely(!vt__can_read(&w->reach, cfa - 8))) return VT_END_UNREADABLE;
    uintptr_t pc = word_at(cfa - 8) & VT_PC_MASK;
    if (fp_at != 0) {
        if (vt_unlikely(!vt__can_read(&w->reach, fp_at))) return VT_END_UNREADABLE;
        c->regs.fp = word_at(fp_at);
    }
    c->fp_at = (const uintptr_t *)fp_at;
    if (vt_unlikely(pc == 0)) return VT_END_OUTERMOST;
    if (vt_unlikely(cfa <= c->regs.sp && pc == c->regs.pc)) return VT_END_LOOP;
    c->regs.pc = pc;
    c->regs.sp = cfa;
    c->regs.is_exact = false;
    return VT_END_COUNT;
}

VT_INLINE uintptr_t fp_place(vt_rule rule, uintptr_t cfa, uintptr_t fp) {
    if (vt__rule_fp(rule) == VT_FP_SAME) return 0;
    return (vt__rule_fp(rule) == VT_FP_AT_CFA ? cfa : fp) + (uintptr_t)vt__rule_fp_off(rule);
}

VT_READS_STACKS static VT_NOINLINE enum vt_stack_end step_rarely(struct walk *w, vt_rule rule,
                                                                 struct caller *c) {
    uintptr_t cfa;
    switch (vt__rule_kind(rule)) {
    case VT_RULE_SP:
    case VT_RULE_FP:
        cfa = (vt__rule_kind(rule) == VT_RULE_SP ? c->regs.sp : c->regs.fp) +
              (uintptr_t)vt__rule_cfa_off(rule);
        c->flags = 0;
        return step_to(w, cfa, fp_place(rule, cfa, c->regs.fp), c);
    case VT_RULE_PLT:
        cfa = c->regs.sp + 8 + ((intptr_t)(c->regs.pc & 15) >= vt__rule_cfa_off(rule) ? 8 : 0);
        c->flags = 0;
        return step_to(w, cfa, fp_place(rule, cfa, c->regs.fp), c);
    case VT_RULE_FP_DEREF:
        cfa = c->regs.fp + (uintptr_t)vt__rule_cfa_off(rule);
        if (!vt__can_read(&w->reach, cfa)) return VT_END_UNREADABLE;
        c->flags = IS_ODD;
        cfa = word_at(cfa);
        return step_to(w, cfa, fp_place(rule, cfa, c->regs.fp), c);
    case VT_RULE_SIGNAL:
        if (!vt__arch_step_signal(&w->reach, &c->regs)) return VT_END_UNREADABLE;
        c->flags = IS_ODD | IS_EXACT;
        c->fp_at = NULL;
        c->regs.pc &= VT_PC_MASK;
        return c->regs.pc == 0 ? VT_END_NO_MODULE : VT_END_COUNT; /* a call of NULL */
    case VT_RULE_FIRST: return VT_END_OUTERMOST;
    case VT_RULE_NONE: return VT_END_NO_RULE;
    case VT_RULE_FULL: return VT_END_UNSUPPORTED;
    default: return VT_END_NO_MODULE;
    }
}

/* The rule of functions with a frame pointer, push %rbp; mov %rsp, %rbp: the only one by which frame pointers are followed.
 * What is read then depends on the frame alone, so the processor need not wait for the rule. */
#define FRAME_RULE (UINT64_C(16) << 32 | UINT64_C(0xfff0) << 16 | VT_FP_AT_CFA << 8 | VT_RULE_FP)

/* `value`, but if it is what we guessed the processor goes on with the guess while it finds out. A walk is one chain of loads,
 * pc to rule to CFA to pc; where frames have the sizes they had last time, this cuts it at each of them. */
VT_INLINE uintptr_t guessed(uintptr_t value, uintptr_t guess) {
    if (vt_likely(value == guess)) {
        __asm__ volatile("" : "+r"(guess)); /* or the compiler sees that it is the same */
        return guess;
    }
    return value;
}

/* Of a rule that is none of the usual ones. */
static uint64_t rare_how(uint64_t code, vt_rule rule) {
    enum vt_rule_kind kind = vt__rule_kind(rule);
    bool is_told = kind == VT_RULE_SP || kind == VT_RULE_FP;
    bool is_used =
        kind == VT_RULE_FP || kind == VT_RULE_FP_DEREF || vt__rule_fp(rule) == VT_FP_AT_FP;
    return (is_told ? vt_min(code, NO_CODE) : NO_CODE) << CODE_SHIFT | (is_used ? FP_IS_USED : 0);
}

/* One frame out. */
VT_READS_STACKS VT_INLINE enum vt_stack_end step(struct walk *w, struct caller *c) {
    uintptr_t at = c->regs.pc - ((c->flags & IS_EXACT) == 0);
    uint64_t code = vt__rule_code(at, w->generation);
    if (vt_likely(code - VT_CODE_IS_SHORT < VT_CODE_IS_SHORT)) {
        uintptr_t cfa = guessed(c->regs.sp + (uintptr_t)vt__code_cfa_off(code), w->guess);
        c->flags = 0;
        c->how = code << CODE_SHIFT;
        return step_to(w, cfa, (code & 0x700) == 0 ? 0 : cfa + (uintptr_t)vt__code_fp_off(code), c);
    }
    vt_rule rule = vt__rule_of_code(code, at, w->generation);
    if (vt_unlikely(code >= NO_CODE))
        code = vt__rule_code(at, w->generation); /* decoded just now */
    if (vt_likely(rule == FRAME_RULE)) {
        c->flags = 0;
        c->how = vt_min(code, NO_CODE) << CODE_SHIFT | FP_IS_USED;
        return step_to(w, c->regs.fp + 16, c->regs.fp, c);
    }
    struct caller copy = *c; /* so that *c may stay in registers */
    enum vt_stack_end end = step_rarely(w, rule, &copy);
    *c = copy;
    c->how = rare_how(code, rule);
    return end;
}

/* ---- the walk ---- */

/* False: the limit is reached. */
VT_INLINE bool emit(struct walk *w, uintptr_t pc) {
    if (vt_unlikely(w->is_leaving_out)) {
        if (vt__is_own(pc)) {
            w->n_own++;
            return true;
        }
        w->is_leaving_out = false;
    }
    if (vt_unlikely(w->out->n == VT_STACK_MAX_FRAMES)) return false;
    w->out->pc[w->out->n++] = pc;
    return true;
}

VT_INLINE void note(struct walk *w, struct entry e) {
    if (w->t != NULL && w->n_fresh < N_ENTRIES) w->t->fresh[w->n_fresh] = e;
    w->n_fresh++;
}

VT_INLINE const uintptr_t *fp_at_of(const struct entry *e) {
    return e->fp_at == &e->fp ? NULL : e->fp_at;
}

/* The same of what was compared. The callee of the first may be another one now. */
VT_INLINE void note_memo(struct walk *w, unsigned i, const uintptr_t *fp_at) {
    const struct entry *e = &w->t->memo[i];
    note(w, (struct entry){
                .pc = e->pc, .sp = e->sp, .fp = e->fp, .fp_at = fp_at, .how = w->t->how[i]});
}

VT_INLINE bool is_at(const struct entry *e, const struct caller *c) {
    /* one test: which of the three differs cannot be predicted */
    return ((e->sp ^ c->regs.sp) | (e->fp ^ c->regs.fp) |
            ((e->pc & ~IS_ODD) ^ (c->regs.pc | (c->flags & IS_EXACT)))) == 0;
}

/* The callee's frame still leads to this one. */
VT_READS_STACKS VT_INLINE bool is_unchanged(const struct entry *e) {
    return (word_at(e->sp - 8) & VT_PC_MASK) == e->pc && *e->fp_at == e->fp;
}

/* memo[from] is where we are: emits it and what is outer, as far as the stack is still the same. The first entry that is
 * not, or has to be stepped to; N_ENTRIES: all the same. *is_full when the limit came first. */
VT_READS_STACKS VT_INLINE unsigned compare(struct walk *w, unsigned from, bool *is_full) {
    const struct entry *memo = w->t->memo;
    unsigned i = from;
    *is_full = !emit(w, memo[i].pc & VT_PC_MASK);
    for (i++; i < N_ENTRIES && !*is_full; i++) {
        if (!is_unchanged(&memo[i])) break;
        *is_full = !emit(w, memo[i].pc);
    }
    return i;
}

/* Walks from `start`. *matched is where the rest is the memo's, or N_ENTRIES. */
VT_READS_STACKS VT_INLINE enum vt_stack_end follow(struct walk *w, struct vt_regs start,
                                                   unsigned *matched) {
    struct entry *memo = w->t != NULL ? w->t->memo : NULL;
    unsigned at = w->t != NULL ? w->t->top : N_ENTRIES;
    struct caller c = {.regs = start, .flags = start.is_exact ? IS_EXACT | IS_ODD : 0};
    enum vt_stack_end end;
    unsigned n_same = 0, n_wanted = 1;
    *matched = N_ENTRIES;
    do {
        struct entry e;
        while (at < N_ENTRIES && memo[at].sp < c.regs.sp) at++;
        n_same = at < N_ENTRIES ? (n_same + 1) & -(unsigned)is_at(&memo[at], &c) : 0;
        if (n_same >= n_wanted) {
            bool is_full;
            unsigned i = compare(w, at, &is_full);
            if (is_full) return VT_END_LIMIT;
            if (i == N_ENTRIES) {
                *matched = at;
                w->matched_fp_at = c.fp_at;
                return w->t->end;
            }
            for (unsigned k = at; k < i - 1; k++)
                note_memo(w, k, k == at ? c.fp_at : fp_at_of(&memo[k]));
            const struct entry *last = &memo[i - 1];
            e = *last;
            e.fp_at = i - 1 == at ? c.fp_at : fp_at_of(last);
            c.regs.pc = last->pc & VT_PC_MASK;
            c.regs.sp = last->sp;
            c.regs.fp = last->fp;
            c.flags = last->pc & IS_EXACT;
            at = i;
            n_same = 0;
            n_wanted = SAME_AGAIN;
        } else {
            e = (struct entry){
                .pc = c.regs.pc | c.flags, .sp = c.regs.sp, .fp = c.regs.fp, .fp_at = c.fp_at};
            if (!emit(w, c.regs.pc)) return VT_END_LIMIT;
        }
        w->guess = at < N_ENTRIES - 1 ? memo[at + (memo[at].sp == c.regs.sp)].sp : 0;
        end = step(w, &c);
        e.how = c.how;
        note(w, e);
    } while (end == VT_END_COUNT);
    return end;
}

/* The same from the beginning, with all registers. pc and sp are what the walk by rules began with: frames below are ours. */
static VT_COLD enum vt_stack_end follow_fully(struct walk *w, uintptr_t pc, uintptr_t sp,
                                              const void *ucontext) {
    struct vt_full f;
    enum vt_stack_end end = VT_END_COUNT;
    if (ucontext != NULL)
        vt__arch_full_from_context(ucontext, &f);
    else if (!vt__arch_full_here(&f))
        return VT_END_UNSUPPORTED;
    while (end == VT_END_COUNT && f.reg[vt__arch_sp] < sp) end = vt__full_step(&w->reach, &f);
    if (end != VT_END_COUNT || f.pc != pc) return VT_END_UNSUPPORTED; /* keep what we had */
    w->out->n = 0;
    w->is_leaving_out = ucontext == NULL;
    while (end == VT_END_COUNT) end = emit(w, f.pc) ? vt__full_step(&w->reach, &f) : VT_END_LIMIT;
    return end;
}

/* ---- hashes and the next memo ---- */

/* The product does not wait for the hash so far: two cycles per frame. */
VT_INLINE uint64_t mix(uint64_t h, uintptr_t pc) {
    return (h << 7 | h >> 57) + pc * UINT64_C(0x9e3779b97f4a7c15);
}

uint64_t vt__frames_hash(const uintptr_t *pc, unsigned n) {
    uint64_t h = HASH_SEED;
    while (n > 0) h = mix(h, pc[--n]);
    return h;
}

/* A walk that ends for a reason that depends on its last pc alone will end there again. */
static bool is_worth_keeping(const struct walk *w, enum vt_stack_end end) {
    if (w->reach.is_outside) return false;    /* might be unmapped by then */
    if (w->n_fresh > N_ENTRIES) return false; /* not all of it was noted */
    return end == VT_END_OUTERMOST || end == VT_END_NO_RULE;
}

/* What is known of a frame, and what the next one out adds to it. */
VT_INLINE unsigned how_with(unsigned how, unsigned outer, bool is_passed_on) {
    unsigned live = (how & FP_IS_USED) != 0 || is_passed_on ? FP_IS_LIVE | FP_IS_BEYOND : 0;
    return (how & ~(unsigned)(FP_IS_LIVE | FP_IS_BEYOND)) | live | (outer & FP_IS_BEYOND);
}

/* Hashes the fresh part on top of what matched, and makes both the memo. */
static void conclude(struct walk *w, unsigned matched, enum vt_stack_end end) {
    struct walker *t = w->t;
    struct vt_frames *out = w->out;
    if (end == VT_END_LIMIT || w->n_fresh > N_ENTRIES || out->n == 0) {
        out->hash = vt__frames_hash(out->pc, out->n);
        return;
    }
    uint64_t h = matched < N_ENTRIES ? t->memo[matched].hash : HASH_SEED;
    if (w->n_own >= w->n_fresh && matched < N_ENTRIES)
        out->hash = t->memo[matched + w->n_own - w->n_fresh].hash;
    bool is_kept = is_worth_keeping(w, end);
    unsigned top = matched;
    if (is_kept && matched < N_ENTRIES && w->n_fresh > 0) { /* its callee is another one now */
        struct entry *e = &t->memo[matched];
        e->fp_at = w->matched_fp_at != NULL ? w->matched_fp_at : &e->fp;
    }
    /* of the next frame out; what is passed on is read where it has no address of its own */
    unsigned outer = matched < N_ENTRIES ? t->how[matched] : 0;
    bool is_passed_on = w->matched_fp_at == NULL && (outer & FP_IS_LIVE) != 0;
    uint64_t flags = matched < N_ENTRIES ? t->memo[matched].pc : 0;
    for (unsigned i = w->n_fresh; i > 0; i--) {
        struct entry *e = &t->fresh[i - 1];
        h = mix(h, e->pc & VT_PC_MASK);
        if (i - 1 == w->n_own) out->hash = h;
        if (!is_kept || top == 0) continue;
        struct entry *kept = &t->memo[--top];
        outer = how_with((unsigned)e->how, outer, is_passed_on);
        t->how[top] = (uint16_t)outer;
        flags |= e->pc;
        *kept = *e;
        kept->hash = h;
        /* its own copy in memo[], or none: then fp is the callee's */
        if (e->fp_at == NULL) kept->fp_at = &kept->fp;
        is_passed_on = e->fp_at == NULL && (outer & FP_IS_LIVE) != 0;
    }
    vt__depot_expect(out->hash);
    if (!is_kept) return;
    t->top = top;
    t->end = end;
    t->generation = w->generation;
    t->n_own = w->n_own;
    t->is_plain = (flags & (IS_ODD | IS_EXACT)) == 0;
    t->id = 0;
    w->memo_number = ++t->n_memos;
}

static void bump(_Atomic uint64_t *counter, uint64_t by) { /* a walker's: one writer */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + by,
                          memory_order_relaxed);
}

static void count(const struct walk *w, enum vt_stack_end end, bool is_hit) {
    if (w->t != NULL) {
        bump(&w->t->n_walks, 1);
        bump(&w->t->n_frames, w->out->n);
        bump(&w->t->ended[end], 1);
        if (is_hit) bump(&w->t->n_memo_hits, 1);
        return;
    }
    atomic_fetch_add_explicit(&pool.n_walks, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&pool.n_frames, w->out->n, memory_order_relaxed);
    atomic_fetch_add_explicit(&pool.ended[end], 1, memory_order_relaxed);
}

/* `ucontext` is NULL for the caller's stack. The number of the memo that was made of it, or 0. */
VT_READS_STACKS static uint32_t take(uintptr_t pc, uintptr_t sp, uintptr_t fp, const void *ucontext,
                                     struct vt_frames *out) {
    struct walk w = {.out = out, .is_leaving_out = ucontext == NULL};
    unsigned matched;
    out->n = 0;
    out->hash = HASH_SEED;
    w.generation = vt__rules_generation();
    pc &= VT_PC_MASK;
    struct walker *t = my_walker(/* may_claim */ ucontext == NULL, sp);
    if (t != NULL) {
        w.reach.base_lo = t->base_lo;
        w.reach.base_hi = t->base_hi;
        if (take_walker(t)) w.t = t;
    }
    if (w.t != NULL) {
        if (t->generation != w.generation) t->top = N_ENTRIES;
        if (vt_unlikely(sp < t->base_lo)) {
            vt__reach_extend_base(&w.reach, sp);
            t->base_lo = w.reach.base_lo;
        }
    }
    struct vt_regs start = {pc, sp, fp, /* is_exact */ ucontext != NULL};
    enum vt_stack_end end = follow(&w, start, &matched);
    if (vt_unlikely(end == VT_END_UNSUPPORTED)) {
        end = follow_fully(&w, pc, sp, ucontext);
        out->hash = vt__frames_hash(out->pc, out->n);
    } else if (w.t != NULL) {
        conclude(&w, matched, end);
    } else {
        out->hash = vt__frames_hash(out->pc, out->n);
    }
    count(&w, end, matched < N_ENTRIES);
    if (w.t != NULL) give_walker(w.t);
    return w.memo_number;
}

/* The functions that ask for a frame address have a frame pointer, whatever the flags: so the caller's state is at hand. */
VT_NOINLINE VT_READS_STACKS void vt__stack_here(struct vt_frames *out) {
    const uintptr_t *frame = __builtin_frame_address(0);
    take(frame[1], (uintptr_t)(frame + 2), frame[0], NULL, out);
}

/* ---- stacks like the last one ---- */

/* A look at the stack, not at what the compiler knows of it. All of it is above sp, so it can be read. */
VT_READS_STACKS VT_INLINE uintptr_t called_from(const struct entry *e) {
    return word_at(e->sp - 8);
}

/* The outermost frame from which on the pcs are not the memo's; top - 1: all are. */
VT_READS_STACKS VT_INLINE unsigned outermost_other(const struct walker *t) {
    const struct entry *e = &t->memo[N_ENTRIES - 1], *last = &t->memo[t->top];
    while (e - last >= 4) { /* 5 instructions each, not 7 */
        if (called_from(e) != e->pc) break;
        if (called_from(e - 1) != e[-1].pc) return (unsigned)(e - 1 - t->memo);
        if (called_from(e - 2) != e[-2].pc) return (unsigned)(e - 2 - t->memo);
        if (called_from(e - 3) != e[-3].pc) return (unsigned)(e - 3 - t->memo);
        e -= 4;
    }
    while (e >= last && called_from(e) == e->pc) e--;
    return (unsigned)(e - t->memo);
}

/* Where fp leads further out, it is what it was. */
VT_READS_STACKS VT_INLINE bool has_live_fps(const struct walker *t, uintptr_t fp) {
    unsigned i = t->top;
    if (vt_likely((t->how[i] & FP_IS_BEYOND) == 0)) return true;
    if ((t->how[i] & FP_IS_LIVE) != 0 && t->memo[i].fp != fp) return false;
    while (++i < N_ENTRIES && (t->how[i] & FP_IS_BEYOND) != 0)
        if ((t->how[i] & FP_IS_LIVE) != 0 && *t->memo[i].fp_at != t->memo[i].fp) return false;
    return true;
}

/* From `outermost` in, the pcs there are now have the rules that the memo's had; and our own frames are the same. Then *hash is
 * that of the stack. */
VT_READS_STACKS VT_INLINE bool has_rules(const struct walker *t, unsigned outermost,
                                         uint64_t *hash) {
    unsigned first = t->top + t->n_own;
    if (outermost == N_ENTRIES - 1 || outermost < first) return false;
    for (unsigned i = t->top; i < first; i++)
        if (called_from(&t->memo[i]) != t->memo[i].pc) return false;
    if (vt__is_own(called_from(&t->memo[first]))) return false;
    uint64_t differ = 0, h = t->memo[outermost + 1].hash;
    for (unsigned i = outermost; i >= first; i--) {
        uintptr_t pc = called_from(&t->memo[i]);
        h = mix(h, pc);
        differ |= pc >> VT_PC_BITS;
        differ |= vt__rule_code(pc - 1, t->generation) ^ (t->how[i] >> CODE_SHIFT);
    }
    *hash = h;
    return differ == 0;
}

/* Writes them into the memo, and the frames of it into t->frames. */
VT_READS_STACKS VT_INLINE void change_pcs(struct walker *t, unsigned outermost) {
    unsigned first = t->top + t->n_own;
    uintptr_t *pc = t->frames.pc;
    if (t->frames_are != t->n_memos)
        for (unsigned i = first; i < N_ENTRIES; i++) pc[i - first] = t->memo[i].pc;
    uint64_t h = t->memo[outermost + 1].hash;
    for (unsigned i = outermost; i >= t->top; i--) {
        uintptr_t now = called_from(&t->memo[i]);
        t->memo[i].pc = now;
        t->memo[i].hash = h = mix(h, now);
        if (i >= first) pc[i - first] = now;
    }
    t->frames.n = N_ENTRIES - first;
    t->frames.hash = t->memo[first].hash;
    t->frames_are = ++t->n_memos;
}

/* ---- stacks before the last one ---- */

VT_NOINLINE VT_READS_STACKS static bool is_recalled(const struct walker *t, uintptr_t sp,
                                                    uintptr_t fp, const struct vt_stack_rows *rows,
                                                    vt_stack_id *id) {
    struct vt_recall *r = t->recall;
    if (r == NULL || r->generation != vt__rules_generation()) return false;
    if (vt_unlikely(r->n_idle > 0)) {
        r->n_idle--;
        return false;
    }
    *id = vt__recall_find(r, sp, fp, rows);
    return *id != 0;
}

/* The frame pointers of the memo that a rule reads, and that were on the stack, behind its return addresses. False: they are too
 * far away. */
static bool tell_fps(const struct walker *t, struct vt_recall_stack *s) {
    for (unsigned i = t->top; i < N_ENTRIES; i++) {
        const struct entry *e = &t->memo[i];
        uint64_t step = ((uintptr_t)e->fp_at - s->sp) / 8;
        if ((t->how[i] & FP_IS_LIVE) == 0) continue;
        if (i == t->top) {
            s->fp = e->fp;
            if (e->fp == 0) return false;
        } else if (e->fp_at != &e->fp) {
            if (step > VT_STEP_MAX || e->fp > VT_PC_MASK) return false;
            s->words[s->n_pcs + s->n_fps++] = step << VT_STEP_SHIFT | e->fp;
        }
    }
    return true;
}

/* The memo, whose id is known, will be recalled. */
static VT_NOINLINE void learn(struct walker *t) {
    if (!t->is_plain || t->id == 0 || t->top == N_ENTRIES) return;
    if (t->n_missed < MISSES_LEAST) {
        t->n_missed++;
        return;
    }
    struct vt_recall_stack s = {.sp = t->memo[t->top].sp, .id = t->id};
    s.words = (uint64_t *)(void *)t->fresh; /* no walk is under way; entries are made of words */
    uintptr_t before = s.sp;
    for (unsigned i = t->top; i < N_ENTRIES; i++) {
        uint64_t step = (t->memo[i].sp - before) / 8;
        if (step > VT_STEP_MAX) return;
        before = t->memo[i].sp;
        s.words[s.n_pcs++] = step << VT_STEP_SHIFT | t->memo[i].pc;
    }
    if (!tell_fps(t, &s)) return;
    if (t->recall != NULL && t->recall->generation != t->generation) vt__recall_empty(t->recall);
    vt__recall_learn(&t->recall, &s);
    if (t->recall != NULL) t->recall->generation = t->generation;
}

/* ---- a stack whose id is known ---- */

/* What is_known does where the stack is not the memo's. `outermost` is the frame that differs, if it `is_like` the memo's. */
VT_NOINLINE VT_READS_STACKS static bool is_known_otherwise(struct walker *t, uintptr_t sp,
                                                           uintptr_t fp, bool is_like,
                                                           unsigned outermost,
                                                           const struct vt_stack_rows *rows,
                                                           vt_stack_id *id) {
    bool is_far = t->recall != NULL && vt__recall_is_far(t->recall);
    uint64_t hash;
    if (!is_far && !t->is_recalling && is_recalled(t, sp, fp, rows, id)) {
        t->is_recalling = true;
        return true;
    }
    if (!is_like || !has_rules(t, outermost, &hash))
        return is_far && is_recalled(t, sp, fp, rows, id);
    vt__depot_expect(hash);
    change_pcs(t, outermost);
    *id = t->id = vt__depot_put_with(&t->frames, rows);
    if (!is_far) learn(t);
    return true;
}

/* Is the stack the memo's, or one that was there before, or like the memo's, frame by frame? Then *id is its id; 0: it is lost.
 * Frames where fp is not live may have another one: it leads nowhere. What was right the last time is tried first. */
VT_READS_STACKS VT_INLINE bool is_known(struct walker *t, uintptr_t sp, uintptr_t fp,
                                        const struct vt_stack_rows *rows, vt_stack_id *id) {
    if (t->is_recalling && !vt__recall_is_far(t->recall) && is_recalled(t, sp, fp, rows, id))
        return true;
    bool is_like = t->is_plain && t->top != N_ENTRIES && t->memo[t->top].sp == sp &&
                   t->generation == vt__rules_generation();
    unsigned outermost = is_like ? outermost_other(t) : 0;
    if (is_like) is_like = has_live_fps(t, fp);
    if (vt_unlikely(!is_like || outermost >= t->top))
        return is_known_otherwise(t, sp, fp, is_like, outermost, rows, id);
    t->is_recalling = false;
    *id = t->id;
    return t->id != 0;
}

static void count_known(struct walker *t) {
    bump(&t->n_walks, 1);
    bump(&t->n_memo_hits, 1);
    bump(&t->ended[t->end], 1);
}

VT_READS_STACKS VT_INLINE bool find_known(struct walker *t, uintptr_t sp, uintptr_t fp,
                                          const struct vt_stack_rows *rows, vt_stack_id *id) {
    if (vt_unlikely(t == NULL || !take_walker(t))) return false;
    bool is_found = is_known(t, sp, fp, rows, id);
    if (vt_likely(is_found)) count_known(t);
    give_walker(t);
    return is_found;
}

/* By a walk. The caller's frame has sp and fp, and pc is where it goes on. */
VT_READS_STACKS static vt_stack_id walk_and_put(struct walker *t, const uintptr_t *frame,
                                                struct vt_frames *scratch,
                                                const struct vt_stack_rows *rows) {
    uint32_t memo_number = take(frame[1], (uintptr_t)(frame + 2), frame[0], NULL, scratch);
    vt_stack_id id = vt__depot_put_with(scratch, rows);
    /* a handler may have walked since, and made another memo */
    if (memo_number != 0 && t != NULL && take_walker(t)) {
        if (t->n_memos == memo_number) {
            t->id = id;
            learn(t);
        }
        give_walker(t);
    }
    return id;
}

VT_NOINLINE VT_READS_STACKS vt_stack_id vt__stack_id_here(struct vt_frames *scratch,
                                                          const struct vt_stack_rows *rows) {
    const uintptr_t *frame = __builtin_frame_address(0);
    struct walker *t = my_walker(/* may_claim */ true, (uintptr_t)frame);
    vt_stack_id id;
    if (vt_likely(find_known(t, (uintptr_t)(frame + 2), frame[0], rows, &id))) return id;
    return walk_and_put(t, frame, scratch, rows);
}

VT_NOINLINE VT_READS_STACKS vt_stack_id vt__stack_id_polled(struct vt_frames *scratch) {
    const uintptr_t *frame = __builtin_frame_address(0);
    struct walker *t = my_walker(/* may_claim */ true, (uintptr_t)frame);
    vt_stack_id id;
    if (vt_likely(find_known(t, (uintptr_t)(frame + 2), frame[0], NULL, &id))) return id;
    vt__stack_poll_modules(/* always */ true);
    return walk_and_put(t, frame, scratch, NULL);
}

void vt__stack_of_context(const void *ucontext, struct vt_frames *out) {
    struct vt_regs regs;
    vt__arch_from_context(ucontext, &regs);
    take(regs.pc, regs.sp, regs.fp, ucontext, out);
}

static bool has_frame(const struct vt_frames *f, uintptr_t pc) {
    for (unsigned i = 0; i < f->n; i++)
        if (f->pc[i] == pc) return true;
    return false;
}

unsigned vt__stack_copy(const void *ucontext, unsigned n_skipped, void **out, unsigned max) {
    struct vt_frames frames;
    struct vt_regs regs;
    unsigned n = 0;
    vt__stack_here(&frames);
    if (ucontext != NULL) {
        vt__arch_from_context(ucontext, &regs);
        if (!has_frame(&frames, regs.pc)) {
            vt__stack_of_context(ucontext, &frames);
            n_skipped = 0;
        }
    }
    for (unsigned i = n_skipped; i < frames.n && n < max; i++) out[n++] = (void *)frames.pc[i];
    return n;
}

void vt__stack_modules_changed(void) {
    vt__modules_refresh();
    vt__rules_drop();
}

void vt__stack_stats(struct vt_stack_stats *out) {
    *out = (struct vt_stack_stats){0};
    out->n_walks = atomic_load_explicit(&pool.n_walks, memory_order_relaxed);
    out->n_frames = atomic_load_explicit(&pool.n_frames, memory_order_relaxed);
    out->n_rule_misses = atomic_load_explicit(&vt__rules.n_misses, memory_order_relaxed);
    for (unsigned i = 0; i < VT_END_COUNT; i++)
        out->ended[i] = atomic_load_explicit(&pool.ended[i], memory_order_relaxed);
    uint32_t n = atomic_load_explicit(&pool.n, memory_order_relaxed);
    for (uint32_t number = 1; number <= n; number++) {
        struct walker *t = walker_at(number);
        out->n_walks += atomic_load_explicit(&t->n_walks, memory_order_relaxed);
        out->n_frames += atomic_load_explicit(&t->n_frames, memory_order_relaxed);
        out->n_memo_hits += atomic_load_explicit(&t->n_memo_hits, memory_order_relaxed);
        for (unsigned i = 0; i < VT_END_COUNT; i++)
            out->ended[i] += atomic_load_explicit(&t->ended[i], memory_order_relaxed);
    }
    vt__depot_stats(out);
}
