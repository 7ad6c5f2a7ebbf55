/* fill.c - what new and freed blocks hold, for the options junk and zero: one line. With an argument it asks for more than there is, by
 * the function of that name. */
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <string.h>

/* The one byte that all of [from, to) is; - if there are several. */
static const char *of(const unsigned char *p, size_t from, size_t to) {
    static char text[8][4];
    static unsigned n;
    char *out = text[n++ % 8];
    for (size_t i = from; i < to; i++)
        if (p[i] != p[from]) return "-";
    snprintf(out, 4, "%02x", p[from]);
    return out;
}

static void *hidden(void *p) {
    __asm__ volatile("" : "+r"(p));
    return p;
}

static const size_t sizes[] = {48, 1000, 3000, 40000, 500000};
enum { N = sizeof(sizes) / sizeof(sizes[0]) };

static void dirty(void) {
    for (int i = 0; i < N; i++) {
        void *p[20];
        for (int k = 0; k < 20; k++) p[k] = memset(hidden(malloc(sizes[i])), 0x11, sizes[i]);
        for (int k = 0; k < 20; k++) free(p[k]);
    }
}

static void ask_for_too_much(const char *by) {
    size_t all = (size_t)1 << 62;
    void *p = NULL;
    if (strcmp(by, "malloc") == 0) p = malloc(all);
    if (strcmp(by, "calloc") == 0) p = calloc(all, 1);
    if (strcmp(by, "realloc") == 0) p = realloc(malloc(1), all);
    if (strcmp(by, "mallocx") == 0) p = mallocx(all, MALLOCX_ALIGN(64));
    if (strcmp(by, "rallocx") == 0) p = rallocx(malloc(1), all, 0);
    if (strcmp(by, "aligned") == 0) p = aligned_alloc(64, all);
    printf("%s: %d\n", by, hidden(p) == NULL);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        ask_for_too_much(argv[1]);
        return 0;
    }
    dirty();
    for (int i = 0; i < N; i++) {
        size_t n = sizes[i];
        unsigned char *p = hidden(malloc(n));
        printf("malloc %s", of(p, 0, n));
        unsigned char *c = hidden(calloc(1, n));
        printf(" calloc %s", of(c, 0, n));
        unsigned char *x = hidden(mallocx(n, MALLOCX_ZERO));
        printf(" zeroed %s", of(x, 0, n));
        unsigned char *a = hidden(aligned_alloc(64, n));
        printf(" aligned %s", of(a, 0, n));
        memset(p, 0x22, malloc_usable_size(p));
        size_t before = malloc_usable_size(p);
        p = hidden(realloc(p, n * 3));
        printf(" realloc %s %s", of(p, 0, before), of(p, before, n * 3));
        free(c);
        free(x);
        free(a);
        if (n < 30000) { /* its memory is there when it is freed */
            memset(p, 0x33, n * 3);
            free(p);
            printf(" freed %s", of(p, 16, n));
        } else {
            free(p);
        }
        printf("\n");
    }
    return 0;
}
