/* view_flame.c - the flame graph as one file that needs nothing else, a picture (SVG) or a page (HTML): callers above,
 * callees below, the width of a frame is its share. web/flame.svg and web/flame.html are what stands around the frames,
 * web/flame.css and web/flame.js the look and the script of both, put in as they are.
 *
 *   +------------------------------------------+
 *   | all                                      |
 *   +---------------------------+--------------+
 *   | main                      | thread       |        siblings: largest first
 *   +---------+-----------------+------+-------+
 *   | parse   | work            | poll |
 *   +---------+-----------------+------+
 *
 * A difference has widths by how much changed, red for growth and blue for the opposite.
 *
 * Climate: cli.
 */
#include "report/views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/call_tree.h"
#include "report/estimate.h"
#include "report/text.h"

#define WIDTH 1200 /* units of the picture; the browser scales it */
#define LEFT 10
#define TOP 62 /* of the picture: the heading; a page has it outside */
#define ROW 17
#define GAP 0.6            /* between siblings */
#define CHARACTER 7.25     /* width of one, in flame.css's font */
#define MAX_FRAMES 20000   /* more makes browsers slow */
#define MAX_DEPTH 1000     /* deeper is not drawn */
#define MIN_SHARE 0.000016 /* a fiftieth of a unit: enough to zoom in a thousand times */

extern const char web_flame_css[], web_flame_js[], web_flame_svg[], web_flame_html[];

/* ---- places: which calls are drawn, and where */

struct drawing {
    const struct view *v;
    struct call_tree calls;
    uint32_t *drawn; /* callers first */
    uint32_t n_drawn, cap_drawn;
    double least; /* a weight below is not drawn */
    uint32_t depth;
    /* how it is written */
    FILE *out;
    const char *title;
    const struct timeline *over_time; /* or NULL */
    struct table_unit unit;
    unsigned top;
    bool is_difference;
};

static int by_weight(const void *a, const void *b, void *context) {
    const struct drawing *d = context;
    const struct call *x = &d->calls.all[*(const uint32_t *)a],
                      *y = &d->calls.all[*(const uint32_t *)b];
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return strcmp(view_name(d->v, x->node), view_name(d->v, y->node));
}

static void place_children(struct drawing *d, uint32_t parent) {
    uint32_t first = d->n_drawn;
    for (uint32_t i = d->calls.all[parent].first_child; i != PROFILE_NONE;
         i = d->calls.all[i].next_sibling)
        if (d->calls.all[i].weight >= d->least)
            *REPORT_PUSH(d->drawn, d->n_drawn, d->cap_drawn) = i;
    if (d->n_drawn - first > 1)
        qsort_r(d->drawn + first, d->n_drawn - first, sizeof *d->drawn, by_weight, d);
    double x = d->calls.all[parent].x;
    for (uint32_t i = first; i < d->n_drawn; i++) {
        struct call *c = &d->calls.all[d->drawn[i]];
        c->x = x;
        x += c->weight / d->calls.all[0].weight;
        if (c->depth > d->depth) d->depth = c->depth;
    }
}

static uint32_t count_above(const struct call_tree *c, double least) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n; i++) n += c->all[i].weight >= least;
    return n;
}

static double least_weight(const struct drawing *d) {
    double least = d->calls.all[0].weight * MIN_SHARE;
    while (count_above(&d->calls, least) > MAX_FRAMES) least *= 2;
    return least;
}

static void place_all(struct drawing *d) {
    d->least = least_weight(d);
    *REPORT_PUSH(d->drawn, d->n_drawn, d->cap_drawn) = 0;
    if (d->calls.all[0].weight == 0) return;
    for (uint32_t i = 0; i < d->n_drawn; i++) {
        d->calls.all[d->drawn[i]].drawn_as = i;
        place_children(d, d->drawn[i]);
    }
}

/* ---- writing */

/* As many bytes as fit, not ending within a character of UTF-8. */
static void put_label(FILE *out, const char *name, double width) {
    char label[256];
    name = text_shown(name);
    size_t n = strlen(name), room = width > 0 ? (size_t)(width / CHARACTER) : 0;
    if (room < 3) return;
    bool is_cut = n > room || n >= sizeof label;
    if (is_cut) n = room - 1 < sizeof label - 1 ? room - 1 : sizeof label - 1;
    while (is_cut && n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80) n--;
    memcpy(label, name, n);
    label[n] = '\0';
    text_xml(out, label);
    if (is_cut) (void)fputs("\xe2\x80\xa6", out);
}

/* One function has one colour: warm for time, green for memory; a difference by its sign; what is noise is grey. */
static void colour_of(const struct drawing *d, const struct call *c, const char *name, char *out,
                      size_t n) {
    uint64_t hash = hash_bytes(name, strlen(name));
    unsigned a = (unsigned)(hash >> 8) & 63, b = (unsigned)(hash >> 16) & 31;
    bool is_memory = d->v->p->kind == PROFILE_HEAP || d->v->p->kind == PROFILE_GROWTH;
    if (estimate_is_noise(c->value, sqrt(c->variance))) {
        (void)snprintf(out, n, "hsl(0,0%%,%u%%)", 76 + b / 4);
    } else if (d->is_difference) {
        double share = c->weight > 0 ? fabs(c->value) / c->weight : 0;
        (void)snprintf(out, n, "hsl(%d,75%%,%.0f%%)", c->value >= 0 ? 4 : 215, 92 - 30 * share);
    } else if (is_memory) {
        (void)snprintf(out, n, "hsl(%u,55%%,%u%%)", 80 + a, 62 + b / 2);
    } else {
        (void)snprintf(out, n, "hsl(%u,85%%,%u%%)", 8 + a * 3 / 4, 60 + b / 2);
    }
}

static void put_frame(const struct drawing *d, uint32_t id) {
    const struct call *c = &d->calls.all[id], *all = &d->calls.all[0];
    const char *name = id == 0 ? "all" : view_name(d->v, c->node);
    double share = all->weight > 0 ? c->weight / all->weight : 1,
           width = share * (WIDTH - 2 * LEFT);
    double x = LEFT + c->x * (WIDTH - 2 * LEFT);
    unsigned y = d->top + c->depth * ROW;
    char value[64], colour[64], error[ESTIMATE_BYTES];
    FILE *out = d->out;
    colour_of(d, c, name, colour, sizeof colour);
    (void)fprintf(out, "<g class=\"frame\" data-x=\"%.9g\" data-w=\"%.9g\"", c->x, share);
    if (id != 0) (void)fprintf(out, " data-p=\"%u\"", d->calls.all[c->parent].drawn_as);
    (void)fputs("><title>", out);
    text_xml(out, name);
    (void)estimate_text(c->value, sqrt(c->variance), error);
    (void)fprintf(out, "\n%s%s%s%s, %.2f%%</title>", d->is_difference && c->value > 0 ? "+" : "",
                  table_number(d->unit, c->value, value, sizeof value), *error ? " " : "", error,
                  100 * share);
    (void)fprintf(out, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>", x, y,
                  width > 3 ? width - GAP : 0.9 * width, ROW - 1, colour);
    if (width >= 3 * CHARACTER + 6) {
        (void)fprintf(out, "<text x=\"%.2f\" y=\"%.1f\">", x + 3, y + 12.5);
        put_label(out, name, width - 6);
        (void)fputs("</text>", out);
    }
    (void)fputs("</g>\n", out);
}

/* ---- what stands around the frames: the templates' words between @ and @ */

static unsigned height_of(const struct drawing *d) { return TOP + (d->depth + 1) * ROW + 30; }

static void put_title(const struct drawing *d) { text_xml(d->out, d->title); }
static void put_style(const struct drawing *d) { (void)fputs(web_flame_css, d->out); }
static void put_script(const struct drawing *d) { (void)fputs(web_flame_js, d->out); }
static void put_width(const struct drawing *d) { (void)fprintf(d->out, "%d", WIDTH); }
static void put_height(const struct drawing *d) { (void)fprintf(d->out, "%u", height_of(d)); }
static void put_status_y(const struct drawing *d) {
    (void)fprintf(d->out, "%u", height_of(d) - 10);
}
static void put_timeline(const struct drawing *d) {
    if (d->over_time) timeline_svg(d->over_time, d->out);
}
static void put_frames_height(const struct drawing *d) {
    (void)fprintf(d->out, "%u", (d->depth + 1) * ROW + 4);
}
static void put_frames(const struct drawing *d) {
    for (uint32_t i = 0; i < d->n_drawn; i++) put_frame(d, d->drawn[i]);
}

/* "inuse_space: 5.05MB; 312 frames below 0.30kB are not drawn" */
static void put_summary(const struct drawing *d) {
    const struct call *all = &d->calls.all[0];
    char a[64], b[64];
    text_xml(d->out, view_type(d->v));
    if (d->is_difference)
        (void)fprintf(d->out, ": grew by %s (red), shrank by %s (blue)",
                      table_number(d->unit, (all->weight + all->value) / 2, a, sizeof a),
                      table_number(d->unit, (all->weight - all->value) / 2, b, sizeof b));
    else
        (void)fprintf(d->out, ": %s", table_number(d->unit, all->value, a, sizeof a));
    if (d->v->has_errors && !d->is_difference) {
        char error[ESTIMATE_BYTES];
        (void)fprintf(d->out, " %s", estimate_text(all->value, sqrt(all->variance), error));
    }
    if (d->v->has_errors) (void)fputs("; grey may be chance", d->out);
    if (d->n_drawn < d->calls.n)
        (void)fprintf(d->out, "; %u frames below %s are not drawn", d->calls.n - d->n_drawn,
                      table_number(d->unit, d->least, a, sizeof a));
}

static const struct word {
    const char *name;
    void (*put)(const struct drawing *d);
} words[] = {
    {"title", put_title},       {"style", put_style},     {"script", put_script},
    {"width", put_width},       {"height", put_height},   {"frames_height", put_frames_height},
    {"frames", put_frames},     {"summary", put_summary}, {"status_y", put_status_y},
    {"timeline", put_timeline},
};

static void put_template(const struct drawing *d, const char *text) {
    for (const char *at; (at = strchr(text, '@')) != NULL;) {
        const char *end = strchr(at + 1, '@');
        (void)fwrite(text, 1, (size_t)(at - text), d->out);
        for (unsigned i = 0; end && i < sizeof words / sizeof *words; i++)
            if (strlen(words[i].name) == (size_t)(end - at - 1) &&
                memcmp(words[i].name, at + 1, (size_t)(end - at - 1)) == 0)
                words[i].put(d);
        text = end ? end + 1 : at + 1;
    }
    (void)fputs(text, d->out);
}

static void draw(const struct view *v, FILE *out, const char *title, const char *template,
                 unsigned top, const struct timeline *over_time) {
    struct drawing d = {.v = v, .out = out, .title = title, .over_time = over_time, .top = top};
    call_tree_new(&d.calls, v, MAX_DEPTH);
    place_all(&d);
    const struct call *all = &d.calls.all[0];
    d.unit = table_unit_each(view_unit(v));
    d.is_difference = v->p->is_difference || all->weight != fabs(all->value);
    put_template(&d, template);
    call_tree_free(&d.calls);
    free(d.drawn);
}

void view_flame(const struct view *v, FILE *out, const char *title) {
    draw(v, out, title, web_flame_svg, TOP, NULL);
}

void view_flame_page(const struct view *v, FILE *out, const char *title,
                     const struct timeline *over_time) {
    draw(v, out, title, web_flame_html, 0, over_time);
}
