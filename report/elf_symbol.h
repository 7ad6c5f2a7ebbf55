/* elf_symbol.h - one symbol by its name: in an ELF file, and in a running process that has the file mapped.
 *
 * Quick where there is nothing to find, because `vitrine ps` looks into every file of every process: the string tables are
 * searched before a symbol is looked at, no debugging information is asked for, and each file is read once.
 *
 * Climate: cli.
 */
#ifndef REPORT_ELF_SYMBOL_H
#define REPORT_ELF_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

struct elf_symbol {
    bool is_found;
    uint64_t address; /* as linked */
    uint64_t code_offset,
        code_address; /* of the first segment with code, in the file and as linked */
};

/* In the dynamic symbols, else in the symbol table. A file that cannot be read has none. */
struct elf_symbol elf_symbol_find(const char *path, const char *name);

/* What was found in which file, for one name; all zero to begin with. */
struct symbol_cache {
    struct cached_symbol *files;
    uint32_t n_files, cap_files;
};
void symbol_cache_free(struct symbol_cache *c);

/* Where the symbol is in a process, in the file that has it: the first, if several do. 0, -ENOENT: in none; or another
 * negative errno. */
int process_symbol_find(struct symbol_cache *c, int pid, const char *name, uint64_t *address);

#endif
