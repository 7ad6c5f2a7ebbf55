/* raster.h - a picture of pixels: black ink on a few papers, as PNG or GIF.
 *
 *   raster_new() ---> raster_fill() raster_line() raster_triangle() ---> raster_write_png() or _gif(), raster_free()
 *
 * A pixel is a byte: which paper, and how much ink of INK_LEVELS. So both formats have the same 256 colours.
 *
 * Units are pixels, y grows downward.   Climate: cli.
 */
#ifndef REPORT_RASTER_H
#define REPORT_RASTER_H

#include <stdio.h>

#include "report/layout.h"

struct raster {
    uint32_t w, h;
    unsigned char *pixels;
    uint32_t papers[4]; /* 0xrrggbb; the first is white */
    unsigned n_papers;
};

void raster_new(struct raster *r, uint32_t w, uint32_t h);
void raster_free(struct raster *r);
/* Paper without ink. Of more than four colours the last becomes white. */
void raster_fill(struct raster *r, double x, double y, double w, double h, uint32_t rgb);
void raster_line(struct raster *r, struct layout_point a, struct layout_point b, double width);
void raster_triangle(struct raster *r, struct layout_point a, struct layout_point b,
                     struct layout_point c);
/* Errors of writing are left to who closes it. */
void raster_write_png(const struct raster *r, FILE *out);
void raster_write_gif(const struct raster *r, FILE *out);

#endif
