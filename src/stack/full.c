/* full.c - a step with all registers and any expression, for the few functions whose rows are no rules.
 *
 * ld.so's lazy binding keeps its CFA in rbx; hand-written assembly does as it likes. To know such a register in a frame, the
 * frames below must have been walked with it, so unwind.c begins the walk again. Nothing is cached; a microsecond and more
 * per walk, for one in thousands.
 *
 * Climate: signal.   Owns: nothing.   Callers: unwind.c.
 */
#include "stack/impl.h"

enum { /* DW_OP_* that occur in call frame information */
       OP_DEREF = 0x06,
       OP_CONST1U = 0x08,
       OP_CONST1S = 0x09,
       OP_CONST2U = 0x0a,
       OP_CONST2S = 0x0b,
       OP_CONST4U = 0x0c,
       OP_CONST4S = 0x0d,
       OP_CONSTU = 0x10,
       OP_CONSTS = 0x11,
       OP_DUP = 0x12,
       OP_DROP = 0x13,
       OP_AND = 0x1a,
       OP_MINUS = 0x1c,
       OP_OR = 0x21,
       OP_PLUS = 0x22,
       OP_PLUS_UCONST = 0x23,
       OP_SHL = 0x24,
       OP_SHR = 0x25,
       OP_GE = 0x2a,
       OP_LIT0 = 0x30,
       OP_BREG0 = 0x70
};

#define DEPTH 8

struct machine {
    const uint8_t *at, *end;
    uintptr_t stack[DEPTH];
    unsigned n;
    bool is_bad; /* unknown, unreadable, or more than the stack holds */
};

VT_READS_TABLES static uint64_t operand(struct machine *m, unsigned n_bytes, bool is_signed) {
    uint64_t v = 0;
    if ((size_t)(m->end - m->at) < n_bytes) {
        m->is_bad = true;
        return 0;
    }
    for (unsigned i = 0; i < n_bytes; i++) v |= (uint64_t)m->at[i] << (8 * i);
    m->at += n_bytes;
    unsigned unused = 64 - 8 * n_bytes;
    return is_signed ? (uint64_t)((int64_t)(v << unused) >> unused) : v;
}

static uint64_t operand_leb(struct machine *m, bool is_signed) {
    uint64_t v = 0;
    uint64_t byte;
    unsigned shift = 0;
    do {
        byte = operand(m, 1, /* signed */ false);
        if (shift < 64) v |= (byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0 && !m->is_bad);
    if (is_signed && shift < 64 && (byte & 0x40) != 0) v |= ~UINT64_C(0) << shift;
    return v;
}

static void push(struct machine *m, uintptr_t v) {
    if (m->n == DEPTH)
        m->is_bad = true;
    else
        m->stack[m->n++] = v;
}

static uintptr_t pop(struct machine *m) {
    if (m->n == 0) {
        m->is_bad = true;
        return 0;
    }
    return m->stack[--m->n];
}

VT_READS_STACKS static uintptr_t read_word(struct vt_reach *reach, uintptr_t at, bool *is_bad) {
    if (at == 0 || !vt__can_read(reach, at)) {
        *is_bad = true;
        return 0;
    }
    return *(const volatile uintptr_t *)at;
}

static uintptr_t two_operands(struct machine *m, uint8_t op) {
    uintptr_t b = pop(m);
    uintptr_t a = pop(m);
    switch (op) {
    case OP_AND: return a & b;
    case OP_OR: return a | b;
    case OP_PLUS: return a + b;
    case OP_MINUS: return a - b;
    case OP_SHL: return b < 64 ? a << b : 0;
    case OP_SHR: return b < 64 ? a >> b : 0;
    case OP_GE: return (intptr_t)a >= (intptr_t)b;
    default: m->is_bad = true; return 0;
    }
}

static void run_one(struct machine *m, struct vt_reach *reach, const struct vt_full *f) {
    uint8_t op = (uint8_t)operand(m, 1, /* signed */ false);
    if (op >= OP_LIT0 && op < OP_LIT0 + 32) {
        push(m, (uintptr_t)op - OP_LIT0);
        return;
    }
    if (op >= OP_BREG0 && op < OP_BREG0 + VT_N_REGS) {
        push(m, f->reg[op - OP_BREG0] + operand_leb(m, /* signed */ true));
        return;
    }
    switch (op) {
    case OP_CONST1U: push(m, operand(m, 1, /* signed */ false)); break;
    case OP_CONST1S: push(m, operand(m, 1, /* signed */ true)); break;
    case OP_CONST2U: push(m, operand(m, 2, /* signed */ false)); break;
    case OP_CONST2S: push(m, operand(m, 2, /* signed */ true)); break;
    case OP_CONST4U: push(m, operand(m, 4, /* signed */ false)); break;
    case OP_CONST4S: push(m, operand(m, 4, /* signed */ true)); break;
    case OP_CONSTU: push(m, operand_leb(m, /* signed */ false)); break;
    case OP_CONSTS: push(m, operand_leb(m, /* signed */ true)); break;
    case OP_PLUS_UCONST: push(m, pop(m) + operand_leb(m, /* signed */ false)); break;
    case OP_DEREF: push(m, read_word(reach, pop(m), &m->is_bad)); break;
    case OP_DROP: pop(m); break;
    case OP_DUP:
        push(m, pop(m));
        push(m, m->n > 0 ? m->stack[m->n - 1] : 0);
        break;
    default: push(m, two_operands(m, op));
    }
}

/* The value of an expression of the row; `cfa` is on its stack when it begins, unless it is the CFA's own. */
static uintptr_t evaluate(const struct vt_row *row, int32_t off, const uintptr_t *cfa,
                          struct vt_reach *reach, const struct vt_full *f, bool *is_bad) {
    size_t size = 0;
    struct machine m = {.at = vt__cfi_expr(row, off, &size)};
    if (m.at == NULL) {
        *is_bad = true;
        return 0;
    }
    m.end = m.at + size;
    if (cfa != NULL) push(&m, *cfa);
    while (m.at < m.end && !m.is_bad) run_one(&m, reach, f);
    uintptr_t v = pop(&m);
    *is_bad |= m.is_bad;
    return v;
}

static uintptr_t caller_value(const struct vt_row *row, unsigned reg, uintptr_t cfa,
                              struct vt_reach *reach, const struct vt_full *f, bool *is_bad) {
    const struct vt_saved *s = &row->reg[reg];
    switch (s->where) {
    case VT_AT: return read_word(reach, cfa + (uintptr_t)(intptr_t)s->off, is_bad);
    case VT_AT_EXPR: return read_word(reach, evaluate(row, s->off, &cfa, reach, f, is_bad), is_bad);
    case VT_IS: return cfa + (uintptr_t)(intptr_t)s->off;
    case VT_IS_EXPR: return evaluate(row, s->off, &cfa, reach, f, is_bad);
    case VT_IN: return f->reg[(uint32_t)s->off % VT_N_REGS];
    default: return f->reg[reg];
    }
}

static enum vt_stack_end step_in(const struct vt_module *m, uintptr_t pc, struct vt_reach *reach,
                                 struct vt_full *f) {
    struct vt_row row;
    struct vt_full caller = {.is_exact = false};
    bool is_bad = false;
    enum vt_cfi_answer answer = vt__cfi_row(m, pc, &row);
    if (answer != VT_CFI_OK) return answer == VT_CFI_NONE ? VT_END_NO_RULE : VT_END_UNSUPPORTED;
    uintptr_t cfa = row.has_cfa_expr ? evaluate(&row, row.cfa_off, NULL, reach, f, &is_bad)
                                     : f->reg[row.cfa_reg] + (uintptr_t)(intptr_t)row.cfa_off;
    for (unsigned i = 0; i < VT_N_REGS; i++)
        caller.reg[i] = caller_value(&row, i, cfa, reach, f, &is_bad);
    if (is_bad) return VT_END_UNREADABLE;
    if (row.reg[vt__arch_sp].where == VT_SAME) caller.reg[vt__arch_sp] = cfa;
    caller.pc = caller.reg[row.ra_reg] & VT_PC_MASK;
    if (caller.pc == 0) return VT_END_OUTERMOST;
    if (cfa <= f->reg[vt__arch_sp] && caller.pc == f->pc) return VT_END_LOOP;
    *f = caller;
    return VT_END_COUNT;
}

enum vt_stack_end vt__full_step(struct vt_reach *reach, struct vt_full *f) {
    struct vt_module m;
    uintptr_t pc = f->pc - !f->is_exact;
    vt_rule rule = vt__rule_of(pc, vt__rules_generation());
    if (vt__rule_kind(rule) == VT_RULE_SIGNAL)
        return vt__arch_full_signal(reach, f) ? VT_END_COUNT : VT_END_UNREADABLE;
    if (vt__rule_kind(rule) == VT_RULE_FIRST) return VT_END_OUTERMOST;
    if (!vt__module_hold(pc, &m)) return VT_END_NO_MODULE;
    enum vt_stack_end end = step_in(&m, pc, reach, f);
    vt__module_release(&m);
    return end;
}
