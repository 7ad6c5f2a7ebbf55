/* names.c - see names.h.
 *
 * libiberty demangles both C++ and Rust. Shortening works on the demangled text, because names also come
 * from files (profile.proto, collapsed stacks, symbol pages) that have no mangled form.
 *
 * Climate: cli.
 */
#include "report/names.h"

#include <ctype.h>
#define HAVE_DECL_BASENAME 1 /* libiberty.h asks; string.h has it */
#include <demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "report/memory.h"

/* A parameter may repeat the one before it twice, so a mangled name of 300 bytes can stand for 2^30. Of the 144,000 names of a Debian
 * system the longest has 8 kB, and none has more than 29 times its mangled length. */
#define READABLE_MAX_BYTES ((size_t)64 << 10)
#define READABLE_FREE_BYTES ((size_t)1 << 10)
#define READABLE_RATIO 64u

bool name_is_mangled(const char *name) {
    while (*name == '.' || *name == '$') name++;
    return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0 ||
           strncmp(name, "__Z", 3) == 0;
}

/* A readable name while it is made. */
struct readable {
    char *out;
    size_t n, room; /* without the NUL */
    jmp_buf full;
};

/* libiberty has no other way to end early. It holds no memory when it calls this, but for a few bytes of a Rust name in punycode. */
static void take_readable(const char *piece, size_t n, void *to) {
    struct readable *r = to;
    if (n > r->room - r->n) longjmp(r->full, 1);
    memcpy(r->out + r->n, piece, n);
    r->n += n;
}

static size_t readable_room(const char *name) {
    size_t n = strlen(name);
    if (n >= READABLE_MAX_BYTES / READABLE_RATIO) return READABLE_MAX_BYTES;
    return READABLE_FREE_BYTES + n * READABLE_RATIO;
}

/* Rust first: its older names are C++ as well. False: it is neither, or longer than there is room for. */
static bool make_readable(const char *name, struct readable *r) {
    const int options = DMGL_PARAMS | DMGL_ANSI;
    if (setjmp(r->full) != 0) return false;
    if (rust_demangle_callback(name, options, take_readable, r) != 0) return true;
    r->n = 0; /* what it wrote before it gave up */
    return cplus_demangle_v3_callback(name, options, take_readable, r) != 0;
}

char *name_demangle(const char *name) {
    if (!name_is_mangled(name)) return NULL;
    struct readable r = {.room = readable_room(name)};
    r.out = report_resize(NULL, r.room + 1);
    if (make_readable(name, &r)) {
        r.out[r.n] = '\0';
        return report_resize(r.out, r.n + 1);
    }
    free(r.out);
    return NULL;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* Length of "operator" with its symbol at s, or 0. `start` is where the whole name begins. */
static size_t operator_length(const char *s, const char *start) {
    static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "->",
                                          "<<", ">>", "<=",  ">=",  "<",   ">",   NULL};
    if (strncmp(s, "operator", 8) != 0 || (s > start && is_word(s[-1])) || is_word(s[8])) return 0;
    for (unsigned i = 0; symbols[i]; i++)
        if (strncmp(s + 8, symbols[i], strlen(symbols[i])) == 0) return 8 + strlen(symbols[i]);
    return 8;
}

/* Behind the bracket that s opens; the end of the text if it is never closed. */
static const char *skip_group(const char *s, const char *start) {
    int depth = 0;
    for (; *s; s++) {
        size_t n = operator_length(s, start);
        if (n > 8) {
            s += n - 1;
            continue;
        }
        if (strchr("(<[{", *s)) depth++;
        if (strchr(")]}", *s) || (*s == '>' && s > start && s[-1] != '-')) depth--;
        if (depth == 0) return s + 1;
    }
    return s;
}

static bool starts(const char *s, const char *word) { return strncmp(s, word, strlen(word)) == 0; }

/* What may stand between a parameter list and its end: const, &, [clone .cold]. */
static const char *skip_qualifiers(const char *s) {
    static const char *const words[] = {" const", " volatile", " &&", " &", NULL};
    for (unsigned i = 0; words[i];) {
        if (starts(s, words[i])) {
            s += strlen(words[i]);
            i = 0;
        } else {
            i++;
        }
    }
    return s;
}

/* Behind the operator at s, which is `n` long at least; its parameters and template arguments not. */
static const char *operator_end(const char *s, size_t n) {
    const char *end = s + n;
    if (n > 8) return end;
    if (*end == ' ') return end + strcspn(end, "(<"); /* operator new[], operator bool */
    return end + strspn(end, "+-*/%^&|~!=,");
}

struct writer {
    char *out;
    size_t n, room; /* room: without the NUL */
};

static const char *copy_to(struct writer *w, const char *s, const char *end) {
    for (; s < end; s++)
        if (w->n < w->room) w->out[w->n++] = *s;
    return end;
}

/* Not a name that these rules are for: Rust's <T as Trait>::f, Go's (*T).f, functions that return
 * pointers to functions. */
static bool is_strange(const char *name) {
    const char *open = strchr(name, '(');
    return name[0] == '<' || name[0] == '\0' || (open && (open[1] == '*' || open[1] == '&'));
}

static char *shorten(const char *name, bool keeps_arguments, char *out, size_t n_bytes) {
    struct writer w = {out, 0, n_bytes - 1};
    const char *s = is_strange(name) ? copy_to(&w, name, name + strlen(name)) : name;
    while (*s) {
        size_t op = operator_length(s, name);
        if (op > 0) {
            s = copy_to(&w, s, operator_end(s, op));
            if (starts(s, " <")) s++; /* operator< <int> */
        } else if (starts(s, "(anonymous namespace)") || *s == '{' ||
                   (*s == '<' && keeps_arguments)) {
            s = copy_to(&w, s, skip_group(s, name)); /* a name, not parameters */
        } else if (*s == '(') {
            s = skip_qualifiers(skip_group(s, name));
            if (!starts(s, "::")) break; /* else a function's local name */
        } else if (*s == '<' || starts(s, "[abi:")) {
            s = skip_group(s, name);
        } else if (starts(s, " [clone")) {
            break;
        } else if (*s == ' ' && strchr(s, '(')) {
            w.n = 0; /* that was a return type */
            s++;
        } else {
            s = copy_to(&w, s, s + 1);
        }
    }
    if (w.n == 0) (void)copy_to(&w, name, name + strlen(name));
    out[w.n] = '\0';
    return out;
}

char *name_shorten(const char *name, char *out, size_t n_bytes) {
    return shorten(name, /* keeps_arguments */ false, out, n_bytes);
}

char *name_shorten_instance(const char *name, char *out, size_t n_bytes) {
    return shorten(name, /* keeps_arguments */ true, out, n_bytes);
}
