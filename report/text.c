/* text.c - see text.h. Climate: cli. */
#include "report/text.h"

#include <stdbool.h>
#include <string.h>

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

/* The character at s as it is, or '?'; gives how many bytes it took. */
static unsigned put_character(FILE *out, const char *s) {
    unsigned n = text_utf8_length(s);
    if (n == 0)
        (void)fputc('?', out);
    else
        (void)fwrite(s, 1, n, out);
    return n ? n : 1;
}

static bool is_control(char c) { return (unsigned char)c < ' ' || c == 0x7f; }

void text_xml(FILE *out, const char *s) {
    while (*s) {
        const char *name = *s == '<'   ? "&lt;"
                           : *s == '>' ? "&gt;"
                           : *s == '&' ? "&amp;"
                           : *s == '"' ? "&quot;"
                                       : NULL;
        if (name == NULL && (!is_control(*s) || *s == '\t')) {
            s += put_character(out, s);
            continue;
        }
        (void)fputs(name ? name : "?", out);
        s++;
    }
}

void text_json(FILE *out, const char *s) {
    (void)fputc('"', out);
    while (*s) {
        if (*s == '"' || *s == '\\')
            (void)fprintf(out, "\\%c", *s++);
        else if (is_control(*s))
            (void)fprintf(out, "\\u%04x", (unsigned char)*s++);
        else
            s += put_character(out, s);
    }
    (void)fputc('"', out);
}

void text_csv_inner(FILE *out, const char *s) {
    while (*s) {
        if (*s == '"') (void)fputc('"', out);
        s += put_character(out, s);
    }
}

void text_csv(FILE *out, const char *s) {
    bool is_quoted = strpbrk(s, ",\"\r\n") != NULL;
    if (is_quoted) (void)fputc('"', out);
    text_csv_inner(out, s);
    if (is_quoted) (void)fputc('"', out);
}

/* The bytes of the first n characters. */
static size_t bytes_of(const char *s, size_t n) {
    const char *at = s;
    for (; *at && n > 0; n--) at += text_utf8_length(at) ? text_utf8_length(at) : 1;
    return (size_t)(at - s);
}

void text_fit(FILE *out, const char *s, unsigned width) {
    size_t n = 0;
    for (const char *at = s; *at; at += bytes_of(at, 1)) n++;
    if (width == 0 || n <= width) {
        (void)fputs(s, out);
        return;
    }
    size_t head = (width - 1) * 2 / 3, tail = width - 1 - head;
    (void)fwrite(s, 1, bytes_of(s, head), out);
    (void)fprintf(out, "\xe2\x80\xa6%s", s + bytes_of(s, n - tail));
}
