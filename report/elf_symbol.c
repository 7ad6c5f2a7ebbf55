/* elf_symbol.c - see elf_symbol.h. Climate: cli. */
#include "report/elf_symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/memory.h"
#include "report/regular.h"

#define OS_PAGE 4096u

/* ---- files */

static bool find_code(Elf *elf, struct elf_symbol *out) {
    size_t n;
    if (elf_getphdrnum(elf, &n) != 0) return false;
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr p;
        if (gelf_getphdr(elf, (int)i, &p) == NULL || p.p_type != PT_LOAD || !(p.p_flags & PF_X))
            continue;
        out->code_offset = p.p_offset;
        out->code_address = p.p_vaddr;
        return true;
    }
    return false;
}

static bool find_in_section(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name,
                            uint64_t *address) {
    Elf_Scn *names = elf_getscn(elf, header->sh_link);
    Elf_Data *text = names ? elf_getdata(names, NULL) : NULL;
    if (text == NULL || text->d_buf == NULL ||
        memmem(text->d_buf, text->d_size, name, strlen(name) + 1) == NULL)
        return false;
    Elf_Data *symbols = elf_getdata(section, NULL);
    if (symbols == NULL || header->sh_entsize == 0) return false;
    int n = (int)(header->sh_size / header->sh_entsize);
    for (int i = 1; i < n; i++) {
        GElf_Sym s;
        if (gelf_getsym(symbols, i, &s) == NULL || s.st_shndx == SHN_UNDEF) continue;
        const char *found = elf_strptr(elf, header->sh_link, s.st_name);
        if (found == NULL || strcmp(found, name) != 0) continue;
        *address = s.st_value;
        return true;
    }
    return false;
}

static bool find_in_file(Elf *elf, const char *name, uint64_t *address) {
    static const unsigned kinds[] = {SHT_DYNSYM, SHT_SYMTAB};
    for (unsigned k = 0; k < 2; k++)
        for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s)) != NULL;) {
            GElf_Shdr header;
            if (gelf_getshdr(s, &header) == NULL || header.sh_type != kinds[k]) continue;
            if (find_in_section(elf, s, &header, name, address)) return true;
        }
    return false;
}

struct elf_symbol elf_symbol_find(const char *path, const char *name) {
    struct elf_symbol found = {0};
    (void)elf_version(EV_CURRENT);
    int fd = regular_open(path);
    if (fd < 0) return found;
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf != NULL && elf_kind(elf) == ELF_K_ELF && find_code(elf, &found))
        found.is_found = find_in_file(elf, name, &found.address);
    (void)elf_end(elf);
    (void)close(fd);
    return found;
}

/* ---- processes */

struct cached_symbol {
    char *file; /* device, inode and path, as /proc/PID/maps has them */
    struct elf_symbol symbol;
};

void symbol_cache_free(struct symbol_cache *c) {
    for (uint32_t i = 0; i < c->n_files; i++) free(c->files[i].file);
    free(c->files);
    *c = (struct symbol_cache){0};
}

struct mapping {
    uint64_t start, end, offset;
    bool is_code, is_file;
    const char *file; /* device, inode, path */
    const char *path;
};

/* "start-end perms offset device inode   path" */
static bool read_mapping(char *line, struct mapping *m) {
    char perms[8];
    int at_file = 0, at_inode = 0, at_path = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %n%*s %n%*u %n", &m->start, &m->end,
               perms, &m->offset, &at_file, &at_inode, &at_path) < 4)
        return false;
    m->is_code = strchr(perms, 'x') != NULL;
    m->is_file = line[at_inode] != '0' && line[at_path] == '/';
    m->file = line + at_file;
    m->path = line + at_path;
    return true;
}

/* As the process sees it: the very file, if we may; else by its name in the process's own root, which a container has. */
static struct elf_symbol find_mapped(int pid, const struct mapping *m, const char *name) {
    char path[4096 + 64];
    (void)snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, m->start,
                   m->end);
    if (access(path, R_OK) != 0) {
        char program[4096] = "";
        (void)snprintf(path, sizeof path, "/proc/%d/exe", pid);
        if (readlink(path, program, sizeof program - 1) < 0 || strcmp(program, m->path) != 0)
            (void)snprintf(path, sizeof path, "/proc/%d/root%s", pid, m->path);
    }
    if (access(path, R_OK) != 0) (void)snprintf(path, sizeof path, "%s", m->path);
    return elf_symbol_find(path, name);
}

static struct elf_symbol find_cached(struct symbol_cache *c, int pid, const struct mapping *m,
                                     const char *name) {
    for (uint32_t i = 0; i < c->n_files; i++)
        if (strcmp(c->files[i].file, m->file) == 0) return c->files[i].symbol;
    struct elf_symbol found = find_mapped(pid, m, name);
    *REPORT_PUSH(c->files, c->n_files, c->cap_files) =
        (struct cached_symbol){report_copy(m->file, strlen(m->file)), found};
    return found;
}

int process_symbol_find(struct symbol_cache *c, int pid, const char *name, uint64_t *address) {
    char path[64];
    char *line = NULL;
    size_t cap = 0;
    int status = -ENOENT;
    (void)snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "re");
    if (maps == NULL) return -errno;
    errno = 0;
    while (status == -ENOENT && getline(&line, &cap, maps) >= 0) {
        struct mapping m;
        if (!read_mapping(line, &m) || !m.is_code || !m.is_file) continue;
        struct elf_symbol s = find_cached(c, pid, &m, name);
        if (!s.is_found || m.offset != (s.code_offset & ~(uint64_t)(OS_PAGE - 1))) continue;
        *address = s.address + m.start - (s.code_address & ~(uint64_t)(OS_PAGE - 1));
        status = 0;
    }
    if (status != 0 && ferror(maps)) status = -EACCES; /* opened, but not to be read */
    free(line);
    (void)fclose(maps);
    return status;
}
