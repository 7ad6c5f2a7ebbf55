/* usable_size.c - malloc_usable_size: at least what was asked for, all of it writable, and it lasts. */
#include "../check.h"

#include <malloc.h>

static void null_has_none(void) { CHECK_EQ(malloc_usable_size(opaque(NULL)), 0); }

/* Programs (systemd, mesa, node addons) write the whole of it. Two neighbours filled to the brim show
 * an overlap; the allocator's own books show it too, in later calls. */
static void all_of_it_is_writable(void) {
    enum { N = 8 };
    for (size_t n = 0; n <= (size_t)5 << 20; n = n < 2100 ? n + 1 : n + n / 7) {
        unsigned char *p[N];
        size_t usable[N];
        for (unsigned i = 0; i < N; i++) {
            p[i] = malloc(n);
            if (!CHECK_NOT_NULL(p[i])) return;
            usable[i] = malloc_usable_size(p[i]);
            CHECK_GE(usable[i], n);
            fill(p[i], usable[i], i);
        }
        for (unsigned i = 0; i < N; i++) {
            CHECK_EQ(malloc_usable_size(p[i]), usable[i]);
            if (intact(p[i], usable[i], i) != usable[i]) {
                CHECK_EQ(intact(p[i], usable[i], i), usable[i]);
                check_say("  block %u of %zu bytes, usable %zu", i, n, usable[i]);
            }
            free(p[i]);
        }
    }
}

static void all_entry_points_agree(void) {
    static const size_t sizes[] = {1, 24, 100, 1000, 5000, 70000, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i];
        void *aligned = NULL;
        if (!CHECK_EQ(posix_memalign(&aligned, 256, n), 0)) return;
        void *p[] = {malloc(n),         calloc(1, n), realloc(NULL, n), aligned_alloc(64, n),
                     memalign(4096, n), aligned};
        for (unsigned k = 0; k < sizeof p / sizeof *p; k++) {
            if (!CHECK_NOT_NULL(p[k])) return;
            size_t usable = malloc_usable_size(p[k]);
            CHECK_GE(usable, n);
            fill(p[k], usable, k);
        }
        for (unsigned k = 0; k < sizeof p / sizeof *p; k++) {
            size_t usable = malloc_usable_size(p[k]);
            CHECK_EQ(intact(p[k], usable, k), usable);
        }
        for (unsigned k = 0; k < sizeof p / sizeof *p; k++) free(p[k]);
    }
}

/* Asking again for what is usable must not move the block: callers use it to learn the class size. */
static void realloc_within_it_stays_in_place(void) {
    for (size_t n = 1; n < (size_t)1 << 20; n += 1 + n / 5) {
        char *p = malloc(n);
        if (!CHECK_NOT_NULL(p)) return;
        size_t usable = malloc_usable_size(p);
        uintptr_t before = (uintptr_t)p;
        p = realloc(p, usable);
        CHECK_EQ((uintptr_t)p, before);
        CHECK_EQ(malloc_usable_size(p), usable);
        free(p);
    }
}

int main(void) {
    check_allocator();
    null_has_none();
    all_of_it_is_writable();
    all_entry_points_agree();
    realloc_within_it_stays_in_place();
    return CHECK_DONE();
}
