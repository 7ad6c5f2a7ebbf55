/* arena.c - memory for our own tables, which is not malloc.
 *
 * Climate: malloc.   Owns: the blocks it maps.   Callers: any room that needs a table or a structure for good.
 * Nothing is ever freed: callers keep their own free lists where they recycle.
 */
#include "base/lock.h"
#include "os/os.h"

#define BLOCK_BYTES KiB(64)

static struct {
    struct vt_lock lock;
    char *next;
    char *end;
    size_t n_taken;
} arena = {.lock = VT_LOCK_INIT(VT_LOCK_ARENA)};

/* Room for n_bytes in the current block, or in a new one. */
static void *take_locked(size_t n_bytes, size_t align) {
    uintptr_t at = vt_round_up((uintptr_t)arena.next, align);
    if (arena.next == NULL || at + n_bytes > (uintptr_t)arena.end) {
        void *block = NULL;
        size_t block_bytes = vt_round_up(vt_max(n_bytes + align, BLOCK_BYTES), VT_OS_PAGE);
        if (vt__os_map(block_bytes, &block) != 0) return NULL;
        if (arena.n_taken == 0)
            vt__os_name(block, block_bytes,
                        VT_TABLES_NAME); /* later a seccomp filter may be in force */
        arena.next = block;
        arena.end = arena.next + block_bytes;
        at = vt_round_up((uintptr_t)block, align);
    }
    arena.next = (char *)at + n_bytes;
    arena.n_taken += n_bytes;
    return (void *)at;
}

void *vt__arena_take(size_t n_bytes, size_t align) {
    vt_lock(&arena.lock);
    void *p = take_locked(n_bytes, align);
    vt_unlock(&arena.lock);
    return p;
}

size_t vt__arena_bytes(void) {
    vt_lock(&arena.lock);
    size_t n = arena.n_taken;
    vt_unlock(&arena.lock);
    return n;
}

void vt__arena_fork_prepare(void) { vt_lock(&arena.lock); }

void vt__arena_fork_done(bool is_child) { vt_lock_forked(&arena.lock, is_child); }
