/* box_files.c - see box_files.h. Climate: cli. */
#include "cli/box_files.h"

#include "report/symbols.h"

const char *const box_endings[BOX_N_KINDS] = {".heap", ".peak.heap", ".cpu"};
const char *const box_words[BOX_N_KINDS] = {"heap", "peak", "CPU"};

int box_write(struct profile *p, const char *path, const struct settings *s) {
    struct settings to = {.output = path};
    struct symbols_options so = symbols_from(s);
    if (!s->no_symbols) symbols_resolve(p, &so);
    FILE *out = output_open(&to);
    if (out == NULL) return EXIT_COULD_NOT;
    (void)profile_write_proto(p, out); /* who closes it looks at ferror() */
    return output_close(&to, out);
}

void box_say_notes(const struct profile *p, enum box_kind kind) {
    for (uint32_t i = 0; kind != BOX_PEAK && i < p->n_notes; i++)
        say_warning("%s", profile_text(p, p->notes[i]));
}
