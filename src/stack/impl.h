/* impl.h - what the stack room shares with itself: modules, rows, rules, and where the architecture comes in.
 *
 *   modules.c   which module is this address in, and where are its unwinding tables
 *   cfi.c       the tables: finds and runs the program of one function -> a row
 *   rules.c     a row in 64 bits is a rule; the cache address -> rule
 *   x86_64.c, aarch64.c   rows to rules, registers out of a signal's context
 *   reach.c     what can be read without a fault
 *   unwind.c    the walk, by rules, and the memo of a thread's last one
 *   recall.c    those before it
 *   full.c      the walk with all registers, where rules do not suffice
 *   own_*.c     which addresses are our own library (stack.h)
 *   depot.c     distinct stacks
 *   gone.c      libraries that were unloaded
 */
#ifndef VT_STACK_IMPL_H
#define VT_STACK_IMPL_H

#include <stdatomic.h>

#include "os/os.h"
#include "stack/stack.h"

VT_HIDDEN_BEGIN

/* Reads the program's stacks, which other code writes, and which a sanitizer has put red zones into. */
#define VT_READS_STACKS                                                                            \
    __attribute__((no_sanitize("address"))) __attribute__((no_sanitize("thread")))

/* Reads the tables of a library, which nobody writes. The thread sanitizer does not see libc unmap them, and would take what
 * comes to their place for a write. */
#define VT_READS_TABLES __attribute__((no_sanitize("thread")))

/* ---- modules.c ---- */

struct vt_module {
    uintptr_t start, end; /* all of its segments */
    const uint8_t *hdr;   /* .eh_frame_hdr; NULL: it has none */
    bool is_held;         /* it might be unloaded but for this */
};
bool vt__module_hold(uintptr_t pc, struct vt_module *out); /* true: it stays until */
void vt__module_release(const struct vt_module *m);
void vt__modules_refresh(void); /* host climate: libc's lock */

/* ---- unload.c ---- */

bool vt__tables_hold(void); /* true: no library goes until */
void vt__tables_release(void);
void vt__tables_forget_threads(void); /* in the child of a fork */

/* ---- gone.c ---- */

/* Notes which libraries are there, and marks the depot's addresses of those that were there and are gone. Host climate: libc's
 * lock. */
void vt__loads_look(void);
void vt__loads_forget_threads(void); /* in the child of a fork */

/* ---- cfi.c: call frame information, as in .eh_frame ---- */

#define VT_N_REGS 32 /* as DWARF numbers them; registers above are vectors, which no walk needs */

enum vt_where {
    VT_SAME,    /* the caller's value is in the register still */
    VT_AT,      /* saved at CFA + off */
    VT_AT_EXPR, /* saved where the expression at `off` says */
    VT_IS,      /* is CFA + off itself */
    VT_IS_EXPR, /* is the value of the expression at `off` */
    VT_IN,      /* is in register `off` */
    VT_UNDEFINED
};
struct vt_saved {
    int32_t off; /* expressions: bytes from vt_row.base to their length */
    uint8_t where;
};
struct vt_row {
    uint8_t cfa_reg; /* CFA = cfa_reg + cfa_off, unless has_cfa_expr */
    uint8_t ra_reg;
    bool has_cfa_expr;
    bool is_signal; /* a signal's frame: its pc was interrupted, not called from */
    int32_t cfa_off;
    uintptr_t end;               /* of the function */
    const uint8_t *base, *limit; /* expressions are between */
    struct vt_saved reg[VT_N_REGS];
};

enum vt_cfi_answer { VT_CFI_OK, VT_CFI_NONE, VT_CFI_BAD };
enum vt_cfi_answer vt__cfi_row(const struct vt_module *m, uintptr_t pc, struct vt_row *out);

/* An expression of a row: *size is its length in bytes, the answer where it begins; NULL if it is not whole. */
const uint8_t *vt__cfi_expr(const struct vt_row *row, int32_t off, size_t *size);

/* ---- rules.c ----
 *
 *  63                     32 31          16 15      8 7       0
 * | cfa_off, signed          | fp_off       | fp      | kind   |      0 is no rule
 */
enum vt_rule_kind {
    VT_RULE_NOT_KNOWN, /* not in the cache, and no module either */
    VT_RULE_SP,        /* CFA = sp + cfa_off */
    VT_RULE_FP,        /* CFA = fp + cfa_off */
    VT_RULE_FP_DEREF,  /* CFA = *(fp + cfa_off): functions that align their stack */
    VT_RULE_PLT,       /* CFA = sp + 8, and 8 more from byte cfa_off of the 16-byte entry on */
    VT_RULE_SIGNAL,    /* registers are in the ucontext at sp */
    VT_RULE_FIRST,     /* the outermost function: it has no caller */
    VT_RULE_NONE,      /* the module says nothing */
    VT_RULE_FULL       /* needs registers we do not follow: full.c */
};
enum vt_rule_fp {
    VT_FP_SAME,
    VT_FP_AT_CFA, /* saved at CFA + fp_off */
    VT_FP_AT_FP   /* saved at fp + fp_off */
};
typedef uint64_t vt_rule;

VT_INLINE vt_rule vt__rule(enum vt_rule_kind kind, int32_t cfa_off, enum vt_rule_fp fp,
                           int16_t fp_off) {
    return (uint64_t)(uint32_t)cfa_off << 32 | (uint64_t)(uint16_t)fp_off << 16 |
           (uint64_t)fp << 8 | (uint64_t)kind;
}
VT_INLINE enum vt_rule_kind vt__rule_kind(vt_rule r) { return (enum vt_rule_kind)(r & 0xff); }
VT_INLINE enum vt_rule_fp vt__rule_fp(vt_rule r) { return (enum vt_rule_fp)(r >> 8 & 0xff); }
VT_INLINE intptr_t vt__rule_fp_off(vt_rule r) { return (int16_t)(r >> 16); }
VT_INLINE intptr_t vt__rule_cfa_off(vt_rule r) { return (int32_t)(r >> 32); }

#define VT_PC_BITS 48 /* addresses of code; what is above is a pointer's signature, or damage */
#define VT_PC_MASK ((UINT64_C(1) << VT_PC_BITS) - 1)
#define VT_CODE_BITS 12
#define VT_N_RULES 2048u /* codes below are numbers of rules; the others are rules themselves: */
#define VT_CODE_IS_SHORT                                                                           \
    0x800u /* CFA = sp + 8 * low 8 bits; fp saved at CFA - 8 - 8 * next 3 bits, or same if 0 */
#define VT_GENERATION_BITS (64 - VT_PC_BITS - VT_CODE_BITS)
#define VT_CACHE_BITS 13
#define VT_CACHE_FIRST 0x7fu /* slots at first, less one */

/* Rules fill their array from its end, the cache its own from the beginning: what a small program needs of both lies together,
 * 2 KiB instead of an OS page for each. */
struct vt_rules {
    _Atomic uint64_t rule[VT_N_RULES]; /* a hash set: written once each, 0 is free */
    _Atomic uint32_t generation;
    _Atomic uint32_t cache_more; /* slots in use are VT_CACHE_FIRST | this, and one */
    _Atomic uint32_t n_evicted;  /* since there are so many */
    _Atomic uint64_t n_misses;
    _Atomic uint64_t cache[1u << VT_CACHE_BITS]; /* pc, generation, code */
};
extern struct vt_rules vt__rules;

vt_rule vt__rule_decode(uintptr_t pc, uint32_t generation); /* on a miss */
void vt__rules_drop(void);

VT_INLINE uint32_t vt__rules_generation(void) {
    return atomic_load_explicit(&vt__rules.generation, memory_order_relaxed);
}
VT_INLINE uint64_t vt__cache_key(uintptr_t pc, uint32_t generation) {
    uint32_t g = generation & ((1u << VT_GENERATION_BITS) - 1);
    return (uint64_t)pc << (64 - VT_PC_BITS) | (uint64_t)g << VT_CODE_BITS;
}
VT_INLINE uint32_t vt__cache_slot(uintptr_t pc) {
    /* relaxed: who does not see it yet looks in another slot, in vain */
    uint32_t more = atomic_load_explicit(&vt__rules.cache_more, memory_order_relaxed);
    return (uint32_t)(pc ^ pc >> VT_CACHE_BITS) & (VT_CACHE_FIRST | more);
}

/* The code for pc, which is below 2^48: of a return address, pc - 1. Not below 2^VT_CODE_BITS: not in the cache. */
VT_INLINE uint64_t vt__rule_code(uintptr_t pc, uint32_t generation) {
    uint32_t slot = vt__cache_slot(pc);
    uint64_t key = vt__cache_key(pc, generation);
    /* relaxed: a word is whole, and the rule it may name never changes */
    uint64_t code = atomic_load_explicit(&vt__rules.cache[slot], memory_order_relaxed) ^ key;
    if (vt_unlikely(code >= 1u << VT_CODE_BITS))
        code = atomic_load_explicit(&vt__rules.cache[slot ^ 1], memory_order_relaxed) ^ key;
    return code;
}

VT_INLINE intptr_t vt__code_cfa_off(uint64_t code) { return (intptr_t)(code & 0xff) * 8; }
VT_INLINE intptr_t vt__code_fp_off(uint64_t code) { return -8 - (intptr_t)(code >> 8 & 7) * 8; }

/* The rule of a code, decoded if need be. */
VT_INLINE vt_rule vt__rule_of_code(uint64_t code, uintptr_t pc, uint32_t generation) {
    if (vt_likely(code < VT_N_RULES)) {
        /* a reader that sees the word before the rule it names finds 0 there, and decodes again */
        vt_rule r = atomic_load_explicit(&vt__rules.rule[code], memory_order_relaxed);
        if (vt_likely(r != 0)) return r;
    } else if (code < 1u << VT_CODE_BITS) {
        return vt__rule(VT_RULE_SP, (int32_t)vt__code_cfa_off(code),
                        (code >> 8 & 7) == 0 ? VT_FP_SAME : VT_FP_AT_CFA,
                        (int16_t)((code >> 8 & 7) == 0 ? 0 : vt__code_fp_off(code)));
    }
    return vt__rule_decode(pc, generation);
}

VT_INLINE vt_rule vt__rule_of(uintptr_t pc, uint32_t generation) {
    return vt__rule_of_code(vt__rule_code(pc, generation), pc, generation);
}

/* ---- reach.c ---- */

/* Memory a walk may read. `base` is the thread's own stack, which stays as long as the thread; the rest is asked for, OS page
 * by OS page, and believed for this walk only. */
struct vt_reach {
    uintptr_t base_lo, base_hi;
    uintptr_t lo, hi;
    unsigned n_asked;
    bool is_outside; /* something outside of base was read */
};
bool vt__reach_ask(struct vt_reach *r, uintptr_t at);
void vt__reach_find_base(struct vt_reach *r, uintptr_t sp); /* sp: somewhere on the stack */
void vt__reach_extend_base(struct vt_reach *r,
                           uintptr_t sp); /* down to sp, if that is all memory */

VT_INLINE bool vt__can_read(struct vt_reach *r, uintptr_t at) {
    if (vt_unlikely((at & 7) != 0)) return false;
    if (vt_likely(at - r->base_lo < r->base_hi - r->base_lo)) return true;
    return vt__reach_ask(r, at);
}

/* ---- architecture: x86_64.c or aarch64.c ---- */

struct vt_regs {
    uintptr_t pc, sp, fp;
    bool is_exact; /* pc was interrupted; else it is a return address, and its call is before it */
};
void vt__arch_from_context(const void *ucontext, struct vt_regs *out);
bool vt__arch_step_signal(struct vt_reach *, struct vt_regs *); /* false: not readable */
vt_rule vt__arch_rule(const struct vt_module *m, uintptr_t pc);
uintptr_t vt__arch_thread_pointer(void);

/* ---- full.c: all registers ---- */

struct vt_full {
    uintptr_t reg[VT_N_REGS];
    uintptr_t pc;
    bool is_exact;
};
enum vt_stack_end vt__full_step(struct vt_reach *,
                                struct vt_full *); /* VT_END_COUNT: to the caller */
extern const unsigned vt__arch_sp;                 /* the number of sp */
bool vt__arch_full_here(struct vt_full *out);      /* the caller's; false: never needed here */
void vt__arch_full_from_context(const void *ucontext, struct vt_full *out);
bool vt__arch_full_signal(struct vt_reach *, struct vt_full *); /* false: not readable */

/* ---- depot.c ---- */

/* Sets the bits of `mark` in the addresses from start to end of all stacks; false: there are none. */
bool vt__depot_mark(uintptr_t start, uintptr_t end, uintptr_t mark);
/* What the caller keeps for this stack will be needed. */
VT_INLINE void vt__fetch_row(const struct vt_stack_rows *rows, vt_stack_id id) {
    if (rows == NULL) return;
    const char *block =
        atomic_load_explicit(&rows->block[id / VT_BLOCK_ROWS], memory_order_relaxed);
    if (block != NULL)
        __builtin_prefetch(block + id % VT_BLOCK_ROWS * rows->row_bytes, /* to write */ 1);
}
void vt__depot_expect(uint64_t hash);             /* a put of it will follow, if any */
void vt__depot_stats(struct vt_stack_stats *out); /* its part of them */

VT_HIDDEN_END

#endif
