/* font.h - letters as strokes.   Climate: cli. */
#ifndef REPORT_FONT_H
#define REPORT_FONT_H

#include "report/layout.h"

/* Where a letter stands: its left end on the ground, its width, and the height of a large one. y grows downward. */
struct font_place {
    double x, y, w, h;
};
typedef void font_line(void *context, struct layout_point from, struct layout_point to);
/* Each stroke of the letter; what is no ASCII becomes '?'. */
void font_draw(char letter, const struct font_place *to, font_line *line, void *context);

#endif
