/* cost.c - counts what a warm malloc and free cost in a built library, instruction by instruction.
 *
 * It starts cost_child with the library preloaded, lets it warm up at full speed, then follows it
 * through a few thousand malloc+free pairs of one size. Between the first instruction of malloc (or free)
 * and its return every instruction is counted and classified; the loop and the PLT are not. Time plays no
 * part, so the numbers are the same on a busy machine; nor does the kind of processor, see start_child.
 *
 * It is followed from jump to jump: what lies between is known from the code, so the child runs up to a
 * breakpoint at the next jump whose way is not. A step of the processor's own for each instruction, which says
 * the same, takes five times as long: a machine that is somebody's guest is left and entered for each.
 *
 *   instructions   all of them, the final ret included; a rep instruction counts once
 *   loads, stores  data accesses; push and pop count, the return addresses of call and ret do not
 *   branches       jumps, conditional or not, taken or not
 *   calls          calls made from within
 *   mean           average of instructions, refills and other slow turns included
 * All but the mean are modes: the most frequent value, which is the fast path alone.
 *
 *   cost [--so LIBRARY]... [--names ALLOCATE,FREE] [--size N]... [--pairs N] [--table FILE [--update | --modes]] [--compiler NAME]
 *
 * Without --so it measures libc. With --table every number must be at most the one in the file, and the
 * promises below must hold; --update writes what was measured, --modes leaves the mean out, which a
 * sample of the heap profile now and then moves. Exit 0 fine, 1 too expensive, 2 usage,
 * 3 could not, 77 tracing is not permitted here.
 */
#define _GNU_SOURCE
#include "mark.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if !defined(__x86_64__)
int main(void) {
    puts("skipped: the stepper knows x86-64 only");
    return 77;
}
#else

#include <capstone/capstone.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { OVER_BUDGET = 1, USAGE = 2, COULD_NOT = 3, SKIPPED = 77 };

/* The promises of the project, in instructions per pair. --update cannot lift them. */
static const struct {
    const char *library;
    unsigned size, most;
} promises[] = {
    {"libvitrine", 64, 49},
    {"libvitrine-fast", 64, 31},
};

enum what { INSTRUCTIONS, LOADS, STORES, BRANCHES, CALLS, N_COUNTS, MEAN = N_COUNTS, N_WHATS };
static const char *const what_names[N_WHATS] = {"instructions", "loads", "stores",
                                                "branches",     "calls", "mean"};

enum function { MALLOC, FREE, PAIR, N_FUNCTIONS };

struct cost {
    unsigned n[N_COUNTS];
};

static void fail(int status, const char *what, const char *subject) {
    fprintf(stderr, "cost: error: %s '%s'%s%s\n", what, subject, errno ? ": " : "",
            errno ? strerror(errno) : "");
    exit(status);
}

/* ---- one instruction: what kind it is */

static csh decoder;

static bool is_in(const cs_insn *in, unsigned group) { return cs_insn_group(decoder, in, group); }

/* Instructions with a memory operand that they do not access. */
static bool is_address_only(unsigned id) {
    switch (id) {
    case X86_INS_LEA:
    case X86_INS_NOP:
    case X86_INS_PREFETCH:
    case X86_INS_PREFETCHNTA:
    case X86_INS_PREFETCHT0:
    case X86_INS_PREFETCHT1:
    case X86_INS_PREFETCHT2:
    case X86_INS_PREFETCHW: return true;
    default: return false;
    }
}

/* The decoder's own idea of access is wrong for some (capstone 4: SSE stores read, cmpxchg does not
 * write), so what is plain from the operand's place comes first; the destination is operand 0. */
static unsigned access_of(const cs_insn *in, int operand) {
    bool is_move = strncmp(in->mnemonic, "mov", 3) == 0 || strncmp(in->mnemonic, "vmov", 4) == 0;
    switch (in->id) {
    case X86_INS_TEST:
    case X86_INS_CMP:
    case X86_INS_BT: return CS_AC_READ;
    case X86_INS_XCHG:
    case X86_INS_XADD:
    case X86_INS_CMPXCHG:
    case X86_INS_CMPXCHG8B:
    case X86_INS_CMPXCHG16B: return CS_AC_READ | CS_AC_WRITE;
    default: break;
    }
    if (operand > 0) return CS_AC_READ;
    if (is_move) return CS_AC_WRITE;
    return in->detail->x86.operands[operand].access;
}

static void count_operands(const cs_insn *in, struct cost *c) {
    for (int i = 0; i < in->detail->x86.op_count; i++) {
        if (in->detail->x86.operands[i].type != X86_OP_MEM) continue;
        unsigned access = access_of(in, i);
        c->n[LOADS] += (access & CS_AC_READ) != 0;
        c->n[STORES] += (access & CS_AC_WRITE) != 0;
    }
}

static struct cost classify(const cs_insn *in) {
    struct cost c = {.n = {[INSTRUCTIONS] = 1}};
    bool is_call = is_in(in, CS_GRP_CALL), is_jump = is_in(in, CS_GRP_JUMP);
    c.n[CALLS] = is_call;
    c.n[BRANCHES] = is_jump && !is_call;
    if (is_call || is_jump) { /* through memory: the target is loaded */
        const cs_x86 *x = &in->detail->x86;
        c.n[LOADS] = x->op_count == 1 && x->operands[0].type == X86_OP_MEM;
    } else if (!is_in(in, CS_GRP_RET) && !is_address_only(in->id)) {
        count_operands(in, &c);
        switch (in->id) { /* the other side is the stack, which is no operand */
        case X86_INS_PUSH:
        case X86_INS_PUSHFQ: c.n[STORES]++; break;
        case X86_INS_POP:
        case X86_INS_POPFQ:
        case X86_INS_LEAVE: c.n[LOADS]++; break;
        default: break;
        }
    }
    return c;
}

struct instruction {
    struct cost cost;
    enum {
        GOES_ON,
        BRANCHES_IF,
        RETURNS,
        ASK
    } way;              /* ASK: only the processor knows what is next */
    uint64_t next;      /* also of a jump or call to a fixed place */
    uint64_t target;    /* BRANCHES_IF, when its condition holds */
    unsigned condition; /* BRANCHES_IF: as the processor numbers them */
};

static void find_way(const cs_insn *in, struct instruction *i) {
    const cs_x86 *x = &in->detail->x86;
    bool has_target = x->op_count == 1 && x->operands[0].type == X86_OP_IMM;
    i->next = in->address + in->size;
    if (in->id == X86_INS_RET && x->op_count == 0) {
        i->way = RETURNS;
    } else if (in->id == X86_INS_JMP || in->id == X86_INS_CALL) {
        i->way = has_target ? GOES_ON : ASK;
        if (has_target) i->next = (uint64_t)x->operands[0].imm;
    } else if (is_in(in, CS_GRP_JUMP)) { /* 7x or 0f 8x; not loop, not jrcxz */
        uint8_t code = x->opcode[0] == 0x0f ? x->opcode[1] ^ 0xf0 : x->opcode[0];
        i->way = has_target && code >> 4 == 7 ? BRANCHES_IF : ASK;
        i->condition = code & 15;
        if (has_target) i->target = (uint64_t)x->operands[0].imm;
    } else if (is_in(in, CS_GRP_RET)) {
        i->way = ASK;
    }
}

static struct instruction decode(const uint8_t *bytes, size_t n_bytes, uint64_t address) {
    struct instruction i = {.cost = {.n = {[INSTRUCTIONS] = 1}}, .way = ASK};
    cs_insn *in;
    if (cs_disasm(decoder, bytes, n_bytes, address, 1, &in) == 1) {
        i.way = GOES_ON;
        i.cost = classify(in);
        find_way(in, &i);
        cs_free(in, 1);
    } else {
        char where[32];
        snprintf(where, sizeof where, "0x%llx", (unsigned long long)address);
        errno = 0;
        fail(COULD_NOT, "cannot decode the instruction at", where);
    }
    return i;
}

static void open_decoder(void) {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &decoder) != CS_ERR_OK ||
        cs_option(decoder, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK)
        errno = 0, fail(COULD_NOT, "cannot start", "capstone");
}

/* The decoder is somebody else's: what we rely on is checked against a list written by hand. */
static int self_test(void) {
    static const struct {
        const char *text;
        uint8_t n_bytes, bytes[12];
        uint8_t loads, stores, branches, calls;
    } rows[] = {
        {"mov (%rdi),%rax", 3, {0x48, 0x8b, 0x07}, 1, 0, 0, 0},
        {"mov %rax,(%rdi)", 3, {0x48, 0x89, 0x07}, 0, 1, 0, 0},
        {"mov %rax,%rdi", 3, {0x48, 0x89, 0xc7}, 0, 0, 0, 0},
        {"mov %fs:0,%rax", 9, {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0}, 1, 0, 0, 0},
        {"movl $1,(%rdi)", 6, {0xc7, 0x07, 1, 0, 0, 0}, 0, 1, 0, 0},
        {"movzwl (%rdi),%eax", 3, {0x0f, 0xb7, 0x07}, 1, 0, 0, 0},
        {"lea 8(%rdi),%rax", 4, {0x48, 0x8d, 0x47, 0x08}, 0, 0, 0, 0},
        {"cmp (%rdi),%rax", 3, {0x48, 0x3b, 0x07}, 1, 0, 0, 0},
        {"cmp %rax,(%rdi)", 3, {0x48, 0x39, 0x07}, 1, 0, 0, 0},
        {"cmpl $5,(%rdi)", 3, {0x83, 0x3f, 0x05}, 1, 0, 0, 0},
        {"test %rax,(%rdi)", 3, {0x48, 0x85, 0x07}, 1, 0, 0, 0},
        {"testb $1,(%rdi)", 3, {0xf6, 0x07, 0x01}, 1, 0, 0, 0},
        {"add %rax,(%rdi)", 3, {0x48, 0x01, 0x07}, 1, 1, 0, 0},
        {"add (%rdi),%rax", 3, {0x48, 0x03, 0x07}, 1, 0, 0, 0},
        {"subl $1,(%rdi)", 3, {0x83, 0x2f, 0x01}, 1, 1, 0, 0},
        {"xor (%rdi),%rax", 3, {0x48, 0x33, 0x07}, 1, 0, 0, 0},
        {"incl (%rdi)", 2, {0xff, 0x07}, 1, 1, 0, 0},
        {"bts %rax,(%rdi)", 4, {0x48, 0x0f, 0xab, 0x07}, 1, 1, 0, 0},
        {"bt %rax,(%rdi)", 4, {0x48, 0x0f, 0xa3, 0x07}, 1, 0, 0, 0},
        {"bts %rax,%rdx", 4, {0x48, 0x0f, 0xab, 0xc2}, 0, 0, 0, 0},
        {"xchg %rax,(%rdi)", 3, {0x48, 0x87, 0x07}, 1, 1, 0, 0},
        {"lock cmpxchg %rdx,(%rdi)", 5, {0xf0, 0x48, 0x0f, 0xb1, 0x17}, 1, 1, 0, 0},
        {"lock xadd %rax,(%rdi)", 5, {0xf0, 0x48, 0x0f, 0xc1, 0x07}, 1, 1, 0, 0},
        {"movups (%rdi),%xmm0", 3, {0x0f, 0x10, 0x07}, 1, 0, 0, 0},
        {"movups %xmm0,(%rdi)", 3, {0x0f, 0x11, 0x07}, 0, 1, 0, 0},
        {"movdqa (%rdi),%xmm0", 4, {0x66, 0x0f, 0x6f, 0x07}, 1, 0, 0, 0},
        {"movdqa %xmm0,(%rdi)", 4, {0x66, 0x0f, 0x7f, 0x07}, 0, 1, 0, 0},
        {"movq %xmm0,(%rdi)", 4, {0x66, 0x0f, 0xd6, 0x07}, 0, 1, 0, 0},
        {"movhps %xmm0,(%rdi)", 3, {0x0f, 0x17, 0x07}, 0, 1, 0, 0},
        {"movhps (%rdi),%xmm0", 3, {0x0f, 0x16, 0x07}, 1, 0, 0, 0},
        {"movnti %rax,(%rdi)", 4, {0x48, 0x0f, 0xc3, 0x07}, 0, 1, 0, 0},
        {"vmovdqu %ymm0,(%rdi)", 4, {0xc5, 0xfe, 0x7f, 0x07}, 0, 1, 0, 0},
        {"vmovdqu (%rdi),%ymm0", 4, {0xc5, 0xfe, 0x6f, 0x07}, 1, 0, 0, 0},
        {"pxor (%rdi),%xmm0", 4, {0x66, 0x0f, 0xef, 0x07}, 1, 0, 0, 0},
        {"neg (%rdi)", 3, {0x48, 0xf7, 0x1f}, 1, 1, 0, 0},
        {"mul (%rdi)", 3, {0x48, 0xf7, 0x27}, 1, 0, 0, 0},
        {"shr (%rdi)", 3, {0x48, 0xd1, 0x2f}, 1, 1, 0, 0},
        {"orb $1,(%rdi)", 3, {0x80, 0x0f, 0x01}, 1, 1, 0, 0},
        {"lock orl $0,(%rsp)", 5, {0xf0, 0x83, 0x0c, 0x24, 0x00}, 1, 1, 0, 0},
        {"btr $3,(%rdi)", 5, {0x48, 0x0f, 0xba, 0x37, 0x03}, 1, 1, 0, 0},
        {"tzcnt (%rdi),%rax", 5, {0xf3, 0x48, 0x0f, 0xbc, 0x07}, 1, 0, 0, 0},
        {"imul (%rdi),%rax", 4, {0x48, 0x0f, 0xaf, 0x07}, 1, 0, 0, 0},
        {"cmovne (%rdi),%rax", 4, {0x48, 0x0f, 0x45, 0x07}, 1, 0, 0, 0},
        {"sete (%rdi)", 3, {0x0f, 0x94, 0x07}, 0, 1, 0, 0},
        {"prefetcht0 (%rdi)", 3, {0x0f, 0x18, 0x0f}, 0, 0, 0, 0},
        {"prefetchw (%rdi)", 3, {0x0f, 0x0d, 0x0f}, 0, 0, 0, 0},
        {"nopl 0(%rax)", 4, {0x0f, 0x1f, 0x40, 0x00}, 0, 0, 0, 0},
        {"endbr64", 4, {0xf3, 0x0f, 0x1e, 0xfa}, 0, 0, 0, 0},
        {"push %rbx", 1, {0x53}, 0, 1, 0, 0},
        {"push (%rdi)", 2, {0xff, 0x37}, 1, 1, 0, 0},
        {"pop %rbx", 1, {0x5b}, 1, 0, 0, 0},
        {"leave", 1, {0xc9}, 1, 0, 0, 0},
        {"ret", 1, {0xc3}, 0, 0, 0, 0},
        {"je", 2, {0x74, 0x10}, 0, 0, 1, 0},
        {"ja (near)", 6, {0x0f, 0x87, 0x10, 0, 0, 0}, 0, 0, 1, 0},
        {"jmp", 2, {0xeb, 0x10}, 0, 0, 1, 0},
        {"jmp *%rax", 2, {0xff, 0xe0}, 0, 0, 1, 0},
        {"jmp *8(%rip)", 6, {0xff, 0x25, 8, 0, 0, 0}, 1, 0, 1, 0},
        {"call", 5, {0xe8, 0x10, 0, 0, 0}, 0, 0, 0, 1},
        {"call *8(%rip)", 6, {0xff, 0x15, 8, 0, 0, 0}, 1, 0, 0, 1},
        {"rep stosq", 3, {0xf3, 0x48, 0xab}, 0, 1, 0, 0},
        {"rep movsq", 3, {0xf3, 0x48, 0xa5}, 1, 1, 0, 0},
        {"syscall", 2, {0x0f, 0x05}, 0, 0, 0, 0},
    };
    int n_wrong = 0;
    open_decoder();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cost c = decode(rows[i].bytes, rows[i].n_bytes, 0x1000).cost;
        if (c.n[LOADS] == rows[i].loads && c.n[STORES] == rows[i].stores &&
            c.n[BRANCHES] == rows[i].branches && c.n[CALLS] == rows[i].calls)
            continue;
        n_wrong++;
        printf("%s: expected %u loads %u stores %u branches %u calls, seen %u %u %u %u\n",
               rows[i].text, rows[i].loads, rows[i].stores, rows[i].branches, rows[i].calls,
               c.n[LOADS], c.n[STORES], c.n[BRANCHES], c.n[CALLS]);
    }
    printf("%zu instructions, %d wrong\n", sizeof rows / sizeof *rows, n_wrong);
    return n_wrong ? OVER_BUDGET : 0;
}

/* ---- following the child */

enum { MAX_BIN = 8192 }; /* a free of the debug libraries has two thousand and more */

/* For one function: how often each count occurred, and the sum for the mean. */
struct tally {
    unsigned bins[N_COUNTS][MAX_BIN];
    double sum;
    unsigned n;
};

struct measurement {
    char library[64];
    unsigned size;
    double value[N_WHATS][N_FUNCTIONS];
};

static void add(struct tally *t, const struct cost *c) {
    for (int k = 0; k < N_COUNTS; k++) t->bins[k][c->n[k] < MAX_BIN ? c->n[k] : MAX_BIN - 1]++;
    t->sum += c->n[INSTRUCTIONS];
    t->n++;
}

static unsigned mode(const unsigned *bins) {
    unsigned best = 0;
    for (unsigned i = 0; i < MAX_BIN; i++)
        if (bins[i] > bins[best]) best = i;
    return best;
}

static uint64_t peek(pid_t pid, uint64_t address) {
    errno = 0;
    return (uint64_t)ptrace(PTRACE_PEEKDATA, pid, address, NULL);
}

/* Waits for a stop by SIGTRAP; other signals are handed on. Ends the test if the child ends. */
static void wait_for_trap(pid_t pid, int request) {
    for (;;) {
        int status;
        if (waitpid(pid, &status, 0) < 0) fail(COULD_NOT, "cannot wait for", "the program");
        if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
            puts("skipped: ptrace is not permitted here");
            exit(SKIPPED);
        }
        if (!WIFSTOPPED(status)) {
            fprintf(stderr, "cost: error: the program ended early, status 0x%x\n", status);
            exit(COULD_NOT);
        }
        if (WSTOPSIG(status) == SIGTRAP) return;
        ptrace(request, pid, NULL, WSTOPSIG(status));
    }
}

static void step(pid_t pid) {
    if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0) {
        printf("skipped: single-stepping is not permitted here: %s\n", strerror(errno));
        exit(SKIPPED);
    }
    wait_for_trap(pid, PTRACE_SINGLESTEP);
}

/* A run: instructions that are always done one after the other. The last is a jump, call or return whose way is not
 * fixed; a breakpoint stands there. Runs are kept by their first address, as the code a pair can reach is a few thousand of them. */
enum { MAX_RUNS = 1 << 16, MAX_RUN = 1000 };
static struct run {
    uint64_t address; /* 0: none */
    uint64_t last_address;
    struct instruction last;
    struct cost cost; /* of all */
} runs[MAX_RUNS];

static struct {
    uint64_t address;
    uint8_t byte; /* what was there */
} breakpoints[MAX_RUNS];
static size_t n_breakpoints;

static uint8_t *under_breakpoint(uint64_t address) {
    for (size_t i = 0; i < n_breakpoints; i++)
        if (breakpoints[i].address == address) return &breakpoints[i].byte;
    return NULL;
}

static void put_byte(pid_t pid, uint64_t address, uint8_t byte) {
    uint64_t word = peek(pid, address) >> 8 << 8 | byte;
    if (ptrace(PTRACE_POKETEXT, pid, address, word) < 0)
        fail(COULD_NOT, "cannot write code of", "the program");
}

static void set_breakpoint(pid_t pid, uint64_t address) {
    if (under_breakpoint(address) != NULL) return;
    if (n_breakpoints == MAX_RUNS) errno = 0, fail(COULD_NOT, "no room for", "breakpoints");
    breakpoints[n_breakpoints].address = address;
    breakpoints[n_breakpoints++].byte = (uint8_t)peek(pid, address);
    put_byte(pid, address, /* int3 */ 0xcc);
}

static struct instruction instruction_at(pid_t pid, uint64_t address) {
    uint64_t words[2]; /* an instruction has at most 15 bytes */
    words[0] = peek(pid, address);
    if (errno) fail(COULD_NOT, "cannot read code of", "the program");
    words[1] = peek(pid, address + 8); /* may lie behind the end */
    const uint8_t *byte = under_breakpoint(address);
    if (byte) words[0] = words[0] >> 8 << 8 | *byte;
    return decode((const uint8_t *)words, sizeof words, address);
}

static void add_cost(struct cost *sum, const struct cost *c) {
    for (int k = 0; k < N_COUNTS; k++) sum->n[k] += c->n[k];
}

static struct run explore(pid_t pid, uint64_t address) {
    struct run r = {.address = address, .last_address = address};
    for (unsigned n = 1;; n++) {
        r.last = instruction_at(pid, r.last_address);
        add_cost(&r.cost, &r.last.cost);
        if (n == MAX_RUN) r.last.way = ASK; /* a jump to itself has no end */
        if (r.last.way != GOES_ON) break;
        r.last_address = r.last.next;
    }
    set_breakpoint(pid, r.last_address);
    return r;
}

static const struct run *run_at(pid_t pid, uint64_t address) {
    size_t i = (address * 0x9e3779b97f4a7c15ull) >> 48;
    for (unsigned n = 0; runs[i].address != 0 && n < MAX_RUNS; n++, i = (i + 1) % MAX_RUNS)
        if (runs[i].address == address) return &runs[i];
    if (runs[i].address != 0) errno = 0, fail(COULD_NOT, "no room for", "runs");
    runs[i] = explore(pid, address);
    return &runs[i];
}

/* Conditions come in pairs, of which the odd ones are the contrary. */
static bool holds(unsigned condition, uint64_t flags) {
    bool cf = flags & 1, pf = flags >> 2 & 1, zf = flags >> 6 & 1, sf = flags >> 7 & 1,
         of = flags >> 11 & 1;
    const bool even[] = {of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of};
    return even[condition / 2] != (condition & 1);
}

/* The registers of the child, when it stands; what is changed in them holds when it goes on. */
static void look(pid_t pid, struct user_regs_struct *at) {
    if (ptrace(PTRACE_GETREGS, pid, NULL, at) < 0)
        fail(COULD_NOT, "cannot read registers of", "the program");
}

static void ask_processor(pid_t pid, struct user_regs_struct *at, uint64_t address) {
    put_byte(pid, address, *under_breakpoint(address));
    ptrace(PTRACE_SETREGS, pid, NULL, at);
    step(pid);
    put_byte(pid, address, 0xcc);
    look(pid, at);
}

/* To the first instruction of the next run. The registers of the child are set when it goes on. */
static const struct cost *do_run(pid_t pid, struct user_regs_struct *at) {
    const struct run *r = run_at(pid, at->rip);
    if (at->rip != r->last_address) {
        ptrace(PTRACE_SETREGS, pid, NULL, at);
        ptrace(PTRACE_CONT, pid, NULL, NULL);
        wait_for_trap(pid, PTRACE_CONT);
        look(pid, at);
        if (--at->rip != r->last_address) /* behind the breakpoint */
            errno = 0, fail(COULD_NOT, "lost the way of", "the program");
    }
    switch (r->last.way) {
    case BRANCHES_IF:
        at->rip = holds(r->last.condition, at->eflags) ? r->last.target : r->last.next;
        break;
    case RETURNS:
        at->rip = peek(pid, at->rsp);
        at->rsp += 8;
        break;
    default: ask_processor(pid, at, r->last_address);
    }
    return &r->cost;
}

/* Both on one processor: they take turns anyway, and a wake-up across processors costs ten steps. */
static void share_one_cpu(void) {
    cpu_set_t one;
    int cpu = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET(cpu < 0 ? 0 : cpu, &one);
    (void)sched_setaffinity(0, sizeof one, &one); /* only speed is lost without it */
}

/* --names: which functions are meant by malloc and free; a row of theirs is named by the first. */
static struct { char allocate[32], free[32]; } names = {"malloc", "free"};

static pid_t start_child(const char *child, const char *library, unsigned size) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0) fail(COULD_NOT, "cannot fork for", child);
    if (pid > 0) return pid;
    char n[16];
    snprintf(n, sizeof n, "%u", size);
    if (library)
        setenv("LD_PRELOAD", library, 1);
    else
        unsetenv("LD_PRELOAD");
    unsetenv("VITRINE"); /* defaults are what is measured */
    /* libc has a memset and a memcpy for each kind of processor; the plain ones are the same on all of them */
    setenv(
        "GLIBC_TUNABLES",
        "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-AVX_Fast_Unaligned_Load,-SSSE3,-ERMS,-FSRM",
        1);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0) _exit(SKIPPED);
    execl(child, child, n, "20000", names.allocate, names.free, (char *)NULL);
    _exit(COULD_NOT);
}

/* A preload that ld.so could not honour is only a warning to it. */
static void check_owner(pid_t pid, const char *library, uint64_t address) {
    char path[64], line[512], real[4096];
    if (!library) return;
    if (!realpath(library, real)) fail(COULD_NOT, "cannot find", library);
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f) fail(COULD_NOT, "cannot read", path);
    while (fgets(line, sizeof line, f)) {
        unsigned long long low, high;
        char *name = strchr(line, '/');
        if (sscanf(line, "%llx-%llx", &low, &high) != 2 || address < low || address >= high)
            continue;
        if (name) name[strcspn(name, "\n")] = 0;
        fclose(f);
        if (name && strcmp(name, real) == 0) return;
        fprintf(stderr, "cost: error: expected malloc from '%s', seen it from '%s'\n", real,
                name ? name : "nowhere");
        exit(COULD_NOT);
    }
    fclose(f);
    fail(COULD_NOT, "malloc is nowhere in", path);
}

/* From the first instruction of a function, where the child stands, to its return. */
static struct cost do_function(pid_t pid, struct user_regs_struct *at) {
    struct cost total = {0};
    uint64_t sp = at->rsp, back = peek(pid, sp);
    do add_cost(&total, do_run(pid, at));
    while (at->rip != back || at->rsp != sp + 8);
    return total;
}

static void measure(const char *child, const char *library, unsigned size, unsigned n_pairs,
                    struct measurement *m) {
    static struct tally tallies[N_FUNCTIONS];
    memset(tallies, 0, sizeof tallies);
    memset(runs, 0, sizeof runs); /* another process, other addresses */
    n_breakpoints = 0;

    pid_t pid = start_child(child, library, size);
    wait_for_trap(pid, PTRACE_CONT); /* exec */
    ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    wait_for_trap(pid, PTRACE_CONT); /* the mark */
    struct user_regs_struct at;
    look(pid, &at);
    uint64_t mark = at.rdi;
    uint64_t malloc_entry = peek(pid, mark + offsetof(struct mark, malloc_entry));
    uint64_t free_entry = peek(pid, mark + offsetof(struct mark, free_entry));
    check_owner(pid, library, malloc_entry);

    struct cost pair = {0};
    while (tallies[FREE].n < n_pairs) {
        if (at.rip == malloc_entry) {
            pair = do_function(pid, &at);
            add(&tallies[MALLOC], &pair);
        } else if (at.rip == free_entry) {
            struct cost c = do_function(pid, &at);
            add(&tallies[FREE], &c);
            add_cost(&pair, &c);
            add(&tallies[PAIR], &pair);
        } else {
            (void)do_run(pid, &at);
        }
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);

    m->size = size;
    for (int f = 0; f < N_FUNCTIONS; f++) {
        for (int k = 0; k < N_COUNTS; k++) m->value[k][f] = mode(tallies[f].bins[k]);
        m->value[MEAN][f] = tallies[f].sum / tallies[f].n;
    }
}

/* "libvitrine.so.1.0" and "libvitrine.so" are the same row; libc is what there is without a library. */
static void name_library(const char *path, char *name, size_t room) {
    const char *base = path ? strrchr(path, '/') : NULL;
    snprintf(name, room, "%s", base ? base + 1 : path ? path : "libc");
    char *end = strstr(name, ".so");
    if (end) *end = 0;
    size_t len = strlen(name);
    if (strcmp(names.allocate, "malloc") != 0)
        snprintf(name + len, room - len, ":%s", names.allocate);
}

/* ---- the table */

struct row {
    char library[64], what[16];
    unsigned size;
    double most[N_FUNCTIONS];
};

enum { MAX_ROWS = 512 };
static struct {
    struct row rows[MAX_ROWS];
    int n_rows;
    char compiler[64];
} table;

static struct row *find_row(const char *library, unsigned size, const char *what) {
    for (int i = 0; i < table.n_rows; i++) {
        struct row *r = &table.rows[i];
        if (r->size == size && strcmp(r->library, library) == 0 && strcmp(r->what, what) == 0)
            return r;
    }
    return NULL;
}

static void read_table(const char *file) {
    char line[256];
    FILE *f = fopen(file, "r");
    if (!f) fail(COULD_NOT, "cannot read", file);
    while (fgets(line, sizeof line, f)) {
        struct row r;
        if (line[0] == '#' || line[0] == '\n') continue;
        if (sscanf(line, "compiler %63[^\n]", table.compiler) == 1) continue;
        if (sscanf(line, "%63s %u %15s %lf %lf %lf", r.library, &r.size, r.what, &r.most[MALLOC],
                   &r.most[FREE], &r.most[PAIR]) != 6 ||
            table.n_rows == MAX_ROWS) {
            errno = 0;
            fprintf(stderr, "cost: error: in '%s' this is no row: %s", file, line);
            exit(COULD_NOT);
        }
        table.rows[table.n_rows++] = r;
    }
    fclose(f);
}

/* The mean moves a little with the addresses the system hands out, and in the secure library with the order it draws by lot:
 * a fiftieth, and up to the next half. */
static double most_for(enum what w, double seen) {
    if (w != MEAN) return seen;
    double halves = (double)(long)(seen * 1.02 * 2);
    return (halves + 1) / 2;
}

static void keep_row(const struct measurement *m, enum what w) {
    struct row *r = find_row(m->library, m->size, what_names[w]);
    if (!r) {
        if (table.n_rows == MAX_ROWS)
            errno = 0, fail(COULD_NOT, "no room in the table for", m->library);
        r = &table.rows[table.n_rows++];
        snprintf(r->library, sizeof r->library, "%s", m->library);
        snprintf(r->what, sizeof r->what, "%s", what_names[w]);
        r->size = m->size;
    }
    for (int f = 0; f < N_FUNCTIONS; f++) r->most[f] = most_for(w, m->value[w][f]);
}

static void write_table(const char *file, const char *compiler) {
    FILE *f = fopen(file, "w");
    if (!f) fail(COULD_NOT, "cannot write", file);
    fputs(
        "# What a warm malloc and free may cost, at most. Counted under a tracer; cost.c says how.\n"
        "# Written by `cost --update`; a change here belongs into the commit that causes it.\n",
        f);
    fprintf(f, "compiler %s\n\n", compiler);
    fprintf(f, "%-20s %5s  %-13s %7s %7s %7s\n", "# library", "size", "what", "malloc", "free",
            "total");
    for (int i = 0; i < table.n_rows; i++) {
        const struct row *r = &table.rows[i];
        if (i && (r[-1].size != r->size || strcmp(r[-1].library, r->library) != 0)) fputc('\n', f);
        int digits = strcmp(r->what, what_names[MEAN]) == 0;
        fprintf(f, "%-20s %5u  %-13s %7.*f %7.*f %7.*f\n", r->library, r->size, r->what, digits,
                r->most[MALLOC], digits, r->most[FREE], digits, r->most[PAIR]);
    }
    if (fclose(f)) fail(COULD_NOT, "cannot write", file);
}

/* ---- judging */

static int n_over, n_under, n_compared = N_WHATS;

static void compare(const struct measurement *m) {
    static const char *const function_names[N_FUNCTIONS] = {"malloc", "free", "malloc and free"};
    for (int w = 0; w < n_compared; w++) {
        const struct row *r = find_row(m->library, m->size, what_names[w]);
        if (!r) {
            printf(
                "%s, %u bytes: expected a row for %s in the table, seen none; run with --update\n",
                m->library, m->size, what_names[w]);
            n_over++;
            continue;
        }
        for (int f = 0; f < N_FUNCTIONS; f++) {
            if (m->value[w][f] > r->most[f]) {
                printf("%s, %u bytes, %s of %s: expected at most %g, seen %g\n", m->library,
                       m->size, what_names[w], function_names[f], r->most[f], m->value[w][f]);
                n_over++;
            }
            n_under += m->value[w][f] < r->most[f] && w != MEAN;
        }
    }
}

static bool is_mean_over(const struct measurement *m) {
    const struct row *r = find_row(m->library, m->size, what_names[MEAN]);
    for (int f = 0; r && f < N_FUNCTIONS; f++)
        if (m->value[MEAN][f] > r->most[f]) return true;
    return false;
}

/* A mean that is drawn by lot may be unlucky once; one that has grown is over each time. */
static void measure_mean_again(const char *child, const char *library, unsigned n_pairs,
                               struct measurement *m) {
    for (int i = 0; i < 3 && is_mean_over(m); i++) {
        struct measurement again = {0};
        measure(child, library, m->size, n_pairs, &again);
        for (int f = 0; f < N_FUNCTIONS; f++)
            if (again.value[MEAN][f] < m->value[MEAN][f]) m->value[MEAN][f] = again.value[MEAN][f];
    }
}

static void check_promises(const struct measurement *m) {
    for (size_t i = 0; i < sizeof promises / sizeof *promises; i++) {
        if (promises[i].size != m->size || strcmp(promises[i].library, m->library) != 0) continue;
        if (m->value[INSTRUCTIONS][PAIR] <= promises[i].most) continue;
        printf("%s, %u bytes: promised at most %u instructions for malloc and free, seen %g\n",
               m->library, m->size, promises[i].most, m->value[INSTRUCTIONS][PAIR]);
        n_over++;
    }
}

static void print(const struct measurement *m) {
    for (int w = 0; w < N_WHATS; w++)
        printf("%-20s %5u  %-13s %7.*f %7.*f %7.*f\n", m->library, m->size, what_names[w],
               w == MEAN, m->value[w][MALLOC], w == MEAN, m->value[w][FREE], w == MEAN,
               m->value[w][PAIR]);
}

/* ---- the command line */

enum { MAX_LIBRARIES = 16, MAX_SIZES = 16 };
static struct {
    const char *libraries[MAX_LIBRARIES];
    unsigned sizes[MAX_SIZES], n_pairs;
    int n_libraries, n_sizes;
    const char *table_file, *compiler;
    bool is_update, is_self_test;
} opt = {.n_pairs = 2000, .compiler = "any"};

static int usage(void) {
    fputs("usage: cost [--so LIBRARY]... [--names ALLOCATE,FREE] [--size N]... [--pairs N]\n"
          "            [--table FILE [--update | --modes]] [--compiler NAME] | --self-test\n",
          stderr);
    return USAGE;
}

static bool parse(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(arg, "--update") == 0)
            opt.is_update = true;
        else if (strcmp(arg, "--modes") == 0)
            n_compared = MEAN; /* the last */
        else if (strcmp(arg, "--self-test") == 0)
            opt.is_self_test = true;
        else if (!value)
            return false;
        else {
            i++;
            if (strcmp(arg, "--so") == 0 && opt.n_libraries < MAX_LIBRARIES)
                opt.libraries[opt.n_libraries++] = value;
            else if (strcmp(arg, "--size") == 0 && opt.n_sizes < MAX_SIZES)
                opt.sizes[opt.n_sizes++] = (unsigned)strtoul(value, NULL, 10);
            else if (strcmp(arg, "--names") == 0) {
                if (sscanf(value, "%31[^,],%31s", names.allocate, names.free) != 2) return false;
            } else if (strcmp(arg, "--pairs") == 0)
                opt.n_pairs = (unsigned)strtoul(value, NULL, 10);
            else if (strcmp(arg, "--table") == 0)
                opt.table_file = value;
            else if (strcmp(arg, "--compiler") == 0)
                opt.compiler = value;
            else
                return false;
        }
    }
    if (opt.n_libraries == 0) opt.n_libraries = 1; /* its name is NULL: libc */
    if (opt.n_sizes == 0) {
        static const unsigned usual[] = {16, 64, 256, 1024};
        memcpy(opt.sizes, usual, sizeof usual);
        opt.n_sizes = sizeof usual / sizeof *usual;
    }
    return opt.n_pairs > 0 && (opt.table_file || !opt.is_update);
}

/* The child stands beside us. */
static const char *child_path(void) {
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
    if (n < 0) fail(COULD_NOT, "cannot read", "/proc/self/exe");
    path[n] = 0;
    char *slash = strrchr(path, '/');
    memcpy(slash + 1, "cost_child", sizeof "cost_child");
    if (access(path, X_OK) != 0) fail(COULD_NOT, "cannot run", path);
    return path;
}

int main(int argc, char **argv) {
    if (!parse(argc, argv)) return usage();
    if (opt.is_self_test) return self_test();
    share_one_cpu();
    open_decoder();
    if (opt.table_file) read_table(opt.table_file);
    bool is_comparable = strcmp(table.compiler, opt.compiler) == 0;
    if (opt.table_file && !is_comparable && !opt.is_update)
        printf("the table is for %s, this is %s: only the promises are checked\n", table.compiler,
               opt.compiler);

    printf("%-20s %5s  %-13s %7s %7s %7s\n", "library", "size", "what", "malloc", "free", "total");
    for (int l = 0; l < opt.n_libraries; l++) {
        for (int s = 0; s < opt.n_sizes; s++) {
            struct measurement m = {0};
            name_library(opt.libraries[l], m.library, sizeof m.library);
            measure(child_path(), opt.libraries[l], opt.sizes[s], opt.n_pairs, &m);
            if (is_comparable && !opt.is_update && n_compared > MEAN)
                measure_mean_again(child_path(), opt.libraries[l], opt.n_pairs, &m);
            print(&m);
            if (!opt.table_file) continue;
            if (opt.is_update)
                for (int w = 0; w < N_WHATS; w++) keep_row(&m, (enum what)w);
            else if (is_comparable)
                compare(&m);
            check_promises(&m);
        }
    }
    if (opt.is_update) write_table(opt.table_file, opt.compiler);
    if (n_under) printf("%d numbers are better than the table says: run with --update\n", n_under);
    if (n_over) printf("%d numbers are over their limit\n", n_over);
    return n_over ? OVER_BUDGET : 0;
}
#endif
