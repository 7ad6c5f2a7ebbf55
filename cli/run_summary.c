/* run_summary.c - see run_summary.h. All amounts are in bytes, nanoseconds or counts, as the profiles have them. Climate: cli. */
#include "cli/run_summary.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "report/text.h"

#define N_SITES 100

static void put_text(FILE *out, const char *key, const char *text) {
    (void)fprintf(out, ",\"%s\":", key);
    if (text)
        text_json(out, text);
    else
        (void)fputs("null", out);
}

static void put_number(FILE *out, const char *key, double number) {
    (void)fprintf(out, ",\"%s\":", key);
    json_number(out, number);
}

static void put_residence(FILE *out, const struct run *r) {
    static const char *const keys[] = {[RESIDENCE_HEAP] = "heap_bytes",
                                       [RESIDENCE_MAPPINGS] = "mapping_bytes",
                                       [RESIDENCE_STACKS] = "stack_bytes",
                                       [RESIDENCE_FILES] = "file_bytes",
                                       [RESIDENCE_TABLES] = "table_bytes"};
    const struct residence *e = &r->residence;
    if (e->pid == 0) return;
    (void)fprintf(out, ",\"resident\":{\"pid\":%d", (int)e->pid);
    put_text(out, "name", e->name);
    put_number(out, "seen_bytes", e->total);
    for (unsigned i = 0; i < RESIDENCE_PARTS; i++)
        if (i != RESIDENCE_HEAP || e->has_heap) put_number(out, keys[i], e->bytes[i]);
    (void)fputc('}', out);
}

void summary_begin(struct summary *m, const struct run *r, const struct settings *s) {
    *m = (struct summary){0};
    if (!s->json) return;
    m->out = open_memstream(&m->text, &m->n);
    if (m->out == NULL) report_no_memory();
    (void)fputs("{\"program\":", m->out);
    text_json(m->out, s->files[0]);
    (void)fputs(",\"arguments\":[", m->out);
    for (uint32_t i = 1; i < s->n_files; i++) {
        if (i > 1) (void)fputc(',', m->out);
        text_json(m->out, s->files[i]);
    }
    (void)fprintf(m->out, "],\"pid\":%d", (int)r->pid);
    if (WIFSIGNALED(r->ended))
        put_number(m->out, "signal", WTERMSIG(r->ended));
    else
        put_number(m->out, "status", WEXITSTATUS(r->ended));
    put_number(m->out, "seconds", r->seconds);
    put_number(m->out, "peak_resident_bytes", r->peak_resident_bytes);
    put_residence(m->out, r);
    (void)fputs(",\"before_exec\":[", m->out);
    for (uint32_t i = 0; i < r->n_before_exec; i++) {
        if (i > 0) (void)fputc(',', m->out);
        text_json(m->out, r->before_exec[i]);
    }
    (void)fputs("],\"probes\":[", m->out);
}

/* ,"total":{"inuse_space":N,...},"total_error":{"inuse_space":N,...}: the sums of all types, and how good they are. The program's own
 * mappings are exact, and apart. */
static void put_totals(FILE *out, const char *key, const struct profile *p, bool is_mapped) {
    for (unsigned turn = 0; turn < (p->n_variances > 0 && !is_mapped ? 2 : 1); turn++) {
        (void)fprintf(out, ",\"%s%s\":{", key, turn ? "_error" : "");
        for (uint32_t t = 0; t < p->n_types; t++) {
            if (t > 0) (void)fputc(',', out);
            text_json(out, profile_text(p, p->types[t].name));
            (void)fputc(':', out);
            json_number(out,
                        turn ? sqrt(profile_total_variance(p, t)) : run_total(p, t, is_mapped));
        }
        (void)fputc('}', out);
    }
}

void summary_add(struct summary *m, const struct summary_probe *p) {
    FILE *out = m->out;
    if (out == NULL) return;
    (void)fprintf(out, "%s\n{\"what\":\"%s\",\"pid\":%d", m->has_probe ? "," : "", p->what,
                  (int)p->pid);
    m->has_probe = true;
    if (p->figures) {
        put_totals(out, "total", p->figures, /* is_mapped */ false);
        if (p->has_mapped) put_totals(out, "mapped", p->figures, /* is_mapped */ true);
        put_number(out, "period", (double)p->figures->period);
    }
    if (p->is_peak) put_totals(out, "peak", p->shown->p, /* is_mapped */ false);
    put_text(out, "last_profile", p->last);
    put_text(out, "peak_profile", p->peak);
    put_text(out, "flame_graph", p->picture);
    put_number(out, "other_processes", p->n_others);
    put_number(out, "processes_left_out", p->n_left_out);
    (void)fputs(",\"over_time\":[", out);
    for (uint32_t i = 0; i < p->over_time->n; i++)
        (void)fprintf(out, "%s{\"seconds\":%.9g,\"inuse_space\":%.15g}", i ? "," : "",
                      p->over_time->all[i].seconds, p->over_time->all[i].value);
    (void)fputc(']', out);
    put_text(out, "sites_of", p->moment);
    (void)fputs(",\"sites\":", out);
    view_sites(p->shown,
               &(struct view_print){
                   .out = out, .form = TABLE_AS_JSON, .n_max = N_SITES, .has_errors = true});
    (void)fputc('}', out);
}

void summary_end(struct summary *m, const struct run *r) {
    char path[PATH_MAX];
    struct settings to = {.output = path};
    if (m->out == NULL) return;
    (void)fputs("\n]}\n", m->out);
    (void)fclose(m->out);
    (void)snprintf(path, sizeof path, "%s/%s.run.json", r->folder, r->name);
    FILE *out = output_open(&to);
    if (out != NULL) {
        (void)fwrite(m->text, 1, m->n, out);
        if (output_close(&to, out) == EXIT_FINE)
            (void)fprintf(stderr, "  %-16s %s\n", "summary", text_shown(path));
    }
    free(m->text);
}
