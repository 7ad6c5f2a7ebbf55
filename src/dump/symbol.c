/* symbol.c - see symbol.h.
 *
 * The file's .symtab is asked first, then its .dynsym, which is there in stripped files, too. Both are read from the file, piece
 * by piece: it may be large, and this is for a few addresses of a process that is about to end. A file that was replaced since
 * it was mapped may give wrong names.
 *
 * Climate: host, no malloc.   Owns: nothing.
 */
#include "dump/symbol.h"

#include <elf.h>

#include "dump/impl.h"
#include "os/os.h"

#define N_AT_ONCE 64 /* symbols in one read */
#define NAME_BYTES 512
#define PATH_BYTES 1024

/* A symbol table, and the section with its names. */
struct table {
    uint64_t at, n_symbols, names_at, names_bytes;
};

struct answer {
    uint64_t name;  /* where in the file; 0: none yet */
    uint64_t start; /* of the function */
    bool has_end;   /* it is known to contain the address; else it is the nearest before */
};

static bool read_at(int fd, void *to, size_t n_bytes, uint64_t at) {
    return vt__os_read_at(fd, to, n_bytes, at) == (long)n_bytes;
}

/* The first section of this type; false: there is none. */
static bool find_table(int fd, const Elf64_Ehdr *file, uint32_t type, struct table *out) {
    Elf64_Shdr section, names;
    for (unsigned i = 0; i < file->e_shnum; i++) {
        if (!read_at(fd, &section, sizeof(section), file->e_shoff + i * sizeof(section)))
            return false;
        if (section.sh_type != type || section.sh_link >= file->e_shnum) continue;
        if (!read_at(fd, &names, sizeof(names), file->e_shoff + section.sh_link * sizeof(names)))
            return false;
        *out = (struct table){section.sh_offset, section.sh_size / sizeof(Elf64_Sym),
                              names.sh_offset, names.sh_size};
        return true;
    }
    return false;
}

static bool is_function(const Elf64_Sym *s) {
    unsigned type = ELF64_ST_TYPE(s->st_info);
    return s->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC);
}

/* A function without a size (assembly) answers for what is behind it, if nobody else does. */
static void weigh(const Elf64_Sym *s, const struct table *t, uint64_t address,
                  struct answer *best) {
    if (!is_function(s) || s->st_name >= t->names_bytes || address < s->st_value) return;
    bool has_end = s->st_size != 0;
    if (has_end && address - s->st_value >= s->st_size) return;
    if (best->name != 0 &&
        (best->has_end > has_end || (best->has_end == has_end && s->st_value <= best->start)))
        return;
    *best = (struct answer){t->names_at + s->st_name, s->st_value, has_end};
}

static void look_through(int fd, const struct table *t, uint64_t address, struct answer *best) {
    Elf64_Sym symbols[N_AT_ONCE];
    for (uint64_t i = 0; i < t->n_symbols; i += N_AT_ONCE) {
        size_t n = vt_min(t->n_symbols - i, N_AT_ONCE);
        if (!read_at(fd, symbols, n * sizeof(*symbols), t->at + i * sizeof(*symbols))) return;
        for (size_t k = 0; k < n; k++) weigh(&symbols[k], t, address, best);
    }
}

/* Cut to n_bytes. */
static bool take_name(int fd, uint64_t at, char *name, size_t n_bytes) {
    long n = vt__os_read_at(fd, name, n_bytes - 1, at);
    if (n <= 0) return false;
    name[n] = '\0';
    return name[0] != '\0';
}

static bool ask_file(int fd, uint64_t address, char *name, size_t n_bytes) {
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    Elf64_Ehdr file;
    struct answer best = {0};
    struct table t;
    if (!read_at(fd, &file, sizeof(file), 0) ||
        __builtin_memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 ||
        file.e_ident[EI_CLASS] != ELFCLASS64 || file.e_shentsize != sizeof(Elf64_Shdr))
        return false;
    for (unsigned i = 0; i < vt_countof(types) && best.name == 0; i++)
        if (find_table(fd, &file, types[i], &t)) look_through(fd, &t, address, &best);
    return best.name != 0 && take_name(fd, best.name, name, n_bytes);
}

static bool ask_module(const struct vt_module *m, uintptr_t address, char *name, size_t n_bytes) {
    char path[PATH_BYTES];
    if (m->n_path == 0 || m->n_path >= sizeof(path) || m->path[0] != '/') return false;
    __builtin_memcpy(path, m->path, m->n_path);
    path[m->n_path] = '\0';
    int fd = vt__os_open_read(path);
    if (fd < 0) return false;
    bool is_known = ask_file(fd, address - m->start + m->file_offset + m->elf_delta, name, n_bytes);
    vt__os_close(fd);
    return is_known;
}

void vt__symbols_tell(const uintptr_t *address, unsigned n,
                      void (*tell)(void *arg, uintptr_t address, const char *name), void *arg) {
    struct vt_modules modules;
    char name[NAME_BYTES];
    vt__modules_read(&modules);
    for (unsigned i = 0; i < n; i++) {
        const struct vt_module *m = vt__modules_find(&modules, address[i]);
        bool is_known = m != NULL && ask_module(m, address[i], name, sizeof(name));
        tell(arg, address[i], is_known ? name : NULL);
    }
    vt__modules_free(&modules);
}
