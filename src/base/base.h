/* base.h - the words every file here uses: compiler hints, units, asserts, bit and pointer helpers.
 *
 * Climate: any.   Owns: nothing.   Callers: everyone.
 */
#ifndef VT_BASE_BASE_H
#define VT_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define vt_likely(x) __builtin_expect(!!(x), 1)
#define vt_unlikely(x) __builtin_expect(!!(x), 0)
#define VT_COLD __attribute__((cold, noinline))
#define VT_NOINLINE __attribute__((noinline))
#define VT_INLINE static inline __attribute__((always_inline))
#define VT_EXPORT __attribute__((visibility("default")))
#define VT_WEAK __attribute__((weak))
#define VT_NORETURN __attribute__((noreturn))
#define VT_ALIGNED(n) __attribute__((aligned(n)))
#define VT_UNUSED __attribute__((unused))
/* A function that reads what other threads are writing, and whose result may be off by that: each says why it is
 * harmless. The thread sanitizer is not told of its reads; nothing else in the library hides from it. */
#define VT_READS_RACILY __attribute__((noinline, no_sanitize("thread")))

/* Around the declarations of a header of ours: calls and variables are then reached directly, not through the GOT. */
#define VT_HIDDEN_BEGIN _Pragma("GCC visibility push(hidden)")
#define VT_HIDDEN_END _Pragma("GCC visibility pop")

/* Literals carry their unit. */
#define KiB(n) ((size_t)(n) << 10)
#define MiB(n) ((size_t)(n) << 20)
#define GiB(n) ((size_t)(n) << 30)
#define TiB(n) ((size_t)(n) << 40)
#define MSEC(n) ((uint64_t)(n))

#define VT_OS_PAGE KiB(4)
#define VT_CACHE_LINE 64

#define vt_countof(a) (sizeof(a) / sizeof((a)[0]))

VT_INLINE size_t vt_round_up(size_t n, size_t step) { return (n + step - 1) & ~(step - 1); }
VT_INLINE size_t vt_round_down(size_t n, size_t step) { return n & ~(step - 1); }
VT_INLINE bool vt_is_pow2(size_t n) { return n != 0 && (n & (n - 1)) == 0; }
VT_INLINE size_t vt_min(size_t a, size_t b) { return a < b ? a : b; }
VT_INLINE size_t vt_max(size_t a, size_t b) { return a > b ? a : b; }
VT_INLINE size_t vt_div_up(size_t n, size_t d) { return (n + d - 1) / d; }
/* 63 ^, not 63 -: gcc knows the instruction for it. */
VT_INLINE unsigned vt_log2(uint64_t n) { return 63u ^ (unsigned)__builtin_clzll(n); }

/* Bits that are set: in pairs, in fours, in eights, and the eight sums added up in the top byte. The built-in one is a call where
 * the processor is not known to have an instruction for it. */
VT_INLINE unsigned vt_count_bits(uint64_t n) {
    n -= n >> 1 & UINT64_C(0x5555555555555555);
    n = (n & UINT64_C(0x3333333333333333)) + (n >> 2 & UINT64_C(0x3333333333333333));
    n = (n + (n >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(n * UINT64_C(0x0101010101010101) >> 56);
}

/* Where the compiler would move a value between registers for nothing on the fast path: keep x in this one. */
#if defined(__x86_64__)
#define VT_KEEP_IN_RAX(x) __asm__("" : "+a"(x))
#define VT_KEEP_IN_RCX(x) __asm__("" : "+c"(x))
#else
#define VT_KEEP_IN_RAX(x) ((void)(x))
#define VT_KEEP_IN_RCX(x) ((void)(x))
#endif

VT_INLINE void vt_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Three strengths: VT_ASSERT is the caller's promise, VT_AUDIT walks a structure, VT_TRAP-like reports
 * about the user's own mistakes live in heap/check.c and are never compiled out. Both forms below end the
 * process with one line; they exist in the audit build only. */
#ifdef VT_WITH_AUDIT
VT_NORETURN void vt__assert_failed(const char *what, const char *file, int line);
#define VT_ASSERT(x) ((x) ? (void)0 : vt__assert_failed(#x, __FILE__, __LINE__))
#define VT_AUDIT(x) VT_ASSERT(x)
#else
#define VT_ASSERT(x) ((void)sizeof(x))
#define VT_AUDIT(x) ((void)0)
#endif

#endif
