/* mimalloc_message.c - what is printed, and who else hears of it.
 *
 * Messages go to stderr, or to the function that was registered for them; what was said before it was registered, up to 16 KiB, is
 * said to it again. An error function hears of every error, whether it is printed or not.
 *
 * Climate: malloc, but for the functions the program registers.   Owns: the buffer of what was said.   Locks: none.
 */
#include <errno.h>

#include "dialect/mimalloc_impl.h"
#include "heap/upcalls.h"
#include "os/libc_parts.h"
#include "os/os.h"

#define KEPT_BYTES KiB(16)

static struct {
    _Atomic(mi_output_fun *) out;
    _Atomic(void *) out_arg;
    _Atomic(mi_error_fun *) error;
    _Atomic(void *) error_arg;
    _Atomic(void *) deferred_free_arg;
    _Atomic unsigned long long heartbeat;
    _Atomic long n_errors, n_warnings;
    _Atomic size_t kept;
    char said[KEPT_BYTES + 1];
} messages;

_Atomic(mi_deferred_free_fun *) vt__mi_deferred;
static __thread bool is_main __attribute__((tls_model("initial-exec"))); /* the first thread */
static __thread bool is_deferring __attribute__((tls_model("initial-exec")));

/* Approximate: two threads that speak at once may lose a line of it. */
static void keep(const char *text, size_t n) {
    size_t at = atomic_fetch_add_explicit(&messages.kept, n, memory_order_relaxed);
    if (at + n <= KEPT_BYTES) __builtin_memcpy(messages.said + at, text, n);
}

void vt__mi_out(const char *text) {
    mi_output_fun *out = atomic_load_explicit(&messages.out, memory_order_acquire);
    if (out != NULL) {
        out(text, atomic_load_explicit(&messages.out_arg, memory_order_relaxed));
        return;
    }
    vt__os_write(2, text, vt__str_len(text));
    keep(text, vt__str_len(text));
}

VT_EXPORT void mi_register_output(mi_output_fun *out, void *arg) {
    (void)vt__mi_started();
    atomic_store_explicit(&messages.out_arg, arg, memory_order_relaxed);
    atomic_store_explicit(&messages.out, out, memory_order_release); /* its argument first */
    size_t n = vt_min(atomic_load_explicit(&messages.kept, memory_order_relaxed), KEPT_BYTES);
    if (out == NULL || n == 0) return;
    messages.said[n] = '\0';
    out(messages.said, arg);
}

VT_EXPORT void mi_register_error(mi_error_fun *fun, void *arg) {
    atomic_store_explicit(&messages.error_arg, arg, memory_order_relaxed);
    atomic_store_explicit(&messages.error, fun, memory_order_release);
}

/* ---- messages ---- */

void vt__mi_begin(struct vt_mi_message *m, const char *prefix) {
    m->text = (struct vt_text){m->line, sizeof(m->line) - 2, 0, false, NULL, NULL};
    vt__text_put(&m->text, prefix);
    if (is_main || vt__os_is_single_threaded()) return;
    vt__text_put(&m->text, "thread ");
    vt__text_hex(&m->text, (uintptr_t)&is_main);
    vt__text_put(&m->text, ": ");
}

void vt__mi_say(struct vt_mi_message *m) {
    m->line[m->text.len++] = '\n';
    m->line[m->text.len] = '\0';
    vt__mi_out(m->line);
}

static bool is_verbose(void) { return vt__mi_option(VT_MI_verbose) != 0; }

void vt__mi_verbose(struct vt_mi_message *m) {
    if (is_verbose()) vt__mi_say(m);
}

/* Shown, and not too many yet? */
static bool may_say(_Atomic long *n_said, enum vt_mi_option most) {
    if (is_verbose()) return true;
    if (vt__mi_option(VT_MI_show_errors) == 0) return false;
    long limit = vt__mi_option(most);
    return limit < 0 || atomic_fetch_add_explicit(n_said, 1, memory_order_relaxed) < limit;
}

void vt__mi_warn(struct vt_mi_message *m) {
    if (may_say(&messages.n_warnings, VT_MI_max_warnings)) vt__mi_say(m);
}

void vt__mi_error_only(int err) {
    mi_error_fun *f = atomic_load_explicit(&messages.error, memory_order_acquire);
    if (f != NULL) f(err, atomic_load_explicit(&messages.error_arg, memory_order_relaxed));
}

void vt__mi_error(struct vt_mi_message *m, int err) {
    if (may_say(&messages.n_errors, VT_MI_max_errors)) vt__mi_say(m);
    vt__mi_error_only(err);
}

void vt__mi_no_memory(size_t n_bytes) {
    struct vt_mi_message m;
    int saved = errno;
    bool is_too_large = n_bytes > PTRDIFF_MAX;
    if (n_bytes == SIZE_MAX) { /* a product: the one who multiplied may say more */
        vt__mi_error_only(EOVERFLOW);
        return;
    }
    vt__mi_begin(&m, "mimalloc: error: ");
    vt__text_put(&m.text, is_too_large ? "allocation request is too large ("
                                       : "unable to allocate memory (");
    vt__text_uint(&m.text, n_bytes);
    vt__text_put(&m.text, " bytes)");
    vt__mi_error(&m, is_too_large ? EOVERFLOW : ENOMEM);
    errno = saved;
}

/* ---- longer texts ---- */

static void print(void *arg, const char *data, size_t n_bytes) {
    struct vt_mi_printer *p = arg;
    (void)data; /* it is the buffer, which has room for the end: its capacity is one less */
    p->buf[n_bytes] = '\0';
    if (p->out != NULL)
        p->out(p->buf, p->arg);
    else
        vt__mi_out(p->buf);
}

struct vt_text *vt__mi_print_begin(struct vt_mi_printer *p, mi_output_fun *out, void *arg) {
    p->text = (struct vt_text){p->buf, sizeof(p->buf) - 1, 0, false, print, p};
    p->out = out;
    p->arg = arg;
    return &p->text;
}

/* ---- the process ---- */

VT_EXPORT void mi_register_deferred_free(mi_deferred_free_fun *f, void *arg) {
    atomic_store_explicit(&messages.deferred_free_arg, arg, memory_order_relaxed);
    atomic_store_explicit(&vt__mi_deferred, f, memory_order_release);
}

void vt__mi_deferred_free(bool force) {
    mi_deferred_free_fun *f = atomic_load_explicit(&vt__mi_deferred, memory_order_acquire);
    unsigned long long beat =
        atomic_fetch_add_explicit(&messages.heartbeat, 1, memory_order_relaxed) + 1;
    if (f == NULL || is_deferring) return;
    is_deferring = true;
    f(force, beat, atomic_load_explicit(&messages.deferred_free_arg, memory_order_relaxed));
    is_deferring = false;
}

static void say_process(const char *what) {
    struct vt_mi_message m;
    vt__mi_begin(&m, "mimalloc: ");
    vt__text_put(&m.text, what);
    vt__text_hex(&m.text, (uintptr_t)&is_main);
    vt__mi_verbose(&m);
}

static void at_exit(void *unused) {
    (void)unused;
    if (vt__mi_option(VT_MI_show_stats) != 0 || is_verbose()) mi_stats_print_out(NULL, NULL);
    say_process("process done: ");
}

void vt__mi_begin_process(void) {
    is_main = true;
    vt__mi_note_start();
    if (is_verbose()) mi_options_print_out(NULL, NULL);
    say_process("process init: ");
    if (is_verbose() && (vt__os_n_nodes() > 1 || vt__mi_line.line == VT_MI_V2)) {
        struct vt_mi_message m;
        vt__mi_begin(&m, "mimalloc: using ");
        vt__text_uint(&m.text, vt__os_n_nodes());
        vt__text_put(&m.text, " numa regions");
        vt__mi_say(&m);
    }
    if (vt__mi_option(VT_MI_reserve_os_memory) > 0)
        (void)mi_reserve_os_memory((size_t)vt__mi_option(VT_MI_reserve_os_memory) * 1024, true,
                                   true);
    if (vt__mi_option(VT_MI_reserve_huge_os_pages) > 0)
        (void)mi_reserve_huge_os_pages_at((size_t)vt__mi_option(VT_MI_reserve_huge_os_pages),
                                          (int)vt__mi_option(VT_MI_reserve_huge_os_pages_at), 0);
    (void)__cxa_atexit(at_exit, NULL, &__dso_handle); /* allowed: host climate, no lock is held */
}

bool vt__mi_started(void) { return vt__life_start() == 0; }
