/* libc_parts.h - parts of libc that are in no header of it, for those who would otherwise each declare them. Climate: host. */
#ifndef VT_OS_LIBC_PARTS_H
#define VT_OS_LIBC_PARTS_H

/* This library, as libc's lists of handlers know it. */
extern void *__dso_handle __attribute__((visibility("hidden")));

/* What atexit and pthread_atfork are made of in glibc: those are pieces of code linked into each library, behind all of ours, and to
 * call them would make the last 64 KiB of the library resident in every program. Not in musl: the second. */
extern int __cxa_atexit(void (*handler)(void *), void *arg, void *dso);
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                             void *dso) __attribute__((weak));

#endif
