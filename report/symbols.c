/* symbols.c - which file a mapping is now, and the lookup of each location in it. See symbols.h.
 *
 * A wrong name is worse than none. A file is believed when its build-id is the mapping's; where the profile
 * has no build-ids (all the text formats), when its code segment has exactly the place and size of the
 * mapping.
 *
 * Climate: cli.
 */
#include "report/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/names.h"
#include "report/progress.h"

#define MAX_INLINED 65
#define MAX_PATH 4096

struct resolving {
    struct profile *p;
    const struct symbols_options *options;
    uint32_t main_file; /* string: the mapping file that is the program; 0: none */
    uint32_t *
        demangled; /* by string of the linker's name: string of the people's; PROFILE_NONE: not yet */
    uint32_t n_demangled, cap_demangled;
};

/* ---- names */

static uint32_t readable_name(struct resolving *r, uint32_t system_name) {
    while (r->n_demangled <= system_name)
        *REPORT_PUSH(r->demangled, r->n_demangled, r->cap_demangled) = PROFILE_NONE;
    if (r->demangled[system_name] == PROFILE_NONE) {
        char *text = name_demangle(profile_text(r->p, system_name));
        r->demangled[system_name] = text ? profile_string(r->p, text) : system_name;
        free(text);
    }
    return r->demangled[system_name];
}

static void set_frames(struct resolving *r, uint32_t location, const struct module_frame *frames,
                       uint32_t n) {
    struct profile_line lines[MAX_INLINED];
    for (uint32_t i = 0; i < n; i++) {
        struct profile_function f = {.system_name = profile_string(r->p, frames[i].name),
                                     .file = profile_string(r->p, frames[i].file),
                                     .start_line = frames[i].start_line};
        f.name = readable_name(r, f.system_name);
        lines[i] = (struct profile_line){profile_add_function(r->p, &f), frames[i].line};
    }
    profile_set_lines(r->p, location, lines, n);
}

/* ---- files */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool looks_like_library(const char *path) {
    const char *name = base_name(path);
    return strstr(name, ".so") != NULL || strncmp(name, "ld-", 3) == 0;
}

/* The program that was given stands for the file of its name; if there is none, it was renamed, and stands
 * for the first that is no library. */
static uint32_t find_main_file(const struct profile *p, const char *program) {
    if (program == NULL) return 0;
    for (uint32_t i = 0; i < p->n_mappings; i++)
        if (strcmp(base_name(profile_text(p, p->mappings[i].file)), base_name(program)) == 0)
            return p->mappings[i].file;
    for (uint32_t i = 0; i < p->n_mappings; i++) {
        const char *file = profile_text(p, p->mappings[i].file);
        if (file[0] == '/' && !looks_like_library(file)) return p->mappings[i].file;
    }
    return 0;
}

/* The path with its beginning moved, in `out`. */
static const char *moved_path(const struct symbols_options *o, const char *path, char *out) {
    for (const char *const *m = o->moves; m && *m; m++) {
        const char *equals = strchr(*m, '=');
        size_t n = equals ? (size_t)(equals - *m) : 0;
        if (equals == NULL || strncmp(path, *m, n) != 0) continue;
        (void)snprintf(out, MAX_PATH, "%s%s", equals + 1, path + n);
        return out;
    }
    return path;
}

static bool is_right_file(const struct module *m, const struct profile *p,
                          const struct profile_mapping *map) {
    const char *wanted = profile_text(p, map->build_id);
    if (*wanted != '\0') return strcmp(wanted, module_build_id(m)) == 0;
    return module_fits(m, map->offset, map->limit - map->start);
}

static struct module *open_debug_file(const struct profile *p, const struct profile_mapping *map) {
    char path[MAX_PATH];
    struct report_error ignored;
    const char *id = profile_text(p, map->build_id);
    if (strlen(id) < 4) return NULL;
    (void)snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
    struct module *m = module_open(path, &ignored);
    if (m != NULL && strcmp(module_build_id(m), id) == 0) return m;
    module_close(m);
    return NULL;
}

static struct module *open_mapping(struct resolving *r, const struct profile_mapping *map) {
    struct profile *p = r->p;
    char buffer[MAX_PATH], file[MAX_PATH];
    struct report_error e;
    (void)snprintf(file, sizeof file, "%s", profile_text(p, map->file));
    bool is_main = map->file != 0 && map->file == r->main_file;
    const char *path = is_main ? r->options->program : moved_path(r->options, file, buffer);
    if (path[0] == '\0' || path[0] == '[' || strncmp(file, "/dev/", 5) == 0 ||
        strncmp(file, "/memfd:", 7) == 0)
        return NULL; /* not a file: vdso, anonymous code */
    struct module *m = module_open(path, &e);
    if (m != NULL && is_right_file(m, p, map)) return m;
    struct module *separate = open_debug_file(p, map);
    if (separate == NULL && m != NULL)
        profile_note(
            p, "'%s' is not the file that ran as '%s': its code has another %s; no names from it",
            path, file, map->build_id ? "build-id" : "size");
    if (separate == NULL && m == NULL) profile_note(p, "no names for '%s': %s", file, e.line);
    module_close(m);
    return separate;
}

/* ---- locations */

static void resolve_in(struct resolving *r, struct module *m, uint32_t mapping) {
    struct profile *p = r->p;
    struct module_frame frames[MAX_INLINED];
    for (uint32_t i = 0; i < p->n_locations; i++) {
        const struct profile_location *l = &p->locations[i];
        uint64_t address = l->address;
        if (l->mapping != mapping || l->n_lines > 0 || l->address == 0) continue;
        if (mapping != PROFILE_NONE) {
            const struct profile_mapping *map = &p->mappings[mapping];
            if (!module_address(m, l->address - map->start + map->offset, &address)) continue;
        }
        progress("names of",
                 mapping == PROFILE_NONE ? r->options->program
                                         : profile_text(p, p->mappings[mapping].file),
                 i, p->n_locations);
        uint32_t n = module_find(m, address, frames, MAX_INLINED);
        if (n > 0) set_frames(r, i, frames, n);
    }
}

static bool has_unknown(const struct profile *p, uint32_t mapping) {
    for (uint32_t i = 0; i < p->n_locations; i++)
        if (p->locations[i].mapping == mapping && p->locations[i].n_lines == 0 &&
            p->locations[i].address != 0)
            return true;
    return false;
}

/* Addresses in no mapping belong to a program that is not position independent. */
static void resolve_unmapped(struct resolving *r) {
    struct report_error e;
    if (r->options->program == NULL || !has_unknown(r->p, PROFILE_NONE)) return;
    struct module *m = module_open(r->options->program, &e);
    if (m == NULL) return; /* said already, or the caller looked */
    if (module_is_fixed(m)) resolve_in(r, m, PROFILE_NONE);
    module_close(m);
}

void symbols_resolve(struct profile *p, const struct symbols_options *o) {
    struct resolving r = {.p = p, .options = o};
    r.main_file = find_main_file(p, o->program);
    for (uint32_t i = 0; i < p->n_mappings; i++) {
        struct profile_mapping map = p->mappings[i]; /* a copy: notes add strings, not mappings */
        if (map.has_functions || !has_unknown(p, i)) continue;
        struct module *m = open_mapping(&r, &map);
        if (m != NULL) resolve_in(&r, m, i);
        /* what is written of it can then be told from other builds */
        if (m != NULL && map.build_id == 0)
            p->mappings[i].build_id = profile_string(p, module_build_id(m));
        module_close(m);
    }
    resolve_unmapped(&r);
    free(r.demangled);
}

struct module *symbols_open(struct profile *p, uint32_t mapping, const struct symbols_options *o) {
    struct resolving r = {.p = p, .options = o, .main_file = find_main_file(p, o->program)};
    struct profile_mapping map = p->mappings[mapping];
    return open_mapping(&r, &map);
}
