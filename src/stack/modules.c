/* modules.c - which module an address is in, and where its unwinding tables are.
 *
 * There is a table: the program itself and the kernel's vdso, which the kernel told us of, are in it from the first look-up.
 * For libraries glibc from 2.35 on answers by itself, without a lock (_dl_find_object); those of every other libc come in
 * when vt__modules_refresh() asks it, which takes libc's lock and so must not happen in a handler or under a lock of ours: ld.so
 * calls malloc with that lock held. (musl's does not, but its lock is not recursive; it never unloads anything.)
 *
 * Climate: signal, but for vt__modules_refresh() and vt__stack_poll_modules(): malloc; vt__stack_modules_stay(): host.
 * Owns: the table, and the list of modules that stay.   Locks: none; readers copy a row and look whether the table changed
 * meanwhile, writers that meet another one leave.
 */
#include <link.h>
#include <sys/auxv.h>

#include "base/lock.h"
#include "stack/impl.h"
#include "stack/upcalls.h"

#define N_MODULES 512

/* glibc's struct dl_find_object; its header has it only where the function exists. */
struct found {
    unsigned long long flags;
    void *map_start, *map_end;
    struct link_map *link_map;
    void *eh_frame; /* PT_GNU_EH_FRAME, that is .eh_frame_hdr */
    unsigned long long reserved[7];
};
extern int find_object(void *pc, struct found *out) __asm__("_dl_find_object")
    __attribute__((weak, visibility("default")));

static struct {
    _Atomic uint32_t version; /* odd while somebody writes; 0: never filled */
    _Atomic uint32_t n;
    struct {
        _Atomic uintptr_t start, end, hdr;
    } row[N_MODULES];
} table;

/* ---- writing ---- */

static void add_row(uint32_t *n, const struct vt_module *m) {
    if (*n == N_MODULES || m->end == 0) return;
    /* release: whoever sees one of these also sees `version` odd, or later; pairs with table_find's acquire loads */
    atomic_store_explicit(&table.row[*n].start, m->start, memory_order_release);
    atomic_store_explicit(&table.row[*n].end, m->end, memory_order_release);
    atomic_store_explicit(&table.row[*n].hdr, (uintptr_t)m->hdr, memory_order_release);
    ++*n;
}

static struct vt_module module_of_phdrs(uintptr_t load_bias, const ElfW(Phdr) * ph, size_t n) {
    struct vt_module m = {.start = UINTPTR_MAX};
    for (size_t i = 0; i < n; i++) {
        uintptr_t at = load_bias + ph[i].p_vaddr;
        if (ph[i].p_type == PT_GNU_EH_FRAME) m.hdr = (const uint8_t *)at;
        if (ph[i].p_type != PT_LOAD) continue;
        m.start = vt_min(m.start, at);
        m.end = vt_max(m.end, at + ph[i].p_memsz);
    }
    return m;
}

/* The program: its headers are at AT_PHDR. How far it is from where it was linked to be, they tell by themselves or, in a
 * static-pie program, by the segment that has the beginning of the file, and them right behind the ELF header. */
static void add_program(uint32_t *n) {
    const ElfW(Phdr) *ph = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t n_ph = getauxval(AT_PHNUM);
    uintptr_t bias = 0;
    if (ph == NULL) return;
    for (size_t i = n_ph; i > 0; i--) { /* PT_PHDR is before the segments */
        if (ph[i - 1].p_type == PT_LOAD && ph[i - 1].p_offset == 0)
            bias = (uintptr_t)ph - sizeof(ElfW(Ehdr)) - ph[i - 1].p_vaddr;
        if (ph[i - 1].p_type == PT_PHDR) bias = (uintptr_t)ph - ph[i - 1].p_vaddr;
    }
    struct vt_module m = module_of_phdrs(bias, ph, n_ph);
    add_row(n, &m);
}

static void add_vdso(uint32_t *n) {
    const ElfW(Ehdr) *eh = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
    if (eh == NULL) return;
    const ElfW(Phdr) *ph = (const ElfW(Phdr) *)((uintptr_t)eh + eh->e_phoff);
    struct vt_module m = module_of_phdrs((uintptr_t)eh, ph, eh->e_phnum);
    add_row(n, &m);
}

static int add_listed(struct dl_phdr_info *info, size_t size, void *n) {
    (void)size;
    struct vt_module m = module_of_phdrs(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum);
    add_row(n, &m);
    return 0;
}

static void fill(bool may_ask_libc) {
    uint32_t v = atomic_load_explicit(&table.version, memory_order_relaxed);
    /* acquire: our stores stay behind it; pairs with nothing but other writers. One at a time: a writer that a signal
     * interrupted must not be waited for. */
    if ((v & 1) != 0 || !atomic_compare_exchange_strong_explicit(
                            &table.version, &v, v + 1, memory_order_acquire, memory_order_relaxed))
        return;
    uint32_t n = 0;
    add_program(&n);
    add_vdso(&n);
    if (may_ask_libc) dl_iterate_phdr(add_listed, &n);
    atomic_store_explicit(&table.n, n, memory_order_relaxed);
    /* release: the rows are whole before the version is even again; pairs with the acquire in table_find */
    atomic_store_explicit(&table.version, v + 2, memory_order_release);
}

/* ---- reading ---- */

static bool table_find(uintptr_t pc, struct vt_module *out) {
    uint32_t before = atomic_load_explicit(&table.version, memory_order_acquire);
    if ((before & 1) != 0) return false;
    bool is_found = false;
    uint32_t n = atomic_load_explicit(&table.n, memory_order_relaxed);
    for (uint32_t i = 0; i < n && i < N_MODULES && !is_found; i++) {
        /* acquire: these come before the second look at the version */
        out->start = atomic_load_explicit(&table.row[i].start, memory_order_acquire);
        out->end = atomic_load_explicit(&table.row[i].end, memory_order_acquire);
        out->hdr = (const uint8_t *)atomic_load_explicit(&table.row[i].hdr, memory_order_acquire);
        is_found = pc >= out->start && pc < out->end;
    }
    return is_found && atomic_load_explicit(&table.version, memory_order_relaxed) == before;
}

static bool find_in_table(uintptr_t pc, struct vt_module *out) {
    if (vt_unlikely(atomic_load_explicit(&table.version, memory_order_relaxed) == 0))
        fill(/* may_ask_libc */ false);
    return table_find(pc, out);
}

/* ---- those that stay ---- */

#define N_FIRST 128

/* The modules the program began with, which libc never unloads. By their tables' addresses: what is found is one of them if
 * libc has it there and these are the same. */
static struct {
    _Atomic bool is_begun;
    _Atomic uint32_t n; /* 0: not known, or not yet */
    uintptr_t hdr[N_FIRST];
} first;

static int add_first(struct dl_phdr_info *info, size_t size, void *n) {
    (void)size;
    uint32_t *i = n;
    struct vt_module m = module_of_phdrs(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum);
    if (m.hdr != NULL && *i < N_FIRST) first.hdr[(*i)++] = (uintptr_t)m.hdr;
    return 0;
}

void vt__stack_modules_stay(void) {
    uint32_t n = 0;
    if (find_object == NULL) return; /* then the table has them all, and none is told apart */
    /* relaxed: it only tells two callers apart */
    if (atomic_exchange_explicit(&first.is_begun, true, memory_order_relaxed)) return;
    dl_iterate_phdr(add_first, &n);
    /* release: the list is whole; pairs with the acquire in is_first */
    atomic_store_explicit(&first.n, n, memory_order_release);
}

static bool is_first(const struct vt_module *m) {
    uint32_t n = atomic_load_explicit(&first.n, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        if (first.hdr[i] == (uintptr_t)m->hdr) return true;
    return false;
}

/* ---- one that is wanted ---- */

static bool find_by_libc(uintptr_t pc, struct vt_module *out) {
    struct found f;
    if (find_object((void *)pc, &f) != 0) return false;
    out->start = (uintptr_t)f.map_start;
    out->end = (uintptr_t)f.map_end;
    out->hdr = f.eh_frame;
    return true;
}

bool vt__module_hold(uintptr_t pc, struct vt_module *out) {
    out->is_held = false;
    /* the program first: of a static one glibc tells the segment with the code only, while the tables are in another, and
     * crashes before it has finished its own start, in which it calls malloc. It stays, as the vdso does. */
    if (find_object != NULL && find_in_table(pc, out)) return true;
    out->is_held = vt__tables_hold();
    if (find_object == NULL ? out->is_held && find_in_table(pc, out)
                            : find_by_libc(pc, out) && (out->is_held || is_first(out)))
        return true;
    vt__module_release(out);
    return false;
}

void vt__module_release(const struct vt_module *m) {
    if (m->is_held) vt__tables_release();
}

/* ---- how many came and went ---- */

static struct {
    _Atomic bool is_off;
    _Atomic uint64_t n_misses; /* when last asked */
    _Atomic uint64_t n_added, n_removed;
} polls = {.n_misses = UINT64_MAX, .n_added = UINT64_MAX}; /* nobody asked yet */

struct counts {
    uint64_t n_added, n_removed;
};

static int take_counts(struct dl_phdr_info *info, size_t size, void *out) {
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
        *(struct counts *)out = (struct counts){info->dlpi_adds, info->dlpi_subs};
    return 1; /* the first tells for all */
}

void vt__stack_poll_modules(bool always) {
    struct counts now = {0, 0};
    uint64_t n_misses = atomic_load_explicit(&vt__rules.n_misses, memory_order_relaxed);
    if (!always && n_misses == atomic_load_explicit(&polls.n_misses, memory_order_relaxed)) return;
    /* between the handlers of a fork: in the child libc's lock may be held by a thread that is not there */
    if (vt__lock_has_all || atomic_load_explicit(&polls.is_off, memory_order_relaxed)) return;
    dl_iterate_phdr(take_counts, &now);
    /* relaxed: two threads that find the same change both act on it, which does no harm */
    atomic_store_explicit(&polls.n_misses, n_misses, memory_order_relaxed);
    bool has_new =
        atomic_exchange_explicit(&polls.n_added, now.n_added, memory_order_relaxed) != now.n_added;
    bool has_gone = atomic_exchange_explicit(&polls.n_removed, now.n_removed,
                                             memory_order_relaxed) != now.n_removed;
    if (has_new || has_gone) vt__loads_look();
    if (has_new || has_gone) vt__modules_refresh();
    if (has_gone) vt__rules_drop();
    if (has_new || has_gone) vt__life_modules_changed();
}

void vt__stack_forget_threads(void) {
    atomic_store_explicit(&polls.is_off, true, memory_order_relaxed);
    vt__tables_forget_threads();
    vt__loads_forget_threads();
}

void vt__modules_refresh(void) {
    if (find_object == NULL) fill(/* may_ask_libc */ true);
}

bool vt__stack_has_tables(void) {
    struct vt_module m;
    if (!vt__module_hold((uintptr_t)vt__stack_has_tables, &m)) return true; /* not known */
    vt__module_release(&m);
    return m.hdr != NULL;
}
