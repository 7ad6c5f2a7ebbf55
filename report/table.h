/* table.h - one description of a table, three forms: text for people, JSON, CSV.
 *
 *   static const struct table_column columns[] = {{"flat", TABLE_VALUE, 10}, {"name", TABLE_TEXT, 0}};
 *   table_begin(&t); table_row(&t, cells); table_end(&t);
 *
 * Text rounds and gives units; JSON and CSV have the numbers as they are, in the profile's own unit.
 *
 * Where values are estimates (has_errors), each is followed by its standard error: "±6%" in text, with a ~ behind it when the
 * value is noise; a key "flat_error" and "noise" in JSON; columns of that name, behind all others, in CSV.
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
    double variance; /* TABLE_VALUE: the square of its standard error; 0: it is exact */
    const char *text;
    const char *const *list; /* TABLE_LIST: n texts */
    uint32_t n;
};

/* How numbers of a unit are shown: divided, with decimals and a suffix; or each as it fits, "31.2MB" and "820kB". */
struct table_unit {
    double divisor;
    int decimals;
    const char *suffix;
    const struct table_scale *scale; /* NULL: all numbers alike */
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
    /* one of several tables: a field of the JSON, and a first column of the CSV; NULL: the only one */
    const char *group;
    bool is_next_group;    /* no headings in CSV */
    bool has_errors;       /* values are estimates */
    double total_variance; /* of `total` */
    bool is_incomplete;    /* something is missing: "incomplete": true in JSON */
};

/* One unit for all numbers, fit for the largest: for pictures, and for labels as Go's pprof writes them. */
struct table_unit table_unit_for(const char *unit, double largest);
/* A unit for each number, so that none is rounded to nothing. */
struct table_unit table_unit_each(const char *unit);
/* "3.8%" in `out`, which is given back; what is rounded to nothing has no sign. */
const char *table_decimal(double number, int decimals, const char *suffix, char *out,
                          size_t n_bytes);
/* "3.84MB" in `out`, which is given back. */
const char *table_number(struct table_unit u, double number, char *out, size_t n_bytes);
/* The same in the unit that fits this number. */
const char *table_amount(const char *unit, double number, char *out, size_t n_bytes);

/* What the terminal wants before a row whose share is so many percent, and behind what was coloured; "" without colour. Noise is
 * grey. */
const char *table_colour(const struct table *t, const struct table_cell *cells, double percent);
const char *table_plain(const char *colour);
/* A name at the end of a line of which `used` columns are taken. */
void table_name(const struct table *t, const char *name, int used);

/* What follows a value in text: " ±6%   ", always as wide; "" in a table without errors. */
#define TABLE_ERROR 32
const char *table_error(const struct table *t, const struct table_cell *cell,
                        char out[TABLE_ERROR]);

void table_begin(struct table *t);
void table_row(struct table *t, const struct table_cell *cells);
void table_end(struct table *t);

/* As it is; what is no number is null. */
void json_number(FILE *out, double number);

#endif
