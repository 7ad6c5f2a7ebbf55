/* cfi.c - unwinding tables: from an address to the row that says where its caller's registers are.
 *
 *   .eh_frame_hdr   version, encodings, then a table sorted by address: (function, its FDE), both relative to the header
 *   FDE             length, distance back to its CIE, first address, number of bytes, a program
 *   CIE             what many FDEs share: augmentation, alignments, the register of return addresses, a program's beginning
 *
 * The programs are run up to the address in question. Tables are part of loaded modules, so they are mapped; no byte outside
 * the module is read whatever they say.
 *
 * Climate: signal.   Owns: nothing.   Callers: arch files, full.c.
 */
#include "stack/impl.h"

enum { /* DW_EH_PE_*: how a pointer is stored */
       PE_FORMAT = 0x0f,
       PE_ABSPTR = 0x00,
       PE_ULEB128 = 0x01,
       PE_UDATA2 = 0x02,
       PE_UDATA4 = 0x03,
       PE_UDATA8 = 0x04,
       PE_SLEB128 = 0x09,
       PE_SDATA2 = 0x0a,
       PE_SDATA4 = 0x0b,
       PE_SDATA8 = 0x0c,
       PE_RELATIVE = 0x70,
       PE_PCREL = 0x10,
       PE_DATAREL = 0x30,
       PE_INDIRECT = 0x80,
       PE_OMIT = 0xff
};

enum { /* DW_CFA_*; the first three have their operand in the low six bits */
       CFA_ADVANCE_LOC = 0x40,
       CFA_OFFSET = 0x80,
       CFA_RESTORE = 0xc0,
       CFA_NOP = 0x00,
       CFA_SET_LOC = 0x01,
       CFA_ADVANCE_LOC1 = 0x02,
       CFA_ADVANCE_LOC2 = 0x03,
       CFA_ADVANCE_LOC4 = 0x04,
       CFA_OFFSET_EXTENDED = 0x05,
       CFA_RESTORE_EXTENDED = 0x06,
       CFA_UNDEFINED = 0x07,
       CFA_SAME_VALUE = 0x08,
       CFA_REGISTER = 0x09,
       CFA_REMEMBER_STATE = 0x0a,
       CFA_RESTORE_STATE = 0x0b,
       CFA_DEF_CFA = 0x0c,
       CFA_DEF_CFA_REGISTER = 0x0d,
       CFA_DEF_CFA_OFFSET = 0x0e,
       CFA_DEF_CFA_EXPRESSION = 0x0f,
       CFA_EXPRESSION = 0x10,
       CFA_OFFSET_EXTENDED_SF = 0x11,
       CFA_DEF_CFA_SF = 0x12,
       CFA_DEF_CFA_OFFSET_SF = 0x13,
       CFA_VAL_OFFSET = 0x14,
       CFA_VAL_OFFSET_SF = 0x15,
       CFA_VAL_EXPRESSION = 0x16,
       CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
       CFA_GNU_ARGS_SIZE = 0x2e
};

#define N_REMEMBERED 4 /* compilers nest once, seldom twice */

/* ---- reading ---- */

struct cursor {
    const uint8_t *at, *end;
    bool is_bad; /* something was read past the end; what came back was 0 */
};

VT_READS_TABLES static uint64_t get(struct cursor *c, unsigned n_bytes) {
    uint64_t v = 0;
    if ((size_t)(c->end - c->at) < n_bytes) {
        c->is_bad = true;
        c->at = c->end;
        return 0;
    }
    for (unsigned i = 0; i < n_bytes; i++) v |= (uint64_t)c->at[i] << (8 * i);
    c->at += n_bytes;
    return v;
}

static uint64_t get_leb(struct cursor *c, bool is_signed) {
    uint64_t v = 0;
    unsigned shift = 0;
    uint64_t byte;
    do {
        byte = get(c, 1);
        if (shift < 64) v |= (byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0);
    if (is_signed && shift < 64 && (byte & 0x40) != 0) v |= ~UINT64_C(0) << shift;
    return v;
}

static uint64_t get_uleb(struct cursor *c) { return get_leb(c, /* signed */ false); }
static int64_t get_sleb(struct cursor *c) { return (int64_t)get_leb(c, /* signed */ true); }

static void pass_over(struct cursor *c, uint64_t n_bytes) {
    if (n_bytes > (uint64_t)(c->end - c->at)) {
        c->is_bad = true;
        n_bytes = (uint64_t)(c->end - c->at);
    }
    c->at += n_bytes;
}

static uint64_t get_formatted(struct cursor *c, uint8_t encoding) {
    switch (encoding & PE_FORMAT) {
    case PE_ABSPTR:
    case PE_UDATA8:
    case PE_SDATA8: return get(c, 8);
    case PE_ULEB128: return get_uleb(c);
    case PE_SLEB128: return (uint64_t)get_sleb(c);
    case PE_UDATA2: return get(c, 2);
    case PE_SDATA2: return (uint64_t)(int16_t)get(c, 2);
    case PE_UDATA4: return get(c, 4);
    case PE_SDATA4: return (uint64_t)(int32_t)get(c, 4);
    default: c->is_bad = true; return 0;
    }
}

/* A pointer; `data` is what PE_DATAREL is relative to. Indirect ones are personality routines: nobody here follows them. */
static uint64_t get_pointer(struct cursor *c, uint8_t encoding, uintptr_t data) {
    uintptr_t here = (uintptr_t)c->at;
    uint64_t v = get_formatted(c, encoding);
    switch (encoding & PE_RELATIVE) {
    case PE_ABSPTR: return v;
    case PE_PCREL: return v + here;
    case PE_DATAREL: return v + data;
    default: c->is_bad = true; return 0;
    }
}

/* ---- CIE and FDE ---- */

struct cie {
    uint64_t code_align;
    int64_t data_align;
    struct cursor program;
    uint8_t ra_reg;
    uint8_t fde_encoding;
    bool has_augmentation;
    bool is_signal;
};

/* The contents of the entry at `at`, behind its length; false: not a whole entry of the module. */
static bool open_entry(const struct vt_module *m, uintptr_t at, struct cursor *out) {
    if (at < m->start || at >= m->end) return false;
    struct cursor c = {(const uint8_t *)at, (const uint8_t *)m->end, false};
    uint64_t n_bytes = get(&c, 4);
    if (c.is_bad || n_bytes < 4 || n_bytes > (uint64_t)(c.end - c.at)) return false;
    *out = (struct cursor){c.at, c.at + n_bytes, false}; /* 64-bit lengths do not occur */
    return true;
}

VT_READS_TABLES static bool read_augmentation(struct cursor *c, const uint8_t *letters,
                                              struct cie *out) {
    if (letters[0] == '\0') return true;
    if (letters[0] != 'z') return false;
    out->has_augmentation = true;
    uint64_t n_bytes = get_uleb(c);
    struct cursor a = *c;
    pass_over(c, n_bytes);
    a.end = c->at;
    for (letters++; *letters != '\0'; letters++) {
        uint8_t encoding;
        switch (*letters) {
        case 'R': out->fde_encoding = (uint8_t)get(&a, 1); break;
        case 'S': out->is_signal = true; break;
        case 'L': get(&a, 1); break;
        case 'B': break; /* arm64: return addresses are signed with the other key */
        case 'P':
            encoding = (uint8_t)get(&a, 1);
            get_formatted(&a, encoding);
            break;
        default: return false; /* what follows cannot be told */
        }
    }
    return !a.is_bad;
}

static bool read_cie(const struct vt_module *m, uintptr_t at, struct cie *out) {
    struct cursor c;
    if (!open_entry(m, at, &c) || get(&c, 4) != 0) return false;
    uint64_t version = get(&c, 1);
    if (version != 1 && version != 3) return false;
    const uint8_t *letters = c.at;
    while (get(&c, 1) != 0) {}
    if (c.is_bad) return false;
    *out = (struct cie){.fde_encoding = PE_ABSPTR};
    out->code_align = get_uleb(&c);
    out->data_align = get_sleb(&c);
    uint64_t ra = version == 1 ? get(&c, 1) : get_uleb(&c);
    if (ra >= VT_N_REGS || !read_augmentation(&c, letters, out)) return false;
    out->ra_reg = (uint8_t)ra;
    out->program = c;
    return !c.is_bad;
}

/* Opens the FDE at `at` if it covers pc: its program, its CIE and its first address. */
static enum vt_cfi_answer read_fde(const struct vt_module *m, uintptr_t at, uintptr_t pc,
                                   struct cie *cie, struct cursor *program, uintptr_t *first,
                                   uintptr_t *end) {
    struct cursor c;
    if (!open_entry(m, at, &c)) return VT_CFI_BAD;
    uintptr_t here = (uintptr_t)c.at;
    uint64_t back = get(&c, 4);
    if (back == 0 || !read_cie(m, here - back, cie)) return VT_CFI_BAD;
    *first = get_pointer(&c, cie->fde_encoding, 0);
    uint64_t n_bytes = get_formatted(&c, cie->fde_encoding & PE_FORMAT);
    if (cie->has_augmentation) pass_over(&c, get_uleb(&c));
    if (c.is_bad) return VT_CFI_BAD;
    *program = c;
    *end = *first + n_bytes;
    return pc - *first < n_bytes ? VT_CFI_OK : VT_CFI_NONE;
}

/* ---- running a program ---- */

struct state {
    const struct cie *cie;
    struct vt_row row;
    struct vt_saved initial[VT_N_REGS]; /* after the CIE's program: what CFA_RESTORE restores */
    struct {
        struct vt_saved reg[VT_N_REGS];
        uint8_t cfa_reg;
        bool has_cfa_expr;
        int32_t cfa_off;
    } remembered[N_REMEMBERED];
    unsigned n_remembered;
    uintptr_t loc;
    bool is_bad; /* an instruction we do not know, or one that cannot be */
};

static void copy_regs(struct vt_saved *to, const struct vt_saved *from) {
    for (unsigned i = 0; i < VT_N_REGS; i++) to[i] = from[i];
}

static void save(struct state *s, uint64_t reg, enum vt_where where, int64_t off) {
    if (reg >= VT_N_REGS) return; /* a vector register */
    if (off != (int32_t)off) s->is_bad = true;
    s->row.reg[reg] = (struct vt_saved){(int32_t)off, (uint8_t)where};
}

static void def_cfa(struct state *s, uint64_t reg, int64_t off) {
    if (reg >= VT_N_REGS || off != (int32_t)off) {
        s->is_bad = true;
        return;
    }
    s->row.cfa_reg = (uint8_t)reg;
    s->row.cfa_off = (int32_t)off;
    s->row.has_cfa_expr = false;
}

/* Where an expression begins, from the row's base; moves on behind it. */
static int64_t take_expr(struct state *s, struct cursor *c) {
    int64_t off = c->at - s->row.base;
    pass_over(c, get_uleb(c));
    return off;
}

static void remember(struct state *s) {
    if (s->n_remembered == N_REMEMBERED) {
        s->is_bad = true;
        return;
    }
    unsigned i = s->n_remembered++;
    copy_regs(s->remembered[i].reg, s->row.reg);
    s->remembered[i].cfa_reg = s->row.cfa_reg;
    s->remembered[i].cfa_off = s->row.cfa_off;
    s->remembered[i].has_cfa_expr = s->row.has_cfa_expr;
}

static void recall(struct state *s) {
    if (s->n_remembered == 0) {
        s->is_bad = true;
        return;
    }
    unsigned i = --s->n_remembered;
    copy_regs(s->row.reg, s->remembered[i].reg);
    s->row.cfa_reg = s->remembered[i].cfa_reg;
    s->row.cfa_off = s->remembered[i].cfa_off;
    s->row.has_cfa_expr = s->remembered[i].has_cfa_expr;
}

static void restore(struct state *s, uint64_t reg) {
    if (reg < VT_N_REGS) s->row.reg[reg] = s->initial[reg];
}

static void advance(struct state *s, uint64_t delta) { s->loc += delta * s->cie->code_align; }

/* One of the instructions without an operand in the opcode. */
static void run_extended(struct state *s, struct cursor *c, uint8_t op) {
    int64_t data = s->cie->data_align;
    uint64_t reg;
    switch (op) {
    case CFA_NOP:
    case CFA_AARCH64_NEGATE_RA_STATE: break;
    case CFA_SET_LOC: s->loc = get_pointer(c, s->cie->fde_encoding, 0); break;
    case CFA_ADVANCE_LOC1: advance(s, get(c, 1)); break;
    case CFA_ADVANCE_LOC2: advance(s, get(c, 2)); break;
    case CFA_ADVANCE_LOC4: advance(s, get(c, 4)); break;
    case CFA_RESTORE_EXTENDED: restore(s, get_uleb(c)); break;
    case CFA_UNDEFINED: save(s, get_uleb(c), VT_UNDEFINED, 0); break;
    case CFA_SAME_VALUE: save(s, get_uleb(c), VT_SAME, 0); break;
    case CFA_REMEMBER_STATE: remember(s); break;
    case CFA_RESTORE_STATE: recall(s); break;
    case CFA_DEF_CFA_REGISTER: def_cfa(s, get_uleb(c), s->row.cfa_off); break;
    case CFA_DEF_CFA_OFFSET: def_cfa(s, s->row.cfa_reg, (int64_t)get_uleb(c)); break;
    case CFA_DEF_CFA_OFFSET_SF: def_cfa(s, s->row.cfa_reg, get_sleb(c) * data); break;
    case CFA_GNU_ARGS_SIZE: get_uleb(c); break;
    case CFA_DEF_CFA_EXPRESSION:
        def_cfa(s, s->row.cfa_reg, take_expr(s, c));
        s->row.has_cfa_expr = true;
        break;
    default:
        reg = get_uleb(c);
        switch (op) {
        case CFA_DEF_CFA: def_cfa(s, reg, (int64_t)get_uleb(c)); break;
        case CFA_DEF_CFA_SF: def_cfa(s, reg, get_sleb(c) * data); break;
        case CFA_OFFSET_EXTENDED: save(s, reg, VT_AT, (int64_t)get_uleb(c) * data); break;
        case CFA_OFFSET_EXTENDED_SF: save(s, reg, VT_AT, get_sleb(c) * data); break;
        case CFA_VAL_OFFSET: save(s, reg, VT_IS, (int64_t)get_uleb(c) * data); break;
        case CFA_VAL_OFFSET_SF: save(s, reg, VT_IS, get_sleb(c) * data); break;
        case CFA_REGISTER: save(s, reg, VT_IN, (int64_t)get_uleb(c)); break;
        case CFA_EXPRESSION: save(s, reg, VT_AT_EXPR, take_expr(s, c)); break;
        case CFA_VAL_EXPRESSION: save(s, reg, VT_IS_EXPR, take_expr(s, c)); break;
        default: s->is_bad = true;
        }
    }
}

/* Runs until the row that holds at pc is complete. */
static void run(struct state *s, struct cursor c, uintptr_t pc) {
    while (c.at < c.end && s->loc <= pc && !s->is_bad && !c.is_bad) {
        uint8_t op = (uint8_t)get(&c, 1);
        uint8_t low = op & 0x3f;
        switch (op & 0xc0) {
        case CFA_ADVANCE_LOC: advance(s, low); break;
        case CFA_OFFSET: save(s, low, VT_AT, (int64_t)get_uleb(&c) * s->cie->data_align); break;
        case CFA_RESTORE: restore(s, low); break;
        default: run_extended(s, &c, op);
        }
    }
    s->is_bad |= c.is_bad;
}

static enum vt_cfi_answer row_of_fde(const struct vt_module *m, uintptr_t at, uintptr_t pc,
                                     struct vt_row *out) {
    struct cie cie;
    struct cursor program;
    uintptr_t first;
    uintptr_t end;
    enum vt_cfi_answer answer = read_fde(m, at, pc, &cie, &program, &first, &end);
    if (answer != VT_CFI_OK) return answer;
    struct state s = {.cie = &cie, .loc = 0};
    s.row.ra_reg = cie.ra_reg;
    s.row.is_signal = cie.is_signal;
    s.row.end = end;
    s.row.base = (const uint8_t *)m->start;
    s.row.limit = (const uint8_t *)m->end;
    run(&s, cie.program, UINTPTR_MAX);
    copy_regs(s.initial, s.row.reg);
    s.loc = first;
    run(&s, program, pc);
    *out = s.row;
    return s.is_bad ? VT_CFI_BAD : VT_CFI_OK;
}

/* ---- finding the FDE ---- */

VT_READS_TABLES static int32_t int32_at(const uint8_t *p) {
    return (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                     (uint32_t)p[3] << 24);
}

/* The FDE of the last function that begins at pc or before; 0: none. */
static uintptr_t search(const uint8_t *table, uint64_t n, uintptr_t hdr, uintptr_t pc) {
    uint64_t lo = 0;
    uint64_t hi = n; /* the answer is before hi, and lo - 1 qualifies */
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (hdr + (uintptr_t)(intptr_t)int32_at(table + 8 * mid) <= pc)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo == 0 ? 0 : hdr + (uintptr_t)(intptr_t)int32_at(table + 8 * (lo - 1) + 4);
}

enum vt_cfi_answer vt__cfi_row(const struct vt_module *m, uintptr_t pc, struct vt_row *out) {
    uintptr_t hdr = (uintptr_t)m->hdr;
    if (hdr < m->start || hdr >= m->end) return VT_CFI_NONE;
    struct cursor c = {m->hdr, (const uint8_t *)m->end, false};
    uint64_t version = get(&c, 1);
    uint8_t frame_encoding = (uint8_t)get(&c, 1);
    uint8_t count_encoding = (uint8_t)get(&c, 1);
    uint8_t table_encoding = (uint8_t)get(&c, 1);
    if (version != 1 || count_encoding == PE_OMIT) return VT_CFI_NONE;
    if (table_encoding != (PE_DATAREL | PE_SDATA4)) return VT_CFI_BAD; /* no linker does that */
    get_pointer(&c, frame_encoding, hdr);
    uint64_t n = get_pointer(&c, count_encoding, hdr);
    if (c.is_bad || n > (uint64_t)(c.end - c.at) / 8) return VT_CFI_BAD;
    uintptr_t fde = search(c.at, n, hdr, pc);
    return fde == 0 ? VT_CFI_NONE : row_of_fde(m, fde, pc, out);
}

const uint8_t *vt__cfi_expr(const struct vt_row *row, int32_t off, size_t *size) {
    struct cursor c = {row->base + off, row->limit, false};
    uint64_t n_bytes = get_uleb(&c);
    if (c.is_bad || n_bytes > (uint64_t)(c.end - c.at)) return NULL;
    *size = n_bytes;
    return c.at;
}
