/* symbols.c - which file a mapping is now, and the lookup of each location in it. See symbols.h.
 *
 *   the program given, the path with --path, the path itself; sysroots; then by build-id: folders, debug files, debuginfod
 *
 * A wrong name is worse than none. A file is believed when its build-id is the mapping's; where the profile
 * has no build-ids (all the text formats), when its code segment has exactly the place and size of the
 * mapping.
 *
 * Climate: cli.
 */
#include "report/symbols.h"

#include <elfutils/debuginfod.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/late.h"
#include "report/names.h"
#include "report/progress.h"

#define MAX_INLINED 65
#define MAX_PATH 4096

struct resolving {
    struct profile *p;
    const struct symbols_options *options;
    uint32_t main_file; /* string: the mapping file that is the program; 0: none */
    bool is_of_here;    /* a library of this machine is the one that ran */
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
        lines[i] = (struct profile_line){.function = profile_add_function(r->p, &f),
                                         .line = frames[i].line,
                                         .column = frames[i].column};
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
    uint64_t offset;
    if (*wanted != '\0') return strcmp(wanted, module_build_id(m)) == 0;
    if (map->is_linked) return module_segment(m, map->offset, map->limit - map->start, &offset);
    return module_fits(m, map->offset, map->limit - map->start);
}

/* The file, if it is the one that ran. */
static struct module *open_if_right(const struct resolving *r, const struct profile_mapping *map,
                                    const char *path) {
    struct report_error ignored;
    struct module *m = module_open(path, &ignored);
    if (m != NULL && is_right_file(m, r->p, map)) {
        module_place(m, map->offset, map->limit - map->start);
        return m;
    }
    module_close(m);
    return NULL;
}

/* Below each sysroot: the whole path, then without its first folder, and so on. */
static struct module *open_below_prefix(const struct resolving *r,
                                        const struct profile_mapping *map, const char *file) {
    char path[2 * MAX_PATH];
    for (const char *at = r->options->prefixes; at && *at; at += strspn(at, ",")) {
        int n = (int)strcspn(at, ",");
        for (const char *end = file; end; end = strchr(end + 1, '/')) {
            (void)snprintf(path, sizeof path, "%.*s%s%s", n, at, *end == '/' ? "" : "/", end);
            struct module *m = open_if_right(r, map, path);
            if (m != NULL) return m;
        }
        at += n;
    }
    return NULL;
}

/* In one folder: by build-id as debug files are kept, as Go's pprof keeps binaries, and by its name. */
static struct module *open_in_folder(const struct resolving *r, const struct profile_mapping *map,
                                     const char *folder, int n) {
    static const char *const patterns[] = {".build-id/%.2s/%s.debug", ".build-id/%.2s/%s",
                                           "%.2s/%s.debug", NULL};
    char path[3 * MAX_PATH], rest[MAX_PATH];
    char id[2 * 64 + 1], name[MAX_PATH];
    struct module *m = NULL;
    (void)snprintf(id, sizeof id, "%s", profile_text(r->p, map->build_id));
    (void)snprintf(name, sizeof name, "%s", base_name(profile_text(r->p, map->file)));
    for (unsigned i = 0; m == NULL && strlen(id) >= 4 && patterns[i]; i++) {
        (void)snprintf(rest, sizeof rest, patterns[i], id, id + 2);
        (void)snprintf(path, sizeof path, "%.*s/%s", n, folder, rest);
        m = open_if_right(r, map, path);
    }
    if (m == NULL && *id && *name) {
        (void)snprintf(path, sizeof path, "%.*s/%s/%s", n, folder, id, name);
        m = open_if_right(r, map, path);
    }
    if (m == NULL && *name) {
        (void)snprintf(path, sizeof path, "%.*s/%s", n, folder, name);
        m = open_if_right(r, map, path);
    }
    return m;
}

static struct module *open_in_folders(const struct resolving *r,
                                      const struct profile_mapping *map) {
    static const char debug_files[] = "/usr/lib/debug";
    struct module *m = NULL;
    for (const char *const *move = r->options->moves; m == NULL && move && *move; move++) {
        const char *equals = strchr(*move, '=');
        if (equals) m = open_in_folder(r, map, equals + 1, (int)strlen(equals + 1));
    }
    const char *at = r->options->folders;
    for (; m == NULL && at && *at; at += strspn(at, ":")) {
        int n = (int)strcspn(at, ":");
        if (n > 0) m = open_in_folder(r, map, at, n);
        at += n;
    }
    if (m == NULL && map->build_id != 0)
        m = open_in_folder(r, map, debug_files, (int)sizeof debug_files - 1);
    return m;
}

static struct {
    __typeof__(debuginfod_begin) *begin;
    __typeof__(debuginfod_find_debuginfo) *find_debuginfo;
    __typeof__(debuginfod_find_executable) *find_executable;
    __typeof__(debuginfod_end) *end;
} servers;

static bool load_servers(void) {
    static const struct late_function functions[] = {
        {"debuginfod_begin", &servers.begin},
        {"debuginfod_find_debuginfo", &servers.find_debuginfo},
        {"debuginfod_find_executable", &servers.find_executable},
        {"debuginfod_end", &servers.end},
        {NULL, NULL}};
    return servers.begin || late_load("libdebuginfod.so.1", functions);
}

/* Asks the servers of DEBUGINFOD_URLS for the debug file, then for the program itself. */
static struct module *open_from_servers(const struct resolving *r,
                                        const struct profile_mapping *map) {
    const char *urls = getenv("DEBUGINFOD_URLS"), *id = profile_text(r->p, map->build_id);
    struct module *m = NULL;
    char *path = NULL;
    if (urls == NULL || *urls == '\0' || strlen(id) < 4 || !load_servers()) return NULL;
    debuginfod_client *client = servers.begin();
    if (client == NULL) return NULL;
    int fd = servers.find_debuginfo(client, (const unsigned char *)id, 0, &path);
    if (fd < 0) fd = servers.find_executable(client, (const unsigned char *)id, 0, &path);
    if (fd >= 0) {
        m = open_if_right(r, map, path);
        free(path);
        (void)close(fd);
    }
    servers.end(client);
    return m;
}

static struct module *open_elsewhere(const struct resolving *r, const struct profile_mapping *map,
                                     const char *file) {
    struct module *m = open_below_prefix(r, map, file);
    if (m == NULL) m = open_in_folders(r, map);
    if (m == NULL) m = open_from_servers(r, map);
    return m;
}

/* Not a file: anonymous code, memory that was made executable, the vdso. */
static bool is_no_file(const char *file) {
    return file[0] == '\0' || file[0] == '[' || strncmp(file, "/dev/", 5) == 0 ||
           strncmp(file, "/memfd:", 7) == 0;
}

static struct module *open_mapping(struct resolving *r, const struct profile_mapping *map) {
    struct profile *p = r->p;
    char buffer[MAX_PATH], file[MAX_PATH];
    struct report_error e;
    (void)snprintf(file, sizeof file, "%s", profile_text(p, map->file));
    bool is_main = map->file != 0 && map->file == r->main_file;
    const char *path = is_main ? r->options->program : moved_path(r->options, file, buffer);
    if (is_no_file(path)) return NULL;
    bool is_replaced = map->deleted_as && map->build_id == 0 && path == file;
    struct module *m = is_replaced ? NULL : module_open(path, &e);
    if (m != NULL && is_right_file(m, p, map)) return m;
    if (is_replaced)
        (void)report_fail(&e, ENOENT,
                          "it was deleted or replaced while it ran; the program or --path "
                          "says where it is now");
    struct module *other = open_elsewhere(r, map, file);
    if (other == NULL && m != NULL)
        profile_note(
            p, "'%s' is not the file that ran as '%s': its code has another %s; no names from it",
            path, file, map->build_id ? "build-id" : "size");
    if (other == NULL && m == NULL) profile_note(p, "no names for '%s': %s", file, e.line);
    module_close(m);
    return other;
}

/* The kernel's own code is in no file. By its build-id; without one only when the profile is of this machine, which
 * the libraries tell that were found to be the same. */
static struct module *open_vdso(const struct resolving *r, const struct profile_mapping *map) {
    if (strcmp(profile_text(r->p, map->file), "[vdso]") != 0) return NULL;
    if (map->build_id == 0 && !r->is_of_here) return NULL;
    struct module *m = module_open_vdso();
    if (m != NULL && is_right_file(m, r->p, map)) return m;
    module_close(m);
    return NULL;
}

/* ---- files that stay open */

struct cached {
    char *file, *build_id;
    uint64_t offset, n_bytes;
    struct module *module; /* NULL: there is none */
};

struct symbols_cache {
    struct cached *all;
    uint32_t n, cap;
};

struct symbols_cache *symbols_cache_new(void) {
    return report_alloc(sizeof(struct symbols_cache));
}

void symbols_cache_free(struct symbols_cache *c) {
    for (uint32_t i = 0; c && i < c->n; i++) {
        free(c->all[i].file);
        free(c->all[i].build_id);
        module_close(c->all[i].module);
    }
    if (c) free(c->all);
    free(c);
}

/* The file of a mapping. What is said of one that is missing is said once: to the first profile that wants it. */
static struct module *module_of(struct resolving *r, const struct profile_mapping *map,
                                bool is_vdso) {
    struct symbols_cache *c = r->options->cache;
    const struct profile *p = r->p;
    uint64_t n_bytes = map->limit - map->start;
    for (uint32_t i = 0; c && i < c->n; i++) {
        const struct cached *k = &c->all[i];
        if (k->offset == map->offset && k->n_bytes == n_bytes &&
            strcmp(k->file, profile_text(p, map->file)) == 0 &&
            strcmp(k->build_id, profile_text(p, map->build_id)) == 0)
            return k->module;
    }
    struct module *m = is_vdso ? open_vdso(r, map) : open_mapping(r, map);
    if (c == NULL) return m;
    const char *file = profile_text(p, map->file), *id = profile_text(p, map->build_id);
    *REPORT_PUSH(c->all, c->n, c->cap) = (struct cached){
        report_copy(file, strlen(file)), report_copy(id, strlen(id)), map->offset, n_bytes, m};
    return m;
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

/* Addresses in no mapping belong to a program that is not position independent, or to what --add_lib names. */
static void resolve_unmapped(struct resolving *r) {
    struct report_error e;
    if (r->options->extra && has_unknown(r->p, PROFILE_NONE)) {
        struct module *m = module_open(r->options->extra, &e);
        if (m == NULL) profile_note(r->p, "%s", e.line);
        if (m != NULL) resolve_in(r, m, PROFILE_NONE);
        module_close(m);
    }
    if (r->options->program == NULL || !has_unknown(r->p, PROFILE_NONE)) return;
    struct module *m = module_open(r->options->program, &e);
    if (m == NULL) return; /* said already, or the caller looked */
    if (module_is_fixed(m)) resolve_in(r, m, PROFILE_NONE);
    module_close(m);
}

/* Why some of a program's functions have no names: what the file lacks, and which debug file would have it. */
static void note_lack(struct profile *p, struct module *m) {
    enum module_names names = module_names(m);
    const char *id = module_build_id(m);
    if (names == MODULE_ALL) return;
    profile_note(p, "'%s' has %s%s%s", module_path(m),
                 names == MODULE_EXPORTED
                     ? "only the symbols it exports (stripped?): its other functions have no names"
                     : "no symbols (stripped?): its functions have no names",
                 *id ? "; there is no debug file here of build-id " : "", id);
}

static void note_split(struct profile *p, struct module *m) {
    profile_note(p,
                 "'%s' has its debug data in '%s', which is not here (packages, .dwp, are not "
                 "read): no inlined calls, names from its symbols",
                 module_path(m), module_missing(m));
}

static void resolve_mapping(struct resolving *r, uint32_t mapping, bool is_vdso_turn) {
    struct profile *p = r->p;
    struct profile_mapping map = p->mappings[mapping]; /* a copy: notes add strings, not mappings */
    bool is_vdso = strcmp(profile_text(p, map.file), "[vdso]") == 0;
    if (map.has_functions || is_vdso != is_vdso_turn || !has_unknown(p, mapping)) return;
    struct module *m = module_of(r, &map, is_vdso);
    if (m == NULL) return;
    bool is_library = looks_like_library(profile_text(p, map.file));
    if (is_library) r->is_of_here = true;
    if (map.is_linked && module_segment(m, map.offset, map.limit - map.start, &map.offset)) {
        p->mappings[mapping].offset = map.offset;
        p->mappings[mapping].is_linked = false;
    }
    resolve_in(r, m, mapping);
    /* what is written of it can then be told from other builds */
    if (map.build_id == 0) p->mappings[mapping].build_id = profile_string(p, module_build_id(m));
    if (!is_library && !is_vdso && has_unknown(p, mapping)) note_lack(p, m);
    if (module_missing(m)) note_split(p, m);
    if (r->options->cache == NULL) module_close(m);
}

void symbols_resolve(struct profile *p, const struct symbols_options *o) {
    struct resolving r = {.p = p, .options = o};
    r.main_file = find_main_file(p, o->program);
    for (unsigned turn = 0; turn < 2; turn++) /* the vdso last, when the libraries are known */
        for (uint32_t i = 0; i < p->n_mappings; i++) resolve_mapping(&r, i, turn == 1);
    resolve_unmapped(&r);
    free(r.demangled);
}

struct module *symbols_open(struct profile *p, uint32_t mapping, const struct symbols_options *o) {
    struct resolving r = {.p = p, .options = o, .main_file = find_main_file(p, o->program)};
    struct profile_mapping map = p->mappings[mapping];
    return open_mapping(&r, &map);
}
