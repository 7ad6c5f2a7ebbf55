/* debug_file.h - which debug files libdw may open, and which it must not: names in binaries are strangers' names (regular.h).
 * Climate: cli.
 */
#ifndef REPORT_DEBUG_FILE_H
#define REPORT_DEBUG_FILE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

/* For Dwfl_Callbacks.find_debuginfo: as dwfl_standard_find_debuginfo, but never opens a FIFO or a device, nor a bomb. */
int debug_file_find(Dwfl_Module *mod, void **user, const char *module, Dwarf_Addr base,
                    const char *file, const char *link, GElf_Word crc, char **found);
/* May libdw look for the .dwo file of this skeleton unit? `path` is the file that the unit is in. */
bool debug_file_may_split(Dwarf_Die *unit, const char *path);
/* Do its sections unpack to more than anybody would pack? */
bool debug_file_is_bomb(Elf *elf);

#endif
