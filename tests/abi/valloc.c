/* valloc.c - valloc and pvalloc: on a page boundary; pvalloc also in whole pages. */
#include "../check.h"

#include <malloc.h>

typedef void *valloc_fn(size_t n);

static size_t page;

static void gives_pages(valloc_fn *fn, size_t unit) {
    static const size_t sizes[] = {0, 1, 100, 4095, 4096, 4097, 10000, 65536, 70000, 3 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t least = (sizes[i] + unit - 1) / unit * unit;
        errno = EXDEV;
        unsigned char *p = fn(opaque_size(sizes[i]));
        CHECK_EQ(errno, EXDEV);
        if (!CHECK_NOT_NULL(p)) return;
        CHECK_ALIGNED(p, page);
        CHECK_GE(malloc_usable_size(p), least);
        fill(p, least, 4);
        CHECK_EQ(intact(p, least, 4), least);
        p = realloc(p, 2 * least + 1);
        CHECK_EQ(intact(p, least, 4), least);
        free(p);
    }
    void *a = fn(opaque_size(0)), *b = fn(opaque_size(0));
    CHECK_NE(a, b);
    free(a), free(b);
}

static void fails_when_too_large(valloc_fn *fn) {
    /* the last few: rounding up to a page would wrap around to a small number */
    static const size_t sizes[] = {
        (size_t)PTRDIFF_MAX, (size_t)PTRDIFF_MAX + 1, (size_t)1 << 62, SIZE_MAX - 4096,
        SIZE_MAX - 4095,     SIZE_MAX - 4094,         SIZE_MAX - 1,    SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        CHECK_FAILS(fn(opaque_size(sizes[i])), ENOMEM);
}

int main(void) {
    check_allocator();
    page = (size_t)sysconf(_SC_PAGESIZE);
    valloc_fn *v = SYMBOL(valloc_fn *, valloc), *pv = SYMBOL(valloc_fn *, pvalloc);
    if (CHECK_NOT_NULL(v)) gives_pages(v, 1), fails_when_too_large(v);
    if (CHECK_NOT_NULL(pv)) gives_pages(pv, page), fails_when_too_large(pv);
    return CHECK_DONE();
}
