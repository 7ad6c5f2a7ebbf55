/* foreign.c - a pointer that is not ours reaches free, realloc or malloc_usable_size.
 *
 * Loaded late (dlopen), or beside a library bound to another malloc, we see blocks of libc's malloc. Those that look like
 * one (in the brk heap, or a mapped chunk of its own) are passed on to it, with one warning; anything else is a mistake.
 *
 * Climate: malloc; the first foreign pointer also calls dlsym.   Owns: libc's functions once found.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/text.h"
#include "conf/options.h"
#include "heap/heap.h"
#include "heap/upcalls.h"
#include "life/upcalls.h"
#include "os/os.h"

/* In a static program there is no other malloc, and no dlsym. */
#pragma weak dlsym

static struct { _Atomic bool was_warned; } foreign;

static void *next_function(const char *name) {
    if (dlsym == NULL) return NULL;
    return dlsym(RTLD_NEXT, name);
}

static bool is_mapped(uintptr_t at) {
    size_t resident;
    return vt__os_resident_bytes((void *)vt_round_down(at, VT_OS_PAGE), VT_OS_PAGE, &resident) == 0;
}

/* In front of a chunk of glibc's stands its size; bit 1: it has a mapping of its own; bit 2: it is of a thread's arena, whose
 * heaps start at multiples of 64 MiB with a pointer to the arena. */
static bool looks_like_libc(const void *p) {
    uintptr_t at = (uintptr_t)p;
    uintptr_t brk_start;
    if (at % 16 != 0 || !is_mapped(at - 16)) return false;
    if (vt__os_brk_start(&brk_start) && at > brk_start && at < (uintptr_t)sbrk(0)) return true;
    size_t word = ((const size_t *)p)[-1];
    size_t n_bytes = word & ~(size_t)7;
    if ((word & 7) == 2) return at % VT_OS_PAGE == 16 && n_bytes % VT_OS_PAGE == 0 && n_bytes > 0;
    uintptr_t heap = vt_round_down(at, MiB(64));
    if ((word & 4) == 0 || n_bytes < 32 || at + n_bytes > heap + MiB(64) || !is_mapped(heap))
        return false;
    uintptr_t arena = *(const uintptr_t *)heap;
    return arena % 16 == 0 && is_mapped(arena);
}

VT_NORETURN static void refuse(const char *call, const void *p) {
    char line[160];
    struct vt_text t = VT_TEXT(line);
    vt__text_put(&t, "vitrine: error: ");
    vt__text_put(&t, call);
    vt__text_put(&t, " of ");
    vt__text_hex(&t, (uintptr_t)p);
    vt__text_put(&t, ": not a pointer from malloc\n");
    vt__os_write(2, line, t.len);
    vt__os_abort();
}

static void *libc_function(const char *call, const void *p, const char *name) {
    void *f = looks_like_libc(p) ? next_function(name) : NULL;
    if (f == NULL) refuse(call, p);
    if (!atomic_exchange(&foreign.was_warned, true))
        vt__warn("a block of libc's malloc came to", call,
                 "; it is passed on (libc's malloc is in use beside this one)");
    return f;
}

void vt__life_foreign_free(void *p) {
    if ((uintptr_t)p < vt__door.ignored_below && !looks_like_libc(p)) return;
    ((void (*)(void *))libc_function("free", p, "free"))(p);
}

void *vt__life_foreign_realloc(void *p, size_t n_bytes) {
    size_t old_bytes = vt__life_foreign_usable_size(p);
    void *to = vt__malloc(n_bytes);
    if (to == NULL) return NULL;
    __builtin_memcpy(to, p, vt_min(old_bytes, n_bytes));
    vt__life_foreign_free(p);
    return to;
}

size_t vt__life_foreign_usable_size(const void *p) {
    return ((size_t(*)(const void *))libc_function("malloc_usable_size", p, "malloc_usable_size"))(
        p);
}
