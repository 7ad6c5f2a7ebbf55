/* raster.c - see raster.h. Edges are smooth: the ink of a pixel is how far it lies inside what is drawn. Climate: cli. */
#include "report/raster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "report/memory.h"

#define INK_LEVELS 64
#define N_COLOURS 256

void raster_new(struct raster *r, uint32_t w, uint32_t h) {
    *r = (struct raster){.w = w, .h = h, .papers = {0xffffff}, .n_papers = 1};
    r->pixels = report_alloc((size_t)w * h);
}

void raster_free(struct raster *r) { free(r->pixels); }

/* ---- drawing */

struct span {
    uint32_t first, end;
};

/* Pixels between two places, as far as there are any. */
static struct span span_of(double from, double to, uint32_t n) {
    double first = fmax(0, floor(from)), end = fmin((double)n, ceil(to) + 1);
    if (!(first < end)) return (struct span){0, 0};
    return (struct span){(uint32_t)first, (uint32_t)end};
}

/* Ink covers ink: where two lines meet it does not become darker than either. */
static void put_ink(struct raster *r, uint32_t x, uint32_t y, double inside) {
    if (inside <= 0) return;
    unsigned char *pixel = &r->pixels[(size_t)y * r->w + x];
    unsigned ink = (unsigned)lrint(fmin(inside, 1) * (INK_LEVELS - 1));
    if (ink > *pixel % INK_LEVELS) *pixel = (unsigned char)(*pixel / INK_LEVELS * INK_LEVELS + ink);
}

void raster_fill(struct raster *r, double x, double y, double w, double h, uint32_t rgb) {
    unsigned paper = 0;
    while (paper < r->n_papers && r->papers[paper] != rgb) paper++;
    if (paper == r->n_papers) {
        if (paper < sizeof r->papers / sizeof *r->papers)
            r->papers[r->n_papers++] = rgb;
        else
            paper = 0;
    }
    struct span across = span_of(x, x + w - 1, r->w), down = span_of(y, y + h - 1, r->h);
    for (uint32_t i = down.first; i < down.end; i++)
        memset(&r->pixels[(size_t)i * r->w + across.first], (int)(paper * INK_LEVELS),
               across.end - across.first);
}

void raster_line(struct raster *r, struct layout_point a, struct layout_point b, double width) {
    double half = width / 2, dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy;
    struct span across = span_of(fmin(a.x, b.x) - half - 1, fmax(a.x, b.x) + half + 1, r->w),
                down = span_of(fmin(a.y, b.y) - half - 1, fmax(a.y, b.y) + half + 1, r->h);
    for (uint32_t y = down.first; y < down.end; y++)
        for (uint32_t x = across.first; x < across.end; x++) {
            double px = x + 0.5 - a.x, py = y + 0.5 - a.y;
            double t = square > 0 ? fmax(0, fmin(1, (px * dx + py * dy) / square)) : 0;
            double away = hypot(px - t * dx, py - t * dy);
            put_ink(r, x, y, fmin(half + 0.5 - away, width));
        }
}

/* How far p lies to the right of the way from a to b. */
static double beside(struct layout_point a, struct layout_point b, struct layout_point p) {
    double length = hypot(b.x - a.x, b.y - a.y);
    if (length == 0) return 0;
    return ((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x)) / length;
}

void raster_triangle(struct raster *r, struct layout_point a, struct layout_point b,
                     struct layout_point c) {
    double turn = beside(a, b, c) < 0 ? -1 : 1;
    struct span across =
                    span_of(fmin(a.x, fmin(b.x, c.x)) - 1, fmax(a.x, fmax(b.x, c.x)) + 1, r->w),
                down = span_of(fmin(a.y, fmin(b.y, c.y)) - 1, fmax(a.y, fmax(b.y, c.y)) + 1, r->h);
    for (uint32_t y = down.first; y < down.end; y++)
        for (uint32_t x = across.first; x < across.end; x++) {
            struct layout_point p = {x + 0.5, y + 0.5};
            double inside =
                fmin(turn * beside(a, b, p), fmin(turn * beside(b, c, p), turn * beside(c, a, p)));
            put_ink(r, x, y, inside + 0.5);
        }
}

/* ---- colours */

static void make_palette(const struct raster *r, unsigned char palette[3 * N_COLOURS]) {
    for (unsigned i = 0; i < N_COLOURS; i++)
        for (unsigned k = 0; k < 3; k++) {
            unsigned paper = r->papers[i / INK_LEVELS] >> (16 - 8 * k) & 255, ink = i % INK_LEVELS;
            palette[3 * i + k] = (unsigned char)(paper * (INK_LEVELS - 1 - ink) / (INK_LEVELS - 1));
        }
}

/* ---- PNG: a length, a name, bytes, a sum of name and bytes; again and again */

static void put_big(uint32_t n, unsigned char *to) {
    for (unsigned i = 0; i < 4; i++) to[i] = (unsigned char)(n >> (24 - 8 * i));
}

static void put_chunk(const char *name, const unsigned char *bytes, size_t n, FILE *out) {
    unsigned char word[4];
    put_big((uint32_t)n, word);
    (void)fwrite(word, 1, 4, out);
    (void)fwrite(name, 1, 4, out);
    if (n > 0) (void)fwrite(bytes, 1, n, out);
    uLong sum = crc32(crc32(0, NULL, 0), (const Bytef *)name, 4);
    if (n > 0) sum = crc32(sum, bytes, (uInt)n);
    put_big((uint32_t)sum, word);
    (void)fwrite(word, 1, 4, out);
}

void raster_write_png(const struct raster *r, FILE *out) {
    unsigned char head[13] = {[8] = 8, [9] = 3}, palette[3 * N_COLOURS]; /* 8 bits, by palette */
    size_t row = (size_t)r->w + 1;                                       /* 0: as it is */
    unsigned char *rows = report_alloc(row * r->h);
    for (uint32_t y = 0; y < r->h; y++)
        memcpy(rows + y * row + 1, r->pixels + (size_t)y * r->w, r->w);
    uLongf n = compressBound((uLong)(row * r->h));
    unsigned char *packed = report_alloc(n);
    if (compress2(packed, &n, rows, (uLong)(row * r->h), Z_DEFAULT_COMPRESSION) != Z_OK)
        report_no_memory();
    (void)fwrite("\x89PNG\r\n\x1a\n", 1, 8, out);
    put_big(r->w, head);
    put_big(r->h, head + 4);
    put_chunk("IHDR", head, sizeof head, out);
    make_palette(r, palette);
    put_chunk("PLTE", palette, sizeof palette, out);
    put_chunk("IDAT", packed, n, out);
    put_chunk("IEND", NULL, 0, out);
    free(packed);
    free(rows);
}

/* ---- GIF: codes of 9 to 12 bits for runs of pixels that came before (LZW), in blocks of 255 bytes */

#define MAX_CODES 4096
#define CLEAR 256
#define END 257

struct codes {
    FILE *out;
    unsigned char block[255];
    unsigned n_block, n_bits, n_left; /* bits of a code now; waiting */
    uint32_t left;
    unsigned n_codes;
    uint16_t next[MAX_CODES][N_COLOURS]; /* the code of a run and one more pixel; 0: none */
};

static void flush_block(struct codes *c) {
    if (c->n_block == 0) return;
    (void)fputc((int)c->n_block, c->out);
    (void)fwrite(c->block, 1, c->n_block, c->out);
    c->n_block = 0;
}

static void put_code(struct codes *c, unsigned code) {
    c->left |= code << c->n_left;
    for (c->n_left += c->n_bits; c->n_left >= 8; c->n_left -= 8, c->left >>= 8) {
        c->block[c->n_block++] = (unsigned char)c->left;
        if (c->n_block == sizeof c->block) flush_block(c);
    }
}

static void start_over(struct codes *c) {
    put_code(c, CLEAR);
    memset(c->next, 0, sizeof c->next);
    c->n_bits = 9;
    c->n_codes = END + 1;
}

static void put_pixels(struct codes *c, const unsigned char *pixels, size_t n) {
    unsigned run = pixels[0];
    c->n_bits = 9;
    start_over(c);
    for (size_t i = 1; i < n; i++) {
        unsigned longer = c->next[run][pixels[i]];
        if (longer == 0) {
            put_code(c, run);
            if (c->n_codes == MAX_CODES) {
                start_over(c);
            } else {
                if (c->n_codes == 1U << c->n_bits) c->n_bits++;
                c->next[run][pixels[i]] = (uint16_t)c->n_codes++;
            }
            longer = pixels[i];
        }
        run = longer;
    }
    put_code(c, run);
    if (c->n_codes == 1U << c->n_bits && c->n_bits < 12) c->n_bits++;
    put_code(c, END);
    if (c->n_left > 0) put_code(c, 0);
    flush_block(c);
}

static void put_little(uint32_t n, FILE *out) {
    (void)fputc((int)(n & 255), out);
    (void)fputc((int)(n >> 8 & 255), out);
}

void raster_write_gif(const struct raster *r, FILE *out) {
    unsigned char palette[3 * N_COLOURS];
    struct codes *c = report_alloc(sizeof *c);
    (void)fwrite("GIF89a", 1, 6, out);
    put_little(r->w, out);
    put_little(r->h, out);
    (void)fwrite("\xf7\0\0", 1, 3, out); /* a palette of 256 */
    make_palette(r, palette);
    (void)fwrite(palette, 1, sizeof palette, out);
    (void)fwrite(",\0\0\0\0", 1, 5, out); /* one picture, at 0 0 */
    put_little(r->w, out);
    put_little(r->h, out);
    (void)fputc(0, out);
    (void)fputc(8, out); /* bits of a pixel */
    c->out = out;
    put_pixels(c, r->pixels, (size_t)r->w * r->h);
    (void)fwrite("\0;", 1, 2, out);
    free(c);
}
