/* text.c - see text.h. Climate: any. */
#include "base/text.h"

size_t vt__str_len(const char *s) {
    size_t n = 0;
    while (s[n] != '\0') n++;
    return n;
}

bool vt__str_equal(const char *a, const char *b) {
    while (*a != '\0' && *a == *b) a++, b++;
    return *a == *b;
}

bool vt__str_starts(const char *s, const char *prefix) {
    while (*prefix != '\0' && *s == *prefix) s++, prefix++;
    return *prefix == '\0';
}

void vt__text_flush(struct vt_text *t) {
    if (t->sink == NULL || t->len == 0) return;
    t->sink(t->sink_arg, t->buf, t->len);
    t->len = 0;
}

void vt__text_char(struct vt_text *t, char c) {
    if (t->len == t->cap) vt__text_flush(t);
    if (t->len == t->cap) {
        t->is_cut = true;
        return;
    }
    t->buf[t->len++] = c;
}

void vt__text_put_n(struct vt_text *t, const char *s, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++) vt__text_char(t, s[i]);
}

void vt__text_put(struct vt_text *t, const char *s) { vt__text_put_n(t, s, vt__str_len(s)); }

void vt__text_pad(struct vt_text *t, char c, unsigned n) {
    while (n-- > 0) vt__text_char(t, c);
}

/* The digits of n, last first; returns how many. */
static unsigned digits_of(uint64_t n, unsigned base, char digits[64]) {
    unsigned len = 0;
    do digits[len++] = "0123456789abcdef"[n % base];
    while ((n /= base) != 0);
    return len;
}

static void put_digits(struct vt_text *t, const char *digits, unsigned len, unsigned width) {
    if (width > len) vt__text_pad(t, ' ', width - len);
    while (len > 0) vt__text_char(t, digits[--len]);
}

void vt__text_uint_wide(struct vt_text *t, uint64_t n, unsigned width) {
    char digits[64];
    put_digits(t, digits, digits_of(n, 10, digits), width);
}

/* Is the character of these bytes one that must not be written as it is: C1, marks of direction, ends of lines? */
static bool is_wild(const unsigned char *s, unsigned n) {
    if (n == 2) return (s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xd8 && s[1] == 0x9c);
    if (n == 3 && s[0] == 0xef) return s[1] == 0xbf && s[2] >= 0xbe; /* no characters at all */
    if (n != 3 || s[0] != 0xe2) return false;
    if (s[1] == 0x80) return s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae);
    return s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9;
}

/* Bytes of the character at s that can be written as it is; 0: there is none. */
static unsigned plain_length(const unsigned char *s, size_t n_bytes) {
    if (s[0] < 0x80) return s[0] >= ' ' && s[0] != 0x7f;
    unsigned n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n > n_bytes) return 0;
    for (unsigned i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    bool is_overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool is_no_code = (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f);
    return is_overlong || is_no_code || is_wild(s, n) ? 0 : n;
}

VT_COLD void vt__text_shown(struct vt_text *t, const char *s, size_t n_bytes) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n_bytes;) {
        unsigned char c = (unsigned char)s[i];
        unsigned n = plain_length((const unsigned char *)s + i, n_bytes - i);
        if (n > 0) {
            vt__text_put_n(t, s + i, n);
        } else {
            vt__text_put(t, "\\x");
            vt__text_char(t, digits[c >> 4]);
            vt__text_char(t, digits[c & 15]);
        }
        i += n > 0 ? n : 1;
    }
}

void vt__text_uint(struct vt_text *t, uint64_t n) { vt__text_uint_wide(t, n, 0); }

void vt__text_int(struct vt_text *t, int64_t n) {
    if (n < 0) vt__text_char(t, '-');
    vt__text_uint(t, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

void vt__text_hex(struct vt_text *t, uint64_t n) {
    char digits[64];
    vt__text_put(t, "0x");
    put_digits(t, digits, digits_of(n, 16, digits), 0);
}

void vt__text_bytes(struct vt_text *t, uint64_t n_bytes, unsigned width) {
    static const char *const units[] = {" B  ", " KiB", " MiB", " GiB", " TiB"};
    unsigned unit = 0;
    uint64_t scale = 1;
    while (unit + 1 < vt_countof(units) && n_bytes / scale >= 1024) unit++, scale *= 1024;
    if (unit == 0) {
        vt__text_uint_wide(t, n_bytes, width > 4 ? width - 4 : 0);
    } else {
        uint64_t tenths = (n_bytes / scale) * 10 + (n_bytes % scale) * 10 / scale;
        vt__text_uint_wide(t, tenths / 10, width > 6 ? width - 6 : 0);
        vt__text_char(t, '.');
        vt__text_uint(t, tenths % 10);
    }
    vt__text_put(t, units[unit]);
}
