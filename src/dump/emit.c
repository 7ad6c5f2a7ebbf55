/* emit.c - see emit.h. Climate: host, no malloc. */
#include "dump/emit.h"

#define NAME_COLUMNS 14
#define TABLE_COLUMNS 11

static void key(struct vt_emit *e, const char *name) {
    if (e->needs_comma) vt__text_char(&e->text, ',');
    e->needs_comma = true;
    if (name == NULL) return;
    vt__text_char(&e->text, '"');
    vt__text_put(&e->text, name);
    vt__text_put(&e->text, "\":");
}

static void open_with(struct vt_emit *e, char c) {
    vt__text_char(&e->text, c);
    e->needs_comma = false;
}

static void close_with(struct vt_emit *e, char c) {
    vt__text_char(&e->text, c);
    e->needs_comma = true;
}

static void put_padded(struct vt_emit *e, const char *s, unsigned width) {
    vt__text_put(&e->text, s);
    size_t len = vt__str_len(s);
    if (len < width) vt__text_pad(&e->text, ' ', width - (unsigned)len);
}

void vt__emit_begin(struct vt_emit *e) {
    if (e->is_json) open_with(e, '{');
}

void vt__emit_end(struct vt_emit *e) {
    if (e->is_json) vt__text_put(&e->text, "}\n");
    vt__text_flush(&e->text);
}

void vt__emit_string(struct vt_emit *e, const char *name, const char *value) {
    if (!e->is_json) {
        vt__text_put(&e->text, value);
        vt__text_char(&e->text, '\n');
        return;
    }
    key(e, name);
    vt__text_char(&e->text, '"');
    vt__text_put(&e->text, value); /* our own words: nothing in them needs escaping */
    vt__text_char(&e->text, '"');
}

void vt__emit_value(struct vt_emit *e, const char *name, enum vt_unit unit, uint64_t value,
                    const char *help) {
    if (e->is_json) {
        key(e, name);
        vt__text_uint(&e->text, value);
        return;
    }
    vt__text_put(&e->text, "  ");
    put_padded(e, name, NAME_COLUMNS);
    vt__text_uint_wide(&e->text, value, 16);
    vt__text_put(&e->text, "  ");
    if (unit == VT_UNIT_BYTES)
        vt__text_bytes(&e->text, value, 12);
    else
        vt__text_pad(&e->text, ' ', 12);
    vt__text_put(&e->text, "  ");
    vt__text_put(&e->text, help);
    vt__text_char(&e->text, '\n');
}

void vt__emit_table(struct vt_emit *e, const char *name, const char *const *columns,
                    unsigned n_columns) {
    if (e->is_json) {
        key(e, name);
        open_with(e, '[');
        return;
    }
    for (unsigned i = 0; i < n_columns; i++) {
        size_t len = vt__str_len(columns[i]);
        vt__text_pad(&e->text, ' ', len < TABLE_COLUMNS ? TABLE_COLUMNS - (unsigned)len : 1);
        vt__text_put(&e->text, columns[i]);
    }
    vt__text_char(&e->text, '\n');
}

void vt__emit_row(struct vt_emit *e, const char *const *columns, const uint64_t *values,
                  unsigned n_columns) {
    if (e->is_json) {
        key(e, NULL);
        open_with(e, '{');
    }
    for (unsigned i = 0; i < n_columns; i++) {
        if (e->is_json) {
            key(e, columns[i]);
            vt__text_uint(&e->text, values[i]);
        } else {
            vt__text_uint_wide(&e->text, values[i], TABLE_COLUMNS);
        }
    }
    if (e->is_json)
        close_with(e, '}');
    else
        vt__text_char(&e->text, '\n');
}

void vt__emit_table_end(struct vt_emit *e) {
    if (e->is_json) close_with(e, ']');
}
