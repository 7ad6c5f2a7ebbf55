/* profile.h - a profile in memory, whatever file it came from.
 *
 *   strings     text by number, each text once; 0 is ""
 *   types       what the values of a sample mean: inuse_space/bytes, cpu/nanoseconds ...
 *   mappings    which file lay where in the process
 *   functions   name, mangled name, file
 *   locations   an address, and when it is known the functions there: lines, innermost inlined first
 *   stacks      runs of locations in one array, leaf first, each stack once
 *   samples     a stack, one value per type, labels
 *
 *     samples[7].stack = 3 ---> stacks[3] = {first 40, n 2} ---> frames[40..41] = 12, 5 (locations)
 *     values[7 * n_types + type]                                 locations[12].first_line ---> lines
 *
 * Everything is an index of 32 bits into an array that only grows. A location's address lies inside the
 * instruction it names: readers of files with return addresses have taken one off. Values are doubles
 * because un-sampling gives fractions, and the sum of thousands of them must be right; whole numbers
 * are exact up to 2^53.
 *
 * Climate: cli.   Owns: all its arrays, freed by profile_free().   One thread at a time.
 */
#ifndef REPORT_PROFILE_H
#define REPORT_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/memory.h"

#define PROFILE_NONE UINT32_MAX /* no mapping, no label ... */

/* What the old tools call it; decides units, columns and which frames belong to the allocator. */
enum profile_kind {
    PROFILE_OTHER,
    PROFILE_HEAP,
    PROFILE_GROWTH,
    PROFILE_CPU,
    PROFILE_CONTENTION,
};

/* Where a file of the kind that was read keeps names: nowhere, in itself, or behind its text (kept_names.h). */
enum profile_keeps { KEEPS_NO_NAMES, KEEPS_NAMES_INSIDE, KEEPS_NAMES_BEHIND };

struct profile_type {
    uint32_t name, unit; /* strings */
};

struct profile_mapping {
    uint64_t start, limit, offset; /* [start, limit) of the process shows the file from offset on */
    uint32_t file, build_id; /* strings; build_id in hexadecimal, "" when the profile has none */
    bool has_functions;      /* symbols came with the profile: do not look for others */
    /* "FILE (deleted)", a string: the file had no name any more, and what is there now is another one; 0: it had one */
    uint32_t deleted_as;
    bool is_linked; /* offset is the address as linked, until symbols_resolve() has seen the file */
};

struct profile_function {
    uint32_t name, system_name, file; /* strings: as people read it, as the linker does, source */
    uint32_t start_line;
};

struct profile_line {
    uint32_t function, line, column; /* 0: unknown */
};

struct profile_location {
    uint64_t address;
    uint32_t mapping;             /* or PROFILE_NONE */
    uint32_t first_line, n_lines; /* n_lines 0: not symbolized, or nothing known */
};

struct profile_stack {
    uint32_t first, n; /* in frames[], leaf first */
};

struct profile_label {
    uint32_t key, text, unit; /* strings; text 0 means that number counts */
    int64_t number;
};

struct profile_sample {
    uint32_t stack, first_label, n_labels;
};

struct profile_text {
    uint32_t at, n; /* in string_bytes */
};

struct profile {
    enum profile_kind kind;
    enum profile_keeps keeps;
    unsigned
        heap_version; /* of gperftools' heap samples: 1 or 2, by which rule they were scaled; else 0 */
    bool is_difference;      /* something was subtracted: values may be below zero */
    uint32_t n_label_leaves; /* so many frames at each stack's leaf are labels: label_frames.h */
    /* how many frames all its stacks may have, and the nodes of a view of them: intake.h; UINT64_MAX: any number */
    uint64_t max_frames;
    uint32_t default_type; /* which of the types a view shows unless told */
    struct profile_type period_type;
    int64_t period, time_ns, duration_ns; /* 0: unknown */
    uint32_t drop_frames,
        keep_frames; /* strings: regexps of functions to cut off, see profile_prune() */

    struct profile_type *types;
    struct profile_mapping *mappings;
    struct profile_function *functions;
    struct profile_location *locations;
    struct profile_line *lines;
    struct profile_stack *stacks;
    uint32_t *frames;
    struct profile_sample *samples;
    double *values; /* n_samples * n_types */
    /* squares of the values' standard errors, as many as values; or none: all is exact (estimate.h) */
    double *variances;
    double *
        base_totals; /* by type, where shares are of what was subtracted: its absolute sum; or NULL */
    struct profile_label *labels;
    uint32_t *comments; /* strings */
    uint32_t *notes;    /* strings: what a user should know about this data, one line each */
    struct profile_text *strings;
    char *string_bytes;

    uint32_t n_types, n_mappings, n_functions, n_locations, n_lines, n_stacks, n_frames, n_samples,
        n_values, n_variances, n_labels, n_comments, n_notes, n_strings, n_string_bytes;
    /* room in the arrays above */
    uint32_t cap_types, cap_mappings, cap_functions, cap_locations, cap_lines, cap_stacks,
        cap_frames, cap_samples, cap_values, cap_variances, cap_labels, cap_comments, cap_notes,
        cap_strings, cap_string_bytes;
    /* what is there already */
    struct index string_index, function_index, location_index, stack_index;
};

struct profile *profile_new(void);
void profile_free(struct profile *p);
/* Every index is in range, every sample has its values. For tests and after reading foreign files. */
bool profile_is_valid(const struct profile *p);

/* ---- strings */
uint32_t profile_string(struct profile *p, const char *text); /* NUL-terminated */
uint32_t profile_string_n(struct profile *p, const char *text, size_t n);
/* NUL-terminated; good until the next string is added. */
static inline const char *profile_text(const struct profile *p, uint32_t id) {
    return p->string_bytes + p->strings[id].at;
}
__attribute__((format(printf, 2, 3))) void profile_note(struct profile *p, const char *format, ...);

/* ---- what is missing in it, one line each; among the comments, so who reads the file knows it, too */
#define PROFILE_MAX_GAPS 8
void profile_add_gap(struct profile *p, const char *text); /* each once; PROFILE_MAX_GAPS at most */
const char *profile_gap(const struct profile *p, uint32_t number); /* from 0 on; NULL: no more */
static inline bool profile_is_whole(const struct profile *p) { return profile_gap(p, 0) == NULL; }

/* ---- adding; each gives the index of what was there already or is there now */
uint32_t profile_add_type(struct profile *p, const char *name, const char *unit); /* always new */
uint32_t profile_add_mapping(struct profile *p, const struct profile_mapping *m); /* always new */
/* By the name that the kernel writes, which may end in " (deleted)"; and that name again, for those who need it. */
void mapping_set_name(struct profile *p, struct profile_mapping *m, uint32_t name);
static inline uint32_t mapping_name(const struct profile_mapping *m) {
    return m->deleted_as && m->build_id == 0 ? m->deleted_as : m->file;
}
uint32_t profile_add_function(struct profile *p, const struct profile_function *f);
/* By mapping and address. The lines of a new one are empty; set them with profile_set_lines(). */
uint32_t profile_add_location(struct profile *p, uint32_t mapping, uint64_t address);
/* A location that has names and no address (collapsed stacks): address 0, told apart by its lines. */
uint32_t profile_add_named(struct profile *p, uint32_t mapping, const struct profile_line *lines,
                           uint32_t n);
void profile_set_lines(struct profile *p, uint32_t location, const struct profile_line *lines,
                       uint32_t n);
/* At the same place as another location, with other lines. */
uint32_t profile_add_beside(struct profile *p, uint32_t location, const struct profile_line *lines,
                            uint32_t n);
uint32_t profile_add_stack(struct profile *p, const uint32_t *locations, uint32_t n);
/* values[n_types] */
void profile_add_sample(struct profile *p, uint32_t stack, const double *values);
void profile_add_label(struct profile *p, const struct profile_label *l); /* to the last sample */
bool profile_has_label(const struct profile *p, uint32_t sample, const char *key);

/* ---- as a whole */
/* Gives each location without a mapping the one that its address lies in. */
void profile_locate(struct profile *p);
/* Adds the samples of `from`, each value times `factor` (-1 subtracts). Locations meet by file and
 * offset, not by address: two runs of one program at different addresses are the same. Types meet by
 * name; -1 when the two have none in common, then nothing was added. */
int profile_merge(struct profile *p, const struct profile *from, double factor);
/* A type by its name; "inuse_space" finds "space" too. PROFILE_NONE: there is none. */
uint32_t profile_find_type(const struct profile *p, const char *name);
/* "inuse_waste" and "alloc_waste" are what blocks have above what was asked for. Makes the type of "inuse_class_space" when
 * there is that; other names, and profiles without it, stay as they are. */
void profile_make_waste(struct profile *p, const char *name);
/* Drops the samples that are not; the rest stays. */
void profile_keep_samples(struct profile *p, const bool *is_kept);
/* A profile of these samples, in this order, and of what they need; it is as large as that, however large `p` is. */
struct profile *profile_part(const struct profile *p, const uint32_t *samples, uint32_t n);
double profile_total(const struct profile *p, uint32_t type);

/* ---- how good the values are */
/* One for each value; those that are not there yet are 0. */
void profile_add_variances(struct profile *p);
static inline double profile_variance(const struct profile *p, uint32_t sample, uint32_t type) {
    return p->n_variances ? p->variances[(size_t)sample * p->n_types + type] : 0;
}
double profile_total_variance(const struct profile *p, uint32_t type);
/* Multiplies all values of a type. */
void profile_scale(struct profile *p, uint32_t type, double factor);

#endif
