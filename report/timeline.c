/* timeline.c - see timeline.h. Climate: cli. */
#include "report/timeline.h"

#include <math.h>

#include "report/table.h"

#define N_HEIGHTS 8
#define WIDTH 1200
#define HEIGHT 80
#define ABOVE 16 /* for the words */

double timeline_largest(const struct timeline *t) {
    double most = 0;
    for (uint32_t i = 0; i < t->n; i++) most = fmax(most, t->all[i].value);
    return most;
}

static double length_of(const struct timeline *t) { return t->n ? t->all[t->n - 1].seconds : 0; }

static void put_bar(double share, bool is_ascii, FILE *out) {
    static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char signs[] = "_.-=+*%#";
    unsigned height = (unsigned)fmin(N_HEIGHTS - 1, share * N_HEIGHTS);
    if (is_ascii)
        (void)fputc(signs[height], out);
    else
        (void)fputs(blocks[height], out);
}

void timeline_spark(const struct timeline *t, unsigned n_columns, bool is_ascii, FILE *out) {
    double most = timeline_largest(t), length = length_of(t), last = 0;
    double scale = most > 0 ? 1 / most : 0;
    uint32_t next = 0, n = t->n > 0 ? t->n - 1 : 0; /* but the last one */
    if (n_columns > t->n) n_columns = t->n;
    for (unsigned c = 0; c + 1 < n_columns; c++) {
        /* what was seen in this part of the time; else it is as it was */
        double until = length * (c + 1) / (n_columns - 1), value = -1;
        while (next < n && (t->all[next].seconds <= until || c + 2 == n_columns))
            value = fmax(value, t->all[next++].value);
        if (value >= 0) last = value;
        put_bar(last * scale, is_ascii, out);
    }
    if (t->n > 0) put_bar(t->all[n].value * scale, is_ascii, out);
}

void timeline_svg(const struct timeline *t, FILE *out) {
    double most = timeline_largest(t), length = length_of(t);
    char number[64];
    if (t->n < 2 || most <= 0 || length <= 0) return;
    (void)fprintf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"timeline\" viewBox=\"0 0 %d "
                  "%d\" width=\"100%%\" role=\"img\" aria-label=\"heap over time\">\n"
                  "<text class=\"small\" x=\"0\" y=\"11\">in use over time: at most %s in %u "
                  "profiles, %.1f s</text>\n<polygon points=\"0,%d",
                  WIDTH, HEIGHT + ABOVE, table_amount(t->unit, most, number, sizeof number), t->n,
                  length, HEIGHT + ABOVE);
    for (uint32_t i = 0; i < t->n; i++)
        (void)fprintf(out, " %.1f,%.1f", WIDTH * t->all[i].seconds / length,
                      ABOVE + HEIGHT * (1 - t->all[i].value / most));
    (void)fprintf(out, " %d,%d\"/>\n", WIDTH, HEIGHT + ABOVE);
    for (uint32_t i = 0; i < t->n; i++)
        (void)fprintf(
            out,
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>%s after %.2f "
            "s</title></circle>\n",
            WIDTH * t->all[i].seconds / length, ABOVE + HEIGHT * (1 - t->all[i].value / most),
            table_amount(t->unit, t->all[i].value, number, sizeof number), t->all[i].seconds);
    (void)fputs("</svg>\n", out);
}
