/* debug_file.c - see debug_file.h. Climate: cli. */
#include "report/debug_file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <endian.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/regular.h"

#define MAX_PATH 4096
#define FREE_BYTES ((uint64_t)64 << 20)
#define MAX_RATIO 100 /* debug data packs to a third or a tenth */

/* ---- bombs */

/* How large the section becomes, 0 when it is not packed; *n_packed gets what it is. */
static uint64_t unpacked_size(Elf_Scn *section, const char *name, uint64_t *n_packed) {
    GElf_Shdr header;
    GElf_Chdr packed;
    uint64_t n;
    if (gelf_getshdr(section, &header) == NULL || header.sh_type == SHT_NOBITS) return 0;
    *n_packed = header.sh_size;
    if (header.sh_flags & SHF_COMPRESSED)
        return gelf_getchdr(section, &packed) ? packed.ch_size : 0;
    if (name == NULL || strncmp(name, ".zdebug", 7) != 0) return 0;
    Elf_Data *data = elf_rawdata(section, NULL); /* "ZLIB", then the size */
    if (data == NULL || data->d_buf == NULL || data->d_size < 12) return 0;
    memcpy(&n, (const char *)data->d_buf + 4, sizeof n);
    return be64toh(n);
}

bool debug_file_is_bomb(Elf *elf) {
    size_t names;
    bool is_bomb = false;
    if (elf_getshdrstrndx(elf, &names) != 0) return false;
    for (Elf_Scn *s = NULL; !is_bomb && (s = elf_nextscn(elf, s)) != NULL;) {
        GElf_Shdr header;
        uint64_t n_packed = 0;
        const char *name = gelf_getshdr(s, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        uint64_t n = unpacked_size(s, name, &n_packed);
        is_bomb = n > FREE_BYTES && n / MAX_RATIO > n_packed;
    }
    return is_bomb;
}

static bool is_bomb(int fd) {
    (void)elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    bool found = elf != NULL && debug_file_is_bomb(elf);
    (void)elf_end(elf);
    return found;
}

/* ---- names */

/* Nothing is there, or an ordinary file: then libdw may open it. */
static bool is_harmless(const char *path) {
    struct stat st;
    return stat(path, &st) != 0 || regular_is(path);
}

/* Where libdwfl looks: beside the file, in .debug there, and below /usr/lib/debug; an alternative may have a full path. */
static bool are_places_harmless(const char *file, const char *link) {
    static const char *const patterns[] = {"%.*s/%s", "%.*s/.debug/%s", "/usr/lib/debug%.*s/%s"};
    char path[2 * MAX_PATH];
    const char *slash = strrchr(file, '/');
    int n_folder = slash ? (int)(slash - file) : 1;
    bool is_good = link[0] != '/' || is_harmless(link);
    for (unsigned i = 0; is_good && i < sizeof patterns / sizeof *patterns; i++) {
        (void)snprintf(path, sizeof path, patterns[i], n_folder, slash ? file : ".", link);
        is_good = is_harmless(path);
    }
    (void)snprintf(path, sizeof path, "/usr/lib/debug/%s", link);
    return is_good && is_harmless(path);
}

int debug_file_find(Dwfl_Module *mod, void **user, const char *module, Dwarf_Addr base,
                    const char *file, const char *link, GElf_Word crc, char **found) {
    char own[MAX_PATH];
    const char *slash = file ? strrchr(file, '/') : NULL;
    (void)snprintf(own, sizeof own, "%s.debug", slash ? slash + 1 : file ? file : "");
    if (file && (!are_places_harmless(file, own) || (link && !are_places_harmless(file, link))))
        return -1;
    int fd = dwfl_standard_find_debuginfo(mod, user, module, base, file, link, crc, found);
    if (fd < 0 || !is_bomb(fd)) return fd;
    (void)close(fd);
    free(*found);
    *found = NULL;
    return -1;
}

static const char *text_of(Dwarf_Die *die, unsigned attribute) {
    Dwarf_Attribute a;
    return dwarf_attr(die, attribute, &a) ? dwarf_formstring(&a) : NULL;
}

/* Not the .dwo file's own sections: it is the binary's twin, and as large as its maker likes. */
bool debug_file_may_split(Dwarf_Die *unit, const char *path) {
    char place[3 * MAX_PATH];
    const char *name = text_of(unit, DW_AT_dwo_name), *folder = text_of(unit, DW_AT_comp_dir);
    const char *slash = strrchr(path, '/');
    if (name == NULL) name = text_of(unit, DW_AT_GNU_dwo_name);
    if (name == NULL) return true;
    if (name[0] == '/') return is_harmless(name);
    (void)snprintf(place, sizeof place, "%.*s/%s", slash ? (int)(slash - path) : 1,
                   slash ? path : ".", name);
    if (!is_harmless(place)) return false;
    if (folder == NULL) return true;
    (void)snprintf(place, sizeof place, "%s/%s", folder, name);
    return is_harmless(place);
}
