/* jemalloc_print_write.c - see jemalloc_print.h: keys and brackets of JSON, columns of text. Climate: host. */
#include "dialect/jemalloc_print.h"

/* ---- JSON ---- */

void vt__jp_key(struct vt_jp *p, const char *name) {
    if (p->needs_comma) vt__text_char(&p->text, ',');
    p->needs_comma = true;
    if (name == NULL) return;
    vt__text_char(&p->text, '"');
    vt__text_put(&p->text, name);
    vt__text_put(&p->text, "\":");
}

void vt__jp_open(struct vt_jp *p, const char *name, char bracket) {
    vt__jp_key(p, name);
    vt__text_char(&p->text, bracket);
    p->needs_comma = false;
}

void vt__jp_shut(struct vt_jp *p, char bracket) {
    vt__text_char(&p->text, bracket);
    p->needs_comma = true;
}

void vt__jp_number(struct vt_jp *p, const char *name, uint64_t n) {
    vt__jp_key(p, name);
    vt__text_uint(&p->text, n);
}

static void put_escaped(void *text, const char *s, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++) {
        if (s[i] == '"' || s[i] == '\\') vt__text_char(text, '\\');
        vt__text_char(text, s[i]);
    }
}

/* People read it, too: what a terminal would obey, and what is no UTF-8, is spelled. */
void vt__jp_put_quoted(struct vt_jp *p, const char *s) {
    char buf[64];
    struct vt_text shown = {buf, sizeof(buf), 0, false, put_escaped, &p->text};
    vt__text_char(&p->text, '"');
    vt__text_shown(&shown, s, vt__str_len(s));
    vt__text_flush(&shown);
    vt__text_char(&p->text, '"');
}

uint64_t vt__jp_read(size_t arena, vt_je_reader *read, int what) {
    struct vt_je_call c = {.what = what, .index = {arena}};
    uint64_t n = 0;
    (void)read(&c, &n);
    return n;
}

/* ---- text ---- */

void vt__jp_say(struct vt_jp *p, const char *s) { vt__text_put(&p->text, s); }

void vt__jp_say_number(struct vt_jp *p, const char *before, uint64_t n, const char *after) {
    vt__jp_say(p, before);
    vt__text_uint(&p->text, n);
    vt__jp_say(p, after);
}

void vt__jp_put_right(struct vt_jp *p, const char *s, unsigned width) {
    size_t len = vt__str_len(s);
    if (len < width) vt__text_pad(&p->text, ' ', width - (unsigned)len);
    vt__jp_say(p, s);
}

void vt__jp_put_left(struct vt_jp *p, const char *s, unsigned width) {
    size_t len = vt__str_len(s);
    vt__jp_say(p, s);
    if (len < width) vt__text_pad(&p->text, ' ', width - (unsigned)len);
}

void vt__jp_put_heads(struct vt_jp *p, const char *title, const struct jp_column *columns,
                      size_t n) {
    unsigned width = columns[0].width - (unsigned)vt__str_len(title);
    vt__jp_say(p, title);
    vt__jp_put_right(p, columns[0].head, width);
    for (size_t i = 1; i < n; i++) vt__jp_put_right(p, columns[i].head, columns[i].width);
}

void vt__jp_put_cell(struct vt_jp *p, uint64_t n, unsigned width) {
    vt__text_uint_wide(&p->text, n, width);
}

void vt__jp_put_rate(struct vt_jp *p, uint64_t n, unsigned width) {
    vt__jp_put_cell(p, p->uptime_s != 0 ? n / p->uptime_s : 0, width);
}

void vt__jp_put_truth(struct vt_jp *p, bool is_so) { vt__jp_say(p, is_so ? "true" : "false"); }
