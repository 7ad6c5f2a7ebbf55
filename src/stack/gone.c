/* gone.c - libraries that are loaded no more: their frames stay theirs.
 *
 * The depot knows addresses. When a library goes and another comes to its place, the same address means other code, so the
 * addresses of the one that goes are marked with its number, above the bits that an address has:
 *
 *   63       48 47                       0
 *  | number     | address                 |      number 0: of what is loaded now
 *
 * A marked address is no frame that a walk could find, so stacks of the new library get ids of their own; and to a reader of
 * profiles it is an address like others, in a mapping of its own: dump/modules.c lists those that are gone behind the map.
 *
 *   before dlclose   the libraries that are there and might go are noted, with path and build-id
 *   after it         those that are there no more are gone: the depot is marked
 *
 * What libc unloads by itself is noticed by vt__stack_poll_modules(), if it was noted before.
 *
 * Climate: malloc, with no lock of ours held: libc's lock is taken. vt__stack_gone_next(): host.   Owns: the notes, and the text
 * of their paths. Rows are never given back.   Locks: none; who meets another at it leaves it to him.
 * Limit: 4096 libraries, and half of the depot; those beyond keep the addresses they had, as do stacks taken by another thread in the moment between
 * the end of one library and our mark, when yet another one comes to its place in that moment.
 */
#include <elf.h>
#include <link.h>

#include "base/text.h"
#include "stack/impl.h"

#define N_LOADS 4096u
#define TEXT_BYTES MiB(1)
#define MAX_PATH 1024
#define MAX_NAME 4096

struct load { /* one segment with code, of one library, from when it was noted until it went */
    uintptr_t start, end;
    uint64_t file_offset, elf_delta;
    const char *path; /* terminated */
    uint8_t build_id[VT_BUILD_ID_BYTES];
    uint8_t n_build_id;
    bool is_gone;
    _Atomic bool is_marked; /* ... and some stack has an address of it */
    uint32_t seen;          /* the last look that found it */
};

static struct {
    struct vt_region loads, text;
    _Atomic bool is_busy;
    _Atomic uint32_t n; /* rows that are whole */
    uint32_t look;
    size_t text_used;
    char name[MAX_NAME]; /* of the library at hand */
} notes = {.loads = VT_REGION(N_LOADS * sizeof(struct load), KiB(16)),
           .text = VT_REGION(TEXT_BYTES, KiB(16))};

static struct load *load_at(uint32_t i) { return (struct load *)vt__region_base(&notes.loads) + i; }

/* ---- build ids ---- */

static uint32_t word_at(const uint8_t *p) {
    uint32_t n;
    __builtin_memcpy(&n, p, sizeof(n));
    return n;
}

VT_READS_RACILY unsigned vt__build_id_of_note(const uint8_t *note, size_t n_bytes, size_t align,
                                              uint8_t out[VT_BUILD_ID_BYTES]) {
    for (size_t at = 0; at + 12 <= n_bytes;) {
        size_t name_bytes = word_at(note + at);
        size_t desc_bytes = word_at(note + at + 4);
        uint32_t type = word_at(note + at + 8);
        size_t name = at + 12;
        size_t desc = vt_round_up(name + name_bytes, align);
        if (desc + desc_bytes > n_bytes)
            return 0; /* both are 32-bit numbers: the sum does not wrap */
        if (type == NT_GNU_BUILD_ID && name_bytes == 4 &&
            word_at(note + name) == word_at((const uint8_t *)"GNU")) {
            unsigned n = (unsigned)vt_min(desc_bytes, VT_BUILD_ID_BYTES);
            __builtin_memcpy(out, note + desc, n);
            return n;
        }
        at = vt_round_up(desc + desc_bytes, align);
    }
    return 0;
}

/* ---- noting ---- */

/* Copies the loader's name of a library to notes.name. False: it is too long, or no path: the program and the vdso stay.
 * The loader writes names under the lock that dl_iterate_phdr() holds; the thread sanitizer knows nothing of that lock. */
VT_READS_RACILY static bool take_name(const char *name) {
    bool has_slash = false;
    for (size_t i = 0; name != NULL && i < MAX_NAME; i++) {
        notes.name[i] = name[i];
        if (name[i] == '\0') return has_slash;
        has_slash |= name[i] == '/';
    }
    return false;
}

/* A copy of the name, made absolute; NULL: no room. */
static VT_COLD const char *keep_path(const char *name) {
    char folder[MAX_PATH];
    size_t n_folder = 0, n_name = vt__str_len(name);
    if (name[0] != '/') {
        vt__os_folder(folder, sizeof(folder) - 1);
        n_folder = vt__str_len(folder);
        if (n_folder > 0) folder[n_folder++] = '/';
    }
    size_t at = notes.text_used, end = at + n_folder + n_name + 1;
    if (end > TEXT_BYTES || !vt__region_ready(&notes.text, end)) return NULL;
    char *text = vt__region_base(&notes.text) + at;
    __builtin_memcpy(text, folder, n_folder);
    __builtin_memcpy(text + n_folder, name, n_name + 1);
    notes.text_used = end;
    return text;
}

/* The row of the library at hand. */
static struct load *find_load(uintptr_t start, uintptr_t end) {
    uint32_t n = atomic_load_explicit(&notes.n, memory_order_relaxed);
    size_t n_name = vt__str_len(notes.name);
    for (uint32_t i = n; i > 0; i--) {
        struct load *l = load_at(i - 1);
        if (l->is_gone || l->start != start || l->end != end) continue;
        size_t n_old = vt__str_len(l->path);
        /* the folder in front of a name that was not absolute is ours */
        if (n_old >= n_name && __builtin_memcmp(l->path + n_old - n_name, notes.name, n_name) == 0)
            return l;
    }
    return NULL;
}

/* Is it in memory? What no segment has is only in the file. */
VT_READS_RACILY static bool is_loaded(const struct dl_phdr_info *info, const ElfW(Phdr) * part) {
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_LOAD && (h->p_flags & PF_R) != 0 && part->p_vaddr >= h->p_vaddr &&
            part->p_vaddr + part->p_memsz <= h->p_vaddr + h->p_filesz)
            return true;
    }
    return false;
}

static bool is_same_load(const struct load *a, const struct load *b) {
    size_t n = vt__str_len(a->path);
    return a->start == b->start && a->end == b->end && a->file_offset == b->file_offset &&
           a->n_build_id == b->n_build_id &&
           __builtin_memcmp(a->build_id, b->build_id, a->n_build_id) == 0 &&
           vt__str_len(b->path) == n && __builtin_memcmp(a->path, b->path, n) == 0;
}

/* One that comes back to where it was has its old number, when it goes again. */
static bool is_revived(const struct load *l, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        struct load *old = load_at(i);
        if (!old->is_gone || !is_same_load(old, l)) continue;
        old->is_gone = false;
        old->seen = notes.look;
        return true;
    }
    return false;
}

VT_READS_RACILY static VT_COLD void add_load(const struct dl_phdr_info *info,
                                             const ElfW(Phdr) * code, uintptr_t start,
                                             uintptr_t end) {
    uint32_t n = atomic_load_explicit(&notes.n, memory_order_relaxed);
    if (n == N_LOADS || !vt__region_ready(&notes.loads, (n + 1) * sizeof(struct load))) return;
    struct load *l = load_at(n);
    *l = (struct load){.start = start,
                       .end = end,
                       .file_offset = vt_round_down(code->p_offset, VT_OS_PAGE),
                       .elf_delta = code->p_vaddr - code->p_offset,
                       .path = keep_path(notes.name),
                       .seen = notes.look};
    if (l->path == NULL) return;
    for (unsigned i = 0; i < info->dlpi_phnum && l->n_build_id == 0; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_NOTE && is_loaded(info, h))
            l->n_build_id =
                (uint8_t)vt__build_id_of_note((const uint8_t *)info->dlpi_addr + h->p_vaddr,
                                              h->p_memsz, h->p_align == 8 ? 8 : 4, l->build_id);
    }
    size_t text_used = notes.text_used - vt__str_len(l->path) - 1;
    if (is_revived(l, n)) {
        notes.text_used = text_used; /* the path is there already */
        return;
    }
    /* release: the row is whole; pairs with the acquire in vt__stack_gone_next */
    atomic_store_explicit(&notes.n, n + 1, memory_order_release);
}

/* The headers, as the notes above, lie in the library's own memory. The loader's lock and the kernel order this with whoever has that
 * memory next; the thread sanitizer sees neither. */
VT_READS_RACILY static int note_module(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    if (!take_name(info->dlpi_name)) return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type != PT_LOAD || (h->p_flags & PF_X) == 0) continue;
        uintptr_t start = vt_round_down(info->dlpi_addr + h->p_vaddr, VT_OS_PAGE);
        uintptr_t end = vt_round_up(info->dlpi_addr + h->p_vaddr + h->p_memsz, VT_OS_PAGE);
        struct load *l = find_load(start, end);
        if (l != NULL)
            l->seen = notes.look;
        else
            add_load(info, h, start, end);
    }
    return 0;
}

static void mark_gone(void) {
    uint32_t n = atomic_load_explicit(&notes.n, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++) {
        struct load *l = load_at(i);
        if (l->is_gone || l->seen == notes.look) continue;
        l->is_gone = true;
        /* a program that loads and unloads for ever has new stacks each time: better one name for two than none for many */
        if (vt__depot_count() < VT_STACK_MAX_ID / 2 &&
            vt__depot_mark(l->start, l->end, (uintptr_t)(i + 1) << VT_PC_BITS))
            atomic_store_explicit(&l->is_marked, true,
                                  memory_order_relaxed); /* the row is whole since it is one */
    }
}

VT_COLD void vt__loads_look(void) {
    if (vt__depot_count() == 0) return; /* there is nothing to mark, so nothing to know */
    /* acquire and release: who comes after us finds what we wrote */
    if (atomic_exchange_explicit(&notes.is_busy, true, memory_order_acquire)) return;
    notes.look++;
    dl_iterate_phdr(note_module, NULL);
    mark_gone();
    atomic_store_explicit(&notes.is_busy, false, memory_order_release);
}

void vt__loads_forget_threads(void) {
    atomic_store_explicit(&notes.is_busy, false, memory_order_relaxed);
}

/* ---- telling ---- */

bool vt__stack_gone_next(uint32_t *cursor, struct vt_gone *out) {
    uint32_t n = atomic_load_explicit(&notes.n, memory_order_acquire);
    for (uint32_t i = *cursor; i < n; i++) {
        const struct load *l = load_at(i);
        if (!atomic_load_explicit(&l->is_marked, memory_order_relaxed)) continue;
        uintptr_t mark = (uintptr_t)(i + 1) << VT_PC_BITS;
        *out = (struct vt_gone){.start = mark | l->start,
                                .end = mark | l->end,
                                .file_offset = l->file_offset,
                                .elf_delta = l->elf_delta,
                                .path = l->path,
                                .build_id = l->build_id,
                                .n_build_id = l->n_build_id};
        *cursor = i + 1;
        return true;
    }
    return false;
}
