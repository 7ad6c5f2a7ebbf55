/* write_top.c - the rows of a view as a profile of their own: for those who merge tables of many machines.
 *
 * Climate: cli.
 */
#include "report/views.h"

static uint32_t add_frame(struct profile *out, const struct view *v, const struct view_node *n) {
    const struct profile *p = v->p;
    struct profile_function f = {.name = profile_string(out, profile_text(p, n->name))};
    if (n->function != PROFILE_NONE) {
        const struct profile_function *old = &p->functions[n->function];
        f.system_name = profile_string(out, profile_text(p, old->system_name));
        f.file = profile_string(out, profile_text(p, old->file));
        f.start_line = old->start_line;
    }
    struct profile_line line = {.function = profile_add_function(out, &f), .line = n->line};
    return profile_add_named(out, PROFILE_NONE, &line, 1);
}

int profile_write_top(const struct view *v, FILE *out) {
    struct profile *top = profile_new();
    const struct profile *p = v->p;
    (void)profile_add_type(top, "cum", view_unit(v));
    top->default_type = profile_add_type(top, "flat", view_unit(v));
    top->time_ns = p->time_ns;
    top->duration_ns = p->duration_ns;
    top->period = p->period;
    top->period_type.name = profile_string(top, profile_text(p, p->period_type.name));
    top->period_type.unit = profile_string(top, profile_text(p, p->period_type.unit));
    for (uint32_t i = 0; i < v->n_nodes; i++) {
        const struct view_node *n = &v->nodes[v->order[i]];
        if (n->flat == 0 && n->cum == 0) continue;
        uint32_t frame = add_frame(top, v, n);
        profile_add_sample(top, profile_add_stack(top, &frame, 1), (double[]){n->cum, n->flat});
    }
    int status = profile_write_proto(top, out);
    profile_free(top);
    return status;
}
