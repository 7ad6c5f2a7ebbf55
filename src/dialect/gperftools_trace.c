/* gperftools_trace.c - TCMALLOC_TRACE=1 in the debug libraries: a line for each malloc, free and realloc, in a file.
 *
 *     Trace started: 1794775624
 *     func    size    ptr    thread_id    stack pcs for tools/symbolize
 *     malloc  100     0x...  140...       0x...  0x...                      with tabs between them
 *
 * The file is that of TCMALLOC_TRACE_FILE, or /tmp/google.alloc; where that cannot be written, stderr. A line is one write, so
 * threads need no lock. The stack begins with the caller of malloc.
 *
 * Climate: malloc.   Owns: the descriptor, which stays open.
 */
#include <errno.h>
#include <fcntl.h>

#include "dialect/gperftools.h"
#include "dialect/gperftools_debug.h"
#include "os/os.h"
#include "stack/stack.h"

#define DEFAULT_FILE "/tmp/google.alloc"
#define MAX_FRAMES 16
#define STDERR 2

static int trace_fd = -1;

static int open_file(const char *path) {
    int fd = vt__os_create(AT_FDCWD, path);
    return fd == -EEXIST ? vt__os_open_in_place(AT_FDCWD, path) : fd;
}

static void say_cannot_open(enum vt_level level, const char *path, const char *instead) {
    char buf[600];
    struct vt_text t = VT_TEXT(buf);
    vt__text_put(&t, "Can't open ");
    vt__text_put(&t, path);
    vt__text_put(&t, instead);
    vt__say(level, &t);
}

static void put_header(void) {
    char buf[128];
    struct vt_text t = VT_TEXT(buf);
    vt__text_put(&t, "Trace started: ");
    vt__text_uint(&t, vt__os_wall_ns() / UINT64_C(1000000000));
    vt__text_put(&t, "\nfunc\tsize\tptr\tthread_id\tstack pcs for tools/symbolize\n");
    vt__os_write(trace_fd, buf, t.len);
}

bool vt__debug_trace_begin(void) {
    const char *path = vt__os_getenv("TCMALLOC_TRACE_FILE");
    trace_fd = open_file(path != NULL ? path : DEFAULT_FILE);
    if (trace_fd < 0 && path != NULL) {
        say_cannot_open(VT_LEVEL_ERROR, path, ".  Logging disabled.");
        return false;
    }
    if (trace_fd < 0) {
        say_cannot_open(VT_LEVEL_WARNING, DEFAULT_FILE, ".  Logging to stderr.");
        trace_fd = STDERR;
    }
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
    vt__os_write(trace_fd, buf, t.len);
}
