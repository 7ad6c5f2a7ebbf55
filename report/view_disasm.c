/* view_disasm.c - the instructions of functions with what each costs, and the source lines between them.
 *
 *   ROUTINE ====================== app::deep in /usr/bin/app
 *   900000 900000 Total bytes (flat / cumulative) 17.0% of total
 *   -------------------- /src/work.cc
 *   900000 900000    27: keep(malloc(3000));              a source line: the sum of what follows
 *        .      .        1189: movl $0xbb8, %edi
 *   900000 900000        118e: callq 0x1090
 *
 * Works on a view by addresses without inlined frames, where each node is one location. A location lies within its
 * instruction: readers have taken one off return addresses.
 *
 * Climate: cli.
 */
#include "report/views.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/names.h"
#include "report/regex.h"
#include "report/text.h"

#define MAX_NAME 4096
#define MAX_INLINED 65
#define MAX_CODE (4u << 20) /* bytes of one function: more is no function */

/* Where values lie: an address as linked, in one routine. */
struct spot {
    uint32_t routine, node;
    uint64_t address;
};

struct routine {
    uint32_t name, mapping; /* string; of the profile */
    uint64_t low, high;     /* addresses as linked */
    double flat, cum;
};

struct disasm {
    struct view *v;
    const struct view_list_options *o;
    const struct symbols_options *symbols;
    struct module **modules; /* by mapping; NULL: not opened, or not there */
    bool *is_opened;
    struct routine *routines;
    uint32_t n_routines, cap_routines;
    struct spot *spots; /* by routine and address */
    uint32_t n_spots, cap_spots;
    struct source source;
    struct table table;
};

/* ---- which routines */

static struct module *module_of(struct disasm *d, uint32_t mapping) {
    if (!d->is_opened[mapping]) {
        d->is_opened[mapping] = true;
        d->modules[mapping] = symbols_open(d->v->p, mapping, d->symbols);
    }
    return d->modules[mapping];
}

static uint32_t routine_at(struct disasm *d, uint32_t name, uint32_t mapping, uint64_t low,
                           uint64_t high) {
    for (uint32_t i = 0; i < d->n_routines; i++)
        if (d->routines[i].mapping == mapping && d->routines[i].low == low) return i;
    *REPORT_PUSH(d->routines, d->n_routines, d->cap_routines) =
        (struct routine){.name = name, .mapping = mapping, .low = low, .high = high};
    return d->n_routines - 1;
}

/* The node's place in the code, if its function matches. */
static void add_spot(struct disasm *d, uint32_t node, const struct regex *pattern) {
    struct profile *p = d->v->p;
    char name[MAX_NAME];
    const struct view_node *n = &d->v->nodes[node];
    struct profile_location l = p->locations[n->location];
    uint64_t address, low, high;
    if (n->function == PROFILE_NONE || l.mapping == PROFILE_NONE || (n->flat == 0 && n->cum == 0))
        return;
    const char *full = profile_text(p, p->functions[n->function].name);
    if (!regex_matches(pattern, name_shorten(full, name, sizeof name)) &&
        !regex_matches(pattern, full))
        return;
    struct module *m = module_of(d, l.mapping);
    const struct profile_mapping *map = &p->mappings[l.mapping];
    if (m == NULL || !module_address(m, l.address - map->start + map->offset, &address) ||
        !module_range(m, address, &low, &high))
        return;
    uint32_t routine = routine_at(d, profile_string(p, name), l.mapping, low, high);
    *REPORT_PUSH(d->spots, d->n_spots, d->cap_spots) =
        (struct spot){.routine = routine, .node = node, .address = address};
}

static int by_address(const void *a, const void *b) {
    const struct spot *x = a, *y = b;
    if (x->routine != y->routine) return x->routine < y->routine ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* A routine counts once per stack. */
static void count_routines(struct disasm *d) {
    const struct view *v = d->v;
    if (d->n_routines == 0) return; /* nothing matched */
    uint32_t *of_node = report_alloc(v->n_nodes * sizeof *of_node);
    uint32_t *seen_in = report_alloc(d->n_routines * sizeof *seen_in);
    for (uint32_t i = 0; i < d->n_spots; i++) of_node[d->spots[i].node] = d->spots[i].routine + 1;
    for (uint32_t i = 0; i < v->n_stacks; i++) {
        const struct view_stack *s = &v->stacks[i];
        for (uint32_t k = 0; k < s->n; k++) {
            uint32_t id = of_node[v->frames[s->first + k]];
            if (id == 0) continue;
            if (k == 0) d->routines[id - 1].flat += s->value;
            if (seen_in[id - 1] != i + 1) d->routines[id - 1].cum += s->value;
            seen_in[id - 1] = i + 1;
        }
    }
    free(of_node);
    free(seen_in);
}

/* ---- one routine */

static const struct table_column columns[] = {
    {"function", TABLE_TEXT, 0}, {"address", TABLE_TEXT, 0}, {"flat", TABLE_VALUE, 0},
    {"cum", TABLE_VALUE, 0},     {"file", TABLE_TEXT, 0},    {"line", TABLE_COUNT, 0},
    {"code", TABLE_TEXT, 0},
};

/* An instruction with its costs, and the source it is of. */
struct step {
    uint64_t address;
    char code[240];
    const char *file; /* "" when unknown */
    uint32_t line;
    double flat, cum;
};

static const char *value_or_dot(const struct disasm *d, double value, char *out, size_t n) {
    return value == 0 ? "." : table_number(d->o->unit, value, out, n);
}

/* Adds what lies in [low, high) of the routine. */
static void add_values(const struct disasm *d, uint32_t routine, uint64_t low, uint64_t high,
                       struct step *s) {
    uint32_t first = 0, end = d->n_spots;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        const struct spot *spot = &d->spots[middle];
        if (spot->routine < routine || (spot->routine == routine && spot->address < low))
            first = middle + 1;
        else
            end = middle;
    }
    for (;
         first < d->n_spots && d->spots[first].routine == routine && d->spots[first].address < high;
         first++) {
        s->flat += d->v->nodes[d->spots[first].node].flat;
        s->cum += d->v->nodes[d->spots[first].node].cum;
    }
}

/* "callq 0x1090 <malloc>": a call gets the name of what it calls. */
static void write_code(struct module *m, csh engine, const cs_insn *insn, char *out, size_t n) {
    struct module_frame frames[MAX_INLINED];
    int length =
        snprintf(out, n, "%s%s%s", insn->mnemonic, insn->op_str[0] ? " " : "", insn->op_str);
    const char *target = insn->op_str + (insn->op_str[0] == '#');
    if (length < 0 || (size_t)length >= n || strncmp(target, "0x", 2) != 0 ||
        !cs_insn_group(engine, insn, CS_GRP_CALL))
        return;
    uint32_t n_frames = module_find(m, strtoull(target, NULL, 16), frames, MAX_INLINED);
    if (n_frames == 0) return;
    char *readable = name_demangle(frames[n_frames - 1].name), name[MAX_NAME];
    (void)name_shorten(readable ? readable : frames[n_frames - 1].name, name, sizeof name);
    (void)snprintf(out + length, n - (size_t)length, " <%.100s>", name);
    free(readable);
}

#define OLD_PATH 58 /* columns that the perl pprof has for a path */

/* Its end, from a slash on, where it is too long. */
static void put_path(const struct disasm *d, const char *path) {
    const char *end = path, *dots = "";
    while (d->o->is_old && end && strlen(end) + strlen(dots) > OLD_PATH) {
        dots = "...";
        end = strchr(end + 1, '/');
    }
    (void)fprintf(d->o->out, "-------------------- %s%s\n", end ? dots : "",
                  text_shown(end ? end : path));
}

static void put_source_line(struct disasm *d, const struct step *steps, uint32_t n,
                            const char **file) {
    char a[64], b[64];
    double flat = 0, cum = 0;
    for (uint32_t i = 0; i < n; i++) {
        flat += steps[i].flat;
        cum += steps[i].cum;
    }
    if (*file == NULL || strcmp(*file, steps->file) != 0) put_path(d, steps->file);
    *file = steps->file;
    const char *source = source_line(&d->source, steps->file, steps->line);
    if (d->o->is_old) source += strspn(source, " \t");
    (void)fprintf(d->o->out, "%*s %*s %5u: %s\n", d->o->width, value_or_dot(d, flat, a, sizeof a),
                  d->o->width, value_or_dot(d, cum, b, sizeof b), steps->line,
                  text_shown_source(source));
}

static void put_steps(struct disasm *d, const struct routine *r, const struct step *steps,
                      uint32_t n) {
    const char *file = NULL;
    char a[64], b[64];
    for (uint32_t i = 0, same; i < n; i += same) {
        same = 1;
        while (i + same < n && steps[i + same].line == steps[i].line &&
               strcmp(steps[i + same].file, steps[i].file) == 0)
            same++;
        bool is_text = d->o->form == TABLE_AS_TEXT;
        if (is_text && steps[i].line > 0) put_source_line(d, steps + i, same, &file);
        for (uint32_t k = i; k < i + same; k++) {
            const struct step *s = &steps[k];
            if (is_text) {
                (void)fprintf(d->o->out, "%*s %*s    %8" PRIx64 ": %s\n", d->o->width,
                              value_or_dot(d, s->flat, a, sizeof a), d->o->width,
                              value_or_dot(d, s->cum, b, sizeof b), s->address,
                              text_shown(s->code));
                continue;
            }
            (void)snprintf(a, sizeof a, "0x%" PRIx64, s->address);
            struct table_cell cells[] = {{.text = profile_text(d->v->p, r->name)},
                                         {.text = a},
                                         {.number = s->flat},
                                         {.number = s->cum},
                                         {.text = s->file},
                                         {.number = s->line},
                                         {.text = s->code}};
            table_row(&d->table, cells);
        }
    }
}

static bool open_engine(const struct module *m, bool is_intel, csh *engine) {
    unsigned machine = module_machine(m);
    cs_err error = machine == EM_X86_64    ? cs_open(CS_ARCH_X86, CS_MODE_64, engine)
                   : machine == EM_386     ? cs_open(CS_ARCH_X86, CS_MODE_32, engine)
                   : machine == EM_AARCH64 ? cs_open(CS_ARCH_ARM64, CS_MODE_ARM, engine)
                   : machine == EM_ARM     ? cs_open(CS_ARCH_ARM, CS_MODE_ARM, engine)
                                           : CS_ERR_ARCH;
    if (error != CS_ERR_OK) return false;
    if (!is_intel && (machine == EM_X86_64 || machine == EM_386)) /* as objdump unless told */
        (void)cs_option(*engine, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
    (void)cs_option(*engine, CS_OPT_SKIPDATA, CS_OPT_ON);
    (void)cs_option(*engine, CS_OPT_DETAIL, CS_OPT_ON);
    return true;
}

static void put_routine(struct disasm *d, uint32_t id) {
    struct routine *r = &d->routines[id];
    struct module *m = d->modules[r->mapping];
    struct module_frame frames[MAX_INLINED];
    struct step *steps = NULL;
    uint32_t n = 0, cap = 0;
    char a[64], b[64], share[32];
    csh engine;
    uint64_t address = r->low;
    size_t left = (size_t)(r->high - r->low);
    const unsigned char *code = left <= MAX_CODE ? module_code(m, r->low, r->high) : NULL;
    if (d->o->form == TABLE_AS_TEXT) {
        bool is_old = d->o->is_old;
        const char *file = profile_text(d->v->p, d->v->p->mappings[r->mapping].file);
        (void)fprintf(d->o->out, "ROUTINE ====================== %s%s%s\n",
                      text_shown(profile_text(d->v->p, r->name)), is_old ? "" : " in ",
                      is_old ? "" : text_shown(file));
        (void)fprintf(d->o->out, "%*s %*s %s%s %s %s of total\n", d->o->width,
                      list_total(d->o, r->flat, a, sizeof a), d->o->width,
                      list_total(d->o, r->cum, b, sizeof b), is_old ? "" : "Total ",
                      text_shown(d->o->unit_name),
                      is_old ? "(flat, cumulative)" : "(flat / cumulative)",
                      table_decimal(view_percent(d->v, r->cum), 1, "%", share, sizeof share));
    }
    if (code == NULL || !open_engine(m, d->o->is_intel, &engine)) {
        if (d->o->form == TABLE_AS_TEXT) (void)fputs("(no code that we can read)\n", d->o->out);
        return;
    }
    cs_insn *insn = cs_malloc(engine);
    if (insn == NULL) report_no_memory();
    while (insn && cs_disasm_iter(engine, &code, &left, &address, insn)) {
        struct step *s = REPORT_PUSH(steps, n, cap);
        *s = (struct step){.address = insn->address, .file = ""};
        write_code(m, engine, insn, s->code, sizeof s->code);
        add_values(d, id, insn->address, insn->address + insn->size, s);
        if (module_find(m, insn->address, frames, MAX_INLINED) > 0) {
            s->file = frames[0].file;
            s->line = frames[0].line;
        }
    }
    put_steps(d, r, steps, n);
    cs_free(insn, 1);
    (void)cs_close(&engine);
    free(steps);
}

/* ---- the whole */

/* Largest first. */
static void put_all(struct disasm *d) {
    bool *is_printed = report_alloc(d->n_routines * sizeof *is_printed);
    for (uint32_t round = 0; round < d->n_routines; round++) {
        uint32_t best =
            PROFILE_NONE; /* spots know routines by number, so they stay where they are */
        for (uint32_t i = 0; i < d->n_routines; i++)
            if (!is_printed[i] &&
                (best == PROFILE_NONE || fabs(d->routines[i].cum) > fabs(d->routines[best].cum)))
                best = i;
        is_printed[best] = true;
        put_routine(d, best);
    }
    free(is_printed);
}

int view_disasm(struct view *v, const struct view_list_options *o, const struct symbols_options *s,
                struct report_error *e) {
    struct view_print how = {
        .out = o->out, .form = o->form, .group = o->group, .is_next_group = o->is_next_group};
    struct regex *pattern = regex_new(o->pattern, "disasm", e);
    if (pattern == NULL) return -EINVAL;
    struct disasm d = {.v = v, .o = o, .symbols = s, .source = {.search = o->search}};
    d.modules = report_alloc(v->p->n_mappings * sizeof(struct module *));
    d.is_opened = report_alloc(v->p->n_mappings * sizeof *d.is_opened);
    for (uint32_t i = 0; i < v->n_nodes; i++) add_spot(&d, i, pattern);
    if (d.n_spots > 1) qsort(d.spots, d.n_spots, sizeof *d.spots, by_address);
    count_routines(&d);
    d.table = view_table(v, &how, columns, sizeof columns / sizeof *columns);
    int status = 0;
    if (d.n_routines > 0) {
        if (o->form != TABLE_AS_TEXT) table_begin(&d.table);
        put_all(&d);
        if (o->form != TABLE_AS_TEXT) table_end(&d.table);
    } else {
        status =
            report_fail(e, ENOENT, "no function whose code is here matches '%.200s'", o->pattern);
    }
    for (uint32_t i = 0; i < v->p->n_mappings; i++) module_close(d.modules[i]);
    source_close(&d.source);
    regex_free(pattern);
    free(d.modules);
    free(d.is_opened);
    free(d.routines);
    free(d.spots);
    return status;
}
