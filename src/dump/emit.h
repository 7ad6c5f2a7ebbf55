/* emit.h - one writer, two forms: a table for people, or JSON. The caller says what, not how.
 *
 * Climate: host, no malloc.   Owns: nothing; text goes through a vt_text with a sink.
 */
#ifndef VT_DUMP_EMIT_H
#define VT_DUMP_EMIT_H

#include "base/text.h"

VT_HIDDEN_BEGIN

enum vt_unit { VT_UNIT_COUNT, VT_UNIT_BYTES };

struct vt_emit {
    struct vt_text text;
    bool is_json;
    bool needs_comma;
};

void vt__emit_begin(struct vt_emit *e); /* { */
void vt__emit_end(struct vt_emit *e);   /* } */
void vt__emit_value(struct vt_emit *e, const char *name, enum vt_unit unit, uint64_t value,
                    const char *help);
void vt__emit_string(struct vt_emit *e, const char *name, const char *value);
/* A table: columns once, then each row. In JSON an array of objects with the columns' names. */
void vt__emit_table(struct vt_emit *e, const char *name, const char *const *columns,
                    unsigned n_columns);
void vt__emit_row(struct vt_emit *e, const char *const *columns, const uint64_t *values,
                  unsigned n_columns);
void vt__emit_table_end(struct vt_emit *e);

VT_HIDDEN_END

#endif
