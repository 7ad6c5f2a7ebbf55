/* filter.c - a profile without what a view's filters leave out, for those who write it down: profile_filter() of views.h.
 *
 * A view by places has a node for each line of each location, so its stacks say which frames, and which inlined calls in
 * them, are left. A location of which only some are left becomes another one beside it.
 *
 *   stack of the view     f.0 f.1 | g.1 | main.0       node numbers rise within one frame
 *   stack of the profile  f         g'    main         g' is g without its inlined call
 *
 * Climate: cli.
 */
#include "report/views.h"

#include <stdlib.h>
#include <string.h>

#include "report/label_filter.h"

struct part {
    uint32_t first, last; /* nodes that are left of one location, */
    uint32_t location;    /* which is this one now */
};

struct filtering {
    struct profile *p;
    const struct view *v;
    uint32_t *first_node, *n_nodes; /* by location */
    struct part *parts;
    uint32_t n_parts, cap_parts;
    struct index index; /* of parts */
    uint32_t *frames, n_frames, cap_frames;
};

static uint64_t part_key(uint32_t first, uint32_t last) {
    return hash_mix(hash_mix(5, first), last);
}

static uint64_t part_hash(const void *owner, uint32_t i) {
    const struct filtering *f = owner;
    return part_key(f->parts[i].first, f->parts[i].last);
}

static void find_nodes(struct filtering *f) {
    f->first_node = report_alloc(f->p->n_locations * sizeof *f->first_node);
    f->n_nodes = report_alloc(f->p->n_locations * sizeof *f->n_nodes);
    for (uint32_t i = 0; i < f->v->n_nodes; i++) {
        uint32_t location = f->v->nodes[i].location;
        if (f->n_nodes[location]++ == 0) f->first_node[location] = i;
    }
}

/* What is left of a location: nodes[0..n), its lines by number. */
static uint32_t make_part(struct filtering *f, const uint32_t *nodes, uint32_t n) {
    struct profile *p = f->p;
    uint32_t location = f->v->nodes[nodes[0]].location;
    struct profile_location l = p->locations[location];
    uint32_t skipped = l.n_lines - f->n_nodes[location]; /* with --noinlines */
    struct profile_line *lines = report_alloc(n * sizeof *lines);
    for (uint32_t i = 0; i < n; i++)
        lines[i] = p->lines[l.first_line + skipped + nodes[i] - f->first_node[location]];
    uint32_t made = profile_add_beside(p, location, lines, n);
    free(lines);
    return made;
}

static uint32_t location_of(struct filtering *f, const uint32_t *nodes, uint32_t n) {
    uint32_t location = f->v->nodes[nodes[0]].location, n_lines = f->p->locations[location].n_lines;
    if (n_lines <= 1 || n == n_lines) return location;
    uint32_t *slot = index_first(&f->index, part_key(nodes[0], nodes[n - 1]));
    for (; *slot != INDEX_FREE; slot = index_next(&f->index, slot)) {
        const struct part *part = &f->parts[*slot];
        if (part->first == nodes[0] && part->last == nodes[n - 1]) return part->location;
    }
    *slot = f->n_parts;
    struct part part = {nodes[0], nodes[n - 1], make_part(f, nodes, n)};
    *REPORT_PUSH(f->parts, f->n_parts, f->cap_parts) = part;
    index_added(&f->index, part_hash, f);
    return part.location;
}

static uint32_t make_stack(struct filtering *f, const struct view_stack *s) {
    const struct view *v = f->v;
    const uint32_t *nodes = view_nodes(v, s);
    f->n_frames = 0;
    for (uint32_t i = 0, n; i < s->n; i += n) {
        n = 1;
        while (i + n < s->n && nodes[i + n] > nodes[i + n - 1] &&
               v->nodes[nodes[i + n]].location == v->nodes[nodes[i]].location)
            n++;
        uint32_t location = location_of(f, nodes + i, n);
        *REPORT_PUSH(f->frames, f->n_frames, f->cap_frames) = location;
    }
    return profile_add_stack(f->p, f->frames, f->n_frames);
}

/* Samples get their new stacks; those of which nothing is left go. */
static void move_samples(struct filtering *f) {
    struct profile *p = f->p;
    uint32_t n_stacks = p->n_stacks;
    uint32_t *stack_of = report_alloc(n_stacks * sizeof *stack_of);
    bool *is_kept = report_alloc(p->n_samples * sizeof *is_kept);
    memset(stack_of, 0xff, n_stacks * sizeof *stack_of);
    for (uint32_t i = 0; i < f->v->n_stacks; i++)
        if (f->v->stacks[i].n > 0)
            stack_of[f->v->stacks[i].stack] = make_stack(f, &f->v->stacks[i]);
    for (uint32_t i = 0; i < p->n_samples; i++) {
        uint32_t stack = stack_of[p->samples[i].stack];
        is_kept[i] = f->v->has_sample[i] && stack != PROFILE_NONE;
        if (is_kept[i]) p->samples[i].stack = stack;
    }
    profile_keep_samples(p, is_kept);
    free(stack_of);
    free(is_kept);
}

/* Labels with other keys are left out; the old ones stay where they are. */
static int move_labels(struct profile *p, const struct view_options *o, struct report_error *e) {
    if (o->tag_show == NULL && o->tag_hide == NULL) return 0;
    bool *is_wanted = label_keys_wanted(p, o->tag_show, o->tag_hide, e);
    if (is_wanted == NULL) return -1;
    for (uint32_t i = 0; i < p->n_samples; i++) {
        struct profile_sample *s = &p->samples[i];
        uint32_t first = p->n_labels;
        for (uint32_t k = 0; k < s->n_labels; k++) {
            struct profile_label l = p->labels[s->first_label + k];
            if (is_wanted[l.key]) *REPORT_PUSH(p->labels, p->n_labels, p->cap_labels) = l;
        }
        s->first_label = first;
        s->n_labels = p->n_labels - first;
    }
    free(is_wanted);
    return 0;
}

int profile_filter(struct profile *p, const struct view_options *options, struct report_error *e) {
    struct view_options o = *options;
    o.by = VIEW_FUNCTIONS;
    o.is_each_place = o.all_frames = true;
    o.marks_inlined = o.shows_address = o.by_path = false;
    struct view *v = view_new(p, &o, e);
    if (v == NULL) return -1;
    struct filtering f = {.p = p, .v = v};
    index_init(&f.index);
    find_nodes(&f);
    move_samples(&f);
    view_free(v);
    index_free(&f.index);
    free(f.first_node);
    free(f.n_nodes);
    free(f.parts);
    free(f.frames);
    return move_labels(p, &o, e);
}
