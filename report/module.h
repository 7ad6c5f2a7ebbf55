/* module.h - one ELF file: from an address in it to functions, files and lines.
 *
 * Looks in the DWARF, also where it lies in a separate file (by build-id or debuglink, and from
 * debuginfod when DEBUGINFOD_URLS is set), then in the symbol table. An address that neither covers has no
 * name: the nearest symbol below is not good enough.
 *
 * Climate: cli.   Owns: all strings it gives, until module_close().
 */
#ifndef REPORT_MODULE_H
#define REPORT_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/error.h"

struct module;

struct module_frame {
    const char *name;                  /* as the linker knows it, or as the source does */
    const char *file;                  /* "" when unknown */
    uint32_t line, column, start_line; /* 0: unknown */
};

struct module *module_open(const char *path, struct report_error *e); /* NULL: the line says why */
/* The code that the kernel lends to every process: that of this one. NULL: there is none. */
struct module *module_open_vdso(void);
void module_close(struct module *m);
const char *module_path(const struct module *m);     /* as it was opened */
const char *module_build_id(const struct module *m); /* hexadecimal, "" when there is none */
/* Could [start, limit) at `offset` of a process be a mapping of this file's code? */
bool module_fits(const struct module *m, uint64_t offset, uint64_t n_bytes);
/* From an offset in the file to its address as linked; false when no code lies there. */
bool module_address(const struct module *m, uint64_t offset, uint64_t *address);
/* A separate debug file has no code and does not know where the code lies in the file that has: a mapping of it tells. */
void module_place(struct module *m, uint64_t offset, uint64_t n_bytes);
/* The other way, for a whole segment of code: false when there is none of that address and size. */
bool module_segment(const struct module *m, uint64_t address, uint64_t n_bytes, uint64_t *offset);
/* What it, or its separate debug file, can say about functions. */
enum module_names {
    MODULE_NOTHING,  /* no symbol at all */
    MODULE_EXPORTED, /* those that other files may use */
    MODULE_ALL,      /* a full symbol table, or DWARF */
};
enum module_names module_names(struct module *m);
/* Split DWARF: a .dwo file that it names and that is not here, so that inlined calls are not known; NULL: none. */
const char *module_missing(struct module *m);
bool module_is_fixed(const struct module *m); /* linked for one address: not PIE, not a library */
/* The functions at an address as linked, innermost inlined first. Gives how many; 0: nothing known. */
uint32_t module_find(struct module *m, uint64_t address, struct module_frame *frames, uint32_t max);

/* ---- the code itself, addresses as linked */

/* The last line of `file` that the function around an address has code for; 0: not known. */
uint32_t module_last_line(struct module *m, uint64_t address, const char *file);

/* The function or symbol around an address: [*low, *high). False: nothing known. */
bool module_range(struct module *m, uint64_t address, uint64_t *low, uint64_t *high);
/* The bytes of [low, high); NULL when the file does not hold them all. Good until module_close(). */
const unsigned char *module_code(struct module *m, uint64_t low, uint64_t high);
unsigned module_machine(const struct module *m); /* EM_X86_64, EM_AARCH64 ... */

#endif
