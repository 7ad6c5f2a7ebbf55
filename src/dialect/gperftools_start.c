/* gperftools_start.c - the beginning and the end of a process with one of gperftools' libraries.
 *
 * What the variables ask for begins before main, though most programs call malloc before that, and everything with it.
 * MALLOCSTATS is read when the process ends.
 *
 * Climate: host.   Owns: nothing.
 */
#include "conf/options.h"
#include "dialect/gperftools.h"
#include "dialect/gperftools_debug.h"
#include "dump/stats_gperftools.h"
#include "os/os.h"

static void to_fd(void *fd, const char *data, size_t n_bytes) {
    vt__os_write(*(int *)fd, data, n_bytes);
}

void vt__gperftools_write_stats(int fd, int level) {
    char buf[2048];
    struct vt_text t = {buf, sizeof(buf), 0, false, to_fd, &fd};
    vt__gperftools_stats_write(&t, level);
    vt__text_flush(&t);
}

/* There is one method, and it needs no choosing. */
static void begin_stacks(void) {
    static const char *const methods[] = {"libunwind", "libgcc", "generic_fp", "generic_fp_unsafe",
                                          "generic",   "x86",    "null"};
    const struct vt_gperftools *g = &vt__gperftools;
    char buf[256];
    struct vt_text t = VT_TEXT(buf);
    size_t i = 0;
    if (g->stack_method != NULL) {
        while (i < vt_countof(methods) && !vt__str_equal(methods[i], g->stack_method)) i++;
        if (i == vt_countof(methods)) {
            vt__text_put(&t, "Unknown or unsupported stacktrace method requested: ");
            vt__text_shown(&t, g->stack_method, vt__str_len(g->stack_method));
            vt__text_put(&t, ". Ignoring it\n");
        }
    }
    if (g->is_stack_verbose)
        vt__text_put(&t, "Chosen stacktrace method is vitrine\nSupported methods:\n* vitrine\n\n");
    if (t.len > 0) vt__os_write(2, buf, t.len);
}

void vt__gperftools_begin(void) {
    const struct vt_gperftools *g = &vt__gperftools;
    if (g->heap_check != NULL && *g->heap_check != '\0')
        vt__warn("no leak check", g->heap_check,
                 ": HEAPCHECK is not here yet; HEAPPROFILE shows what is in use at exit");
    begin_stacks();
    if (g->has_heap_profiler) vt__gperftools_heap_begin();
}

void vt__gperftools_end(void) {
    const char *level = vt__os_getenv("MALLOCSTATS");
    if (level != NULL) vt__gperftools_write_stats(2, vt__gperftools_number(level) >= 2 ? 2 : 1);
    vt__debug_end();
}

bool vt__gperftools_is_asked(void) {
    static const char *const prefixes[] = {
        "HEAPPROFILE=", "MALLOCSTATS=", "HEAPCHECK=", "TCMALLOC_"};
    if (vt__os_is_ignored("HEAPPROFILE")) return true; /* to say so */
    for (const char *const *e = vt__os_environment(); e != NULL && *e != NULL; e++)
        for (size_t i = 0; i < vt_countof(prefixes); i++)
            if (vt__str_starts(*e, prefixes[i])) return true;
    return false;
}
