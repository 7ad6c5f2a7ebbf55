/* gperftools_trace.c - TCMALLOC_TRACE=1 in the debug libraries: a line for each malloc, free and realloc, in a file.
 *
 *     Trace started: 1794775624
 *     func    size    ptr    thread_id    stack pcs for tools/symbolize
 *     malloc  100     0x...  140...       0x...  0x...                      with tabs between them
 *
 * The file is that of TCMALLOC_TRACE_FILE, or /tmp/google.alloc, always a new one; where that cannot be written, stderr. A line is one
 * write, so threads need no lock. The stack begins with the caller of malloc. A pipe whose reader stops ends the trace.
 *
 * Climate: malloc.   Owns: the descriptor, which stays open.
 */
#include <stdatomic.h>

#include "dialect/gperftools.h"
#include "dialect/gperftools_debug.h"
#include "os/draft.h"
#include "os/os.h"
#include "stack/stack.h"

#define DEFAULT_FILE "/tmp/google.alloc"
#define MAX_FRAMES 16
#define STDERR 2

static _Atomic int trace_fd = -1;

static int open_file(const char *path) {
    struct vt_draft d;
    void *buf = NULL;
    int err = vt__os_map(VT_PLACE_BYTES, &buf);
    if (err != 0) return err;
    err = vt__draft_open(&d, path, buf, 0644);
    if (err == 0) err = vt__draft_end(&d, 0); /* under its name from the start */
    vt__os_unmap(buf, VT_PLACE_BYTES);
    return err != 0 ? err : d.fd;
}

static void end_of_trace(int err) {
    char buf[200];
    struct vt_text t = VT_TEXT(buf);
    const char *words = vt__os_error_words(err);
    vt__text_put(&t, "The trace of allocations ends here: ");
    vt__text_put(&t, words != NULL ? words : "it cannot be written");
    vt__say(VT_LEVEL_WARNING, &t);
}

static void put_line(const struct vt_text *t) {
    /* relaxed: another thread may write one line more */
    int fd = atomic_load_explicit(&trace_fd, memory_order_relaxed);
    if (fd < 0) return;
    struct vt_held_signals held; /* a reader that went away ends the trace, and not the program */
    vt__os_hold_write_signals(&held);
    int err = vt__os_write_all(fd, t->buf, t->len);
    vt__os_release_write_signals(&held, err);
    if (err != 0 && atomic_exchange_explicit(&trace_fd, -1, memory_order_relaxed) >= 0)
        end_of_trace(err);
}

static void say_cannot_open(enum vt_level level, const char *path, int err, const char *instead) {
    char buf[600];
    struct vt_text t = VT_TEXT(buf);
    vt__text_put(&t, "Can't open ");
    vt__text_shown(&t, path, vt__str_len(path));
    if (vt__os_is_refusal(err)) {
        vt__text_put(&t, ": ");
        vt__text_put(&t, vt__os_error_words(err));
    }
    vt__text_put(&t, instead);
    vt__say(level, &t);
}

static void put_header(void) {
    char buf[128];
    struct vt_text t = VT_TEXT(buf);
    vt__text_put(&t, "Trace started: ");
    vt__text_uint(&t, vt__os_wall_ns() / UINT64_C(1000000000));
    vt__text_put(&t, "\nfunc\tsize\tptr\tthread_id\tstack pcs for tools/symbolize\n");
    put_line(&t);
}

bool vt__debug_trace_begin(void) {
    const char *path = vt__os_getenv("TCMALLOC_TRACE_FILE");
    int fd = open_file(path != NULL ? path : DEFAULT_FILE);
    if (fd < 0 && path != NULL) {
        say_cannot_open(VT_LEVEL_ERROR, path, fd, ".  Logging disabled.");
        return false;
    }
    if (fd < 0) say_cannot_open(VT_LEVEL_WARNING, DEFAULT_FILE, fd, ".  Logging to stderr.");
    atomic_store_explicit(&trace_fd, fd < 0 ? STDERR : fd, memory_order_relaxed);
    put_header();
    return true;
}

void vt__debug_trace(const char *function, size_t n_bytes, const void *p) {
    char buf[600];
    struct vt_text t = VT_TEXT(buf);
    struct vt_frames frames;
    vt__stack_here(&frames);
    vt__text_put(&t, function);
    vt__text_char(&t, '\t');
    vt__text_uint(&t, n_bytes);
    vt__text_char(&t, '\t');
    vt__text_hex(&t, (uintptr_t)p);
    vt__text_char(&t, '\t');
    vt__text_uint(&t, (uintptr_t)__builtin_thread_pointer()); /* pthread_self */
    for (unsigned i = 0; i < frames.n && i < MAX_FRAMES; i++) {
        vt__text_char(&t, '\t');
        vt__text_hex(&t, frames.pc[i]);
    }
    vt__text_char(&t, '\n');
    put_line(&t);
}
