/* mmap.c - the calls by which a program maps memory of its own, so that profiles can tell of it (probe/maps.c).
 *
 * Translation, no logic: the system call and its errno. While nobody asked for recording a call is the system call and one
 * load. Shared libraries only: libc's own archive has these names in objects with others.
 *
 * What libc itself maps (stacks of threads, stdio, the dynamic linker's libraries) does not come here.
 *
 * Climate: malloc: other mallocs call these from inside.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap/heap.h"
#include "life/upcalls.h"
#include "os/os.h"
#include "probe/maps.h"

/* glibc's other name for its sbrk, which keeps what it knows of the break; musl's sbrk only tells where it is. */
extern void *libc_sbrk(intptr_t n_bytes) __asm__("__sbrk") __attribute__((weak));

const bool vt__sees_maps = true;

static void *failed(int err) {
    errno = -err;
    return MAP_FAILED;
}

/* Another process may have limited our addresses: then what the heap only holds goes back, once, and the call is made again. */
static bool may_try_again(int err) { return err == -ENOMEM && vt__heap_may_give_addresses(); }

static void *map(void *at, size_t n_bytes, int prot, int flags, int fd, off_t offset) {
    void *got = NULL;
    int err = vt__os_program_mmap(at, n_bytes, prot, flags, fd, offset, &got);
    if (vt_unlikely(may_try_again(err)))
        err = vt__os_program_mmap(at, n_bytes, prot, flags, fd, offset, &got);
    if (err == 0 && vt__maps_is_recording())
        vt__maps_added((uintptr_t)got, n_bytes,
                       (flags & MAP_ANONYMOUS) != 0 ? VT_MAP_ANONYMOUS : VT_MAP_FILE);
    if (err != 0) got = failed(err);
    if (vt__maps_is_on())
        vt__maps_tell(&(struct vt_map_call){.call = VT_CALL_MMAP,
                                            .at = (uintptr_t)at,
                                            .n_bytes = n_bytes,
                                            .prot = prot,
                                            .flags = flags,
                                            .fd = fd,
                                            .offset = offset,
                                            .result = (uintptr_t)got});
    return got;
}

VT_EXPORT void *mmap(void *at, size_t n_bytes, int prot, int flags, int fd, off_t offset) {
    return map(at, n_bytes, prot, flags, fd, offset);
}

#ifndef __GLIBC__ /* musl has the name in no header, or as a macro */
#undef mmap64
void *mmap64(void *at, size_t n_bytes, int prot, int flags, int fd, off_t offset);
#endif
VT_EXPORT void *mmap64(void *at, size_t n_bytes, int prot, int flags, int fd, off_t offset) {
    return map(at, n_bytes, prot, flags, fd, offset);
}

VT_EXPORT int munmap(void *at, size_t n_bytes) {
    int err =
        vt__maps_is_recording() ? vt__maps_unmap(at, n_bytes) : vt__os_program_munmap(at, n_bytes);
    if (vt__maps_is_on())
        vt__maps_tell(
            &(struct vt_map_call){.call = VT_CALL_MUNMAP, .at = (uintptr_t)at, .n_bytes = n_bytes});
    if (err == 0) return 0;
    errno = -err;
    return -1;
}

static int remap(void *at, size_t old_bytes, size_t new_bytes, int flags, void *to, void **got) {
    return vt__maps_is_recording()
               ? vt__maps_remap(at, old_bytes, new_bytes, flags, to, got)
               : vt__os_program_mremap(at, old_bytes, new_bytes, flags, to, got);
}

VT_EXPORT void *mremap(void *at, size_t old_bytes, size_t new_bytes, int flags, ...) {
    void *to = NULL, *got = NULL;
    if ((flags & MREMAP_FIXED) != 0) {
        va_list rest;
        va_start(rest, flags);
        to = va_arg(rest, void *);
        va_end(rest);
    }
    int err = remap(at, old_bytes, new_bytes, flags, to, &got);
    if (vt_unlikely(may_try_again(err))) err = remap(at, old_bytes, new_bytes, flags, to, &got);
    if (err != 0) got = failed(err);
    if (vt__maps_is_on())
        vt__maps_tell(&(struct vt_map_call){.call = VT_CALL_MREMAP,
                                            .at = (uintptr_t)at,
                                            .n_bytes = old_bytes,
                                            .new_bytes = new_bytes,
                                            .flags = flags,
                                            .to = (uintptr_t)to,
                                            .result = (uintptr_t)got});
    return got;
}

VT_EXPORT void *sbrk(intptr_t n_bytes) {
    if (libc_sbrk == NULL) return n_bytes == 0 ? vt__os_program_break() : failed(-ENOMEM);
    void *before = libc_sbrk(n_bytes);
    if (vt_unlikely(before == MAP_FAILED) && may_try_again(-errno)) before = libc_sbrk(n_bytes);
    if (!vt__maps_is_on() || n_bytes == 0) return before;
    vt__maps_tell(&(struct vt_map_call){
        .call = VT_CALL_SBRK, .n_bytes = (size_t)n_bytes, .result = (uintptr_t)before});
    if (before == MAP_FAILED || !vt__maps_is_recording()) return before;
    if (n_bytes > 0)
        vt__maps_added((uintptr_t)before, (size_t)n_bytes, VT_MAP_BREAK);
    else
        vt__maps_removed((uintptr_t)before - (uintptr_t)-n_bytes, (size_t)-n_bytes);
    return before;
}

VT_EXPORT int brk(void *end) {
    const char *now = sbrk(0);
    return sbrk((const char *)end - now) == MAP_FAILED ? -1 : 0;
}
