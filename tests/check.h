/* check.h - checks for test programs, C and C++.
 *
 * A failed check prints file:line, what was checked, the expected and the seen value, and the program
 * goes on; CHECK_DONE() prints the count and is the exit status. Works in release builds, and calls
 * nothing that allocates: the allocator under test may be the broken part.
 *
 *   int main(void) {
 *       check_allocator();                       the library under test is really in this process
 *       CHECK_EQ(malloc_usable_size(p), 64);     seen first, then expected
 *       return CHECK_DONE();
 *   }
 *
 * The library comes in by LD_PRELOAD, or, with VT_STATIC defined, by linking libvitrine.a with -static.
 */
#ifndef VT_TESTS_CHECK_H
#define VT_TESTS_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr, reallocarray, sbrk: include this file first */
#endif

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifndef VT_STATIC
#include <dlfcn.h>
#endif

#define CHECK_SKIPPED 77

static struct { unsigned n_checks, n_failed; } check_state;

__attribute__((format(printf, 1, 2), unused)) static void check_say(const char *fmt, ...) {
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line - 1, fmt, ap);
    va_end(ap);
    if (n < 0) return;
    if ((size_t)n > sizeof line - 2) n = (int)sizeof line - 2;
    line[n++] = '\n';
    ssize_t ignored = write(2, line, (size_t)n);
    (void)ignored;
}

/* After this many failures more lines only hide the first. */
#define CHECK_MAX_LINES 40

__attribute__((unused)) static int check_count(int ok) {
    __atomic_fetch_add(&check_state.n_checks, 1, __ATOMIC_RELAXED);
    if (ok) return 0;
    unsigned n = __atomic_add_fetch(&check_state.n_failed, 1, __ATOMIC_RELAXED);
    if (n == CHECK_MAX_LINES + 1) check_say("... more failures, not printed");
    return n <= CHECK_MAX_LINES;
}

__attribute__((unused)) static int check_ints(const char *file, int line, const char *what,
                                              const char *op, int ok, uint64_t seen,
                                              uint64_t expected) {
    int saved = errno;
    if (check_count(ok))
        check_say("%s:%d: %s: expected %s %lld (0x%llx), seen %lld (0x%llx)", file, line, what, op,
                  (long long)expected, (unsigned long long)expected, (long long)seen,
                  (unsigned long long)seen);
    errno = saved;
    return ok;
}

__attribute__((unused)) static int check_text(const char *file, int line, const char *what,
                                              const char *seen, const char *expected) {
    int ok = seen && expected && strcmp(seen, expected) == 0;
    if (check_count(ok))
        check_say("%s:%d: %s: expected \"%s\", seen \"%s\"", file, line, what,
                  expected ? expected : "(null)", seen ? seen : "(null)");
    return ok;
}

/* Integers and pointers; each argument is evaluated once and widened to 64 bits. All of them give 1
 * when the check held, 0 when not, and leave errno alone. */
#define CHECK_OP_(op, what, seen, expected)                                                        \
    __extension__({                                                                                \
        uint64_t check_s_ = (uint64_t)(seen), check_e_ = (uint64_t)(expected);                     \
        check_ints(__FILE__, __LINE__, what, #op, check_s_ op check_e_, check_s_, check_e_);       \
    })
#define CHECK_EQ(seen, expected) CHECK_OP_(==, #seen, seen, expected)
#define CHECK_NE(seen, not_this) CHECK_OP_(!=, #seen, seen, not_this)
#define CHECK_GE(seen, least) CHECK_OP_(>=, #seen, seen, least) /* unsigned */
#define CHECK_LE(seen, most) CHECK_OP_(<=, #seen, seen, most)   /* unsigned */
#define CHECK_TRUE(x) CHECK_OP_(==, #x, !!(x), 1)
#define CHECK_FALSE(x) CHECK_OP_(==, #x, !!(x), 0)
#define CHECK_NULL(p) CHECK_OP_(==, #p, (uintptr_t)(p), 0)
#define CHECK_NOT_NULL(p) CHECK_OP_(!=, #p, (uintptr_t)(p), 0)
#define CHECK_STR(seen, expected) check_text(__FILE__, __LINE__, #seen, seen, expected)

/* The low bits of p are zero; prints the address that is not aligned. */
#define CHECK_ALIGNED(p, alignment)                                                                \
    __extension__({                                                                                \
        uint64_t check_p_ = (uint64_t)(uintptr_t)(p), check_a_ = (uint64_t)(alignment);            \
        check_ints(__FILE__, __LINE__, #p " aligned to " #alignment,                               \
                   "==", check_p_ % check_a_ == 0, check_p_, check_p_ - check_p_ % check_a_);      \
    })

/* The call fails as it must: NULL, and errno says why. */
#define CHECK_FAILS(call, error)                                                                   \
    do {                                                                                           \
        errno = 0;                                                                                 \
        void *check_fails_ = (call);                                                               \
        int check_errno_ = errno;                                                                  \
        check_ints(__FILE__, __LINE__, #call, "==", check_fails_ == NULL,                          \
                   (uint64_t)(uintptr_t)check_fails_, 0);                                          \
        check_ints(__FILE__, __LINE__, "errno after " #call, "==", check_errno_ == (error),        \
                   (uint64_t)check_errno_, (uint64_t)(error));                                     \
    } while (0)

#define CHECK_DONE() check_done(__FILE__)
#define CHECK_SKIP(why) (check_say("%s: skipped: %s", __FILE__, why), exit(CHECK_SKIPPED))

__attribute__((unused)) static int check_done(const char *file) {
    check_say("%s: %u checks, %u failed", file, check_state.n_checks, check_state.n_failed);
    if (check_state.n_checks == 0) check_say("%s: checked nothing, which proves nothing", file);
    return check_state.n_failed || !check_state.n_checks;
}

/* ---- what the compiler must not see through */

/* An allocation whose result is not used may be removed, and a size known to be absurd is a warning. */
__attribute__((unused)) static inline void *opaque(void *p) {
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}
__attribute__((unused)) static inline size_t opaque_size(size_t n) {
    __asm__ volatile("" : "+r"(n));
    return n;
}

/* ---- names that no header declares, and the proof that the library is there */

/* Both give the address of `name` as the program sees it. SYMBOL(type, name) is NULL when there is none.
 * ADDRESS_OF(name) is for what the program also calls by its name: in a static link a weak mention
 * would make every other mention in the file weak, and a weak one pulls nothing out of an archive. */
#ifdef VT_STATIC
#define SYMBOL(type, name)                                                                         \
    __extension__({                                                                                \
        extern char symbol_##name[] __asm__(#name) __attribute__((weak));                          \
        (type) opaque(symbol_##name);                                                              \
    })
#define ADDRESS_OF(name)                                                                           \
    __extension__({                                                                                \
        extern char address_of_##name[] __asm__(#name);                                            \
        opaque(address_of_##name);                                                                 \
    })
#else
#define SYMBOL(type, name) ((type)dlsym(RTLD_DEFAULT, #name))
#define ADDRESS_OF(name) dlsym(RTLD_DEFAULT, #name)
#endif

__attribute__((unused)) static int check_expects_vitrine(void) {
    const char *e = getenv("VT_EXPECT_VITRINE");
    return e && strcmp(e, "1") == 0;
}

#ifdef VT_STATIC
/* A strong reference: without libvitrine.a the program does not even link. */
#ifdef __cplusplus
extern "C" {
#endif
extern char check_vt_version[] __asm__("vt_version");
#ifdef __cplusplus
}
#endif

/* glibc's malloc serves small blocks from the brk heap, which Vitrine never touches. */
__attribute__((unused)) static int check_comes_from_library(const char *name, void *address) {
    void *volatile p = malloc(24);
    int in_brk_heap = (uintptr_t)p < (uintptr_t)sbrk(0);
    free(p);
    if (opaque(check_vt_version) && address && !in_brk_heap) return 1;
    check_say("expected %s from libvitrine.a, seen address %p, small block %p, brk %p", name,
              address, p, sbrk(0));
    return 0;
}
#else
__attribute__((unused)) static int check_comes_from_library(const char *name, void *address) {
    Dl_info ours, theirs;
    void *version = dlsym(RTLD_DEFAULT, "vt_version");
    memset(&ours, 0, sizeof ours);
    memset(&theirs, 0, sizeof theirs);
    if (address) dladdr(address, &theirs);
    if (version && dladdr(version, &ours) && theirs.dli_fbase == ours.dli_fbase) return 1;
    check_say("expected %s from the library under test (%s), seen it from %s", name,
              version ? ours.dli_fname : "no vt_version in this process",
              theirs.dli_fname ? theirs.dli_fname : "nowhere");
    return 0;
}
#endif

/* With VT_EXPECT_VITRINE=1: `address`, known as `name`, belongs to Vitrine. Otherwise any peer will do. */
#define CHECK_OURS(name, address)                                                                  \
    do {                                                                                           \
        if (check_expects_vitrine()) CHECK_TRUE(check_comes_from_library(name, address));          \
    } while (0)

/* First line of every main(): a preload that did not happen must not pass. */
__attribute__((unused)) static void check_allocator(void) {
    if (!check_expects_vitrine()) return;
    if (check_comes_from_library("malloc", ADDRESS_OF(malloc)) &&
        check_comes_from_library("free", ADDRESS_OF(free)))
        return;
    check_say("LD_PRELOAD='%s'", getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "");
    exit(1);
}

/* ---- contents: a block is filled with a pattern of its own, so overlap and loss show */

__attribute__((unused)) static void fill(void *p, size_t n, unsigned seed) {
    unsigned char *b = (unsigned char *)p;
    for (size_t i = 0; i < n; i++) b[i] = (unsigned char)(seed * 31u + i * 7u + (i >> 8));
}

/* Gives the offset of the first byte that differs, or n. */
__attribute__((unused)) static size_t intact(const void *p, size_t n, unsigned seed) {
    const unsigned char *b = (const unsigned char *)p;
    for (size_t i = 0; i < n; i++)
        if (b[i] != (unsigned char)(seed * 31u + i * 7u + (i >> 8))) return i;
    return n;
}

__attribute__((unused)) static size_t first_nonzero(const void *p, size_t n) {
    const unsigned char *b = (const unsigned char *)p;
    uint64_t word = 0;
    size_t i = 0;
    while (i + sizeof word <= n && word == 0) { /* eight at a time: blocks may be large */
        memcpy(&word, b + i, sizeof word);
        if (word == 0) i += sizeof word;
    }
    while (i < n && b[i] == 0) i++;
    return i;
}

/* Memory for a test's own books that does not come from malloc. */
__attribute__((unused)) static void *pages(size_t n_bytes) {
    void *p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) return p;
    check_say("cannot map %zu bytes: %s", n_bytes, strerror(errno));
    exit(1);
}

#endif
