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
#include "os/os.h"

/* In a static program there is no other malloc, and no dlsym. */
extern void *dlsym(void *handle, const char *name) __attribute__((weak));

static struct {
    _Atomic bool was_warned;
    _Atomic uintptr_t first_brk;
} foreign;

static void *next_function(const char *name) {
    if (dlsym == NULL) return NULL;
    return dlsym(RTLD_NEXT, name);
}

/* The size word in front of a libc chunk: bit 1 says it has a mapping of its own. */
static bool looks_like_libc(const void *p) {
    uintptr_t at = (uintptr_t)p;
    uintptr_t brk_end = (uintptr_t)sbrk(0);
    if (at % 16 != 0) return false;
    if (at < brk_end && brk_end - at < GiB(64)) return true; /* below the break, above the program: its heap */
    size_t resident;
    uintptr_t page = vt_round_down(at - 16, VT_OS_PAGE);
    if (vt__os_resident_bytes((void *)page, VT_OS_PAGE, &resident) != 0) return false; /* not even mapped */
    size_t word = ((const size_t *)p)[-1];
    return (word & 2) != 0 && (word & ~(size_t)7) % VT_OS_PAGE == 0 && at % VT_OS_PAGE == 16 && word > VT_OS_PAGE;
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
        vt__warn("a block of libc's malloc came to", call, "; it is passed on (libc's malloc is in use beside this one)");
    return f;
}

void vt__life_foreign_free(void *p) { ((void (*)(void *))libc_function("free", p, "free"))(p); }

void *vt__life_foreign_realloc(void *p, size_t n_bytes) {
    size_t old_bytes = vt__life_foreign_usable_size(p);
    void *to = vt__malloc(n_bytes);
    if (to == NULL) return NULL;
    __builtin_memcpy(to, p, vt_min(old_bytes, n_bytes));
    vt__life_foreign_free(p);
    return to;
}

size_t vt__life_foreign_usable_size(const void *p) {
    return ((size_t(*)(const void *))libc_function("malloc_usable_size", p, "malloc_usable_size"))(p);
}
