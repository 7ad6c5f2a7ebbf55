/* read_kept_names.c - names behind a text profile; kept_names.h has the layout. Climate: cli. */
#include "report/reader.h"

#include <stdlib.h>

#include "report/kept_names.h"

/* The byte that is spelled \xNN here; -1: none is. */
static int spelled_byte(const struct span_text *s) {
    if (s->end - s->at < 4 || s->at[0] != '\\' || s->at[1] != 'x') return -1;
    int high = hex_digit(s->at[2]), low = hex_digit(s->at[3]);
    return high >= 0 && low >= 0 ? high * 16 + low : -1;
}

/* Up to a tab or the end; goes behind it. Gives the string's number. */
static uint32_t take_name(struct profile *p, struct span_text *s) {
    char *name = report_alloc((size_t)(s->end - s->at) + 1);
    size_t n = 0;
    for (; s->at < s->end && *s->at != '\t'; s->at++) {
        int byte = spelled_byte(s);
        name[n++] = byte >= 0 ? (char)byte : *s->at;
        if (byte >= 0) s->at += 3;
    }
    if (s->at < s->end) s->at++;
    uint32_t id = profile_string_n(p, name, n);
    free(name);
    return id;
}

static bool take_number(struct span_text *s, uint32_t *out) {
    int64_t n;
    if (!span_number(s, &n) || n < 0 || n > INT32_MAX) return false;
    *out = (uint32_t)n;
    return true;
}

static void take_function(struct kept_names *k, struct profile *p, struct span_text s) {
    struct profile_function f = {0};
    if (!take_number(&s, &f.start_line) || !span_take(&s, " ")) f.start_line = 0;
    f.system_name = take_name(p, &s);
    f.name = take_name(p, &s);
    f.file = take_name(p, &s);
    uint32_t function = profile_add_function(p, &f);
    *REPORT_PUSH(k->functions, k->n_functions, k->cap_functions) = function;
}

static void take_place(struct kept_names *k, struct span_text s) {
    struct kept_place place = {.first = k->n_lines};
    if (!span_hex(&s, &place.address)) return;
    while (place.n < KEPT_MAX_INLINED && span_take(&s, " ")) {
        struct profile_line l = {0};
        if (!take_number(&s, &l.function) || !span_take(&s, ":") || !take_number(&s, &l.line) ||
            !span_take(&s, ":") || !take_number(&s, &l.column))
            return;
        if (l.function == 0 || l.function > k->n_functions) return;
        l.function = k->functions[l.function - 1];
        *REPORT_PUSH(k->lines, k->n_lines, k->cap_lines) = l;
        place.n++;
    }
    if (place.n > 0) *REPORT_PUSH(k->places, k->n_places, k->cap_places) = place;
}

static bool is_hex(struct span_text s) {
    for (const char *c = s.at; c < s.end; c++)
        if (hex_digit(*c) < 0) return false;
    return s.at < s.end;
}

static void take_build_id(struct kept_names *k, struct profile *p, struct span_text s) {
    struct kept_place id = {0};
    if (!span_hex(&s, &id.address) || !span_take(&s, " ") || !is_hex(s)) return;
    id.first = profile_string_n(p, s.at, (size_t)(s.end - s.at));
    *REPORT_PUSH(k->ids, k->n_ids, k->cap_ids) = id;
}

void kept_names_take(struct kept_names *k, struct profile *p, struct span_text line) {
    if (span_take(&line, "# build-id "))
        take_build_id(k, p, line);
    else if (span_take(&line, "# function "))
        take_function(k, p, line);
    else if (span_take(&line, "# place "))
        take_place(k, line);
}

static uint32_t mapping_at(const struct profile *p, uint64_t address) {
    for (uint32_t i = 0; i < p->n_mappings; i++)
        if (address >= p->mappings[i].start && address < p->mappings[i].limit) return i;
    return PROFILE_NONE;
}

void kept_names_apply(struct kept_names *k, struct profile *p) {
    for (uint32_t i = 0; i < k->n_ids; i++)
        for (uint32_t m = 0; m < p->n_mappings; m++)
            if (p->mappings[m].start == k->ids[i].address)
                p->mappings[m].build_id = k->ids[i].first;
    for (uint32_t i = 0; i < k->n_places; i++) {
        const struct kept_place *place = &k->places[i];
        uint32_t mapping = mapping_at(p, place->address);
        uint32_t location = profile_add_location(p, mapping, place->address);
        if (p->locations[location].n_lines > 0) continue;
        profile_set_lines(p, location, k->lines + place->first, place->n);
        if (mapping != PROFILE_NONE) p->mappings[mapping].has_functions = true;
    }
    free(k->functions);
    free(k->places);
    free(k->lines);
    free(k->ids);
    *k = (struct kept_names){0};
}
