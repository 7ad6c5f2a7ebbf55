/* libc_names.c - the names under which glibc exports the same functions, and whose they are.
 *
 * Old programs and wrapper libraries call __libc_malloc and its kin. If one of them were still glibc's,
 * blocks of two heaps would meet in free; so each is called here and handed to the others.
 */
#include "../check.h"

#include <malloc.h>

typedef void *malloc_fn(size_t n);
typedef void free_fn(void *p);
typedef void *calloc_fn(size_t count, size_t n);
typedef void *realloc_fn(void *p, size_t n);
typedef void *memalign_fn(size_t alignment, size_t n);
typedef int posix_memalign_fn(void **p, size_t alignment, size_t n);

static const size_t sizes[] = {0, 1, 64, 1000, 5000, 70000, 3 << 20};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static free_fn *libc_free;
static realloc_fn *libc_realloc;

/* Every block is used, resized by the one name or the other, and freed by the one or the other. */
static void block_is_ours(void *block, size_t n, int variant) {
    unsigned char *p = block;
    if (!CHECK_NOT_NULL(p)) return;
    CHECK_ALIGNED(p, 16);
    CHECK_GE(malloc_usable_size(p), n);
    fill(p, n, 8);
    p = variant & 1 ? realloc(p, 2 * n + 1) : libc_realloc(p, 2 * n + 1);
    if (!CHECK_NOT_NULL(p)) return;
    CHECK_EQ(intact(p, n, 8), n);
    if (variant & 2)
        free(p);
    else
        libc_free(p);
}

#define NAME_OF_OURS(type, name)                                                                   \
    __extension__({                                                                                \
        type *address_ = SYMBOL(type *, name);                                                     \
        CHECK_NOT_NULL(address_);                                                                  \
        CHECK_OURS(#name, (void *)(uintptr_t)address_);                                            \
        address_;                                                                                  \
    })

int main(void) {
    check_allocator();
    malloc_fn *libc_malloc = NAME_OF_OURS(malloc_fn, __libc_malloc);
    calloc_fn *libc_calloc = NAME_OF_OURS(calloc_fn, __libc_calloc);
    memalign_fn *libc_memalign = NAME_OF_OURS(memalign_fn, __libc_memalign);
    malloc_fn *libc_valloc = NAME_OF_OURS(malloc_fn, __libc_valloc);
    malloc_fn *libc_pvalloc = NAME_OF_OURS(malloc_fn, __libc_pvalloc);
    posix_memalign_fn *libc_posix_memalign = NAME_OF_OURS(posix_memalign_fn, __posix_memalign);
    libc_free = NAME_OF_OURS(free_fn, __libc_free);
    libc_realloc = NAME_OF_OURS(realloc_fn, __libc_realloc);
    if (!libc_malloc || !libc_calloc || !libc_memalign || !libc_valloc || !libc_pvalloc ||
        !libc_posix_memalign || !libc_free || !libc_realloc)
        return CHECK_DONE();

    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < N_SIZES; i++) {
        for (int variant = 0; variant < 4; variant++) {
            size_t n = opaque_size(sizes[i]);
            block_is_ours(libc_malloc(n), n, variant);
            block_is_ours(libc_realloc(NULL, n), n, variant);
            block_is_ours(malloc(n), n, variant);

            void *p = libc_calloc(1, n);
            CHECK_EQ(first_nonzero(p, n), n);
            block_is_ours(p, n, variant);
            p = libc_memalign(256, n);
            CHECK_ALIGNED(p, 256);
            block_is_ours(p, n, variant);
            p = libc_valloc(n);
            CHECK_ALIGNED(p, page);
            block_is_ours(p, n, variant);
            p = libc_pvalloc(n);
            CHECK_ALIGNED(p, page);
            CHECK_GE(malloc_usable_size(p), (n + page - 1) / page * page);
            block_is_ours(p, n, variant);
            p = NULL;
            errno = EXDEV;
            CHECK_EQ(libc_posix_memalign(&p, 512, n), 0);
            CHECK_EQ(errno, EXDEV);
            CHECK_ALIGNED(p, 512);
            block_is_ours(p, n, variant);
        }
    }

    CHECK_FAILS(libc_malloc(SIZE_MAX), ENOMEM);
    CHECK_FAILS(libc_calloc(SIZE_MAX / 2, 3), ENOMEM);
    CHECK_FAILS(libc_realloc(NULL, SIZE_MAX), ENOMEM);
    CHECK_FAILS(libc_memalign(64, SIZE_MAX), ENOMEM);
    CHECK_FAILS(libc_valloc(SIZE_MAX), ENOMEM);
    CHECK_FAILS(libc_pvalloc(SIZE_MAX), ENOMEM);
    void *p = &p;
    CHECK_EQ(libc_posix_memalign(&p, 3, 8), EINVAL);
    CHECK_EQ(p, &p);
    errno = EXDEV;
    libc_free(NULL);
    CHECK_EQ(errno, EXDEV);
    CHECK_NULL(libc_realloc(libc_malloc(10), opaque_size(0)));
    return CHECK_DONE();
}
