/* stack.h - call stacks: taking them, and a depot that keeps each distinct one once.
 *
 * Climate: signal. No malloc, no lock, errno untouched; every function here may be called from inside malloc, from ld.so,
 * from an ifunc resolver and from a signal handler that interrupted any of them, or a walk.
 *
 * A stack is a list of addresses, innermost first. All but the first of an interrupted context are return addresses: the
 * call is the instruction before. Stacks that cannot be followed to their end (code of a JIT compiler, assembly without
 * unwinding tables, damage) are cut where the trail is lost, and the reason is counted.
 */
#ifndef VT_STACK_STACK_H
#define VT_STACK_STACK_H

#include <stdatomic.h>

#include "base/base.h"

VT_HIDDEN_BEGIN

typedef uint32_t vt_stack_id; /* 0: none or lost */
#define VT_STACK_MAX_ID (1u << 20)

#define VT_STACK_MAX_FRAMES 250
struct vt_frames { /* return addresses, innermost first */
    unsigned n;
    uint64_t
        hash; /* of pc[0..n), see vt__frames_hash; the depot finds stacks by it, and compares all the same */
    uintptr_t pc[VT_STACK_MAX_FRAMES];
};

/* The caller's stack. Frames of our own library are left out where they come first, so pc[0] is the caller of malloc. */
void vt__stack_here(struct vt_frames *out);

/* What somebody keeps for each stack: rows by id, in blocks of VT_BLOCK_ROWS, of which some are missing. */
#define VT_BLOCK_ROWS 256
struct vt_stack_rows {
    const _Atomic(void *) *block;
    size_t row_bytes;
};

/* The same as an id of the depot; 0: lost. Faster than taking and putting it where stacks recur. `scratch` is ours meanwhile.
 * Memory is what takes longest where they do not: the caller's row (NULL: it has none) is fetched while frames are compared. */
vt_stack_id vt__stack_id_here(struct vt_frames *scratch, const struct vt_stack_rows *rows);

/* The same for callers that may ask libc, see vt__stack_poll_modules: it is asked unless the stack is like the last one, whose
 * return addresses tell by themselves. Climate: malloc, no lock of ours held. */
vt_stack_id vt__stack_id_polled(struct vt_frames *scratch);

/* From a signal handler, with its third argument: pc[0] is the interrupted pc itself. */
void vt__stack_of_context(const void *ucontext, struct vt_frames *out);

/* The caller's stack without its first `n_skipped` frames. Returns how many addresses it wrote, at most max.
 * From a signal handler, with its ucontext: its own frames count too, as in gperftools; the interrupted pc comes after them. If
 * the walk does not get there (another stack, another thread's context), it is the stack of the context, whole. */
unsigned vt__stack_copy(const void *ucontext, unsigned n_skipped, void **out, unsigned max);

/* Are there unwinding tables for our own code? Without them no stack begins. False only in a program that we are part of. */
bool vt__stack_has_tables(void);

/* Is this an address of our own code? */
bool vt__is_own(uintptr_t pc);

/* What `hash` must be, for frames that were put together by other means. */
uint64_t vt__frames_hash(const uintptr_t *pc, unsigned n);

/* The id of these frames; a new one if nobody put them before. 0 when the depot is full or there are no frames. Never
 * waits. Two threads that put the same new frames at the same moment may, very rarely, get two ids. */
vt_stack_id vt__depot_put(const struct vt_frames *f);
vt_stack_id vt__depot_put_with(const struct vt_frames *f, const struct vt_stack_rows *rows);

/* Number of frames of a stack and, through *pc, where they are: for good. Nobody changes or frees them, but for the mark of a
 * library that goes (struct vt_gone). Wait-free.
 * Ids are 1..vt__depot_count(); one that is not known, or only just being put by another thread, has 0 frames. */
unsigned vt__depot_get(vt_stack_id id, const uintptr_t **pc);
uint32_t vt__depot_count(void);

/* To be called after a library was unloaded: what was known of its code is forgotten. Not from a handler, and with no lock of
 * ours held: it may ask libc for the list of modules, which takes libc's lock. */
void vt__stack_modules_changed(void);

/* Before the program's first dlopen, under the same conditions: the modules that are there will stay. */
void vt__stack_modules_stay(void);

/* Around dlclose, under the same conditions; the second does the above. Between them no other thread's walk reads the tables
 * of a library that may go, and the first waits until none does. */
void vt__stack_unload_begins(void);
void vt__stack_unload_ends(void);

/* To be called now and then before a walk, under the same conditions: asks libc how many modules came and went, and does the
 * above if it must. So unloads that nobody told us of (iconv, NSS) are noticed and, where libc has no _dl_find_object (musl,
 * glibc before 2.35), new libraries too. Unless `always`, only if a walk met an unknown address since the last time. */
void vt__stack_poll_modules(bool always);
/* In the child of a process with threads: libc's lock may be held for good there, and who was at the tables is gone. */
void vt__stack_forget_threads(void);

/* A library that is loaded no more, and that stacks of the depot lead to: their addresses in it, and so `start` and `end`, have
 * its number above the 48 bits of an address, which tells them from those of what came to its place. */
#define VT_BUILD_ID_BYTES 32
struct vt_gone {
    uintptr_t start, end; /* of its code */
    uint64_t file_offset, elf_delta;
    const char *path; /* absolute; stays */
    const uint8_t *build_id;
    unsigned n_build_id;
};
bool vt__stack_gone_next(uint32_t *cursor, struct vt_gone *out); /* *cursor begins as 0 */
/* The build id in ELF notes, and how many bytes it has; 0: there is none. */
unsigned vt__build_id_of_note(const uint8_t *note, size_t n_bytes, size_t align,
                              uint8_t out[VT_BUILD_ID_BYTES]);

/* The end of the calling thread will be told, by the next call: walks of its handlers too may take memory. */
void vt__stack_thread_is_watched(void);

/* To be called by a thread that ends: its memory for walks goes to the next thread. It may walk again afterwards. */
void vt__stack_thread_ends(void);

/* How a walk ended. */
enum vt_stack_end {
    VT_END_OUTERMOST,   /* the first function of the thread */
    VT_END_LIMIT,       /* VT_STACK_MAX_FRAMES were taken, there are more */
    VT_END_NO_MODULE,   /* an address in no module: generated code, or damage */
    VT_END_NO_RULE,     /* a module that says nothing of this address */
    VT_END_UNSUPPORTED, /* a rule of a kind we do not follow, or no room for another rule */
    VT_END_UNREADABLE,  /* the next frame would be where no memory is */
    VT_END_LOOP,        /* a frame that leads to itself */
    VT_END_COUNT
};

struct vt_stack_stats {
    uint64_t n_walks, n_frames;
    uint64_t n_rule_misses; /* addresses whose rule was decoded, not found in the cache */
    uint64_t n_memo_hits;   /* walks whose rest was the same as the walk before */
    uint64_t ended[VT_END_COUNT];
    uint64_t n_stacks, n_lost, depot_bytes;
};
void vt__stack_stats(
    struct vt_stack_stats *out); /* since start, all threads; approximate while threads walk */

VT_HIDDEN_END

#endif
