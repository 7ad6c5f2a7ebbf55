/* jemalloc_say.c - messages in jemalloc's manner: to the program's malloc_message if it has one, else to stderr. Climate: malloc;
 * the program's function may do as it likes. */
#include "dialect/jemalloc.h"
#include "os/os.h"

/* Defined by libjemalloc (jemalloc_alloc.c) or by the program; in other libraries perhaps by nobody. */
extern void (*malloc_message)(void *opaque, const char *s) __attribute__((weak));
extern void (*je_malloc_message)(void *opaque, const char *s) __attribute__((weak));

void vt__je_write(const char *text) {
    void (*to)(void *, const char *) = &malloc_message != NULL ? malloc_message : NULL;
    if (to == NULL && &je_malloc_message != NULL) to = je_malloc_message;
    if (to != NULL)
        to(NULL, text);
    else
        (void)vt__os_write(2, text, vt__str_len(text));
}

void vt__je_say(const char *a, const char *b, const char *c) {
    char line[2048];
    struct vt_text t = {line, sizeof(line) - 2, 0, false, NULL, NULL};
    vt__text_put(&t, "<jemalloc>: ");
    vt__text_put(&t, a);
    vt__text_shown(&t, b, vt__str_len(b));
    vt__text_shown(&t, c, vt__str_len(c));
    line[t.len++] = '\n';
    line[t.len] = '\0';
    vt__je_write(line);
}
