/* test_cfi.c - unwinding tables made by hand, byte for byte, that end at a guard page. */
#include "unit.h"

#include "base/base.h"

#include "stack/cfi.c"

/* ---- a module: .eh_frame_hdr, then one CIE and one FDE; code is only addresses ---- */

#define CODE 0x1000 /* of the function, from the module's start: no byte is ever read there */
#define CODE_BYTES 0x40
#define RBP 6
#define RSP 7
#define RA 16

struct bytes {
    uint8_t at[512];
    size_t n;
};

static void put1(struct bytes *b, unsigned v) { b->at[b->n++] = (uint8_t)v; }
static void put4(struct bytes *b, int64_t v) {
    for (int i = 0; i < 4; i++) put1(b, (unsigned)(v >> (8 * i)) & 0xff);
}
static void put_all(struct bytes *b, const uint8_t *from, size_t n) {
    for (size_t i = 0; i < n; i++) put1(b, from[i]);
}
static void set4(struct bytes *b, size_t where, int64_t v) {
    size_t n = b->n;
    b->n = where;
    put4(b, v);
    b->n = n;
}

/* How the tables come to memory: at the end of a mapping, with nothing behind. */
struct module {
    struct vt_module m;
    uint8_t *mapping;
    size_t n_mapped;
};

static struct module map_module(const struct bytes *b, size_t n_kept) {
    struct module r;
    r.n_mapped = 3 * VT_OS_PAGE;
    r.mapping = mmap(NULL, r.n_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(r.mapping != MAP_FAILED);
    assert_int_equal(mprotect(r.mapping + 2 * VT_OS_PAGE, VT_OS_PAGE, PROT_NONE), 0);
    uint8_t *at = r.mapping + 2 * VT_OS_PAGE - n_kept;
    memcpy(at, b->at, n_kept);
    r.m =
        (struct vt_module){.start = (uintptr_t)r.mapping, .end = (uintptr_t)at + n_kept, .hdr = at};
    return r;
}

static void unmap_module(struct module *r) { assert_int_equal(munmap(r->mapping, r->n_mapped), 0); }

/* Tables whose addresses are right when the tables begin at `hdr`. The function is at hdr - CODE_BACK. */
#define CODE_BACK 0x800
static uintptr_t code_of(const struct module *r) { return (uintptr_t)r->m.hdr - CODE_BACK; }

static struct bytes tables(const char *augmentation, const uint8_t *first, size_t n_first,
                           const uint8_t *program, size_t n_program) {
    struct bytes b = {.n = 0};
    put1(&b, 1);
    put1(&b, PE_PCREL | PE_SDATA4);
    put1(&b, PE_UDATA4);
    put1(&b, PE_DATAREL | PE_SDATA4);
    put4(&b, 8 + 8); /* .eh_frame, from here: 4 + 4 count + 8 table */
    put4(&b, 1);
    put4(&b, -CODE_BACK);
    size_t fde_at = b.n;
    put4(&b, 0);

    size_t cie = b.n;
    put4(&b, 0);
    put4(&b, 0);
    put1(&b, 1);
    put_all(&b, (const uint8_t *)augmentation, strlen(augmentation) + 1);
    put1(&b, 1);    /* code alignment */
    put1(&b, 0x78); /* data alignment: -8 */
    put1(&b, RA);
    if (augmentation[0] == 'z') {
        put1(&b, 1);
        put1(&b, PE_PCREL | PE_SDATA4);
    }
    put_all(&b, first, n_first);
    while (b.n % 4 != 0) put1(&b, CFA_NOP);
    set4(&b, cie, (int64_t)(b.n - cie - 4));

    size_t fde = b.n;
    put4(&b, 0);
    put4(&b, (int64_t)(b.n - cie));
    put4(&b, -CODE_BACK - (int64_t)b.n);
    put4(&b, CODE_BYTES);
    if (augmentation[0] == 'z') put1(&b, 0);
    put_all(&b, program, n_program);
    set4(&b, fde, (int64_t)(b.n - fde - 4));
    set4(&b, fde_at, (int64_t)fde);
    return b;
}

static const uint8_t usual_first[] = {CFA_DEF_CFA, RSP, 8, CFA_OFFSET | RA, 1};

#define TABLES(augmentation, ...)                                                                  \
    tables(augmentation, usual_first, sizeof(usual_first), (const uint8_t[]){__VA_ARGS__},         \
           sizeof((const uint8_t[]){__VA_ARGS__}))

/* push %rbp; mov %rsp, %rbp; ...; leave; ret */
#define USUAL_PROGRAM                                                                              \
    CFA_ADVANCE_LOC | 1, CFA_DEF_CFA_OFFSET, 16, CFA_OFFSET | RBP, 2, CFA_ADVANCE_LOC | 3,         \
        CFA_DEF_CFA_REGISTER, RBP, CFA_ADVANCE_LOC | 0x30, CFA_DEF_CFA, RSP, 8, CFA_RESTORE | RBP

TEST(cfi, every_address_of_a_function_has_the_row_of_its_place) {
    static const struct {
        unsigned from, to, cfa_reg;
        int cfa_off, rbp_where;
    } rows[] = {{0, 1, RSP, 8, VT_SAME},
                {1, 4, RSP, 16, VT_AT},
                {4, 0x34, RBP, 16, VT_AT},
                {0x34, CODE_BYTES, RSP, 8, VT_SAME}};
    struct bytes b = TABLES("zR", USUAL_PROGRAM);
    struct module r = map_module(&b, b.n);
    for (size_t i = 0; i < vt_countof(rows); i++)
        for (unsigned at = rows[i].from; at < rows[i].to; at++) {
            struct vt_row row;
            assert_int_equal(vt__cfi_row(&r.m, code_of(&r) + at, &row), VT_CFI_OK);
            assert_int_equal(row.cfa_reg, rows[i].cfa_reg);
            assert_int_equal(row.cfa_off, rows[i].cfa_off);
            assert_int_equal(row.reg[RBP].where, rows[i].rbp_where);
            assert_int_equal(row.reg[RA].where, VT_AT);
            assert_int_equal(row.reg[RA].off, -8);
            assert_true(row.end == code_of(&r) + CODE_BYTES);
            if (row.reg[RBP].where == VT_AT) assert_int_equal(row.reg[RBP].off, -16);
        }
    unmap_module(&r);
}

TEST(cfi, addresses_before_and_behind_the_function_have_no_row) {
    struct bytes b = TABLES("zR", USUAL_PROGRAM);
    struct module r = map_module(&b, b.n);
    struct vt_row row;
    assert_int_equal(vt__cfi_row(&r.m, code_of(&r) - 1, &row), VT_CFI_NONE);
    assert_int_equal(vt__cfi_row(&r.m, code_of(&r) + CODE_BYTES, &row), VT_CFI_NONE);
    r.m.hdr = NULL;
    assert_int_equal(vt__cfi_row(&r.m, code_of(&r), &row), VT_CFI_NONE);
    unmap_module(&r);
}

TEST(cfi, a_remembered_state_comes_back_with_registers_and_cfa) {
    struct bytes b = TABLES("zR", CFA_DEF_CFA_OFFSET, 64, CFA_OFFSET | 3, 2, CFA_REMEMBER_STATE,
                            CFA_ADVANCE_LOC1, 4, CFA_DEF_CFA_OFFSET, 8, CFA_RESTORE | 3,
                            CFA_ADVANCE_LOC2, 4, 0, CFA_RESTORE_STATE);
    struct module r = map_module(&b, b.n);
    struct vt_row row;
    assert_int_equal(vt__cfi_row(&r.m, code_of(&r) + 5, &row), VT_CFI_OK);
    assert_int_equal(row.cfa_off, 8);
    assert_int_equal(row.reg[3].where, VT_SAME);
    assert_int_equal(vt__cfi_row(&r.m, code_of(&r) + 9, &row), VT_CFI_OK);
    assert_int_equal(row.cfa_off, 64);
    assert_int_equal(row.reg[3].where, VT_AT);
    assert_int_equal(row.reg[3].off, -16);
    unmap_module(&r);
}

TEST(cfi, rows_of_each_kind_become_the_rule_of_that_kind) {
    static const struct {
        const char *augmentation;
        vt_rule rule;
        uint8_t n, program[20];
    } rows[] = {
        {"zR", 0, 1, {CFA_NOP}}, /* filled in below: CFA = rsp + 8 */
        {"zR", VT_RULE_FIRST, 2, {CFA_UNDEFINED, RA}},
        {"zRS", VT_RULE_SIGNAL, 1, {CFA_NOP}},
        {"zR",
         VT_RULE_PLT | UINT64_C(11) << 32,
         13,
         {CFA_DEF_CFA_EXPRESSION, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}},
        {"zR",
         VT_RULE_FP_DEREF | VT_FP_AT_FP << 8 | (uint64_t)(uint32_t)-8 << 32,
         10,
         {CFA_DEF_CFA_EXPRESSION, 3, 0x76, 0x78, 0x06, CFA_EXPRESSION, RBP, 2, 0x76, 0}},
        {"zR", VT_RULE_FULL, 3, {CFA_DEF_CFA, 3 /* rbx */, 16}},
        {"zR", VT_RULE_FULL, 3, {CFA_DEF_CFA_EXPRESSION, 1, 0x96}},
        {"zR", VT_RULE_FULL, 3, {CFA_OFFSET_EXTENDED, RA, 2}}, /* return address elsewhere */
        {"zR", VT_RULE_FULL, 1, {0x3f}},                       /* no such instruction */
    };
    for (size_t i = 0; i < vt_countof(rows); i++) {
        struct bytes b = tables(rows[i].augmentation, usual_first, sizeof(usual_first),
                                rows[i].program, rows[i].n);
        struct module r = map_module(&b, b.n);
        vt_rule expected = i == 0 ? vt__rule(VT_RULE_SP, 8, VT_FP_SAME, 0) : rows[i].rule;
        vt_rule seen = vt__arch_rule(&r.m, code_of(&r) + 2);
        if (seen != expected)
            fail_msg("row %zu: expected rule %#lx, seen %#lx", i, (unsigned long)expected,
                     (unsigned long)seen);
        unmap_module(&r);
    }
}

TEST(cfi, tables_cut_anywhere_are_never_read_past_their_end) {
    struct bytes b = TABLES("zR", USUAL_PROGRAM);
    for (size_t n = 0; n <= b.n; n++) {
        struct module r = map_module(&b, n);
        struct vt_row row;
        enum vt_cfi_answer a = vt__cfi_row(&r.m, code_of(&r) + 0x20, &row);
        if (n == b.n)
            assert_int_equal(a, VT_CFI_OK);
        else
            assert_int_not_equal(a, VT_CFI_OK);
        unmap_module(&r);
    }
}

TEST(cfi, damaged_tables_give_some_answer_and_no_fault) {
    uint64_t rng = 42;
    struct bytes good = TABLES("zR", USUAL_PROGRAM, CFA_EXPRESSION, RBP, 2, 0x76, 0,
                               CFA_REMEMBER_STATE, CFA_RESTORE_STATE);
    struct module r = map_module(&good, good.n);
    uint8_t *at = (uint8_t *)(uintptr_t)r.m.hdr;
    for (int round = 0; round < 200000; round++) {
        struct vt_row row;
        memcpy(at, good.at, good.n);
        for (uint64_t n = 1 + unit_random(&rng) % 3; n > 0; n--)
            at[unit_random(&rng) % good.n] = (uint8_t)unit_random(&rng);
        if (vt__cfi_row(&r.m, code_of(&r) + 0x20, &row) == VT_CFI_OK && row.has_cfa_expr) {
            size_t size;
            vt__cfi_expr(&row, row.cfa_off, &size);
        }
    }
    unmap_module(&r);
}

UNIT_MAIN()
