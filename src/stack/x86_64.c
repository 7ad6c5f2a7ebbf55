/* x86_64.c - rows to rules, and registers in a signal's frame. aarch64.c is the other choice.
 *
 * Of the rows in real modules more than 99.9 % say: CFA is rsp or rbp and a number, the return address right below it, rbp
 * unchanged or saved at a distance from the CFA. Those are rules. So are functions that align their stack (gcc saves the CFA
 * at rbp - 8), the entries of a PLT, and signal frames. For the rest there is full.c.
 *
 * Climate: signal.   Owns: nothing.   Callers: rules.c, unwind.c, full.c.
 */
#include <ucontext.h>

#include "stack/impl.h"

enum { RBP = 6, RSP = 7, RA = 16 }; /* DWARF's numbers */
enum { OP_DEREF = 0x06, OP_LIT0 = 0x30, OP_BREG0 = 0x70 };

void vt__arch_from_context(const void *ucontext, struct vt_regs *out) {
    const greg_t *g = ((const ucontext_t *)ucontext)->uc_mcontext.gregs;
    *out = (struct vt_regs){(uintptr_t)g[REG_RIP], (uintptr_t)g[REG_RSP], (uintptr_t)g[REG_RBP],
                            /* is_exact */ true};
}

uintptr_t vt__arch_thread_pointer(void) {
    uintptr_t tp;
    __asm__("movq %%fs:0, %0" : "=r"(tp));
    return tp;
}

/* mov $15, %rax; syscall: what a handler returns to. musl has no tables for it. A damaged stack may have led to data. */
VT_READS_STACKS static VT_NOINLINE bool is_sigreturn(uintptr_t pc) {
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
    const uint8_t *at = (const uint8_t *)pc;
    uintptr_t first = vt_round_down(pc, VT_OS_PAGE);
    uintptr_t last = vt_round_down(pc + sizeof(code) - 1, VT_OS_PAGE);
    if (!vt__os_is_readable((const void *)first)) return false;
    if (last != first && !vt__os_is_readable((const void *)last)) return false;
    for (size_t i = 0; i < sizeof(code); i++)
        if (at[i] != code[i]) return false;
    return true;
}

/* The kernel's frame: sp is at a ucontext, the return address to the restorer has been popped. */
VT_READS_STACKS bool vt__arch_step_signal(struct vt_reach *reach, struct vt_regs *regs) {
    uintptr_t g = regs->sp + offsetof(ucontext_t, uc_mcontext.gregs);
    if (!vt__can_read(reach, g + REG_RBP * sizeof(greg_t)) ||
        !vt__can_read(reach, g + REG_RIP * sizeof(greg_t)))
        return false;
    vt__arch_from_context((const void *)regs->sp, regs);
    return true;
}

/* ---- all registers ---- */

const unsigned vt__arch_sp = RSP;

void vt__arch_full_from_context(const void *ucontext, struct vt_full *out) {
    static const uint8_t order[RA] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                      REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                      REG_R12, REG_R13, REG_R14, REG_R15};
    const greg_t *g = ((const ucontext_t *)ucontext)->uc_mcontext.gregs;
    *out = (struct vt_full){.pc = (uintptr_t)g[REG_RIP] & VT_PC_MASK, .is_exact = true};
    for (unsigned i = 0; i < RA; i++) out->reg[i] = (uintptr_t)g[order[i]];
}

VT_READS_STACKS bool vt__arch_full_signal(struct vt_reach *reach, struct vt_full *f) {
    uintptr_t g = f->reg[RSP] + offsetof(ucontext_t, uc_mcontext.gregs);
    if (!vt__can_read(reach, g + REG_R8 * sizeof(greg_t)) ||
        !vt__can_read(reach, g + REG_RIP * sizeof(greg_t)))
        return false;
    vt__arch_full_from_context((const void *)f->reg[RSP], f);
    return true;
}

/* Those a function must preserve, as they are when this one returns. */
__attribute__((naked, noinline)) static void capture(VT_UNUSED uintptr_t *reg) {
    __asm__("movq %rbx, 24(%rdi)\n\t"
            "movq %rbp, 48(%rdi)\n\t"
            "leaq 8(%rsp), %rax\n\t"
            "movq %rax, 56(%rdi)\n\t"
            "movq %r12, 96(%rdi)\n\t"
            "movq %r13, 104(%rdi)\n\t"
            "movq %r14, 112(%rdi)\n\t"
            "movq %r15, 120(%rdi)\n\t"
            "movq (%rsp), %rax\n\t"
            "movq %rax, 128(%rdi)\n\t"
            "ret");
}

/* Our own frame, which the first step leaves again: the frame that is asked for is outer. */
bool vt__arch_full_here(struct vt_full *out) {
    *out = (struct vt_full){.is_exact = false};
    capture(out->reg);
    out->pc = out->reg[RA];
    return true;
}

/* ---- rules ---- */

/* CFA = *(rbp + n), the only expression but the PLT's that compilers write. */
VT_READS_TABLES static bool is_deref(const struct vt_row *row, int32_t *n) {
    size_t size = 0;
    const uint8_t *e = vt__cfi_expr(row, row->cfa_off, &size);
    if (e == NULL || size != 3 || e[0] != OP_BREG0 + RBP || e[2] != OP_DEREF) return false;
    *n = (int32_t)(e[1] & 0x3f) - (int32_t)(e[1] & 0x40); /* a LEB of one byte */
    return (e[1] & 0x80) == 0;
}

/* rsp + 8 + ((rip & 15) >= n) * 8: the linker's words for a PLT, in which n differs by its kind. */
VT_READS_TABLES static bool is_plt(const struct vt_row *row, int32_t *n) {
    static const uint8_t words[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
    size_t size = 0;
    const uint8_t *e = vt__cfi_expr(row, row->cfa_off, &size);
    if (e == NULL || size != sizeof(words)) return false;
    for (size_t i = 0; i < size; i++)
        if (i != 6 && e[i] != words[i]) return false;
    *n = e[6] - OP_LIT0;
    return *n >= 0 && *n < 16;
}

/* How the caller's rbp is had; false: not by a rule. */
VT_READS_TABLES static bool fp_of(const struct vt_row *row, enum vt_rule_fp *how, int16_t *off) {
    const struct vt_saved *s = &row->reg[RBP];
    size_t size = 0;
    const uint8_t *e;
    *off = 0;
    switch (s->where) {
    case VT_UNDEFINED: /* nobody above needs it */
    case VT_SAME: *how = VT_FP_SAME; return true;
    case VT_AT:
        *how = VT_FP_AT_CFA;
        *off = (int16_t)s->off;
        return *off == s->off && s->off % 8 == 0;
    case VT_AT_EXPR:
        e = vt__cfi_expr(row, s->off, &size);
        *how = VT_FP_AT_FP;
        return e != NULL && size == 2 && e[0] == OP_BREG0 + RBP && e[1] == 0;
    default: return false;
    }
}

static vt_rule rule_of_row(const struct vt_row *row) {
    enum vt_rule_fp fp;
    int16_t fp_off;
    int32_t n = 0;
    const vt_rule full = vt__rule(VT_RULE_FULL, 0, VT_FP_SAME, 0);
    if (row->is_signal) return vt__rule(VT_RULE_SIGNAL, 0, VT_FP_SAME, 0);
    const struct vt_saved *ra = &row->reg[RA];
    if (ra->where == VT_UNDEFINED) return vt__rule(VT_RULE_FIRST, 0, VT_FP_SAME, 0);
    if (row->ra_reg != RA || ra->where != VT_AT || ra->off != -8) return full;
    if (row->reg[RSP].where != VT_SAME) return full;
    if (!fp_of(row, &fp, &fp_off)) return full;
    if (row->has_cfa_expr) {
        if (is_plt(row, &n)) return vt__rule(VT_RULE_PLT, n, fp, fp_off);
        if (is_deref(row, &n)) return vt__rule(VT_RULE_FP_DEREF, n, fp, fp_off);
        return full;
    }
    if (row->cfa_reg == RSP && row->cfa_off >= 8)
        return vt__rule(VT_RULE_SP, row->cfa_off, fp, fp_off);
    if (row->cfa_reg == RBP) return vt__rule(VT_RULE_FP, row->cfa_off, fp, fp_off);
    return full;
}

vt_rule vt__arch_rule(const struct vt_module *m, uintptr_t pc) {
    struct vt_row row;
    enum vt_cfi_answer answer = vt__cfi_row(m, pc, &row);
    /* a handler returns to the first instruction of its restorer, which nobody called */
    bool is_end = answer == VT_CFI_NONE || pc + 1 == row.end;
    if (is_end && is_sigreturn(pc + 1)) return vt__rule(VT_RULE_SIGNAL, 0, VT_FP_SAME, 0);
    if (answer == VT_CFI_NONE) return vt__rule(VT_RULE_NONE, 0, VT_FP_SAME, 0);
    if (answer == VT_CFI_BAD) return vt__rule(VT_RULE_FULL, 0, VT_FP_SAME, 0);
    return rule_of_row(&row);
}
