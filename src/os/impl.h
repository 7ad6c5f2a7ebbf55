/* impl.h - what the os room shares with itself: the raw system call, and the places where a test may make
 * one fail. Climate: malloc. */
#ifndef VT_OS_IMPL_H
#define VT_OS_IMPL_H

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "os/os.h"

VT_HIDDEN_BEGIN

#define KERNEL_SIGSET_BYTES 8
#define SIGNAL_BIT(n) (UINT64_C(1) << ((n)-1))

/* Raw, because libc's wrapper writes errno, which free must leave alone. Answers -errno on failure. */
VT_INLINE long vt__syscall(long nr, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    long ret;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
#else
#error "add the system call of this architecture"
#endif
}

/* A descriptor or -errno. Never 0, 1 or 2: a program that closed its stderr would write its messages into our file. */
int vt__os_open_at(int folder, const char *name, int flags, unsigned mode);

/* Calls a test can make fail; see fail.c. */
enum vt_os_call {
    VT_CALL_RESERVE,
    VT_CALL_COMMIT,
    VT_CALL_MAP,
    VT_CALL_NOREPLACE,
    VT_CALL_PURGE,
    VT_CALL_MOVE,
    VT_CALL_HUGEPAGES,
    VT_CALL_NAME,
    VT_CALL_RANDOM,
    VT_CALL_SYSFS,
    VT_CALL_PROC, /* opening what is below /proc */
    VT_CALL_POPULATE,
    VT_CALL_FILE, /* create, write, close, rename of files we make */
    VT_CALL_COUNT
};

#ifdef VT_WITH_AUDIT
int vt__os_forced_failure(enum vt_os_call call); /* 0, or the -errno to answer */
#else
VT_INLINE int vt__os_forced_failure(enum vt_os_call call) {
    (void)call;
    return 0;
}
#endif

VT_HIDDEN_END

#endif
