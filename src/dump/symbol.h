/* symbol.h - which function an address is in, by the symbol tables of the files that are mapped. Climate: host, no malloc. */
#ifndef VT_DUMP_SYMBOL_H
#define VT_DUMP_SYMBOL_H

#include "base/base.h"

VT_HIDDEN_BEGIN

/* Tells each address's function, in turn, by the linker's name, whatever characters that has. NULL: nobody knows it. */
void vt__symbols_tell(const uintptr_t *address, unsigned n,
                      void (*tell)(void *arg, uintptr_t address, const char *name), void *arg);

VT_HIDDEN_END

#endif
