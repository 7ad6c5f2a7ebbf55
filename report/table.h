/* table.h - one description of a table, three forms: text for people, JSON, CSV.
 *
 *   static const struct table_column columns[] = {{"flat", TABLE_VALUE, 10}, {"name", TABLE_TEXT, 0}};
 *   table_begin(&t); table_row(&t, cells); table_end(&t);
 *
 * Text rounds and gives units; JSON and CSV have the numbers as they are, in the profile's own unit.
 *
 * Climate: cli.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum table_form { TABLE_AS_TEXT, TABLE_AS_JSON, TABLE_AS_CSV };
enum table_kind {
    TABLE_TEXT,    /* as it is; the last column is not padded */
    TABLE_VALUE,   /* a number in the unit of the profile */
    TABLE_PERCENT, /* of 100 */
    TABLE_COUNT,   /* a plain number: a line, a thread */
    TABLE_LIST,    /* several texts: an array in JSON, one per line in text, joined by ; in CSV */
};

struct table_column {
    const char *name; /* heading, JSON key */
    enum table_kind kind;
    int width; /* in text; 0: as wide as it is */
};

struct table_cell {
    double number;
    const char *text;
    const char *const *list; /* TABLE_LIST: n texts */
    uint32_t n;
};

/* How numbers of a unit are shown: divided, with decimals and a suffix. */
struct table_unit {
    double divisor;
    int decimals;
    const char *suffix;
};

struct table {
    FILE *out;
    /* JSON: {"type": ..., "unit": ..., "total": ..., "rows": [...]} */
    const char *type, *unit_name;
    double total;
    enum table_form form;
    const struct table_column *columns;
    uint32_t n_columns, n_rows;
    struct table_unit unit;
    /* text for a terminal: names are cut to its width (0: none), large shares stand out */
    unsigned width;
    bool has_colour, is_difference;
};

/* One unit for the whole table, so that columns can be compared: fit for its largest number. */
struct table_unit table_unit_for(const char *unit, double largest);
/* "3.8%" in `out`, which is given back; what is rounded to nothing has no sign. */
const char *table_decimal(double number, int decimals, const char *suffix, char *out,
                          size_t n_bytes);
/* "3.84MB" in `out`, which is given back. */
const char *table_number(struct table_unit u, double number, char *out, size_t n_bytes);

/* What the terminal wants before a share of so many percent, and behind what was coloured; "" without colour. */
const char *table_colour(const struct table *t, double percent);
const char *table_plain(const char *colour);
/* A name at the end of a line of which `used` columns are taken. */
void table_name(const struct table *t, const char *name, int used);

void table_begin(struct table *t);
void table_row(struct table *t, const struct table_cell *cells);
void table_end(struct table *t);

/* As it is; what is no number is null. */
void json_number(FILE *out, double number);

#endif
