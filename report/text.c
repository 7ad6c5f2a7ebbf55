/* text.c - see text.h. Climate: cli. */
#include "report/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/memory.h"

#define TEXT_STEP 8 /* a spelled character with its NUL */

unsigned text_utf8_length(const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    unsigned n = s[0] < 0x80                   ? 1
                 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                 : (s[0] & 0xf0) == 0xe0       ? 3
                 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                               : 0;
    for (unsigned i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))) return 0;
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))) return 0;
    return n;
}

/* The code of the character of n bytes at s. */
static uint32_t code_of(const char *text, unsigned n) {
    const unsigned char *s = (const unsigned char *)text;
    if (n == 1) return s[0];
    uint32_t code = s[0] & (0x7fu >> n);
    for (unsigned i = 1; i < n; i++) code = code << 6 | (s[i] & 0x3fu);
    return code;
}

/* What a terminal would obey, what turns the order of the text around it, what ends a line, what XML forbids. */
static bool is_wild(uint32_t code) {
    static const uint32_t ranges[][2] = {
        {0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200e, 0x200f},
        {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfffe, 0xffff},
    };
    for (unsigned i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i][0] && code <= ranges[i][1]) return true;
    return false;
}

/* One step through a text. */
struct step {
    unsigned n;      /* bytes of the text */
    bool is_wild;    /* must not be written as it is */
    bool is_unicode; /* a character; else a byte that is none */
    uint32_t code;
};

static struct step step_at(const char *s) {
    if (*s >= ' ' && *s < 0x7f) return (struct step){1, false, true, (unsigned char)*s};
    unsigned n = text_utf8_length(s);
    if (n == 0) return (struct step){1, true, false, (unsigned char)*s};
    uint32_t code = code_of(s, n);
    return (struct step){n, is_wild(code), true, code};
}

/* "\x1b" for a byte, "\u202e" for a character above, or the character as it is. */
static void spell(const char *s, const struct step *step, char out[TEXT_STEP]) {
    if (!step->is_wild) {
        memcpy(out, s, step->n);
        out[step->n] = '\0';
        return;
    }
    bool is_byte = step->code < 0x80 || !step->is_unicode;
    (void)snprintf(out, TEXT_STEP, is_byte ? "\\x%02x" : "\\u%04x", step->code & 0xffff);
}

/* ---- for people */

static bool is_tame(const char *s, bool keeps_tabs) {
    while (*s) {
        struct step step = step_at(s);
        if (step.is_wild && !(keeps_tabs && *s == '\t')) return false;
        s += step.n;
    }
    return true;
}

/* Texts that were made tame, used in turn. */
#define N_TAMED 8
static _Thread_local struct {
    char *texts[N_TAMED];
    unsigned next;
} tamed;

static const char *shown(const char *s, bool keeps_tabs) {
    if (is_tame(s, keeps_tabs)) return s;
    unsigned turn = tamed.next++ % N_TAMED;
    /* four bytes for one at most */
    char *copy = report_resize(tamed.texts[turn], 4 * strlen(s) + TEXT_STEP), *at = copy;
    tamed.texts[turn] = copy;
    while (*s) {
        struct step step = step_at(s);
        if (keeps_tabs && *s == '\t') step.is_wild = false;
        spell(s, &step, at);
        at += strlen(at);
        s += step.n;
    }
    *at = '\0';
    return copy;
}

const char *text_shown(const char *s) { return shown(s, /* keeps_tabs */ false); }
const char *text_shown_source(const char *s) { return shown(s, /* keeps_tabs */ true); }

void text_shown_to(const char *s, char *out, size_t n_bytes) {
    size_t n = 0;
    while (*s) {
        char spelled[TEXT_STEP];
        struct step step = step_at(s);
        spell(s, &step, spelled);
        size_t more = strlen(spelled);
        if (n + more >= n_bytes) break;
        memcpy(out + n, spelled, more);
        n += more;
        s += step.n;
    }
    out[n] = '\0';
}

void text_shown_lines(FILE *out, const char *s) {
    while (*s) {
        const char *end = strchrnul(s, '\n');
        char *line = report_copy(s, (size_t)(end - s));
        (void)fprintf(out, "%s%s", text_shown_source(line), *end ? "\n" : "");
        free(line);
        s = *end ? end + 1 : end;
    }
}

/* ---- for programs */

void text_xml(FILE *out, const char *s) {
    while (*s) {
        char spelled[TEXT_STEP];
        struct step step = step_at(s);
        const char *name = *s == '<'    ? "&lt;"
                           : *s == '>'  ? "&gt;"
                           : *s == '&'  ? "&amp;"
                           : *s == '"'  ? "&quot;"
                           : *s == '\t' ? "\t"
                                        : NULL;
        if (name == NULL) spell(s, &step, spelled);
        (void)fputs(name ? name : spelled, out);
        s += step.n;
    }
}

void text_json(FILE *out, const char *s) {
    (void)fputc('"', out);
    while (*s) {
        struct step step = step_at(s);
        if (!step.is_unicode)
            (void)fprintf(out, "\\\\x%02x", step.code); /* JSON has no bytes */
        else if (step.is_wild)
            (void)fprintf(out, "\\u%04x", step.code);
        else if (*s == '"' || *s == '\\')
            (void)fprintf(out, "\\%c", *s);
        else
            (void)fwrite(s, 1, step.n, out);
        s += step.n;
    }
    (void)fputc('"', out);
}

void text_csv_inner(FILE *out, const char *s) {
    while (*s) {
        char spelled[TEXT_STEP];
        struct step step = step_at(s);
        spell(s, &step, spelled);
        if (*s == '"') (void)fputc('"', out);
        (void)fputs(spelled, out);
        s += step.n;
    }
}

void text_csv(FILE *out, const char *s) {
    bool is_quoted = strpbrk(s, ",\"\r\n") != NULL;
    if (is_quoted) (void)fputc('"', out);
    text_csv_inner(out, s);
    if (is_quoted) (void)fputc('"', out);
}

void text_collapsed(FILE *out, const char *s) {
    for (s = text_shown(s); *s; s++) (void)fputc(*s == ';' ? ':' : *s, out);
}

/* graphviz takes "&#27;" and "&lt;" for characters, and "&;" too; a '&' that begins none may stay. What follows the last one is the caller's. */
static bool is_entity(const char *s) {
    return s[0] == '&' &&
           (s[1] == '#' || s[1] == ';' || s[1] == '\0' || isalnum((unsigned char)s[1]));
}

void text_dot(FILE *out, const char *s) {
    for (s = text_shown(s); *s; s++) {
        if (*s == '"' || *s == '\\') (void)fputc('\\', out);
        if (is_entity(s))
            (void)fputs("&amp;", out);
        else
            (void)fputc(*s, out);
    }
}

/* ---- for a narrow place */

/* The bytes of the first n characters. */
static size_t bytes_of(const char *s, size_t n) {
    const char *at = s;
    for (; *at && n > 0; n--) at += text_utf8_length(at) ? text_utf8_length(at) : 1;
    return (size_t)(at - s);
}

void text_fit(FILE *out, const char *s, unsigned width) {
    size_t n = 0;
    s = text_shown(s);
    for (const char *at = s; *at; at += bytes_of(at, 1)) n++;
    if (width == 0 || n <= width) {
        (void)fputs(s, out);
        return;
    }
    size_t head = (width - 1) * 2 / 3, tail = width - 1 - head;
    (void)fwrite(s, 1, bytes_of(s, head), out);
    (void)fprintf(out, "\xe2\x80\xa6%s", s + bytes_of(s, n - tail));
}
