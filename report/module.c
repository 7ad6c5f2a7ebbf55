/* module.c - see module.h.
 *
 * libdw answers each question by a walk from the start of a compile unit, which is fine for one address
 * and not for ten thousand. So three sorted tables are kept, each made when it is first needed:
 *
 *   units       address ranges of compile units, for the file
 *   functions   address ranges of functions, for each unit that was asked about
 *   symbols     ranges of the symbol table, for the file
 *
 * Within one function the inlined calls are found by going down its tree.
 *
 * Climate: cli.
 */
#include "report/module.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/debug_file.h"
#include "report/memory.h"
#include "report/names.h"
#include "report/regular.h"

#define OS_PAGE 4096u
#define MAX_SEGMENTS 16
#define LAMBDA "{lambda " /* and where it is: what the compiler gives no name */
#define MAX_OVERLAP 16    /* so many ranges below an address are looked at for one that covers it */

struct range {
    uint64_t low, high;
    uint32_t what; /* index of a unit, a function or a symbol */
};

struct ranges {
    struct range *all;
    uint32_t n, cap;
};

/* A function without a linkage name, and the namespaces and classes around it. */
struct scoped {
    Dwarf_Off offset; /* of its DIE: ascending */
    char *name;       /* app::Cache::fill */
};

/* Where so many lambdas of a unit begin: those that a macro makes are all where it is used. */
struct lambdas {
    char *place;
    uint32_t n;
};

struct unit {
    Dwarf_Die die;  /* where its functions are: of a .dwo file for split DWARF */
    Dwarf_Die line; /* where its lines are: of the file itself */
    struct scoped *scoped;
    uint32_t n_scoped, cap_scoped;
    struct lambdas *lambdas;
    uint32_t n_lambdas, cap_lambdas;
    struct index by_place; /* of lambdas; not begun while there are none */
    struct ranges functions;
    Dwarf_Die *dies; /* of the functions */
    uint32_t n_dies, cap_dies;
    bool is_known;
    const char *around; /* while functions are collected: the name of the one we are in; or NULL */
};

struct segment {
    uint64_t offset, n_bytes, address;
};

struct module {
    Dwfl *dwfl;
    Dwfl_Module *dw;
    uint64_t elf_bias, dwarf_bias; /* what libdwfl adds to addresses as linked */
    char build_id[2 * 64 + 1];
    bool is_fixed;
    bool is_debug_only; /* the code is in another file: offsets of segments mean nothing here */
    unsigned machine;   /* e_machine */
    struct segment segments[MAX_SEGMENTS]; /* those with code */
    uint32_t n_segments;

    bool has_units, has_symbols;
    const char *missing; /* a .dwo file that is not here; NULL: none is missing */
    struct unit *units;
    uint32_t n_units, cap_units;
    struct ranges unit_ranges;
    const char **names; /* of the symbols */
    uint32_t n_names, cap_names;
    struct ranges symbols;
};

/* ---- tables of ranges */

static void range_add(struct ranges *r, uint64_t low, uint64_t high, uint32_t what) {
    if (high <= low) return;
    *REPORT_PUSH(r->all, r->n, r->cap) = (struct range){low, high, what};
}

static int by_low(const void *a, const void *b) {
    const struct range *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->high != y->high) return x->high > y->high ? -1 : 1; /* the smaller comes last and wins */
    return x->what < y->what ? -1 : x->what > y->what;
}

static void range_sort(struct ranges *r) {
    if (r->n > 1) qsort(r->all, r->n, sizeof *r->all, by_low);
}

static const struct range *range_find(const struct ranges *r, uint64_t address) {
    uint32_t low = 0, high = r->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (r->all[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t i = 0; i < MAX_OVERLAP && i < low; i++)
        if (address < r->all[low - 1 - i].high) return &r->all[low - 1 - i];
    return NULL;
}

/* ---- opening */

static void read_segments(struct module *m, Elf *elf) {
    size_t n;
    GElf_Ehdr header;
    if (gelf_getehdr(elf, &header) != NULL) {
        m->is_fixed = header.e_type == ET_EXEC;
        m->machine = header.e_machine;
    }
    if (elf_getphdrnum(elf, &n) != 0) return;
    for (size_t i = 0; i < n && m->n_segments < MAX_SEGMENTS; i++) {
        GElf_Phdr p;
        if (gelf_getphdr(elf, (int)i, &p) == NULL || p.p_type != PT_LOAD || !(p.p_flags & PF_X))
            continue;
        if (p.p_filesz == 0) m->is_debug_only = true;
        m->segments[m->n_segments++] = (struct segment){p.p_offset, p.p_memsz, p.p_vaddr};
    }
}

static void read_build_id(struct module *m, Elf *elf) {
    const void *bits;
    ssize_t n = dwelf_elf_gnu_build_id(elf, &bits);
    for (ssize_t i = 0; i < n && i < 64; i++)
        (void)snprintf(m->build_id + 2 * i, 3, "%02x", ((const unsigned char *)bits)[i]);
}

struct module *module_open(const char *path, struct report_error *e) {
    static char *debug_path; /* libdwfl's own: .debug, /usr/lib/debug */
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = debug_file_find,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &debug_path,
    };
    int fd = regular_open(path);
    if (fd < 0) {
        (void)report_fail(e, -fd, "cannot open '%s': %s", path,
                          fd == -EINVAL ? "it is no ordinary file" : strerror(-fd));
        return NULL;
    }
    struct module *m = report_alloc(sizeof *m);
    m->dwfl = dwfl_begin(&callbacks);
    if (m->dwfl != NULL) m->dw = dwfl_report_offline(m->dwfl, path, path, fd);
    if (m->dw == NULL) (void)close(fd); /* else it is libdwfl's */
    if (m->dw != NULL) (void)dwfl_report_end(m->dwfl, NULL, NULL);
    Dwarf_Addr bias = 0;
    Elf *elf = m->dw ? dwfl_module_getelf(m->dw, &bias) : NULL;
    if (elf == NULL) {
        (void)report_fail(e, EINVAL, "cannot read '%s': %s", path, dwfl_errmsg(-1));
        module_close(m);
        return NULL;
    }
    if (debug_file_is_bomb(elf)) {
        (void)report_fail(e, EFBIG, "cannot read '%s': its packed sections are no debug data",
                          path);
        module_close(m);
        return NULL;
    }
    m->elf_bias = bias;
    read_segments(m, elf);
    read_build_id(m, elf);
    return m;
}

/* It has no file: a copy of it becomes one, for as long as it takes to open it. */
struct module *module_open_vdso(void) {
    const Elf64_Ehdr *image = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
    struct report_error ignored;
    struct module *m = NULL;
    char path[64];
    if (image == NULL || image->e_ident[EI_CLASS] != ELFCLASS64) return NULL;
    size_t n = image->e_shoff + (size_t)image->e_shnum * image->e_shentsize; /* they come last */
    int fd = memfd_create("vdso", MFD_CLOEXEC);
    if (fd < 0) return NULL;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, image, n) == (ssize_t)n) m = module_open(path, &ignored);
    (void)close(fd);
    return m;
}

void module_close(struct module *m) {
    if (m == NULL) return;
    for (uint32_t i = 0; i < m->n_units; i++) {
        struct unit *u = &m->units[i];
        for (uint32_t k = 0; k < u->n_scoped; k++) free(u->scoped[k].name);
        for (uint32_t k = 0; k < u->n_lambdas; k++) free(u->lambdas[k].place);
        if (u->n_lambdas > 0) index_free(&u->by_place);
        free(u->scoped);
        free(u->lambdas);
        free(u->functions.all);
        free(u->dies);
    }
    free(m->units);
    free(m->unit_ranges.all);
    free(m->names);
    free(m->symbols.all);
    if (m->dwfl) dwfl_end(m->dwfl);
    free(m);
}

const char *module_path(const struct module *m) {
    return dwfl_module_info(m->dw, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}

const char *module_build_id(const struct module *m) { return m->build_id; }

bool module_is_fixed(const struct module *m) { return m->is_fixed; }

static uint64_t page_down(uint64_t x) { return x & ~(uint64_t)(OS_PAGE - 1); }
static uint64_t page_up(uint64_t x) { return page_down(x + OS_PAGE - 1); }

bool module_fits(const struct module *m, uint64_t offset, uint64_t n_bytes) {
    for (uint32_t i = 0; i < m->n_segments; i++) {
        const struct segment *s = &m->segments[i];
        uint64_t begin = page_down(s->offset), end = page_up(s->offset + s->n_bytes);
        if (offset == begin && n_bytes == end - begin) return true;
        /* a part of a segment, when something was mapped over the rest */
        if (offset > begin && offset < end && n_bytes <= end - offset) return true;
    }
    return false;
}

bool module_address(const struct module *m, uint64_t offset, uint64_t *address) {
    for (uint32_t i = 0; i < m->n_segments; i++) {
        const struct segment *s = &m->segments[i];
        if (offset < page_down(s->offset) || offset >= page_up(s->offset + s->n_bytes)) continue;
        *address = s->address + (offset - s->offset);
        return true;
    }
    return false;
}

void module_place(struct module *m, uint64_t offset, uint64_t n_bytes) {
    if (!m->is_debug_only) return;
    for (uint32_t i = 0; i < m->n_segments; i++) {
        struct segment *s = &m->segments[i];
        uint64_t begin = page_down(s->address);
        if (page_up(s->address + s->n_bytes) - begin == n_bytes)
            s->offset = offset + (s->address - begin);
    }
}

bool module_segment(const struct module *m, uint64_t address, uint64_t n_bytes, uint64_t *offset) {
    for (uint32_t i = 0; i < m->n_segments; i++) {
        const struct segment *s = &m->segments[i];
        if (s->address != address || s->n_bytes != n_bytes) continue;
        *offset = s->offset;
        return true;
    }
    return false;
}

/* ---- DWARF */

static void add_die_ranges(struct ranges *r, Dwarf_Die *die, uint32_t what) {
    Dwarf_Addr base, low, high;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) range_add(r, low, high, what);
}

/* The .dwo file that has the rest of a unit. */
static const char *split_name(Dwarf_Die *die) {
    Dwarf_Attribute a;
    const char *name = NULL;
    if (dwarf_attr(die, DW_AT_dwo_name, &a) || dwarf_attr(die, DW_AT_GNU_dwo_name, &a))
        name = dwarf_formstring(&a);
    return name ? name : "?";
}

static void know_units(struct module *m) {
    m->has_units = true;
    Dwarf_Die *die = NULL;
    Dwarf_Addr bias = 0;
    while ((die = dwfl_module_nextcu(m->dw, die, &bias)) != NULL) {
        m->dwarf_bias = bias;
        uint32_t what = m->n_units;
        Dwarf_Die split = {0};
        uint8_t kind = 0;
        bool may_split = debug_file_may_split(die, module_path(m));
        bool is_skeleton = dwarf_cu_info(die->cu, NULL, &kind, NULL, may_split ? &split : NULL,
                                         NULL, NULL, NULL) == 0 &&
                           kind == DW_UT_skeleton;
        bool is_split = is_skeleton && split.addr != NULL;
        if (is_skeleton && !is_split && m->missing == NULL) m->missing = split_name(die);
        *REPORT_PUSH(m->units, m->n_units, m->cap_units) =
            (struct unit){.die = is_split ? split : *die, .line = *die};
        add_die_ranges(&m->unit_ranges, die, what);
    }
    range_sort(&m->unit_ranges);
}

#define MAX_NESTING 64 /* of scopes; damaged DWARF may have no end */

static void add_scoped(struct unit *u, Dwarf_Die *die, const char *scope) {
    const char *name = dwarf_diename(die);
    char *full = NULL;
    if (name == NULL || dwarf_hasattr(die, DW_AT_linkage_name)) return;
    if (asprintf(&full, "%s::%s", scope, name) < 0) report_no_memory();
    *REPORT_PUSH(u->scoped, u->n_scoped, u->cap_scoped) =
        (struct scoped){dwarf_dieoffset(die), full};
}

static void collect_functions(struct unit *u, Dwarf_Die *parent, const char *scope, unsigned depth);
static uint32_t die_number(Dwarf_Die *die, unsigned attribute);
static const char *die_file(Dwarf_Die *die, unsigned name);

/* A class without a name, or with one that only tells the parameters, that can be called. */
static bool is_lambda(Dwarf_Die *die) {
    Dwarf_Die member;
    const char *class = dwarf_diename(die);
    if (class != NULL && strncmp(class, "<lambda", 7) != 0) return false;
    if (dwarf_tag(die) == DW_TAG_namespace || dwarf_child(die, &member) != 0) return false;
    do {
        const char *name = dwarf_diename(&member);
        if (name && strcmp(name, "operator()") == 0) return true;
    } while (dwarf_siblingof(&member, &member) == 0);
    return false;
}

static uint64_t hash_text(const char *text) { return hash_bytes(text, strlen(text)); }

static uint64_t hash_place(const void *lambdas, uint32_t id) {
    return hash_text(((const struct lambdas *)lambdas)[id].place);
}

/* One more lambda of this place, which is taken: gives all of it. */
static const struct lambdas *count_lambda(struct unit *u, char *place) {
    if (u->n_lambdas == 0) index_init(&u->by_place);
    uint32_t *slot = index_first(&u->by_place, hash_text(place));
    for (; *slot != INDEX_FREE; slot = index_next(&u->by_place, slot)) {
        struct lambdas *known = &u->lambdas[*slot];
        if (strcmp(known->place, place) != 0) continue;
        free(place);
        known->n++;
        return known;
    }
    *slot = u->n_lambdas;
    struct lambdas *l = REPORT_PUSH(u->lambdas, u->n_lambdas, u->cap_lambdas);
    *l = (struct lambdas){place, 1};
    index_added(&u->by_place, hash_place, u->lambdas);
    return l;
}

/* "around::{lambda file:line:column"; NULL: it is not known. malloc'ed. */
static char *place_of_lambda(const struct unit *u, Dwarf_Die *die) {
    const char *file = die_file(die, DW_AT_decl_file), *slash = file ? strrchr(file, '/') : NULL;
    uint32_t line = die_number(die, DW_AT_decl_line);
    const char *around = u->around ? u->around : "";
    char *place = NULL, column[16] = "";
    if (file == NULL || line == 0) return NULL;
    uint32_t number = die_number(die, DW_AT_decl_column);
    if (number > 0) (void)snprintf(column, sizeof column, ":%u", number);
    if (asprintf(&place, "%s%s" LAMBDA "%s:%u%s", around, *around ? "::" : "",
                 slash ? slash + 1 : file, line, column) < 0)
        report_no_memory();
    return place;
}

/* Many lambdas of a function look alike; where they are does not. From the second of one place on they have a number. malloc'ed. */
static char *name_of_lambda(struct unit *u, Dwarf_Die *die) {
    static const char unknown[] = "{lambda}";
    char *place = place_of_lambda(u, die), *name = NULL, number[16] = "";
    if (place == NULL) return report_copy(unknown, sizeof unknown - 1);
    const struct lambdas *same = count_lambda(u, place);
    if (same->n > 1) (void)snprintf(number, sizeof number, "#%u", same->n);
    if (asprintf(&name, "%s%s}", same->place, number) < 0) report_no_memory();
    return name;
}

/* What a namespace or class without a name is called. */
static const char *name_of_unnamed(Dwarf_Die *die) {
    return dwarf_tag(die) == DW_TAG_namespace ? "(anonymous namespace)" : "{unnamed}";
}

/* A namespace or class: its name goes in front of what is in it. */
static void collect_in_scope(struct unit *u, Dwarf_Die *die, const char *scope, unsigned depth) {
    char *full = NULL, *lambda = is_lambda(die) ? name_of_lambda(u, die) : NULL;
    const char *name = lambda ? lambda : dwarf_diename(die);
    if (name == NULL) name = name_of_unnamed(die);
    if (asprintf(&full, "%s%s%s", scope, *scope ? "::" : "", name) < 0) report_no_memory();
    collect_functions(u, die, full, depth);
    free(full);
    free(lambda);
}

/* Members of local classes. */
static void collect_inside(struct unit *u, Dwarf_Die *function, unsigned depth) {
    const char *before = u->around;
    u->around = dwarf_diename(function);
    collect_functions(u, function, "", depth);
    u->around = before;
}

static void collect_functions(struct unit *u, Dwarf_Die *parent, const char *scope,
                              unsigned depth) {
    Dwarf_Die die;
    if (depth > MAX_NESTING || dwarf_child(parent, &die) != 0) return;
    do {
        switch (dwarf_tag(&die)) {
        case DW_TAG_subprogram:
            if (*scope) add_scoped(u, &die, scope);
            if (dwarf_hasattr(&die, DW_AT_low_pc) || dwarf_hasattr(&die, DW_AT_ranges)) {
                add_die_ranges(&u->functions, &die, u->n_dies);
                *REPORT_PUSH(u->dies, u->n_dies, u->cap_dies) = die;
            }
            collect_inside(u, &die, depth + 1);
            break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type: collect_in_scope(u, &die, scope, depth + 1); break;
        case DW_TAG_lexical_block: collect_functions(u, &die, scope, depth + 1); break;
        default: break;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
}

static void know_functions(struct unit *u) {
    u->is_known = true;
    collect_functions(u, &u->die, "", 0);
    range_sort(&u->functions);
}

static int by_offset(const void *a, const void *b) {
    const struct scoped *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The name with its scopes, found at the DIE where the function is declared. */
static const char *scoped_name(const struct unit *u, Dwarf_Die *die) {
    Dwarf_Die origin = *die;
    Dwarf_Attribute a;
    for (unsigned steps = 0; steps < 4; steps++) {
        struct scoped key = {.offset = dwarf_dieoffset(&origin)};
        const struct scoped *found =
            u->n_scoped ? bsearch(&key, u->scoped, u->n_scoped, sizeof key, by_offset) : NULL;
        if (found) return found->name;
        if (dwarf_attr(&origin, DW_AT_abstract_origin, &a) == NULL &&
            dwarf_attr(&origin, DW_AT_specification, &a) == NULL)
            break;
        if (dwarf_formref_die(&a, &origin) == NULL) break;
    }
    return dwarf_diename(die);
}

static const char *die_name(const struct unit *u, Dwarf_Die *die) {
    Dwarf_Attribute a;
    const char *name = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a))
        name = dwarf_formstring(&a);
    return name ? name : scoped_name(u, die);
}

static uint32_t die_number(Dwarf_Die *die, unsigned attribute) {
    Dwarf_Attribute a;
    Dwarf_Word value;
    if (dwarf_attr_integrate(die, attribute, &a) == NULL || dwarf_formudata(&a, &value) != 0)
        return 0;
    return value <= INT32_MAX ? (uint32_t)value : 0;
}

/* The source that an attribute numbers. dwarf_decl_file() is not for units in .dwo files: it asserts that they have lines. */
static const char *die_file(Dwarf_Die *die, unsigned name) {
    Dwarf_Attribute a;
    Dwarf_Word number;
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t n;
    if (dwarf_attr_integrate(die, name, &a) == NULL || dwarf_formudata(&a, &number) != 0 ||
        dwarf_cu_info(a.cu, NULL, NULL, &unit, NULL, NULL, NULL, NULL) != 0 ||
        dwarf_getsrcfiles(&unit, &files, &n) != 0 || number >= n)
        return NULL;
    return dwarf_filesrc(files, number, NULL, NULL);
}

/* Where in the source a frame is; 0 for what is not known. */
struct spot {
    const char *file;
    uint32_t line, column;
};

static void know_symbols(struct module *m);

/* The linker's name of a lambda tells its number; it is a symbol where the lambda was compiled by itself, not only into its
 * callers. NULL: it was not. */
static const char *symbol_of_lambda(struct module *m, const struct unit *u, Dwarf_Die *die) {
    Dwarf_Die wanted = *die;
    Dwarf_Attribute a;
    if (dwarf_attr(die, DW_AT_abstract_origin, &a) && !dwarf_formref_die(&a, &wanted)) return NULL;
    if (!m->has_symbols) know_symbols(m);
    for (uint32_t i = 0; i < u->n_dies; i++) {
        Dwarf_Die compiled = u->dies[i], origin = compiled;
        Dwarf_Addr entry;
        if (dwarf_attr(&compiled, DW_AT_abstract_origin, &a) && !dwarf_formref_die(&a, &origin))
            continue;
        if (dwarf_dieoffset(&origin) != dwarf_dieoffset(&wanted) ||
            dwarf_lowpc(&compiled, &entry) != 0)
            continue;
        const struct range *r = range_find(&m->symbols, entry - m->elf_bias + m->dwarf_bias);
        if (r && r->low == entry - m->elf_bias + m->dwarf_bias &&
            name_is_mangled(m->names[r->what]))
            return m->names[r->what];
    }
    return NULL;
}

static const char *frame_name(struct module *m, const struct unit *u, Dwarf_Die *die) {
    const char *name = die_name(u, die);
    const char *symbol = name && strstr(name, LAMBDA) ? symbol_of_lambda(m, u, die) : NULL;
    return symbol ? symbol : name;
}

static void set_frame(struct module *m, const struct unit *u, struct module_frame *f,
                      Dwarf_Die *die, struct spot spot) {
    const char *name = frame_name(m, u, die), *file = die_file(die, DW_AT_decl_file);
    if (file == NULL) file = spot.file; /* a lambda is declared nowhere */
    *f = (struct module_frame){.name = name ? name : "",
                               .file = file ? file : "",
                               .line = spot.line,
                               .column = spot.column,
                               .start_line = die_number(die, DW_AT_decl_line)};
}

/* The inlined calls at `address` below `function`, outermost first. */
static uint32_t find_inlined(Dwarf_Die *function, uint64_t address, Dwarf_Die *inlined,
                             uint32_t max) {
    uint32_t n = 0;
    Dwarf_Die scope = *function, die;
    for (unsigned depth = 0; depth < MAX_NESTING && dwarf_child(&scope, &die) == 0; depth++) {
        bool goes_down = false;
        do {
            int tag = dwarf_tag(&die);
            if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) continue;
            if (dwarf_haspc(&die, address) <= 0) continue;
            goes_down = true;
            break;
        } while (dwarf_siblingof(&die, &die) == 0);
        if (!goes_down) break;
        if (dwarf_tag(&die) == DW_TAG_inlined_subroutine && n < max) inlined[n++] = die;
        scope = die;
    }
    return n;
}

static struct spot spot_at(Dwarf_Die *unit, uint64_t address) {
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    int number = 0, column = 0;
    const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (line == NULL || dwarf_lineno(line, &number) != 0) return (struct spot){0};
    if (dwarf_linecol(line, &column) != 0 || column < 0) column = 0;
    return (struct spot){file, number > 0 ? (uint32_t)number : 0, (uint32_t)column};
}

/* The function around an address of the DWARF, and its unit; NULL when there is none. */
static const struct range *function_at(struct module *m, uint64_t address, struct unit **unit) {
    const struct range *r = range_find(&m->unit_ranges, address);
    if (r == NULL) return NULL;
    *unit = &m->units[r->what];
    if (!(*unit)->is_known) know_functions(*unit);
    return range_find(&(*unit)->functions, address);
}

static uint64_t dwarf_address(struct module *m, uint64_t linked) {
    if (!m->has_units) know_units(m);
    return linked + m->elf_bias - m->dwarf_bias;
}

static uint32_t find_in_dwarf(struct module *m, uint64_t linked, struct module_frame *frames,
                              uint32_t max) {
    Dwarf_Die inlined[MAX_NESTING];
    uint64_t address = dwarf_address(m, linked);
    struct unit *u;
    const struct range *r = function_at(m, address, &u);
    if (r == NULL) return 0;
    Dwarf_Die *function = &u->dies[r->what];
    uint32_t n_inlined =
        find_inlined(function, address, inlined, max - 1 < MAX_NESTING ? max - 1 : MAX_NESTING);
    struct spot spot = spot_at(&u->line, address);
    uint32_t n = 0;
    for (uint32_t i = n_inlined; i > 0; i--) {
        set_frame(m, u, &frames[n++], &inlined[i - 1], spot);
        spot = (struct spot){.file = die_file(&inlined[i - 1], DW_AT_call_file),
                             .line = die_number(&inlined[i - 1], DW_AT_call_line),
                             .column = die_number(&inlined[i - 1], DW_AT_call_column)};
    }
    set_frame(m, u, &frames[n++], function, spot);
    return n;
}

/* ---- the symbol table */

/* Of several names for one place: the global one, then the shorter, then the first by alphabet. */
static bool is_better(const char *name, bool is_global, const char *old, bool old_is_global) {
    if (is_global != old_is_global) return is_global;
    size_t n = strlen(name), n_old = strlen(old);
    return n != n_old ? n < n_old : strcmp(name, old) < 0;
}

struct candidate {
    uint64_t low, high;
    const char *name;
    bool is_global;
};

static int by_place(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->name == y->name) return 0;
    return is_better(x->name, x->is_global, y->name, y->is_global) ? -1 : 1;
}

static void know_symbols(struct module *m) {
    m->has_symbols = true;
    int n = dwfl_module_getsymtab(m->dw);
    if (n <= 0) return;
    struct candidate *all = report_alloc((size_t)n * sizeof *all);
    uint32_t n_all = 0;
    for (int i = 1; i < n; i++) {
        GElf_Sym sym;
        GElf_Addr address;
        GElf_Word section;
        Elf *elf;
        Dwarf_Addr bias;
        const char *name = dwfl_module_getsym_info(m->dw, i, &sym, &address, &section, &elf, &bias);
        unsigned type = GELF_ST_TYPE(sym.st_info);
        if (name == NULL || *name == '\0' || section == SHN_UNDEF || sym.st_size == 0) continue;
        if (type != STT_FUNC && type != STT_GNU_IFUNC) continue;
        address -= m->elf_bias;
        all[n_all++] = (struct candidate){address, address + sym.st_size, name,
                                          GELF_ST_BIND(sym.st_info) != STB_LOCAL};
    }
    if (n_all > 0) qsort(all, n_all, sizeof *all, by_place);
    for (uint32_t i = 0; i < n_all; i++) {
        if (i > 0 && all[i].low == all[i - 1].low) continue;
        range_add(&m->symbols, all[i].low, all[i].high, m->n_names);
        *REPORT_PUSH(m->names, m->n_names, m->cap_names) = all[i].name;
    }
    free(all);
    range_sort(&m->symbols);
}

static const char *symbol_at(struct module *m, uint64_t address) {
    if (!m->has_symbols) know_symbols(m);
    const struct range *r = range_find(&m->symbols, address);
    return r ? m->names[r->what] : NULL;
}

static bool has_full_table(Elf *elf) {
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while (elf && (section = elf_nextscn(elf, section)) != NULL)
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB) return true;
    return false;
}

enum module_names module_names(struct module *m) {
    Dwarf_Addr bias;
    if (!m->has_units) know_units(m);
    Dwarf *dwarf = dwfl_module_getdwarf(m->dw, &bias);
    if (m->n_units > 0 || has_full_table(dwfl_module_getelf(m->dw, &bias)) ||
        (dwarf && has_full_table(dwarf_getelf(dwarf))))
        return MODULE_ALL;
    if (!m->has_symbols) know_symbols(m);
    return m->symbols.n > 0 ? MODULE_EXPORTED : MODULE_NOTHING;
}

/* The source of an address whose function only the symbol table knows: assembler, or a unit whose .dwo file is missing. */
static struct spot spot_of(struct module *m, uint64_t linked) {
    uint64_t address = dwarf_address(m, linked);
    const struct range *r = range_find(&m->unit_ranges, address);
    return r ? spot_at(&m->units[r->what].line, address) : (struct spot){0};
}

const char *module_missing(struct module *m) {
    if (!m->has_units) know_units(m);
    return m->missing;
}

uint32_t module_find(struct module *m, uint64_t address, struct module_frame *frames,
                     uint32_t max) {
    uint32_t n = find_in_dwarf(m, address, frames, max);
    if (n > 0 && name_is_mangled(frames[n - 1].name)) return n;
    /* C++ without linkage names, assembler, or no DWARF at all */
    const char *symbol = symbol_at(m, address);
    if (n > 0) {
        bool is_full = symbol && (name_is_mangled(symbol) || frames[n - 1].name[0] == '\0');
        if (is_full) frames[n - 1].name = symbol;
        return n;
    }
    if (symbol == NULL) return 0;
    struct spot spot = spot_of(m, address);
    frames[0] = (struct module_frame){.name = symbol,
                                      .file = spot.file ? spot.file : "",
                                      .line = spot.line,
                                      .column = spot.column};
    return 1;
}

/* ---- code */

uint32_t module_last_line(struct module *m, uint64_t linked, const char *file) {
    uint64_t address = dwarf_address(m, linked);
    struct unit *u;
    const struct range *r = function_at(m, address, &u);
    Dwarf_Lines *lines;
    size_t n;
    uint32_t last = 0;
    if (r == NULL || dwarf_getsrclines(&u->line, &lines, &n) != 0) return 0;
    for (size_t i = 0; i < n; i++) {
        Dwarf_Line *line = dwarf_onesrcline(lines, i);
        Dwarf_Addr at;
        int number;
        bool is_end = false;
        if (dwarf_lineaddr(line, &at) != 0 || at < r->low || at >= r->high) continue;
        if (dwarf_lineendsequence(line, &is_end) != 0 || is_end ||
            dwarf_lineno(line, &number) != 0 || number <= (int)last)
            continue;
        const char *source = dwarf_linesrc(line, NULL, NULL);
        if (source && strcmp(source, file) == 0) last = (uint32_t)number;
    }
    return last;
}

unsigned module_machine(const struct module *m) { return m->machine; }

bool module_range(struct module *m, uint64_t address, uint64_t *low, uint64_t *high) {
    uint64_t there = dwarf_address(m, address);
    struct unit *u;
    const struct range *r = function_at(m, there, &u);
    if (r == NULL) {
        there = address;
        if (!m->has_symbols) know_symbols(m);
        r = range_find(&m->symbols, address);
    }
    if (r == NULL) return false;
    *low = r->low + (address - there);
    *high = r->high + (address - there);
    return true;
}

const unsigned char *module_code(struct module *m, uint64_t low, uint64_t high) {
    Dwarf_Addr bias;
    size_t n_file = 0;
    Elf *elf = dwfl_module_getelf(m->dw, &bias);
    const char *file = elf ? elf_rawfile(elf, &n_file) : NULL;
    for (uint32_t i = 0; file && i < m->n_segments; i++) {
        const struct segment *s = &m->segments[i];
        if (low < s->address || high < low || high - s->address > s->n_bytes) continue;
        uint64_t offset = s->offset + (low - s->address);
        if (offset > n_file || high - low > n_file - offset) return NULL;
        return (const unsigned char *)file + offset;
    }
    return NULL;
}
