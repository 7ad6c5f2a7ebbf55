/* rlimit.c - setrlimit and prlimit: the system call, and a word to the heap when the process's own addresses are limited.
 *
 * The heap reserves a window of a TiB, which costs nothing until somebody limits addresses (RLIMIT_AS) while the program runs: then
 * every later mmap and pthread_create would fail. So it gives back what it does not use. A limit that another process sets
 * (prlimit --pid) is not seen here, but by the first mapping or thread that fails: mmap.c, pthread.c, in shared libraries only.
 *
 * In a static library the names are weak: a program that calls one gets ours, one that defines one has its own.
 *
 * Translation, no logic. Climate: signal; libc's may be called in handlers, and between fork and exec.
 */
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "heap/heap.h"
#include "os/os.h"

#ifdef __GLIBC__
typedef __rlimit_resource_t resource_type;
#else
typedef int resource_type;
#endif
_Static_assert(sizeof(rlim_t) == sizeof(uint64_t), "the system call's limits are libc's");

static int limit(int pid, int resource, const struct rlimit *now, struct rlimit *before) {
    int err = vt__os_program_prlimit(pid, resource, now, before);
    if (err != 0) {
        errno = -err;
        return -1;
    }
    if (now == NULL || (pid != 0 && pid != vt__os_pid())) return 0;
    size_t n_bytes = now->rlim_cur == RLIM_INFINITY ? SIZE_MAX : vt_max(now->rlim_cur, 1);
    if (resource == RLIMIT_DATA) vt__os_tell_data_limit(n_bytes);
    if (resource == RLIMIT_AS) {
        vt__os_tell_address_limit(n_bytes);
        (void)vt__heap_few_addresses();
    }
    return 0;
}

VT_EXPORT VT_WEAK int setrlimit(resource_type resource, const struct rlimit *now) {
    return limit(/* pid */ 0, (int)resource, now, NULL);
}

VT_EXPORT VT_WEAK int prlimit(pid_t pid, resource_type resource, const struct rlimit *now,
                              struct rlimit *before) {
    return limit(pid, (int)resource, now, before);
}

#ifdef __GLIBC__ /* in musl these are macros */
VT_EXPORT VT_WEAK int setrlimit64(resource_type resource, const struct rlimit64 *now) {
    return limit(/* pid */ 0, (int)resource, (const struct rlimit *)now, NULL);
}

VT_EXPORT VT_WEAK int prlimit64(pid_t pid, resource_type resource, const struct rlimit64 *now,
                                struct rlimit64 *before) {
    return limit(pid, (int)resource, (const struct rlimit *)now, (struct rlimit *)before);
}
#endif
