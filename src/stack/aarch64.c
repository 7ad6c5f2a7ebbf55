/* aarch64.c - the walk by frame pointers: the ABI keeps them, and distributions do. x86_64.c is the other choice.
 *
 * One rule for all code of a module: x29 points to the caller's x29 and the return address. A function that was interrupted
 * before it had made its own frame leaves out its caller.
 *
 * Climate: signal.   Owns: nothing.   Callers: rules.c, unwind.c.
 */
#include <ucontext.h>

#include "stack/impl.h"

void vt__arch_from_context(const void *ucontext, struct vt_regs *out) {
    const mcontext_t *m = &((const ucontext_t *)ucontext)->uc_mcontext;
    *out = (struct vt_regs){m->pc, m->sp, m->regs[29], /* is_exact */ true};
}

uintptr_t vt__arch_thread_pointer(void) {
    uintptr_t tp;
    __asm__("mrs %0, tpidr_el0" : "=r"(tp));
    return tp;
}

/* mov x8, #139; svc #0: in the vdso, or libc's. */
static bool is_sigreturn(uintptr_t pc) {
    const uint32_t *at = (const uint32_t *)pc;
    if ((pc & 3) != 0 || ((pc + 4) & (VT_OS_PAGE - 1)) == 0) return false;
    if (!vt__os_is_readable((const void *)vt_round_down(pc, VT_OS_PAGE))) return false;
    return at[0] == 0xd2801168 && at[1] == 0xd4000001;
}

/* The kernel's frame begins with a siginfo of 128 bytes; the ucontext is behind it. */
VT_READS_STACKS bool vt__arch_step_signal(struct vt_reach *reach, struct vt_regs *regs) {
    uintptr_t uc = regs->sp + 128;
    uintptr_t m = uc + offsetof(ucontext_t, uc_mcontext);
    if (!vt__can_read(reach, m + offsetof(mcontext_t, regs) + 29 * 8) ||
        !vt__can_read(reach, m + offsetof(mcontext_t, pc)))
        return false;
    vt__arch_from_context((const void *)uc, regs);
    return true;
}

vt_rule vt__arch_rule(const struct vt_module *m, uintptr_t pc) {
    (void)m;
    if (is_sigreturn(pc + 1)) return vt__rule(VT_RULE_SIGNAL, 0, VT_FP_SAME, 0);
    return vt__rule(VT_RULE_FP, 16, VT_FP_AT_CFA, -16);
}

/* ---- all registers: no rule here asks for them ---- */

const unsigned vt__arch_sp = 31;

bool vt__arch_full_here(struct vt_full *out) {
    (void)out;
    return false;
}

void vt__arch_full_from_context(const void *ucontext, struct vt_full *out) {
    (void)ucontext;
    *out = (struct vt_full){.pc = 0};
}

bool vt__arch_full_signal(struct vt_reach *reach, struct vt_full *f) {
    (void)reach;
    (void)f;
    return false;
}
