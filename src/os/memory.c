/* memory.c - address space: reserving, committing, purging, moving.
 *
 * Climate: malloc.   Owns: nothing.   Callers: heap/, os/arena.
 * Each call that may be missing on an old kernel (down to 4.4) has its fallback here or answers -ENOSYS,
 * and the caller does it another way.
 */
#include <sys/mman.h>
#include <sys/prctl.h>

#include "os/impl.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* The kernel may hand what one thread gave back to another at once, and its lock orders the two. The thread sanitizer does not see
 * raw system calls, and is told. */
#ifdef __SANITIZE_THREAD__
extern void __tsan_acquire(void *addr);
extern void __tsan_release(void *addr);
static char mappings;
#define ORDER_TAKE() __tsan_acquire(&mappings)
#define ORDER_GIVE() __tsan_release(&mappings)
#else
#define ORDER_TAKE() ((void)0)
#define ORDER_GIVE() ((void)0)
#endif

static int address_of(long answer, void **out) {
    if (answer < 0 && answer > -4096) return (int)answer;
    *out = (void *)answer;
    return 0;
}

int vt__os_program_mmap(void *at, size_t n_bytes, int prot, int flags, int fd, long offset,
                        void **out) {
    return address_of(vt__syscall(SYS_mmap, (long)at, (long)n_bytes, prot, flags, fd, offset), out);
}

int vt__os_program_munmap(void *at, size_t n_bytes) {
    return (int)vt__syscall(SYS_munmap, (long)at, (long)n_bytes, 0, 0, 0, 0);
}

int vt__os_program_mremap(void *at, size_t old_bytes, size_t new_bytes, int flags, void *to,
                          void **out) {
    return address_of(
        vt__syscall(SYS_mremap, (long)at, (long)old_bytes, (long)new_bytes, flags, (long)to, 0),
        out);
}

static int map(void *hint, size_t n_bytes, int prot, int flags, void **out) {
    return vt__os_program_mmap(hint, n_bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0,
                               out);
}

int vt__os_unmap(void *at, size_t n_bytes) {
    ORDER_GIVE();
    return n_bytes == 0 ? 0 : vt__os_program_munmap(at, n_bytes);
}

void *vt__os_program_break(void) { return (void *)vt__syscall(SYS_brk, 0, 0, 0, 0, 0, 0); }

int vt__os_reserve(size_t n_bytes, size_t align, void **out) {
    int err = vt__os_forced_failure(VT_CALL_RESERVE);
    if (err != 0) return err;
    void *at = NULL;
    err = map(NULL, n_bytes + align, PROT_NONE, MAP_NORESERVE, &at);
    if (err != 0) return err;
    uintptr_t start = vt_round_up((uintptr_t)at, align);
    vt__os_unmap(at, start - (uintptr_t)at);
    vt__os_unmap((void *)(start + n_bytes), align - (start - (uintptr_t)at));
    *out = (void *)start;
    return 0;
}

int vt__os_commit(void *at, size_t n_bytes) {
    int err = vt__os_forced_failure(VT_CALL_COMMIT);
    if (err != 0) return err;
    return (int)vt__syscall(SYS_mprotect, (long)at, (long)n_bytes, PROT_READ | PROT_WRITE, 0, 0, 0);
}

int vt__os_protect(void *at, size_t n_bytes, bool readable) {
    return (int)vt__syscall(SYS_mprotect, (long)at, (long)n_bytes, readable ? PROT_READ : PROT_NONE,
                            0, 0, 0);
}

int vt__os_map(size_t n_bytes, void **out) {
    int err = vt__os_forced_failure(VT_CALL_MAP);
    if (err != 0) return err;
    err = map(NULL, n_bytes, PROT_READ | PROT_WRITE, 0, out);
    ORDER_TAKE();
    return err;
}

static int map_here(void *at, size_t n_bytes, int prot, int flags) {
    if (vt__os_forced_failure(VT_CALL_NOREPLACE) == 0) flags |= MAP_FIXED_NOREPLACE;
    void *got = NULL;
    int err = map(at, n_bytes, prot, flags, &got);
    if (err != 0) return err;
    if (got == at) return 0;
    vt__os_unmap(got, n_bytes); /* before 4.17 the address is only a hint, and it was taken */
    return -EEXIST;
}

int vt__os_map_at(void *at, size_t n_bytes) {
    int err = vt__os_forced_failure(VT_CALL_MAP);
    return err != 0 ? err : map_here(at, n_bytes, PROT_READ | PROT_WRITE, /* flags */ 0);
}

int vt__os_reserve_at(void *at, size_t n_bytes) {
    int err = vt__os_forced_failure(VT_CALL_RESERVE);
    return err != 0 ? err : map_here(at, n_bytes, PROT_NONE, MAP_NORESERVE);
}

/* Between a program's own places and the system's nothing lives, but for a sanitizer's shadow, which may be large. Where that is in
 * the way, places below the system's own are tried: the shadow leaves those to the program. */
#define PLACES_LOW TiB(16)
#define PLACES_BELOW GiB(256)
#define PLACES_BELOW_SPAN GiB(160)
#define PLACE_TRIES 16

/* A place in [low, low + span); the last one tried where all are taken, and *err says so. */
static uintptr_t draw_from(uintptr_t low, size_t span, size_t n_bytes, size_t align, int *err) {
    uintptr_t at = 0;
    for (unsigned i = 0; i < PLACE_TRIES; i++) {
        at = (low + vt__os_random() % span) & ~(align - 1);
        *err = map_here((void *)at, n_bytes, PROT_NONE, MAP_NORESERVE);
        if (*err == 0) vt__os_unmap((void *)at, n_bytes);
        if (*err != -EEXIST) break;
    }
    return at;
}

uintptr_t vt__os_draw_place(size_t n_bytes, size_t align) {
    int err = 0;
    uintptr_t at = draw_from(PLACES_LOW, PLACES_LOW, n_bytes, align, &err);
    if (vt_likely(err != -EEXIST)) return at;
    void *systems = NULL;
    if (map(NULL, n_bytes, PROT_NONE, MAP_NORESERVE, &systems) != 0) return at;
    vt__os_unmap(systems, n_bytes);
    return draw_from((uintptr_t)systems - PLACES_BELOW, PLACES_BELOW_SPAN, n_bytes, align, &err);
}

int vt__os_purge(void *at, size_t n_bytes) {
    int err = vt__os_forced_failure(VT_CALL_PURGE);
    if (err != 0) return err;
    return (int)vt__syscall(SYS_madvise, (long)at, (long)n_bytes, MADV_DONTNEED, 0, 0, 0);
}

/* Linux before 6.17 does not move what is more than one mapping to it (earlier moves, or the program's own mlock or madvise,
 * split them), and finds out after it has unmapped the destination: that must not stay a hole in our window. */
static int restore_destination(void *to, size_t n_bytes, int err) {
    size_t resident;
    void *got = NULL;
    if (vt__os_resident_bytes(to, n_bytes, &resident) == 0) return err; /* still there */
    if (map(to, n_bytes, PROT_READ | PROT_WRITE, MAP_NORESERVE | MAP_FIXED_NOREPLACE, &got) == 0 &&
        got == to)
        return err;
    if (got != NULL)
        vt__os_unmap(
            got, n_bytes); /* an old kernel took the address as a hint, and somebody was faster */
    return -ENOTRECOVERABLE;
}

int vt__os_move(void *from, size_t n_bytes, void *to) {
    int err = vt__os_forced_failure(VT_CALL_MOVE);
    if (err != 0) return err;
    long at = vt__syscall(SYS_mremap, (long)from, (long)n_bytes, (long)n_bytes,
                          MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, (long)to, 0);
    if (at < 0 && at > -4096) return restore_destination(to, n_bytes, (int)at);
    return 0;
}

int vt__os_hugepages(void *at, size_t n_bytes, bool allow) {
    int err = vt__os_forced_failure(VT_CALL_HUGEPAGES);
    if (err != 0) return err;
    return (int)vt__syscall(SYS_madvise, (long)at, (long)n_bytes,
                            allow ? MADV_HUGEPAGE : MADV_NOHUGEPAGE, 0, 0, 0);
}

void vt__os_core(void *at, size_t n_bytes, bool is_wanted) {
    vt__syscall(SYS_madvise, (long)at, (long)n_bytes, is_wanted ? MADV_DODUMP : MADV_DONTDUMP, 0, 0,
                0);
}

void vt__os_name(void *at, size_t n_bytes, const char *name) {
    if (vt__os_forced_failure(VT_CALL_NAME) != 0) return;
    vt__syscall(SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, (long)at, (long)n_bytes, (long)name,
                0);
}

int vt__os_resident_bytes(void *at, size_t n_bytes, size_t *out) {
    unsigned char in_core[512] = {0};
    size_t n_resident = 0;
    for (size_t done = 0; done < n_bytes; done += sizeof(in_core) * VT_OS_PAGE) {
        size_t step = vt_min(n_bytes - done, sizeof(in_core) * VT_OS_PAGE);
        long err =
            vt__syscall(SYS_mincore, (long)at + (long)done, (long)step, (long)in_core, 0, 0, 0);
        if (err != 0) return (int)err;
        for (size_t i = 0; i < step / VT_OS_PAGE; i++) n_resident += in_core[i] & 1;
    }
    *out = n_resident * VT_OS_PAGE;
    return 0;
}

/* The kernel copies the signal set before it looks at the first argument, which is none it knows. */
