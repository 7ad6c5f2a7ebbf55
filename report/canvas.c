/* canvas.c - see canvas.h. Climate: cli.
 *
 * PDF and PostScript count y upward; `up` turns it. Both have Courier without being given it, and both take text as bytes
 * of Latin 1: other characters become '?'.
 */
#include "report/canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/font.h"
#include "report/text.h"

#define HEAD 7.0         /* length of an arrow's head */
#define PAGE_MAX 14400.0 /* PDF's limit */

extern const char web_graph_js[];

struct head {
    struct layout_point tip, left, right;
};

/* The arrow's head at the end of a curve, along its last direction. */
static struct head head_of(const struct layout_point *p, uint32_t n, double width) {
    struct layout_point tip = p[n - 1], from = p[n - 2];
    for (uint32_t i = n - 1; i > 0 && from.x == tip.x && from.y == tip.y; i--) from = p[i - 1];
    double dx = tip.x - from.x, dy = tip.y - from.y, length = hypot(dx, dy);
    if (length == 0) return (struct head){tip, tip, tip};
    double size = HEAD + width, half = size * 0.38;
    dx /= length;
    dy /= length;
    struct layout_point base = {tip.x - size * dx, tip.y - size * dy};
    return (struct head){
        tip, {base.x - half * dy, base.y + half * dx}, {base.x + half * dy, base.y - half * dx}};
}

static double text_left(double x, double size, enum canvas_at at, const char *text, size_t n) {
    size_t n_characters = 0;
    for (size_t i = 0; i < n; i++) n_characters += ((unsigned char)text[i] & 0xc0) != 0x80;
    double w = (double)n_characters * size * CANVAS_CHARACTER;
    return at == CANVAS_LEFT ? x : at == CANVAS_MIDDLE ? x - w / 2 : x - w;
}

/* ---- SVG */

static void svg_begin(struct canvas *c, const char *title) {
    (void)fprintf(
        c->out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
        "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n<title>",
        ceil(c->w * c->scale), ceil(c->h * c->scale), ceil(c->w), ceil(c->h));
    text_xml(c->out, title);
    (void)fputs(
        "</title>\n<style>text { font-family: \"DejaVu Sans Mono\", \"Liberation Mono\", Menlo, "
        "\"Courier New\", monospace; white-space: pre; }</style>\n<rect width=\"100%\" height=\"100%\" "
        "fill=\"white\"/>\n",
        c->out);
}

static void svg_group(struct canvas *c, const char *class, const char *id, const char *title) {
    (void)fprintf(c->out, "<g class=\"%s\" id=\"%s\"><title>", class, id);
    text_xml(c->out, title);
    (void)fputs("</title>\n", c->out);
}

static void svg_group_end(struct canvas *c) { (void)fputs("</g>\n", c->out); }

static void svg_box(struct canvas *c, double x, double y, double w, double h, const char *fill) {
    (void)fprintf(
        c->out,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" stroke=\"black\"/>\n",
        x, y, w, h, fill);
}

static void svg_text(struct canvas *c, double x, double y, double size, enum canvas_at at,
                     const char *text, size_t n) {
    static const char *const anchors[] = {"start", "middle", "end"};
    char *copy = report_copy(text, n);
    (void)fprintf(c->out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" text-anchor=\"%s\">", x,
                  y, size, anchors[at]);
    text_xml(c->out, copy);
    (void)fputs("</text>\n", c->out);
    free(copy);
}

static void svg_curve(struct canvas *c, const struct layout_point *p, uint32_t n, double width,
                      bool is_dashed) {
    struct head h = head_of(p, n, width);
    (void)fprintf(c->out, "<path d=\"M%.1f %.1f", p[0].x, p[0].y);
    for (uint32_t i = 1; i + 2 < n; i += 3)
        (void)fprintf(c->out, "C%.1f %.1f %.1f %.1f %.1f %.1f", p[i].x, p[i].y, p[i + 1].x,
                      p[i + 1].y, p[i + 2].x, p[i + 2].y);
    (void)fprintf(c->out, "\" fill=\"none\" stroke=\"black\" stroke-width=\"%.2f\"%s/>\n", width,
                  is_dashed ? " stroke-dasharray=\"5,3\"" : "");
    (void)fprintf(c->out, "<path d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fZ\"/>\n", h.tip.x, h.tip.y,
                  h.left.x, h.left.y, h.right.x, h.right.y);
}

void canvas_svg_script(FILE *out) {
    (void)fprintf(out, "<script><![CDATA[\n%s]]></script>\n", web_graph_js);
}

static void svg_end(struct canvas *c) {
    canvas_svg_script(c->out);
    (void)fputs("</svg>\n", c->out);
}

/* ---- what PDF and PostScript share: the same drawing under other words */

struct words {
    const char *move, *line, *curve, *stroke, *fill, *close, *width;
};
static const struct words pdf_words = {"m", "l", "c", "S", "f", "h", "w"};
static const struct words ps_words = {"moveto", "lineto",    "curveto",     "stroke",
                                      "fill",   "closepath", "setlinewidth"};

static void page_group(struct canvas *c, const char *class, const char *id, const char *title) {
    (void)c, (void)class, (void)id, (void)title;
}
static void page_group_end(struct canvas *c) { (void)c; }

static double up(const struct canvas *c, double y) { return c->h - y; }

/* "#rrggbb" or "white" as three fractions. */
static void put_colour(struct canvas *c, const char *fill, const char *word) {
    unsigned long rgb = fill[0] == '#' ? strtoul(fill + 1, NULL, 16) : 0xffffff;
    (void)fprintf(c->out, "%.2f %.2f %.2f %s\n", (double)(rgb >> 16 & 255) / 255,
                  (double)(rgb >> 8 & 255) / 255, (double)(rgb & 255) / 255, word);
}

static void put_path(struct canvas *c, const struct words *w, const struct layout_point *p,
                     uint32_t n, double width) {
    struct head h = head_of(p, n, width);
    (void)fprintf(c->out, "%.2f %s\n%.1f %.1f %s\n", width, w->width, p[0].x, up(c, p[0].y),
                  w->move);
    for (uint32_t i = 1; i + 2 < n; i += 3)
        (void)fprintf(c->out, "%.1f %.1f %.1f %.1f %.1f %.1f %s\n", p[i].x, up(c, p[i].y),
                      p[i + 1].x, up(c, p[i + 1].y), p[i + 2].x, up(c, p[i + 2].y), w->curve);
    (void)fprintf(c->out, "%s\n%.1f %.1f %s\n%.1f %.1f %s\n%.1f %.1f %s\n%s %s\n", w->stroke,
                  h.tip.x, up(c, h.tip.y), w->move, h.left.x, up(c, h.left.y), w->line, h.right.x,
                  up(c, h.right.y), w->line, w->close, w->fill);
}

/* (text) with its own brackets escaped, in Latin 1. */
static void put_string(FILE *out, const char *text, size_t n) {
    (void)fputc('(', out);
    for (size_t i = 0; i < n;) {
        unsigned length = text_utf8_length(text + i);
        unsigned char c = (unsigned char)text[i];
        if (length == 2 && i + 1 < n && c < 0xc4) /* up to U+00FF */
            c = (unsigned char)((c & 3) << 6 | ((unsigned char)text[i + 1] & 0x3f));
        else if (length != 1 || c < ' ')
            c = '?';
        if (c == '(' || c == ')' || c == '\\') (void)fputc('\\', out);
        (void)fputc(c, out);
        i += length ? length : 1;
    }
    (void)fputc(')', out);
}

/* ---- PDF */

static void pdf_begin(struct canvas *c, const char *title) {
    (void)title;
    c->file = c->out;
    c->out = open_memstream(&c->text, &c->n_text);
    if (c->out == NULL) report_no_memory();
    double limit = PAGE_MAX / fmax(c->w, c->h);
    if (c->scale > limit) c->scale = limit;
    (void)fprintf(c->out, "%.4f 0 0 %.4f 0 0 cm\n", c->scale, c->scale);
}

static void pdf_box(struct canvas *c, double x, double y, double w, double h, const char *fill) {
    put_colour(c, fill, "rg");
    (void)fprintf(c->out, "1 w\n%.1f %.1f %.1f %.1f re\nB\n0 0 0 rg\n", x, up(c, y + h), w, h);
}

static void pdf_text(struct canvas *c, double x, double y, double size, enum canvas_at at,
                     const char *text, size_t n) {
    (void)fprintf(c->out, "BT /F %.1f Tf %.1f %.1f Td ", size, text_left(x, size, at, text, n),
                  up(c, y));
    put_string(c->out, text, n);
    (void)fputs(" Tj ET\n", c->out);
}

static void pdf_curve(struct canvas *c, const struct layout_point *p, uint32_t n, double width,
                      bool is_dashed) {
    if (is_dashed) (void)fputs("[5 3] 0 d\n", c->out);
    put_path(c, &pdf_words, p, n, width);
    if (is_dashed) (void)fputs("[] 0 d\n", c->out);
}

/* The objects and, at the end, where each of them begins. */
static void pdf_end(struct canvas *c) {
    long at[6];
    char head[600];
    FILE *f = c->file;
    (void)fclose(c->out);
    c->out = f;
    int n = fprintf(f, "%%PDF-1.4\n");
    const char *const objects[] = {
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        head,
        "<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>",
    };
    (void)snprintf(head, sizeof head,
                   "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %.0f %.0f] /Contents 5 0 R "
                   "/Resources << /Font << /F 4 0 R >> >> >>",
                   ceil(c->w * c->scale), ceil(c->h * c->scale));
    for (unsigned i = 0; i < 4; i++) {
        at[i] = n;
        n += fprintf(f, "%u 0 obj\n%s\nendobj\n", i + 1, objects[i]);
    }
    at[4] = n;
    n += fprintf(f, "5 0 obj\n<< /Length %zu >>\nstream\n", c->n_text);
    (void)fwrite(c->text, 1, c->n_text, f);
    n += (int)c->n_text + fprintf(f, "\nendstream\nendobj\n");
    (void)fputs("xref\n0 6\n0000000000 65535 f \n", f);
    for (unsigned i = 0; i < 5; i++) (void)fprintf(f, "%010ld 00000 n \n", at[i]);
    (void)fprintf(f, "trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", n);
    free(c->text);
}

/* ---- PostScript */

static void ps_begin(struct canvas *c, const char *title) {
    (void)title;
    (void)fprintf(
        c->out,
        "%%!PS-Adobe-3.0\n%%%%BoundingBox: 0 0 %.0f %.0f\n%%%%Pages: 1\n%%%%EndComments\n"
        "/Latin /Courier findfont dup length dict begin { 1 index /FID ne { def } { pop pop } "
        "ifelse } forall /Encoding ISOLatin1Encoding def currentdict end definefont pop\n"
        "%%%%Page: 1 1\n<< /PageSize [%.0f %.0f] >> setpagedevice\n%.4f %.4f scale\n",
        ceil(c->w * c->scale), ceil(c->h * c->scale), ceil(c->w * c->scale), ceil(c->h * c->scale),
        c->scale, c->scale);
}

static void ps_box(struct canvas *c, double x, double y, double w, double h, const char *fill) {
    put_colour(c, fill, "setrgbcolor");
    (void)fprintf(c->out, "%.1f %.1f %.1f %.1f rectfill\n0 setgray 1 setlinewidth\n", x,
                  up(c, y + h), w, h);
    (void)fprintf(c->out, "%.1f %.1f %.1f %.1f rectstroke\n", x, up(c, y + h), w, h);
}

static void ps_text(struct canvas *c, double x, double y, double size, enum canvas_at at,
                    const char *text, size_t n) {
    (void)fprintf(c->out, "/Latin findfont %.1f scalefont setfont %.1f %.1f moveto ", size,
                  text_left(x, size, at, text, n), up(c, y));
    put_string(c->out, text, n);
    (void)fputs(" show\n", c->out);
}

static void ps_curve(struct canvas *c, const struct layout_point *p, uint32_t n, double width,
                     bool is_dashed) {
    if (is_dashed) (void)fputs("[5 3] 0 setdash\n", c->out);
    put_path(c, &ps_words, p, n, width);
    if (is_dashed) (void)fputs("[] 0 setdash\n", c->out);
}

static void ps_end(struct canvas *c) { (void)fputs("showpage\n%%EOF\n", c->out); }

/* ---- PNG and GIF */

#define PIXELS (96.0 / 72) /* of a point: what graphviz draws, too */
#define MAX_PIXELS 1e8     /* of a picture; a larger one is drawn smaller */
#define MAX_SIDE 65535.0   /* GIF's limit */
#define LETTER_WIDTH 0.43  /* by the size of the font, as the rest: */
#define LETTER_HEIGHT 0.69
#define LETTER_STROKE 0.085
#define DASH 5.0
#define GAP 3.0

static struct layout_point in_pixels(const struct canvas *c, double x, double y) {
    return (struct layout_point){x * c->scale, y * c->scale};
}

static void raster_begin(struct canvas *c, const char *title) {
    (void)title;
    c->scale *= PIXELS;
    c->scale = fmin(c->scale, fmin(sqrt(MAX_PIXELS / (c->w * c->h)), MAX_SIDE / fmax(c->w, c->h)));
    raster_new(&c->raster, (uint32_t)fmax(1, c->w * c->scale), (uint32_t)fmax(1, c->h * c->scale));
}

static void raster_box(struct canvas *c, double x, double y, double w, double h, const char *fill) {
    uint32_t rgb = fill[0] == '#' ? (uint32_t)strtoul(fill + 1, NULL, 16) : 0xffffff;
    double s = c->scale, left = floor(x * s) + 0.5, top = floor(y * s) + 0.5;
    double right = left + floor(w * s), bottom = top + floor(h * s);
    const struct layout_point corners[] = {
        {left, top}, {right, top}, {right, bottom}, {left, bottom}, {left, top}};
    raster_fill(&c->raster, left, top, right - left, bottom - top, rgb);
    for (unsigned i = 0; i < 4; i++) raster_line(&c->raster, corners[i], corners[i + 1], 1);
}

struct pen {
    struct raster *raster;
    double width;
};

static void put_stroke(void *context, struct layout_point from, struct layout_point to) {
    const struct pen *pen = context;
    raster_line(pen->raster, from, to, pen->width);
}

static void raster_text(struct canvas *c, double x, double y, double size, enum canvas_at at,
                        const char *text, size_t n) {
    struct pen pen = {&c->raster, fmax(0.9, size * c->scale * LETTER_STROKE)};
    double left = text_left(x, size, at, text, n) + (CANVAS_CHARACTER - LETTER_WIDTH) / 2 * size;
    for (size_t i = 0; i < n; i++) {
        if (((unsigned char)text[i] & 0xc0) == 0x80) continue; /* the rest of a character */
        struct font_place to = {left * c->scale, y * c->scale, LETTER_WIDTH * size * c->scale,
                                LETTER_HEIGHT * size * c->scale};
        font_draw(text[i], &to, put_stroke, &pen);
        left += CANVAS_CHARACTER * size;
    }
}

/* *done: how far along the pattern of dashes. */
static void put_dashes(struct raster *r, struct layout_point a, struct layout_point b, double width,
                       double scale, double *done) {
    double length = fmin(hypot(b.x - a.x, b.y - a.y), 2 * MAX_SIDE), from = 0;
    while (from < length) {
        double in = fmod(*done, (DASH + GAP) * scale),
               rest = in < DASH * scale ? DASH * scale - in : (DASH + GAP) * scale - in;
        double to = fmin(length, from + fmax(rest, 0.5)), s = from / length, t = to / length;
        if (in < DASH * scale)
            raster_line(r, (struct layout_point){a.x + s * (b.x - a.x), a.y + s * (b.y - a.y)},
                        (struct layout_point){a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)}, width);
        *done += to - from;
        from = to;
    }
}

static void raster_curve(struct canvas *c, const struct layout_point *p, uint32_t n, double width,
                         bool is_dashed) {
    struct head h = head_of(p, n, width);
    double done = 0, thick = fmax(0.7, width * c->scale);
    struct layout_point from = in_pixels(c, p[0].x, p[0].y);
    for (uint32_t i = 1; i + 2 < n; i += 3) {
        const struct layout_point *q = p + i - 1;
        double way = c->scale * (fabs(q[3].x - q[0].x) + fabs(q[3].y - q[0].y));
        int n_steps = (int)fmin(200, 8 + way / 8);
        for (int k = 1; k <= n_steps; k++) {
            double t = (double)k / n_steps, s = 1 - t, a = s * s * s, b = 3 * s * s * t,
                   d = 3 * s * t * t, e = t * t * t;
            struct layout_point to = in_pixels(c, a * q[0].x + b * q[1].x + d * q[2].x + e * q[3].x,
                                               a * q[0].y + b * q[1].y + d * q[2].y + e * q[3].y);
            if (is_dashed)
                put_dashes(&c->raster, from, to, thick, c->scale, &done);
            else
                raster_line(&c->raster, from, to, thick);
            from = to;
        }
    }
    raster_triangle(&c->raster, in_pixels(c, h.tip.x, h.tip.y), in_pixels(c, h.left.x, h.left.y),
                    in_pixels(c, h.right.x, h.right.y));
}

static void raster_end(struct canvas *c) {
    if (strcmp(c->kind->name, "gif") == 0)
        raster_write_gif(&c->raster, c->out);
    else
        raster_write_png(&c->raster, c->out);
    raster_free(&c->raster);
}

/* ---- the kinds */

static const struct canvas_kind kinds[] = {
    {"svg", svg_begin, svg_group, svg_group_end, svg_box, svg_text, svg_curve, svg_end},
    {"pdf", pdf_begin, page_group, page_group_end, pdf_box, pdf_text, pdf_curve, pdf_end},
    {"ps", ps_begin, page_group, page_group_end, ps_box, ps_text, ps_curve, ps_end},
    {"ps2", ps_begin, page_group, page_group_end, ps_box, ps_text, ps_curve, ps_end},
    {"png", raster_begin, page_group, page_group_end, raster_box, raster_text, raster_curve,
     raster_end},
    {"gif", raster_begin, page_group, page_group_end, raster_box, raster_text, raster_curve,
     raster_end},
};

const struct canvas_kind *canvas_kind(const char *name) {
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
    return NULL;
}

void canvas_begin(struct canvas *c, const struct canvas_kind *kind, FILE *out, double w, double h,
                  double scale, const char *title) {
    *c = (struct canvas){.out = out, .w = w, .h = h, .scale = scale, .kind = kind};
    kind->begin(c, title);
}

void canvas_end(struct canvas *c) { c->kind->end(c); }
