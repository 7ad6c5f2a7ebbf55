/* canvas.h - lines and text on a page that becomes SVG, PDF, PostScript, PNG or GIF. One font of fixed width, so that the size of a
 * text is known without asking anybody.
 *
 * y grows downward, units are points.   Climate: cli.
 */
#ifndef REPORT_CANVAS_H
#define REPORT_CANVAS_H

#include <stdbool.h>
#include <stdio.h>

#include "report/layout.h"
#include "report/raster.h"

#define CANVAS_CHARACTER 0.6 /* its width by the size of the font: Courier's, and of most like it */

enum canvas_at { CANVAS_LEFT, CANVAS_MIDDLE, CANVAS_RIGHT };

struct canvas {
    FILE *out;  /* where drawing goes */
    FILE *file; /* PDF: where the file goes, `out` is in memory then */
    char *text;
    size_t n_text;
    double w, h, scale;
    struct raster raster; /* PNG, GIF */
    const struct canvas_kind *kind;
};

struct canvas_kind {
    const char *name; /* "svg", "pdf", "ps", "png" ... */
    void (*begin)(struct canvas *c, const char *title);
    /* What follows until group_end belongs together and has a name. Only SVG keeps it. */
    void (*group)(struct canvas *c, const char *class, const char *id, const char *title);
    void (*group_end)(struct canvas *c);
    void (*box)(struct canvas *c, double x, double y, double w, double h, const char *fill);
    void (*text_at)(struct canvas *c, double x, double y, double size, enum canvas_at at,
                    const char *text, size_t n);
    /* points[0], then three for each curve; an arrow's head at the end */
    void (*curve)(struct canvas *c, const struct layout_point *points, uint32_t n, double width,
                  bool is_dashed);
    void (*end)(struct canvas *c);
};

/* "svg", "pdf", "ps", "ps2", "png" or "gif"; NULL for what we cannot draw. */
const struct canvas_kind *canvas_kind(const char *name);
void canvas_begin(struct canvas *c, const struct canvas_kind *kind, FILE *out, double w, double h,
                  double scale, const char *title);
void canvas_end(struct canvas *c);
/* What an SVG of a call graph has before its end, whoever drew it: moved and zoomed in a browser. */
void canvas_svg_script(FILE *out);

#endif
