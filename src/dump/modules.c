/* modules.c - which file each address belongs to: /proc/self/maps, and build ids from the modules' ELF notes.
 *
 * The maps are read in one go into memory of our own, so that the text in a file and the table made from it agree. ELF
 * headers and notes are read through /proc/self/mem: a module may be unmapped by another thread at any time, and a read there
 * fails where a load would crash. Neither takes a lock.
 *
 * Without /proc the dynamic linker's list must do: dl_iterate_phdr takes its lock (recursive in glibc, so a dump out of a
 * constructor in dlopen is fine; another thread's dlopen is waited for), which keeps the modules in place meanwhile. Lines in
 * the manner of /proc/self/maps are made from it.
 *
 * Climate: host, no malloc.   Owns: the mapped memory in struct vt_modules.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/auxv.h>

#include "dump/impl.h"
#include "os/os.h"
#include "stack/stack.h"

#define FIRST_TEXT_BYTES KiB(256)
#define MAX_TEXT_BYTES MiB(64) /* 2^16 mappings, the system's default limit, take about 8 MiB */
#define N_NOTES 8
#define NOTE_BYTES 1024 /* a build id is among the first notes of its segment */

/* ---- ELF: build id, and where an offset in the file lies ---- */

/* Copies memory of this process; false where there is none. */
struct reader {
    int mem_fd; /* /proc/self/mem; -1: the module is pinned, look directly */
};

static bool peek(const struct reader *r, void *to, uintptr_t from, size_t n_bytes) {
    if (r->mem_fd >= 0) return vt__os_read_at(r->mem_fd, to, n_bytes, from) == (long)n_bytes;
    __builtin_memcpy(to, (const void *)from, n_bytes);
    return true;
}

struct elf_view {
    uintptr_t bias; /* address in memory minus ELF address */
    unsigned n_notes;
    struct {
        uintptr_t at;
        size_t n_bytes;
        size_t align;
    } note[N_NOTES];
};

/* What one program header says about the mapping `m`. */
static void look_at_header(struct elf_view *v, struct vt_module *m, const Elf64_Phdr *h,
                           uintptr_t base) {
    if (h->p_type == PT_LOAD) {
        uint64_t first = vt_round_down(h->p_offset, VT_OS_PAGE);
        if (first == 0) v->bias = base - (h->p_vaddr - h->p_offset);
        if (m->file_offset >= first && m->file_offset < h->p_offset + h->p_filesz)
            m->elf_delta = h->p_vaddr - h->p_offset;
    }
    if (h->p_type == PT_NOTE && v->n_notes < N_NOTES) {
        v->note[v->n_notes].at = h->p_vaddr;
        v->note[v->n_notes].n_bytes = vt_min(h->p_memsz, NOTE_BYTES);
        v->note[v->n_notes++].align = h->p_align == 8 ? 8 : 4;
    }
}

/* Reads the ELF file whose first byte is mapped at `base`, as far as it says something about `m`. */
static void read_elf(const struct reader *r, struct vt_module *m, uintptr_t base) {
    Elf64_Ehdr file;
    Elf64_Phdr header;
    uint8_t note[NOTE_BYTES];
    struct elf_view v = {.bias = base};
    if (!peek(r, &file, base, sizeof(file))) return;
    if (__builtin_memcmp(file.e_ident, ELFMAG, SELFMAG) != 0) return;
    if (file.e_ident[EI_CLASS] != ELFCLASS64 || file.e_phentsize != sizeof(header)) return;
    for (unsigned i = 0; i < file.e_phnum; i++) {
        if (!peek(r, &header, base + file.e_phoff + i * sizeof(header), sizeof(header))) return;
        look_at_header(&v, m, &header, base);
    }
    for (unsigned i = 0; i < v.n_notes && m->n_build_id == 0; i++)
        if (peek(r, note, v.bias + v.note[i].at, v.note[i].n_bytes))
            m->n_build_id =
                vt__build_id_of_note(note, v.note[i].n_bytes, v.note[i].align, m->build_id);
}

/* ---- the lines of /proc/self/maps ---- */

struct line {
    uintptr_t start, end;
    uint64_t offset;
    bool is_executable;
    const char *path;
    size_t n_path;
};

static uint64_t take_hex(const char **s) {
    uint64_t n = 0;
    for (;; ++*s) {
        unsigned c = (unsigned char)**s;
        if (c >= '0' && c <= '9')
            n = n << 4 | (c - '0');
        else if (c >= 'a' && c <= 'f')
            n = n << 4 | (c - 'a' + 10);
        else
            return n;
    }
}

static const char *skip_field(const char *s) {
    while (*s != ' ' && *s != '\n') s++;
    while (*s == ' ') s++;
    return s;
}

/* "start-end perms offset device inode   path\n"; gives where the next line begins. */
static const char *take_line(const char *s, struct line *l) {
    l->start = take_hex(&s);
    if (*s == '-') s++;
    l->end = take_hex(&s);
    s = skip_field(s);
    const char *perms = s;
    s = skip_field(s);
    l->is_executable = s - perms > 3 && perms[2] == 'x';
    l->offset = take_hex(&s);
    for (unsigned i = 0; i < 3; i++) s = skip_field(s); /* the rest of the offset, device, inode */
    l->path = s;
    while (*s != '\n') s++;
    l->n_path = (size_t)(s - l->path);
    return s + 1;
}

static bool same_path(const struct line *a, const struct line *b) {
    return a->n_path == b->n_path && a->n_path > 0 &&
           __builtin_memcmp(a->path, b->path, a->n_path) == 0;
}

static size_t without_suffix(const char *s, size_t n, const char *suffix) {
    size_t n_suffix = vt__str_len(suffix);
    if (n > n_suffix && __builtin_memcmp(s + n - n_suffix, suffix, n_suffix) == 0) n -= n_suffix;
    return n;
}

/* A name that only tells what kind of anonymous memory it is ("[heap]", "//anon") is no file; "[vdso]" is an ELF image. */
static size_t file_name_bytes(const struct line *l) {
    if (l->n_path > 0 && (l->path[0] == '/' || vt__str_starts(l->path, "[vdso]")))
        return without_suffix(l->path, l->n_path, " (deleted)");
    return 0;
}

static void add_module(struct vt_module *m, const struct line *l) {
    *m = (struct vt_module){.start = l->start, .end = l->end, .file_offset = l->offset};
    m->path = l->path;
    m->n_path = (unsigned)file_name_bytes(l);
}

/* Which mapping the program starts in: the first to be listed in a profile. */
static void find_main(struct vt_modules *m) {
    const struct vt_module *program = vt__modules_find(m, getauxval(AT_ENTRY));
    m->main = program != NULL ? (size_t)(program - m->module) : 0;
}

static size_t count_executable(const struct vt_modules *m) {
    struct line l;
    size_t n = 0;
    for (const char *s = m->maps; s < m->maps + m->n_maps_bytes;) {
        s = take_line(s, &l);
        n += l.is_executable;
    }
    return n;
}

/* ---- those that are gone ---- */

static size_t count_gone(void) {
    struct vt_gone gone;
    size_t n = 0;
    for (uint32_t cursor = 0; vt__stack_gone_next(&cursor, &gone);) n++;
    return n;
}

static void sort_by_address(struct vt_module *table, size_t n) {
    for (size_t i = 1; i < n; i++) /* a few dozen, and nearly in order */
        for (size_t k = i; k > 0 && table[k].start < table[k - 1].start; k--) {
            struct vt_module other = table[k];
            table[k] = table[k - 1];
            table[k - 1] = other;
        }
}

/* Those that were counted; others may have gone since. */
static void add_gone(struct vt_modules *m, struct vt_module *table) {
    struct vt_gone gone;
    uint32_t cursor = 0;
    for (size_t i = 0; i < m->n_gone && vt__stack_gone_next(&cursor, &gone); i++)
        vt__module_of_gone(&gone, &table[m->n++]);
    sort_by_address(table, m->n);
}

/* Room for n, and for those that are gone. */
static struct vt_module *take_table(struct vt_modules *m, size_t n) {
    m->n_gone = count_gone();
    n += m->n_gone;
    m->table_bytes = vt_round_up(vt_max(n, 1) * sizeof(struct vt_module), VT_OS_PAGE);
    if (vt__os_map(m->table_bytes, &m->table) != 0) m->table = NULL;
    return m->table;
}

static int open_own(const char *thread_path, const char *path) {
    int fd =
        vt__os_open_read(thread_path); /* the main thread may have ended, and its maps with it */
    return fd >= 0 ? fd : vt__os_open_read(path);
}

static void table_from_maps(struct vt_modules *m) {
    struct line l;
    struct line head = {0}; /* the last mapping of a file's beginning: its ELF header */
    struct vt_module *table = take_table(m, count_executable(m));
    if (table == NULL) return;
    struct reader r = {open_own("/proc/thread-self/mem", "/proc/self/mem")};
    for (const char *s = m->maps; s < m->maps + m->n_maps_bytes;) {
        s = take_line(s, &l);
        if (l.offset == 0) head = l;
        if (!l.is_executable) continue;
        add_module(&table[m->n], &l);
        if (r.mem_fd >= 0 && table[m->n].n_path > 0 && same_path(&l, &head))
            read_elf(&r, &table[m->n], head.start);
        m->n++;
    }
    if (r.mem_fd >= 0) vt__os_close(r.mem_fd);
    add_gone(m, table);
    m->module = table;
    find_main(m);
}

/* ---- reading the text ---- */

static int take_text(struct vt_modules *m, size_t n_bytes) {
    if (m->text != NULL) vt__os_unmap(m->text, m->text_bytes);
    m->text = NULL;
    m->text_bytes = n_bytes;
    m->n_maps_bytes = 0;
    int err = n_bytes > MAX_TEXT_BYTES ? -ENOMEM : vt__os_map(n_bytes, &m->text);
    m->maps = m->text;
    return err;
}

/* From the start until the end of the file or of the text; false: it did not fit, or could not be read. */
static bool fill_text(struct vt_modules *m, int fd) {
    long n = 1;
    if (vt__os_seek_start(fd) < 0) return false;
    while (n > 0 && m->n_maps_bytes < m->text_bytes) {
        n = vt__os_read(fd, (char *)m->text + m->n_maps_bytes, m->text_bytes - m->n_maps_bytes);
        if (n > 0) m->n_maps_bytes += (size_t)n;
    }
    return n == 0;
}

/* All of /proc/self/maps, in memory that is large enough for it. */
static int read_maps(struct vt_modules *m) {
    int fd = open_own("/proc/thread-self/maps", "/proc/self/maps");
    if (fd < 0) return fd;
    int err = 0;
    bool is_whole = false;
    for (size_t n = FIRST_TEXT_BYTES; err == 0 && !is_whole; n *= 2) {
        err = take_text(m, n);
        if (err == 0) is_whole = fill_text(m, fd);
    }
    vt__os_close(fd);
    if (err == 0 && (m->n_maps_bytes == 0 || m->maps[m->n_maps_bytes - 1] != '\n')) err = -ENODATA;
    if (err != 0) m->n_maps_bytes = 0;
    return err;
}

/* ---- without /proc ---- */

struct walk {
    struct vt_module *table; /* NULL while counting */
    size_t cap;
    struct vt_text text;
    size_t n;
};

static const char *name_of(const struct dl_phdr_info *info) {
    if (info->dlpi_name != NULL && info->dlpi_name[0] != '\0') return info->dlpi_name;
    const char *program = (const char *)getauxval(AT_EXECFN);
    return program != NULL ? program : "";
}

static void put_line(struct vt_text *t, const struct line *l, uint32_t flags) {
    vt__put_hex(t, l->start, 8);
    vt__text_char(t, '-');
    vt__put_hex(t, l->end, 8);
    vt__text_char(t, ' ');
    vt__text_char(t, (flags & PF_R) != 0 ? 'r' : '-');
    vt__text_char(t, (flags & PF_W) != 0 ? 'w' : '-');
    vt__text_char(t, (flags & PF_X) != 0 ? 'x' : '-');
    vt__text_put(t, "p ");
    vt__put_hex(t, l->offset, 8);
    vt__text_put(t, " 00:00 0 ");
    vt__put_tame(t, l->path, l->n_path, "");
    vt__text_char(t, '\n');
}

static void note_segment(struct walk *w, const struct dl_phdr_info *info, const Elf64_Phdr *h,
                         uintptr_t base) {
    uintptr_t start = vt_round_down(info->dlpi_addr + h->p_vaddr, VT_OS_PAGE);
    uintptr_t end = vt_round_up(info->dlpi_addr + h->p_vaddr + h->p_memsz, VT_OS_PAGE);
    struct line l = {
        start,         end, vt_round_down(h->p_offset, VT_OS_PAGE), (h->p_flags & PF_X) != 0,
        name_of(info), 0};
    l.n_path = vt__str_len(l.path);
    size_t at = w->text.len;
    put_line(&w->text, &l, h->p_flags);
    if (!l.is_executable) return;
    if (w->table != NULL) {
        if (w->n == w->cap) return;
        struct vt_module *m = &w->table[w->n];
        struct reader direct = {-1};
        add_module(m, &l);
        /* the module may be gone when its name is wanted: ours stands at the end of the line just written */
        m->path = w->text.buf + vt_max(at, w->text.len - 1 - l.n_path);
        m->n_path = (unsigned)l.n_path;
        if (base != 0) read_elf(&direct, m, base);
    }
    w->n++;
}

static int note_object(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    struct walk *w = arg;
    uintptr_t base = 0; /* where the file's first byte is */
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_offset == 0)
            base = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD) note_segment(w, info, &info->dlpi_phdr[i], base);
    return w->text.is_cut; /* stops the walk */
}

/* Counts, then collects; what is loaded between the two walks is left out. */
static void read_linker_list(struct vt_modules *m) {
    if (take_text(m, FIRST_TEXT_BYTES * 4) != 0) return;
    struct walk count = {.text = {m->text, m->text_bytes, 0, false, NULL, NULL}};
    dl_iterate_phdr(note_object, &count);
    struct walk w = {.text = {m->text, m->text_bytes, 0, false, NULL, NULL}};
    w.cap = count.n;
    w.table = take_table(m, w.cap);
    if (w.table == NULL) return;
    dl_iterate_phdr(note_object, &w);
    m->n_maps_bytes = w.text.len;
    m->n = w.n;
    add_gone(m, w.table);
    m->module = w.table;
    find_main(m);
}

/* ---- exported ---- */

void vt__modules_read(struct vt_modules *m) {
    *m = (struct vt_modules){0};
    if (read_maps(m) == 0)
        table_from_maps(m);
    else
        read_linker_list(m);
}

void vt__modules_free(struct vt_modules *m) {
    if (m->text != NULL) vt__os_unmap(m->text, m->text_bytes);
    if (m->table != NULL) vt__os_unmap(m->table, m->table_bytes);
    *m = (struct vt_modules){0};
}

const struct vt_module *vt__modules_find(const struct vt_modules *m, uintptr_t address) {
    size_t low = 0;
    size_t high = m->n; /* the first that begins behind the address is in low..high */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (m->module[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address < m->module[low - 1].end ? &m->module[low - 1] : NULL;
}

static void put_gone(struct vt_out *o, const struct vt_module *m) {
    struct line l = {m->start, m->end, m->file_offset, true, m->path, m->n_path};
    put_line(&o->text, &l, PF_R | PF_X);
}

/* "# build-id START HEX": readers of the text formats skip what is no map; vitrine(1) knows builds apart by it. */
static void put_build_id(struct vt_out *o, const struct vt_module *m) {
    if (m->n_build_id == 0) return;
    vt__text_put(&o->text, "# build-id ");
    vt__put_hex(&o->text, m->start, 8);
    vt__text_char(&o->text, ' ');
    vt__put_build_id(&o->text, m);
    vt__text_char(&o->text, '\n');
}

void vt__put_maps(struct vt_out *o) {
    struct vt_modules m = {0};
    if (read_maps(&m) == 0) {
        table_from_maps(&m);
    } else {
        vt__text_put(&o->text, "# no /proc/self/maps: from the dynamic linker's list\n");
        read_linker_list(&m);
    }
    vt__text_put_n(&o->text, m.maps, m.n_maps_bytes);
    for (size_t i = 0; i < m.n; i++)
        if (m.module[i].is_gone) put_gone(o, &m.module[i]);
    for (size_t i = 0; i < m.n; i++) put_build_id(o, &m.module[i]);
    vt__modules_free(&m);
}

void vt__put_mapped_libraries(struct vt_out *o) {
    vt__text_put(&o->text, "\nMAPPED_LIBRARIES:\n");
    vt__put_maps(o);
}
