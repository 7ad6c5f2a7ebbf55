/* label_frames.c - see label_frames.h. Climate: cli. */
#include "report/label_frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/table.h"

#define MAX_TEXT 4096

const char *label_text(const struct profile *p, const struct profile_label *l, char *out,
                       size_t n_bytes) {
    if (l->text) return profile_text(p, l->text);
    const char *unit = profile_text(p, l->unit ? l->unit : l->key);
    struct table_unit u = table_unit_for(unit, (double)l->number);
    if (u.suffix[0] != '\0')
        (void)snprintf(out, n_bytes, "%.*f%s", u.decimals, (double)l->number / u.divisor, u.suffix);
    else
        (void)snprintf(out, n_bytes, "%" PRId64 "%s%s", l->number, l->unit ? " " : "",
                       profile_text(p, l->unit));
    return out;
}

/* Keys of an option, the last first: the order of frames, which begin at the leaf. */
struct keys {
    struct {
        uint32_t key; /* string */
        bool is_seen; /* some sample has it */
    } * all;
    uint32_t n, cap;
};

static void read_keys(struct profile *p, const char *text, struct keys *k) {
    for (size_t n = text ? strlen(text) : 0; n > 0;) {
        size_t begin = n;
        while (begin > 0 && text[begin - 1] != ',') begin--;
        if (begin < n) {
            REPORT_ROOM(k->all, k->n, k->cap, 1);
            k->all[k->n].key = profile_string_n(p, text + begin, n - begin);
            k->all[k->n++].is_seen = false;
        }
        n = begin > 0 ? begin - 1 : 0;
    }
}

/* All values that the sample has for a key, with commas between; false when it has none. */
static bool values_of(const struct profile *p, const struct profile_sample *s, uint32_t key,
                      char *out, size_t n_bytes) {
    char number[96];
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_labels && n < n_bytes; i++) {
        const struct profile_label *l = &p->labels[s->first_label + i];
        if (l->key != key) continue;
        n += (size_t)snprintf(out + n, n_bytes - n, "%s%s", n ? "," : "",
                              label_text(p, l, number, sizeof number));
    }
    return n > 0;
}

static uint32_t frame_of(struct profile *p, const struct profile_sample *s, struct keys *k,
                         uint32_t i) {
    char text[MAX_TEXT];
    uint32_t key = k->all[i].key;
    if (values_of(p, s, key, text, sizeof text))
        k->all[i].is_seen = true;
    else
        (void)snprintf(text, sizeof text, "(no %.200s)", profile_text(p, key));
    struct profile_function f = {.name = profile_string(p, text), .file = key};
    struct profile_line line = {.function = profile_add_function(p, &f)};
    return profile_add_named(p, PROFILE_NONE, &line, 1);
}

static void note_unseen(struct profile *p, const struct keys *k) {
    for (uint32_t i = 0; i < k->n; i++)
        if (!k->all[i].is_seen) {
            char key[200];
            (void)snprintf(key, sizeof key, "%s", profile_text(p, k->all[i].key));
            profile_note(p, "no sample has a label '%s'", key);
        }
}

void profile_add_label_frames(struct profile *p, const char *roots, const char *leaves) {
    struct keys root = {0}, leaf = {0};
    uint32_t *frames = NULL, cap = 0;
    read_keys(p, roots, &root);
    read_keys(p, leaves, &leaf);
    for (uint32_t i = 0; root.n + leaf.n > 0 && i < p->n_samples; i++) {
        struct profile_sample s = p->samples[i];
        struct profile_stack stack = p->stacks[s.stack];
        uint32_t n = 0;
        REPORT_ROOM(frames, 0, cap, leaf.n + stack.n + root.n);
        for (uint32_t k = 0; k < leaf.n; k++) frames[n++] = frame_of(p, &s, &leaf, k);
        if (stack.n > 0) memcpy(frames + n, p->frames + stack.first, stack.n * sizeof *frames);
        n += stack.n;
        for (uint32_t k = 0; k < root.n; k++) frames[n++] = frame_of(p, &s, &root, k);
        p->samples[i].stack = profile_add_stack(p, frames, n);
    }
    p->n_label_leaves = leaf.n;
    note_unseen(p, &root);
    note_unseen(p, &leaf);
    free(frames);
    free(root.all);
    free(leaf.all);
}
