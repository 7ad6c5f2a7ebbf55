/* locks.c - libc's functions that wait for a lock or a condition. While a contention profile is being made, waits in them are told
 * to probe/waits.c. Shared libraries only: no_locks.c is the other choice.
 *
 *   pthread_mutex_lock        load, jump                     what every call costs
 *     -> first_...            finds libc's, once
 *     -> libc's own           while no profile is being made
 *     -> timed_...            else: tries, and if that fails, waits with an eye on the clock
 *
 * A profile may begin inside malloc or in a signal handler (life/control.c), where libc must not be asked for anything: what was never
 * called yet stays with first_..., which looks at `is_watched` when it has found libc's.
 *
 * To try first is right for nearly all kinds of locks: what cannot be had at once, for whichever reason (an error-checking mutex that
 * is ours), is left to the real function, which knows what to answer. A wait that is cancelled is not counted.
 *
 * Old glibc has conditions of two layouts by the same name; those of 2.3.2 are meant by everything that was linked since 2003, and
 * asked for by that version.
 *
 * Climate: host, and whatever the program's calls come from.   Owns: which function is called.   Locks: none.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/base.h"
#include "life/upcalls.h"
#include "os/os.h"
#include "probe/waits.h"

#ifndef __GLIBC__ /* musl has none of them */
int pthread_mutex_clocklock(pthread_mutex_t *restrict m, clockid_t c,
                            const struct timespec *restrict t);
int pthread_rwlock_clockrdlock(pthread_rwlock_t *restrict l, clockid_t c,
                               const struct timespec *restrict t);
int pthread_rwlock_clockwrlock(pthread_rwlock_t *restrict l, clockid_t c,
                               const struct timespec *restrict t);
int pthread_cond_clockwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m, clockid_t k,
                           const struct timespec *restrict t);
#endif

/* glibc's dlvsym, which others have not. */
extern void *find_version(void *handle, const char *name, const char *version) __asm__("dlvsym")
    __attribute__((weak));

static void *find(const char *name, const char *version) {
    void *f =
        version != NULL && find_version != NULL ? find_version(RTLD_NEXT, name, version) : NULL;
    return f != NULL ? f : dlsym(RTLD_NEXT, name);
}

#define NO_VERSION NULL
#define CONDITIONS "GLIBC_2.3.2" /* where there are two; elsewhere there is no such version */

static bool is_had(int err) { return err == 0 || err == EOWNERDEAD; }

/* glibc's pthread_mutex_trylock of a robust mutex that cannot be recovered leaves it locked, and the next lock waits for good (2.36).
 * So robust ones are not tried, and also counted when they were free: as waits of some 50 ns. */
static int try_mutex(pthread_mutex_t *m) {
#ifdef __GLIBC__
    enum { IS_ROBUST = 16 };
    if ((m->__data.__kind & IS_ROBUST) != 0) return EBUSY;
#endif
    return pthread_mutex_trylock(m);
}

#define NEVER_AT_ONCE(...) EBUSY

/* NAME(PARAMETERS) calls with ARGUMENTS; TRY(TRIED) takes it without waiting. */
#define LOCKS(ROW)                                                                                 \
    ROW(pthread_mutex_lock, (pthread_mutex_t * m), (m), try_mutex, (m), NO_VERSION)                \
    ROW(pthread_mutex_timedlock, (pthread_mutex_t *restrict m, const struct timespec *restrict t), \
        (m, t), try_mutex, (m), NO_VERSION)                                                        \
    ROW(pthread_mutex_clocklock,                                                                   \
        (pthread_mutex_t *restrict m, clockid_t c, const struct timespec *restrict t), (m, c, t),  \
        try_mutex, (m), NO_VERSION)                                                                \
    ROW(pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l), pthread_rwlock_tryrdlock, (l),         \
        NO_VERSION)                                                                                \
    ROW(pthread_rwlock_timedrdlock,                                                                \
        (pthread_rwlock_t *restrict l, const struct timespec *restrict t), (l, t),                 \
        pthread_rwlock_tryrdlock, (l), NO_VERSION)                                                 \
    ROW(pthread_rwlock_clockrdlock,                                                                \
        (pthread_rwlock_t *restrict l, clockid_t c, const struct timespec *restrict t), (l, c, t), \
        pthread_rwlock_tryrdlock, (l), NO_VERSION)                                                 \
    ROW(pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l), pthread_rwlock_trywrlock, (l),         \
        NO_VERSION)                                                                                \
    ROW(pthread_rwlock_timedwrlock,                                                                \
        (pthread_rwlock_t *restrict l, const struct timespec *restrict t), (l, t),                 \
        pthread_rwlock_trywrlock, (l), NO_VERSION)                                                 \
    ROW(pthread_rwlock_clockwrlock,                                                                \
        (pthread_rwlock_t *restrict l, clockid_t c, const struct timespec *restrict t), (l, c, t), \
        pthread_rwlock_trywrlock, (l), NO_VERSION)                                                 \
    ROW(pthread_cond_wait, (pthread_cond_t *restrict c, pthread_mutex_t *restrict m), (c, m),      \
        NEVER_AT_ONCE, (c), CONDITIONS)                                                            \
    ROW(pthread_cond_timedwait,                                                                    \
        (pthread_cond_t *restrict c, pthread_mutex_t *restrict m,                                  \
         const struct timespec *restrict t),                                                       \
        (c, m, t), NEVER_AT_ONCE, (c), CONDITIONS)                                                 \
    ROW(pthread_cond_clockwait,                                                                    \
        (pthread_cond_t *restrict c, pthread_mutex_t *restrict m, clockid_t k,                     \
         const struct timespec *restrict t),                                                       \
        (c, m, k, t), NEVER_AT_ONCE, (c), NO_VERSION)

static _Atomic bool is_watched; /* a profile is being made */

/* For each: its type, where libc's is (NULL: not looked for yet, or there is none), and what is called. */
#define DECLARE(name, parameters, arguments, try, tried, version)                                  \
    typedef int name##_type parameters;                                                            \
    static name##_type first_##name;                                                               \
    static _Atomic(name##_type *) real_##name;                                                     \
    static _Atomic(name##_type *) now_##name = first_##name;
LOCKS(DECLARE)

/* acquire, here and in the names below: real_ is there when timed_ is found; pairs with watch. relaxed else: it is an address.
 * seq_cst: first_ writes real_ and reads is_watched, watch writes is_watched and reads real_. So either the first sees the watch,
 * or the watch the function, and puts the right one in its place; then the exchange here finds that it came too late. */
#define DEFINE(name, parameters, arguments, try, tried, version)                                   \
    static int timed_##name parameters {                                                           \
        int err = try tried;                                                                       \
        if (is_had(err)) return err;                                                               \
        name##_type *real = atomic_load_explicit(&real_##name, memory_order_relaxed);              \
        uint64_t since_ns = vt__os_now_ns();                                                       \
        err = real arguments;                                                                      \
        vt__wait_ended((uintptr_t)name, since_ns);                                                 \
        return err;                                                                                \
    }                                                                                              \
    static VT_COLD int first_##name parameters {                                                   \
        name##_type *first = first_##name;                                                         \
        name##_type *real = (name##_type *)find(#name, version);                                   \
        if (real == NULL) return ENOSYS; /* older than the function */                             \
        atomic_store_explicit(&real_##name, real, memory_order_seq_cst);                           \
        bool is_timed = atomic_load_explicit(&is_watched, memory_order_seq_cst);                   \
        (void)atomic_compare_exchange_strong_explicit(&now_##name, &first,                         \
                                                      is_timed ? timed_##name : real,              \
                                                      memory_order_release, memory_order_relaxed); \
        return is_timed ? timed_##name arguments : real arguments;                                 \
    }                                                                                              \
    VT_EXPORT int name parameters {                                                                \
        return atomic_load_explicit(&now_##name, memory_order_acquire) arguments;                  \
    }
LOCKS(DEFINE)

int vt__watch_locks(bool on) {
    atomic_store_explicit(&is_watched, on, memory_order_seq_cst);
#define WATCH(name, parameters, arguments, try, tried, version)                                    \
    {                                                                                              \
        name##_type *real = atomic_load_explicit(&real_##name, memory_order_seq_cst);              \
        if (real != NULL)                                                                          \
            atomic_store_explicit(&now_##name, on ? timed_##name : real, memory_order_release);    \
    }
    LOCKS(WATCH)
    return 0;
}
