/* table.c - see table.h. Climate: cli. */
#include "report/table.h"

#include <math.h>
#include <string.h>

#include "report/estimate.h"
#include "report/text.h"

/* ---- numbers */

static const struct table_scale {
    const char *unit;
    struct table_unit steps[6]; /* from large to small */
} scales[] = {
    {"bytes",
     {{1099511627776.0, 2, "TB", NULL},
      {1073741824.0, 2, "GB", NULL},
      {1048576.0, 2, "MB", NULL},
      {1024.0, 2, "kB", NULL},
      {1, 0, "B", NULL}}},
    {"nanoseconds",
     {{1e9, 2, "s", NULL}, {1e6, 2, "ms", NULL}, {1e3, 2, "us", NULL}, {1, 0, "ns", NULL}}},
    {"microseconds", {{1e6, 2, "s", NULL}, {1e3, 2, "ms", NULL}, {1, 0, "us", NULL}}},
};

static const struct table_scale *scale_of(const char *unit) {
    for (unsigned i = 0; i < sizeof scales / sizeof *scales; i++)
        if (strcmp(scales[i].unit, unit) == 0) return &scales[i];
    return NULL;
}

/* `least` of a unit is enough for it. */
static const struct table_unit *step_for(const struct table_scale *s, double number, double least) {
    const struct table_unit *u = s->steps;
    while (u->divisor > 1 && fabs(number) < least * u->divisor) u++;
    return u;
}

struct table_unit table_unit_for(const char *unit, double largest) {
    const struct table_scale *s = scale_of(unit);
    return s ? *step_for(s, largest, 1) : (struct table_unit){1, 0, "", NULL};
}

struct table_unit table_unit_each(const char *unit) {
    return (struct table_unit){1, 0, "", scale_of(unit)};
}

const char *table_decimal(double number, int decimals, const char *suffix, char *out,
                          size_t n_bytes) {
    (void)snprintf(out, n_bytes, "%.*f", decimals, number);
    bool is_nothing = out[strspn(out, "-0.")] == '\0';
    (void)snprintf(out, n_bytes, "%.*f%s", decimals, is_nothing ? 0 : number, suffix);
    return out;
}

/* Three digits, or what stands before the point; 0.9995 of a unit is rounded up to one. */
static const char *scaled_number(const struct table_scale *s, double number, char *out,
                                 size_t n_bytes) {
    const struct table_unit *u = step_for(s, number, 0.9995);
    double shown = fabs(number / u->divisor);
    int decimals = u->decimals == 0 || shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : 2;
    if (u->decimals == 0 && shown < 0.5) return "0";
    return table_decimal(number / u->divisor, decimals, u->suffix, out, n_bytes);
}

const char *table_number(struct table_unit u, double number, char *out, size_t n_bytes) {
    if (number == 0) return "0";
    if (u.scale) return scaled_number(u.scale, number, out, n_bytes);
    return table_decimal(number / u.divisor, u.decimals, u.suffix, out, n_bytes);
}

const char *table_amount(const char *unit, double number, char *out, size_t n_bytes) {
    return table_number(table_unit_each(unit), number, out, n_bytes);
}

void json_number(FILE *out, double number) {
    if (!isfinite(number))
        (void)fputs("null", out);
    else if (number == rint(number) && fabs(number) < 1e15)
        (void)fprintf(out, "%.0f", number == 0 ? 0 : number);
    else
        (void)fprintf(out, "%.15g", number);
}

/* ---- estimates */

#define ERROR_WIDTH 6 /* of "±999%~" */

static double error_of(const struct table_cell *cell) { return sqrt(cell->variance); }

/* By its first value that is not 0. */
static bool is_noise(const struct table *t, const struct table_cell *cells) {
    for (uint32_t i = 0; t->has_errors && i < t->n_columns; i++)
        if (t->columns[i].kind == TABLE_VALUE && cells[i].number != 0)
            return estimate_is_noise(cells[i].number, error_of(&cells[i]));
    return false;
}

const char *table_error(const struct table *t, const struct table_cell *cell,
                        char out[TABLE_ERROR]) {
    char text[ESTIMATE_BYTES];
    out[0] = '\0';
    if (!t->has_errors) return out;
    double error = error_of(cell);
    (void)estimate_text(cell->number, error, text);
    const char *mark = text[0] && estimate_is_noise(cell->number, error) ? "~" : "";
    int n_characters =
        (int)strlen(text) - (text[0] != '\0') + (int)strlen(mark); /* ± has two bytes */
    (void)snprintf(out, TABLE_ERROR, " %s%s%*s", text, mark, ERROR_WIDTH - n_characters, "");
    return out;
}

/* CSV: behind the columns of the table. */
static void csv_errors(const struct table *t, const struct table_cell *cells) {
    for (uint32_t i = 0; t->has_errors && i < t->n_columns; i++) {
        if (t->columns[i].kind != TABLE_VALUE) continue;
        (void)fputc(',', t->out);
        if (cells)
            json_number(t->out, error_of(&cells[i]));
        else
            (void)fprintf(t->out, "%s_error", t->columns[i].name);
    }
    if (t->has_errors)
        (void)fputs(cells == NULL ? ",noise" : is_noise(t, cells) ? ",1" : ",0", t->out);
}

static void json_error(const struct table *t, const struct table_column *c,
                       const struct table_cell *cell) {
    if (!t->has_errors || c->kind != TABLE_VALUE) return;
    (void)fprintf(t->out, ",\"%s_error\":", c->name);
    json_number(t->out, error_of(cell));
}

/* ---- forms */

static void csv_cell(const struct table *t, const struct table_column *c,
                     const struct table_cell *cell) {
    switch (c->kind) {
    case TABLE_TEXT: text_csv(t->out, cell->text); break;
    case TABLE_LIST:
        (void)fputc('"', t->out);
        for (uint32_t i = 0; i < cell->n; i++) {
            if (i > 0) (void)fputc(';', t->out);
            text_csv_inner(t->out, cell->list[i]);
        }
        (void)fputc('"', t->out);
        break;
    case TABLE_VALUE:
    case TABLE_COUNT: json_number(t->out, cell->number); break;
    case TABLE_PERCENT: json_number(t->out, rint(cell->number * 1e4) / 1e4); break;
    }
}

static void json_cell(const struct table *t, const struct table_column *c,
                      const struct table_cell *cell) {
    text_json(t->out, c->name);
    (void)fputc(':', t->out);
    switch (c->kind) {
    case TABLE_TEXT: text_json(t->out, cell->text); break;
    case TABLE_LIST:
        (void)fputc('[', t->out);
        for (uint32_t i = 0; i < cell->n; i++) {
            if (i > 0) (void)fputc(',', t->out);
            text_json(t->out, cell->list[i]);
        }
        (void)fputc(']', t->out);
        break;
    case TABLE_VALUE:
    case TABLE_COUNT: json_number(t->out, cell->number); break;
    case TABLE_PERCENT: json_number(t->out, rint(cell->number * 1e4) / 1e4); break;
    }
}

/* Growth red and the opposite cyan in a difference, else by how much it is. */
const char *table_colour(const struct table *t, const struct table_cell *cells, double percent) {
    if (!t->has_colour) return "";
    if (is_noise(t, cells)) return "\033[90m";
    if (t->is_difference) return percent > 0 ? "\033[31m" : percent < 0 ? "\033[36m" : "";
    return percent >= 10 ? "\033[1;31m" : percent >= 2 ? "\033[33m" : "";
}

const char *table_plain(const char *colour) { return *colour ? "\033[0m" : ""; }

void table_name(const struct table *t, const char *name, int used) {
    unsigned least = 12,
             room = t->width > (unsigned)used + least ? t->width - (unsigned)used : least;
    text_fit(t->out, name, t->width ? room : 0);
}

/* -100.00% is wider than a share can be otherwise. */
static int width_of(const struct table *t, const struct table_column *c) {
    return c->width + (t->is_difference && c->kind == TABLE_PERCENT);
}

/* Gives how many columns it took. */
static int text_cell(const struct table *t, const struct table_column *c,
                     const struct table_cell *cell, bool is_last, int used) {
    char number[64], error[TABLE_ERROR];
    switch (c->kind) {
    case TABLE_TEXT:
        if (!is_last) return fprintf(t->out, "%*s", c->width, text_shown(cell->text));
        table_name(t, cell->text, used);
        break;
    case TABLE_VALUE:
        return fprintf(t->out, "%*s%s", c->width,
                       table_number(t->unit, cell->number, number, sizeof number),
                       table_error(t, cell, error)) -
               (strchr(error, '%') != NULL); /* ± has two bytes */
    case TABLE_COUNT: return fprintf(t->out, "%*.0f", c->width, cell->number);
    case TABLE_PERCENT:
        return fprintf(t->out, "%*s", width_of(t, c),
                       table_decimal(cell->number, 2, "%", number, sizeof number));
    case TABLE_LIST:
        for (uint32_t i = 0; i < cell->n; i++) {
            if (i > 0) (void)fprintf(t->out, "\n%*s", used, "");
            table_name(t, cell->list[i], used);
        }
        if (cell->n > 1) (void)fputc('\n', t->out);
        break;
    }
    return 0;
}

/* The numbers up to the first share have its colour; what is noise is grey, all of it. */
static void text_row(const struct table *t, const struct table_cell *cells) {
    uint32_t last = 0;
    int used = 0;
    while (last < t->n_columns && t->columns[last].kind != TABLE_PERCENT) last++;
    const char *colour = table_colour(t, cells, last < t->n_columns ? cells[last].number : 0);
    if (is_noise(t, cells)) last = t->n_columns - 1;
    (void)fputs(colour, t->out);
    for (uint32_t i = 0; i < t->n_columns; i++) {
        if (i > 0) used += fprintf(t->out, " ");
        used += text_cell(t, &t->columns[i], &cells[i], i + 1 == t->n_columns, used);
        if (i == last) (void)fputs(table_plain(colour), t->out);
    }
}

void table_begin(struct table *t) {
    t->n_rows = 0;
    if (t->form == TABLE_AS_JSON) {
        (void)fputc('{', t->out);
        if (t->group) {
            (void)fputs("\"group\":", t->out);
            text_json(t->out, t->group);
            (void)fputc(',', t->out);
        }
        (void)fputs("\"type\":", t->out);
        text_json(t->out, t->type);
        (void)fputs(",\"unit\":", t->out);
        text_json(t->out, t->unit_name);
        (void)fputs(",\"total\":", t->out);
        json_number(t->out, t->total);
        if (t->has_errors) (void)fputs(",\"total_error\":", t->out);
        if (t->has_errors) json_number(t->out, sqrt(t->total_variance));
        if (t->is_incomplete) (void)fputs(",\"incomplete\":true", t->out);
        (void)fputs(",\"rows\":[", t->out);
    }
    if (t->form == TABLE_AS_CSV && t->group) {
        if (t->is_next_group) return;
        (void)fputs("group,", t->out);
    }
    const char *bold = t->has_colour ? "\033[1m" : "";
    (void)fputs(bold, t->out);
    for (uint32_t i = 0; i < t->n_columns && t->form != TABLE_AS_JSON; i++) {
        const struct table_column *c = &t->columns[i];
        bool is_last = i + 1 == t->n_columns;
        if (i > 0) (void)fputs(t->form == TABLE_AS_CSV ? "," : " ", t->out);
        if (t->form == TABLE_AS_CSV)
            text_csv(t->out, c->name);
        else
            (void)fprintf(t->out, "%*s", is_last ? 0 : width_of(t, c), c->name);
        if (t->form == TABLE_AS_TEXT && t->has_errors && c->kind == TABLE_VALUE)
            (void)fprintf(t->out, "%*s", 1 + ERROR_WIDTH, "");
        if (is_last && t->form == TABLE_AS_CSV) csv_errors(t, NULL);
        if (is_last) (void)fprintf(t->out, "%s\n", table_plain(bold));
    }
}

void table_row(struct table *t, const struct table_cell *cells) {
    if (t->form == TABLE_AS_TEXT) text_row(t, cells);
    if (t->form == TABLE_AS_JSON) (void)fputs(t->n_rows ? ",\n{" : "\n{", t->out);
    if (t->form == TABLE_AS_CSV && t->group) {
        text_csv(t->out, t->group);
        (void)fputc(',', t->out);
    }
    for (uint32_t i = 0; i < t->n_columns && t->form != TABLE_AS_TEXT; i++) {
        if (i > 0) (void)fputc(',', t->out);
        if (t->form == TABLE_AS_JSON) {
            json_cell(t, &t->columns[i], &cells[i]);
            json_error(t, &t->columns[i], &cells[i]);
        } else {
            csv_cell(t, &t->columns[i], &cells[i]);
        }
    }
    if (t->form == TABLE_AS_CSV) csv_errors(t, cells);
    if (t->form == TABLE_AS_JSON && t->has_errors)
        (void)fprintf(t->out, ",\"noise\":%s", is_noise(t, cells) ? "true" : "false");
    (void)fputs(t->form == TABLE_AS_JSON ? "}" : "\n", t->out);
    t->n_rows++;
}

void table_end(struct table *t) {
    if (t->form == TABLE_AS_JSON) (void)fputs("\n]}\n", t->out);
}
