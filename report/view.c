/* view.c - see view.h.
 *
 * Work is done once per location, once per stack and only then once per frame: names and regexps are
 * looked at per location, of which there are thousands where there are millions of frames.
 *
 * Climate: cli.
 */
#include "report/view.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/call_tree.h"
#include "report/label_filter.h"
#include "report/names.h"
#include "report/regex.h"

#define MAX_NAME 4096

/* Functions that a heap profile is not about: it asks who called them. */
static const char allocator_names[] =
    "^(_*(libc_)?(malloc|calloc|realloc|reallocarray|memalign|posix_memalign|aligned_alloc|valloc|pvalloc|"
    "free|cfree)|operator (new|delete)(\\[\\])?|__builtin_(vec_)?(new|delete)|"
    "(tc|je|mi|vt|rp)_+(malloc|calloc|realloc|reallocarray|memalign|posix_memalign|aligned_alloc|valloc|"
    "pvalloc|mallocx|rallocx|new|newarray|free|delete|cfree)\\w*|"
    "do_(malloc|calloc|memalign|realloc)\\w*|DoSampledAllocation|DebugAllocate|"
    "je_\\w+|prof_(backtrace|alloc)\\w*|imalloc\\w*|MallocHook::\\w+|"
    "(tcmalloc|TCMalloc\\w*)::.*|.*TCMalloc\\w*::.*)$";
/* Whole libraries of which the same is true, with or without symbols. */
static const char allocator_files[] =
    "(^|/)lib(tcmalloc|jemalloc|mimalloc|vitrine|snmalloc|rpmalloc)[^/]*$";

/* What is known of a location before any stack is looked at. */
struct place {
    uint32_t first, n; /* in making.nodes: after show and hide */
    bool is_focus, is_ignored, is_allocator;
    bool is_from;      /* --show-from matches here ... */
    uint32_t n_from;   /* ... and so many nodes are within the match */
    bool is_pruned;    /* --prune_from matches here ... */
    uint32_t n_pruned; /* ... and so many nodes are below the match */
    uint64_t names;    /* all its nodes, whatever the filters say, as one number */
};

struct making {
    struct view *v;
    struct profile *p;
    const struct view_options *o;
    struct regex *focus, *ignore, *show, *hide, *show_from, *prune_from;
    struct regex *allocators, *allocator_libraries;
    struct label_filter *tag_focus, *tag_ignore;
    struct regex *dropped, *kept; /* of the profile's own */
    struct place *places;         /* by location */
    bool is_full;                 /* there would be more frames than the profile may stand for */
    uint32_t *nodes;
    uint32_t n_nodes, cap_nodes;
    uint32_t *node_of; /* by string: the node of that name */
    uint32_t n_node_of, cap_node_of;
    uint32_t *short_name; /* by function: string, or PROFILE_NONE */
    uint32_t *
        plain_name; /* the same without template arguments, where instances are told apart; or NULL */
};

/* ---- names */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void view_unknown_name(const struct profile *p, const struct profile_location *l, char *out,
                       size_t n_bytes) {
    if (l->mapping == PROFILE_NONE) {
        (void)snprintf(out, n_bytes, "0x%llx", (unsigned long long)l->address);
        return;
    }
    const struct profile_mapping *m = &p->mappings[l->mapping];
    const char *file = base_name(profile_text(p, m->file));
    (void)snprintf(out, n_bytes, "%s+0x%" PRIx64, *file ? file : "anonymous",
                   l->address - m->start + m->offset);
}

static uint32_t function_name(struct making *m, uint32_t function) {
    const struct profile_function *f = &m->p->functions[function];
    if (m->o->mangled_names && f->system_name) return f->system_name;
    if (m->o->full_names) return f->name;
    if (m->short_name[function] == PROFILE_NONE) {
        char name[MAX_NAME];
        (void)name_shorten(profile_text(m->p, f->name), name, sizeof name);
        m->short_name[function] = profile_string(m->p, name);
    }
    return m->short_name[function];
}

/* By string: the first function of that short name, and whether there is one with other template arguments. */
struct namesake {
    uint32_t instance;
    bool is_ambiguous;
};

/* Functions that have one short name keep the template arguments, if they differ in them. */
static void tell_instances(struct making *m) {
    struct profile *p = m->p;
    struct namesake *of = NULL;
    uint32_t n_of = 0, cap_of = 0;
    char name[MAX_NAME];
    uint32_t *instance = report_alloc(p->n_functions * sizeof *instance);
    m->plain_name = report_alloc(p->n_functions * sizeof *m->plain_name);
    for (uint32_t i = 0; i < p->n_functions; i++) {
        uint32_t plain = m->plain_name[i] = function_name(m, i);
        (void)name_shorten_instance(profile_text(p, p->functions[i].name), name, sizeof name);
        instance[i] = profile_string(p, name);
        while (n_of <= plain)
            *REPORT_PUSH(of, n_of, cap_of) = (struct namesake){.instance = PROFILE_NONE};
        if (of[plain].instance == PROFILE_NONE) of[plain].instance = instance[i];
        if (of[plain].instance != instance[i]) of[plain].is_ambiguous = true;
    }
    for (uint32_t i = 0; i < p->n_functions; i++)
        if (of[m->plain_name[i]].is_ambiguous) m->short_name[i] = instance[i];
    free(of);
    free(instance);
}

/* The text of a node at one line of a location; line NULL: nothing known.
 *   00401234 name (inline) file:line:column (00401234)     what of it, the options say */
static uint32_t node_name(struct making *m, const struct profile_location *l,
                          const struct profile_line *line, bool is_inlined) {
    char name[MAX_NAME + 128], unknown[MAX_NAME], column[16] = "", address[24] = "";
    struct profile *p = m->p;
    const struct view_options *o = m->o;
    const char *mark = is_inlined && o->marks_inlined ? " (inline)" : "";
    if (o->shows_address)
        (void)snprintf(address, sizeof address, " (%016llx)", (unsigned long long)l->address);
    if (line == NULL) {
        view_unknown_name(p, l, unknown, sizeof unknown);
        if (o->by == VIEW_ADDRESSES)
            (void)snprintf(name, sizeof name, "%016llx %s", (unsigned long long)l->address,
                           unknown);
        else
            (void)snprintf(name, sizeof name, "%s%s", unknown, address);
        return profile_string(p, name);
    }
    uint32_t function = function_name(m, line->function);
    const char *text = profile_text(p, function);
    const char *file = profile_text(p, p->functions[line->function].file);
    if (o->shows_columns && line->column > 0)
        (void)snprintf(column, sizeof column, ":%u", line->column);
    switch (o->by) {
    case VIEW_FUNCTIONS:
        if (*mark == '\0' && *address == '\0') return function;
        (void)snprintf(name, sizeof name, "%.4000s%s%s", text, mark, address);
        break;
    case VIEW_FILE_FUNCTIONS:
        (void)snprintf(name, sizeof name, "%.2000s%s%s%.2000s%s", text, mark, *file ? " " : "",
                       file, address);
        break;
    case VIEW_FILES: return *file ? p->functions[line->function].file : function;
    case VIEW_LINES:
        if (*file)
            (void)snprintf(name, sizeof name, "%.2000s%s %.2000s:%u%s%s", text, mark, file,
                           line->line, column, address);
        else
            (void)snprintf(name, sizeof name, "%.4000s%s%s", text, mark, address);
        break;
    case VIEW_ADDRESSES:
        (void)snprintf(name, sizeof name, "%016llx %.2000s%s %.1900s:%u%s",
                       (unsigned long long)l->address, text, mark, *file ? file : "??", line->line,
                       column);
        break;
    }
    return profile_string(p, name);
}

static uint32_t node_with_name(struct making *m, uint32_t name, const struct profile_line *line,
                               uint32_t location) {
    while (m->n_node_of <= name)
        *REPORT_PUSH(m->node_of, m->n_node_of, m->cap_node_of) = PROFILE_NONE;
    if (m->node_of[name] == PROFILE_NONE || m->o->is_each_place) {
        m->node_of[name] = m->v->n_nodes;
        *REPORT_PUSH(m->v->nodes, m->v->n_nodes, m->v->cap_nodes) =
            (struct view_node){.name = name,
                               .function = line ? line->function : PROFILE_NONE,
                               .line = line && m->o->by == VIEW_LINES ? line->line : 0,
                               .location = location};
    }
    return m->node_of[name];
}

/* ---- places */

/* A name, the full name, the source file with and without line, or the binary. */
static bool line_matches(const struct making *m, const struct regex *r, uint32_t node,
                         const struct profile_line *line, const struct profile_location *l) {
    const struct profile *p = m->p;
    char place[MAX_NAME];
    if (regex_matches(r, view_name(m->v, node))) return true;
    if (l->mapping != PROFILE_NONE &&
        regex_matches(r, profile_text(p, p->mappings[l->mapping].file)))
        return true;
    if (line == NULL) return false;
    const struct profile_function *f = &p->functions[line->function];
    (void)snprintf(place, sizeof place, "%s:%u", profile_text(p, f->file), line->line);
    if (m->plain_name && regex_matches(r, profile_text(p, m->plain_name[line->function])))
        return true;
    return regex_matches(r, profile_text(p, f->name)) || (f->file && regex_matches(r, place));
}

/* By the profile's own drop_frames and keep_frames: regexps of whole names without parameters. */
static bool is_dropped(const struct making *m, uint32_t function) {
    char name[MAX_NAME];
    (void)snprintf(name, sizeof name, "%s", profile_text(m->p, m->p->functions[function].name));
    char *parameters = strchr(name[0] == '(' ? name + 1 : name, '(');
    if (parameters) *parameters = '\0';
    return regex_matches(m->dropped, name) && !(m->kept && regex_matches(m->kept, name));
}

static void add_place_node(struct making *m, struct place *place, uint32_t location,
                           const struct profile_line *line, bool is_inlined) {
    struct profile_location l = m->p->locations[location];
    uint32_t name = node_name(m, &l, line, is_inlined);
    uint32_t node = node_with_name(m, name, line, location);
    place->names = hash_mix(hash_mix(3, place->names), node);
    if (m->focus && line_matches(m, m->focus, node, line, &l)) place->is_focus = true;
    if (m->ignore && line_matches(m, m->ignore, node, line, &l)) place->is_ignored = true;
    if (m->dropped && line && is_dropped(m, line->function)) place->is_allocator = true;
    if (m->allocators && line &&
        regex_matches(m->allocators, profile_text(m->p, function_name(m, line->function))))
        place->is_allocator = true;
    bool is_shown = (!m->show || line_matches(m, m->show, node, line, &l)) &&
                    !(m->hide && line_matches(m, m->hide, node, line, &l));
    if (is_shown && !place->is_pruned && m->prune_from && line &&
        regex_matches(m->prune_from, profile_text(m->p, function_name(m, line->function)))) {
        place->is_pruned = true;
        place->n_pruned = place->n;
    }
    if (is_shown) {
        *REPORT_PUSH(m->nodes, m->n_nodes, m->cap_nodes) = node;
        place->n++;
    }
    if (m->show_from && line_matches(m, m->show_from, node, line, &l)) {
        place->is_from = true;
        place->n_from = place->n;
    }
}

static void make_places(struct making *m) {
    struct profile *p = m->p;
    m->places = report_alloc(p->n_locations * sizeof *m->places);
    for (uint32_t i = 0; i < p->n_locations; i++) {
        struct profile_location l = p->locations[i];
        struct place *place = &m->places[i];
        place->first = m->n_nodes;
        if (l.n_lines == 0) add_place_node(m, place, i, NULL, false);
        for (uint32_t k = m->o->no_inlines && l.n_lines ? l.n_lines - 1 : 0; k < l.n_lines; k++) {
            struct profile_line line = p->lines[l.first_line + k];
            add_place_node(m, place, i, &line, k + 1 < l.n_lines);
        }
        if (m->allocator_libraries && l.mapping != PROFILE_NONE &&
            regex_matches(m->allocator_libraries, profile_text(p, p->mappings[l.mapping].file)))
            place->is_allocator = true;
    }
}

/* ---- stacks */

/* The first frame that counts: seen from the root, the allocator begins at its first frame that
 * is called by somebody else; it and what it calls is left out. */
static uint32_t first_frame(const struct making *m, const struct profile_stack *s) {
    bool has_caller = false;
    if (m->allocators == NULL && m->dropped == NULL) return 0;
    for (uint32_t i = s->n; i > 0; i--) {
        const struct place *place = &m->places[m->p->frames[s->first + i - 1]];
        if (!place->is_allocator)
            has_caller = true;
        else if (has_caller)
            return i;
    }
    return 0;
}

static bool is_wanted(const struct making *m, const struct profile_stack *s) {
    bool is_focus = m->focus == NULL;
    if (m->focus == NULL && m->ignore == NULL) return true;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct place *place = &m->places[m->p->frames[s->first + i]];
        if (place->is_ignored) return false;
        is_focus |= place->is_focus;
    }
    return is_focus;
}

/* How many of a stack's locations count, from the leaf on: up to the outermost that --show-from matches. */
static uint32_t end_of_stack(const struct making *m, const struct profile_stack *s) {
    uint32_t end = s->n;
    if (m->show_from == NULL) return end;
    while (end > 0 && !m->places[m->p->frames[s->first + end - 1]].is_from) end--;
    return end;
}

/* The innermost location from `begin` on that --prune_from matches; PROFILE_NONE: none. */
static uint32_t pruned_at(const struct making *m, const struct profile_stack *s, uint32_t begin) {
    for (uint32_t i = begin; m->prune_from && i < s->n; i++)
        if (m->places[m->p->frames[s->first + i]].is_pruned) return i;
    return PROFILE_NONE;
}

static void add_frames(struct making *m, const struct place *place, uint32_t begin, uint32_t end) {
    struct view *v = m->v;
    if (end > begin && end - begin > m->p->max_frames - v->n_frames) m->is_full = true;
    if (m->is_full) return;
    for (uint32_t k = begin; k < end; k++)
        *REPORT_PUSH(v->frames, v->n_frames, v->cap_frames) = m->nodes[place->first + k];
}

/* False: the filters are against it. */
static bool add_stack(struct making *m, uint32_t stack, double value, double variance) {
    struct view *v = m->v;
    const struct profile_stack *s = &m->p->stacks[stack];
    uint32_t end = end_of_stack(m, s);
    if (!is_wanted(m, s) || (m->show_from && end == 0)) return false;
    struct view_stack kept = {.stack = stack,
                              .first = v->n_frames,
                              .first_frame = first_frame(m, s),
                              .value = value,
                              .variance = variance};
    uint32_t pruned = pruned_at(m, s, kept.first_frame);
    if (pruned != PROFILE_NONE) kept.first_frame = pruned;
    for (uint32_t i = 0; i < m->p->n_label_leaves && i < kept.first_frame; i++) {
        const struct place *place = &m->places[m->p->frames[s->first + i]];
        if (pruned == PROFILE_NONE) add_frames(m, place, 0, place->n);
    }
    for (uint32_t i = kept.first_frame; i < end; i++) {
        const struct place *place = &m->places[m->p->frames[s->first + i]];
        add_frames(m, place, i == pruned ? place->n_pruned : 0,
                   m->show_from && i + 1 == end ? place->n_from : place->n);
    }
    kept.n = v->n_frames - kept.first;
    v->shown += value;
    v->shown_variance += variance;
    *REPORT_PUSH(v->stacks, v->n_stacks, v->cap_stacks) = kept;
    return true;
}

static bool has_right_labels(const struct making *m, uint32_t sample) {
    return (!m->o->group_of || m->o->group_of[sample] == m->o->group) &&
           (!m->tag_focus || label_filter_matches(m->tag_focus, m->p, sample)) &&
           !(m->tag_ignore && label_filter_matches(m->tag_ignore, m->p, sample));
}

/* ---- differences: stacks of two builds that read the same are one stack */

struct twins {
    const uint64_t *keys;
    struct index index;
};

static uint64_t twin_hash(const void *owner, uint32_t i) {
    return ((const struct twins *)owner)->keys[i];
}

/* By stack: the first that has the same nodes. Approximate: equal numbers of 64 bits count as equal nodes. */
static uint32_t *find_twins(const struct making *m) {
    struct profile *p = m->p;
    uint64_t *keys = report_alloc(p->n_stacks * sizeof *keys);
    uint32_t *twin_of = report_alloc(p->n_stacks * sizeof *twin_of);
    struct twins t = {.keys = keys};
    index_init(&t.index);
    for (uint32_t i = 0; i < p->n_stacks; i++) {
        const struct profile_stack *s = &p->stacks[i];
        for (uint32_t k = first_frame(m, s); k < s->n; k++)
            keys[i] = hash_mix(hash_mix(9, keys[i]), m->places[p->frames[s->first + k]].names);
        uint32_t *slot = index_first(&t.index, keys[i]);
        while (*slot != INDEX_FREE && keys[*slot] != keys[i]) slot = index_next(&t.index, slot);
        twin_of[i] = *slot == INDEX_FREE ? i : *slot;
        if (*slot != INDEX_FREE) continue;
        *slot = i;
        index_added(&t.index, twin_hash, &t);
    }
    index_free(&t.index);
    free(keys);
    return twin_of;
}

static double choose_whole(const struct view *v) {
    double left = 0;
    if (v->options.is_relative)
        for (uint32_t i = 0; i < v->n_stacks; i++) left += fabs(v->stacks[i].value);
    if (left > 0) return left;
    const double *base = v->p->base_totals;
    return base && base[v->options.type] > 0 ? base[v->options.type] : v->weight;
}

/* Samples are added up by stack twice: all of them, for what percentages are of, and those with the right labels. */
static void make_stacks(struct making *m) {
    struct profile *p = m->p;
    struct view *v = m->v;
    uint32_t *twin_of = p->is_difference && !m->o->is_each_place ? find_twins(m) : NULL;
    double *all = report_alloc(p->n_stacks * sizeof *all),
           *wanted = report_alloc(p->n_stacks * sizeof *wanted),
           *variances = report_alloc(p->n_stacks * sizeof *variances);
    bool *is_used = report_alloc(p->n_stacks * sizeof *is_used);
    v->has_sample = report_alloc(p->n_samples * sizeof *v->has_sample);
    for (uint32_t i = 0; i < p->n_samples; i++) {
        uint32_t stack = twin_of ? twin_of[p->samples[i].stack] : p->samples[i].stack;
        double value = p->values[(size_t)i * p->n_types + v->options.type];
        double variance = profile_variance(p, i, v->options.type);
        all[stack] += value;
        v->total_variance += variance;
        if (!m->o->drops_negative) v->total += value;
        v->has_sample[i] = has_right_labels(m, i);
        if (!v->has_sample[i]) continue;
        wanted[stack] += value;
        variances[stack] += variance;
        is_used[stack] = true;
    }
    for (uint32_t i = 0; i < p->n_stacks; i++) {
        if (m->o->drops_negative && all[i] < 0) all[i] = 0;
        if (m->o->drops_negative && wanted[i] < 0) wanted[i] = 0;
        v->weight += fabs(all[i]);
        if (m->o->drops_negative) v->total += all[i]; /* of what is left */
        if (is_used[i]) is_used[i] = add_stack(m, i, wanted[i], variances[i]);
    }
    for (uint32_t i = 0; i < p->n_samples; i++) {
        uint32_t stack = p->samples[i].stack;
        v->has_sample[i] = v->has_sample[i] && is_used[twin_of ? twin_of[stack] : stack];
    }
    v->whole = choose_whole(v);
    v->has_errors = v->total_variance > 0;
    free(all);
    free(wanted);
    free(variances);
    free(is_used);
    free(twin_of);
}

/* ---- paths: each way from the root to a node is a node of its own */

static void split_paths(struct making *m) {
    struct view *v = m->v;
    struct call_tree t;
    struct view_node *nodes = NULL;
    uint32_t n = 0, cap = 0;
    call_tree_new(&t, v, UINT32_MAX);
    if (t.is_full) m->is_full = true;
    for (uint32_t i = 1; i < t.n; i++) *REPORT_PUSH(nodes, n, cap) = v->nodes[t.all[i].node];
    for (uint32_t i = 0; i < v->n_stacks; i++) {
        struct view_stack *s = &v->stacks[i];
        uint32_t call = 0;
        for (uint32_t k = s->n; k > 0; k--) {
            call = call_tree_find(&t, call, v->frames[s->first + k - 1]);
            if (call == PROFILE_NONE) break; /* a stack of 0 has no calls there */
            v->frames[s->first + k - 1] = call - 1;
        }
        if (call == PROFILE_NONE) s->n = 0;
    }
    call_tree_free(&t);
    free(v->nodes);
    v->nodes = nodes;
    v->n_nodes = n;
    v->cap_nodes = cap;
}

/* ---- sums */

/* A function counts once per stack, however often it is in it. */
static void count_nodes(struct view *v) {
    uint32_t *seen_in = report_alloc(v->n_nodes * sizeof *seen_in);
    for (uint32_t i = 0; i < v->n_stacks; i++) {
        const struct view_stack *s = &v->stacks[i];
        if (s->n > 0) v->nodes[v->frames[s->first]].flat += s->value;
        if (s->n > 0) v->nodes[v->frames[s->first]].flat_variance += s->variance;
        for (uint32_t k = 0; k < s->n; k++) {
            uint32_t node = v->frames[s->first + k];
            if (seen_in[node] == i + 1) continue;
            seen_in[node] = i + 1;
            v->nodes[node].cum += s->value;
            v->nodes[node].cum_variance += s->variance;
        }
    }
    free(seen_in);
}

static int by_value(const void *a, const void *b, void *context) {
    const struct view *v = context;
    const struct view_node *x = &v->nodes[*(const uint32_t *)a],
                           *y = &v->nodes[*(const uint32_t *)b];
    bool by_cum = v->options.sorts_by_cum;
    double first = fabs(by_cum ? x->cum : x->flat), second = fabs(by_cum ? y->cum : y->flat);
    if (first != second) return first > second ? -1 : 1;
    first = fabs(by_cum ? x->flat : x->cum);
    second = fabs(by_cum ? y->flat : y->cum);
    if (first != second) return first > second ? -1 : 1;
    return strcmp(profile_text(v->p, x->name), profile_text(v->p, y->name));
}

static void sort_nodes(struct view *v) {
    v->order = report_alloc(v->n_nodes * sizeof *v->order);
    for (uint32_t i = 0; i < v->n_nodes; i++) v->order[i] = i;
    if (v->n_nodes > 1) qsort_r(v->order, v->n_nodes, sizeof *v->order, by_value, v);
}

/* ---- the whole */

static struct regex *whole_name(const struct profile *p, uint32_t pattern, const char *what,
                                struct report_error *e) {
    char *text = report_alloc(p->strings[pattern].n + 16);
    (void)snprintf(text, p->strings[pattern].n + 16, "^(?:%s)$", profile_text(p, pattern));
    struct regex *r = regex_new(text, what, e);
    free(text);
    return r;
}

static bool compile(struct making *m, struct report_error *e) {
    const struct view_options *o = m->o;
    const struct {
        struct regex **to;
        const char *pattern, *option;
    } rows[] = {
        {&m->focus, o->focus, "--focus"},
        {&m->ignore, o->ignore, "--ignore"},
        {&m->show, o->show, "--show"},
        {&m->hide, o->hide, "--hide"},
        {&m->show_from, o->show_from, "--show-from"},
        {&m->prune_from, o->prune_from, "--prune_from"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].pattern == NULL || *rows[i].pattern == '\0') continue;
        *rows[i].to = regex_new(rows[i].pattern, rows[i].option, e);
        if (*rows[i].to == NULL) return false;
    }
    if (o->tag_focus && (m->tag_focus = label_filter_new(o->tag_focus, "--tag-focus", e)) == NULL)
        return false;
    if (o->tag_ignore &&
        (m->tag_ignore = label_filter_new(o->tag_ignore, "--tag-ignore", e)) == NULL)
        return false;
    if (!o->all_frames && m->p->drop_frames) {
        m->dropped = whole_name(m->p, m->p->drop_frames, "drop_frames", e);
        if (m->dropped == NULL) return false;
        if (m->p->keep_frames) m->kept = whole_name(m->p, m->p->keep_frames, "keep_frames", e);
    }
    if (o->all_frames || (m->p->kind != PROFILE_HEAP && m->p->kind != PROFILE_GROWTH)) return true;
    m->allocators = regex_new(allocator_names, "allocator names", e);
    m->allocator_libraries = regex_new(allocator_files, "allocator libraries", e);
    return m->allocators && m->allocator_libraries;
}

static bool all_ended(const struct making *m, struct report_error *e) {
    return regex_ended(m->focus, "--focus", e) == 0 && regex_ended(m->ignore, "--ignore", e) == 0 &&
           regex_ended(m->show, "--show", e) == 0 && regex_ended(m->hide, "--hide", e) == 0 &&
           regex_ended(m->show_from, "--show-from", e) == 0 &&
           regex_ended(m->prune_from, "--prune_from", e) == 0;
}

static bool has_room(const struct making *m, struct report_error *e) {
    if (!m->is_full) return true;
    (void)report_fail(e, EFBIG,
                      "the profile's stacks have more than %llu frames with their inlined calls; "
                      "--limit=SIZE shows more",
                      (unsigned long long)m->p->max_frames);
    return false;
}

struct view *view_new(struct profile *p, const struct view_options *o, struct report_error *e) {
    struct view *v = report_alloc(sizeof *v);
    v->p = p;
    v->options = *o;
    if (o->type == PROFILE_NONE) v->options.type = p->default_type;
    struct making m = {.v = v, .p = p, .o = &v->options};
    bool is_good = compile(&m, e);
    if (is_good) {
        m.short_name = report_alloc(p->n_functions * sizeof *m.short_name);
        memset(m.short_name, 0xff, p->n_functions * sizeof *m.short_name);
        if (o->tells_instances && !o->full_names && !o->mangled_names) tell_instances(&m);
        make_places(&m);
        make_stacks(&m);
        if (o->by_path && !m.is_full) split_paths(&m);
        count_nodes(v);
        sort_nodes(v);
        is_good = all_ended(&m, e) && has_room(&m, e);
    }
    regex_free(m.focus);
    regex_free(m.ignore);
    regex_free(m.show);
    regex_free(m.hide);
    regex_free(m.show_from);
    regex_free(m.prune_from);
    label_filter_free(m.tag_focus);
    label_filter_free(m.tag_ignore);
    regex_free(m.allocators);
    regex_free(m.allocator_libraries);
    regex_free(m.dropped);
    regex_free(m.kept);
    free(m.places);
    free(m.nodes);
    free(m.node_of);
    free(m.short_name);
    free(m.plain_name);
    if (is_good) return v;
    view_free(v);
    return NULL;
}

struct view *view_part(const struct view *v, const uint32_t *group_of, uint32_t group) {
    struct view *part = report_alloc(sizeof *part);
    bool *has_stack = report_alloc(v->p->n_stacks * sizeof *has_stack);
    *part = *v;
    part->nodes = NULL, part->n_nodes = part->cap_nodes = 0;
    part->stacks = NULL, part->n_stacks = part->cap_stacks = 0;
    part->frames = NULL, part->n_frames = part->cap_frames = 0;
    part->shown = part->shown_variance = 0;
    for (uint32_t i = 0; i < v->n_nodes; i++) {
        struct view_node *n = REPORT_PUSH(part->nodes, part->n_nodes, part->cap_nodes);
        *n = v->nodes[i];
        n->flat = n->cum = n->flat_variance = n->cum_variance = 0;
    }
    for (uint32_t i = 0; i < v->n_stacks; i++) {
        const struct view_stack *s = &v->stacks[i];
        if (group_of[i] != group) continue;
        struct view_stack *kept = REPORT_PUSH(part->stacks, part->n_stacks, part->cap_stacks);
        *kept = *s;
        kept->first = part->n_frames;
        for (uint32_t k = 0; k < s->n; k++)
            *REPORT_PUSH(part->frames, part->n_frames, part->cap_frames) = v->frames[s->first + k];
        part->shown += s->value;
        part->shown_variance += s->variance;
        has_stack[s->stack] = true;
    }
    part->has_sample = report_alloc(v->p->n_samples * sizeof *part->has_sample);
    for (uint32_t i = 0; i < v->p->n_samples; i++)
        part->has_sample[i] = v->has_sample[i] && has_stack[v->p->samples[i].stack];
    free(has_stack);
    count_nodes(part);
    sort_nodes(part);
    return part;
}

void view_free(struct view *v) {
    if (v == NULL) return;
    free(v->nodes);
    free(v->order);
    free(v->stacks);
    free(v->frames);
    free(v->has_sample);
    free(v);
}
