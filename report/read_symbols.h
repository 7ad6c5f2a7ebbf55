/* read_symbols.h - names as the old tools write and servers answer them: one line per address.
 *
 *   0x00000000004006dd main--inlined_into_main      outermost first
 *   0x00000000004006de 0x4006de                     an address without a name is echoed
 *
 * Climate: cli.
 */
#ifndef REPORT_READ_SYMBOLS_H
#define REPORT_READ_SYMBOLS_H

#include "report/reader.h"

struct symbol_line {
    uint64_t address;
    struct span_text names;
};

struct symbol_lines {
    struct symbol_line *all; /* freed by the caller */
    uint32_t n, cap;
};

/* Keeps one line; false: it is none of these. */
bool symbol_line_read(struct symbol_lines *s, struct span_text line);
/* Names each location without lines whose address is among them; with `takes_one_off` also the one before it, for
 * profiles that were copied with their return addresses. */
void symbol_lines_name(struct profile *p, struct symbol_lines *s, bool takes_one_off);
/* All of a server's answer; lines that are none are skipped. */
void symbol_lines_apply(struct profile *p, const char *text, size_t n);

#endif
